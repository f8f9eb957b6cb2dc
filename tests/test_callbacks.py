"""Order of evaluation, threshold and checkpoints; unknown monitored metrics are refused."""

import csv
from pathlib import Path

import pytest

from tests.helpers import config, toy_bert
from xsent.run import train
from xsent.text.divergences.json_format import Divergence, to_json

HELD_OUT = "val/divergence_heldout/synthetic"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT, and seeds of two words a side with a divergence that has another second word."""
    folder = tmp_path_factory.mktemp("divergences")
    toy_bert(folder / "bert")
    unchanged, changed = ("O", "O"), ("O", "CHA")
    words = [chr(97 + number // 10) + chr(107 + number % 10) for number in range(60)]
    records = []
    for seed in range(24):
        target = (f"f{words[seed]}", f"f{words[seed + 1]}")
        source = (f"e{words[seed]}", f"e{words[seed + 1]}")
        divergent = (f"e{words[seed]}", f"e{words[seed + 30]}")
        records += [
            Divergence(str(seed), "seed", "", source, target, unchanged, unchanged, "", ""),
            Divergence(str(seed), "generalization", "source", divergent, target, changed, changed, "", ""),
        ]
    (folder / "made.jsonl").write_text("".join(to_json(record) + "\n" for record in records))
    return folder


def overrides(folder: Path, *options: str) -> list[str]:
    settings = (
        "recipe=divergence recipe/divergence/sampling=lexical_substitution encoder=mbert encoder.max_length=null"
        " data.train_seeds=12 data.valid_seeds=8 data.test_seeds=4 data.global_batch_size=6"
        " recipe/divergence/judge=cross_encoder recipe.judge.max_length=16"
        " recipe.optimizer.lr=0.001 trainer.max_epochs=3 trainer.enable_progress_bar=false evaluate_every_n_epochs=1"
    )
    return [*settings.split(), f"encoder.path={folder / 'bert'}", f"data.root={folder / 'made.jsonl'}", *options]


def test_the_evaluator_sees_the_threshold_of_its_own_epoch_and_is_seen_by_the_checkpoints(
    folder: Path, tmp_path: Path
) -> None:
    monitor = f"callbacks.checkpoints.monitor={HELD_OUT}/calibrated_f1"
    best = train(config("train", tmp_path, *overrides(folder, monitor, "callbacks.early_stopping.patience=9")))
    with (tmp_path / "run/metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    calibrated, optimal = (
        [float(row["value"]) for row in rows if row["name"] == f"{HELD_OUT}/{figure}"]
        for figure in ("calibrated_f1", "best_f1")
    )
    # The recipe chooses the threshold that is best for the dev pairs, which the evaluator scores.
    assert len(calibrated) == 3
    assert calibrated == pytest.approx(optimal)
    assert best == pytest.approx(max(calibrated))


@pytest.mark.parametrize(
    ("monitor", "options"),
    [
        (f"{HELD_OUT}/f2", []),
        ("val/divergence_heldout/original/synthetic/f1", []),  # a judge of pairs has no spaces
        (f"{HELD_OUT}/union_f1_div", ["recipe/divergence/objective=margin"]),  # words are not tagged
    ],
)
def test_a_figure_that_a_judge_does_not_get_is_refused_before_training(
    folder: Path, tmp_path: Path, monitor: str, options: list[str]
) -> None:
    with pytest.raises(ValueError, match=rf"monitor={monitor}: expected one of .*{HELD_OUT}/f1,"):
        train(config("train", tmp_path, *overrides(folder, *options, f"callbacks.checkpoints.monitor={monitor}")))
    assert not (tmp_path / "run/checkpoints").exists()
