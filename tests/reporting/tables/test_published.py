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
from xsent.reporting.tables.published import published_markdown, published_tables
from xsent.reporting.tables.table import Table, compact_table

TABLE: dict[str, Any] = {
    "title": "Table I",
    "columns": {"size": None, "intra": "pawsx/intra/accuracy", "mean": "pawsx/mean/accuracy"},
    "rows": {"mBERT": {"size": "177M", "mean": 87.2}, "LaBSE": {"size": "471M", "intra": 78.3, "mean": 79.3}},
}
METRICS = {"test/pawsx/original/intra/accuracy": 70.123, "test/pawsx/original/mean/accuracy": 71.5}


SEVERAL = {**TABLE, "ours": {"teacher": "teacher_", "student": ""}}
TEACHER = {"test/pawsx/original/mean/teacher_accuracy": 65.0}
MEANING = {"test/pawsx/meaning/mean/accuracy": 60.0}


def texts(table: Table) -> list[list[str]]:
    """Header in one line, and rows."""
    return [[" ".join(name.split()) for name in table.header], *(row.texts for row in table.rows)]


@pytest.mark.parametrize(
    ("config", "metrics", "expected"),
    [
        pytest.param(
            TABLE,
            METRICS,
            [
                ["", "size", "intra paper", "ours", "diff.", "mean paper", "ours", "diff."],
                ["mBERT", "177M", "", "70.12", "", "87.2", "71.50", "-15.70"],
                ["LaBSE", "471M", "78.3", "70.12", "-8.18", "79.3", "71.50", "-7.80"],
            ],
            id="one space",
        ),
        pytest.param(
            TABLE,
            {"test/pawsx/intra/accuracy": 50.0},
            [
                ["", "size", "intra paper", "ours", "diff."],
                ["mBERT", "177M", "", "50.00", ""],
                ["LaBSE", "471M", "78.3", "50.00", "-28.30"],
            ],
            id="no spaces, and a column that was not measured",
        ),
        pytest.param(
            SEVERAL,
            METRICS | TEACHER,
            [
                ["", "size", "intra paper", "ours, student", "diff. of student"],
                ["mBERT", "177M", "", "70.12", ""],
                ["LaBSE", "471M", "78.3", "70.12", "-8.18"],
            ],
            id="columns for each prefix, continued in another table",
        ),
        pytest.param(
            {**TABLE, "columns": {"mean": "pawsx/mean/accuracy"}, "rows": {"LaBSE": {"mean": "79.3*"}}},
            METRICS | MEANING,
            [
                ["", "mean paper", "ours, original", "diff. of original", "ours, meaning", "diff. of meaning"],
                ["LaBSE", "79.3*", "71.50", "-7.80", "60.00", "-19.30"],
            ],
            id="columns for each space, and a mark of significance",
        ),
    ],
)
def test_a_row_is_a_method_of_the_paper_with_ours_and_the_difference(
    config: dict[str, Any], metrics: dict[str, float], expected: list[list[str]]
) -> None:
    assert texts(published_tables([config], metrics)[0]) == expected


def test_the_columns_of_a_wide_table_are_continued_within_eighty_characters() -> None:
    languages = [f"l{number}" for number in range(36)]
    columns = {language: f"tatoeba/{language}/accuracy" for language in languages}
    rows = {f"method {number}": dict.fromkeys(languages, 99.25) for number in range(4)}
    metrics = {f"test/tatoeba/original/{language}/accuracy": 100.0 for language in languages}
    tables = published_tables([{"title": "Table 3", "columns": columns, "rows": rows}], metrics)
    assert len(tables) == 12  # three languages in a line
    assert tables[0].label == "Table 3 (1 of 12)"
    console = Console(width=200, record=True, file=io.StringIO())
    for table in tables:
        console.print(compact_table(table))
    assert max(len(line.rstrip()) for line in console.export_text().splitlines()) <= 80


def test_a_mean_of_some_columns_stands_beside_the_papers_of_the_same() -> None:
    columns = {name: f"tatoeba/{name}/accuracy" for name in ("deu", "fra", "ita", "mean")}
    table = {"title": "T", "columns": columns, "rows": {"LaBSE": {"deu": 90.0, "fra": 80.0, "ita": 10.0, "mean": 60.0}}}
    metrics = {f"test/tatoeba/{name}/accuracy": value for name, value in {"deu": 80, "fra": 60, "mean": 70}.items()}
    *_, last = published_tables([table], metrics)
    assert "mean: of deu, fra on both sides" in last.label
    assert texts(last)[-1][-3:] == ["85.00", "70.00", "-15.00"]
    *_, last = published_tables([table], metrics | {"test/tatoeba/ita/accuracy": 70.0})
    assert texts(last)[-1][-3:] == ["60.0", "70.00", "+10.00"]


def test_a_table_without_any_figure_of_ours_is_left_out() -> None:
    metrics = {"test/other/original/mean/accuracy": 1.0, "test/pawsx/original/mean/f1": 2.0}
    assert published_tables([TABLE, SEVERAL], metrics) == []
    assert published_tables([], METRICS) == []


def test_a_header_that_only_rows_have_is_a_column_of_the_papers() -> None:
    (table,) = published_tables([{**TABLE, "rows": {"mT5": {"year": 2021, "mean": 87.7}}}], METRICS)
    assert texts(table)[0][:3] == ["", "size", "year"]
    assert texts(table)[1][:3] == ["mT5", "", "2021"]


def test_markdown_and_terminal_show_the_same_texts() -> None:
    (table,) = published_tables([TABLE], {"test/pawsx/mean/accuracy": 71.5})
    text = published_markdown(table)
    assert text == (
        "## Table I\n\n"
        "|  | size | mean paper | ours | diff. |\n| --- | --- | ---: | ---: | ---: |\n"
        "| mBERT | 177M | 87.2 | 71.50 | -15.70 |\n| LaBSE | 471M | 79.3 | 71.50 | -7.80 |\n"
    )
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(compact_table(table))
    output = console.export_text()
    for cell in (cell for row in texts(table)[1:] for cell in row):
        assert cell in output
        assert cell in text


def test_a_run_leaves_the_papers_tables_and_the_charts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chart = Histogram("h", "H", "x", "n", "line", [Panel("p", {"a": np.array([1.0, 2.0])}, None)])
    tables = {"pawsx_items": [{"id": "7", "text": 'a "b", c'}, {"id": "8", "right": 1}]}
    scored = Evaluation({"pawsx/original/mean/accuracy": 71.5}, [], [chart], tables)
    papers = {"pawsx/original/mean/accuracy": 79.3}
    with caplog.at_level(logging.INFO):
        report_results(scored, config={"expected": papers, "published": [TABLE]}, about={}, folder=tmp_path, show=False)
    assert "| LaBSE | 471M | 79.3 | 71.50 | -7.80 |" in (tmp_path / "published.md").read_text()
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
    first, second = settings["published"]
    # The mean of Table II is the figure of Table I.
    kinds = second["rows"]["LaBSE (the paper)"].values()
    assert sum(kinds) / 3 == pytest.approx(first["rows"]["LaBSE (the paper)"]["accuracy"], abs=0.05)
    assert settings["expected"] == {"pawsx/original/intra_deu/accuracy": 80.0}
    assert [len(table["rows"]) for table in settings["published"]] == [8, 1]
    assert settings["evaluator"]["name"] == "pawsx"
