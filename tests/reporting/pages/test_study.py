"""The page of a study and its pictures."""

from pathlib import Path
from typing import Any

import pytest

from xsent.reporting.pages.study import check_picture, study_pictures, write_study
from xsent.reporting.plots.separation import Arrows, Bars, Scores
from xsent.reporting.tables.study import report_study

PAPER: dict[str, Any] = {
    "encoders": {"mini": "LaBSE"},
    "other_encoders": "LaBSE",
    "spaces": ["meaning", "language"],
    "metrics": ["heldout/eng-deu/accuracy", "heldout/eng-fra/accuracy", "heldout/eng-xx/accuracy"],
    "averages": {},
    "gaps": {},
    "baselines": {"meat_oracle": "meat"},
    "significance": None,
    "values": {"LaBSE": {"meat": {"meaning": [96.0, 94.0, 95.0], "language": [18.0, 22.0, 20.0]}}},
}


def cell(objective: str, meaning: float, language: float) -> dict[str, Any]:
    scores = {"meaning": meaning, "language": language}
    metrics = {
        f"heldout/{space}/{item}/accuracy": score
        for space, score in scores.items()
        for item in ("eng-deu", "eng-fra", "eng-xx")
    }
    return {"encoder": "mini", "objective": objective, "seed": 1, "metrics": metrics}


CELLS = [cell("meat", 80.0, 90.0), cell("meat_oracle", 81.0, 5.0)]


def drawn(picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the pictures of a study are drawn from."""
    panels: list[Any] = []

    def record(given: Any, *, title: str, unit: str, path: Path) -> Path:
        panels.extend(given)
        return path

    for name in ("draw_arrows", "draw_bars"):
        monkeypatch.setattr(f"xsent.reporting.pages.study.{name}", record)
    study = {"title": "Table 8: t", "paper": PAPER, "picture": picture}
    study_pictures(report_study(CELLS, study, folder=tmp_path).figures, study, folder=tmp_path)
    return panels


def test_an_arrow_goes_from_the_host_to_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((ours, paper),) = drawn("arrows", tmp_path, monkeypatch)
    change = Scores(80.0, 90.0), Scores(81.0, 5.0)
    assert ours == Arrows("meat, mini", {"deu": change, "fra": change}, change)
    assert paper.items == {}  # the paper has one of the two objectives


def test_a_bar_goes_from_language_to_meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn("bars", tmp_path, monkeypatch) == [
        Bars("mini", {"meat": Scores(80.0, 90.0), "meat_oracle": Scores(81.0, 5.0)}),
        Bars("the paper's LaBSE", {"meat": Scores(95.0, 20.0)}),
    ]


@pytest.mark.parametrize("picture", ["arrows", "bars", None])
def test_the_page_has_the_tables_and_the_picture(tmp_path: Path, picture: str | None) -> None:
    study = {"title": "Table 8: title", "paper": PAPER, "picture": picture}
    page = write_study(report_study(CELLS, study, folder=tmp_path), study, folder=tmp_path)
    text = page.read_text()
    assert "mini, meaning vectors, beside the paper&#39;s LaBSE" in text
    assert "needs 3 seeds" in text
    assert ("data:image/png;base64," in text) == (picture is not None)
    assert [path.name for path in tmp_path.glob("*.png")] == ([f"{picture}-mini.png"] if picture else [])


def test_an_unknown_picture_is_named() -> None:
    with pytest.raises(ValueError, match=r"^study\.picture=pie: expected arrows, bars or null$"):
        check_picture("pie")
