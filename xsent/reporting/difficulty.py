"""How hard distractors are to tell, as a table with published sets beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from xsent.overlap import Difficulty, Spread


def difficulty_table(ours: Mapping[str, Difficulty], published: Sequence[Mapping[str, Any]]) -> Table:
    """Mean and standard deviation of the Jaccard similarity of a distractor to its original and to the others.

    Args:
        ours: by language.
        published: rows of ``name``, and of ``original`` and ``intra`` each mean and standard deviation (None: not
            known).
    """
    title = "Jaccard similarity of distractors, mean ± standard deviation"
    table = Table("", "to the original", "to each other", "distractors", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, one in ours.items():
        table.add_row(name, _said(one.original), _said(one.intra), f"{one.original.n:,}", style="bold")
    table.add_section()
    for row in published:
        table.add_row(row["name"], *(_mean_and_sd(*row[column]) for column in ("original", "intra")), "")
    return table


def _said(spread: Spread) -> str:
    return "" if math.isnan(spread.mean) else _mean_and_sd(spread.mean, spread.sd)


def _mean_and_sd(mean: float, sd: float | None) -> str:
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"
