"""Outputs of commands that are inputs, or that cannot be written: refused before any work, and every file stays."""

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults.inject import contents
from xsent.cli import main
from xsent.config_checks import UsageError
from xsent.recipes.encoder_folder import check_encoder_folder

TEXT = "Das Haus ist rot und alt.\tThe house is red and old.\n"


class Case(NamedTuple):
    """A command, one of its inputs, and one of the files that it writes."""

    command: str  # INPUT and OUT stand for the input and the output
    written: str  # name of the file that is an input, too
    out: str  # the output


# Each input of each command against each file that the command writes, or deletes, beside it.
ENCODE, MINE, FILTER = "encode INPUT -o OUT", "mine INPUT OTHER -o OUT", "filter INPUT -o OUT"
DIVERGE = "diverge INPUT -o OUT"
PARSED = "diverge --source-conllu INPUT --target-conllu OTHER -o OUT"
DISTRACT = "distract eng=INPUT -o OUT"
LLM = "--maker llm --base-url http://127.0.0.1:9 --model some-model"
CASES = [
    Case(ENCODE, "out.npy", "out.npy"),
    Case(ENCODE, "out.npy.work.lock", "out.npy"),
    Case(MINE, "out", "out"),
    Case(MINE, "out.source.rejects.tsv", "out"),
    Case(MINE, "out.work.lock", "out"),
    Case("mine OTHER INPUT -o OUT", "out", "out"),
    Case("mine OTHER INPUT -o OUT", "out.target.rejects.tsv", "out"),
    Case("augment INPUT -o OUT", "out_augmented", "out"),
    Case("noise INPUT -o OUT", "out", "out"),
    Case("noise INPUT -o fresh --log OUT", "out", "out"),
    Case(DIVERGE, "out", "out"),
    Case(DIVERGE, "out.rejects.tsv", "out"),
    Case(DIVERGE, "out.summary.json", "out"),
    Case(DIVERGE, "out.work.lock", "out"),
    Case(PARSED, "out", "out"),
    Case("diverge --source-conllu OTHER --target-conllu INPUT -o OUT", "out", "out"),
    Case("diverge --source-conllu OTHER --target-conllu OTHER --align INPUT -o OUT", "out.summary.json", "out"),
    Case(FILTER, "out", "out"),
    Case(FILTER, "out.rejects.tsv", "out"),
    Case(FILTER, "out.work.lock", "out"),
    Case("filter INPUT -o fresh --html OUT", "out", "out"),
    Case(DISTRACT, "out.jsonl", "out.jsonl"),
    Case(DISTRACT, "out.jsonl.failures.tsv", "out.jsonl"),
    Case(DISTRACT, "out.jsonl.summary.json", "out.jsonl"),
    Case(f"distract eng=INPUT -o fresh.jsonl {LLM} --ledger OUT", "out", "out"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with another input."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "other.txt").write_text(TEXT, encoding="utf-8")
    return folder


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


# ---- one file under two names: each gives the input a second name and returns the first


def _same_path(written: Path, stack: ExitStack) -> Path:
    written.write_text(TEXT, encoding="utf-8")
    return written


def _dotted_path(written: Path, stack: ExitStack) -> Path:
    _same_path(written, stack)
    (written.parent / "sub").mkdir()
    return Path("sub", "..", written.name)


def _link_to_the_input(written: Path, stack: ExitStack) -> Path:
    source = _same_path(written.with_name("input"), stack)
    written.symlink_to(source)
    return source


def _link_to_the_output(written: Path, stack: ExitStack) -> Path:
    _same_path(written, stack)
    source = written.with_name("input")
    source.symlink_to(written)
    return source


def _hard_link(written: Path, stack: ExitStack) -> Path:
    source = _same_path(written.with_name("input"), stack)
    os.link(source, written)
    return source


def _folder_link(written: Path, stack: ExitStack) -> Path:
    _same_path(written, stack)
    written.with_name("here").symlink_to(written.parent)
    return Path("here", written.name)


def _open_file(written: Path, stack: ExitStack) -> Path:
    file = stack.enter_context(_same_path(written, stack).open("rb"))
    return Path(f"/proc/self/fd/{file.fileno()}")


NAMES = (_same_path, _dotted_path, _link_to_the_input, _link_to_the_output, _hard_link, _folder_link, _open_file)


def refused(arguments: list[str], caplog: pytest.LogCaptureFixture) -> str:
    """The error of a command; nothing in the current folder may change."""
    before = contents(Path())
    assert main(arguments) == 1
    assert contents(Path()) == before
    message = caplog.messages[-1]
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.__name__.strip("_"))
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command.split()[0]}-{case.written}")
def test_an_output_that_is_an_input_is_refused(
    case: Case,
    name: Callable[[Path, ExitStack], Path],
    folder: Path,
    stack: ExitStack,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = name(folder / case.written, stack)
    places = {"INPUT": str(source), "OTHER": "other.txt", "OUT": case.out}
    arguments = [places.get(word, word.replace("INPUT", str(source))) for word in case.command.split()]
    message = refused(arguments, caplog)
    assert f"{case.written}: expected different files to read and write, found the input {source}" in message


# ---- outputs that are no files to replace


def _device(folder: Path, stack: ExitStack) -> Path:
    return Path("/dev/null")


def _standard_output(folder: Path, stack: ExitStack) -> Path:
    return Path("/dev/stdout")


def _descriptor(folder: Path, stack: ExitStack) -> Path:
    return Path(f"/dev/fd/{stack.enter_context((folder / 'redirected').open('wb')).fileno()}")


def _process_descriptor(folder: Path, stack: ExitStack) -> Path:
    return Path(f"/proc/self/fd/{stack.enter_context((folder / 'redirected').open('wb')).fileno()}")


def _link_to_a_device(folder: Path, stack: ExitStack) -> Path:
    (folder / "null").symlink_to("/dev/null")
    return folder / "null"


def _pipe(folder: Path, stack: ExitStack) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def _socket(folder: Path, stack: ExitStack) -> Path:
    stack.enter_context(socket.socket(socket.AF_UNIX)).bind("socket")  # a short path: the length is limited
    return folder / "socket"


def _folder(folder: Path, stack: ExitStack) -> Path:
    (folder / "sub").mkdir()
    return folder / "sub"


def _read_only(folder: Path, stack: ExitStack) -> Path:
    (folder / "thesis").write_text("years of work")
    (folder / "thesis").chmod(0o444)
    return folder / "thesis"


def _below_a_file(folder: Path, stack: ExitStack) -> Path:
    return folder / "other.txt" / "out"


NO_FILE = "expected a file to write, or none yet, found something else (a folder, device, pipe or socket)"
TARGETS: dict[Callable[[Path, ExitStack], Path], str] = {
    _device: NO_FILE,
    _standard_output: NO_FILE,
    _descriptor: NO_FILE,
    _process_descriptor: NO_FILE,
    _link_to_a_device: NO_FILE,
    _pipe: NO_FILE,
    _socket: NO_FILE,
    _folder: "expected a file to write, found a folder",
    _read_only: "expected a file to replace, found one that is read-only",
    _below_a_file: "other.txt: no such folder for the output",
}
OUTPUTS = {
    "mine": "mine other.txt other.txt -o OUT",
    "noise": "noise other.txt -o OUT",
    "noise --log": "noise other.txt -o fresh --log OUT",
    "diverge": "diverge other.txt -o OUT",
    "filter": "filter other.txt -o OUT",
    "filter --html": "filter other.txt -o fresh --html OUT",
    "distract": "distract eng=other.txt -o OUT",
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__.strip("_"))
@pytest.mark.parametrize("command", OUTPUTS.values(), ids=list(OUTPUTS))
def test_an_output_that_is_no_file_is_refused_before_the_work(
    command: str,
    target: Callable[[Path, ExitStack], Path],
    folder: Path,
    stack: ExitStack,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("xsent.cli.commands.load_embedder", _work)
    monkeypatch.setattr("xsent.cli.text_commands.load_embedder", _work)
    output = target(folder, stack)
    message = refused([word.replace("OUT", str(output)) for word in command.split()], caplog)
    assert message.endswith(TARGETS[target])
    assert message.startswith(str(output.parent if target is _below_a_file else output))


def _work(*arguments: object) -> None:
    raise AssertionError("the work began before the output was checked")


# ---- work folders, and folders of models


WORKING = {
    "encode": "encode {} -o {}.npy",
    "mine": "mine {0} {0} -o {1}",
    "filter": "filter {} -o {}",
    "diverge": "diverge {} -o {}",
}


@pytest.mark.parametrize("command", WORKING.values(), ids=list(WORKING))
@pytest.mark.parametrize("inside", ["input", "output"])
def test_a_work_folder_with_an_input_or_the_output_in_it_is_refused(
    command: str, inside: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # The folder is deleted after the work, and the file with it.
    (folder / "work").mkdir()
    (folder / "work" / "text").write_text(TEXT, encoding="utf-8")
    names = ("work/text", "out") if inside == "input" else ("other.txt", "work/out")
    message = refused([*command.format(*names).split(), "--work-dir", "work"], caplog)
    assert message.startswith(names[0] if inside == "input" else names[1])
    assert message.endswith("expected a file outside of the work folder work, which is deleted")


@pytest.mark.parametrize("command", WORKING.values(), ids=list(WORKING))
def test_a_work_folder_that_is_a_file_is_refused(command: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    message = refused([*command.format("other.txt", "out").split(), "--work-dir", "other.txt"], caplog)
    assert message == "other.txt: expected a work folder, or none yet, found a file"


@pytest.mark.parametrize("option", ["--encoder", "--set"])
@pytest.mark.parametrize("command", WORKING.values(), ids=list(WORKING))
def test_a_file_of_the_encoder_is_never_replaced(
    command: str, option: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = folder / "model"
    model.mkdir()
    for name in ("config.json", "tokenizer.json", "vectors.safetensors"):
        (model / name).write_text("not read before the check")
    (model / "out.npy").write_text("the same")
    output = "model/out" if command.startswith("encode") else "model/config.json"
    encoder = ["--encoder", "model"] if option == "--encoder" else ["--encoder", "micro", "--set", "encoder.path=model"]
    message = refused([*command.format("other.txt", output).split(), *encoder], caplog)
    assert re.match(
        rf"{output}(.npy)?: expected different files to read and write, found a file of model, which", message
    )


@pytest.mark.parametrize(
    "command",
    ["noise other.txt -o out --log out", "filter other.txt -o out --html ./out", "noise other.txt -o a --log b"],
)
def test_two_outputs_of_one_name_are_refused(command: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "a").write_text("an earlier output")
    os.link(folder / "a", folder / "b")
    message = refused(command.split(), caplog)
    assert message.endswith("expected different files to read and write, found two outputs of this name")


# ---- the folder of save_encoder


@pytest.mark.parametrize("name", ["model", "./model", "other/../model", "link", "link/../model", "~/model"])
def test_an_encoder_is_not_saved_over_the_one_that_is_trained(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "other").mkdir()
    (folder / "model").mkdir()
    (folder / "link").symlink_to("model")
    monkeypatch.setenv("HOME", str(folder))
    before = contents(folder)
    with pytest.raises(UsageError, match=r"expected another folder than encoder\.path, which this run reads"):
        check_encoder_folder(folder / "model", source=name)
    assert contents(folder) == before


def test_a_folder_of_the_user_beside_a_saved_encoder_stays(folder: Path) -> None:
    (folder / "model.tmp").mkdir()
    (folder / "model.tmp" / "thesis").write_text("years of work")
    before = contents(folder)
    with pytest.raises(FileExistsError, match="found thesis in it, nothing is deleted"):
        check_encoder_folder(folder / "model")
    assert contents(folder) == before
