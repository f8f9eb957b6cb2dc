"""Results as a table: ours, the paper's, the difference."""

import csv
import io

import pytest
from rich.console import Console

from xsent.reporting.tables.results import figure_text, results_csv
from xsent.reporting.tables.results import grid as grid_of_cells
from xsent.reporting.tables.table import markdown_table, terminal_table

METRICS = {
    "test/tatoeba/original/deu-eng/accuracy": 97.0,
    "test/tatoeba/original/eng-deu/accuracy": 96.0,
    "test/tatoeba/original/deu/accuracy": 96.5,
    "test/tatoeba/original/mean/accuracy": 91.4,
    "test/tatoeba/meaning/deu/accuracy": 95.0,
    "test/tatoeba/meaning/mean/accuracy": 90.0,
}
PAPER = {"test/tatoeba/meaning/mean/accuracy": 92.25}


def grid(metrics: dict[str, float], expected: dict[str, float]) -> tuple[list[str], list[list[str]]]:
    """Texts of the table."""
    header, rows = grid_of_cells(metrics, expected)
    return header, [row.texts for row in rows]


def test_languages_are_rows_and_spaces_columns_with_the_papers_figure_where_there_is_one() -> None:
    header, rows = grid(METRICS, PAPER)
    assert header == ["test", "original", "meaning", "meaning (paper)", "difference"]
    assert rows == [
        ["tatoeba deu accuracy", "96.50", "95.00", "", ""],
        ["tatoeba mean accuracy", "91.40", "90.00", "92.25", "-2.25"],
    ]


def test_a_direction_is_shown_when_the_paper_has_a_figure_for_it_or_nothing_stands_for_it() -> None:
    name = "test/tatoeba/original/deu-eng/accuracy"
    _, rows = grid(METRICS, {name: 90.0})
    assert ["tatoeba deu-eng accuracy", "97.00", "90.00", "+7.00", ""] in rows
    _, rows = grid({"test/xsim/original/deu-fra/error": 1.0, "test/xsim/original/eng-deu/error": 2.0}, {})
    assert [row[0] for row in rows] == ["xsim deu-fra error", "xsim eng-deu error"]


def test_metrics_without_spaces_have_one_column() -> None:
    assert grid({"test/sts/en-en/spearman": 80.0}, {}) == (["test", "ours"], [["sts en-en spearman", "80.00"]])
    header, rows = grid({"test/sts/en-en/spearman": 80.0}, {"test/sts/en-en/spearman": 79.5})
    assert header == ["test", "ours", "paper", "difference"]
    assert rows == [["sts en-en spearman", "80.00", "79.50", "+0.50"]]


def test_a_metric_of_another_form_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"'test/accuracy': expected test/<evaluator>"):
        grid({"test/accuracy": 1.0}, {})


def test_the_terminal_shows_every_text_of_the_grid() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    header, rows = grid_of_cells(METRICS, PAPER)
    console.print(terminal_table(header, rows))
    output = console.export_text()
    for text in [*header, *(text for row in rows for text in row.texts)]:
        assert text in output


def test_markdown_has_a_line_per_row_and_numbers_to_the_right() -> None:
    assert markdown_table(*grid({"test/sts/en-en/spearman": 80.0}, {})) == (
        "| test | ours |\n| --- | ---: |\n| sts en-en spearman | 80.00 |\n"
    )


def test_csv_keeps_every_metric_at_full_precision() -> None:
    metrics = {"test/a/b/c": 1 / 3, "test/a/d/c": 2.0}
    header, first, second = csv.reader(io.StringIO(results_csv(metrics, {"test/a/d/c": 0.5})))
    assert header == ["metric", "ours", "paper", "difference"]
    assert float(first[1]) == 1 / 3
    assert first[2:] == ["", ""]
    assert second == ["test/a/d/c", "2.0", "0.5", "1.5"]


def test_decimals_are_those_that_tell_figures_apart_and_p_values_and_buckets_are_left_to_the_files() -> None:
    texts = {
        "f1": "63.16",
        "threshold": "63.1580",
        "uniform": "63.1580",
        "normaliser": "63.1580",
        "ties": "63",
        "p_at_1": "63.16",
    }
    for_files = ["p_xsim", "sd_xsim", "levenshtein_0.9_to_1", "jaccard_0_to_0.3"]
    _, rows = grid({f"test/clsd/original/deu/{name}": 63.158 for name in [*texts, *for_files]}, {})
    assert rows == [[f"clsd deu {name}", text] for name, text in texts.items()]


def test_figures_before_training_stand_in_front_of_those_of_what_was_trained() -> None:
    metrics = {"test/tatoeba/original/deu/accuracy": 91.25, "test/tatoeba/original/mean/accuracy": 90.0}
    before = {"test/tatoeba/original/deu/accuracy": None, "test/tatoeba/original/mean/accuracy": 80.5}
    columns = {"original": "trained"}
    header, rows = grid_of_cells(metrics, {}, before=before, columns=columns)
    assert header == ["test", "before", "trained"]
    assert [row.texts for row in rows] == [
        ["tatoeba deu accuracy", "", "91.25"],
        ["tatoeba mean accuracy", "80.50", "90.00"],
    ]
    text = figure_text("test/tatoeba/original/mean/accuracy", metrics, before=before, columns=columns)
    assert text == "test tatoeba mean accuracy 80.50 -> 90.00"
    assert results_csv(metrics, {}, before=before).splitlines()[0] == "metric,ours,paper,difference,before"


@pytest.mark.parametrize(
    ("names", "heading"),
    [
        (["tatoeba/language/mean/accuracy"], "language (lower is better)"),
        (["xsim/language/mean/error"], "language (higher is better)"),
        (["xsim/language/mean/error", "tatoeba/language/mean/accuracy"], "language (worse is intended)"),
        (["language_probe/language/all/accuracy"], "language"),  # language vectors are to tell languages
        (["tatoeba/meaning/mean/accuracy"], "meaning"),
    ],
)
def test_a_column_of_language_vectors_says_which_direction_is_intended(names: list[str], heading: str) -> None:
    assert grid({f"test/{name}": 50.0 for name in names}, {})[0] == ["test", heading]
