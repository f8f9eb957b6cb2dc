"""Small runs of recipe=divergence: learning, threshold, evaluation, filtering, invalid options."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import xsent
from tests.helpers import config, state_of, toy_bert, toy_divergences, toy_words
from xsent.batch import WordPair
from xsent.cli import main
from xsent.run import evaluate, load_judge, train

SMALL = [
    "recipe=divergence",
    "encoder=mbert",
    "encoder.max_length=null",
    "recipe/divergence/judge=cross_encoder",
    "recipe.judge.max_length=32",
    "recipe.optimizer.lr=0.01",
    "data.train_seeds=80",
    "data.valid_seeds=20",
    "data.test_seeds=20",
    "data.global_batch_size=8",
    "logger=none",
    "trainer.enable_progress_bar=false",
    "trainer.log_every_n_steps=1",
]


def words(letter: str, concepts: list[int]) -> tuple[str, ...]:
    return tuple(toy_words(letter, concepts).split())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("toy")
    return [*SMALL, f"data.root={toy_divergences(folder / 'd.jsonl')}", f"encoder.path={toy_bert(folder / 'bert')}"]


@pytest.fixture(scope="module")
def run(data: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("run")
    train(
        config(
            "train",
            tmp_path,
            *data,
            "recipe/divergence/sampling=concatenation",
            "recipe.judge.pooling=mean",
            "data.train_seeds=120",
            "trainer.max_epochs=10",
            "callbacks.early_stopping.patience=10",
            "recipe.weights.tokens=5",
            "final=last",
            "logger=csv",
        )
    )
    return tmp_path / "run"


def metrics_of(run: Path) -> dict[str, float]:
    metrics: dict[str, float] = json.loads((run / "metrics.json").read_text())["metrics"]
    return metrics


def tatoeba(folder: Path) -> Path:
    """Test files of sentences alone."""
    (folder / "tatoeba.deu-eng.deu").write_text("Hallo\nJa\n")
    (folder / "tatoeba.deu-eng.eng").write_text("Hello\nYes\n")
    return folder


def test_seeds_rise_above_divergences_and_the_changed_words_are_found(run: Path) -> None:
    metrics = metrics_of(run)
    assert metrics["test/divergence_heldout/synthetic/roc_auc"] > 90
    assert metrics["test/divergence_heldout/synthetic/union_f1_div"] > 80
    judge = load_judge(run)
    seed, coarse = judge.judge(
        [
            WordPair(words("e", [1, 2, 3, 4, 5]), words("f", [1, 2, 3, 4, 5])),
            WordPair(words("e", [1, 2, 3, 54, 55]), words("f", [1, 2, 3, 4, 5])),
        ]
    )
    assert seed.score > coarse.score + 2
    assert seed.score > judge.threshold > coarse.score
    assert coarse.source is not None
    assert (coarse.source > 0.5).tolist() == [False, False, False, True, True]


def test_the_threshold_of_the_dev_pairs_is_kept_with_the_weights(run: Path) -> None:
    rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()[1:]]
    values = {name: [float(row[3]) for row in rows if row[2] == name] for name in ("val/f1", "val/threshold")}
    best = values["val/f1"].index(max(values["val/f1"]))
    for name, epoch in [("best", best), ("last", -1)]:
        threshold = float(state_of(run / f"checkpoints/{name}.ckpt")["judge.calibrated"])
        assert threshold == pytest.approx(values["val/threshold"][epoch], abs=1e-6)
    assert load_judge(run).threshold == pytest.approx(values["val/threshold"][-1], abs=1e-6)


def test_a_run_is_evaluated_on_pairs_alone(run: Path, tmp_path: Path) -> None:
    records = map(json.loads, toy_divergences(tmp_path / "d.jsonl", seeds=40).read_text().splitlines())
    labels = {"seed": 1, "subtree_deletion": 0}  # equivalent, coarse divergence
    lines = [f"{r['source']} \t{r['target']} \t{labels[r['kind']]} \t1.0" for r in records if r["kind"] in labels]
    (tmp_path / "opensubs.test").write_text("\n".join(lines) + "\n")
    metrics = evaluate(
        config("evaluate", tmp_path, f"ckpt={run}", "evaluator=semdiverge", f"evaluator.root={tmp_path}")
    )
    assert metrics["test/semdiverge/opensubs/roc_auc"] > 90
    vectors = config(
        "evaluate",
        tmp_path,
        f"ckpt={run}",
        "evaluator=tatoeba",
        f"evaluator.root={tatoeba(tmp_path)}",
        "evaluator.languages=[deu]",
    )
    with pytest.raises(ValueError, match="evaluator tatoeba scores vectors of sentences"):
        evaluate(vectors)


def test_a_run_that_judges_pairs_is_no_encoder(run: Path) -> None:
    with pytest.raises(ValueError, match="a run of DivergenceRecipe, which judges pairs"):
        xsent.load_encoder(run)


def test_a_run_of_another_recipe_is_no_judge(tmp_path: Path) -> None:
    train(
        config(
            "train",
            tmp_path,
            "recipe=labse",
            "encoder=tiny",
            "data=cldr",
            "data.max_pairs=400",
            "data.global_batch_size=64",
            "evaluator=none",
            "pictures=null",
            "logger=none",
            "trainer.max_epochs=1",
            "trainer.enable_progress_bar=false",
        )
    )
    with pytest.raises(ValueError, match="expected a run of recipe=divergence, found one of LabseRecipe"):
        load_judge(tmp_path / "run")


def test_a_bitext_is_filtered_with_a_run(run: Path, tmp_path: Path) -> None:
    good, bad = [1, 2, 3, 4, 5], [1, 2, 3, 54, 55]
    lines = [f"{toy_words('e', concepts)}\t{toy_words('f', good)}" for concepts in (good, bad, good)]
    (tmp_path / "text.tsv").write_text("\n".join(lines) + "\n")
    output, page = tmp_path / "scored.tsv", tmp_path / "report.html"
    command = ["filter", str(tmp_path / "text.tsv"), "--ckpt", str(run), "-o", str(output), "--html", str(page)]
    assert main(command) == 0
    header, *rows = [line.split("\t") for line in output.read_text().splitlines()]
    verdicts = [row[header.index("verdict")] for row in rows]
    assert verdicts == ["equivalent", "divergent", "equivalent"]
    assert toy_words("e", [54]) in rows[1][header.index("source_divergent")]
    assert page.read_text().startswith("<!doctype html>")


OBJECTIVES: dict[str, dict[str, Any]] = {
    "ce": {"sampling": "balanced", "tags": False},
    "ce_contrastive": {"sampling": "concatenation", "tags": False},
    "margin": {"sampling": "lexical_substitution", "tags": False},
    "tags": {"sampling": "subtree_deletion", "tags": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_trains(data: list[str], tmp_path: Path, objective: str) -> None:
    expected = OBJECTIVES[objective]
    options = [
        f"recipe/divergence/objective={objective}",
        f"recipe/divergence/sampling={expected['sampling']}",
        "data.train_seeds=40",
        "evaluator=none",
    ]
    train(config("train", tmp_path, *data, *options, "data.global_batch_size=8", "trainer.max_epochs=1"))
    if objective == "tags":
        with pytest.raises(ValueError, match="sentence_loss=none"):
            load_judge(tmp_path / "run")
        return
    judge = load_judge(tmp_path / "run")
    assert judge.tags_words == expected["tags"]


def test_an_alignment_judge_keeps_its_weights_apart_from_the_frozen_encoder(tmp_path: Path) -> None:
    options = [option for option in SMALL if not option.startswith(("encoder", "recipe"))]
    root = toy_divergences(tmp_path / "d.jsonl")
    overrides = ["recipe=divergence", "recipe/divergence/objective=margin_ce_tags", f"data.root={root}"]
    train(config("train", tmp_path, *overrides, *options, "trainer.max_epochs=1", "evaluator=none"))
    weights = state_of(tmp_path / "run/checkpoints/last.ckpt")
    assert sum(value.numel() for value in weights.values() if isinstance(value, torch.Tensor)) < 60_000
    judge = load_judge(tmp_path / "run")
    pair = WordPair(("one", "two"), ("un", "deux"))
    assert judge.judge([pair])[0].source is not None
    (judgement,) = load_judge(tmp_path / "run").judge([pair])
    assert judgement.score == judge.judge([pair])[0].score


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["data.items=contrastive", "data.sampling=balanced"], "sentence_loss=margin needs data.items=pairs"),
        (
            ["recipe/divergence/objective=ce", "recipe/divergence/sampling=balanced", "data.items=pairs"],
            "needs data.items=contrastive or",
        ),
        (["recipe.token_loss=words"], "recipe.token_loss=words: expected one of pairs, tokens, none"),
        (["recipe.sentence_loss=none", "recipe.token_loss=none"], "nothing to train"),
        (["recipe.margin=0"], "recipe.margin=0"),
        (["encoder=micro", "~encoder.max_length"], "needs a transformer"),
        (["evaluator=tatoeba", "evaluator.root=TATOEBA"], "scores vectors of sentences"),
    ],
)
def test_invalid_options_are_refused_before_training(
    data: list[str], tmp_path: Path, options: list[str], message: str
) -> None:
    options = [option.replace("TATOEBA", str(tatoeba(tmp_path))) for option in options]
    if options[0] == "evaluator=tatoeba":
        options.append("evaluator.languages=[deu]")
    common = [option for option in data if not (options[0] == "encoder=micro" and option.startswith("encoder"))]
    options = [option for option in options if not option.startswith("~")]
    with pytest.raises(ValueError, match=message):
        train(config("train", tmp_path, *common, *options, "trainer.max_epochs=1"))
