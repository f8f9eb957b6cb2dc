"""Which sentences of an evaluator's test sets are drawn, and under which language."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from xsent.data.tatoeba import TestBitext
from xsent.evaluation.sample import MOST_LANGUAGES, sample_of


def bitext(language: str, n: int = 4) -> TestBitext:
    """Sentences ``deu 0``, ``deu 1``, ... and translations that all languages share."""
    sides = [f"{language} {row}" for row in range(n)], [f"eng {row}" for row in range(n)]
    return TestBitext(f"{language}-eng", language, "eng", *sides)


def sample(*test_sets: Any, **options: Any) -> tuple[list[str], list[str]]:
    return sample_of(SimpleNamespace(test_sets=test_sets), **{"languages": None, "per_language": 9, **options})


def test_rows_are_spread_over_the_whole_test_set_and_a_sentence_is_taken_once() -> None:
    sentences, languages = sample(bitext("deu", 4), bitext("fra", 4), per_language=2)
    assert sentences == ["deu 0", "eng 0", "deu 2", "eng 2", "fra 0", "fra 2"]
    assert languages == ["deu", "eng", "deu", "eng", "fra", "fra"]


def test_languages_are_named_in_any_code() -> None:
    _, languages = sample(bitext("deu"), bitext("fra"), bitext("zho"), languages=["fr", "cmn"])
    assert set(languages) == {"fra", "zho", "eng"}


def test_not_more_languages_than_can_be_told_apart() -> None:
    many = ["ara", "deu", "fra", "ita", "jpn", "kor", "nld", "por", "rus", "zho"]
    _, languages = sample(*map(bitext, many))
    assert list(dict.fromkeys(languages)) == ["ara", "eng", *many[1:MOST_LANGUAGES]]


def test_members_of_a_suite_are_asked_and_what_holds_no_translations_gives_nothing() -> None:
    members = [SimpleNamespace(test_sets=[bitext("deu", 1)]), SimpleNamespace(test_sets=[SimpleNamespace(source=[])])]
    suite = SimpleNamespace(members=[*members, SimpleNamespace()])
    assert sample_of(suite, languages=None, per_language=1) == (["deu 0", "eng 0"], ["deu", "eng"])
    assert sample(bitext("deu"), languages=[], per_language=0) == ([], [])
