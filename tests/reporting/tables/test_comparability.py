"""A paper's column beside ours only on the same test set and definition."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers import ROOT
from xsent.reporting.tables.comparability import comparable_tables
from xsent.reporting.tables.published import published_tables

TABLE: dict[str, Any] = {
    "title": "Table 2",
    "columns": {"A": "clsd/a/p_at_1", "B": "clsd/b/p_at_1", "Mean": "clsd/mean/p_at_1"},
    "rows": {"LaBSE": {"A": 90.0, "B": 80.0, "Mean": 85.0}},
    "comparable": {"A": {"direction": "a", "queries": 1473}, "B": {"direction": "{item}", "by": ["m2m", "file"]}},
}
METRICS = {f"test/clsd/original/{item}/p_at_1": 50.0 for item in ("a", "b", "mean")}
A = {"evaluator": "clsd", "direction": "a", "queries": 1473, "by": None}
B = {"evaluator": "clsd", "direction": "b", "queries": 10, "by": "file"}


def kept(details: list[dict[str, Any]], **changes: Any) -> tuple[list[str], list[str]]:
    tables, notes = comparable_tables([TABLE | changes], METRICS, details)
    return list(tables[0]["columns"]), notes


def test_a_column_needs_a_row_of_details_that_fits_and_a_mean_all_that_it_averages() -> None:
    assert kept([A, B]) == (["A", "B", "Mean"], [])
    as_csv = [{name: "" if value is None else str(value) for name, value in row.items()} for row in (A, B)]
    assert kept(as_csv) == (["A", "B", "Mean"], [])
    small = {**A, "queries": 200}
    columns, notes = kept([small, B])
    assert columns == ["B"]
    assert notes == [
        "Not beside Table 2: A: queries 200 (theirs 1473); Mean: the columns that it averages differ.",
    ]
    tables, _ = comparable_tables([TABLE], METRICS, [small, B])
    (shown,) = published_tables(tables, METRICS)
    assert [row.texts for row in shown.rows] == [["LaBSE", "80.0", "50.00", "-30.00"]]
    _, notes = kept([A, {**B, "by": "other"}])
    assert "B: by other (theirs m2m or file)" in notes[0]
    assert kept([A, B, {**B, "direction": "c"}])[0] == ["A", "B"], "the mean is also over c"


def test_pooled_columns_need_every_row_and_recorded_conditions() -> None:
    both = {"all": [{"direction": "a"}, {"direction": "b"}]}
    assert kept([A, B], comparable=both)[0] == ["A", "B", "Mean"]
    columns, notes = kept([A], comparable=both)
    assert columns == []
    assert notes == ["Not beside Table 2: A, B: ours has no b; Mean: the columns that it averages differ."]
    assert "not recorded" in kept([], comparable=both)[1][0]
    assert kept([], comparable={}) == (["A", "B", "Mean"], [])


@pytest.mark.parametrize("path", sorted((ROOT / "conf" / "evaluator").rglob("*.yaml")), ids=lambda path: path.stem)
def test_published_columns_of_the_evaluators_have_conditions(path: Path) -> None:
    for table in (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("published", []):
        conditions = table.get("comparable", {})
        columns = {header: metric for header, metric in table["columns"].items() if metric}
        # A mean needs the columns that it averages; figures of a training are of no test set.
        measured = [header for header, metric in columns.items() if not re.search(r"/mean/|^training/", metric)]
        assert "all" in conditions or set(measured) <= conditions.keys(), table["title"]
        assert conditions.keys() <= {"all", *table["columns"]}, table["title"]
