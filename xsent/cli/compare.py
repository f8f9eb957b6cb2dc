"""``xsent compare``: runs beside one another, in the terminal and as a page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command to those of ``xsent``."""
    about = "Put runs beside one another: figures with their deltas to the first, curves, pictures, what differs."
    parser = commands.add_parser("compare", help=about, description=about)
    parser.set_defaults(run=_compare, interrupted="nothing was written")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="folders that train.py or evaluate.py left")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True,
        help="the page, one HTML file; a page of an earlier comparison is replaced",
    )  # fmt: skip


def _compare(given: argparse.Namespace) -> None:
    # torch takes seconds to import, and --help needs none of it.
    from rich.console import Console

    from xsent.reporting.report.comparison import comparison_table, read_runs, write_compared

    runs = read_runs(given.runs)
    write_compared(runs, given.output)
    Console().print(comparison_table(runs))
