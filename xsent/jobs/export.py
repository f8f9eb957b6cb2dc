"""Export: folders written beside their place, checked in a fresh process, and only then put there."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from xsent.models.export.check import Checked, check_folder, check_packages
from xsent.models.export.hard_inputs import HARD_INPUTS
from xsent.models.export.onnx_graph import write_onnx
from xsent.models.export.pipeline import Pipeline, expected_vectors, write_pipeline

log = logging.getLogger(__name__)


class ExportOptions(NamedTuple):
    """What ``conf/export.yaml`` says."""

    onnx: bool
    opset: int
    tolerance: float
    onnx_tolerance: float


class Wanted(NamedTuple):
    """A folder to be written."""

    target: Path
    pipeline: Pipeline
    card: Callable[[Checked], str]  # README.md


def export(wanted: Sequence[Wanted], *, options: ExportOptions) -> list[Checked]:
    """Write each pipeline to its folder; none is there before all of them are right.

    Args:
        wanted: folders that do not exist yet, or are empty.
        options: of the config.

    Raises:
        ImportError: a package that reads the folder is missing or too old.
        ValueError: a folder gives other vectors than the encoder, or none.
        OSError: a folder holds something already, or cannot be written.
    """
    check_targets([one.target for one in wanted])
    check_packages(onnx=options.onnx)
    checked = []
    with ExitStack() as stack:
        made = []
        for one in wanted:
            one.target.parent.mkdir(parents=True, exist_ok=True)
            beside = tempfile.TemporaryDirectory(prefix=f".{one.target.name}.", dir=one.target.parent)
            folder = Path(stack.enter_context(beside)) / one.target.name
            folder.mkdir()
            checked.append(_make(one, folder, options))
            made.append(folder)
        for one, folder in zip(wanted, made, strict=True):
            # A folder takes the place of an empty one and of nothing else: the system refuses the rest.
            folder.rename(one.target)
    return checked


def check_targets(targets: Sequence[Path]) -> None:
    """Raise an error when a folder cannot be put where it is to be.

    Raises:
        FileExistsError: something is there already.
        ValueError: two folders are to be one, or one within the other, or it is the one that the user stands in.
    """
    places, here = [target.resolve() for target in targets], Path.cwd()
    for target, place in zip(targets, places, strict=True):
        if places.count(place) > 1:
            raise ValueError(f"{target}: expected a folder of its own for each head, found one for both")
        if set(places) & set(place.parents):
            raise ValueError(f"{target}: expected folders beside each other, found one within the other")
        if place == here or place in here.parents:
            raise ValueError(f"{target}: expected a new folder, found the current one or one around it; name one in it")
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise FileExistsError(f"{target}: expected an empty folder or none, found a file or link")
        if target.is_dir() and any(target.iterdir()):
            some = ", ".join(sorted(path.name for path in target.iterdir())[:3])
            raise FileExistsError(f"{target}: expected an empty folder or none, found {some}; nothing is overwritten")


def _make(one: Wanted, folder: Path, options: ExportOptions) -> Checked:
    pipeline = one.pipeline
    log.info("writing the %s vectors of %s", pipeline.space, pipeline.encoder.name)
    write_pipeline(pipeline, folder)
    if options.onnx:
        start = time.perf_counter()
        write_onnx(pipeline, folder, opset=options.opset)
        log.info("wrote the graph for onnxruntime in %.0f s", time.perf_counter() - start)
    log.info("checking the folder on %d hard texts in a fresh process", len(HARD_INPUTS))
    logging.getLogger("xsent.models.encoder").setLevel(logging.ERROR)  # texts without a token belong to them
    expected = expected_vectors(pipeline, HARD_INPUTS)
    onnx_tolerance = options.onnx_tolerance if options.onnx else None
    found = check_folder(
        folder,
        HARD_INPUTS,
        expected.vectors.numpy(),
        undefined=expected.undefined,
        prompt=getattr(pipeline.encoder, "prompt", ""),
        tolerance=options.tolerance,
        onnx_tolerance=onnx_tolerance,
    )
    speeds = {"sentence-transformers": found.sentences_per_second, "onnxruntime": found.onnx_per_second}
    said = ", ".join(f"{tool} {speed:.0f}" for tool, speed in speeds.items() if speed is not None)
    log.info("the same vectors; hard texts a second there: %s", said)
    checked = Checked(found, len(expected.empty), len(expected.undefined), options.tolerance, onnx_tolerance)
    card = folder / "README.md"
    card.write_text(one.card(checked), encoding="utf-8")
    for path in folder.rglob("*.safetensors"):
        path.chmod(card.stat().st_mode)  # safetensors lets nobody else read its files
    return checked


def measure(folder: Path) -> tuple[int, int]:
    """How many files a folder has, and their bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return len(files), sum(path.stat().st_size for path in files)
