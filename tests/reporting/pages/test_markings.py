"""Report of synthetic language marking: means over seeds, differences from the host with intervals, picture, page."""

import csv
from pathlib import Path
from typing import Any

import pytest

from xsent.evaluation.statistics.items import Items
from xsent.reporting.outcomes import OUTCOMES, outcomes_text
from xsent.reporting.pages.markings import differences_table, figures_table, report_markings

GROUPS = {
    "retrieval": {
        "original": "tatoeba/original/mean/accuracy",
        "meaning": "tatoeba/meaning/mean/accuracy",
        "language": "tatoeba/language/mean/accuracy",
    },
    "R2 of the original from": {"language": "reconstruction/language/original/r2"},
}
NONE, ALL = "0" * 10, "1" * 10
# Of ten sentences the host's language vectors find the translation of 4 and, with another seed, of 6; with ORACLE none.
HITS = {("meat", 1): "1111000000", ("meat", 2): "1111110000", ("meat_oracle", 1): NONE, ("meat_oracle", 2): NONE}


@pytest.fixture
def cells(tmp_path: Path) -> list[dict[str, Any]]:
    made = []
    for (objective, seed), hits in HITS.items():
        folder = tmp_path / f"{objective}-{seed}"
        folder.mkdir()
        texts = {"language": hits, "meaning": ALL}
        items = {space: Items.percentage([digit == "1" for digit in text]) for space, text in texts.items()}
        after = {f"tatoeba/{space}/mean/accuracy": of_space for space, of_space in items.items()}
        (folder / OUTCOMES).write_text(outcomes_text({}, after), encoding="utf-8")
        metrics = {
            "tatoeba/original/mean/accuracy": 90.0,
            "tatoeba/meaning/mean/accuracy": 100.0,
            "tatoeba/language/mean/accuracy": 10.0 * hits.count("1"),
            "reconstruction/language/original/r2": 0.96,
        }
        made.append({"objective": objective, "seed": seed, "language_marking": 0.5, "metrics": metrics})
        made[-1] |= {"encoder": "mini+synthetic-marking-0.5", "evaluation": str(folder)}
    return made


def test_figures_are_means_over_seeds_with_their_deviation(cells: list[dict[str, Any]]) -> None:
    table = figures_table(cells, GROUPS)
    assert table.header[3:] == ["retrieval, meaning", "retrieval, language", "R2 of the original from, language"]
    original, host, oracle = (row.texts for row in table.rows)
    assert original == ["0.5", "original", "", "90.00", "", ""]
    assert host == ["0.5", "meat", "2", "100.00 ± 0.00", "50.00 ± 14.14", "0.9600 ± 0.0000"]  # 10 * sqrt(2)
    assert oracle[4] == "0.00 ± 0.00"


def test_a_variant_differs_from_its_host_by_an_interval_over_sentences(cells: list[dict[str, Any]]) -> None:
    (row,) = differences_table(cells, GROUPS).rows
    alpha, label, seeds, meaning, language = row.texts
    assert (alpha, label, seeds) == ("0.5", "meat_oracle - meat", "2")
    assert meaning == "+0.00 [+0.00, +0.00]"
    value, low, high = (float(text.strip("[],")) for text in language.split())
    assert value == -50
    # Four sentences always, two with one seed of two, four never: resampled, a standard deviation of 14.
    assert -90 < low < -60 < -40 < high < -10


def test_the_report_has_every_figure_and_a_picture(cells: list[dict[str, Any]], tmp_path: Path) -> None:
    failed = {"encoder": "mini", "objective": "dream", "seed": 1, "language_marking": 0, "error": "no memory"}
    report_markings([*cells, failed], {"title": "Marks", "markings": GROUPS}, folder=tmp_path / "out")
    with (tmp_path / "out" / "markings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 4
    assert {row["value"] for row in rows if row["figure"].startswith("R2")} == {"0.96"}
    assert (tmp_path / "out" / "charts" / "markings.png").stat().st_size > 10_000
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "50.00 ± 14.14" in page
    assert "data:image/png" in page
