"""Language probe: accuracy with and without information on the language, and the split."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.tatoeba import TestBitext
from xsent.evaluation.similarity.language_probe import LanguageProbeEvaluator, split_by_translation

LANGUAGES = ("deu", "fra", "jpn")


def bitexts(pairs: int = 120) -> list[TestBitext]:
    """Three languages with the same English sentences, as in FLORES, and one text of two languages."""
    english = [f"eng {i}" for i in range(pairs)]
    result = [
        TestBitext(f"{lang}-eng", lang, "eng", [f"{lang} {i}" for i in range(pairs)], english) for lang in LANGUAGES
    ]
    result.append(TestBitext("deu-fra", "deu", "fra", ["Restaurant"], ["Restaurant"]))
    return result


OPTIONS = {"inverse_regularization": 1.0, "hidden": 32, "max_iter": 1000}
make_evaluator = builder(LanguageProbeEvaluator, name="probe", test_share=0.25, classifier="linear", seed=1, **OPTIONS)
make_perceptron = builder(LanguageProbeEvaluator, name="probe", test_share=0.25, classifier="mlp", seed=1, **OPTIONS)


def one_hot(sentences: list[str]) -> Tensor:
    codes = (*LANGUAGES, "eng")
    return torch.stack(
        [torch.eye(4)[codes.index(text[:3])] if text[:3] in codes else torch.zeros(4) for text in sentences]
    )


def test_vectors_of_the_language_are_classified_without_error() -> None:
    metrics = make_evaluator(*bitexts())(one_hot)
    assert metrics["probe/mean/accuracy"] == 100
    assert metrics["probe/mean/chance"] == 25
    assert {metrics[f"probe/{lang}/recall"] for lang in (*LANGUAGES, "eng")} == {100}


def noise(sentences: list[str]) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(len(sentences), 8)


def meaning(sentences: list[str]) -> Tensor:
    """Equal vectors of translations. If a split separated them, the probe would have seen each held-out vector."""
    torch.manual_seed(0)
    table = torch.randn(400, 16)
    return torch.stack([table[int(text.split()[1])] if " " in text else table[0] for text in sentences])


@pytest.mark.parametrize("encode", [noise, meaning])
def test_vectors_without_the_language_are_classified_at_chance(encode: Any) -> None:
    # 400 held-out sentences at 25 %: a standard error of 2.2.
    metrics = make_evaluator(*bitexts(400))(encode)
    assert metrics["probe/mean/accuracy"] == pytest.approx(25, abs=8)


def test_sentences_linked_by_translation_are_in_one_part_and_those_of_two_languages_in_none() -> None:
    train, test = split_by_translation(bitexts(), test_share=0.25, seed=0)
    numbers = [{int(text.split()[1]) for text in part.texts} for part in (train, test)]
    assert not numbers[0] & numbers[1]
    assert numbers[0] | numbers[1] == set(range(120))
    assert len(test.texts) == 30 * 4
    assert "Restaurant" not in train.texts + test.texts


def test_no_language_has_more_sentences_than_the_median_one() -> None:
    # English has 300 sentences, 100 in each set; the other languages have 100.
    sets = [
        TestBitext(
            f"{lang}-eng", lang, "eng", [f"{lang} {i}" for i in range(100)], [f"to {lang} {i}" for i in range(100)]
        )
        for lang in LANGUAGES
    ]
    for part, limit in zip(split_by_translation(sets, test_share=0.2, seed=3), (100, 40), strict=True):
        sizes = Counter(part.languages)
        smaller = sorted(sizes[lang] for lang in LANGUAGES)
        assert sizes["eng"] <= smaller[-1] <= limit


def test_a_group_above_the_test_share_is_not_held_out() -> None:
    # All sentences are linked by one English sentence.
    chain = [TestBitext("deu-eng", "deu", "eng", [f"deu {i}" for i in range(50)], ["same"] * 50)]
    _, test = split_by_translation(chain, test_share=0.2, seed=0)
    assert not test.texts
    with pytest.raises(ValueError, match=r"each in both parts, found deu, eng to learn from and  held out"):
        make_evaluator(*chain).check()


def test_the_split_depends_on_the_seed() -> None:
    first, again, reseeded = (split_by_translation(bitexts(), test_share=0.25, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != reseeded


def test_too_few_iterations_cause_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    torch.manual_seed(0)
    evaluator = make_evaluator(*bitexts(), max_iter=1)
    result = evaluator.score(torch.randn(len(evaluator.sentences()), 32))
    assert "did not converge in 1 iterations" in caplog.text
    assert {row["converged"] for row in result.details} == {False}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_that_leaves_a_part_empty_is_an_error(share: float) -> None:
    with pytest.raises(ValueError, match=f"evaluator.test_share={share}"):
        make_evaluator(*bitexts(), test_share=share)


def parity(sentences: list[str]) -> Tensor:
    """German and French have opposite parities of two signs, which no linear classifier tells apart."""
    torch.manual_seed(0)
    first = torch.randint(2, (len(sentences),)) * 2.0 - 1
    side = torch.tensor([1.0 if text.startswith("deu") else -1.0 for text in sentences])
    return torch.stack([first, first * side], dim=1) + 0.1 * torch.randn(len(sentences), 2)


def test_a_hidden_layer_finds_what_a_linear_classifier_does_not() -> None:
    pairs = [TestBitext("deu-fra", "deu", "fra", [f"deu {i}" for i in range(400)], [f"fra {i}" for i in range(400)])]
    linear, perceptron = (make(*pairs)(parity)["probe/mean/accuracy"] for make in (make_evaluator, make_perceptron))
    assert linear < 65, "200 held-out sentences at 50 %: a standard error of 3.5"
    assert perceptron > 95
