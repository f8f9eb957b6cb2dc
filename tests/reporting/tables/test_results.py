"""Results as a table: ours, the paper's, the difference."""

from __future__ import annotations

import csv
import io

import pytest
from rich.console import Console

from xsent.reporting.tables.results import grid, results_table, to_csv, to_markdown

METRICS = {
    "test/tatoeba/original/deu-eng/accuracy": 97.0,
    "test/tatoeba/original/eng-deu/accuracy": 96.0,
    "test/tatoeba/original/deu/accuracy": 96.5,
    "test/tatoeba/original/mean/accuracy": 91.4,
    "test/tatoeba/meaning/deu/accuracy": 95.0,
    "test/tatoeba/meaning/mean/accuracy": 90.0,
}
PAPER = {"test/tatoeba/meaning/mean/accuracy": 92.25}


def test_languages_are_rows_and_spaces_columns_with_the_papers_figure_where_there_is_one() -> None:
    header, rows = grid(METRICS, PAPER)
    assert header == ["", "original", "meaning", "meaning (paper)", "difference"]
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
    assert grid({"test/sts/en-en/spearman": 80.0}, {}) == (["", "ours"], [["sts en-en spearman", "80.00"]])
    header, rows = grid({"test/sts/en-en/spearman": 80.0}, {"test/sts/en-en/spearman": 79.5})
    assert header == ["", "ours", "paper", "difference"]
    assert rows == [["sts en-en spearman", "80.00", "79.50", "+0.50"]]


def test_a_metric_of_another_form_is_an_error_that_names_it() -> None:
    with pytest.raises(ValueError, match=r"'test/accuracy': expected test/<evaluator>"):
        grid({"test/accuracy": 1.0}, {})


def test_the_terminal_shows_every_text_of_the_grid() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(results_table(METRICS, PAPER))
    output = console.export_text()
    header, rows = grid(METRICS, PAPER)
    for text in [*header, *(text for row in rows for text in row)]:
        assert text in output


def test_markdown_has_a_line_per_row_and_numbers_to_the_right() -> None:
    assert to_markdown({"test/sts/en-en/spearman": 80.0}, {}) == (
        "|  | ours |\n| --- | ---: |\n| sts en-en spearman | 80.00 |\n"
    )


def test_csv_keeps_every_metric_at_full_precision() -> None:
    metrics = {"test/a/b/c": 1 / 3, "test/a/d/c": 2.0}
    header, first, second = csv.reader(io.StringIO(to_csv(metrics, {"test/a/d/c": 0.5})))
    assert header == ["metric", "ours", "paper", "difference"]
    assert float(first[1]) == 1 / 3
    assert first[2:] == ["", ""]
    assert second == ["test/a/d/c", "2.0", "0.5", "1.5"]


def test_thresholds_and_distances_keep_the_digits_that_tell_them_apart() -> None:
    metrics = {
        "test/bucc/original/zho-eng/f1": 63.158,
        "test/bucc/original/zho-eng/threshold": 1.17234,
        "test/spread/original/deu/uniform": -3.88219,
    }
    texts = [row[-1] for row in grid(metrics, {})[1]]
    assert texts == ["63.16", "1.1723", "-3.8822"]


def test_numbers_of_things_have_no_decimals() -> None:
    _, rows = grid(
        {"test/clsd/deu-fra/ties": 3.0, "test/clsd/deu-fra/p_at_1": 3.0, "test/clsd/fra/normaliser": 0.3}, {}
    )
    assert [row[1] for row in rows] == ["3", "3.00", "0.3000"]


def test_p_values_and_buckets_of_errors_are_left_to_the_files_and_precision_is_shown() -> None:
    names = ["p_xsim", "sd_xsim", "p_at_1", "levenshtein_0.9_to_1", "jaccard_0_to_0.3"]
    _, rows = grid({f"test/clsd/original/deu/{name}": 1.0 for name in names}, {})
    assert [row[0] for row in rows] == ["clsd deu p_at_1"]
