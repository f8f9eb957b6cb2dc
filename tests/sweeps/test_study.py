"""Studies: a grid of cells, each trained once, and the paper's figures beside ours."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.child_processes import Output, run_script
from tests.helpers import ROOT, toy_bitext
from xsent.reporting.tables.study_rows import derived_metrics
from xsent.sweeps.study import selects_epoch, training_key

STUDIES = sorted(path for path in (ROOT / "conf" / "study").glob("oracle_table*.yaml"))
OBJECTIVES = {
    "original": "original",
    "DREAM": "dream",
    "DREAM+ORACLE": "dream_oracle",
    "MEAT": "meat",
    "MEAT+ORACLE": "meat_oracle",
    "ORACLE": "meat_oracle",
    "ORACLE minus L_IC": "meat_oracle_no_intra",
    "ORACLE minus L_IS": "meat_oracle_no_inter",
}
SPACES = {"original": "original", "semantic": "meaning", "language": "language"}


def study(tmp_path: Path, *overrides: str) -> Output:
    arguments = (
        f"experiment=oracle/table8 data.root={tmp_path / 'toy'} runs_dir={tmp_path} cache_dir={tmp_path / 'cache'}"
        " data.global_batch_size=64 data.valid_share=0.1 data.test_share=0.1"
        " trainer.max_epochs=2 trainer.enable_progress_bar=false logger=none"
    )
    return run_script(ROOT / "train.py", [*arguments.split(), *overrides], tmp_path)


def table(tmp_path: Path) -> list[dict[str, str]]:
    newest = max((tmp_path / "studies" / "oracle-table8").iterdir(), key=lambda path: path.name)
    with (newest / "table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trained(tmp_path: Path) -> dict[str, int]:
    return {path.parent.parent.name: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/checkpoints/last.ckpt")}


@pytest.mark.slow
def test_a_cell_is_trained_once_and_a_failed_one_does_not_stop_the_others(tmp_path: Path) -> None:
    toy_bitext(tmp_path / "toy")
    first = study(
        tmp_path, "encoder=laser2,micro", "recipe/oracle/objective=dream,meat", "study.encoder_paths.laser2=nowhere"
    )
    assert first.returncode != 0, "two cells have no encoder"
    assert "2 of 4 cells failed" in first.stderr
    assert "nowhere" in first.stderr
    rows = table(tmp_path)
    measured = {(row["encoder"], row["objective"]) for row in rows if row["ours"]}
    assert measured == {("micro", "dream"), ("micro", "meat")}
    before = trained(tmp_path)
    assert len(before) == 2

    # One of them is killed before its end: what it has learned is taken up, and nothing else is trained again.
    meat = next(folder for folder in tmp_path.glob("cells/*") if "meat" in folder.name)
    (meat / "metrics.json").unlink()
    second = study(tmp_path, "encoder=micro", "recipe/oracle/objective=dream,meat")
    assert second.returncode == 0, second.stderr
    assert "resume micro-meat-" in second.stderr
    assert second.stderr.count("was trained before") == 1
    assert trained(tmp_path).keys() == before.keys()
    assert [row["ours"] for row in table(tmp_path)] == [row["ours"] for row in rows if row["encoder"] == "micro"]

    # Another setting is another cell, whatever its name.
    third = study(tmp_path, "encoder=micro", "recipe/oracle/objective=dream", "recipe.optimizer.lr=0.1")
    assert third.returncode == 0, third.stderr
    assert len(trained(tmp_path)) == 3


@pytest.mark.slow
def test_two_processes_train_a_cell_as_one_does(tmp_path: Path) -> None:
    toy_bitext(tmp_path / "toy")
    tables = []
    for trainer in ("cpu", "ddp_cpu"):
        results = study(tmp_path, "encoder=tiny", "recipe/oracle/objective=dream,meat", f"trainer={trainer}")
        assert results.returncode == 0, results.stderr
        assert "2 of 2 cells are done" in results.stderr
        tables.append({(row["objective"], row["space"], row["metric"]): row["ours"] for row in table(tmp_path)})
    assert len(trained(tmp_path)) == 4, "another trainer is another cell"
    assert tables[0] == tables[1]


@pytest.mark.slow
def test_seeds_are_averaged_with_their_deviation(tmp_path: Path) -> None:
    toy_bitext(tmp_path / "toy")
    results = study(tmp_path, "encoder=tiny", "recipe/oracle/objective=dream", "seed=1,2")
    assert results.returncode == 0, results.stderr
    row = next(
        row for row in table(tmp_path) if (row["space"], row["metric"]) == ("meaning", "heldout/eng-xx/accuracy")
    )
    cells = [json.loads(path.read_text()) for path in tmp_path.glob("studies/*/*/*/cell.json")]
    first, second = (cell["metrics"]["heldout/meaning/eng-xx/accuracy"] for cell in cells)
    assert float(row["ours"]) == pytest.approx((first + second) / 2)
    assert float(row["deviation"]) == pytest.approx(abs(first - second) / 2**0.5)
    assert row["paper_encoder"] == "LaBSE"


def test_where_things_lie_plays_no_part_in_what_a_cell_is() -> None:
    config: dict[str, Any] = {
        "data": {"root": "here", "reader": {"pattern": "x"}, "cache_dir": "c", "num_workers": 0, "max_pairs": 5},
        "callbacks": {"checkpoints": {"folder": "a", "monitor": "val/loss"}},
        "recipe": {"host": "dream"},
        "trainer": {"max_epochs": 2},
        "seed": 1,
        "final": "last",
    }
    elsewhere = {**config, "data": {**config["data"], "root": "there", "num_workers": 2}}
    elsewhere["data"] |= {"noise_workers": 2}
    elsewhere["recipe"] = {"host": "dream", "trust_remote_code": True}
    elsewhere["callbacks"] = {"checkpoints": {"folder": "b", "monitor": "val/loss"}}
    key = training_key(config, "data", "encoder")
    assert training_key(elsewhere, "data", "encoder") == key
    variants = [
        training_key(config, "other data", "encoder"),
        training_key(config, "data", "other encoder"),
        training_key({**config, "seed": 2}, "data", "encoder"),
        training_key({**config, "recipe": {"host": "meat"}}, "data", "encoder"),
        training_key({**config, "data": {**config["data"], "max_pairs": 6}}, "data", "encoder"),
    ]
    assert len({key, *variants}) == 6


def test_an_evaluator_that_selects_the_epoch_decides_what_a_cell_is() -> None:
    evaluator = {"name": "pawsx", "root": "here", "criterion": "accuracy"}
    config: dict[str, Any] = {
        "data": {},
        "callbacks": {"checkpoints": {"monitor": "val/pawsx/original/trained/accuracy"}},
        "recipe": {},
        "trainer": {},
        "seed": 1,
        "final": "best",
        "evaluator": evaluator,
    }
    assert selects_epoch(config)
    key = training_key(config, "data", "encoder", "pairs")
    assert training_key({**config, "evaluator": {**evaluator, "root": "there"}}, "data", "encoder", "pairs") == key
    variants = [
        training_key({**config, "evaluator": {**evaluator, "criterion": "f1"}}, "data", "encoder", "pairs"),
        training_key(config, "data", "encoder", "other pairs"),
        training_key(config, "data", "encoder"),
    ]
    assert len({key, *variants}) == 4
    config["callbacks"] = {"checkpoints": {"monitor": "val/loss"}}
    assert not selects_epoch(config)
    assert not selects_epoch({**config, "evaluator": None})


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_every_row_of_a_paper_table_has_a_figure_for_each_metric(path: Path) -> None:
    paper = yaml.safe_load(path.read_text(encoding="utf-8"))["paper"]
    for encoder, objectives in paper["values"].items():
        for objective, spaces in objectives.items():
            for space, values in spaces.items():
                assert len(values) == len(paper["metrics"]), f"{encoder} {objective} {space}"
                if paper["metrics"][-1].split("/")[1] in ("mean", "eng-xx") and len(values) > 4:
                    # The last column is the average of the others, as printed to two digits.
                    assert values[-1] == pytest.approx(sum(values[:-1]) / (len(values) - 1), abs=0.011)


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_the_figures_are_those_of_the_paper(path: Path, shared_data: Path) -> None:
    number = path.stem.removeprefix("oracle_table")
    printed = shared_data.parent / "papers" / "tables" / f"oracle-table{number}.csv"
    if not printed.is_file():
        pytest.skip(f"no {printed}")
    lines = [line for line in printed.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows: dict[tuple[str, str, str], list[float]] = {}
    for row in csv.DictReader(lines):
        encoder = {"mSimCSE": "LaBSE"}.get(row.get("encoder", "LaBSE"), row.get("encoder", "LaBSE"))
        if encoder in ("LaBSE", "LASER", "InfoXLM"):
            key = encoder, OBJECTIVES[row["objective"]], SPACES[row["embedding"]]
            rows.setdefault(key, []).append(float(row["value"]))
    values = yaml.safe_load(path.read_text(encoding="utf-8"))["paper"]["values"]
    ours = {
        (encoder, objective, space): figures
        for encoder, objectives in values.items()
        for objective, spaces in objectives.items()
        for space, figures in spaces.items()
    }
    assert ours.keys() == rows.keys()
    for key, figures in rows.items():
        if number == "10" and key[1] == "original":  # printed in another order of columns
            assert sorted(ours[key]) == sorted(figures)
        else:
            assert ours[key] == figures


def printed(table: int, encoder: str, objective: str, space: str = "meaning") -> dict[str, float]:
    """Row of a table of the paper, with what is derived from it; keys without the evaluator and the metric."""
    folder = ROOT / "conf" / "study"
    shared = yaml.safe_load((folder / "oracle.yaml").read_text(encoding="utf-8"))["paper"]
    paper = shared | yaml.safe_load((folder / f"oracle_table{table}.yaml").read_text(encoding="utf-8"))["paper"]
    row = dict(zip(paper["metrics"], paper["values"][encoder][objective][space], strict=True))
    values = derived_metrics(paper, encoder).add_to(row)
    return {
        metric.rpartition("/")[0].removeprefix("heldout/").removeprefix("sts/"): value
        for metric, value in values.items()
    }


@pytest.mark.parametrize(
    ("encoder", "host", "languages", "before", "after"),
    [
        # Section 6.1. It does not name the host: its figures are DREAM's, except for LASER's unseen languages.
        ("LASER", "dream", "seen", 83.32, 83.33),
        ("InfoXLM", "dream", "seen", 84.29, 84.63),
        ("LaBSE", "dream", "seen", 95.43, 95.61),
        ("LASER", "meat", "unseen", 8.73, 8.91),
        ("InfoXLM", "dream", "unseen", 1.93, 2.43),
        ("LaBSE", "dream", "unseen", 12.51, 13.96),
    ],
)
def test_seen_and_unseen_averages_are_those_of_the_paper(
    encoder: str, host: str, languages: str, before: float, after: float
) -> None:
    assert printed(8, encoder, host)[languages] == pytest.approx(before, abs=0.006)
    assert printed(8, encoder, f"{host}_oracle")[languages] == pytest.approx(after, abs=0.006)


@pytest.mark.parametrize(("encoder", "gap"), [("LASER", 0.69), ("InfoXLM", 15.6), ("LaBSE", 0.14)])
def test_the_directions_differ_as_the_paper_says(encoder: str, gap: float) -> None:
    # Section 6.1: mean of both hosts on Tatoeba-14.
    gaps = [printed(3, encoder, host)["tatoeba14/into - from English"] for host in ("dream", "meat")]
    assert sum(gaps) / 2 == pytest.approx(gap, abs=0.006)


def test_the_gap_of_monolingual_sts_shrinks_as_the_paper_says() -> None:
    # Section 6.2: "approximately 1.47 points for InfoXLM", the mean of both hosts. Its 0.73 for LASER and 0.50 for
    # LaBSE do not follow from Table 10, which gives -0.02 and 0.20.
    for encoder, reduction in (("InfoXLM", 1.47), ("LASER", -0.02), ("LaBSE", 0.20)):
        gaps = [
            printed(10, encoder, host)["mono - cross"] - printed(10, encoder, f"{host}_oracle")["mono - cross"]
            for host in ("dream", "meat")
        ]
        assert sum(gaps) / 2 == pytest.approx(reduction, abs=0.006)
