"""recipe=transfer: terms by hand, parts that start frozen, exact resuming, refused options."""

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

import xsent
from tests.helpers import config, state_of, toy_bert, toy_bitext, toy_overrides
from xsent.config_checks import UsageError
from xsent.losses import Distillation, additive_margin_softmax, weighted_sum
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.lora import Lora
from xsent.recipes.transfer import TransferRecipe, check_sizes
from xsent.run import train

WORD_EMBEDDINGS = "encoder.transformer.embeddings.word_embeddings.weight"


def recipe(weights: dict[str, float], *, distance: str = "squared", **options: Any) -> TransferRecipe:
    settings: dict[str, Any] = {
        "encoder": TinyEncoder(name="tiny", dim=2, buckets=8, max_length=8, seed=0),
        "teacher": lambda: None,
        "pivot": "en",
        "loss": Distillation(distance=distance, reduction="sum_over_dim"),
        "ranking": partial(additive_margin_softmax, margin=0.5, scale=2.0),
        "weights": {"target": 0.0, "source": 0.0, "ranking": 0.0} | weights,
        "unfreeze_step": 0,
        "embedding_lr": None,
        "lora": Lora(rank=None, alpha=1, dropout=0, target_modules="all-linear", train_embeddings=False),
        "freeze": {"embeddings": "none", "layers": 0},
        "micro_batch_size": None,
        "tokenizer_sentences": 10,
        "optimizer": partial(torch.optim.SGD, lr=0.1),
        "scheduler": None,
    }
    return TransferRecipe(**(settings | options))


# Pairs 0 and 2 have one source sentence, so they are no negatives of each other.
TEACHER = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
GROUPS = torch.tensor([7, 8, 7])
STUDENT = {"source": 3 * TEACHER, "target": torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 3.0]])}


def test_the_terms_are_those_computed_by_hand() -> None:
    terms = recipe({"target": 1, "source": 1, "ranking": 1}).terms(STUDENT, TEACHER, GROUPS, rows=slice(0, 3))
    assert terms.target.item() == pytest.approx((0 + 1 + (1 + 9)) / 3)
    assert terms.source.item() == pytest.approx(4)
    # Cosines with the negatives: pair 0 has one of 0, pair 1 two of 0, pair 2 one of 1 while its own cosine is 0.
    losses = [math.log1p(math.exp(-1)), math.log1p(2 * math.exp(-1)), math.log1p(math.exp(3))]
    assert terms.ranking.item() == pytest.approx(sum(losses) / 3, rel=1e-6)
    cosine = recipe({"target": 1, "source": 1}, distance="cos").terms(STUDENT, TEACHER, GROUPS, rows=slice(0, 3))
    assert (cosine.target.item(), cosine.source.item()) == (pytest.approx(1 / 3), pytest.approx(0, abs=1e-6))


def test_the_mean_over_devices_is_the_value_of_one_device() -> None:
    distil = recipe({"target": 1, "source": 1, "ranking": 1})
    whole = distil.terms(STUDENT, TEACHER, GROUPS, rows=slice(0, 3))
    rows = [slice(row, row + 1) for row in range(3)]
    parts = [
        distil.terms({side: vectors[row] for side, vectors in STUDENT.items()}, TEACHER, GROUPS, rows=row)
        for row in rows
    ]
    for name, value in whole._asdict().items():
        torch.testing.assert_close(torch.stack([getattr(part, name) for part in parts]).mean(), value)


@pytest.mark.parametrize(("weight", "sides"), [("target", ["target"]), ("source", ["source"]), ("ranking", ["target"])])
def test_a_term_of_weight_0_needs_no_vectors(weight: str, sides: Sequence[str]) -> None:
    def fail(*args: Any, **options: Any) -> Tensor:
        raise AssertionError

    distil = recipe({weight: 1}, micro_batch_size=4, **({} if weight == "ranking" else {"ranking": fail}))
    assert distil.chunk_sentences == 4  # of a single side
    terms = distil.terms({side: STUDENT[side] for side in sides}, TEACHER, GROUPS, rows=slice(0, 3))
    assert [name for name, value in terms._asdict().items() if value] == [weight]


def test_gradient_caching_changes_neither_the_loss_nor_its_gradient(bert: Path) -> None:
    student = load_bert(bert)  # in evaluation mode: without dropout
    sides = [
        student.collate(student.tokenize(texts)) for texts in (["eak eal eam", "eal", "ean"], ["dak", "dal", "dan dao"])
    ]
    teacher, results = torch.nn.functional.pad(TEACHER, (0, 14)), []
    for micro_batch_size in (None, 1):
        distil = recipe({"target": 1, "source": 2, "ranking": 3}, encoder=student, micro_batch_size=micro_batch_size)
        vectors = dict(zip(("source", "target"), distil.embed_sides(*sides), strict=True))
        loss = weighted_sum(distil.terms(vectors, teacher, GROUPS, rows=slice(0, 3)), distil.weights)
        results.append([loss, *torch.autograd.grad(loss, list(student.parameters()), allow_unused=True)])
    for plain, cached in zip(*results, strict=True):
        assert (plain is None) == (cached is None)
        if plain is not None:
            torch.testing.assert_close(cached, plain, rtol=1e-4, atol=1e-5)


# ---- runs


@pytest.fixture(scope="module")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_bitext(tmp_path_factory.mktemp("bitext"), pairs=60)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_bert(tmp_path_factory.mktemp("bert"))


def overrides(bitext: Path, *options: str) -> list[str]:
    small = [
        "recipe=transfer",
        "recipe.teacher=micro",
        "data.global_batch_size=16",
        "evaluator=none",
        "score_before=false",
    ]
    quiet = ["trainer.enable_progress_bar=false", "trainer.max_epochs=1"]
    return toy_overrides(bitext, *small, *quiet, *options)


def load_bert(folder: Path) -> SentenceEncoder:
    options: dict[str, Any] = {
        "revision": None,
        "pooling": "mean",
        "projection": None,
        "prompt": "",
        "max_length": None,
    }
    options |= {"normalize": False, "trust_remote_code": False}
    return SentenceEncoder.load(name="toy", path=str(folder), **options)


def bert_options(bert: Path) -> list[str]:
    return ["encoder=mbert", f"encoder.path={bert}", "encoder.max_length=null", "encoder.projection=256"]


def weights_of(folder: Path) -> dict[str, Tensor]:
    state = state_of(folder / "run/checkpoints/last.ckpt")
    return {name: value for name, value in state.items() if isinstance(value, Tensor)}


def test_the_rest_is_frozen_until_its_step_and_a_resumed_run_unfreezes_at_the_same_one(
    bitext: Path, bert: Path, tmp_path: Path
) -> None:
    start = {f"encoder.transformer.{name}": value for name, value in load_file(bert / "model.safetensors").items()}
    options = overrides(
        bitext, *bert_options(bert), "recipe.unfreeze_step=3", "recipe.optimizer.lr=0.01", "recipe.scheduler=null"
    )
    options += [f"cache_dir={tmp_path / 'cache'}"]
    train(config("train", tmp_path / "killed", *options, "trainer.max_steps=3"))
    frozen = weights_of(tmp_path / "killed")
    changed = {name for name, value in start.items() if name in frozen and not torch.equal(frozen[name], value)}
    assert changed == {WORD_EMBEDDINGS}
    train(config("train", tmp_path / "killed", *options, "trainer.max_steps=5", "ckpt_path=last"))
    train(config("train", tmp_path / "unbroken", *options, "trainer.max_steps=5"))
    resumed, unbroken = weights_of(tmp_path / "killed"), weights_of(tmp_path / "unbroken")
    for name, value in unbroken.items():
        assert torch.equal(resumed[name], value), name
    query = "encoder.transformer.encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(unbroken[query], start[query])
    loaded: Any = xsent.load_encoder(tmp_path / "unbroken/run")
    assert loaded.encode(["eak"]).shape == (1, 256)


def test_the_word_embeddings_have_a_learning_rate_of_their_own(bitext: Path, bert: Path, tmp_path: Path) -> None:
    options = ["recipe.optimizer.lr=0", "recipe.embedding_lr=0.01", "recipe.weights.ranking=0.5", "trainer.max_steps=2"]
    options += ["trainer.precision=bf16-mixed"]
    train(config("train", tmp_path, *overrides(bitext, *bert_options(bert), *options, "recipe.unfreeze_step=null")))
    trained = weights_of(tmp_path)
    for name, value in load_file(bert / "model.safetensors").items():
        key = f"encoder.transformer.{name}"
        assert key not in trained or torch.equal(trained[key], value) == (key != WORD_EMBEDDINGS), name


def test_a_static_student_comes_near_the_teacher_on_both_sides(bitext: Path, tmp_path: Path) -> None:
    options = ["encoder=static", "encoder.dim=256", "encoder.vocab_size=300", "recipe.tokenizer_sentences=500"]
    options += ["recipe.loss.distance=cos", "recipe.optimizer.lr=0.05", "trainer.max_epochs=3", "logger=csv"]
    train(config("train", tmp_path, *overrides(bitext, *options, f"save_encoder={tmp_path / 'student'}")))
    rows = [line.split(",") for line in (tmp_path / "run/metrics.csv").read_text().splitlines()[1:]]
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(row[2], []).append(float(row[3]))
    for side in ("source", "target"):
        assert values[f"val/{side}_cosine"][-1] > 0.85  # random vectors of 256 numbers have a cosine of about 0
        # The distance is 1 - cosine.
        assert [1 - cosine for cosine in values[f"val/{side}_cosine"]] == pytest.approx(values[f"val/{side}"], abs=1e-5)
    assert "val/ranking" not in values
    assert json.loads((tmp_path / "run/metrics.json").read_text())["monitor"] == "val/loss"
    assert xsent.load_encoder(str(tmp_path / "student")).encode("eak").shape == (256,)


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["encoder=tiny"], r"teacher micro has vectors of size 256, student tiny of size 32; take encoder\.dim=256"),
        (["encoder=micro", "recipe.pivot=ita"], r"no pair has a side in ita, .*they have eng-(deu|fra|spa) \d\d, "),
    ],
)
def test_data_and_teachers_that_do_not_fit_are_refused_before_anything_is_embedded(
    bitext: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        train(config("train", tmp_path, *overrides(bitext, *options)))
    assert not list((tmp_path / "cache").glob("embeddings/*"))


def test_a_transformer_of_another_size_is_offered_a_projection(bert: Path) -> None:
    small = load_bert(bert)
    with pytest.raises(UsageError, match=r"size 2, student toy of size 16; encoder\.projection=2 adds a linear layer"):
        check_sizes(recipe({"target": 1}).encoder, small)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unfreeze_step": 5}, r"recipe\.unfreeze_step: encoder tiny has no trained part besides"),
        ({"unfreeze_step": -1}, r"recipe\.unfreeze_step=-1: expected an integer of at least 0"),
        ({"embedding_lr": 0}, r"recipe\.embedding_lr=0: expected a number above 0"),
        ({"pivot": "xx1"}, r"recipe\.pivot: "),
        ({"target": -1}, r"recipe\.weights=.*expected numbers of 0 and more"),
        ({"target": 0}, r"recipe\.weights=.*one of them above 0"),
        ({"clean": 1}, r"weights name \['clean', .* the loss has \['ranking', 'source', 'target'\]"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipe({name: options.pop(name) for name in ("target", "clean") if name in options} or {"target": 1}, **options)


@pytest.mark.parametrize("option", ["unfreeze_step", "embedding_lr"])
def test_word_embeddings_that_are_frozen_cannot_be_trained_alone(bert: Path, option: str) -> None:
    frozen = {"embeddings": "word", "layers": 0}
    with pytest.raises(UsageError, match=rf"recipe\.{option} trains the word embeddings, and recipe\.freeze or"):
        recipe({"target": 1}, encoder=load_bert(bert), freeze=frozen, **{option: 5})
