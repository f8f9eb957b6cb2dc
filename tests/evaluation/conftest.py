"""Numbers of the reference release, and a check of metric names in all tests."""

import json
import math
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from xsent.evaluation.evaluator import Evaluator


@pytest.fixture(scope="session")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    return json.loads((fixtures_dir / "retrieval.json").read_text())


def _subclasses(base: type) -> list[type]:
    return [base, *(deeper for subclass in base.__subclasses__() for deeper in _subclasses(subclass))]


@pytest.fixture(autouse=True)
def _metrics_have_the_names_known_before_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every evaluation in these tests has exactly the metrics that the evaluator named before, and its outcomes give
    the metrics."""

    def check_names(score: Any, names_of: Any) -> Any:
        @wraps(score)
        def checked(self: Evaluator, scored: Any, **options: Any) -> Any:
            names = names_of(self, scored)
            evaluation = score(self, scored, **options)
            assert list(evaluation.metrics) == names
            for name, items in evaluation.outcomes.items():
                values = items.value(), evaluation.metrics[name]
                if all(map(math.isfinite, values)):  # undefined: 0 / 0, or cosines that differ by rounding only
                    assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-9), name
            return evaluation

        return checked

    methods = {
        "score": lambda evaluator, vectors: evaluator.metric_names(),
        "score_pairs": lambda evaluator, judgements: evaluator.pair_metric_names(
            tags_words=any(judgement.source is not None for judgement in judgements)
        ),
    }
    for evaluator in _subclasses(Evaluator):
        for method, names_of in methods.items():
            score = vars(evaluator).get(method)
            if score is not None and not hasattr(score, "__isabstractmethod__") and evaluator.__name__ != "Stub":
                monkeypatch.setattr(evaluator, method, check_names(score, names_of))
