"""Commands that use, make, score and share encoders: all that ``text_commands`` does not have.

They import torch, Hydra and the job when they run, because these imports take seconds.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import textwrap
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.catalogue import (
    encoder_info,
    encoder_names,
    encoders,
    language_file,
    language_table,
    unknown_encoder,
)
from xsent.cli.command_config import (
    checkpoint_name,
    encoder_source,
    job_config,
    load_embedder,
    optional_path,
    set_encoder,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from xsent.jobs.mteb import LocalTask

log = logging.getLogger("xsent")


def run_encode(options: argparse.Namespace) -> None:
    from xsent.jobs.encode import encode_file, options_from

    config = job_config(options)
    # This warning would appear for every block; the summary has the total.
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)
    summary = encode_file(
        options.source,
        options.output,
        load=partial(load_embedder, config),
        options=options_from(config),
        work_dir=optional_path(config["work_dir"]),
        keep_work=config["keep_work"],
    )
    log.info("%s", summary)


def run_mine(options: argparse.Namespace) -> None:
    from xsent.jobs.mining.engines import open_engine
    from xsent.jobs.mining.mine import mine_files
    from xsent.jobs.mining.settings import options_from

    config = job_config(options)
    # This warning would appear for every shard; the job gives the total for each side.
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)
    with open_engine(config["engine"], address=config["address"], retries=config["retries"]) as engine:
        mine_files(
            options.source,
            options.target,
            options.output,
            load=partial(load_embedder, config),
            space=config["space"],
            device=config["device"],
            options=options_from(config),
            engine=engine,
            work_dir=optional_path(config["work_dir"]),
            keep_work=config["keep_work"],
        )


def run_export(options: argparse.Namespace) -> None:
    set_encoder(options)
    config = job_config(options) | {"device": "cpu"}
    from xsent.jobs.export.export import ExportOptions, ExportTarget, check_targets, export
    from xsent.models.encoders.disentangled import DisentangledEncoder
    from xsent.models.export.check import check_packages
    from xsent.models.export.pipeline import build_pipeline, describe_limits, embedding_size
    from xsent.reporting.model_card import Exported, about_encoder, about_run, model_card
    from xsent.run.loading import is_run

    export_options = ExportOptions(**{name: config[name] for name in ExportOptions._fields})
    paths = [path for path in (options.output, options.language_head) if path is not None]
    # Checked before the encoder is loaded, which takes a while.
    check_targets(paths)
    check_packages(onnx=export_options.onnx)
    paths = [path.resolve() for path in paths]
    embedder = load_embedder(config)  # before the card, which reads the checkpoint without a check of its digest
    source = encoder_source(options)
    if source is None:
        about = about_encoder(config["encoder"])
    elif is_run(Path(source)):
        about = about_run(Path(source).expanduser())
    else:
        about = about_encoder({"name": Path(source).resolve().name, "path": source})
    has_heads = isinstance(embedder, DisentangledEncoder)
    if options.language_head and not has_heads:
        raise ValueError("--language-head: only a run of dream, meat or oracle has heads")
    targets = []
    for space, path in zip(["meaning" if has_heads else "original", "language"], paths, strict=False):
        try:
            pipeline = build_pipeline(embedder, space=space)
        except ValueError as error:
            raise ValueError(f"cannot be exported: {error}. Use it as it is: {_loading_code(options)}") from None
        exported = Exported(
            name=path.name,
            space=space,
            dim=embedding_size(pipeline),
            max_length=pipeline.encoder.max_length,
            digest=embedder.digest(),
            limits=describe_limits(pipeline),
            prompt=getattr(pipeline.encoder, "prompt", ""),
        )
        targets.append(ExportTarget(path, pipeline, partial(model_card, exported, about)))
    export(targets, options=export_options)


def _loading_code(options: argparse.Namespace) -> str:
    """Python code that loads an encoder which cannot be exported."""
    if not options.set:
        return f"import xsent; encoder = xsent.load_encoder({options.encoder!r})"
    overrides = [*options.set, f"encoder={options.encoder}"]
    build = f'build(load_config("export", {overrides})["encoder"], "encoder")'
    return f"from xsent.run import build, load_config; encoder = {build}"


def run_distill_static(options: argparse.Namespace) -> None:
    set_encoder(options)
    config = job_config(options)
    from xsent.jobs.distill_static import distill_static, options_from

    # Pieces that are no text, such as marks of words, would make this warning appear.
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)
    vocabulary, trust = config["tokenizer"], config["trust_remote_code"]
    complete = config | {"dim": None}  # `dim` is the number of principal components
    summary = distill_static(
        options.output,
        load=partial(load_embedder, complete),
        load_tokenizer=None if vocabulary is None else partial(_load_tokenizer, vocabulary, trust),
        text=optional_path(config["text"]),
        options=options_from(config),
        work_dir=optional_path(config["work_dir"]),
        keep_work=config["keep_work"],
    )
    log.info("%s", summary)


def _load_tokenizer(source: str, trust_remote_code: bool) -> Tokenizer:
    """The tokenizer of an encoder with a name, or of a folder or file ``tokenizer.json``."""
    from tokenizers import Tokenizer

    from xsent.models.static_distillation import tokenizer_of, without_limits
    from xsent.run import load_encoder

    path = Path(source).expanduser()
    file = path / "tokenizer.json" if path.is_dir() else path
    if source in encoder_names() or not file.is_file():
        return tokenizer_of(load_encoder(source, trust_remote_code=trust_remote_code))
    try:
        return without_limits(Tokenizer.from_file(str(file)))
    except Exception as error:  # the package raises no narrower one
        raise ValueError(f"{file}: expected a tokenizer of the package tokenizers: {error}") from None


def run_transplant(options: argparse.Namespace) -> None:
    from xsent.jobs.transplant import options_from, transplant_encoder
    from xsent.run import load_encoder

    config = job_config(options)
    transplant_encoder(
        options.source,
        config["tokenizer"],
        options.output,
        load=load_encoder,
        text=optional_path(config["text"]),
        options=options_from(config),
    )


def run_mteb(options: argparse.Namespace) -> None:
    from xsent.run import load_config

    if options.list:
        _print_local_tasks(load_config("mteb", [])["tasks"])
        return
    set_encoder(options)
    if not options.tasks:
        raise ValueError("--tasks: expected at least one name; xsent mteb --list shows the local ones")
    if options.output is None:
        raise ValueError("-o: expected a folder for the results")
    config = job_config(options)
    from xsent.jobs.mteb import check_folder, check_names, score_tasks

    check_folder(options.output)
    names = list(dict.fromkeys(options.tasks))
    check_names(names, list(config["tasks"]))
    source = encoder_source(options)
    name = options.name or (options.encoder if source is None else checkpoint_name(Path(source).resolve()))
    score_tasks(
        load_embedder(config),
        options.output,
        name=re.sub(r"[^\w.-]+", "_", name),
        space=config["space"],
        tasks=[local_task(task, config) if task in config["tasks"] else task for task in names],
        root=config["local"],
        download=config["download"],
    )


def _print_local_tasks(tasks: Mapping[str, Mapping[str, Any]]) -> None:
    rows = [(name, f"DIR/{task['folder']}", task["about"]) for name, task in tasks.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, folder, about in rows:
        sys.stdout.write(f"{name:{widths[0]}}  {folder:{widths[1]}}  {about}\n")


def local_task(name: str, config: Mapping[str, Any]) -> LocalTask:
    """Read the files of a local task of ``xsent mteb``."""
    from xsent.jobs.mteb import LocalTask
    from xsent.run import load_config
    from xsent.run.config.build import build_evaluator
    from xsent.run.config.compose import override

    task = config["tasks"][name]
    if config["local"] is None:
        raise ValueError(f"--tasks {name}: reads DIR/{task['folder']}: give --local DIR")
    data = Path(config["local"]) / task["folder"]
    if not data.exists():
        raise FileNotFoundError(f"--tasks {name}: no {data}; expected its data there ({task['about']})")
    overrides = [override(key, str(data) if value == "DATA" else value) for key, value in task["options"].items()]
    composed = load_config("evaluate", ["run_dir=none", f"evaluator={task['evaluator']}", *overrides])
    evaluator = build_evaluator(composed["evaluator"], None, split="test", device=config["device"])
    # ``DATA`` for the folder of the data, so that moved data count as the same.
    settings = json.loads(json.dumps(composed["evaluator"]).replace(json.dumps(str(data)), '"DATA"'))
    return LocalTask(name, task["kind"], task["about"], evaluator, settings)


def run_compare(options: argparse.Namespace) -> None:
    from rich.console import Console

    from xsent.reporting.pages import write_comparison

    write_comparison(options.runs, options.output, console=Console())


def run_encoders(options: argparse.Namespace) -> None:
    if options.name is None:
        sys.stdout.write(f"{encoders()}\n\nxsent encoders NAME shows one in detail.\n")
        return
    if options.name not in encoder_names():
        raise ValueError(unknown_encoder(options.name))
    entry = encoder_info(options.name)
    lines = {"name": entry.name, "about": entry.about, "dim": entry.dim, "languages": entry.languages}
    lines |= {"origin": entry.origin, "licence": entry.licence or "not known here"}
    lines["use"] = f'xsent.load_encoder("{entry.name}"), xsent mine ... --encoder {entry.name}'
    for title, value in lines.items():
        sys.stdout.write(textwrap.fill(str(value), 80, initial_indent=f"{title:11}", subsequent_indent=" " * 11) + "\n")
    if (path := language_file(entry.name)).is_file():
        sys.stdout.write(f"\n{language_table(path)}\n")
