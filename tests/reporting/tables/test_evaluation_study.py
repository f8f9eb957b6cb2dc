"""Tables of evaluations beside the paper's, and of the items that encoders fail on, by hand."""

from typing import Any

import numpy as np
import pytest

from xsent.evaluation.charts import BoxPlot
from xsent.reporting.tables.clsd_study import mean_tables, tricked_tables
from xsent.reporting.tables.evaluation_study import Figure, by_encoder, evaluation_tables

TABLE: dict[str, Any] = {
    "title": "Table 2: P@1",
    "columns": {"A": "clsd/a/p_at_1", "B": "clsd/b/p_at_1", "Mean": "clsd/mean/p_at_1"},
    "rows": {"LaBSE": {"A": 90.0, "B": 70.0, "Mean": 80.0}, "E5": {"A": 60.0, "B": 50.0, "Mean": 55.0}},
    "comparable": {"A": {"direction": "a", "queries": 9}, "B": {"direction": "b"}},
}
STUDY = {"tables": "Table 2", "rows": {"labse": "LaBSE", "e5": "E5"}}


def cells(queries: int = 9) -> list[dict[str, Any]]:
    details = [{"evaluator": "clsd", "direction": "a", "queries": queries}]
    figures = {"labse": 88.0, "mini": 50.0}
    finished = [
        {
            "encoder": name,
            "metrics": {"clsd/original/a/p_at_1": value, "clsd/original/mean/p_at_1": value},
            "details": details,
        }
        for name, value in figures.items()
    ]
    return [*finished, {"encoder": "e5", "error": "not at hand"}]


def test_ours_follow_the_papers_rows_and_the_same_encoder_has_a_difference() -> None:
    (table,), notes, figures = evaluation_tables(by_encoder(cells()), STUDY, [TABLE])
    assert notes == []
    assert [row.texts for row in table.rows] == [
        ["LaBSE, the paper", "90.0", "90.00"],  # the mean of what was measured
        ["E5, the paper", "60.0", "60.00"],
        ["labse", "88.00", "88.00"],
        ["labse less LaBSE", "-2.00", "-2.00"],
        ["mini", "50.00", "50.00"],
        ["e5", "-", "-"],  # failed
    ]
    assert figures[0] == Figure("Table 2: P@1", "labse", "A", 88.0, "LaBSE", 90.0, pytest.approx(-2.0))


def test_figures_on_another_test_set_stand_alone() -> None:
    (table,), notes, figures = evaluation_tables(by_encoder(cells(queries=8)), STUDY, [TABLE])
    assert [row.cells[0].text for row in table.rows] == ["labse", "mini", "e5"]
    assert "A: queries 8 (theirs 9)" in notes[0]
    assert all(figure.paper is None for figure in figures)
    with pytest.raises(ValueError, match="no rows"):
        evaluation_tables(by_encoder(cells()), STUDY | {"rows": {"x": "Y"}}, [TABLE])


def test_items_are_counted_by_the_encoders_that_fail_on_them() -> None:
    def row(number: str, right: str, nearest: str = "") -> dict[str, str]:
        texts = {"translation": f"t{number}", "nearest_distractor": nearest}
        return {"set": "wmt19", "direction": "deu-fra", "id": number, "right": right, **texts}

    items = {
        "a": [row("0", "0", "d0"), row("1", "1"), row("2", "0", "d2")],
        "b": [row("0", "0", "d0"), row("1", "1"), row("2", "0", "other")],
    }
    (counts, examples), every = tricked_tables(items, examples=9, seed=0, source="table.csv")
    assert [line.texts for line in counts.rows] == [["a, b", "2"], ["none", "1"]]
    tricked = [["t0", "d0", "a, b"], ["t2", "d2", "a"], ["t2", "other", "b"]]
    assert [line.texts for line in examples.rows] == tricked
    assert len(every) == 1 + len(tricked)


def test_charts_of_swaps_have_a_table_of_means() -> None:
    groups = {"NOUN": {"a": np.array([1.0, 2.0]), "b": np.array([0.0, -1.0])}, "VERB": {"a": np.array([0.25])}}
    (table,) = mean_tables([BoxPlot("swaps_deu", "One word swapped, deu", "change", groups)])
    assert table.header == ["", "swaps", "a", "b"]
    assert [line.texts for line in table.rows] == [["NOUN", "2", "1.500", "-0.500"], ["VERB", "1", "0.250", "-"]]
