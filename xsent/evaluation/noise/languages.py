"""Distance of English from its translations, by language: the scale on which noise is read."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from xsent.evaluation.charts import Chart, Curve, Line
from xsent.evaluation.dataset_evaluator import LanguagesEvaluator
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.noise.scoring import Embedded, NoisySet, metric_items, score_set
from xsent.evaluation.search.margin import MarginSearch
from xsent.evaluation.statistics.items import Items

CURVES = {"cosine_distance": ("distance",), "xsim": ("errors", "xSIM"), "xsimpp": ("errors", "xSIM++")}


@dataclass(kw_only=True, eq=False, repr=False)
class LanguageDistances(LanguagesEvaluator[NoisySet]):
    """Cosine distance, xSIM and xSIM++ of each language into English, with their quantiles over the languages.

    Args:
        read: ``(root, languages)`` -> a set per language, named by it, of its sentences and the English ones.
        margin, k, candidates: as in ``best_targets``.

    Metrics:
        ``<name>/<deu>/cosine_distance`` (0 to 2), ``xsim`` and, with hard negatives, ``xsimpp`` (percent), as those of
        noisy sentences; ``<name>/minimum/...`` the lowest of all languages, ``<name>/median/...``.

    Source:
        Nishimwe et al. 2024, Appendix B, Figures 5 and 6.
    """

    margin: str
    k: int
    candidates: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search = MarginSearch(self.margin, self.k, self.candidates)

    def texts(self) -> list[str]:
        return super().texts() + [text for test_set in self.test_sets for text in test_set.augmented]

    def metric_names(self) -> list[str]:
        names = {
            name: dict.fromkeys(kinds, 0.0)
            for test_set in self.test_sets
            for name, kinds in metric_items(test_set, bitexts=False).items()
        }
        return list(self._metrics(names))

    def score(self, vectors: Tensor) -> Evaluation:
        embedded = Embedded(self._row_of, vectors)
        metrics: dict[str, dict[str, float]] = {}
        details: list[dict[str, object]] = []
        outcomes: dict[str, Items] = {}
        for test_set in self.test_sets:
            scores = score_set(test_set, embedded, None, self.search)
            metrics |= scores.metrics
            for kind, items in scores.outcomes[test_set.name].items():
                outcomes[f"{self.name}/{test_set.name}/{kind}"] = items
            row = {**test_set.conditions, **self.search.conditions(len(test_set.target)), "comparison": "textual"}
            row |= {"queries": len(test_set.source), "pool": len(test_set.target), "xsimpp_pool": scores.pool}
            row |= {"tied": scores.tied, "languages": len(self.test_sets)}
            sides = embedded.of(test_set.source), embedded.of(test_set.target)
            details.append(self.detail(f"{test_set.name}-eng", *sides, **row, **scores.metrics[test_set.name]))
        return Evaluation(self._metrics(metrics), details, quantile_curves(self.name, metrics), outcomes=outcomes)

    def _metrics(self, by_language: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        kinds = next(iter(by_language.values()))
        values = {kind: np.array([row[kind] for row in by_language.values()]) for kind in kinds}
        items = {
            **by_language,
            "minimum": {kind: float(each.min()) for kind, each in values.items()},
            "median": {kind: float(np.median(each)) for kind, each in values.items()},
        }
        return {f"{self.name}/{item}/{kind}": value for item, row in items.items() for kind, value in row.items()}


def quantile_curves(name: str, by_language: Mapping[str, Mapping[str, float]]) -> list[Chart]:
    """Quantiles over the languages: of the cosine distance, and of xSIM and xSIM++ as shares, with the median."""
    order = np.linspace(0, 1, len(by_language)) if len(by_language) > 1 else np.array([0.5])
    lines: dict[str, dict[str, Line]] = {"distance": {}, "errors": {}}
    for kind in filter(next(iter(by_language.values())).__contains__, CURVES):
        chart, *label = CURVES[kind]
        values = np.sort([row[kind] / (1 if chart == "distance" else 100) for row in by_language.values()])
        median = float(np.median(values))
        note = f"minimum {values[0]:.4f}, median {median:.4f}"
        lines[chart][label[0] if label else "cosine distance"] = Line(order, values, (0.5, median), note)
    titles = {"distance": "Cosine distance from English", "errors": "xSIM and xSIM++ into English"}
    labels = {"distance": "cosine distance", "errors": "share of wrong sentences"}
    return [
        Curve(
            f"{name}_{chart}",
            f"{titles[chart]}: {name}",
            "quantile of the languages",
            labels[chart],
            "median",
            of_chart,
            "",
        )
        for chart, of_chart in lines.items()
    ]
