"""The table of a study, by hand."""

import math
from pathlib import Path
from typing import Any

import pytest

from xsent.reporting.tables.study import Figure, figures, missing_notes, report_study, study_markdown, study_tables
from xsent.reporting.tables.study_changes import change_tables, changes

PAPER: dict[str, Any] = {
    "spaces": ["original", "meaning", "language"],
    "encoders": {"labse": "LaBSE", "laser2": "LASER"},
    "other_encoders": "LaBSE",
    "metrics": ["tatoeba/deu/accuracy", "tatoeba/mean/accuracy"],
    "averages": {},
    "gaps": {},
    "baselines": {"meat_oracle": "meat"},
    "significance": None,
    "values": {
        "LaBSE": {"original": {"original": [99.0, 98.0]}, "meat": {"meaning": [97.0, 96.0], "language": [3.0, 2.0]}}
    },
}


def cell(encoder: str, objective: str, seed: int, deu: float) -> dict[str, Any]:
    metrics = {f"tatoeba/{space}/deu/accuracy": deu for space in ("original", "meaning", "language")}
    return {"encoder": encoder, "objective": objective, "seed": seed, "metrics": metrics}


def markdown(results: list[Figure], notes: list[str] | None = None, paper: dict[str, Any] | None = None) -> str:
    return study_markdown(study_tables(results, paper or PAPER), "title", notes or [])


def test_ours_is_the_mean_of_the_seeds_beside_the_paper() -> None:
    results = figures([cell("labse", "meat", 1, 90.0), cell("labse", "meat", 2, 94.0)], PAPER)
    meaning = next(figure for figure in results if (figure.space, figure.metric) == ("meaning", "tatoeba/deu/accuracy"))
    assert meaning.ours == 92.0
    assert math.isclose(meaning.deviation or 0, math.sqrt(8))  # of 90 and 94: sqrt((4 + 4) / 1)
    assert meaning.paper == 97.0
    assert "| meat (n = 2) | 97.00 | 92.00 ± 2.83 | -5.00 |" in markdown(results)


def test_an_encoder_stands_beside_the_one_that_the_paper_says_or_alone() -> None:
    results = figures([cell("mini", "meat", 1, 90.0)], PAPER)
    assert {figure.paper_encoder for figure in results} == {"LaBSE"}
    assert "beside the paper's LaBSE" in markdown(results)
    results = figures([cell("laser2", "meat", 1, 90.0)], PAPER)
    assert all(figure.paper is None and figure.paper_encoder == "LASER" for figure in results)


def test_the_original_vectors_have_one_column_whatever_the_objectives() -> None:
    results = figures([cell("labse", "dream", 1, 90.0), cell("labse", "meat", 1, 90.0)], PAPER)
    text = markdown(results)
    assert "|  | deu paper | ours | diff. |\n" in text
    assert "| original | 99.00 | 90.00 | -9.00 |\n" in text
    assert "| dream |  | 90.00 |  |\n| meat | 97.00 | 90.00 | -7.00 |\n" in text


def test_what_was_not_measured_is_a_dash_and_not_a_number(tmp_path: Path) -> None:
    undefined = cell("labse", "meat", 1, math.nan)
    failed = {"encoder": "laser2", "objective": "meat", "seed": 1, "error": "no files"}
    results = figures([undefined, failed], PAPER)
    assert all(figure.ours is None for figure in results)
    assert "| meat | 96.00 | - |  | 97.00 | - |  |" in markdown(results)
    report_study([undefined, failed], {"title": "title", "paper": PAPER}, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv", "table.md"]
    assert "labse,meat,meaning,tatoeba/deu/accuracy,0,,,LaBSE,97.0,,\n" in (tmp_path / "table.csv").read_text()


def test_an_average_over_fewer_items_stands_beside_the_papers_over_the_same() -> None:
    paper = {
        **PAPER,
        "metrics": ["sts/deu-eng/spearman", "sts/fra-eng/spearman", "sts/ita-eng/spearman", "sts/mean/spearman"],
    }
    paper["values"] = {"LaBSE": {"meat": {"meaning": [80.0, 70.0, 60.0, 70.0]}}}
    metrics = {
        "sts/meaning/deu-eng/spearman": 50.0,
        "sts/meaning/ita-eng/spearman": 40.0,
        "sts/meaning/mean/spearman": 45.0,
    }
    partial = {"encoder": "labse", "objective": "meat", "seed": 1, "metrics": metrics, "missing": {"sts": ["fra-eng"]}}
    text = markdown(figures([partial], paper), missing_notes([partial]))
    assert (
        "| meat | 70.00 (2 of 3) | 45.00 | -25.00 | 80.00 | 50.00 | -30.00 |" in text
    )  # of 80 and 60, not of all three
    assert "fra-eng paper" not in text
    assert "sts: no files of fra-eng; our averages are over the others." in text
    metrics["sts/meaning/fra-eng/spearman"] = 45.0
    assert "| meat | 70.00 | 45.00 | -25.00 | 80.00 |" in markdown(figures([partial], paper))


def test_a_subset_of_the_languages_is_noted_and_averages_are_over_it_on_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    languages = ["deu", "fra", "ita", "spa", "por", "nld", "ron", "mean"]
    paper = {**PAPER, "metrics": [f"tatoeba/{language}/accuracy" for language in languages]}
    paper["values"] = {"LaBSE": {"meat": {"meaning": [90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 60.0]}}}
    metrics = {f"tatoeba/meaning/{item}/accuracy": value for item, value in {"deu": 90, "fra": 70, "mean": 80}.items()}
    cell = {"encoder": "labse", "objective": "meat", "seed": 1, "metrics": metrics}
    report_study([cell], {"title": "title", "paper": paper}, folder=tmp_path)
    text = (tmp_path / "table.md").read_text()
    assert "tatoeba: 2 of 7 items were measured; averages are over these, ours and the paper's." in text
    assert "| meat | 85.00 (2 of 7) | 80.00 | -5.00 | 90.00 | 90.00 | +0.00 |" in text
    output = capsys.readouterr().out
    assert max(len(line) for line in output.splitlines() if "meat" in line) <= 80


GROUPS: dict[str, Any] = {
    **PAPER,
    "metrics": ["sts/ara-ara/spearman", "sts/eng-eng/spearman", "sts/eng-deu/spearman", "sts/mean/spearman"],
    "averages": {"mono": ["ara-ara", "eng-eng"], "cross": {"LaBSE": ["eng-deu"], "LASER": ["eng-eng"]}},
    "gaps": {"gap": ["mono", "cross"]},
    "values": {"LaBSE": {"meat": {"meaning": [80.0, 60.0, 50.0, 63.33]}}},
}


def sts_cell(objective: str, seed: int, **spearman: float) -> dict[str, Any]:
    metrics = {f"sts/meaning/{item.replace('_', '-')}/spearman": value for item, value in spearman.items()}
    return {"encoder": "labse", "objective": objective, "seed": seed, "metrics": metrics}


def test_averages_of_some_items_and_their_gap_are_taken_of_every_seed() -> None:
    cells = [
        sts_cell("meat", 1, ara_ara=70, eng_eng=50, eng_deu=40),
        sts_cell("meat", 2, ara_ara=74, eng_eng=54, eng_deu=46),
    ]
    results = {figure.metric: figure for figure in figures(cells, GROUPS) if figure.space == "meaning"}
    mono, cross, gap = (results[f"sts/{name}/spearman"] for name in ("mono", "cross", "gap"))
    assert (mono.paper, mono.ours) == (70.0, 62.0)  # of 80 and 60; of 60 and 64
    assert (cross.paper, cross.ours) == (50.0, 43.0)
    assert (gap.paper, gap.ours, gap.difference) == (20.0, 19.0, -1.0)
    assert math.isclose(gap.deviation or 0, math.sqrt(2))  # of 20 and 18
    text = markdown(figures(cells, GROUPS), paper=GROUPS)
    assert "| 20.00 | 19.00 ± 1.41 | -1.00 |" in text
    assert text.index("gap paper") < text.index("ara-ara paper")


def test_an_average_of_fewer_items_than_the_paper_names_stands_beside_the_same_items() -> None:
    (mono,) = (
        figure
        for figure in figures([sts_cell("meat", 1, ara_ara=70, eng_deu=40)], GROUPS)
        if (figure.space, figure.metric) == ("meaning", "sts/mono/spearman")
    )
    assert (mono.paper, mono.ours, mono.averaged_items) == (80.0, 70.0, "1 of 2")


def test_a_change_is_tested_over_the_seeds_of_both_objectives() -> None:
    before, after = (60.0, 62.0, 61.0), (61.0, 64.0, 64.0)  # differences 1, 2, 3: t = 2 sqrt(3), p = 0.0742
    cells = [sts_cell("meat", seed, mean=value) for seed, value in enumerate(before)]
    cells += [sts_cell("meat_oracle", seed, mean=value) for seed, value in enumerate(after)]
    cells += [sts_cell("meat_oracle", 9, mean=0.0)]  # MEAT did not run with this seed
    (change,) = changes(cells, GROUPS)
    assert (change.objective, change.baseline, change.space) == ("meat_oracle", "meat", "meaning")
    assert (change.seeds, change.change) == (3, 2.0)
    assert change.p == pytest.approx(0.0742, abs=5e-5)
    (table,) = change_tables([change], {change.metric: "mean"})
    assert table.rows[0].texts == ["meat_oracle - meat, meaning", "+2.00", "0.074"]


def test_a_change_over_one_seed_has_no_p_value(tmp_path: Path) -> None:
    cells = [sts_cell("meat", 1, mean=60.0), sts_cell("meat_oracle", 1, mean=61.0)]
    report_study(cells, {"title": "title", "paper": GROUPS}, folder=tmp_path)
    assert "| meat_oracle - meat, meaning | +1.00 | needs 3 seeds |" in (tmp_path / "table.md").read_text()
    assert "labse,meat_oracle,meat,meaning,sts/mean/spearman,1,1.0,\n" in (tmp_path / "changes.csv").read_text()
