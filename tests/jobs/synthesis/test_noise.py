"""A noisy line for each line, whatever the file, the number of processes and what goes wrong."""

import gzip
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers import ROOT
from xsent.jobs.synthesis.noise import NoiseSummary, noise_file
from xsent.text.noise import Noiser
from xsent.text.noise.parallel import CHUNK

LINES = ["Where are you going tonight?", "", "I don't know, to be honest.", "  ", "one\u2028line", "a\tb", "你好", "x"]


def noiser(**changes: Any) -> Noiser:
    values = yaml.safe_load((ROOT / "conf" / "job" / "noise" / "default.yaml").read_text(encoding="utf-8"))
    del values["_target_"]
    return Noiser(**values | {"seed": 0} | changes)


def text_file(path: Path, lines: list[str]) -> Path:
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def lines_of(path: Path) -> list[str]:
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().split("\n")
    assert lines.pop() == ""
    return lines


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_every_line_becomes_the_noisy_form_of_its_number(tmp_path: Path) -> None:
    lines = LINES * 400
    source = text_file(tmp_path / "text.en", lines)
    noise = noiser()
    summary = noise_file(source, tmp_path / "noisy.en", noise, applied_log=tmp_path / "log.tsv", workers=1)
    expected = [noise(line, number) for number, line in enumerate(lines, start=1)]
    assert lines_of(tmp_path / "noisy.en") == [sentence.text for sentence in expected]
    header, *rows = lines_of(tmp_path / "log.tsv")
    assert header == "line\tapplied"
    assert rows == [
        f"{number}\t{';'.join(map(str, sentence.applied))}" for number, sentence in enumerate(expected, start=1)
    ]
    assert (summary.sentences, summary.output) == (len(lines) * 6 // 8, tmp_path / "noisy.en")
    assert summary.changed == sum(line != sentence.text for line, sentence in zip(lines, expected, strict=True))
    assert summary.applied.total() == sum(len(sentence.applied) for sentence in expected)
    assert names_in(tmp_path) == ["log.tsv", "noisy.en", "text.en"]


def test_blank_lines_stay_blank(tmp_path: Path) -> None:
    source = text_file(tmp_path / "text.en", LINES * 50)
    noise_file(source, tmp_path / "noisy.en", noiser(selection=1.0), applied_log=None, workers=1)
    noisy = lines_of(tmp_path / "noisy.en")
    assert noisy[1::8] == [""] * 50
    assert noisy[3::8] == ["  "] * 50


def test_the_number_of_processes_and_packing_change_nothing(tmp_path: Path) -> None:
    lines = [f"{number} {LINES[2]} Tell me, because you were there." for number in range(CHUNK + 5)]
    plain = text_file(tmp_path / "text.en", lines)
    packed = text_file(tmp_path / "text.en.gz", lines)
    for name, source, workers in [("one", plain, 1), ("two", packed, 2), ("one.gz", packed, 1)]:
        noise_file(source, tmp_path / name, noiser(), applied_log=tmp_path / f"{name}.log", workers=workers)
    assert lines_of(tmp_path / "one") == lines_of(tmp_path / "two") == lines_of(tmp_path / "one.gz")
    assert lines_of(tmp_path / "one.log") == lines_of(tmp_path / "two.log")
    before = (tmp_path / "one.gz").read_bytes()
    noise_file(plain, tmp_path / "one.gz", noiser(), applied_log=None, workers=1)
    assert (tmp_path / "one.gz").read_bytes() == before  # no time of day in it


def test_reference_rng_runs_in_one_process(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = ["What are you doing on Monday?"] * (CHUNK + 10)
    source = text_file(tmp_path / "text.en", lines)
    caplog.set_level("INFO")
    noise_file(source, tmp_path / "noisy.en", noiser(reference_rng=True), applied_log=None, workers=2)
    expected = noiser(reference_rng=True).apply(lines, range(len(lines)))
    assert lines_of(tmp_path / "noisy.en") == [sentence.text for sentence in expected]
    assert "one process" in caplog.text


def test_files_with_windows_line_ends_and_without_a_last_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "text.en").write_bytes(b"\xef\xbb\xbfone\r\n\r\ntwo")
    noise_file(tmp_path / "text.en", tmp_path / "noisy.en", noiser(selection=0.0), applied_log=None, workers=1)
    assert (tmp_path / "noisy.en").read_bytes() == b"one\n\ntwo\n"


def test_an_empty_file_gives_an_empty_file(tmp_path: Path) -> None:
    source = text_file(tmp_path / "text.en", [])
    summary = noise_file(source, tmp_path / "noisy.en", noiser(), applied_log=None, workers=2)
    assert (tmp_path / "noisy.en").read_bytes() == b""
    assert str(summary).startswith("0 sentences, 0 changed (0.0%)")


def test_the_summary_line_has_the_counts() -> None:
    summary = NoiseSummary(Path("out"), 2_000, 1_000, Counter({"spac": 3, "fing": 1_200}), 0.5)
    assert str(summary) == (
        "2,000 sentences, 1,000 changed (50.0%), 0.5 s, 4,000 sentences/s: out; applied fing 1,200, spac 3"
    )


@pytest.mark.parametrize(
    ("content", "workers", "message"),
    [
        (b"fine\n" * 5_000 + b"caf\xe9\nfine\n", 1, r"text\.en:5001: broken UTF-8, found byte 0xe9 at position 3"),
        (b"fine\n" * 5_000 + b"caf\xe9\nfine\n", 2, r"text\.en:5001: broken UTF-8, found byte 0xe9 at position 3"),
        (b"fine\n\xff", 1, r"text\.en:2: broken UTF-8"),
    ],
    ids=["one process", "two processes", "last line"],
)
def test_a_line_that_is_no_utf8_is_named_and_nothing_is_lost(
    tmp_path: Path, content: bytes, workers: int, message: str
) -> None:
    source, output = tmp_path / "text.en", tmp_path / "noisy.en"
    source.write_bytes(content)
    output.write_text("an earlier result")
    with pytest.raises(ValueError, match=message):
        noise_file(source, output, noiser(), applied_log=None, workers=workers)
    assert output.read_text() == "an earlier result"
    assert names_in(tmp_path) == ["noisy.en", "text.en"]


@pytest.mark.parametrize(
    ("output", "applied_log"), [("text.en", None), ("link", None), ("noisy.en", "text.en"), ("noisy.en", "./noisy.en")]
)
def test_equal_paths_are_refused(tmp_path: Path, output: str, applied_log: str | None) -> None:
    source = text_file(tmp_path / "text.en", LINES)
    (tmp_path / "link").symlink_to(source)
    log = tmp_path / applied_log if applied_log else None
    with pytest.raises(ValueError, match="expected different files"):
        noise_file(source, tmp_path / output, noiser(), applied_log=log, workers=1)
    assert lines_of(source) == LINES


def test_errors_are_raised_before_any_work(tmp_path: Path) -> None:
    source = text_file(tmp_path / "text.en", LINES)
    with pytest.raises(IsADirectoryError, match="expected a file to write, found a folder"):
        noise_file(source, tmp_path, noiser(), applied_log=None, workers=1)
    with pytest.raises(FileNotFoundError, match="nowhere: expected a text file, found none"):
        noise_file(tmp_path / "nowhere", tmp_path / "noisy.en", noiser(), applied_log=None, workers=1)
    with pytest.raises(ValueError, match="workers=0: expected at least 1"):
        noise_file(source, tmp_path / "noisy.en", noiser(), applied_log=None, workers=0)


def long_run(tmp_path: Path) -> subprocess.Popen[str]:
    """Start the command in a new process group; return once it has written output."""
    source = text_file(tmp_path / "text.en", ["What are you doing, because I do not know it?"] * 100_000)
    command = [sys.executable, "-m", "xsent.cli", "noise", str(source), "-o", str(tmp_path / "noisy.en")]
    command += ["--workers", "2", "--log", str(tmp_path / "log.tsv")]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in tmp_path.glob("noisy.en.*.tmp")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def running_processes(group: int) -> list[str]:
    """Processes of the group that still run."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [row[2] for row in rows if int(row[0]) == group and not row[1].startswith("Z")]


def has_ended(group: int) -> bool:
    deadline = time.monotonic() + 20
    while running_processes(group) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not running_processes(group)


def test_ctrl_c_leaves_no_output_and_no_process(tmp_path: Path) -> None:
    process = long_run(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    output = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "interrupted; nothing was written" in output
    assert "Traceback" not in output
    assert names_in(tmp_path) == ["text.en"]
    assert has_ended(process.pid)


def test_no_process_survives_a_killed_command(tmp_path: Path) -> None:
    process = long_run(tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert has_ended(process.pid)
    assert not (tmp_path / "noisy.en").exists()


# ---- the language of the text

ENGLISH = "We do not know what they have done to this house, and it is not ours."
GERMAN = "Wir wissen nicht, was sie mit diesem Haus getan haben, und es gehört uns nicht."


@pytest.mark.parametrize(
    ("line", "count", "transform", "warns"),
    [
        (GERMAN, 10, "mix_all", True),
        (GERMAN, 10, "spel", True),
        (GERMAN, 10, "spac", False),  # made without English words
        (GERMAN, 2, "mix_all", False),  # too short to tell
        ("これは英語の文ではありません。 ねこ いぬ とり", 20, "mix_all", True),
        (ENGLISH, 10, "mix_all", False),
        ("u dont no wat they hav done 2 me lol", 10, "mix_all", False),
    ],
)
def test_a_text_that_is_not_english_gets_a_warning_and_noise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, count: int, transform: str, warns: bool
) -> None:
    source, output = text_file(tmp_path / "text", [line] * count), tmp_path / "noisy"
    noise_file(source, output, noiser(transform=transform), applied_log=None, workers=1)
    assert len(lines_of(output)) == count
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == warns
    assert all(message.startswith(f"{source}: not English? ") and "\n" not in message for message in warnings)
