"""Sentences sampled from the test sets of an evaluator, with their languages."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from xsent.data.readers.tatoeba import TestBitext
from xsent.evaluation.dataset_evaluator import DatasetEvaluator
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.sentence_sample import MAX_LANGUAGES, sample_sentences
from xsent.evaluation.suite import Suite


class Stub(DatasetEvaluator[Any]):
    def __init__(self, *test_sets: Any, name: str = "stub") -> None:
        super().__init__(name=name, root=None, read=lambda root, requested: test_sets, missing="error")

    def metric_names(self) -> list[str]:
        return []

    def score(self, vectors: Tensor) -> Evaluation:
        return Evaluation({}, [])


@dataclass
class Untranslated:
    name: str
    source: list[str]
    target: list[str]


def bitext(language: str, n: int = 4) -> TestBitext:
    """Sentences ``deu 0``, ``deu 1``, ... and translations that all languages share."""
    sides = [f"{language} {row}" for row in range(n)], [f"eng {row}" for row in range(n)]
    return TestBitext(f"{language}-eng", language, "eng", *sides)


def sample(*test_sets: Any, **options: Any) -> tuple[list[str], list[str]]:
    return sample_sentences(Stub(*test_sets), **{"languages": None, "per_language": 9, **options})


def test_rows_are_at_equal_distances_and_sentences_distinct() -> None:
    sentences, languages = sample(bitext("deu", 4), bitext("fra", 4), per_language=2)
    assert sentences == ["deu 0", "eng 0", "deu 2", "eng 2", "fra 0", "fra 2"]
    assert languages == ["deu", "eng", "deu", "eng", "fra", "fra"]


def test_languages_may_have_any_code() -> None:
    _, languages = sample(bitext("deu"), bitext("fra"), bitext("zho"), languages=["fr", "cmn"])
    assert set(languages) == {"fra", "zho", "eng"}


def test_at_most_eight_languages_are_sampled_by_default() -> None:
    many = ["ara", "deu", "fra", "ita", "jpn", "kor", "nld", "por", "rus", "zho"]
    _, languages = sample(*map(bitext, many))
    assert list(dict.fromkeys(languages)) == ["ara", "eng", *many[1:MAX_LANGUAGES]]


def test_a_suite_has_the_translation_pairs_of_its_members() -> None:
    members = {"a": Stub(bitext("deu", 1), name="a"), "b": Stub(Untranslated("none", [], []), name="b")}
    suite = Suite(name="both", members=members)
    assert sample_sentences(suite, languages=None, per_language=1) == (["deu 0", "eng 0"], ["deu", "eng"])
    assert sample(bitext("deu"), languages=[], per_language=0) == ([], [])
