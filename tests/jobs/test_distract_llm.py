"""``xsent distract --maker llm`` against a local server that records its requests."""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.child_processes import exit_code
from tests.text.distractors.llm.endpoint import KEY, Endpoint, Stall, completion, good, numbered, sentence_of, serving
from xsent.cli import main

pytest.importorskip("openai", reason="the client is not installed: pip install 'xsent[llm]'")
pytest.importorskip("py3langid", reason="languages are told by py3langid: pip install 'xsent[llm]'")

CITIES = ("Paris", "Berlin", "Madrid", "Wien", "London", "Athen")
SENTENCES = [f"Der alte Mann kaufte sich drei rote Autos in der Stadt {city} ." for city in CITIES]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as server:
        yield server


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = tmp_path / "text.de"
    path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")
    return path


def arguments(source: Path, endpoint: Endpoint, *options: str) -> list[str]:
    of_model = ["--maker", "llm", "--model", "some-model", "--base-url", endpoint.url]
    return ["distract", f"deu={source}", "-o", str(source.parent / "out.jsonl"), *of_model, *options]


def distract_in_child(arguments: list[str], pid: Path) -> None:
    os.environ["OPENAI_API_KEY"] = KEY
    pid.write_text(str(os.getpid()))
    main(arguments)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_a_killed_run_continues_without_repeating_answered_requests(source: Path, endpoint: Endpoint) -> None:
    output, ledger, pid = (source.parent / name for name in ("out.jsonl", "out.jsonl.ledger.jsonl", "pid"))

    def kill(payload: dict[str, Any]) -> Stall:
        os.kill(int(pid.read_text()), signal.SIGKILL)
        return Stall(None)

    endpoint.script = [good, good, good, kill]
    command = arguments(source, endpoint, "--set", "maker.concurrency=1")
    assert exit_code(distract_in_child, command, pid) == -signal.SIGKILL
    assert not output.exists()
    assert len(lines(ledger)) == 3
    assert main(arguments(source, endpoint)) == 0
    # Only the unanswered request is sent again.
    request_counts = Counter(endpoint.sentences)
    assert request_counts == Counter([*SENTENCES, SENTENCES[3]])
    assert [row["texts"]["deu"] for row in lines(output)] == SENTENCES
    expected = [line.split(". ", 1)[1] for line in numbered(SENTENCES[2]).split("\n")]
    assert lines(output)[2]["distractors"]["deu"] == expected
    assert main(arguments(source, endpoint)) == 0
    assert Counter(endpoint.sentences) == request_counts


def test_the_same_command_continues_after_ctrl_c(
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
    # Only the unanswered request is sent again.
    assert Counter(endpoint.sentences) == Counter([*SENTENCES, SENTENCES[2]])


def test_the_prompt_requests_the_configured_number_of_distractors(source: Path, endpoint: Endpoint) -> None:
    endpoint.otherwise = lambda payload: completion(numbered(sentence_of(payload), 2), usage=None)
    assert main(arguments(source, endpoint, "--set", "count=2")) == 0
    assert "2 sentences" in endpoint.payloads[0]["messages"][0]["content"]
    assert [len(row["distractors"]["deu"]) for row in lines(source.parent / "out.jsonl")] == [2] * 6


def test_a_run_counts_its_usage_and_writes_the_key_nowhere(
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
    options = [option for value in values for option in ("--set", f"maker.{value}")]
    assert main(arguments(source, endpoint, *options, "--limit-cost", "2100")) == 1
    assert "with a higher limit the same command continues" in caplog.records[-1].getMessage()
    assert not (source.parent / "out.jsonl").exists()
    request_count = len(endpoint.sentences)
    assert 0 < request_count < 6
    assert main(arguments(source, endpoint, *options, "--limit-cost", "100000")) == 0
    assert Counter(endpoint.sentences) == Counter(SENTENCES)


def test_a_dry_run_prints_its_requests_and_sends_none(
    source: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert main(arguments(source, endpoint, "--dry-run")) == 0
    printed = capsys.readouterr().out
    assert "6 different texts, 0 of them done" in printed
    assert SENTENCES[0] in printed
    assert not endpoint.sentences
    assert [path.name for path in source.parent.iterdir()] == ["text.de"]


@pytest.mark.parametrize("name", ["out.jsonl", "text.de", "out.jsonl.summary.json"])
def test_the_ledger_is_neither_input_nor_output(
    source: Path, endpoint: Endpoint, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(arguments(source, endpoint, "--ledger", str(source.parent / name))) == 1
    assert "expected different files to read and write" in caplog.records[-1].getMessage()
    assert not endpoint.sentences


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_a_ledger_that_cannot_be_written_is_an_error_before_any_request(
    source: Path, endpoint: Endpoint, options: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(arguments(source, endpoint, "--ledger", str(source.parent), *options)) == 1
    assert caplog.records[-1].getMessage() == f"{source.parent}: expected a file to write, found a folder"
    assert main(arguments(source, endpoint, "--ledger", str(source / "ledger.jsonl"), *options)) == 1
    assert not endpoint.sentences
    assert [path.name for path in source.parent.iterdir()] == ["text.de"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--base-url", "nowhere"], "maker.base_url=nowhere: expected http(s)://HOST/PATH"),
        (["--limit-cost", "5"], "maker.limit_cost: expected maker.prices"),
        (["--set", "maker.key_env=NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE is not set"),
        (["--limit-cost", "nan"], "maker.limit_cost=nan: expected a number or null"),
        (["--set", "maker.concurrency=four"], "maker.concurrency=four: expected an integer"),
        (["--set", "maker.prices.prompt=ten"], "maker.prices.prompt=ten: expected a number or null"),
        (["--set", "maker.parameters=none"], "maker.parameters=none: expected names with their values, {name: value}"),
        (["--set", "maker.patience=null"], "maker.patience: expected a value, maker.patience=..."),
        (
            ["--set", "maker.language_names=3"],
            "maker.language_names=3: expected names with their values, {name: value}",
        ),
        (["--set", "maker.language_names.deu=null"], "maker.language_names.deu=None: expected a string"),
        (["--set", "maker.ledger=5"], "maker.ledger=5: expected a string or a path or null"),
    ],
)
def test_invalid_values_of_the_maker_are_errors_before_any_request(
    source: Path, endpoint: Endpoint, options: list[str], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(arguments(source, endpoint, *options)) == 1
    assert expected in caplog.records[-1].getMessage()
    assert not endpoint.sentences
    assert [path.name for path in source.parent.iterdir() if not path.name.endswith(".lock")] == ["text.de"]
