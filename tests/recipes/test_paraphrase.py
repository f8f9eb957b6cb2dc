"""Small runs of recipe=paraphrase: learning, mining, frozen weights; invalid options are refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import xsent
from tests.helpers import config, state_of, toy_bert, toy_bitext, toy_labelled, toy_overrides
from xsent.models.encoders.tiny import TinyEncoder
from xsent.recipes.paraphrase import ParaphraseRecipe
from xsent.run import build, evaluate, train
from xsent.run.config.compose import plain

SMALL = [
    "recipe=paraphrase",
    "data=labelled",
    "data.global_batch_size=16",
    "data.valid_share=0.2",
    "data.test_share=0.2",
    "pictures=null",
    "logger=none",
    "trainer.enable_progress_bar=false",
]
PAIR_LOSSES = [f"recipe/paraphrase/loss={name}" for name in ("cosent", "contrastive", "online_contrastive")]
TINY = ["encoder=tiny", "recipe.freeze.embeddings=none", "recipe.optimizer.lr=0.05"]


def overrides(root: Path, *options: str) -> list[str]:
    without = {*PAIR_LOSSES, *(f"recipe/paraphrase/mining={name}" for name in ("none", "in_batch"))}
    mega_batch = ["recipe.mining.mini_batches=2"] if without.isdisjoint(options) else []
    return [*SMALL, f"data.root={root}", *mega_batch, *options]


def bert_encoder(tmp_path: Path) -> list[str]:
    return ["encoder=mbert", f"encoder.path={toy_bert(tmp_path / 'bert')}", "encoder.max_length=null"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_labelled(tmp_path_factory.mktemp("labelled"))


@pytest.fixture(scope="module")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_labelled(tmp_path_factory.mktemp("fewer"), groups=120)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("run")
    train(config("train", tmp_path, *overrides(data, *TINY, "trainer.max_epochs=8", "logger=csv")))
    return tmp_path / "run"


def test_it_learns_to_tell_paraphrases_from_near_misses(run: Path) -> None:
    metrics: dict[str, float] = json.loads((run / "metrics.json").read_text())["metrics"]
    # Negatives differ in one word of four; a random encoder cannot recognise them.
    assert metrics["test/labelled/original/overall/accuracy"] > 85


@pytest.mark.parametrize(
    "loss", [PAIR_LOSSES[0], *(pytest.param(loss, marks=pytest.mark.slow) for loss in PAIR_LOSSES[1:])]
)
def test_a_loss_of_labelled_pairs_learns_to_tell_them(data: Path, tmp_path: Path, loss: str) -> None:
    options = [loss, "recipe.matryoshka=[32,16]", "recipe.micro_batch_size=4", "trainer.max_epochs=8"]
    train(config("train", tmp_path, *overrides(data, *TINY, *options)))
    metrics: dict[str, float] = json.loads((tmp_path / "run/metrics.json").read_text())["metrics"]
    assert metrics["test/labelled/original/overall/accuracy"] > 65  # three standard errors above chance


def test_mining_is_logged_once_per_mega_batch(run: Path) -> None:
    rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()[1:]]
    about = json.loads((run / "metrics.json").read_text())
    steps = about["batches"] // about["epochs"]
    for name in ("mined_per_anchor", "mined_similarity", "suspected_false_negatives", "mining_seconds"):
        logged = [row for row in rows if row[2] == f"train/{name}"]
        assert [int(row[0]) for row in logged] == [
            epoch * steps + first for epoch in range(about["epochs"]) for first in range(0, steps, 2)
        ]
        if name == "mined_per_anchor":
            assert all(float(row[3]) == 1.0 for row in logged)  # the nearest one of each anchor


def record_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> list[dict[str, Any]]:
    """Rows, mined negatives, random state and dropout modes of each training step."""
    steps: list[dict[str, Any]] = []
    compare = ParaphraseRecipe._compare

    def record(self: ParaphraseRecipe, batch: Any, mined: Any, *, own_pairs: bool) -> torch.Tensor:
        if own_pairs:
            state = {"rows": batch.pairs.row.tolist(), "mined": mined, "rng": torch.get_rng_state()}
            modes = [module.training for module in self.encoder.modules() if isinstance(module, torch.nn.Dropout)]
            steps.append({**state, "dropout": modes})
        return compare(self, batch, mined, own_pairs=own_pairs)

    monkeypatch.setattr(ParaphraseRecipe, "_compare", record)
    train(config("train", tmp_path, *options))
    monkeypatch.undo()
    return steps


def test_mini_batches_keep_their_composition_and_the_dropout_its_masks(
    small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = [*bert_encoder(tmp_path), "recipe.optimizer.lr=0", "trainer.max_epochs=1"]
    with_mining = record_steps(tmp_path / "a", monkeypatch, *overrides(small_data, *common))
    without = record_steps(
        tmp_path / "b", monkeypatch, *overrides(small_data, *common, "recipe/paraphrase/mining=none")
    )
    assert [step["rows"] for step in with_mining] == [step["rows"] for step in without]
    assert all(step["dropout"] and all(step["dropout"]) for step in with_mining)
    # Mining itself draws nothing: until the first step, which encodes more sentences, the generators agree.
    assert torch.equal(with_mining[0]["rng"], without[0]["rng"])
    assert with_mining[0]["mined"] is not None
    assert with_mining[0]["mined"] is with_mining[1]["mined"] is not with_mining[2]["mined"]


def test_nothing_is_mined_from_the_anchors_own_group(
    small_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = overrides(
        small_data,
        *TINY,
        "trainer.max_epochs=1",
        "recipe/paraphrase/mining=both",
        "recipe.mining.threshold=0.0",
        "recipe.matryoshka=[32,8]",
    )
    steps = record_steps(tmp_path, monkeypatch, *options)
    module = build(plain(config("train", tmp_path, *options))["data"], "data")
    module.read()
    for step in steps:
        mined = step["mined"]
        batch = module.ranking_batch(mined.row.numpy(), 0)
        assert (module.text_group[batch.anchor] != module.text_group[mined.text]).all()


@pytest.fixture(scope="module")
def bert_folder(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the toy BERT (``run``) and the BERT itself (``bert``)."""
    tmp_path = tmp_path_factory.mktemp("bert")
    train(config("train", tmp_path, *overrides(small_data, *bert_encoder(tmp_path), "trainer.max_epochs=1")))
    return tmp_path


def test_frozen_weights_are_in_no_checkpoint_and_do_not_move(bert_folder: Path) -> None:
    state = state_of(bert_folder / "run/checkpoints/last.ckpt")
    table = "encoder.transformer.embeddings.word_embeddings.weight"
    assert table not in state
    assert "encoder.transformer.embeddings.position_embeddings.weight" in state
    loaded: Any = xsent.load_encoder(bert_folder / "run/checkpoints/last.ckpt")
    before = load_file(bert_folder / "bert/model.safetensors")
    assert torch.equal(
        loaded.transformer.embeddings.word_embeddings.weight, before["embeddings.word_embeddings.weight"]
    )
    moved = "encoder.layer.0.output.dense.weight"
    assert not torch.equal(loaded.state_dict()[f"transformer.{moved}"], before[moved])
    assert torch.equal(loaded.state_dict()[f"transformer.{moved}"], state[f"encoder.transformer.{moved}"])


def test_a_checkpoint_is_refused_by_another_base_model(bert_folder: Path) -> None:
    model = bert_folder / "bert/model.safetensors"
    original = model.read_bytes()
    weights = load_file(model)
    weights["embeddings.word_embeddings.weight"][7] += 1
    save_file(weights, model, metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"trained on top of frozen weights with digest .* another base model"):
        xsent.load_encoder(bert_folder / "run")
    model.write_bytes(original)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["recipe.mining.mini_batches=50"], r"recipe\.mining\.mini_batches=50"),
        (["evaluator=none"], r"callbacks\.checkpoints\.monitor=.*no evaluator of this run is named labelled"),
        (["recipe.loss.margin=2"], r"margin"),
        (["recipe.loss.scale=0"], r"scale"),
        (["recipe.micro_batch_size=0"], r"recipe\.micro_batch_size=0"),
        (["recipe.mining.threshold=1.5", "recipe.mining.mode=threshold"], r"recipe\.mining\.threshold=1\.5"),
        (["encoder=micro", "recipe.freeze.embeddings=word"], r"recipe\.freeze\.embeddings=none"),
        (["data.own_negatives=-1"], r"own_negatives"),
        (["evaluate_every_n_epochs=2"], r"evaluate_every_n_epochs=2 must be 1"),
        (
            ["callbacks.checkpoints.monitor=val/labelled/original/trained/accuracy"],
            r"expected one of .*val/labelled/original/",
        ),
        (["recipe/paraphrase/loss=in_batch"], r"recipe\.loss\.gamma=0 gives .* add recipe/paraphrase/mining=in_batch"),
        (
            ["recipe/paraphrase/loss=mega_batch_margin", "recipe/paraphrase/mining=none", "data.own_negatives=0"],
            r"MegaBatchMargin needs hard negatives",
        ),
        (["recipe/paraphrase/loss=cosent", "recipe/paraphrase/mining=top_n"], r"CoSent .* uses no mined negatives"),
        (
            ["recipe/paraphrase/loss=contrastive", "data.form=ranking"],
            r"data\.form=ranking: Contrastive .*form=pairs",
        ),
        (["data.form=pairs", "data.own_negatives=0", "data.unpaired=drop"], r"data\.form=pairs: AdditiveMarginScale"),
        (["recipe/paraphrase/loss=contrastive", "recipe.loss.margin=0"], r"recipe\.loss\.margin=0: .*at most 2"),
        (["recipe/paraphrase/loss=cosent", "recipe.loss.scale=0"], r"recipe\.loss\.scale=0: .*above 0"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_invalid_options_are_refused(data: Path, tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        train(config("train", tmp_path, *overrides(data, *TINY, *options)))
    assert not (tmp_path / "run/checkpoints").exists()


def test_a_threshold_that_leaves_no_negative_is_an_error_before_the_first_step(data: Path, tmp_path: Path) -> None:
    options = ["recipe/paraphrase/mining=threshold", "recipe.mining.threshold=0.9999"]
    with pytest.raises(ValueError, match=r"recipe\.mining\.threshold=0\.9999"):
        train(config("train", tmp_path, *overrides(data, *TINY, *options)))
    assert not (tmp_path / "run/checkpoints").exists()


def test_translation_pairs_and_labelled_pairs_are_not_taken_for_each_other(data: Path, tmp_path: Path) -> None:
    bitext = toy_bitext(tmp_path / "data", pairs=60)
    with pytest.raises(ValueError, match="LabseRecipe trains on translation pairs, data=labelled holds labelled pairs"):
        train(config("train", tmp_path, "recipe=labse", "data=labelled", f"data.root={data}", "encoder=tiny"))
    with pytest.raises(ValueError, match="ParaphraseRecipe trains on labelled pairs, data=bitext holds translation"):
        train(config("train", tmp_path, "recipe=paraphrase", *toy_overrides(bitext), "encoder=tiny"))


MINING_OF_LOSS = {
    "paper_literal": "top_n",
    "paper_printed": "top_n",
    "ams_all": "both",
    "ams_others": "algorithm1",
    "in_batch": "in_batch",
    "additive_margin": "in_batch",
    "ams": "threshold",
    "mega_batch_margin": "wieting",
}


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "mining"), MINING_OF_LOSS.items())
def test_every_loss_and_every_kind_of_mining_train(small_data: Path, tmp_path: Path, loss: str, mining: str) -> None:
    choices = [f"recipe/paraphrase/loss={loss}", f"recipe/paraphrase/mining={mining}"]
    options = overrides(small_data, *TINY, "trainer.max_epochs=1", *choices)
    train(config("train", tmp_path, *options))
    moved = state_of(tmp_path / "run/checkpoints/last.ckpt")["encoder.vectors"]
    start = TinyEncoder(name="tiny", dim=32, buckets=4096, max_length=128, seed=0).vectors
    assert torch.isfinite(moved).all()
    assert not torch.equal(moved, start)


def test_clipping_in_mixed_precision_needs_an_optimizer_that_lightning_can_clip(
    small_data: Path, tmp_path: Path
) -> None:
    options = overrides(small_data, *TINY, "trainer.gradient_clip_val=1.0", "trainer.precision=bf16-mixed")
    with pytest.raises(ValueError, match=r"needs recipe\.optimizer\.fused=false"):
        train(config("train", tmp_path, *options))
    train(config("train", tmp_path, *options, "recipe.optimizer.fused=false", "trainer.max_epochs=1"))


def test_an_evaluator_with_other_held_out_shares_than_the_run_is_refused(small_data: Path, tmp_path: Path) -> None:
    train(config("train", tmp_path, *overrides(small_data, *TINY, "trainer.max_epochs=1")))
    ckpt = [f"ckpt={tmp_path / 'run'}", "evaluator=labelled", f"evaluator.root={small_data}"]
    with pytest.raises(ValueError, match=r"evaluator\.read\.valid_share=0\.1: the run held out data\.valid_share=0\.2"):
        evaluate(config("evaluate", tmp_path / "other", *ckpt))
    shares = ["evaluator.read.valid_share=0.2", "evaluator.read.test_share=0.2"]
    metrics = evaluate(config("evaluate", tmp_path / "same", *ckpt, *shares))
    expected = json.loads((tmp_path / "run/metrics.json").read_text())["metrics"]
    assert metrics == pytest.approx(expected)


def test_a_run_is_not_resumed_with_other_data(tmp_path: Path) -> None:
    root = toy_labelled(tmp_path / "data", groups=120)
    options = overrides(root, *TINY, "trainer.max_epochs=1")
    train(config("train", tmp_path, *options))
    lines = (root / "train.tsv").read_text().splitlines()
    (root / "train.tsv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    with pytest.raises(ValueError, match="the data differ from those of the run to resume, or their order does"):
        train(config("train", tmp_path, *options, "ckpt_path=last", "trainer.max_epochs=2"))
