"""The pages of a run and of several: what is written into them, and what a browser makes of it."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT, config
from tests.reporting.report.helpers import FIGURES, HOSTILE, run_folder
from xsent.reporting.report import shell, write_comparison, write_report
from xsent.run import evaluate, train
from xsent.run.evaluating import write_page

SENTENCES = [HOSTILE, "zwei", "three", "vier"]  # of English and German by turns, from left to right
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}


# ---- what is written


def test_a_page_is_a_function_of_the_folder_and_no_text_of_a_run_becomes_part_of_its_own(tmp_path: Path) -> None:
    hostile = {"encoder": {"name": HOSTILE}, "seed": HOSTILE, HOSTILE: HOSTILE}
    folder = run_folder(tmp_path / "run", logged=f"1,0,{'train/<b>bold'},1\n", config=hostile, sentences=SENTENCES)
    (folder / "details.csv").write_text("<b>x,y\n<b>bold,2\n")
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    text = first.decode()
    assert "taken over" in text
    assert "<script>document" not in text
    assert "<img" not in text
    assert "<b>" not in text


def test_a_run_that_was_killed_has_a_page_that_says_so(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", logged="1,0,train/loss,1\n")
    (folder / "metrics.json").unlink()
    (folder / "config.yaml").write_text("recipe: {_target_: a.Recipe}\nencoder: {name: mini}\n")
    text = write_report(folder).read_text()
    assert "This run has not finished" in text
    assert 'id="curves"' in text
    assert 'id="results"' not in text


def test_a_training_run_without_metrics_csv_says_why_it_has_no_curves(tmp_path: Path) -> None:
    training = run_folder(tmp_path / "training", config={"recipe": {"_target_": "a.Recipe"}})
    assert "<code>logger=csv</code>" in write_report(training).read_text()
    assert "logger=csv" not in write_report(run_folder(tmp_path / "evaluation")).read_text()


def test_curves_of_a_training_run_are_not_those_of_an_evaluation_in_its_folder(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", logged="1,0,train/loss,1\n")
    assert 'id="curves"' in write_report(folder).read_text()
    (folder / "config.yaml").write_text("recipe: {_target_: a.Recipe}\n")
    assert 'id="curves"' not in write_report(folder).read_text()


def test_charts_and_tables_are_those_that_the_run_says_it_wrote(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", about={"files": ["tables/mine.csv"]})
    (folder / "tables").mkdir()
    for name in ("mine", "other"):
        (folder / "tables" / f"{name}.csv").write_text("a\n1\n")
    text = write_report(folder).read_text()
    assert "mine (1)" in text
    assert "other (1)" not in text


def test_the_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    name = "test/tatoeba/original/deu/accuracy"
    folder = run_folder(tmp_path / "run", expected={name: 60.0})
    rows = re.findall(r'<th scope="row">tatoeba deu accuracy</th>(.*?)</tr>', write_report(folder).read_text())
    assert [re.sub("<[^>]*>", " ", row).split() for row in rows] == [["61.25", "60.00", "+1.25"]]


def test_the_papers_tables_have_ours_as_their_last_row_with_its_full_values(tmp_path: Path) -> None:
    columns = {"type": None, "deu": "tatoeba/deu/accuracy"}
    table = {"title": "Table <1>", "columns": columns, "rows": {"theirs": {"type": "large", "deu": 99.5}}}
    text = write_report(run_folder(tmp_path / "run", config={"published": [table]})).read_text()
    assert "<h3>Table &lt;1&gt;</h3>" in text
    assert '<th scope="row">theirs</th><td>large</td><td>99.5</td>' in text
    ours = 'data-metric="test/tatoeba/original/deu/accuracy" data-value="61.25">61.25</td>'
    assert f'<th scope="row">ours</th><td></td><td {ours}' in text


def test_a_page_stays_under_five_megabytes_whatever_the_run_left_and_says_what_it_left_out(tmp_path: Path) -> None:
    names = [f"val/heldout/{space}/item{item}/accuracy" for space in "abc" for item in range(20)]
    rows = {f"row {number}": {"deu": "9" * 2_000} for number in range(60)}
    published = {"title": "t", "columns": {"deu": "evaluator/item1/accuracy"}, "rows": rows}
    folder = run_folder(
        tmp_path / "run",
        metrics={f"test/evaluator/original/item{number}/accuracy": number / 7 for number in range(8_000)},
        logged="".join(f"{step},0,{name},{step * 0.1234567}\n" for step in range(1_600) for name in names[:5]),
        config={"published": [published] * 5, "encoder": {"name": "e" * 10**6}, "long": ["ü<&" * 40] * 4_000},
        sentences=["ا<" * 5_000 + str(number) for number in range(3_000)],
    )
    (folder / "details.csv").write_text("a,b\n" + f"{'x' * 2_000},1\n" * 2_000)
    (folder / "charts").mkdir()
    for number in range(40):
        (folder / "charts" / f"chart_{number}.png").write_bytes(bytes(200_000))
    (folder / "tables").mkdir()
    (folder / "tables" / "verdicts.csv").write_text("a\n" + "y\n" * 5_000)
    page = write_report(folder)
    assert page.stat().st_size < 5_000_000
    text = page.read_text()
    for said in (
        r"The first [\d,]+ of 8,000 rows; all are in results.csv",
        r"thinned to 1,500 points of up to 1,600",
        r"Shown are [\d,]+ of 3,000 sentences",
        r"No room here for \d+ more, in charts",
        r"The first \d of 5 tables of the paper; all are in published.md",
        r"lines of the config; all are in metrics.json",
        r"of 2,000 rows; all are in details.csv",
        r"The first 50 of 5,000 rows; all are in tables/verdicts.csv",
    ):
        assert re.search(said, text), said
    again = run_folder(tmp_path / "other", metrics=dict.fromkeys(FIGURES, 1.0), logged="1,0,train/loss,1\n")
    assert write_comparison([folder, again], tmp_path / "compare.html").stat().st_size < 5_000_000


def test_a_damaged_file_is_named_and_the_page_of_before_stays(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    page = write_report(folder)
    before = page.read_bytes()
    (folder / "metrics.json").write_text("{")
    with pytest.raises(ValueError, match=r"metrics\.json: expected JSON"):
        write_report(folder)
    assert page.read_bytes() == before


def test_a_page_that_cannot_be_written_is_an_error_in_the_log_and_not_the_end_of_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_page(tmp_path)
    assert "no report.html; everything else of the run is there" in caplog.text


def test_an_altered_asset_is_said_before_anything_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "assets"
    shutil.copytree(ROOT / "xsent" / "assets" / "report", copy)
    (copy / "curves.js").write_text("alert(1)")
    monkeypatch.setattr(shell, "_folder", lambda: copy)
    with pytest.raises(ValueError, match=r"curves\.js: an altered asset of the report"):
        train(config("train", tmp_path, "recipe=oracle", "encoder=mini", "data=cldr"))
    with pytest.raises(ValueError, match=r"curves\.js: an altered asset of the report"):
        evaluate(config("evaluate", tmp_path, "evaluator=tatoeba", "evaluator.root=nowhere"))
    assert not (tmp_path / "run").exists()


# ---- what a browser makes of it


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run: heads of some epochs on the built-in data."""
    folder = tmp_path_factory.mktemp("run")
    overrides = (
        "recipe=oracle", "encoder=mini", "data=cldr", "experiment=demo", "data.languages=[deu,fra]",
        "trainer.max_epochs=3", "trainer.log_every_n_steps=1", "pictures.pairs_per_language=8",
        "trainer.enable_progress_bar=false",
    )  # fmt: skip
    train(config("train", folder, *overrides))
    return folder / "run"


@pytest.fixture
def quiet(browser: Any) -> Iterator[Any]:
    """The browser; at the end there is no message in its console and no request went out."""
    browser.get_log("browser")
    yield browser
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.fixture
def toy(quiet: Any, tmp_path: Path) -> Any:
    """The page of a run made by hand, opened from disk."""
    logged = "10,0,train/loss,4\n20,0,train/loss,2\n20,0,val/loss,3\n30,1,train/loss,1\n"
    logged += "".join(
        f"20,0,val/heldout/meaning/{item}/accuracy,{value}\n" for item, value in (("deu", 7), ("mean", 5))
    )
    folder = run_folder(tmp_path / "run", logged=logged, sentences=SENTENCES)
    quiet.get(write_report(folder).as_uri())
    return quiet


def find(page: Any, selector: str) -> list[Any]:
    found: list[Any] = page.find_elements("css selector", selector)
    return found


def point_at(page: Any, drawing: Any, x: float, y: float) -> list[str]:
    """Lines of the tooltip when the mouse is at a place of a drawing, in pixels from its corner."""
    from selenium.webdriver.common.action_chains import ActionChains

    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", drawing)
    size = drawing.rect
    offsets = round(x - size["width"] / 2), round(y - size["height"] / 2)
    ActionChains(page).move_to_element_with_offset(drawing, *offsets).perform()
    return tooltip(page)


def tooltip(page: Any) -> list[str]:
    (box,) = find(page, ".tooltip")
    return [line.text for line in box.find_elements("css selector", "p")] if box.is_displayed() else []


def place_of_mark(page: Any, space: str, row: int) -> tuple[Any, float, float]:
    """The panel of a space, and where in it the mark of a sentence is."""
    drawing = find(page, f"#pictures figure[data-space={space}] svg.chart")[0]  # of the first run
    (mark,) = drawing.find_elements("css selector", f"path[data-row='{row}']")
    x, y = map(float, re.findall(r"[\d.]+", mark.get_attribute("transform"))[:2])
    return drawing, x, y


def test_every_figure_of_a_real_run_is_that_of_metrics_json(run: Path, quiet: Any) -> None:
    quiet.get((run / "report.html").as_uri())
    metrics = json.loads((run / "metrics.json").read_text())["metrics"]
    script = """return [...document.querySelectorAll("[data-metric]")].map(
        (cell) => [cell.dataset.metric, JSON.parse(cell.dataset.value), cell.textContent])"""
    found = quiet.execute_script(script)
    assert {name for name, _, _ in found} == set(metrics)
    for name, value, text in found:
        assert value == metrics[name], name
        assert text == f"{metrics[name]:.2f}"
    assert (run / "report.html").stat().st_size < 5_000_000
    titles = [heading.text for heading in find(quiet, "h2")]
    assert titles == ["Results", "Curves", "Pictures", "What ran", "Details"]
    charts = {figure.get_attribute("data-chart") for figure in find(quiet, "#curves figure")}
    assert charts >= {"loss", "meaning", "reconstruction", "heldout accuracy"}
    # Two languages and English, each sentence once in a space.
    points = json.loads((run / "pictures" / "points.json").read_text())
    assert len(find(quiet, "#pictures figure[data-space=meaning] path[data-row]")) == len(points["sentences"])


def test_the_tooltip_of_a_mark_of_a_real_run_is_its_sentence(run: Path, quiet: Any) -> None:
    quiet.get((run / "report.html").as_uri())
    points = json.loads((run / "pictures" / "points.json").read_text())
    places = points["methods"]["t-SNE"]["meaning"]["points"]
    rightmost = max(range(len(places)), key=lambda row: places[row][0])  # nothing is nearer to it than itself
    lines = point_at(quiet, *place_of_mark(quiet, "meaning", rightmost))
    assert lines == [f"{points['languages'][rightmost]}, meaning", points["sentences"][rightmost]]


def test_a_hostile_sentence_is_shown_as_text(toy: Any) -> None:
    assert point_at(toy, *place_of_mark(toy, "meaning", 0)) == ["eng, meaning", HOSTILE]
    assert toy.title == "Evaluation run"
    assert find(toy, "img") == []


def test_the_pointed_sentence_is_ringed_in_every_panel(toy: Any) -> None:
    drawing, x, y = place_of_mark(toy, "language", 2)
    assert point_at(toy, drawing, x, y)[1] == "three"
    rings = find(toy, "#pictures .ring")
    assert len(rings) == 2
    for ring in rings:
        assert ring.get_attribute("visibility") == "visible"
        assert float(re.findall(r"[\d.]+", ring.get_attribute("transform"))[0]) == pytest.approx(x, abs=0.1)


def test_hiding_a_language_takes_its_points_away_and_hiding_a_space_its_panel(toy: Any) -> None:
    toy.execute_script("document.querySelector('#pictures').scrollIntoView()")
    find(toy, "#pictures [name=language]")[0].click()  # deu, the first by name
    left = {mark.get_attribute("data-row") for mark in find(toy, "#pictures figure[data-space=meaning] path[data-row]")}
    assert left == {"0", "2"}
    find(toy, "#pictures [name=space][value=language]")[0].click()
    shown = [figure for figure in find(toy, "#pictures figure") if figure.is_displayed()]
    assert [figure.get_attribute("data-space") for figure in shown] == ["meaning"]


def test_arrow_keys_go_from_sentence_to_sentence_and_escape_ends_it(toy: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    (drawing,) = find(toy, "#pictures figure[data-space=meaning] svg.chart")
    toy.execute_script("arguments[0].focus({focusVisible: true})", drawing)
    assert tooltip(toy)[1:] == [HOSTILE]
    drawing.send_keys(Keys.ARROW_RIGHT)
    drawing.send_keys(Keys.ARROW_RIGHT)
    assert tooltip(toy) == ["eng, meaning", "three"]
    drawing.send_keys(Keys.ARROW_LEFT)
    assert tooltip(toy) == ["deu, meaning", "zwei"]
    drawing.send_keys(Keys.ESCAPE)
    assert tooltip(toy) == []


def test_pointing_at_a_curve_tells_step_epoch_and_value(toy: Any) -> None:
    (drawing,) = find(toy, "#curves figure[data-chart=loss] svg.chart")
    right = drawing.rect["width"] - 10  # where the last step is
    assert point_at(toy, drawing, right, drawing.rect["height"] - 42) == ["train", "1", "step 30, epoch 1"]
    assert [line.text for line in find(toy, "#curves figure[data-chart=loss] .legend li")] == ["train", "val"]


def test_the_item_of_a_figure_is_chosen_and_the_mean_comes_first(toy: Any) -> None:
    (drawing,) = find(toy, "#curves figure[data-chart='heldout accuracy'] svg.chart")
    (dot,) = drawing.find_elements("css selector", "path[transform]")
    x, y = map(float, re.findall(r"[\d.]+", dot.get_attribute("transform"))[:2])
    assert point_at(toy, drawing, x, y)[1] == "5"
    find(toy, "#curves select option")[1].click()
    assert point_at(toy, drawing, x, y)[1] == "7"


def test_the_filter_leaves_the_rows_with_all_words(toy: Any) -> None:
    find(toy, "#results [name=filter]")[0].send_keys("DEU acc")
    (grid, *_) = find(toy, "#results table")
    shown = [row.text for row in grid.find_elements("css selector", "tbody tr") if row.is_displayed()]
    assert shown == ["tatoeba deu accuracy 61.25"]
    assert find(toy, "#results [role=status]")[0].text == "1 of 2 figures"


@pytest.mark.parametrize("which", ["report", "compare"])
def test_the_page_fits_a_phone_and_a_tap_shows_the_sentence(which: str, run: Path, quiet: Any, tmp_path: Path) -> None:
    page = run / "report.html"
    if which == "compare":
        page = write_comparison([run, run_folder(tmp_path / "other", sentences=SENTENCES)], tmp_path / "compare.html")
    quiet.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    quiet.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        quiet.get(page.as_uri())
        for details in find(quiet, "details"):
            quiet.execute_script("arguments[0].open = true", details)
        assert quiet.execute_script("return [innerWidth, document.documentElement.scrollWidth]") == [360, 360]
        drawing, x, y = place_of_mark(quiet, "meaning", 0)
        quiet.execute_script("arguments[0].scrollIntoView({block: 'center'})", drawing)
        corner = quiet.execute_script(
            "const box = arguments[0].getBoundingClientRect(); return [box.left, box.top]", drawing
        )
        touch = {"x": corner[0] + x, "y": corner[1] + y}
        quiet.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
        quiet.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert tooltip(quiet)
        box = find(quiet, ".tooltip")[0].rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    finally:
        quiet.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        quiet.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_deltas_of_a_comparison_are_the_differences_of_the_files_and_curves_of_both_runs_are_told_apart(
    quiet: Any, tmp_path: Path
) -> None:
    logged = "10,0,train/loss,4\n20,0,train/loss,2\n"
    other = {name: value * 1.5 for name, value in FIGURES.items()}
    one = run_folder(tmp_path / "one", logged=logged, sentences=SENTENCES)
    two = run_folder(tmp_path / "two", logged=logged, metrics=other, sentences=SENTENCES)
    quiet.get(write_comparison([one, two], tmp_path / "compare.html").as_uri())
    for name in FIGURES:
        (value,) = find(quiet, f"[data-metric='{name}'][data-run=two]")
        (delta,) = value.find_elements("xpath", "following-sibling::td[1]")
        assert float(value.get_attribute("data-value")) == other[name]
        assert float(delta.get_attribute("data-delta")) == other[name] - FIGURES[name]
        assert delta.text == f"{other[name] - FIGURES[name]:+.2f} better"
    lines = find(quiet, "#curves figure[data-chart=loss] path.line")
    assert len({line.get_attribute("stroke") for line in lines}) == 2
    marks = find(quiet, "#curves figure[data-chart=loss] svg.chart path[transform]")
    assert len({mark.get_attribute("d") for mark in marks}) == 2  # without colour, too
    # The same sentence is ringed in all panels of both runs.
    drawing = find(quiet, "#pictures figure[data-run=two][data-space=meaning] svg.chart")[0]
    quiet.execute_script("arguments[0].focus({focusVisible: true})", drawing)
    assert [ring.get_attribute("visibility") for ring in find(quiet, "#pictures .ring")] == ["visible"] * 4
    find(quiet, "#curves [name=run]")[0].click()
    assert len(find(quiet, "#curves figure[data-chart=loss] path.line")) == 1


def test_charts_are_in_the_page_itself_and_have_a_text_in_their_place(quiet: Any, tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / "charts").mkdir()
    # The smallest picture there is: one pixel.
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    (folder / "charts" / "refresd_margins.png").write_bytes(base64.b64decode(pixel))
    quiet.get(write_report(folder).as_uri())
    (image,) = find(quiet, "#charts img")
    assert quiet.execute_script("return arguments[0].naturalWidth", image) == 1
    assert image.get_attribute("alt") == "chart refresd margins; its numbers are in charts/refresd_margins.csv"
