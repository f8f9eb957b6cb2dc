"""Export job: write model folders, check them in a fresh process, then move them to their paths."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from xsent.files.atomic import atomic_folder, check_temporary_folder
from xsent.models.export.check import CheckedExport, CheckResult, check_folder, check_packages
from xsent.models.export.hard_inputs import HARD_INPUTS
from xsent.models.export.onnx_graph import write_onnx
from xsent.models.export.pipeline import Pipeline, expected_vectors, write_pipeline
from xsent.models.model_files import make_readable, write_sums

log = logging.getLogger(__name__)


class ExportOptions(NamedTuple):
    """Settings of an export; ``conf/job/export.yaml`` explains each."""

    onnx: bool
    opset: int
    tolerance: float
    onnx_tolerance: float


class ExportTarget(NamedTuple):
    """A folder to write."""

    path: Path
    pipeline: Pipeline
    card: Callable[[CheckedExport], str]  # README.md


def export(targets: Sequence[ExportTarget], *, options: ExportOptions) -> None:
    """Write each pipeline to its folder; the folders appear when all of them pass the check.

    Raises:
        ImportError: a package that reads the folder is missing or too old.
        ValueError: a folder gives other embeddings than the encoder, or none.
        OSError: a folder is not empty, or cannot be written.
    """
    check_targets([target.path for target in targets])
    check_packages(onnx=options.onnx)
    start = time.perf_counter()
    results = []
    with ExitStack() as stack:
        for target in targets:
            folder = stack.enter_context(atomic_folder(target.path))
            results.append(_write_and_check(target, folder, options))
    for target, result in zip(targets, results, strict=True):
        sizes = [path.stat().st_size for path in target.path.rglob("*") if path.is_file()]
        onnx = "" if result.onnx_difference is None else f", {result.onnx_difference:.1e} in onnxruntime"
        log.info(
            f"exported to {target.path}: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB; largest difference"
            f" {result.difference:.1e}{onnx} over {result.texts} hard texts; {time.perf_counter() - start:.0f} s"
        )


def check_targets(targets: Sequence[Path]) -> None:
    """Check that new folders can be created at these paths.

    Raises:
        FileExistsError: a path is a file, a link or a folder with files, or a folder with files is in the way.
        ValueError: two paths are equal or nested, or a path is the current folder or one of its parents.
    """
    paths, current = [target.resolve() for target in targets], Path.cwd()
    for target, path in zip(targets, paths, strict=True):
        if paths.count(path) > 1:
            raise ValueError(f"{target}: expected a folder of its own for each head, found one for both")
        if set(paths) & set(path.parents):
            raise ValueError(f"{target}: expected folders beside each other, found one within the other")
        if path == current or path in current.parents:
            raise ValueError(f"{target}: expected a new folder, found the current one or one around it; name one in it")
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise FileExistsError(f"{target}: expected an empty folder or none, found a file or link")
        if target.is_dir() and any(target.iterdir()):
            names = ", ".join(sorted(file.name for file in target.iterdir())[:3])
            raise FileExistsError(f"{target}: expected an empty folder or none, found {names}; nothing is overwritten")
        check_temporary_folder(target)


def _write_and_check(target: ExportTarget, folder: Path, options: ExportOptions) -> CheckResult:
    pipeline = target.pipeline
    log.info("writing the %s embeddings of %s", pipeline.space, pipeline.encoder.name)
    write_pipeline(pipeline, folder)
    if options.onnx:
        start = time.perf_counter()
        write_onnx(pipeline, folder, opset=options.opset)
        log.info("wrote the graph for onnxruntime in %.0f s", time.perf_counter() - start)
    log.info("checking the folder on %d hard texts in a fresh process", len(HARD_INPUTS))
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)  # some of these texts have no known token
    expected = expected_vectors(pipeline, HARD_INPUTS)
    onnx_tolerance = options.onnx_tolerance if options.onnx else None
    result = check_folder(
        folder,
        HARD_INPUTS,
        expected.vectors.numpy(),
        undefined=expected.undefined,
        prompt=getattr(pipeline.encoder, "prompt", ""),
        tolerance=options.tolerance,
        onnx_tolerance=onnx_tolerance,
    )
    speeds = {"sentence-transformers": result.sentences_per_second, "onnxruntime": result.onnx_per_second}
    per_tool = ", ".join(f"{tool} {speed:.0f}" for tool, speed in speeds.items() if speed is not None)
    log.info("the embeddings are equal; hard texts per second: %s", per_tool)
    checked = CheckedExport(result, len(expected.empty), len(expected.undefined), options.tolerance, onnx_tolerance)
    write_sums(folder)
    card = folder / "README.md"  # to be edited
    card.write_text(target.card(checked), encoding="utf-8")
    make_readable(folder)
    return result
