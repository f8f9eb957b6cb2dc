"""``xsent filter``: say of every pair of a bitext whether it diverges in meaning."""

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
    about = "Say of every pair of a bitext whether it diverges in meaning, and in which words; a killed run continues."
    parser = commands.add_parser(
        "filter", help=about, description=about, epilog="Every other value of conf/filter.yaml goes by --set."
    )
    parser.set_defaults(run=_filter, interrupted="the same command continues")
    default = defaults("filter")
    parser.add_argument("bitext", type=Path, metavar="BITEXT", help="columns by tab, UTF-8, plain or .gz")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="SCORED", required=True,
        help="the same rows with score, probability, verdict and divergent words; plain or .gz",
    )  # fmt: skip
    parser.add_argument("--ckpt", metavar="RUN", required=True, help="a run of recipe=divergence, or its checkpoint")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="a sample of the pairs as a page, words marked")
    arguments: list[tuple[str, Callable[[str], object], str, str]] = [
        ("source-column", int, "N", "where the source sentences stand"),
        ("target-column", int, "N", "where their translations stand"),
        ("source-lang", str, "CODE", "its language, which decides how words are cut"),
        ("target-lang", str, "CODE", "likewise"),
        ("threshold", str, "SCORE", "pairs above it are equivalent: calibrated, as the run chose it, or a number"),
        ("keep", str, "CLASS", "which pairs are written: all | equivalent | divergent"),
        ("top", int, "N", "of these the best so many"),
        ("workers", int, "N", "processes that cut words; otherwise one on each core"),
        ("work-dir", str, "DIR", "where shards lie until the job is done; otherwise SCORED.work"),
        ("device", str, "DEVICE", "cpu | cuda | cuda:1"),
    ]
    for name, kind, metavar, said in arguments:
        value = default[name.replace("-", "_")]
        shown = "" if value is None else f" (default: {value})"
        parser.add_argument(f"--{name}", metavar=metavar, type=kind, help=said + shown)
    # None where it was not given: conf/filter.yaml alone knows the defaults.
    for name, said in (
        ("header", "the first line names the columns"),
        ("strict", "stop at the first line that holds no pair"),
        ("keep-work", "leave the shards: another threshold, keep or top then takes seconds"),
    ):
        parser.add_argument(f"--{name}", action="store_true", default=None, help=said)
    add_set(parser, "sample.random=2000 or page.rows=50")


def _filter(given: argparse.Namespace) -> None:
    from xsent.jobs.filter import filter_bitext, options_from
    from xsent.jobs.output import check_output
    from xsent.reporting.divergence_page import check_page, write_divergence_page
    from xsent.run import load_config, load_judge

    config = load_config("filter", given.set)
    config |= {name: value for name, value in vars(given).items() if name in config and value is not None}
    options = options_from(config)
    if given.html is not None:
        check_page(**config["page"])
        check_output(given.html)
        if given.html.resolve() in (given.bitext.resolve(), given.output.resolve()):
            raise ValueError(f"{given.html}: expected a file of its own for the page, found another one's name")
    filtered = filter_bitext(
        given.bitext, given.output, load=partial(load_judge, given.ckpt, device=config["device"]),
        device=config["device"], options=options, keep_work=config["keep_work"],
        work_dir=Path(config["work_dir"]) if config["work_dir"] else None,
        show=partial(write_divergence_page, given.html, **config["page"]) if given.html is not None else None,
    )  # fmt: skip
    log.info("%s", filtered)
