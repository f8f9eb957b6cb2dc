"""Synthetic language marking: what it adds to vectors, and where the language of a text comes from."""

from pathlib import Path

import pytest
import torch

from tests.helpers import config, toy_bitext, toy_overrides
from xsent.config_checks import UsageError
from xsent.data.readers.tatoeba import TestBitext
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.evaluation.evaluator import tell_languages
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.language_marking import LanguageMarkedEncoder, language_mark
from xsent.models.encoders.tiny import TinyEncoder
from xsent.run.config.compose import plain
from xsent.run.training import train
from xsent.similarity import unit

TEXTS = ["a cat", "ein Hund", "Taxi"]
LANGUAGES = {"a cat": ["eng"], "ein Hund": ["deu"], "Taxi": ["deu", "eng"]}


def tiny() -> TinyEncoder:
    return TinyEncoder(name="tiny", dim=8, buckets=512, max_length=64, seed=0)


def marked(alpha: float = 0.5, seed: int = 1) -> LanguageMarkedEncoder:
    encoder = LanguageMarkedEncoder(name="marked", base=tiny(), alpha=alpha, seed=seed)
    encoder.set_languages(LANGUAGES)
    return encoder


def test_a_mark_is_a_unit_vector_of_seed_and_language() -> None:
    mark = language_mark("deu", 256, seed=1)
    torch.testing.assert_close(mark.norm(), torch.tensor(1.0))
    assert torch.equal(mark, language_mark("deu", 256, seed=1))
    for other in (language_mark("eng", 256, seed=1), language_mark("deu", 256, seed=2)):
        assert abs(float(mark @ other)) < 0.3, "random directions: a standard deviation of 1/16"


def test_the_mark_is_added_to_vectors_of_length_one_and_that_of_two_languages_is_their_mean() -> None:
    eng, deu = (language_mark(code, 8, seed=1) for code in ("eng", "deu"))
    plain_vectors = unit(tiny().encode(TEXTS))
    expected = unit(plain_vectors + 0.5 * torch.stack([eng, deu, (eng + deu) / 2]))
    torch.testing.assert_close(marked().encode(TEXTS), expected)
    torch.testing.assert_close(marked().encode(TEXTS[1]), expected[1])


def test_a_text_without_tokens_keeps_the_zero_vector() -> None:
    encoder = marked()
    encoder.set_languages({"": ["eng"]})
    assert not encoder.encode([""]).any()


def test_an_unknown_language_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"^marked: the language of 'un chat' is not known.*language_marking=null"):
        marked().encode(["a cat", "un chat"])


def test_length_and_seed_of_the_marks_are_in_the_digest() -> None:
    digests = {tiny().digest(), *(marked(alpha, seed).digest() for alpha in (0.5, 1.0) for seed in (1, 2))}
    assert len(digests) == 5


def test_all_markings_share_the_stored_vectors(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path)
    for encoder in (tiny(), marked(0.5), marked(1.0, 2)):
        torch.testing.assert_close(torch.tensor(store.vectors(TEXTS, encoder)), encoder.encode(TEXTS))
    assert len([path for path in (tmp_path / "embeddings").iterdir() if path.is_dir()]) == 1


def test_test_sets_give_the_languages_to_the_encoder_below_the_heads() -> None:
    encoder = LanguageMarkedEncoder(name="marked", base=tiny(), alpha=0.5, seed=1)
    tell_languages(
        DisentangledEncoder(encoder, DisentanglingHeads(8, [])),
        [TestBitext("deu-eng", "deu", "eng", ["ein Hund", "Taxi"], ["a cat", "Taxi"])],
    )
    assert torch.equal(encoder.encode(TEXTS), marked().encode(TEXTS))


@pytest.mark.parametrize("alpha", ["null", "0", "0.0"])
def test_without_marks_the_config_is_that_of_the_encoder_itself(tmp_path: Path, alpha: str) -> None:
    overrides = toy_overrides(tmp_path, "recipe=dream")
    unmarked = plain(config("train", tmp_path, *overrides, f"encoder.language_marking={alpha}"))
    assert unmarked["encoder"] == plain(config("train", tmp_path, *overrides))["encoder"]
    assert "language_marking" not in unmarked["encoder"]


@pytest.mark.parametrize("value", ["-1", "true", "much"])
def test_a_wrong_length_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError, match=r"encoder\.language_marking=.*: expected a number of at least 0"):
        plain(config("train", tmp_path, *toy_overrides(tmp_path, "recipe=dream"), f"encoder.language_marking={value}"))


def test_a_recipe_that_trains_the_encoder_refuses_marks(tmp_path: Path) -> None:
    toy_bitext(tmp_path / "toy")
    overrides = toy_overrides(tmp_path / "toy", "recipe=labse", "encoder.language_marking=0.5")
    with pytest.raises(UsageError, match=r"encoder\.language_marking=0\.5: LabseRecipe trains the encoder"):
        train(config("train", tmp_path, *overrides))


def test_heads_are_trained_on_marked_vectors_and_the_run_says_so(tmp_path: Path) -> None:
    toy_bitext(tmp_path / "toy")
    options = ["recipe=dream", "encoder=tiny", "encoder.language_marking=0.5", "trainer.max_epochs=1"]
    options += ["trainer.enable_progress_bar=false", "pictures.min_seconds=0", "pictures.pairs_per_language=5"]
    train(config("train", tmp_path, *toy_overrides(tmp_path / "toy", *options)))
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("report.html")]
    assert pages
    assert all("tiny+synthetic-marking-0.5" in page for page in pages)
