"""What each command of ``xsent`` runs: options to a config, the config to a job, one line about the result.

Commands import torch, Hydra and the job when they run, because these imports take seconds.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.catalogue import encoder_info, encoder_names, encoders, unknown_encoder
from xsent.config_checks import check_space

if TYPE_CHECKING:
    from xsent.batch import Embedder, PairJudge
    from xsent.jobs.mteb import LocalTask

log = logging.getLogger("xsent")
CONTINUES = "the same command continues"  # message after Ctrl-C


def _job_config(options: argparse.Namespace) -> dict[str, Any]:
    from xsent.run import load_config

    return load_config(options.command, _overrides(options), encoder=_encoder_source(options))


def _overrides(options: argparse.Namespace) -> list[str]:
    """``--set`` and the named options as overrides of Hydra."""
    from xsent.run.config.compose import override

    named = {key: value for key in options.option_keys if (value := vars(options)[key]) is not None}
    if source := _encoder_source(options):
        del named["encoder"]
        if surplus := [text for text in options.set if text.startswith("encoder.")]:
            raise ValueError(f"--set {surplus[0]}: expected --encoder NAME with it (xsent encoders), found {source}")
    unnamed = [text for text in options.set if text.partition("=")[0] not in named]
    return [*unnamed, *(override(key, value) for key, value in named.items())]


def _encoder_source(options: argparse.Namespace) -> str | None:
    """Run, checkpoint or folder given as ``--encoder``; None for a name of ``conf/encoder``, or nothing."""
    source: str | None = getattr(options, "encoder", None)
    if source is None or source in encoder_names():
        return None
    if not Path(source).expanduser().exists():
        raise FileNotFoundError(unknown_encoder(source))
    return source


def _load_embedder(config: Mapping[str, Any]) -> Embedder:
    """The encoder of a config of ``_job_config``; a space needs a run with heads."""
    from xsent.run import build, load_encoder

    embedder: Embedder
    if "source" in config["encoder"]:
        embedder = load_encoder(config["encoder"]["source"], device=config["device"])
    else:
        embedder = build(config["encoder"]).to(config["device"])
    if config.get("space") is not None:
        check_space(config["space"], embedder.spaces)
    return embedder


def _set_encoder(options: argparse.Namespace) -> None:
    """Set ``options.encoder`` from the positional or the option: exactly one of them is given."""
    sources = [source for source in (options.source, options.encoder) if source is not None]
    if len(sources) != 1:
        raise ValueError(
            f"expected one encoder (a name, a folder or a run; `xsent encoders` lists the names), found {len(sources)}"
        )
    options.encoder = sources[0]


def _optional_path(name: str | None) -> Path | None:
    return Path(name) if name else None


def run_encode(options: argparse.Namespace) -> None:
    from xsent.jobs.encode import encode_file, options_from

    config = _job_config(options)
    # This warning would appear for every block; the summary has the total.
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)
    summary = encode_file(
        options.source,
        options.output,
        load=partial(_load_embedder, config),
        options=options_from(config),
        work_dir=_optional_path(config["work_dir"]),
        keep_work=config["keep_work"],
    )
    log.info("%s", summary)


def run_mine(options: argparse.Namespace) -> None:
    from xsent.jobs.mining.engines import open_engine
    from xsent.jobs.mining.mine import mine_files
    from xsent.jobs.mining.settings import options_from

    config = _job_config(options)
    # This warning would appear for every shard; the job gives the total for each side.
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)
    with open_engine(config["engine"], address=config["address"], retries=config["retries"]) as engine:
        mine_files(
            options.source,
            options.target,
            options.output,
            load=partial(_load_embedder, config),
            space=config["space"],
            device=config["device"],
            options=options_from(config),
            engine=engine,
            work_dir=_optional_path(config["work_dir"]),
            keep_work=config["keep_work"],
        )


def run_augment(options: argparse.Namespace) -> None:
    from xsent.jobs.synthesis.augment import augment_file

    log.info("%s", augment_file(options.source, options.output, **_job_config(options)))


def run_noise(options: argparse.Namespace) -> None:
    from xsent.jobs.synthesis.noise import noise_file
    from xsent.run import build

    config = _job_config(options)
    noiser = build(config["noise"])
    log.info(
        "%s", noise_file(options.source, options.output, noiser, applied_log=options.log, workers=config["workers"])
    )


def run_diverge(options: argparse.Namespace) -> None:
    from xsent.jobs.synthesis.diverge import diverge_file, find_inputs
    from xsent.jobs.synthesis.seeds import options_from
    from xsent.run import build

    config = _job_config(options)
    # Of annotated files only a given count limits the pairs, not the default.
    has_count = any(text.startswith("seeds.count=") for text in _overrides(options))
    inputs = find_inputs(
        options.inputs,
        source_conllu=options.source_conllu,
        target_conllu=options.target_conllu,
        align=options.align,
        source_lang=config["source_lang"],
        target_lang=config["target_lang"],
    )

    def build_on_device(name: str) -> Any:
        return build(config[name]).to(config["device"])

    def build_diverger() -> Any:
        diverger = build(config["divergences"])
        return diverger.with_ranker(build_on_device("ranker")) if config.get("ranker") else diverger

    load: dict[str, Callable[[], Any]] = {
        "divergences": build_diverger,
        "annotator": partial(build, config["annotator"]),
        "aligner": partial(build_on_device, "aligner"),
        "encoder": partial(_load_embedder, config),
    }
    if config["target_annotator"]:
        load["target_annotator"] = partial(build, config["target_annotator"])
    summary = diverge_file(
        inputs,
        options.output,
        load=load,
        options=options_from(config),
        config=config,
        keep_work=config["keep_work"],
        work_dir=_optional_path(config["work_dir"]),
        first=config["seeds"]["count"] if has_count else None,
    )
    log.info("%s", summary)


def run_filter(options: argparse.Namespace) -> None:
    from xsent.jobs.checks import check_different, check_output
    from xsent.jobs.filtering.filter import filter_bitext, options_from
    from xsent.reporting.pages.filter import check_page, try_divergence_page

    config = _job_config(options)
    filter_options = options_from(config)
    if options.html is not None:
        check_page(**config["page"])
        check_output(options.html)
        check_different(options.html, options.bitext, options.output)
    filtered = filter_bitext(
        options.bitext,
        options.output,
        load=partial(_load_pair_judge, config, options.ckpt),
        device=config["device"],
        options=filter_options,
        keep_work=config["keep_work"],
        work_dir=_optional_path(config["work_dir"]),
        show=None
        if options.html is None
        else partial(try_divergence_page, options.html, run=options.ckpt, **config["page"]),
    )
    log.info("%s", filtered)


def _load_pair_judge(config: Mapping[str, Any], run: str | None) -> PairJudge:
    """The judge of a run, or the similarity of an encoder's vectors."""
    from xsent.config_checks import check_number
    from xsent.models.pairs.cosine_judge import CosineJudge
    from xsent.run import load_judge

    if run is not None:
        return load_judge(run, device=config["device"])
    for name, value in config["cosine"].items():
        check_number(f"cosine.{name}", value, minimum=-1)
    # Words are encoded too, and a word that the encoder does not know is no news.
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)
    name = config["encoder"].get("name") or checkpoint_name(Path(config["encoder"]["source"]).resolve())
    return CosineJudge(_load_embedder(config), name, **config["cosine"])


def run_distract(options: argparse.Namespace) -> None:
    from rich.console import Console

    from xsent.jobs.synthesis.distract import check_files, difficulty_by_language, distract, list_requests
    from xsent.jobs.synthesis.distract_inputs import read_inputs
    from xsent.languages import to_iso639_3
    from xsent.reporting.secrets import redact
    from xsent.reporting.tables.difficulty import difficulty_table
    from xsent.run import build

    config = _distract_config(options)
    inputs = read_inputs(options.inputs)
    if options.report:
        if not any(row.distractors for row in inputs.rows):
            raise ValueError(f"{', '.join(map(str, inputs.files))}: expected distractors to report on, found none")
        Console().print(difficulty_table(difficulty_by_language(inputs.rows), config["published"]))
        return
    ledger = config["maker"].get("ledger")
    check_files(inputs, options.output, ledger=None if ledger is None else Path(str(ledger)))
    maker = build(config["maker"])
    languages = config["languages"] and [to_iso639_3(code) for code in config["languages"]]
    requests = list_requests(inputs, maker, languages=languages, again=config["again"])
    if options.dry_run:
        if not hasattr(maker, "plan"):
            raise ValueError("--dry-run: only the maker llm has costs; see --maker")
        Console().print(str(maker.plan(requests)), markup=False, highlight=False, soft_wrap=True)
        return
    try:
        summary = distract(inputs, options.output, maker, requests, config=redact(config["maker"]))
    finally:
        # A stopped run has been paid, too.
        if hasattr(maker, "totals") and maker.totals.requests:
            log.info("%s", maker.totals)
    Console().print(difficulty_table(summary.difficulty, config["published"]))
    log.info("%s", summary)


def _distract_config(options: argparse.Namespace) -> dict[str, Any]:
    from xsent.config_checks import check_boolean
    from xsent.reporting.tables.difficulty import check_published
    from xsent.run import load_config

    overrides = _overrides(options)
    available = load_config("distract", [text for text in overrides if not text.startswith("maker.")])["maker"]
    for key in options.option_keys:
        group, _, name = key.partition(".")
        if group == "maker" and name and vars(options)[key] is not None and name not in available:
            names = ", ".join(key for key in available if key != "_target_")
            raise ValueError(f"--{name.replace('_', '-')}: this maker has no such value, only {names}; see --maker")
    config = load_config("distract", overrides)
    check_boolean("again", config["again"])
    languages = config["languages"]
    if languages is not None and not (
        isinstance(languages, list) and languages and all(isinstance(code, str) for code in languages)
    ):
        raise ValueError(f"languages={languages}: expected a list such as [deu,fra]")
    check_published(config["published"])
    if "ledger" in config["maker"]:
        options.interrupted = CONTINUES
        config["maker"]["ledger"] = config["maker"]["ledger"] or f"{options.output}.ledger.jsonl"
    return config


def run_export(options: argparse.Namespace) -> None:
    _set_encoder(options)
    config = _job_config(options) | {"device": "cpu"}
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
    source = _encoder_source(options)
    if source is None:
        about = about_encoder(config["encoder"])
    elif is_run(Path(source)):
        about = about_run(Path(source).expanduser())
    else:
        about = about_encoder({"name": Path(source).resolve().name, "path": source})
    embedder = _load_embedder(config)
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
    return f'from xsent.run import build, load_config; encoder = build(load_config("export", {overrides})["encoder"])'


def run_mteb(options: argparse.Namespace) -> None:
    from xsent.run import load_config

    if options.list:
        _print_local_tasks(load_config("mteb", [])["tasks"])
        return
    _set_encoder(options)
    if not options.tasks:
        raise ValueError("--tasks: expected at least one name; xsent mteb --list shows the local ones")
    if options.output is None:
        raise ValueError("-o: expected a folder for the results")
    config = _job_config(options)
    from xsent.jobs.mteb import check_folder, check_names, score_tasks

    check_folder(options.output)
    names = list(dict.fromkeys(options.tasks))
    check_names(names, list(config["tasks"]))
    source = _encoder_source(options)
    name = options.name or (options.encoder if source is None else checkpoint_name(Path(source).resolve()))
    score_tasks(
        _load_embedder(config),
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


def checkpoint_name(path: Path) -> str:
    """Name of a run folder, or of a checkpoint with its run, e.g. ``demo-last``."""
    if path.suffix != ".ckpt":
        return path.name
    return f"{path.parent.parent.name}-{path.stem}" if path.parent.name == "checkpoints" else path.stem


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
