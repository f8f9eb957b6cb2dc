"""Document evaluator: rank correlation over the words of whole documents."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from tests.evaluation.builders import builder
from xsent.batch import Judgement, WordPair
from xsent.data.test_sets.swissgov import DocumentSet
from xsent.evaluation.divergence.documents import DocumentEvaluator


class Side(NamedTuple):
    unmatched: np.ndarray


class OppositeAligner:
    """Finds the words without counterpart by their first coordinate: the opposite of what the cosines say."""

    def align(self, source: np.ndarray, target: np.ndarray) -> list[Side]:
        return [Side(side[:, 0]) for side in (source, target)]


evaluator = builder(DocumentEvaluator, name="pages", aligner=OppositeAligner())


def documents(*pairs: tuple[WordPair, Any], name: str = "deu") -> DocumentSet:
    source, target = ([" ".join(pair[side]) for pair, _ in pairs] for side in (0, 1))
    return DocumentSet(name, [pair for pair, _ in pairs], [labels for _, labels in pairs], source, target, "eng", name)


PAGE = documents((WordPair(("a", "b", "."), ("x", "y")), ((0.0, 0.4, -1.0), (1.0, 0.0))))


def judged(*sides: list[float]) -> Judgement:
    return Judgement(0.0, *(np.array(side, dtype=np.float32) for side in sides))


def test_the_correlation_is_over_the_scored_words_of_both_sides() -> None:
    # Ranks 1 3 2 4 of the judge, 1.5 3 4 1.5 of the labels; deviations -1.5 .5 -.5 1.5 and -1 .5 1.5 -1: their
    # products sum to -0.5, their squares to 5 and 4.5.
    scored = evaluator(PAGE).score_pairs([judged([0.1, 0.3, 0.9], [0.2, 0.4])], threshold=0.0)
    expected = 100 * -0.5 / math.sqrt(5 * 4.5)
    assert scored.metrics == pytest.approx({"pages/deu/spearman": expected, "pages/mean/spearman": expected}, rel=1e-6)
    (row,) = scored.details
    assert (row["words"], row["scored_words"], row["differing_words"]) == (5, 4, 2)


def test_the_words_of_all_documents_of_a_language_are_ranked_together() -> None:
    # In either document alone the judge is constant; together its ranks are those of the labels.
    pages = documents(
        (WordPair(("a",), ("x",)), ((0.0,), (0.0,))),
        (WordPair(("b",), ("y",)), ((1.0,), (1.0,))),
    )
    scored = evaluator(pages).score_pairs([judged([0.2], [0.2]), judged([0.7], [0.7])], threshold=0.0)
    assert scored.metrics["pages/deu/spearman"] == pytest.approx(100)


def test_the_mean_is_over_languages() -> None:
    word = WordPair(("a",), ("x",))
    sets = [documents((word, ((0.0,), (1.0,))), name=name) for name in ("deu", "fra")]
    scored = evaluator(*sets).score_pairs([judged([0.1], [0.2]), judged([0.2], [0.1])], threshold=0.0)
    assert scored.metrics == pytest.approx(
        {"pages/deu/spearman": 100, "pages/fra/spearman": -100, "pages/mean/spearman": 0}
    )
    assert evaluator(*sets).pair_metric_names(tags_words=True) == list(scored.metrics)


def test_an_encoder_is_scored_by_the_alignment_and_by_the_best_cosine_of_each_word() -> None:
    # Best cosines: a 0.8 with y, b and y 1 with each other, x 0.6 with b. Divergences 0.2, 0, 0.4 and 0 of a, b, x, y.
    vectors = {"a": [0.0, 1.0], "b": [0.6, 0.8], ".": [0.0, -1.0], "x": [1.0, 0.0], "y": [0.6, 0.8]}
    pages = documents((WordPair(("a", "b", "."), ("x", "y")), ((0.5, 0.0, -1.0), (1.0, 0.0))))
    pages_evaluator = evaluator(pages)
    assert pages_evaluator.sentences() == ["a", "b", ".", "x", "y"]
    # Lengths do not matter.
    rows = torch.tensor([[3 * value for value in vectors[word]] for word in pages_evaluator.sentences()])
    metrics = pages_evaluator.score(rows).metrics
    assert list(metrics) == pages_evaluator.metric_names()
    # The ranks of a, b, x, y are 3, 1.5, 4, 1.5 on both sides.
    assert metrics["pages/deu/best_cosine_spearman"] == pytest.approx(100)
    # The first coordinates 0, 0.6, 1, 0.6 have the ranks 1, 2.5, 4, 2.5: deviations -1.5 0 1.5 0 beside .5 -1 1.5 -1.
    assert metrics["pages/deu/spearman"] == pytest.approx(100 * (-0.75 + 2.25) / math.sqrt(4.5 * 4.5))


def test_equal_divergences_have_no_correlation() -> None:
    scored = evaluator(PAGE).score_pairs([judged([0.1] * 3, [0.1] * 2)], threshold=0.0)
    assert math.isnan(scored.metrics["pages/deu/spearman"])
    assert scored.details[0]["undefined"] == "constant input"


@pytest.mark.parametrize(
    ("judgement", "message"),
    [
        (Judgement(0.0, None, None), "pages scores words, which this model does not tag"),
        (judged([0.1] * 3, [0.1]), "expected a probability for each of 2 words, found 1"),
    ],
)
def test_missing_tags_are_an_error(judgement: Judgement, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluator(PAGE).score_pairs([judgement], threshold=0.0)
    with pytest.raises(ValueError, match="does not tag"):
        evaluator(PAGE).pair_metric_names(tags_words=False)
