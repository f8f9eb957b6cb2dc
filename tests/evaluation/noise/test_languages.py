"""Distances of English from its translations by language, by hand."""

from typing import Any

import pytest
import torch

from tests.evaluation.builders import builder
from xsent.data.readers.ugc import UgcSet
from xsent.evaluation.charts import Curve
from xsent.evaluation.noise.languages import LanguageDistances, quantile_curves

languages = builder(LanguageDistances, name="l", margin="absolute", k=1, candidates="knn")
VECTORS = {
    "one": (1, 0),
    "two": (0, 1),
    "no two": (0.8, 0.6),
    "eins": (1, 0),
    "zwei": (0.6, 0.8),
    "un": (0, 1),
    "deux": (1, 0),
}


def language_set(name: str, *lines: str) -> UgcSet:
    negatives = {"no two": ("two", "causality")}
    return UgcSet(name, None, list(lines), ["one", "two"], {}, list(negatives), negatives, "eng")


def scored() -> Any:
    evaluator = languages(language_set("deu", "eins", "zwei"), language_set("fra", "un", "deux"))
    evaluator.check()
    result = evaluator.score(torch.tensor([VECTORS[text] for text in evaluator.sentences()], dtype=torch.float32))
    assert set(result.metrics) == set(evaluator.metric_names())
    return result


def test_metrics_of_each_language_and_the_lowest() -> None:
    # eins equals one; zwei is 0.2 from two, and nearer to its negative (0.48 + 0.48). un and deux are exchanged.
    metrics = scored().metrics
    assert metrics["l/deu/cosine_distance"] == pytest.approx(0.1)
    assert (metrics["l/deu/xsim"], metrics["l/deu/xsimpp"]) == (0, 50)
    assert metrics["l/fra/cosine_distance"] == pytest.approx(1)
    assert (metrics["l/fra/xsim"], metrics["l/fra/xsimpp"]) == (100, 100)
    assert metrics["l/minimum/cosine_distance"] == pytest.approx(0.1)
    assert (metrics["l/minimum/xsimpp"], metrics["l/median/xsimpp"]) == (50, 75)


def test_quantiles_are_the_sorted_values_over_the_languages() -> None:
    values = {"a": 30.0, "b": 10.0, "c": 20.0}
    by_language = {name: {"cosine_distance": value / 100, "xsim": value} for name, value in values.items()}
    distance, errors = quantile_curves("l", by_language)
    assert isinstance(distance, Curve)
    assert isinstance(errors, Curve)
    line = errors.lines["xSIM"]
    assert (line.x.tolist(), line.y.tolist(), line.mark) == ([0, 0.5, 1], [0.1, 0.2, 0.3], (0.5, 0.2))
    assert distance.lines["cosine distance"].y.tolist() == [0.1, 0.2, 0.3]
