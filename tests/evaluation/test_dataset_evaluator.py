"""What every evaluator of test sets says of them."""

import logging

import pytest

from tests.evaluation.retrieval.test_evaluator import make_evaluator
from xsent.data.readers.tatoeba import TestBitext


def bitext(lang: str, size: int) -> TestBitext:
    texts = [f"{lang} {number}" for number in range(size)]
    return TestBitext(f"{lang}-eng", lang, "eng", texts, [f"eng {text}" for text in texts])


def test_test_sets_of_fewer_than_100_items_are_named_once_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    evaluator = make_evaluator(bitext("deu", 100), bitext("fra", 99), bitext("spa", 2))
    evaluator.check()
    evaluator.check()
    assert caplog.messages == ["tatoeba: fra-eng has 99, spa-eng has 2 items: figures on so few are noisy"]


def test_a_validation_set_may_be_small(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    evaluator = make_evaluator(bitext("fra", 99))
    evaluator.bind(None, split="valid", device="cpu")
    evaluator.check()
    assert not caplog.messages
