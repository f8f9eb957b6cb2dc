"""The language probe: what it must find, what it must not find, and a split that keeps translations together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.data.tatoeba import TestBitext
from xsent.evaluation.probe import LanguageProbeEvaluator, split_by_translation

LANGUAGES = ("deu", "fra", "jpn")


def bitexts(pairs: int = 120) -> list[TestBitext]:
    """Three languages against the same English sentences, as in FLORES, and one text of two languages."""
    english = [f"eng {i}" for i in range(pairs)]
    found = [
        TestBitext(f"{lang}-eng", lang, "eng", [f"{lang} {i}" for i in range(pairs)], english) for lang in LANGUAGES
    ]
    found.append(TestBitext("deu-fra", "deu", "fra", ["Restaurant"], ["Restaurant"]))
    return found


def evaluator(sets: list[TestBitext], **changes: Any) -> LanguageProbeEvaluator:
    options: dict[str, Any] = {
        "name": "probe", "root": None, "languages": None, "read": lambda root, languages: sets, "missing": "error",
        "test_share": 0.25, "inverse_regularization": 1.0, "max_iter": 1000, "seed": 1,
    }  # fmt: skip
    return LanguageProbeEvaluator(**{**options, **changes})


def one_hot(sentences: list[str]) -> Tensor:
    codes = (*LANGUAGES, "eng")
    return torch.stack(
        [torch.eye(4)[codes.index(text[:3])] if text[:3] in codes else torch.zeros(4) for text in sentences]
    )


def test_vectors_that_are_the_language_are_read_without_error() -> None:
    metrics = evaluator(bitexts())(one_hot)
    assert metrics["probe/mean/accuracy"] == 100
    assert metrics["probe/mean/chance"] == 25
    assert {metrics[f"probe/{lang}/recall"] for lang in (*LANGUAGES, "eng")} == {100}


def test_vectors_that_know_nothing_of_the_language_are_read_at_chance() -> None:
    def noise(sentences: list[str]) -> Tensor:
        torch.manual_seed(0)
        return torch.randn(len(sentences), 8)

    # 400 held-out sentences at 25 %: a standard error of 2.2.
    metrics = evaluator(bitexts(400))(noise)
    assert metrics["probe/mean/accuracy"] == pytest.approx(25, abs=8)


def test_vectors_of_the_meaning_alone_are_read_at_chance_as_translations_are_in_one_part() -> None:
    # Translations share one vector. A split that tears them apart would have the probe know each held-out vector.
    def meaning(sentences: list[str]) -> Tensor:
        torch.manual_seed(0)
        table = torch.randn(400, 16)
        return torch.stack([table[int(text.split()[1])] if " " in text else table[0] for text in sentences])

    metrics = evaluator(bitexts(400))(meaning)
    assert metrics["probe/mean/accuracy"] == pytest.approx(25, abs=8)


def test_translations_are_in_one_part_directly_or_through_others() -> None:
    train, test = split_by_translation(bitexts(), test_share=0.25, seed=0)
    numbers = [{int(text.split()[1]) for text in part.texts} for part in (train, test)]
    assert not numbers[0] & numbers[1]
    assert numbers[0] | numbers[1] == set(range(120))
    assert len(test.texts) == 30 * 4


def test_a_text_of_two_languages_has_no_label() -> None:
    train, test = split_by_translation(bitexts(), test_share=0.25, seed=0)
    assert "Restaurant" not in train.texts + test.texts


def test_no_language_outweighs_the_median_one() -> None:
    # English has its own sentences in each of three sets, 300 in all; the others have 100.
    sets = [
        TestBitext(
            f"{lang}-eng", lang, "eng", [f"{lang} {i}" for i in range(100)], [f"to {lang} {i}" for i in range(100)]
        )
        for lang in LANGUAGES
    ]
    for part, most in zip(split_by_translation(sets, test_share=0.2, seed=3), (100, 40), strict=True):
        sizes = Counter(part.languages)
        others = sorted(sizes[lang] for lang in LANGUAGES)
        assert sizes["eng"] <= others[-1] <= most


def test_a_part_has_no_room_for_a_group_of_nearly_all() -> None:
    # One English sentence translates everything: nothing can be held out.
    chain = [TestBitext("deu-eng", "deu", "eng", [f"deu {i}" for i in range(50)], ["same"] * 50)]
    _, test = split_by_translation(chain, test_share=0.2, seed=0)
    assert not test.texts
    with pytest.raises(ValueError, match=r"each in both parts, found deu, eng to learn from and  held out"):
        evaluator(chain).check()


def test_the_seed_alone_decides() -> None:
    first, again, other = (split_by_translation(bitexts(), test_share=0.25, seed=seed) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_too_few_iterations_are_said(caplog: pytest.LogCaptureFixture) -> None:
    torch.manual_seed(0)
    one = evaluator(bitexts(), max_iter=1)
    result = one.score(torch.randn(len(one.sentences()), 32))
    assert "did not converge in 1 iterations" in caplog.text
    assert {row["converged"] for row in result.details} == {False}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_that_leaves_a_part_empty_is_an_error(share: float) -> None:
    with pytest.raises(ValueError, match=f"evaluator.test_share={share}"):
        evaluator(bitexts(), test_share=share)
