"""Runs beside one another: names, deltas, what may not be compared, what differs."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import config
from tests.reporting.pages.helpers import FIGURES, run_folder
from xsent.cli import main
from xsent.evaluation.statistics.items import Items
from xsent.reporting.outcomes import OUTCOMES, outcomes_text
from xsent.reporting.pages import write_report
from xsent.reporting.pages.comparison import (
    compare_metrics,
    condition_differences,
    config_differences,
    delta_text,
    short_names,
)
from xsent.reporting.pages.run_folder import RunFiles, read_run
from xsent.run.config.compose import plain

DEU = "test/tatoeba/original/deu/accuracy"


def two(tmp_path: Path, **changes: Any) -> list[RunFiles]:
    """A run, and another that differs from it as said."""
    second = {"metrics": {DEU: 60.0}, **changes}
    return [read_run(run_folder(tmp_path / "one")), read_run(run_folder(tmp_path / "two", **second))]


def delta(runs: list[RunFiles], metric: str) -> str:
    (row,) = [row for row in compare_metrics(runs) if row.metric == metric]
    return delta_text(metric, row.runs[1])


@pytest.mark.parametrize(
    ("folders", "names"),
    [
        (["runs/a/1", "runs/b/2"], ["1", "2"]),
        (["runs/a/1", "runs/b/1"], ["a", "b"]),
        (["x/a/run", "x/b/run", "y/a/run"], ["x/a", "x/b", "y/a"]),
        (["a/1", "b/1", "b/2"], ["a/1", "b/1", "b/2"]),
    ],
)
def test_names_are_the_shortest_that_tell_the_runs_apart(folders: list[str], names: list[str], tmp_path: Path) -> None:
    assert short_names([tmp_path / folder for folder in folders]) == names


@pytest.mark.parametrize(
    ("metric", "second", "text"),
    [
        (DEU, 3.75, "-1.25 worse"),
        (DEU, 5.75, "+0.75 better"),
        ("test/xsim/original/deu/error", 4.0, "-1.00 better"),
        ("test/tatoeba/language/deu/accuracy", 4.0, "-1.00"),
        ("test/language_probe/meaning/mean/accuracy", 4.0, "-1.00"),
        ("test/a/b/c/drift", 4.0, "-1.0000"),
    ],
)
def test_a_delta_is_to_the_first_run_and_judged_only_where_the_better_side_is_known(
    metric: str, second: float, text: str, tmp_path: Path
) -> None:
    values = {"one": 5.0, "two": second}
    runs = [read_run(run_folder(tmp_path / name, metrics={metric: value})) for name, value in values.items()]
    assert delta(runs, metric) == text


def test_a_figure_that_one_run_lacks_or_has_no_number_for_has_no_delta(tmp_path: Path) -> None:
    runs = two(tmp_path, metrics={DEU: None, "test/sts/original/deu-eng/spearman": 1.0})
    rows = {row.metric: row.runs for row in compare_metrics(runs)}
    assert set(rows) == {*FIGURES, "test/sts/original/deu-eng/spearman"}
    assert rows[DEU][1].delta is None
    assert rows["test/tatoeba/original/mean/accuracy"][1].value is None
    assert rows["test/sts/original/deu-eng/spearman"][0].value is None


def test_other_test_data_and_other_settings_are_marked_and_not_judged(tmp_path: Path) -> None:
    assert delta(two(tmp_path / "a", data="d2"), DEU) == "-1.25 other data"
    evaluator = {"name": "tatoeba", "root": "/data/tatoeba", "margin": "ratio"}
    assert delta(two(tmp_path / "b", config={"evaluator": evaluator}), DEU) == "-1.25 other settings"
    # The same files in another place are the same data: the digest tells.
    moved = {"name": "tatoeba", "root": "/elsewhere", "margin": "absolute"}
    assert delta(two(tmp_path / "c", config={"evaluator": moved}), DEU) == "-1.25 worse"


def test_where_a_run_reads_and_writes_is_no_setting_of_its_evaluator(tmp_path: Path) -> None:
    runs = []
    for name, rate in (("one", 0.5), ("two", 0.5), ("three", 0.25)):
        place = tmp_path / f"{name}_data"
        options = f"encoder=micro evaluator=codeswitch evaluator.root={place} evaluator.read.dictionaries={place}"
        options += f" evaluator.read.rate={rate} cache_dir={place}"
        composed = plain(config("evaluate", tmp_path / name, *options.split()))
        metrics = {"test/codeswitch/original/deu/accuracy": 50.0}
        runs.append(read_run(run_folder(tmp_path / name / "run", metrics=metrics, config=composed)))
    assert runs[0].config["evaluator"]["read"]["out"] != runs[1].config["evaluator"]["read"]["out"]
    (row,) = compare_metrics(runs)
    assert [figure.mark for figure in row.runs] == ["", "", "other settings"]


def test_each_evaluator_of_a_suite_is_compared_by_the_digest_of_its_own_test_sets(tmp_path: Path) -> None:
    members = {name: {"name": name, "root": f"/data/{name}"} for name in ("tatoeba", "sts")}
    metrics = {f"test/{name}/original/mean/accuracy": 50.0 for name in members}
    suite = {"recipe": {"_target_": "a.Recipe"}, "evaluator": {"name": "suite", "members": members}}
    runs = [
        read_run(run_folder(tmp_path / name, metrics=metrics, config=suite, about={"test_sets": digests}))
        for name, digests in (("one", "a1 b1"), ("two", "a1 b2"))
    ]
    assert [row.runs[1].mark for row in compare_metrics(runs)] == ["", "other data"]
    assert condition_differences(runs) == [["sha256 of the test sets", "a1 b1", "a1 b2"]]
    # An evaluation of its own beside a training run, of the same sets read from elsewhere.
    evaluator = {"evaluator": {"name": "tatoeba", "root": "/elsewhere"}}
    name = "test/tatoeba/original/mean/accuracy"
    for digest, mark in (("a1", ""), ("a2", "other data")):
        folder = run_folder(tmp_path / digest, metrics={name: 50.0}, config=evaluator, about={"test_sets": digest})
        assert compare_metrics([runs[0], read_run(folder)])[0].runs[1].mark == mark


def test_of_older_training_runs_the_roots_are_compared_as_paths(tmp_path: Path) -> None:
    runs = []
    for name, root in (("one", "/data/tatoeba"), ("two", "/data/sts/../tatoeba/"), ("three", "/data/other")):
        training = {"recipe": {}, "evaluator": {"name": "tatoeba", "root": root}}
        runs.append(read_run(run_folder(tmp_path / name, config=training, data=name)))
    assert [figure.mark for figure in compare_metrics(runs)[0].runs] == ["", "", "other data"]


def test_only_what_differs_is_listed_and_a_runs_own_folder_is_no_difference(tmp_path: Path) -> None:
    runs = []
    for name, data, settings in (("a", "d1", {"seed": 1}), ("b", "d2", {"seed": 2, "scheduler": None})):
        changed = {**settings, "callbacks": {"folder": str(tmp_path / name / "checkpoints")}}
        runs.append(read_run(run_folder(tmp_path / name, data=data, config=changed)))
    assert config_differences(runs) == [["seed", "1", "2"], ["scheduler", "(absent)", "null"]]
    assert condition_differences(runs) == [["sha256 of the data", "d1", "d2"]]


# ---- the command


def test_the_command_prints_the_table_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [run_folder(tmp_path / "one"), run_folder(tmp_path / "two", metrics={DEU: 60.0})]
    page = tmp_path / "pages" / "compare.html"
    for _ in range(2):  # a page of ours is replaced
        assert main(["compare", *map(str, runs), "-o", str(page)]) == 0
    assert "-1.25 worse" in " ".join(capsys.readouterr().out.split())
    assert "one and two" in page.read_text()


def test_what_is_no_page_of_ours_stays_and_nothing_is_written_on_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = [str(run_folder(tmp_path / "one")), str(run_folder(tmp_path / "two"))]
    thesis, report = tmp_path / "thesis.html", write_report(tmp_path / "one")
    thesis.write_text("<html>years of work</html>")
    for page in (thesis, report):  # a run's own page is none of several runs
        before = page.read_bytes()
        assert main(["compare", *runs, "-o", str(page)]) == 1
        assert f"{page}: expected a page of `xsent compare` to replace" in caplog.text
        assert page.read_bytes() == before
    new = tmp_path / "new.html"
    for wrong, message in (
        ([runs[0]], "expected two runs or more"),
        ([runs[0], f"{tmp_path}/other/../one"], "the same run as"),
        ([runs[0], str(tmp_path)], "found neither metrics.json"),
    ):
        assert main(["compare", *wrong, "-o", str(new)]) == 1
        assert message in caplog.text
        assert not new.exists()
    assert main(["compare", *runs, "-o", str(tmp_path)]) == 1
    assert "found a folder" in caplog.text


def scored(folder: Path, right: str, **options: Any) -> Path:
    """Run whose test items are right or wrong, with the same margin gap for all of them."""
    items = {"accuracy": Items.percentage([digit == "1" for digit in right])}
    items["margin_gap"] = Items.of("mean", [0.25] * len(right))
    outcomes = {f"tatoeba/original/mean/{kind}": of_kind for kind, of_kind in items.items()}
    metrics = {f"test/{name}": of_metric.value() for name, of_metric in outcomes.items()}
    run_folder(folder, metrics=metrics, **options)
    (folder / OUTCOMES).write_text(outcomes_text({}, outcomes))
    return folder


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *folders: Path) -> list[str]:
    """Rows of the tables that the command prints, without lines."""
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["compare", *map(str, folders), "-o", str(folders[0].parent / "page.html")]) == 0
    return [" ".join(line.replace("│", " ").split()) for line in capsys.readouterr().out.splitlines()]


def test_a_difference_has_an_interval_a_p_of_mcnemar_and_noise_is_called_noise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = scored(tmp_path / "one", "0" * 8 + "1" * 92)
    lines = printed(capsys, monkeypatch, first, scored(tmp_path / "two", "1" * 100, config={"lr": 2}))
    (row,) = [line for line in lines if line.startswith("test tatoeba accuracy 92.00 100.00 +8.00")]
    assert row.endswith("0.008 100 better")  # 8 items became right, none wrong: 2 / 2^8
    (gap,) = [line for line in lines if line.startswith("test tatoeba margin_gap 0.2500 0.2500 +0.0000")]
    assert gap.endswith("within noise")
    # Two became right and one wrong.
    third = scored(tmp_path / "three", "110" + "0" * 5 + "1" * 91 + "0", config={"lr": 3})
    lines = printed(capsys, monkeypatch, first, third)
    (row,) = [line for line in lines if line.startswith("test tatoeba accuracy 92.00 93.00 +1.00")]
    assert row.endswith("1.000 100 within noise")
    assert "within noise" in (tmp_path / "page.html").read_text()


def test_runs_that_differ_by_seed_are_one_column_with_mean_deviation_and_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = {1: 60, 2: 62, 3: 64}

    def of_seeds(name: str, gain: int) -> list[Path]:
        digits = {seed: "1" * (count + gain) + "0" * (100 - count - gain) for seed, count in hits.items()}
        configs = {seed: {"seed": seed, "lr": name} for seed in hits}
        return [scored(tmp_path / f"{name}-seed{seed}", digits[seed], config=configs[seed]) for seed in hits]

    base, other = of_seeds("base", 0), of_seeds("other", 10)
    lines = printed(capsys, monkeypatch, *base, *other)
    (row,) = [line for line in lines if line.startswith("test tatoeba accuracy")]
    # The difference is 10 with each seed: the limit of the t-test.
    assert row.startswith("test tatoeba accuracy 62.00 ± 2.00 72.00 ± 2.00 +10.00")
    assert row.endswith("<0.001 3 × 100 better")
    assert any("base (n = 3)" in line for line in lines)
    (row,) = [line for line in lines if line.startswith("tatoeba original mean accuracy")]
    assert row.endswith("62.00 ± 2.00 72.00 ± 2.00")
    # Of one setting there is no difference, only its spread; the same seed twice is no group.
    lines = printed(capsys, monkeypatch, *base)
    assert "tatoeba original mean accuracy 62.00 ± 2.00" in lines
    again = scored(tmp_path / "again", "1" * 100, config={"seed": 1, "lr": "base"})
    lines = printed(capsys, monkeypatch, base[0], again)
    assert any(line.startswith("test tatoeba accuracy 60.00 100.00") for line in lines)
