"""A folder is there when it is right, and nothing is there when it is not."""

from __future__ import annotations

import importlib.metadata
import os
import re
from pathlib import Path

import pytest

from tests.models.small import small_encoder
from xsent.jobs.export import ExportOptions, Wanted, check_targets, export
from xsent.models.export.check import Checked
from xsent.models.export.pipeline import pipeline_of

pytest.importorskip("sentence_transformers")

OPTIONS = ExportOptions(onnx=False, opset=18, tolerance=1e-5, onnx_tolerance=1e-5)


def card(checked: Checked) -> str:
    return f"largest difference {checked.found.difference}\n"


def wanted(target: Path) -> Wanted:
    return Wanted(target, pipeline_of(small_encoder().eval(), space="original"), card)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.slow
def test_a_folder_that_is_wrong_is_not_left_anywhere(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"sentence-transformers gives another vector: .* for '.+', \d+ texts at a time"
    ):
        export([wanted(tmp_path / "out")], options=OPTIONS._replace(tolerance=0.0))
    assert files(tmp_path) == set()


def test_what_a_folder_holds_is_never_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    check_targets([target])  # an empty one may be taken
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match=r"expected an empty folder or none, found thesis\.txt"):
        export([wanted(target)], options=OPTIONS)
    assert files(tmp_path) == {"out", "out/thesis.txt"}
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(FileExistsError, match="found a file or link"):
            check_targets([tmp_path / name])


@pytest.mark.slow
def test_what_appears_during_an_export_is_not_overwritten_either(tmp_path: Path) -> None:
    target = tmp_path / "out"

    def late(checked: Checked) -> str:
        target.mkdir()
        (target / "thesis.txt").write_text("years of work")
        return card(checked)

    with pytest.raises(OSError, match="not empty"):
        export([wanted(target)._replace(card=late)], options=OPTIONS)
    assert files(tmp_path) == {"out", "out/thesis.txt"}


def test_two_heads_do_not_go_to_one_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a folder of its own for each head"):
        check_targets([tmp_path / "out", Path(os.path.relpath(tmp_path / "out"))])


def test_a_folder_within_the_other_is_refused_either_way_round(tmp_path: Path) -> None:
    for targets in ([tmp_path / "a", tmp_path / "a" / "b"], [tmp_path / "a" / "b", tmp_path / "a" / "." / "c" / ".."]):
        with pytest.raises(ValueError, match="expected folders beside each other"):
            check_targets(targets)
    check_targets([tmp_path / "a", tmp_path / "ab"])


def test_the_folder_that_one_stands_in_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for target in (".", "..", "../here"):
        with pytest.raises(ValueError, match="found the current one or one around it"):
            check_targets([Path(target)])
    check_targets([Path("new")])


def test_a_package_that_is_missing_or_too_old_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xsent.models.export.check.OLDEST", {"st": {}, "onnx": {"no-such-package": (1, 2)}})
    with pytest.raises(ImportError, match=r"no-such-package 1\.2 or later, found none: pip install -U 'xsent\[onnx\]'"):
        export([wanted(tmp_path / "out")], options=OPTIONS._replace(onnx=True))
    monkeypatch.setattr("xsent.models.export.check.OLDEST", {"st": {"torch": (99, 10)}})
    here = re.escape(importlib.metadata.version("torch"))
    with pytest.raises(ImportError, match=rf"torch 99\.10 or later, found {here}: pip install -U 'xsent\[st\]'"):
        export([wanted(tmp_path / "out")], options=OPTIONS)
    assert files(tmp_path) == set()
