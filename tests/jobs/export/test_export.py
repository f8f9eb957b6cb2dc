"""Export job: the folder exists only if it passes its check."""

import importlib.metadata
import re
from pathlib import Path

import pytest

from tests.models.small import small_encoder
from xsent.jobs.export.export import ExportOptions, ExportTarget, check_targets, export
from xsent.models.export.check import CheckedExport
from xsent.models.export.pipeline import build_pipeline

pytest.importorskip("sentence_transformers")

OPTIONS = ExportOptions(onnx=False, opset=18, tolerance=1e-5, onnx_tolerance=1e-5)


def card(checked: CheckedExport) -> str:
    return f"largest difference {checked.result.difference}\n"


def requested(target: Path) -> ExportTarget:
    return ExportTarget(target, build_pipeline(small_encoder().eval(), space="original"), card)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.slow
def test_a_folder_that_fails_the_check_is_deleted(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"sentence-transformers gives another vector: .* for '.*', batch size \d+"):
        export([requested(tmp_path / "out")], options=OPTIONS._replace(tolerance=0.0))
    assert files(tmp_path) == set()


def test_existing_files_are_never_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    check_targets([target])  # an empty one may be taken
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"expected an empty folder or none, found thesis\.txt"):
        export([requested(target)], options=OPTIONS)
    assert files(tmp_path) == {"out", "out/thesis.txt"}
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(FileExistsError, match="found a file or link"):
            check_targets([tmp_path / name])


@pytest.mark.slow
def test_files_created_during_an_export_are_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def late(checked: CheckedExport) -> str:
        target.mkdir()
        (target / "thesis.txt").write_text("years of work")
        return card(checked)

    with pytest.raises(OSError, match="not empty"):
        export([requested(target)._replace(card=late)], options=OPTIONS)
    assert files(tmp_path) == {"out", "out/thesis.txt"}


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (["HERE/out", "out"], "a folder of its own for each head"),
        (["HERE/a", "HERE/a/b"], "expected folders beside each other"),
        (["HERE/a/b", "HERE/a/./c/.."], "expected folders beside each other"),
        (["."], "found the current one or one around it"),
        ([".."], "found the current one or one around it"),
        (["../here"], "found the current one or one around it"),
    ],
)
def test_folders_that_are_equal_nested_or_current_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, targets: list[str], message: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(ValueError, match=message):
        check_targets([Path(target.replace("HERE", str(tmp_path / "here"))) for target in targets])
    check_targets([Path("new"), Path("newer")])


def test_a_package_that_is_missing_or_too_old_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xsent.models.export.check.OLDEST", {"st": {}, "onnx": {"no-such-package": (1, 2)}})
    with pytest.raises(ImportError, match=r"no-such-package 1\.2 or later, found none: pip install -U 'xsent\[onnx\]'"):
        export([requested(tmp_path / "out")], options=OPTIONS._replace(onnx=True))
    monkeypatch.setattr("xsent.models.export.check.OLDEST", {"st": {"torch": (99, 10)}})
    installed = re.escape(importlib.metadata.version("torch"))
    with pytest.raises(ImportError, match=rf"torch 99\.10 or later, found {installed}: pip install -U 'xsent\[st\]'"):
        export([requested(tmp_path / "out")], options=OPTIONS)
    assert files(tmp_path) == set()
