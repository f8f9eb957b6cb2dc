"""``xsent distract``: make near-copies of sentences that mean something else."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xsent.cli.options import add_set, defaults

log = logging.getLogger("xsent")

# Options that are values of the maker that was chosen.
OF_MAKER = ("count", "seed", "model", "base_url", "temperature", "limit_cost", "ledger")


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Make near-copies of sentences that mean something else, by rules or by a language model."
    parser = commands.add_parser(
        "distract", help=about, description=about,
        epilog="Every other value of conf/distract.yaml and conf/maker goes by --set.",
    )  # fmt: skip
    parser.set_defaults(run=_distract, interrupted="nothing was written")
    default = defaults("distract")
    rules, llm = defaults("maker/rules"), defaults("maker/llm")
    parser.add_argument(
        "inputs", metavar="IN", nargs="+",
        help="LANG=FILE, a sentence a line (several of them are line by line translations); LANG,LANG=FILE, columns by"
        " tab; FILE.jsonl as this command writes it, whose distractors are kept; or a released CSV of CLSD; plain or"
        " .gz",
    )  # fmt: skip
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "-o", "--output", type=Path, metavar="OUT",
        help="a JSON object a line, .jsonl or .jsonl.gz; OUT.summary.json counts, OUT.failures.tsv lists texts without"
        " any",
    )  # fmt: skip
    what.add_argument("--report", action="store_true", help="say how hard the distractors of IN are to tell; make none")
    parser.add_argument(
        "--languages", metavar="CODES", type=lambda text: text.split(","),
        help="make distractors for these alone, with commas between them (default: all of the input)",
    )  # fmt: skip
    parser.add_argument("--again", action="store_true", default=None, help="make those anew that are there already")
    arguments: list[tuple[str, Callable[[str], object], str, str, object]] = [
        ("maker", str, "NAME", "rules | llm: a model behind an OpenAI-compatible endpoint", default["maker"]),
        ("count", int, "N", "distractors of each text", default["count"]),
        ("seed", int, "N", f"of every draw (default: of rules {rules['seed']}; llm: none is sent)", None),
        ("model", str, "NAME", "llm: as the endpoint calls it", llm["model"]),
        ("base-url", str, "URL", "llm: of the endpoint", llm["base_url"]),
        ("temperature", float, "T", "llm: of sampling", llm["temperature"]),
        ("limit-cost", float, "AMOUNT", "llm: stop before more than this is spent", llm["limit_cost"]),
        ("ledger", str, "FILE", "llm: keeps answers, so that none is paid twice; otherwise OUT.ledger.jsonl", None),
    ]  # fmt: skip
    for name, kind, metavar, said, value in arguments:
        shown = "" if value is None else f" (default: {value})"
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=said + shown)
    parser.add_argument("--dry-run", action="store_true", help="llm: say what would be asked and cost; ask nothing")
    add_set(parser, "maker.concurrency=4")


def _distract(given: argparse.Namespace) -> None:
    from rich.console import Console

    from xsent.jobs.distract import check_files, difficulty_by_language, distract, requests_of
    from xsent.jobs.distract_inputs import read_inputs
    from xsent.languages import to_iso639_3
    from xsent.reporting.difficulty import difficulty_table
    from xsent.reporting.secrets import redact
    from xsent.run import build

    config = _config(given)
    inputs = read_inputs(given.inputs)
    if given.report:
        if not any(row.distractors for row in inputs.rows):
            raise ValueError(f"{', '.join(map(str, inputs.files))}: expected distractors to report on, found none")
        Console().print(difficulty_table(difficulty_by_language(inputs.rows), config["published"]))
        return
    ledger = config["maker"].get("ledger")
    check_files(inputs, given.output, ledger=None if ledger is None else Path(str(ledger)))
    maker = build(config["maker"])
    languages = config["languages"] and [to_iso639_3(code) for code in config["languages"]]
    requests = requests_of(inputs, maker, languages=languages, again=config["again"])
    if given.dry_run:
        if not hasattr(maker, "plan"):
            raise ValueError("--dry-run is for a maker that costs something: see --maker")
        Console().print(str(maker.plan(requests)), markup=False, highlight=False, soft_wrap=True)
        return
    try:
        summary = distract(inputs, given.output, maker, requests, config=redact(config["maker"]))
    finally:
        # Also of a run that was stopped: it has been paid.
        if hasattr(maker, "totals") and maker.totals.requests:
            log.info("%s", maker.totals)
    Console().print(difficulty_table(summary.difficulty, config["published"]))
    log.info("%s", summary)


def _config(given: argparse.Namespace) -> dict[str, Any]:
    """The values of the config files and of the options, which win."""
    from xsent.run import load_config
    from xsent.text.distractors.values import check_flag

    chosen = [] if given.maker is None else [f"maker={given.maker}"]
    config = load_config("distract", [*given.set, *chosen])
    config |= {name: value for name in ("languages", "again") if (value := vars(given)[name]) is not None}
    check_flag("again", config["again"])
    languages = config["languages"]
    if languages is not None and not (
        isinstance(languages, list) and languages and all(isinstance(code, str) for code in languages)
    ):
        raise ValueError(f"languages={languages}: expected a list such as [deu,fra]")
    _check_published(config["published"])
    maker = config["maker"]
    for name in OF_MAKER:
        if (value := vars(given)[name]) is not None:
            if name not in maker:
                others = ", ".join(other for other in maker if other != "_target_")
                raise ValueError(
                    f"--{name.replace('_', '-')}: this maker has no such value, only {others}; see --maker"
                )
            maker[name] = value
    if "ledger" in maker:
        given.interrupted = "the same command continues"
        maker["ledger"] = maker["ledger"] or f"{given.output}.ledger.jsonl"
    return config


def _check_published(rows: object) -> None:
    """Raise ``ValueError`` unless they are rows of ``difficulty_table``, which comes after all the work."""
    if not isinstance(rows, list):
        raise ValueError(f"published={rows}: expected a list; [] has no set printed beside what is made")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise ValueError(f"published[{number}]={row}: expected name, original and intra")
        for column in ("original", "intra"):
            if not _is_mean_and_sd(row.get(column)):
                raise ValueError(
                    f"published[{number}].{column}={row.get(column)}: expected a mean and a standard deviation or null"
                )


def _is_mean_and_sd(found: object) -> bool:
    from xsent.text.distractors.values import is_number

    if not isinstance(found, list) or len(found) != 2:
        return False
    mean, sd = found
    return is_number(mean) and (sd is None or is_number(sd))
