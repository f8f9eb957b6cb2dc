"""The table of how hard distractors are to tell."""

import io
import math

from rich.console import Console

from xsent.lexical_overlap import Difficulty, Spread
from xsent.reporting.tables.difficulty import difficulty_table


def test_ours_come_first_and_what_is_not_known_is_left_open() -> None:
    ours = {
        "deu": Difficulty(Spread(0.5, 0.25, 1200), Spread(0.4, 0.125, 1200)),
        "fra": Difficulty(Spread(0.75, 0.0, 3), Spread(math.nan, math.nan, 0)),
    }
    printed = io.StringIO()
    Console(file=printed, width=100).print(
        difficulty_table(ours, [{"name": "published", "original": [0.516, 0.19], "intra": [0.471, None]}])
    )
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in printed.getvalue().split("\n")]
    assert [row for row in cells if len(row) == 4][:3] == [
        ["deu", "0.500 ± 0.250", "0.400 ± 0.125", "1,200"],
        ["fra", "0.750 ± 0.000", "", "3"],
        ["published", "0.516 ± 0.190", "0.471", ""],
    ]
