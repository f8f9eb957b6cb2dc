"""Faults of ``xsent export`` and of exported folders: a folder is complete and checked or absent, damage is named."""

import errno
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import xsent
from tests.child_processes import exit_code
from tests.faults.inject import KINDS, Damage, contents
from tests.jobs.conftest import file_size_limit
from tests.models.small import small_encoder
from xsent.cli import main
from xsent.jobs.export import export as job
from xsent.jobs.export.export import ExportOptions, ExportTarget, export
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.export.check import CheckedExport, CheckResult
from xsent.models.export.pipeline import build_pipeline, write_pipeline
from xsent.models.model_files import SUMS, write_sums
from xsent.run.errors import EXPECTED, format_error

TEXTS = ["w1 w2", "the cat sat", "w3"]
OPTIONS = ExportOptions(onnx=False, opset=18, tolerance=1e-5, onnx_tolerance=1e-5)


def transformer() -> Encoder:
    return small_encoder(pooling=("cls",)).eval()


def static() -> Encoder:
    encoder = StaticEncoder(
        name="static", dim=8, vocab_size=80, coverage=1.0, lowercase=True, max_length=64, std=1.0, seed=0
    )
    encoder.fit_tokenizer([" ".join(f"w{i} the cat sat number {i}" for i in range(j, j + 9)) for j in range(60)])
    return encoder.eval()


ENCODERS: dict[str, Callable[[], Encoder]] = {"transformer": transformer, "static": static}
FILES = {
    "transformer": [
        *("config.json", "model.safetensors", "modules.json", "sentence_bert_config.json", "tokenizer.json"),
        *("tokenizer_config.json", "1_Pooling/config.json", "2_Normalize/config.json", "onnx/model.onnx"),
    ],
    "static": ["model.safetensors", "modules.json", "tokenizer.json", "1_Normalize/config.json"],
}
ROWS = [(kind, name) for kind, names in FILES.items() for name in names]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {}
    for name, make in ENCODERS.items():
        folders[name] = folder = tmp_path_factory.mktemp(name) / "model"
        folder.mkdir()
        write_pipeline(build_pipeline(make(), space="original"), folder)
        if name == "transformer":
            (folder / "onnx").mkdir()
            (folder / "onnx" / "model.onnx").write_bytes(b"a graph, which xsent does not read" * 10)
        write_sums(folder)
        (folder / "README.md").write_text("card")
    return folders


@pytest.fixture
def folders(originals: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    """Copies to damage."""
    return {name: Path(shutil.copytree(folder, tmp_path / name)) for name, folder in originals.items()}


# ---- damage of an exported folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("encoder", "name"), ROWS, ids=[f"{encoder}-{name}" for encoder, name in ROWS])
def test_a_damaged_file_of_an_export_is_named(encoder: str, name: str, kind: str, folders: dict[str, Path]) -> None:
    file = folders[encoder] / name
    Damage(kind, 0.5, len(name)).apply(file)
    before = contents(folders[encoder])
    with pytest.raises(
        ValueError, match=r"truncated or altered: expected sha256|modules.json: |config.json: "
    ) as error:
        xsent.load_encoder(folders[encoder])
    assert str(error.value).startswith(f"{file}: ")
    assert contents(folders[encoder]) == before


@pytest.mark.parametrize(("encoder", "name"), ROWS, ids=[f"{encoder}-{name}" for encoder, name in ROWS])
def test_a_missing_file_of_an_export_is_named(encoder: str, name: str, folders: dict[str, Path]) -> None:
    file = folders[encoder] / name
    file.unlink()
    # Without modules.json the folder is that of a transformer.
    with pytest.raises((ValueError, OSError)) as error:
        xsent.load_encoder(folders[encoder])
    named = file if name != "modules.json" or encoder == "transformer" else folders[encoder]
    assert str(named) in str(error.value)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("content", [None, "another card"])
def test_a_changed_card_changes_no_vector(
    encoder: str, content: str | None, folders: dict[str, Path], originals: dict[str, Path]
) -> None:
    card = folders[encoder] / "README.md"
    card.unlink() if content is None else card.write_text(content)
    vectors = [xsent.load_encoder(folder).encode(TEXTS) for folder in (folders[encoder], originals[encoder])]
    assert torch.equal(*vectors)


def encode_or_name(folder: Path) -> torch.Tensor | None:
    """The vectors of the encoder in a folder; None if the error of loading it names the folder in one line."""
    try:
        return xsent.load_encoder(folder).encode(TEXTS)
    except EXPECTED as error:
        message = format_error(error)
    assert str(folder) in message
    assert "\n" not in message
    return None


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
@pytest.mark.parametrize(("encoder", "name"), ROWS, ids=[f"{encoder}-{name}" for encoder, name in ROWS])
def test_a_truncated_file_without_a_list_of_digests_is_one_line_that_names_the_folder(
    encoder: str, name: str, share: float, folders: dict[str, Path], originals: dict[str, Path]
) -> None:
    folder = folders[encoder]
    expected = xsent.load_encoder(originals[encoder]).encode(TEXTS)
    (folder / SUMS).unlink()
    Damage("truncated", share, 0).apply(folder / name)
    if (vectors := encode_or_name(folder)) is not None:  # a file that the encoder does not need
        assert torch.equal(vectors, expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not a list\n", f"{SUMS}:1: expected a SHA-256 and the name of a file, found 'not a list'"),
        ("0" * 64 + "  config.json\n", "config.json: truncated or altered: expected sha256 " + "0" * 64),
        ("0" * 64 + "  no such file\n", "no such file: truncated or altered: expected sha256 " + "0" * 64),
        ("\udcff\n", f"{SUMS}:1: expected a SHA-256 and the name of a file"),
    ],
    ids=["text", "another digest", "another name", "no UTF-8"],
)
def test_a_damaged_list_of_digests_is_an_error(content: str, message: str, folders: dict[str, Path]) -> None:
    (folders["transformer"] / SUMS).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=r"SHA-256|sha256") as error:
        xsent.load_encoder(folders["transformer"])
    assert message in str(error.value)


# ---- the job: an error, Ctrl-C or a kill at each stage

STAGES = ("write_pipeline", "write_onnx", "expected_vectors", "check_folder", "write_sums", "card", "rename")
FAULTS: dict[str, Callable[[], BaseException]] = {
    "full disk": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "memory": MemoryError,
    "refusal": lambda: ValueError("sentence-transformers gives another vector"),
    "ctrl-c": KeyboardInterrupt,
}


def passed(*_: Any, **__: Any) -> CheckResult:
    """The result of a check that passed, without the fresh process."""
    return CheckResult({}, 45, 0.0, 0.0, 1.0, 1.0)


def write_graph(pipeline: Any, folder: Path, opset: int) -> None:
    (folder / "graph").write_text("graph")


def request(target: Path) -> ExportTarget:
    def card(checked: CheckedExport) -> str:
        return f"largest difference {checked.result.difference}\n"

    return ExportTarget(target, build_pipeline(transformer(), space="original"), card)


def fail_at(
    stage: str, target: ExportTarget, fail: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> ExportTarget:
    """Let a stage of the export of ``target`` call ``fail``: after its work, or instead of it for card and rename."""
    monkeypatch.setattr(job, "check_folder", passed)
    monkeypatch.setattr(job, "write_onnx", write_graph)
    if stage == "card":
        return target._replace(card=fail)
    if stage == "rename":
        monkeypatch.setattr(Path, "rename", fail)
        return target
    work = getattr(job, stage)

    def work_and_fail(*arguments: Any, **options: Any) -> Any:
        work(*arguments, **options)
        return fail()

    monkeypatch.setattr(job, stage, work_and_fail)
    return target


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with files of the user beside the target."""
    folder = tmp_path / "models"
    (folder / "earlier").mkdir(parents=True)
    (folder / "earlier" / "config.json").write_text("{}")
    (folder / "out.txt").write_text("notes")
    return folder


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
@pytest.mark.parametrize("stage", STAGES)
def test_an_export_that_fails_leaves_nothing_and_can_be_repeated(
    stage: str, fault: Callable[[], BaseException], workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise fault()

    before = contents(workplace)
    options = OPTIONS._replace(onnx=True)
    with monkeypatch.context() as patched, pytest.raises(type(fault())):
        export([fail_at(stage, request(workplace / "out"), fail, patched)], options=options)
    assert contents(workplace) == before
    monkeypatch.setattr(job, "check_folder", passed)
    export([request(workplace / "out")], options=OPTIONS)
    assert xsent.load_encoder(workplace / "out").encode(TEXTS).shape == (3, 16)


def _export_and_die(stage: str, target: Path) -> None:
    def die(*_: Any, **__: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    export([fail_at(stage, request(target), die, pytest.MonkeyPatch())], options=OPTIONS._replace(onnx=True))


# The first child process of a run takes seconds.
KILLS = [pytest.param(stage, marks=[] if stage == "check_folder" else pytest.mark.exhaustive) for stage in STAGES]


@pytest.mark.parametrize("stage", KILLS)
def test_a_killed_export_leaves_no_folder_and_can_be_repeated(
    stage: str, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(workplace)
    assert exit_code(_export_and_die, stage, workplace / "out") == -signal.SIGKILL
    assert not (workplace / "out").exists()
    monkeypatch.setattr(job, "check_folder", passed)
    export([request(workplace / "out")], options=OPTIONS)
    export([request(workplace / "undisturbed")], options=OPTIONS)
    assert contents(workplace / "out") == contents(workplace / "undisturbed")
    for name in ("out", "undisturbed"):
        shutil.rmtree(workplace / name)
    assert contents(workplace) == before


@pytest.mark.parametrize("size", [0, 50, 300, 2000, 20_000])
def test_a_full_disk_while_the_files_are_written_leaves_nothing(
    size: int, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(workplace)
    monkeypatch.setattr(job, "check_folder", passed)
    with pytest.raises(OSError, match=str(workplace / "out")) as error, file_size_limit(size):
        export([request(workplace / "out")], options=OPTIONS)
    assert "\n" not in format_error(error.value)
    assert contents(workplace) == before


# ---- the fresh process that checks the folder

GOOD = {"difference": 0.0, "row": 0, "batch_size": 1}


def _answer(**changes: Any) -> str:
    speeds: dict[str, Any] = {"per_second": 1.0, "onnx_per_second": None, "versions": {}}
    return json.dumps({"worst": GOOD, "onnx_worst": GOOD} | speeds | changes)


FAR, UNUSABLE = " gives another vector: ", "the exported folder cannot be used in a fresh process: "
PROCESSES: dict[str, tuple[int, str, str, str]] = {  # exit status, standard output and error, message
    "error": (1, "", "Traceback\nValueError: no model", f"{UNUSABLE}ValueError: no model"),
    "killed": (-9, "", "", f"{UNUSABLE}no error message"),
    "no answer": (0, "", "", f"{UNUSABLE}it printed"),
    "no JSON": (0, "Loading weights: 100%\n{", "", f"{UNUSABLE}it printed"),
    "another answer": (0, "[]", "", f"{UNUSABLE}it printed"),
    "NaN": (0, _answer(worst=GOOD | {"difference": float("nan")}), "", f"sentence-transformers{FAR}"),
    "infinite": (0, _answer(worst=GOOD | {"difference": float("inf")}), "", f"sentence-transformers{FAR}"),
    "too far": (0, _answer(worst=GOOD | {"difference": 1.1e-5}), "", f"sentence-transformers{FAR}"),
    "ONNX too far": (0, _answer(onnx_worst=GOOD | {"difference": 1.1e-5}), "", f"onnxruntime{FAR}"),
    "no ONNX": (0, _answer(onnx_worst=None), "", f"{UNUSABLE}it printed"),
}


@pytest.mark.parametrize(("status", "output", "errors", "message"), PROCESSES.values(), ids=list(PROCESSES))
def test_a_folder_whose_check_fails_never_appears(
    status: int, output: str, errors: str, message: str, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(workplace)
    completed = subprocess.CompletedProcess([], status, output, errors)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: completed)
    monkeypatch.setattr(job, "write_onnx", write_graph)
    with pytest.raises(ValueError, match=message) as error:
        export([request(workplace / "out")], options=OPTIONS._replace(onnx=True))
    assert "\n" not in str(error.value)
    assert contents(workplace) == before


# ---- targets


@pytest.mark.parametrize("name", ["thesis.txt", "checkpoints"])
def test_a_folder_of_the_user_where_the_temporary_one_would_be_stays(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "out.tmp" / name).mkdir(parents=True)
    (tmp_path / "out.tmp" / name / "work").write_text("years of work")
    before = contents(tmp_path)
    assert main(["export", "mini", "-o", str(tmp_path / "out")]) == 1
    assert caplog.messages[-1] == (
        f"{tmp_path / 'out.tmp'}: expected no such folder: it is needed to write {tmp_path / 'out'};"
        f" found {name} in it, nothing is deleted"
    )
    assert contents(tmp_path) == before


@pytest.mark.parametrize("target", ["mini", "mini/sub", "other/../mini"])
def test_an_export_into_the_folder_of_its_encoder_is_refused_and_changes_nothing(
    target: str, folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folders["static"].rename(tmp_path / "mini")
    (tmp_path / "other").mkdir()
    before = contents(source)
    monkeypatch.setattr(job, "check_folder", passed)
    monkeypatch.chdir(tmp_path)
    assert main(["export", "./mini", "-o", target]) == 1
    assert contents(source) == before
