"""Difficulty table of distractors (Jaccard similarity), with published sets for comparison."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from xsent.config_checks import is_number
from xsent.lexical_overlap import Difficulty
from xsent.reporting.tables.table import terminal_table, text_row


def difficulty_table(ours: Mapping[str, Difficulty], published: Sequence[Mapping[str, Any]]) -> Table:
    """Mean and standard deviation of the Jaccard similarity of a distractor to its original and to the others.

    Args:
        ours: by language.
        published: rows of ``name``, and of ``original`` and ``intra`` each mean and standard deviation (None: not
            known).
    """
    title = "Jaccard similarity of distractors, mean ± standard deviation"
    rows = [
        text_row([name, _spread(*each.original[:2]), _spread(*each.intra[:2]), f"{each.original.n:,}"], bold=True)
        for name, each in ours.items()
    ]
    published_rows = [
        text_row([row["name"], _spread(*row["original"]), _spread(*row["intra"]), ""]) for row in published
    ]
    return terminal_table(["", "to the original", "to each other", "distractors"], rows, published_rows, title=title)


def check_published(rows: object) -> None:
    """Raise ``ValueError`` unless these can be the published rows of ``difficulty_table``."""
    if not isinstance(rows, list):
        raise ValueError(f"published={rows}: expected a list; [] prints no published set")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise ValueError(f"published[{number}]={row}: expected name, original and intra")
        for column in ("original", "intra"):
            match row.get(column):
                case [mean, sd] if is_number(mean) and (sd is None or is_number(sd)):
                    continue
            raise ValueError(
                f"published[{number}].{column}={row.get(column)}: expected a mean and a standard deviation or null"
            )


def _spread(mean: float, sd: float | None) -> str:
    if math.isnan(mean):
        return ""
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"
