"""``xsent export``: what was trained, as a folder for sentence-transformers and onnxruntime."""

from __future__ import annotations

import argparse
import logging
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.cli.options import add_set, check_encoder

if TYPE_CHECKING:
    from xsent.batch import Embedder

log = logging.getLogger(__name__)


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Write what a run trained as a folder that sentence-transformers loads, checked in a fresh process."
    parser = commands.add_parser(
        "export", help=about, description=about, epilog="Every other value of conf/export.yaml goes by --set.",
        formatter_class=argparse.RawTextHelpFormatter,
    )  # fmt: skip
    parser.set_defaults(run=_export, interrupted="nothing was written")
    parser.add_argument("trained", nargs="?", metavar="RUN", help="a run folder or checkpoint file")
    parser.add_argument("--encoder", metavar="NAME", help="a file of conf/encoder instead, as it is")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", required=True,
        help="where to; of a run with heads the meaning vectors. Nothing is overwritten",
    )  # fmt: skip
    parser.add_argument("--language-head", type=Path, metavar="FOLDER", help="the language vectors, to another folder")
    parser.add_argument(
        "--onnx", action="store_true", default=None,
        help="also FOLDER/onnx/model.onnx, from tokens to the sentence vector",
    )  # fmt: skip
    add_set(parser, "encoder.path=/models/labse or opset=20")


def _export(given: argparse.Namespace) -> None:
    if (given.trained is None) == (given.encoder is None):
        raise ValueError("expected either a RUN or --encoder NAME")
    check_encoder(given.encoder)
    start = time.perf_counter()
    # torch takes seconds to import, and --help needs none of it.
    from xsent.jobs.export import ExportOptions, Wanted, check_targets, export, measure
    from xsent.models.disentangled import DisentangledEncoder
    from xsent.models.export.check import check_packages
    from xsent.models.export.pipeline import limits_of, pipeline_of, size_of
    from xsent.reporting.model_card import Exported, about_encoder, about_run, model_card
    from xsent.run import load_config

    config = load_config("export", given.set + ([f"encoder={given.encoder}"] if given.encoder else []))
    if given.onnx is not None:
        config["onnx"] = given.onnx
    options = ExportOptions(**{name: config[name] for name in ExportOptions._fields})
    targets = [given.output, *([given.language_head] if given.language_head else [])]
    # Before an encoder is loaded, which takes a while.
    check_targets(targets)
    check_packages(onnx=options.onnx)
    targets = [target.resolve() for target in targets]
    about = about_encoder(config["encoder"]) if given.trained is None else about_run(Path(given.trained))
    embedder = _load(given.trained, config)
    has_heads = isinstance(embedder, DisentangledEncoder)
    if given.language_head and not has_heads:
        raise ValueError("--language-head: only a run of dream, meat or oracle has heads")
    spaces = ["meaning" if has_heads else "original"]
    spaces += ["language"] if given.language_head else []
    wanted = []
    for space, target in zip(spaces, targets, strict=True):
        try:
            pipeline = pipeline_of(embedder, space=space)
        except ValueError as error:
            raise ValueError(f"cannot be exported: {error}. Use it as it is: {_instead(given)}") from None
        exported = Exported(
            name=target.name,
            space=space,
            dim=size_of(pipeline),
            max_length=pipeline.encoder.max_length,
            digest=embedder.digest(),
            limits=limits_of(pipeline),
            prompt=getattr(pipeline.encoder, "prompt", ""),
        )
        wanted.append(Wanted(target, pipeline, partial(model_card, exported, about)))
    for target, checked in zip(targets, export(wanted, options=options), strict=True):
        files, size = measure(target)
        found = checked.found
        of_onnx = "" if found.onnx_difference is None else f", {found.onnx_difference:.1e} in onnxruntime"
        log.info(
            "exported to %s: %d files, %.1f MB; largest difference %.1e%s over %d hard texts; %.0f s",
            target, files, size / 1e6, found.difference, of_onnx, found.texts, time.perf_counter() - start,
        )  # fmt: skip


def _load(trained: str | None, config: dict[str, Any]) -> Embedder:
    from xsent.run import build, load_encoder

    if trained is not None:
        return load_encoder(trained)
    embedder: Embedder = build(config["encoder"])
    return embedder


def _instead(given: argparse.Namespace) -> str:
    """The line of Python that gives the encoder which no folder can hold."""
    if given.trained is not None:
        return f"import xsent; encoder = xsent.load_encoder({given.trained!r})"
    options = [*given.set, f"encoder={given.encoder}"]
    return f'from xsent.run import build, load_config; encoder = build(load_config("export", {options})["encoder"])'
