"""Reports of runs and comparisons: what is written, and behaviour in a browser."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import config
from tests.reporting.pages.helpers import (
    FIGURES,
    HOSTILE,
    blocks_of,
    check_hostile_is_text,
    check_tooltip_fits,
    drawn_chart,
    find,
    fits_width,
    focus,
    marks,
    point_at,
    run_folder,
    tap,
    tooltip,
    use_phone,
)
from xsent.evaluation.statistics.items import Items
from xsent.reporting.outcomes import OUTCOMES, outcomes_text
from xsent.reporting.pages import try_report, write_comparison, write_report
from xsent.run import train

SENTENCES = [HOSTILE, "zwei", "three", "vier"]  # English and German in turn, from left to right
PICTURE = "figure[data-method=PCA][data-space={}] .chart[data-chart^='{}']"


# ---- what is written


def test_a_page_depends_on_the_folder_alone_and_no_text_of_a_run_becomes_markup(tmp_path: Path) -> None:
    hostile = {"encoder": {"name": HOSTILE}, "seed": HOSTILE, HOSTILE: HOSTILE}
    folder = run_folder(tmp_path / "run", logged="1,0,train/<b>bold,1\n", config=hostile, sentences=SENTENCES)
    (folder / "details.csv").write_text("<b>x,y\n<b>bold,2\n")
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    check_hostile_is_text(first.decode())
    assert b"<b>" not in first


def write_outcomes(folder: Path, **outcomes: str) -> None:
    """Outcomes of a run's items in each space, of the metric of ``figures_of``."""
    items = {space: Items.percentage([digit == "1" for digit in text]) for space, text in outcomes.items()}
    after = {f"tatoeba/{space}/mean/accuracy": of_space for space, of_space in items.items()}
    (folder / OUTCOMES).write_text(outcomes_text({}, after))


def figures_of(**values: float) -> dict[str, float]:
    return {f"test/tatoeba/{space}/mean/accuracy": value for space, value in values.items()}


def verdict_of(page: Path) -> str:
    """Text of a page above its first section."""
    summary = page.read_text().split("<h1>")[1].split("<section")[0]
    return " ".join(re.sub("<[^>]*>", " ", summary).split())


@pytest.mark.parametrize(
    ("original", "meaning", "verdict"),
    [
        (
            "0" * 40,
            "1" * 40,
            "Better. test tatoeba accuracy: meaning vectors 100.00, original vectors 0.00; difference +100.00",
        ),
        ("1" * 40, "0" * 40, "Worse."),
        ("01" * 20, "10" * 20, "Within noise."),
    ],
)
def test_the_verdict_comes_first_and_has_an_interval(original: str, meaning: str, verdict: str, tmp_path: Path) -> None:
    values = {"original": 2.5 * original.count("1"), "meaning": 2.5 * meaning.count("1")}
    folder = run_folder(tmp_path / "run", metrics=figures_of(**values))
    assert "interval not known" in verdict_of(write_report(folder))
    write_outcomes(folder, original=original, meaning=meaning)
    text = verdict_of(write_report(folder))
    assert verdict in text
    assert "paired bootstrap" in text
    assert "95 % interval" in text


def test_the_verdict_of_a_run_with_one_kind_of_vectors_compares_with_the_figures_before_training(
    tmp_path: Path,
) -> None:
    about: dict[str, Any] = {"before": figures_of(original=50.0)}
    after = run_folder(tmp_path / "after", metrics=figures_of(original=60.0), about=about)
    assert "after training 60.00, before training 50.00" in verdict_of(write_report(after))
    alone = run_folder(tmp_path / "alone", metrics=figures_of(original=60.0), expected=figures_of(original=61.5))
    assert "test tatoeba accuracy 60.00, 61.50 in the paper" in verdict_of(write_report(alone))


def test_a_comparison_begins_with_its_verdict_and_what_differs_and_folds_equal_rows(tmp_path: Path) -> None:
    runs = []
    for name, meaning in (("one", "0" * 40), ("two", "1" * 40)):
        figures = figures_of(original=50.0, meaning=2.5 * meaning.count("1"))
        runs.append(run_folder(tmp_path / name, metrics=figures, config={"lr": meaning}))
        write_outcomes(runs[-1], meaning=meaning)
    page = write_comparison(runs, tmp_path / "compare.html")
    assert "Better. test tatoeba accuracy: two 100.00, one 0.00" in verdict_of(page)
    text = page.read_text()
    assert text.index('id="differences"') < text.index('id="comparison"')
    assert "Equal in all runs (1)" in text


def test_a_run_that_was_killed_has_a_page_that_says_so(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", logged="1,0,train/loss,1\n")
    (folder / "metrics.json").unlink()
    (folder / "config.yaml").write_text("recipe: {_target_: a.Recipe}\nencoder: {name: micro}\n")
    text = write_report(folder).read_text()
    assert "This run has not finished" in text
    assert 'id="curves"' in text
    assert 'id="results"' not in text


def test_curves_are_those_of_the_run_or_the_page_says_why_there_are_none(tmp_path: Path) -> None:
    training = run_folder(tmp_path / "training", config={"recipe": {"_target_": "a.Recipe"}})
    assert "<code>logger=csv</code>" in write_report(training).read_text()
    folder = run_folder(tmp_path / "evaluation", logged="1,0,train/loss,1\n")
    text = write_report(folder).read_text()
    assert 'id="curves"' in text
    assert "logger=csv" not in text
    (folder / "config.yaml").write_text("recipe: {_target_: a.Recipe}\n")  # the curves are those of a training
    assert 'id="curves"' not in write_report(folder).read_text()


def test_only_tables_that_the_run_lists_are_shown(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", about={"files": ["tables/mine.csv"]})
    (folder / "tables").mkdir()
    for name in ("mine", "other"):
        (folder / "tables" / f"{name}.csv").write_text("a\n1\n")
    text = write_report(folder).read_text()
    assert "mine (1)" in text
    assert "other (1)" not in text


def test_the_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    columns = {"type": None, "deu": "tatoeba/deu/accuracy"}
    table = {"title": "Table <1>", "columns": columns, "rows": {"theirs": {"type": "large", "deu": 99.5}}}
    expected = {"test/tatoeba/original/deu/accuracy": 60.0}
    text = write_report(run_folder(tmp_path / "run", expected=expected, config={"published": [table]})).read_text()
    rows = re.findall(r'<th scope="row">tatoeba deu accuracy</th>(.*?)</tr>', text)
    assert [re.sub("<[^>]*>", " ", row).split() for row in rows] == [["61.25", "60.00", "+1.25"]]
    assert "<h3>Table &lt;1&gt;</h3>" in text
    ours = '<td data-metric="test/tatoeba/original/deu/accuracy" data-value="61.25">61.25</td>'
    assert f'<th scope="row">theirs</th><td>large</td><td>99.5</td>{ours}<td>-38.25</td>' in text


@pytest.mark.slow
def test_a_page_stays_under_five_megabytes_and_says_what_it_left_out(tmp_path: Path) -> None:
    names = [f"val/heldout/{space}/item{item}/accuracy" for space in "abc" for item in range(20)]
    folder = run_folder(
        tmp_path / "run",
        metrics={f"test/evaluator/original/item{number}/accuracy": number / 7 for number in range(8_000)},
        logged="".join(f"{step},0,{name},{step * 0.1234567}\n" for step in range(1_600) for name in names[:5]),
        config={"encoder": {"name": "e" * 10**6}, "long": ["ü<&" * 40] * 4_000},
        sentences=["ا<" * 5_000 + str(number) for number in range(3_000)],
    )
    (folder / "details.csv").write_text("a,b\n" + f"{'x' * 2_000},1\n" * 3_000)
    (folder / "charts").mkdir()
    for number in range(40):
        (folder / "charts" / f"chart_{number}.png").write_bytes(bytes(200_000))
    (folder / "tables").mkdir()
    (folder / "tables" / "verdicts.csv").write_text("a\n" + "y\n" * 5_000)
    page = write_report(folder)
    assert page.stat().st_size < 5_000_000
    text = page.read_text()
    for message in (
        r"The first 2,000 of 8,000 rows; results.csv has all",
        r"thinned to 600 of up to 1,600 points",
        r"Shown are 1,500 of 3,000 sentences",
        r"35 more are in the folder charts",
        r"The beginning of the config; metrics.json has all",
        r"The first 2,000 of 3,000 rows; details.csv has all",
        r"The first 50 of 5,000 rows; tables/verdicts.csv has all",
    ):
        assert re.search(message, text), message
    small_run = run_folder(tmp_path / "other", metrics=dict.fromkeys(FIGURES, 1.0), logged="1,0,train/loss,1\n")
    assert write_comparison([folder, small_run], tmp_path / "compare.html").stat().st_size < 5_000_000


def test_a_damaged_file_is_named_an_earlier_page_stays_and_the_run_does_not_fail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = run_folder(tmp_path / "run")
    page = write_report(folder)
    before = page.read_bytes()
    (folder / "metrics.json").write_text("{")
    with pytest.raises(ValueError, match=r"metrics\.json:1: expected JSON"):
        write_report(folder)
    try_report(folder)
    assert "report.html: page not written" in caplog.text
    assert page.read_bytes() == before


# ---- in a browser


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run: heads trained for some epochs on the built-in data."""
    folder = tmp_path_factory.mktemp("run")
    overrides = (
        "recipe=oracle encoder=micro data=cldr experiment=demo data.languages=[deu,fra] trainer.max_epochs=3"
        " trainer.log_every_n_steps=1 pictures.pairs_per_language=8 pictures.min_seconds=0"
        " trainer.enable_progress_bar=false"
    )
    train(config("train", folder, *overrides.split()))
    return folder / "run"


@pytest.fixture
def toy(open_page: Callable[[Path], Any], tmp_path: Path) -> Any:
    """The page of a run written by hand."""
    logged = "10,0,train/loss,4\n20,0,train/loss,2\n20,0,val/loss,3\n30,1,train/loss,1\n"
    logged += "20,0,val/heldout/meaning/deu/accuracy,7\n20,0,val/heldout/meaning/mean/accuracy,5\n"
    return open_page(write_report(run_folder(tmp_path / "run", logged=logged, sentences=SENTENCES)))


def picture(page: Any, space: str, run: int = 0) -> Any:
    return drawn_chart(page, PICTURE.format(space, run))


def mark_of(page: Any, chart: Any, text: str) -> dict[str, Any]:
    (mark,) = [mark for mark in marks(page, chart) if mark["text"] == text]
    return mark


def test_figures_charts_and_sentences_of_a_real_run_are_those_of_its_files(
    run: Path, open_page: Callable[[Path], Any]
) -> None:
    page = open_page(run / "report.html")
    metrics = json.loads((run / "metrics.json").read_text())["metrics"]
    script = """return [...document.querySelectorAll("[data-metric]")].map(
        (cell) => [cell.dataset.metric, JSON.parse(cell.dataset.value), cell.textContent])"""
    cells = page.execute_script(script)
    assert {name for name, _, _ in cells} == set(metrics)
    for name, value, text in cells:
        assert value == metrics[name], name
        assert text == f"{metrics[name]:.{4 if 'margin_gap' in name else 2}f}"
    assert (run / "report.html").stat().st_size < 1_000_000
    assert [title.text for title in find(page, "h2")] == ["Results", "Curves", "Pictures", "What ran", "Details"]
    charts = blocks_of(run / "report.html")["curves"]["charts"]
    assert set(charts) >= {"loss", "meaning", "reconstruction", "heldout accuracy"}
    points = json.loads((run / "pictures" / "points.json").read_text())
    find(page, "[name=method][value=PCA]")[0].click()
    chart = picture(page, "meaning")
    assert len(marks(page, chart)) == len(points["sentences"])
    coordinates = points["methods"]["PCA"]["meaning"]["points"]
    rightmost = max(range(len(coordinates)), key=lambda row: coordinates[row][0])
    lines = point_at(page, chart, mark_of(page, chart, points["sentences"][rightmost]))
    assert lines == [f"{points['languages'][rightmost]}, meaning", points["sentences"][rightmost]]


def test_a_hostile_sentence_is_shown_as_text_and_ringed_in_every_chart(toy: Any) -> None:
    picture(toy, "language")
    chart = picture(toy, "meaning")
    assert point_at(toy, chart, mark_of(toy, chart, HOSTILE)) == ["eng, meaning", HOSTILE]
    assert toy.title == "mini evaluated on tatoeba"
    assert find(toy, "img") == []
    assert len(find(toy, "#pictures .over circle")) == 2


def test_languages_and_spaces_can_be_hidden(toy: Any) -> None:
    chart = picture(toy, "meaning")
    find(toy, "#pictures [name=series]")[0].click()  # deu
    assert {mark["text"] for mark in marks(toy, chart)} == {HOSTILE, "three"}
    find(toy, "#pictures [name=space][value=language]")[0].click()
    visible = [figure for figure in find(toy, "#pictures figure") if figure.is_displayed()]
    assert [figure.get_attribute("data-space") for figure in visible] == ["meaning"]


def test_arrow_keys_move_between_sentences_and_escape_hides_the_tooltip(toy: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    chart = picture(toy, "meaning")
    focus(toy, chart)
    assert tooltip(toy)[1:] == [HOSTILE]
    chart.send_keys(Keys.ARROW_RIGHT)
    chart.send_keys(Keys.ARROW_RIGHT)
    assert tooltip(toy) == ["eng, meaning", "three"]
    chart.send_keys(Keys.ARROW_LEFT)
    assert tooltip(toy) == ["deu, meaning", "zwei"]
    chart.send_keys(Keys.ESCAPE)
    assert tooltip(toy) == []


def test_a_curve_tells_series_value_step_and_epoch(toy: Any) -> None:
    chart = drawn_chart(toy, "[data-chart=loss]")
    last = max(marks(toy, chart), key=lambda mark: float(mark["x"]))
    assert point_at(toy, chart, last) == ["train", "1", "step 30, epoch 2"]
    assert [item.text for item in find(toy, "#curves figure:first-child .legend li")] == ["train", "val"]
    linear = {mark["value"]: mark["y"] for mark in marks(toy, chart)}
    find(toy, "[name=log]")[0].click()
    logarithmic = {mark["value"]: mark["y"] for mark in marks(toy, drawn_chart(toy, "[data-chart=loss]"))}
    assert linear[4] - linear[2] == pytest.approx(2 * (linear[2] - linear[1]), rel=0.01)
    assert logarithmic[4] - logarithmic[2] == pytest.approx(logarithmic[2] - logarithmic[1], rel=0.01)


def test_the_item_of_an_evaluators_chart_can_be_chosen_and_the_mean_comes_first(toy: Any) -> None:
    chart = drawn_chart(toy, "[data-chart='heldout accuracy']")
    assert {mark["value"] for mark in marks(toy, chart)} == {5}
    find(toy, "#curves select option")[1].click()
    assert {mark["value"] for mark in marks(toy, chart)} == {7}


def test_the_filter_shows_the_rows_with_all_words(toy: Any) -> None:
    find(toy, "#results [name=words]")[0].send_keys("DEU acc")
    (grid, *_) = find(toy, "#results table")
    visible = [row.text for row in grid.find_elements("css selector", "tbody tr") if row.is_displayed()]
    assert visible == ["tatoeba deu accuracy 61.25"]
    assert find(toy, "#results [role=status]")[0].text == "2 of 4"  # in both tables


@pytest.mark.parametrize("kind", ["report", "comparison"])
def test_the_page_fits_a_phone_and_a_tap_shows_the_sentence(
    kind: str, run: Path, open_page: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = run / "report.html"
    if kind == "comparison":
        path = write_comparison([run, run_folder(tmp_path / "other", sentences=SENTENCES)], tmp_path / "compare.html")
    page = open_page(path)
    use_phone(page)
    for details in find(page, "details"):
        page.execute_script("arguments[0].open = true", details)
    assert fits_width(page)
    find(page, "[name=method][value=PCA]")[0].click()
    chart = picture(page, "meaning")
    tap(page, chart, marks(page, chart)[0])
    assert tooltip(page)
    check_tooltip_fits(page)


def test_a_comparison_shows_deltas_and_tells_the_runs_apart(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    logged = "10,0,train/loss,4\n20,0,train/loss,2\n"
    higher = {name: value * 1.5 for name, value in FIGURES.items()}
    first = run_folder(tmp_path / "one", logged=logged, sentences=SENTENCES)
    second = run_folder(tmp_path / "two", logged=logged, metrics=higher, sentences=SENTENCES)
    page = open_page(write_comparison([first, second], tmp_path / "compare.html"))
    for name in FIGURES:
        (value,) = find(page, f"[data-metric='{name}'][data-run=two]")
        (delta,) = value.find_elements("xpath", "following-sibling::td[1]")
        assert float(value.get_attribute("data-value")) == higher[name]
        assert float(delta.get_attribute("data-delta")) == higher[name] - FIGURES[name]
        assert delta.text == f"{higher[name] - FIGURES[name]:+.2f} better"
    chart = drawn_chart(page, "[data-chart=loss]")
    looks = {(mark["run"], mark["colour"], mark["shape"]) for mark in marks(page, chart) if mark["shape"] is not None}
    assert looks == {("one", 0, 0), ("two", 1, 1)}  # by colour, and by shape
    find(page, "#curves [name=run]")[0].click()
    assert {mark["run"] for mark in marks(page, chart)} == {"two"}
    # The same sentence is ringed in all charts of both runs.
    charts = [picture(page, space, run) for space in ("meaning", "language") for run in (0, 1)]
    point_at(page, charts[3], mark_of(page, charts[3], "three"))
    assert len(find(page, "#pictures .over circle")) == 4


def test_charts_are_images_in_the_page_with_a_text_alternative(
    open_page: Callable[[Path], Any], tmp_path: Path
) -> None:
    folder = run_folder(tmp_path / "run")
    (folder / "charts").mkdir()
    # One pixel.
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    (folder / "charts" / "refresd_margins.png").write_bytes(base64.b64decode(pixel))
    page = open_page(write_report(folder))
    (image,) = find(page, "#charts img")
    assert page.execute_script("return arguments[0].naturalWidth", image) == 1
    assert image.get_attribute("alt") == "chart refresd margins; its numbers are in charts/refresd_margins.csv"
