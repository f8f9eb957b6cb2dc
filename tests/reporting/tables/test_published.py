"""A paper's table with ours as the last row, and what a run leaves of it."""

import io
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf
from rich.console import Console

from tests.helpers import config
from xsent.evaluation.charts import Histogram, Panel
from xsent.evaluation.evaluator import Evaluation
from xsent.reporting.run_outputs import report_results
from xsent.reporting.tables.published import published_markdown, published_tables, published_terminal

TABLE: dict[str, Any] = {
    "title": "Table I",
    "columns": {"size": None, "intra": "pawsx/intra/accuracy", "mean": "pawsx/mean/accuracy"},
    "rows": {"mBERT": {"size": "177M", "mean": 87.2}, "LaBSE": {"size": "471M", "intra": 78.3, "mean": 79.3}},
}
METRICS = {"test/pawsx/original/intra/accuracy": 70.123, "test/pawsx/original/mean/accuracy": 71.5}


SEVERAL = {**TABLE, "ours": {"teacher": "teacher_", "student": ""}}
TEACHER = {"test/pawsx/original/mean/teacher_accuracy": 65.0}
MEANING = {"test/pawsx/meaning/mean/accuracy": 60.0}
ORIGINAL_ROW = ["ours", "", "70.12", "71.50"]


@pytest.mark.parametrize(
    ("config", "metrics", "expected"),
    [
        pytest.param(TABLE, METRICS, [ORIGINAL_ROW], id="one space"),
        pytest.param(TABLE, {"test/pawsx/mean/accuracy": 50.0}, [["ours", "", "", "50.00"]], id="no spaces"),
        pytest.param(
            TABLE,
            METRICS | MEANING,
            [["ours, original", "", "70.12", "71.50"], ["ours, meaning", "", "", "60.00"]],
            id="a row for each space",
        ),
        pytest.param(TABLE, METRICS | TEACHER, [ORIGINAL_ROW], id="a table without rows of its own"),
        pytest.param(
            SEVERAL,
            METRICS | TEACHER,
            [["ours, teacher", "", "", "65.00"], ["ours, student", "", "70.12", "71.50"]],
            id="a row for each prefix",
        ),
        pytest.param(SEVERAL, METRICS, [["ours, student", "", "70.12", "71.50"]], id="no figures of a teacher"),
        pytest.param(SEVERAL, TEACHER, [["ours, teacher", "", "", "65.00"]], id="no figures of a student"),
        pytest.param(
            SEVERAL,
            METRICS | TEACHER | MEANING,
            [
                ["ours, teacher", "", "", "65.00"],
                ["ours, student, original", "", "70.12", "71.50"],
                ["ours, student, meaning", "", "", "60.00"],
            ],
            id="a row for each prefix and space",
        ),
    ],
)
def test_our_rows_are_the_last_under_the_papers_headers(
    config: dict[str, Any], metrics: dict[str, float], expected: list[list[str]]
) -> None:
    (table,) = published_tables([config], metrics)
    assert table.header == ["", "size", "intra", "mean"]
    papers = [["mBERT", "177M", "", "87.2"], ["LaBSE", "471M", "78.3", "79.3"]]
    assert [row.texts for row in table.rows] == [*papers, *expected]
    assert [row.bold for row in table.rows] == [False, False, *[True] * len(expected)]


def test_a_table_without_any_figure_of_ours_is_left_out() -> None:
    metrics = {"test/other/original/mean/accuracy": 1.0, "test/pawsx/original/mean/f1": 2.0}
    assert published_tables([TABLE, SEVERAL], metrics) == []
    assert published_tables([], METRICS) == []


def test_a_header_that_only_rows_have_is_a_column_of_the_papers() -> None:
    (table,) = published_tables([{**TABLE, "rows": {"mT5": {"year": 2021, "mean": 87.7}}}], METRICS)
    assert table.header == ["", "size", "intra", "mean", "year"]
    assert [row.texts for row in table.rows] == [["mT5", "", "", "87.7", "2021"], [*ORIGINAL_ROW, ""]]


@pytest.mark.parametrize("columns", [3, 9], ids=["as it is", "transposed"])
def test_markdown_and_terminal_show_the_same_texts(columns: int) -> None:
    unmeasured = {f"column {number}": None for number in range(columns - 3)}
    (table,) = published_tables([{**TABLE, "columns": TABLE["columns"] | unmeasured}], METRICS)
    text = published_markdown(table)
    if not unmeasured:
        assert text == (
            "## Table I\n\n"
            "|  | size | intra | mean |\n| --- | --- | ---: | ---: |\n"
            "| mBERT | 177M |  | 87.2 |\n| LaBSE | 471M | 78.3 | 79.3 |\n"
            "| **ours** |  | **70.12** | **71.50** |\n"
        )
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(published_terminal(table))
    output = console.export_text()
    for cell in (cell for row in [table.header, *(row.texts for row in table.rows)] for cell in row):
        assert cell in output
        assert cell in text


def test_a_run_leaves_the_papers_tables_and_the_charts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chart = Histogram("h", "H", "x", "n", "line", [Panel("p", {"a": np.array([1.0, 2.0])}, None)])
    tables = {"pawsx_items": [{"id": "7", "text": 'a "b", c'}, {"id": "8", "right": 1}]}
    scored = Evaluation({"pawsx/original/mean/accuracy": 71.5}, [], [chart], tables)
    papers = {"pawsx/original/mean/accuracy": 79.3}
    with caplog.at_level(logging.INFO):
        report_results(scored, config={"expected": papers, "published": [TABLE]}, about={}, folder=tmp_path, show=False)
    assert "| **ours** |  |  | **71.50** |" in (tmp_path / "published.md").read_text()
    assert sorted(path.name for path in (tmp_path / "charts").iterdir()) == ["h.csv", "h.png"]
    assert (tmp_path / "tables" / "pawsx_items.csv").read_text() == 'id,text,right\n7,"a ""b"", c",\n8,,1\n'
    assert caplog.messages == [f"charts: {tmp_path / 'charts'}", f"tables: {tmp_path / 'tables'} (pawsx_items)"]
    assert json.loads((tmp_path / "metrics.json").read_text())["metrics"] == {"test/pawsx/original/mean/accuracy": 71.5}


def composed(name: str, tmp_path: Path, *overrides: str) -> dict[str, Any]:
    settings = OmegaConf.to_container(config(name, tmp_path, "evaluator=pawsx", *overrides), resolve=True)
    assert isinstance(settings, dict)
    return {str(key): value for key, value in settings.items()}


@pytest.mark.parametrize(("name", "overrides"), [("evaluate", []), ("train", ["recipe=labse"])])
def test_pawsx_brings_the_papers_figures_and_a_runs_own_are_added(
    tmp_path: Path, name: str, overrides: list[str]
) -> None:
    override = "+expected={pawsx/original/intra_deu/accuracy: 80.0}"
    settings = composed(name, tmp_path, override, *overrides)
    # The mean of Table II is the figure of Table I.
    kinds = [settings["expected"][f"pawsx/original/{kind}/accuracy"] for kind in ("intra", "inter_para", "inter_same")]
    assert sum(kinds) / 3 == pytest.approx(settings["expected"]["pawsx/original/mean/accuracy"], abs=0.05)
    assert settings["expected"]["pawsx/original/intra_deu/accuracy"] == 80.0
    assert [len(table["rows"]) for table in settings["published"]] == [8, 1]
    assert settings["evaluator"]["name"] == "pawsx"
