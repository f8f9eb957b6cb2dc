"""Small runs of recipe=rolaser: the student learns, checkpoints hold no teacher, invalid options are refused."""

import json
import math
import shutil
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import xsent
from tests.helpers import config, state_of, toy_bert, toy_sentences
from xsent.losses import additive_margin_softmax
from xsent.models.encoders.static import StaticEncoder
from xsent.run import evaluate, train

SMALL = [
    "recipe=rolaser",
    "recipe.teacher=micro",
    "data.global_batch_size=32",
    "data.valid_share=0.1",
    "data.test_share=0.2",
    "data.noise.selection=0.4",
    "recipe.scheduler.warmup_steps=1",
    "pictures.pairs_per_language=0",
    "logger=none",
    "trainer.enable_progress_bar=false",
    "trainer.log_every_n_steps=1",
]
# A student of hashed words and trigrams, of the teacher's size.
TINY = [
    "encoder=tiny",
    "encoder.dim=256",
    "recipe.projection=null",
    "recipe.preprocessing=none",
    "recipe.optimizer.lr=0.05",
]


def overrides(root: Path, *options: str) -> list[str]:
    return [*SMALL, f"data.root={root}", *options]


def bert(tmp_path: Path) -> list[str]:
    return ["encoder=mbert", f"encoder.path={toy_bert(tmp_path / 'bert')}", "encoder.max_length=null"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_sentences(tmp_path_factory.mktemp("clean"))


@pytest.fixture(scope="module")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_sentences(tmp_path_factory.mktemp("fewer"), sentences=160)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("run")
    train(
        config(
            "train",
            tmp_path,
            *overrides(
                data,
                *TINY,
                "trainer.max_epochs=15",
                "logger=csv",
                "pictures.pairs_per_language=20",
                "pictures.min_seconds=0",
            ),
        )
    )
    return tmp_path / "run"


def logged(run: Path, name: str) -> list[float]:
    rows = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()[1:]]
    return [float(row[3]) for row in rows if row[2] == name]


def test_the_student_comes_near_the_teacher_on_both_sides(run: Path) -> None:
    # The squared distance of unrelated vectors of length one is about 2.
    for term in ("val/standard", "val/noisy"):
        first, *_, last = logged(run, term)
        assert last < 0.4 * first
    assert logged(run, "val/loss") == pytest.approx(
        [a + b for a, b in zip(logged(run, "val/standard"), logged(run, "val/noisy"), strict=True)]
    )


def test_held_out_noise_is_evaluated_at_the_end(run: Path) -> None:
    metrics: dict[str, float] = json.loads((run / "metrics.json").read_text())["metrics"]
    assert 0 < metrics["test/ugc/original/mix_all/cosine_distance"] < 0.3
    assert metrics["test/ugc/original/mix_all/xsim"] < 30
    assert not [name for name in metrics if "teacher" in name]
    assert list((run / "pictures").glob("*.png"))


def test_a_checkpoint_has_the_teachers_digest_and_none_of_its_weights(run: Path) -> None:
    from xsent.checkpoint import load_checkpoint

    checkpoint = load_checkpoint(run / "checkpoints/best.ckpt")
    assert checkpoint["xsent"]["teacher"] == StaticEncoder.load(name="micro", path=None).digest()
    assert list(checkpoint["state_dict"]) == ["encoder.vectors"]


class BertRuns(NamedTuple):
    """Two runs with the same seed and a micro-batch size of 8, whose teacher's files were then deleted."""

    folders: tuple[Path, Path]
    micro_batch_sizes: list[int]  # of every forward in training


@pytest.fixture(scope="module")
def bert_runs(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> BertRuns:
    from xsent.models.encoders.transformer import SentenceEncoder

    tmp_path = tmp_path_factory.mktemp("bert")
    sizes: list[int] = []
    embed_ids = SentenceEncoder.embed_ids

    def record_size(self: SentenceEncoder, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        if self.training:
            sizes.append(len(lengths))
        return embed_ids(self, ids, lengths)

    teacher = tmp_path / "micro"
    StaticEncoder.load(name="micro", path=None).save(teacher)
    options = [
        *bert(tmp_path),
        f"recipe.teacher_path={teacher}",
        "recipe.micro_batch_size=8",
        "data.redraw=true",
        "trainer.max_epochs=1",
        "evaluator=none",
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SentenceEncoder, "embed_ids", record_size)
        for name in ("a", "b"):
            train(config("train", tmp_path / name, *overrides(small_data, *options)))
    shutil.rmtree(teacher)
    return BertRuns((tmp_path / "a/run", tmp_path / "b/run"), sizes)


def test_a_run_is_used_without_its_teacher(bert_runs: BertRuns) -> None:
    run = bert_runs.folders[0]
    loaded: Any = xsent.load_encoder(run)
    assert loaded.encode(["some sentence"]).shape == (1, 256)
    state = state_of(run / "checkpoints/best.ckpt")
    assert torch.equal(loaded.token_projection.weight, state["encoder.token_projection.weight"])
    assert loaded.pooling == ("max",)


def test_the_same_seed_gives_the_same_bits(bert_runs: BertRuns) -> None:
    first, second = (state_of(run / "checkpoints/last.ckpt") for run in bert_runs.folders)
    for name, value in first.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(second[name], value), name


def test_a_micro_batch_is_a_number_of_sentences(bert_runs: BertRuns) -> None:
    assert max(bert_runs.micro_batch_sizes) == 8


def test_a_run_cannot_be_resumed_with_another_teacher(small_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "micro"
    teacher = StaticEncoder.load(name="micro", path=None)
    teacher.save(folder)
    options = overrides(small_data, *TINY, f"recipe.teacher_path={folder}", "evaluator=none")
    train(config("train", tmp_path, *options, "trainer.max_epochs=1"))
    teacher.vectors.data[100] += 1
    teacher.save(folder)
    cached = sorted((tmp_path / "cache").rglob("*"))
    with pytest.raises(ValueError, match="had a teacher with digest"):
        train(config("train", tmp_path, *options, "trainer.max_epochs=2", "ckpt_path=last"))
    assert sorted((tmp_path / "cache").rglob("*")) == cached  # nothing was embedded before


def test_the_clean_term_teaches_what_no_noisy_sentence_shows(data: Path, tmp_path: Path) -> None:
    # Half of the letters are wrong: few words are left that could be learned from the noisy side.
    distances = {}
    for weight in (0, 1):
        noise = ["data.noise.transform=fing", "data.noise.parameters.fing.probability=0.5"]
        options = [*TINY, *noise, f"recipe.weights.clean={weight}", "trainer.max_epochs=5", "logger=csv"]
        train(config("train", tmp_path / str(weight), *overrides(data, *options, "evaluator=none")))
        distances[weight] = logged(tmp_path / str(weight) / "run", "val/standard")[-1]
        assert (logged(tmp_path / str(weight) / "run", "train/clean")[-1] > 0) == bool(weight)
    assert distances[1] < 0.85 * distances[0]


def test_the_ranking_term_alone_finds_the_teachers_vectors(data: Path, tmp_path: Path) -> None:
    weights = ["recipe.weights.noisy=0", "recipe.weights.ranking=1"]
    options = [*TINY, *weights, "data.noise.transform=social", "trainer.max_epochs=3", "logger=csv", "evaluator=none"]
    train(config("train", tmp_path, *overrides(data, *options)))
    first, *_, last = logged(tmp_path / "run", "train/ranking")
    assert last < 0.5 * first
    assert logged(tmp_path / "run", "train/loss")[-1] == last
    assert logged(tmp_path / "run", "train/noisy")[-1] == 0


def test_the_ranking_term_is_that_of_all_teacher_vectors_by_paper_and_pencil() -> None:
    # Four orthogonal sentences, the last two of one text: two negatives for the first, one for the third.
    from tests.recipes.test_transfer import recipe

    eye, groups = torch.eye(4), torch.tensor([0, 1, 2, 2])
    distil = recipe({"ranking": 1}, ranking=partial(additive_margin_softmax, margin=0.0, scale=2.0))
    e = math.exp(2)
    first, third = math.log((e + 3) / e), math.log((e + 2) / e)
    whole = distil.rank(eye, eye, groups, rows=slice(0, 4))
    torch.testing.assert_close(whole, torch.tensor((first + third) / 2))
    torch.testing.assert_close(distil.rank(eye[2:], eye, groups, rows=slice(2, 4)), torch.tensor(third))


@pytest.mark.slow
@pytest.mark.parametrize("distillation", ["mse", "mse_sum", "mse_mean", "cos", "snr", "contrast"])
def test_every_distance_can_be_trained_with(data: Path, tmp_path: Path, distillation: str) -> None:
    options = [
        *TINY,
        f"recipe/rolaser/distillation={distillation}",
        "trainer.max_epochs=2",
        "logger=csv",
        "evaluator=none",
    ]
    train(config("train", tmp_path, *overrides(data, *options)))
    first, *_, last = logged(tmp_path / "run", "train/loss")
    assert last < first
    # val/loss uses the distance of the training loss; the checkpoint is chosen by it.
    before, after = logged(tmp_path / "run", "val/loss")
    assert after < before
    if distillation == "cos":
        assert 0 < after < 2 * 2  # two sides, 1 - cosine each


def test_evaluate_compares_a_run_with_its_teacher(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rocs"
    folder.mkdir()
    (folder / "RoCS-MT.src.raw-manseg.en").write_text("helo wrld\nthis iz fun\nnothing els\n")
    (folder / "RoCS-MT.src.norm-manseg.en").write_text("hello world\nthis is fun\nnothing else\n")
    options = [
        "evaluator=ugc",
        f"evaluator.read.rocsmt={folder}",
        "evaluator.teacher=micro",
        "evaluator.picture_line=1",
    ]
    metrics = evaluate(config("evaluate", tmp_path, f"ckpt={run}", *options))
    micro, student = StaticEncoder.load(name="micro", path=None), xsent.load_encoder(run)
    noisy, standard = ((folder / f"RoCS-MT.src.{kind}-manseg.en").read_text().splitlines() for kind in ("raw", "norm"))

    def distance(a: torch.Tensor, b: torch.Tensor) -> float:
        return float((1 - (a * b).sum(dim=1)).mean())  # both encoders give vectors of length one

    ours = {name: metrics[f"test/ugc/original/rocsmt/{name}"] for name in ("drift", "teacher_cosine_distance")}
    assert ours["drift"] == pytest.approx(distance(student.encode(standard), micro.encode(standard)), abs=1e-5)
    expected = distance(micro.encode(noisy), micro.encode(standard))
    assert ours["teacher_cosine_distance"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["encoder=tiny"], r"recipe\.projection: encoder tiny has no token embeddings"),
        (["encoder=tiny", "recipe.projection=null"], r"recipe\.preprocessing=laser: encoder tiny"),
        (
            ["encoder=tiny", "recipe.projection=null", "recipe.preprocessing=none"],
            r"teacher micro has vectors of size 256, student tiny of size 32",
        ),
        (["recipe.teacher=minni"], r"teacher=minni: expected one of .*micro"),
        (["recipe.teacher=null"], r"teacher=null: expected the name of a file of conf/encoder"),
        (["recipe.teacher=static_characters"], r"teacher=static_characters: its vectors are random"),
        (["evaluator.teacher_path=/x"], r"teacher=null: expected the name"),
        (["recipe.teacher=tiny", "recipe.teacher_path=/x"], r"teacher_path=/x: encoder tiny is not read from files"),
        (["recipe.projection.pooling=cls"], r"recipe\.projection=\{'pooling': 'cls'\}: expected pooling, one of max"),
        ([*TINY, "recipe.weights.noisy=-1"], r"recipe\.weights=.*expected numbers of 0 and more"),
        ([*TINY, "evaluator.read.sentences=0"], r"evaluator\.read\.sentences=0: expected at least 1"),
        ([*TINY, "data.test_share=0"], r"evaluator=ugc_heldout: the test split is empty; .*data\.test_share"),
        ([*TINY, "recipe.loss.distance=l1"], r"recipe\.loss\.distance=l1"),
        ([*TINY, "recipe.weights.noisy=0"], r"recipe\.weights=.*one of them above 0"),
        ([*TINY, "data=cldr"], r"RolaserRecipe trains on clean sentences"),
    ],
)
def test_invalid_options_are_refused(data: Path, tmp_path: Path, options: list[str], message: str) -> None:
    root = [] if "data=cldr" in options else [f"data.root={data}"]
    small = [option for option in SMALL if root or not option.startswith("data.")]
    with pytest.raises(ValueError, match=message):
        train(config("train", tmp_path, *small, *root, *options))
    assert not list((tmp_path / "cache").glob("embeddings/*"))


def test_a_teacher_of_another_size_is_refused_before_training(
    data: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xsent.models.encoders.tiny import TinyEncoder

    folder = tmp_path / "rocs"
    folder.mkdir()
    for kind in ("raw", "norm"):
        (folder / f"RoCS-MT.src.{kind}-manseg.en").write_text("hello\nworld\n")
    small = StaticEncoder(name="s", dim=8, vocab_size=30, coverage=1.0, lowercase=True, max_length=9, std=1.0, seed=0)
    small.fit_tokenizer(["some text with letters", "and words", "to be cut"])
    small.save(tmp_path / "small")
    options = [
        "evaluator=ugc",
        f"evaluator.read.rocsmt={folder}",
        "evaluator.teacher=micro",
        "evaluator.picture_set=null",
        f"evaluator.teacher_path={tmp_path / 'small'}",
    ]
    monkeypatch.setattr(TinyEncoder, "encode", None)  # nothing is encoded
    with pytest.raises(ValueError, match=r"the encoder's vectors have 256 numbers, the teacher's 8"):
        evaluate(config("evaluate", tmp_path, f"ckpt={run}", *options))
    with pytest.raises(ValueError, match=r"the encoder's vectors have 256 numbers, the teacher's 8"):
        train(config("train", tmp_path / "again", *overrides(data, *TINY, *options)))
