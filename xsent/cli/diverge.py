"""``xsent diverge``: make pairs that differ in meaning from clean translations."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from xsent.cli.options import add_set, defaults

log = logging.getLogger("xsent")


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Make pairs that differ in meaning from clean translations; the words that differ are labelled."
    parser = commands.add_parser(
        "diverge", help=about, description=about, epilog="Every other value of conf/diverge.yaml goes by --set."
    )
    parser.set_defaults(run=_diverge, interrupted="the same command continues")
    default = defaults("diverge")
    parser.add_argument(
        "inputs", type=Path, metavar="IN", nargs="?",
        help="sentences and translations in columns by tab, plain or .gz; or a folder, or the beginning of names, of"
        " annotated ones: NAME.en.conllu, NAME.fr.conllu and, unless they are still to be aligned, NAME.align",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", required=True, help="a JSON object a line; OUT.summary.json counts"
    )
    for name, said in (
        ("source-conllu", "words, tags and parse of the source side, instead of what is found in IN"),
        ("target-conllu", "words of the target side, likewise"),
        ("align", "links of their words: a line of Pharaoh, from 0, for each pair; likewise"),
    ):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=said)
    arguments: list[tuple[str, str, Callable[[str], object], str, str, object]] = [
        ("divergences", "divergences", str, "NAME", "default: as in the paper | released: as its code",
         default["divergences"]),
        ("ranker", "ranker", str, "NAME", "who chooses among WordNet's words: masked_lm; otherwise their frequency",
         default["ranker"]),
        ("aligner", "aligner", str, "NAME", "a file of conf/aligner", default["aligner"]),
        ("encoder", "encoder", str, "NAME", "a file of conf/encoder: margin scores, alignment", default["encoder"]),
        ("seed", "seed", int, "N", "of every draw", default["seed"]),
        ("seeds", "seeds.count", int, "N", "pairs that are used, at most: the best of a bitext (default: "
         f"{default['seeds']['count']}), the first of annotated files (default: all)", None),
        ("score-column", "score_column", int, "N", "where a bitext has scores, from 1; otherwise by margin", None),
        ("device", "device", str, "DEVICE", "cpu | cuda | cuda:1", default["device"]),
    ]  # fmt: skip
    for name, key, kind, metavar, said, value in arguments:
        shown = "" if value is None else f" (default: {value})"
        parser.add_argument(f"--{name}", dest=key, metavar=metavar, type=kind, help=said + shown)
    kinds = defaults("divergences/default")["kinds"]
    parser.add_argument(
        "--kinds", metavar="KINDS", type=lambda text: text.split(","),
        help=f"with commas between them; also uneven and insert (default: {','.join(kinds)})",
    )  # fmt: skip
    parser.add_argument(
        "--work-dir", metavar="DIR", help="where annotation lies until the job is done; otherwise OUT.work"
    )
    parser.add_argument(
        "--keep-work", action="store_true", default=None, help="leave it: other kinds or another seed then take seconds"
    )
    add_set(parser, "filter.min_distance=0 or annotator.models=/models/stanza")


def _diverge(given: argparse.Namespace) -> None:
    from xsent.jobs.diverge import Loaders, diverge_file, find_inputs
    from xsent.jobs.seeds import options_from
    from xsent.run import build, load_config

    # By Hydra, as values of the config stand in for others, such as the seed for that of the divergences.
    names = ("divergences", "ranker", "aligner", "encoder", "seed", "seeds.count", "score_column", "device")
    chosen = {name: str(value) for name in names if (value := vars(given)[name]) is not None}
    chosen |= {"divergences.kinds": f"[{','.join(given.kinds)}]"} if given.kinds else {}
    # A named option wins, as in every command.
    others = [one for one in given.set if one.partition("=")[0] not in chosen]
    config = load_config("diverge", [*others, *(f"{name}={value}" for name, value in chosen.items())])
    is_cut = any(one.startswith("seeds.count=") for one in given.set) or "seeds.count" in chosen
    config |= {name: value for name in ("work_dir", "keep_work") if (value := vars(given)[name]) is not None}
    inputs = find_inputs(
        given.inputs, source_conllu=given.source_conllu, target_conllu=given.target_conllu, align=given.align,
        source_lang=config["source_lang"], target_lang=config["target_lang"],
    )  # fmt: skip

    def on_device(node: dict[str, Any]) -> Any:
        return build(node).to(config["device"])

    def diverger() -> Any:
        made = build(config["divergences"])
        return made.with_ranker(on_device(config["ranker"])) if config.get("ranker") else made

    load = Loaders(
        diverger=diverger, annotator=partial(build, config["annotator"]), aligner=partial(on_device, config["aligner"]),
        tagger=partial(build, config["target_annotator"]) if config["target_annotator"] else None,
        embedder=partial(on_device, config["encoder"]),
    )  # fmt: skip
    summary = diverge_file(
        inputs, given.output, load=load, options=options_from(config), config=config, keep_work=config["keep_work"],
        work_dir=Path(config["work_dir"]) if config["work_dir"] else None,
        first=config["seeds"]["count"] if is_cut else None,
    )  # fmt: skip
    log.info("%s", summary)
