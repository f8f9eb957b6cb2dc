"""The command with a language model: a server on this machine that keeps what it is asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT
from tests.text.distractors.llm.endpoint import Endpoint, Stall, completion, good, numbered, sentence_of, serving
from xsent.cli import main

pytest.importorskip("openai", reason="the client is not installed: pip install 'xsent[llm]'")
pytest.importorskip("py3langid", reason="languages are told by py3langid: pip install 'xsent[llm]'")

KEY = "sk-proj-Very/Secret+Key_0123456789"
CITIES = ("Paris", "Berlin", "Madrid", "Wien", "London", "Athen")
SENTENCES = [f"Der alte Mann kaufte sich drei rote Autos in der Stadt {city} ." for city in CITIES]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as found:
        yield found


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "text.de"
    path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")
    return path


def arguments(source: Path, endpoint: Endpoint, *more: str) -> list[str]:
    of_model = ["--maker", "llm", "--model", "some-model", "--base-url", endpoint.url]
    return ["distract", f"deu={source}", "-o", str(source.parent / "out.jsonl"), *of_model, *more]


def started(source: Path, endpoint: Endpoint, *, answers: int) -> subprocess.Popen[str]:
    """The command at work, with so many answers in its ledger and one that it waits for."""
    endpoint.script = [*[good] * answers, lambda payload: Stall(None)]
    command = [sys.executable, "-m", "xsent.cli", *arguments(source, endpoint, "--set", "maker.concurrency=1")]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE, env=dict(os.environ))
    deadline = time.monotonic() + 180  # on a busy machine most of a minute goes into imports
    while len(endpoint.asked) <= answers:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_killed_run_continues_and_asks_nothing_twice(source: Path, endpoint: Endpoint) -> None:
    output, ledger = source.parent / "out.jsonl", source.parent / "out.jsonl.ledger.jsonl"
    process = started(source, endpoint, answers=3)
    process.kill()
    process.communicate(timeout=60)
    assert not output.exists()
    assert len(lines(ledger)) == 3
    assert main(arguments(source, endpoint)) == 0
    # What had an answer is not asked again; the one under way is.
    asked = Counter(endpoint.asked)
    assert asked == Counter([*SENTENCES, SENTENCES[3]])
    assert [row["texts"]["deu"] for row in lines(output)] == SENTENCES
    assert [f"{n}. {one}" for n, one in enumerate(lines(output)[2]["distractors"]["deu"], start=1)] == numbered(
        SENTENCES[2]
    ).split("\n")
    assert main(arguments(source, endpoint)) == 0
    assert Counter(endpoint.asked) == asked


def test_ctrl_c_says_that_the_same_command_continues_which_it_does(
    source: Path, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupting(payload: dict[str, Any]) -> Stall:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # not the main thread, to which it usually goes
        return Stall(None)

    endpoint.script = [good, good, interrupting]
    assert main(arguments(source, endpoint, "--set", "maker.concurrency=1")) == 130
    assert caplog.records[-1].getMessage() == "interrupted; the same command continues"
    assert sorted(path.name for path in source.parent.iterdir()) == ["out.jsonl.ledger.jsonl", "text.de"]
    assert main(arguments(source, endpoint)) == 0
    # What had an answer is not asked again; the one under way is.
    assert Counter(endpoint.asked) == Counter([*SENTENCES, SENTENCES[2]])


def test_as_many_distractors_are_asked_for_as_the_config_says(source: Path, endpoint: Endpoint) -> None:
    endpoint.otherwise = lambda payload: completion(numbered(sentence_of(payload), 2), usage=None)
    assert main(arguments(source, endpoint, "--set", "count=2")) == 0
    assert "2 sentences" in endpoint.payloads[0]["messages"][0]["content"]
    assert [len(row["distractors"]["deu"]) for row in lines(source.parent / "out.jsonl")] == [2] * 6


def test_a_whole_run_counts_what_it_used_and_keeps_the_key_to_itself(
    source: Path, endpoint: Endpoint, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    prices = ["--set", "maker.prices.prompt=10", "--set", "maker.prices.completion=30"]
    assert main(arguments(source, endpoint, *prices, "--limit-cost", "5")) == 0
    assert {headers["authorization"] for headers in endpoint.headers} == {f"Bearer {KEY}"}
    summary = json.loads((source.parent / "out.jsonl.summary.json").read_text())
    assert summary["texts"]["made"] == {"deu": 6}
    assert summary["totals"]["usage"] == {"prompt": 600, "completion": 300}
    assert summary["totals"]["cost"] == pytest.approx((600 * 10 + 300 * 30) / 1_000_000)
    assert summary["maker"]["limit_cost"] == 5
    assert KEY not in caplog.text + "".join(capsys.readouterr())
    for path in source.parent.iterdir():
        assert KEY not in path.read_text(encoding="utf-8"), path


def test_a_password_in_the_address_is_in_no_file(source: Path, endpoint: Endpoint) -> None:
    address = endpoint.url.replace("http://", "http://someone:a-long-password@")
    assert main(arguments(source, endpoint, "--base-url", address)) == 0
    summary = json.loads((source.parent / "out.jsonl.summary.json").read_text())
    assert summary["maker"]["base_url"] == endpoint.url.replace("http://", "http://***@")
    for path in source.parent.iterdir():
        assert "a-long-password" not in path.read_text(encoding="utf-8"), path


def test_a_run_that_reaches_its_limit_writes_nothing_and_continues_with_a_higher_one(
    source: Path, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    # A million tokens cost as many units: a request may use the bytes of its prompt and 1,000 tokens of an answer.
    values = ("prices.prompt=1e6", "prices.completion=1e6", "max_tokens=1000", "concurrency=1")
    more = [one for value in values for one in ("--set", f"maker.{value}")]
    assert main(arguments(source, endpoint, *more, "--limit-cost", "2100")) == 1
    assert "with a higher limit the same command continues" in caplog.records[-1].getMessage()
    assert not (source.parent / "out.jsonl").exists()
    asked = len(endpoint.asked)
    assert 0 < asked < 6
    assert main(arguments(source, endpoint, *more, "--limit-cost", "100000")) == 0
    assert Counter(endpoint.asked) == Counter(SENTENCES)


def test_a_dry_run_tells_what_would_be_asked_and_asks_nothing(
    source: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert main(arguments(source, endpoint, "--dry-run")) == 0
    said = capsys.readouterr().out
    assert "6 different texts, 0 of them done" in said
    assert SENTENCES[0] in said
    assert not endpoint.asked
    assert [path.name for path in source.parent.iterdir()] == ["text.de"]


@pytest.mark.parametrize("name", ["out.jsonl", "text.de", "out.jsonl.summary.json"])
def test_a_ledger_is_a_file_of_its_own(
    source: Path, endpoint: Endpoint, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(arguments(source, endpoint, "--ledger", str(source.parent / name))) == 1
    assert "expected a file of its own for the ledger" in caplog.records[-1].getMessage()
    assert not endpoint.asked


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_ledger_that_cannot_be_written_is_said_before_anything_is_asked(
    source: Path, endpoint: Endpoint, more: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(arguments(source, endpoint, "--ledger", str(source.parent), *more)) == 1
    assert caplog.records[-1].getMessage() == f"{source.parent}: expected a file for the ledger, found a folder"
    assert main(arguments(source, endpoint, "--ledger", str(source / "ledger.jsonl"), *more)) == 1
    assert not endpoint.asked
    assert [path.name for path in source.parent.iterdir()] == ["text.de"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--base-url", "nowhere"], "maker.base_url=nowhere: expected http(s)://HOST/PATH"),
        (["--limit-cost", "5"], "maker.limit_cost: expected maker.prices"),
        (["--set", "maker.key_env=NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE is not set"),
        (["--limit-cost", "nan"], "maker.limit_cost=nan: expected a number of at least 0"),
        (["--set", "maker.concurrency=four"], "maker.concurrency=four: expected a whole number of at least 1"),
        (["--set", "maker.prices.prompt=ten"], "maker.prices.prompt=ten: expected a number of at least 0"),
        (["--set", "maker.parameters=none"], "maker.parameters=none: expected names with their values"),
        (["--set", "maker.patience=null"], "maker.patience=None: expected the values of Patience"),
        (["--set", "maker.language_names=3"], "maker.language_names=3: expected names by ISO 639-3 code"),
        (["--set", "maker.language_names.deu=null"], "maker.language_names.deu=None: expected text, found NoneType"),
        (["--set", "maker.ledger=5"], "maker.ledger=5: expected text, found int"),
    ],
)
def test_what_the_model_cannot_do_is_said_before_anything_is_asked(
    source: Path, endpoint: Endpoint, more: list[str], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(arguments(source, endpoint, *more)) == 1
    assert expected in caplog.records[-1].getMessage()
    assert not endpoint.asked
    assert [path.name for path in source.parent.iterdir() if not path.name.endswith(".lock")] == ["text.de"]
