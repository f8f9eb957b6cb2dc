"""Commands that make and filter text: ``augment``, ``noise``, ``diverge``, ``distract``, ``filter``.

They import torch, Hydra and the job when they run, because these imports take seconds.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.cli.command_config import (
    CONTINUES,
    checkpoint_name,
    job_config,
    load_embedder,
    optional_path,
    read_overrides,
)

if TYPE_CHECKING:
    from xsent.batch import PairJudge

log = logging.getLogger("xsent")


def run_augment(options: argparse.Namespace) -> None:
    from xsent.jobs.synthesis.augment import augment_file

    log.info("%s", augment_file(options.source, options.output, **job_config(options)))


def run_noise(options: argparse.Namespace) -> None:
    from xsent.jobs.synthesis.noise import noise_file
    from xsent.run import build

    config = job_config(options)
    noiser = build(config["noise"], "noise")
    log.info(
        "%s", noise_file(options.source, options.output, noiser, applied_log=options.log, workers=config["workers"])
    )


def run_diverge(options: argparse.Namespace) -> None:
    from xsent.jobs.synthesis.diverge import diverge_file, find_inputs
    from xsent.jobs.synthesis.seeds import options_from
    from xsent.run import build

    config = job_config(options)
    # Of annotated files only a given count limits the pairs, not the default.
    has_count = any(text.startswith("seeds.count=") for text in read_overrides(options))
    inputs = find_inputs(
        options.inputs,
        source_conllu=options.source_conllu,
        target_conllu=options.target_conllu,
        align=options.align,
        source_lang=config["source_lang"],
        target_lang=config["target_lang"],
    )

    def build_on_device(name: str) -> Any:
        return build(config[name], name).to(config["device"])

    def build_diverger() -> Any:
        diverger = build(config["divergences"], "divergences")
        return diverger.with_ranker(build_on_device("ranker")) if config.get("ranker") else diverger

    load: dict[str, Callable[[], Any]] = {
        "divergences": build_diverger,
        "aligner": partial(build_on_device, "aligner"),
        "encoder": partial(load_embedder, config),
    }
    for name in ("annotator", "target_annotator"):
        if config[name]:
            load[name] = partial(build, config[name], "annotator")
    summary = diverge_file(
        inputs,
        options.output,
        load=load,
        options=options_from(config),
        config=config,
        keep_work=config["keep_work"],
        work_dir=optional_path(config["work_dir"]),
        first=config["seeds"]["count"] if has_count else None,
    )
    log.info("%s", summary)


def run_filter(options: argparse.Namespace) -> None:
    from xsent.jobs.filtering.filter import filter_bitext, options_from
    from xsent.reporting.pages.filter import check_page, try_divergence_page

    config = job_config(options)
    filter_options = options_from(config)
    page = config["page"] | ({"words": config["documents"]["aligner"]["max_words"]} if options.documents else {})
    if options.html is not None:
        check_page(**page)
    show = partial(try_divergence_page, options.html, run=options.ckpt, documents=options.documents, **page)
    with _filter_input(options, config) as bitext:
        filtered = filter_bitext(
            bitext,
            options.output,
            load=partial(_load_document_judge if options.documents else _load_pair_judge, config, options.ckpt),
            device=config["device"],
            options=filter_options,
            keep_work=config["keep_work"],
            work_dir=optional_path(config["work_dir"]),
            show=None if options.html is None else show,
            page=options.html,
        )
    log.info("%s", filtered)


def _filter_input(options: argparse.Namespace, config: Mapping[str, Any]) -> AbstractContextManager[Path]:
    """The bitext to filter; two text files become one for the duration of the context."""
    from xsent.jobs.checks import check_files
    from xsent.jobs.filtering.documents import documents_as_row

    files: list[Path] = options.bitext
    if len(files) == 1:
        return nullcontext(files[0])
    if not options.documents:
        raise ValueError(f"expected one BITEXT, found {len(files)} files; --documents compares two text files")
    if len(files) > 2:
        raise ValueError(
            f"--documents: expected two text files, or one BITEXT of two columns, found {len(files)} files"
        )
    if config["header"] or (config["source_column"], config["target_column"]) != (1, 2):
        raise ValueError("--header, --source-column and --target-column are for a BITEXT, found two text files")
    check_files(files, [path for path in (options.output, options.html) if path is not None])
    return documents_as_row(*files)


def _load_document_judge(config: Mapping[str, Any], run: str | None) -> PairJudge:
    """The judge of whole documents by word vectors; the thresholds were chosen on those of ``micro``."""
    from xsent.config_checks import check_number
    from xsent.models.pairs.document_judge import DocumentJudge
    from xsent.run import build, load_encoder

    if run is not None:
        raise ValueError("--ckpt: a run judges sentences; --documents needs vectors of words (--encoder)")
    aligner = build(config["documents"]["aligner"], "document aligner")
    thresholds = {name: config["documents"][name] for name in ("threshold", "word_threshold")}
    for name, value in thresholds.items():
        check_number(f"documents.{name}", value, minimum=0)
    _silence_unknown_words()
    if not config.get("encoder"):
        return DocumentJudge(load_encoder("micro", device=config["device"]), "micro", aligner, **thresholds)
    return DocumentJudge(load_embedder(config), _encoder_name(config), aligner, **thresholds)


def _load_pair_judge(config: Mapping[str, Any], run: str | None) -> PairJudge:
    """The judge of a run, the similarity of an encoder's vectors, or without either the bundled judge."""
    from xsent.config_checks import check_number
    from xsent.models.pairs.cosine_judge import CosineJudge
    from xsent.run import load_judge

    if run is not None or not config.get("encoder"):
        return load_judge(run, device=config["device"], trust_remote_code=config["trust_remote_code"])
    for name, value in config["cosine"].items():
        check_number(f"cosine.{name}", value, minimum=-1)
    _silence_unknown_words()
    return CosineJudge(load_embedder(config), _encoder_name(config), **config["cosine"])


def _silence_unknown_words() -> None:
    """Words are encoded one by one, and a word that the encoder does not know is no news."""
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)


def _encoder_name(config: Mapping[str, Any]) -> str:
    encoder = config["encoder"]
    return str(encoder.get("name") or checkpoint_name(Path(encoder["source"]).resolve()))


def run_distract(options: argparse.Namespace) -> None:
    from rich.console import Console

    from xsent.jobs.synthesis.distract import check_outputs, difficulty_by_language, distract, list_requests
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
    check_outputs(inputs, options.output, ledger=None if ledger is None else Path(str(ledger)))
    maker = build(config["maker"], "maker")
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

    overrides = read_overrides(options)
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
