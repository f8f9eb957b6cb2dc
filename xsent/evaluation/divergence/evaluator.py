"""Divergence evaluator: equivalent and divergent sentence pairs and words against human or synthetic labels."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from torch import Tensor

from xsent.batch import Judgement, WordPair
from xsent.config_checks import check_integer
from xsent.evaluation.charts import Chart
from xsent.evaluation.dataset_evaluator import DatasetEvaluator, zero_vectors
from xsent.evaluation.divergence.calibration import (
    calibration_error,
    clean_divergent,
    probabilities_of,
    reliability_diagram,
)
from xsent.evaluation.divergence.metrics import (
    PercentRule,
    calibrate,
    ranking_metrics,
    sentence_items,
    sentence_metrics,
)
from xsent.evaluation.divergence.pairs import (
    DivergencePairs,
    ScoredSet,
    Thresholds,
    Words,
    divergent_words,
    has_scored_words,
    histogram,
    percent_divergent,
    percent_highlighted,
    set_word_items,
    set_word_metrics,
)
from xsent.evaluation.evaluator import Evaluation, PairEvaluator, TwoSided, direction, number_texts
from xsent.evaluation.search.margin import MarginSearch, pair_margins
from xsent.evaluation.statistics.agreement import Annotated, agreement_table
from xsent.evaluation.statistics.items import PERCENT, Items
from xsent.evaluation.statistics.thresholds import Bools, Floats

log = logging.getLogger(__name__)

EVERYTHING = slice(None)


@dataclass(kw_only=True, eq=False, repr=False)
class DivergenceEvaluator(DatasetEvaluator[DivergencePairs], PairEvaluator):
    """Precision, recall and F1 of equivalent and divergent pairs, and of divergent words.

    Models that read both sentences of a pair at once are scored by their judgements (``pairs``, ``score_pairs``),
    sentence encoders by the margin scores of their embeddings (``sentences``, ``score``).

    Args:
        sets: requested sets, for ``read``; None is all.
        against: kinds of divergent pairs to score separately against the equivalent pairs, by suffix of the item.
        word_kinds: kinds of pairs whose words are scored; None is all divergent pairs.
        percent_rule: separates two kinds of divergent pairs by their words; None: not scored.
        threshold: of judgements, by convention.
        length_bands: as ``bands`` of ``clean_divergent``.
        margin_threshold: of margin scores, by convention.
        margin, k: as in ``pair_margins``; neighbours are searched in the pair's set and the pool.
        pool: file of additional neighbour candidates, for ``read_pool``; None: none.
        read_pool: path -> sentences of both sides.
        dev: file of other pairs, for ``read_dev``, to calibrate the threshold of margin scores by weighted F1. Margins
            decrease with the number of candidates, so dev pairs are scored in groups of the size of the set, and each
            set has its own threshold. None: not calibrated. Judgements come with a threshold.
        dev_seeds: number of clean pairs that the dev pairs are made from; maximum size of a group.
        read_dev: ``(path, dev_seeds)`` -> pairs, consecutive ones from different clean pairs: divergences of the same
            pair would be each other's neighbours.
        dev_balanced: weigh both classes of dev pairs equally; a clean pair has several divergences.
        annotations: file of annotations by single annotators, for ``read_annotations``; None: none.
        read_annotations: path -> annotations by pair and annotator.

    Metrics:
        Percent, of each set: ``<name>/<set>/precision_equivalent``, ``recall_equivalent``, ``f1_equivalent``,
        ``precision_divergent``, ``recall_divergent``, ``f1_divergent``, and ``precision``, ``recall``, ``f1`` weighted
        by the shares of the classes, all at the conventional threshold; the same with the prefix ``calibrated_`` at the
        calibrated threshold. ``roc_auc``, and ``best_f1``, weighted, at the best threshold for these very pairs
        (optimistic). ``<name>/<set>_<suffix>/...`` is the same for the kinds of ``against``.

        Of judgements ``ece``, as ``calibration_error`` of the sigmoid of the scores, and ``clean_divergent_1_5`` etc.
        at the conventional threshold.

        Of tagged words, micro-averaged, both languages pooled: ``union_f1_div``, ``union_f1_eq`` and their product
        ``union_f1_mul`` (a word is divergent if any annotator highlighted it, and predicted so above probability 1/2),
        ``pairwise_union_...`` (at least two annotators), ``intersection_...`` (all), and the expectation of a fair
        coin, ``random_union_f1_div`` etc. ``div10_above_precision`` etc. as in ``PercentRule``. ``word_alpha``,
        Krippendorff's alpha of the highlights of several annotators in these pairs.

        Of annotations ``<name>/agreement/alpha_nominal`` etc. as in ``agreement_table``.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), sections 5, 6.1 and 7.1; the threshold of margin scores is that of
        WikiMatrix (Schwenk et al. 2019).
    """

    requested_by = "sets"
    sets: Sequence[str] | None
    against: Mapping[str, str]
    word_kinds: Sequence[str] | None
    percent_rule: PercentRule | None
    threshold: float
    length_bands: Sequence[int]
    margin_threshold: float
    margin: str
    k: int
    pool: str | None
    read_pool: Callable[[str], TwoSided]
    dev: str | None
    dev_seeds: int
    read_dev: Callable[[str, int], DivergencePairs]
    dev_balanced: bool
    annotations: str | None
    read_annotations: Callable[[str], Sequence[Annotated]]
    missing: str = field(default="error", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search = MarginSearch(self.margin, self.k, "knn")
        check_integer("evaluator.dev_seeds", self.dev_seeds, minimum=1)

    # ---- reading

    @cached_property
    def _pool(self) -> TwoSided | None:
        return None if self.pool is None else self.read_pool(self.pool)

    @cached_property
    def _dev(self) -> DivergencePairs | None:
        return None if self.dev is None else self.read_dev(self.dev, self.dev_seeds)

    @cached_property
    def _annotations(self) -> Sequence[Annotated]:
        return [] if self.annotations is None else self.read_annotations(self.annotations)

    def check(self) -> None:
        """Read all files; raise ``ValueError`` if the dev pairs have one class."""
        super().check()
        assert (self._pool is None) == (self.pool is None)
        assert self._annotations is not None
        labels = [] if self._dev is None else self._dev.equivalent
        if self._dev is not None and len(set(labels)) < 2:
            raise ValueError(
                f"{self.dev}: a threshold needs equivalent and divergent pairs, found {sum(labels)} equivalent and"
                f" {len(labels) - sum(labels)} divergent"
            )
        for pairs in self.test_sets:
            if self._dev is not None and len(pairs.pairs) > self.dev_seeds:
                log.warning(
                    "%s: %s has %d pairs, evaluator.dev_seeds=%d: the threshold is calibrated among fewer sentences,"
                    " where margins are larger",
                    *(self.name, pairs.name, len(pairs.pairs), self.dev_seeds),
                )
            if pairs.highlights is not None and not any(has_scored_words(pairs, self.word_kinds)):
                log.warning(
                    "%s: %s has no pairs of kinds %s: words are not scored", self.name, pairs.name, self.word_kinds
                )

    def digest(self) -> str:
        pool = [] if self._pool is None else [self._pool.source, self._pool.target]
        sets = self.test_sets if self._dev is None else [*self.test_sets, self._dev]
        content = [*(pairs.digest() for pairs in sets), repr(pool), repr(self._annotations)]
        return hashlib.sha256("\n".join(content).encode()).hexdigest()

    def texts(self) -> list[str]:
        sets = [pairs for pairs in (*self.test_sets, self._dev, self._pool) if pairs is not None]
        return [text for pairs in sets for side in (pairs.source, pairs.target) for text in side]

    def pairs(self) -> list[WordPair]:
        return [pair for pairs in self.test_sets for pair in pairs.pairs]

    # ---- scoring

    def metric_names(self) -> list[str]:
        return self._metric_names(calibrates=self._dev is not None, judged=False, tags_words=False)

    def pair_metric_names(self, *, tags_words: bool) -> list[str]:
        return self._metric_names(calibrates=True, judged=True, tags_words=tags_words)

    def _metric_names(self, *, calibrates: bool, judged: bool, tags_words: bool) -> list[str]:
        thresholds = Thresholds(0.0, 0.0 if calibrates else None, "")
        sets = [ScoredSet(pairs, np.zeros(len(pairs.pairs)), thresholds) for pairs in self.test_sets]
        no_words: list[Words] = [
            [(np.zeros(len(pair.source), dtype=bool), np.zeros(len(pair.target), dtype=bool)) for pair in pairs.pairs]
            for pairs in self.test_sets
        ]
        return list(self._metrics(sets, no_words if tags_words else [None] * len(sets), judged=judged))

    def score(self, vectors: Tensor) -> Evaluation:
        """Metrics of margin scores, from the embeddings (N, D) of ``sentences()``."""
        sizes = {len(pairs.pairs) for pairs in self.test_sets}
        by_size = {size: self._margin_thresholds(size, vectors) for size in sizes}
        sets = []
        details: list[dict[str, object]] = []
        for pairs in self.test_sets:
            sets.append(ScoredSet(pairs, self._margins(pairs, vectors), by_size[len(pairs.pairs)]))
            sizes_of_sides = list(map(len, self._candidates(pairs)))
            details.append(self._detail(sets[-1]) | self.search.conditions(min(sizes_of_sides)))
            details[-1]["candidates"] = " + ".join(map(str, sizes_of_sides))
            details[-1]["zero_vectors"] = zero_vectors(self.rows(vectors, pairs.source + pairs.target))
        label = f"{self.search.margin} margin"
        chart = histogram(f"{self.name}_margins", f"Margin scores: {self.name}", label, sets)
        metrics = self._metrics(sets, [None] * len(sets), judged=False)
        return Evaluation(metrics, details, [chart], outcomes=self._outcomes(sets, [None] * len(sets)))

    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        """Metrics of the judgements of ``pairs()``, in their order.

        Args:
            judgements: of a model that tags the words of all pairs, or of none.
            threshold: calibrated on the model's own dev pairs.

        Raises:
            ValueError: a wrong number of judgements or of word probabilities.
        """
        expected = sum(len(pairs.pairs) for pairs in self.test_sets)
        if len(judgements) != expected:
            raise ValueError(f"{self.name}: expected a judgement of each of {expected} pairs, found {len(judgements)}")
        thresholds = Thresholds(self.threshold, threshold, "dev pairs of the run")
        details: list[dict[str, object]] = []
        sets: list[ScoredSet] = []
        words: list[Words | None] = []
        for pairs in self.test_sets:
            start = sum(len(scored.pairs.pairs) for scored in sets)
            of_set = judgements[start : start + len(pairs.pairs)]
            scores = np.array([judgement.score for judgement in of_set], dtype=np.float64)
            sets.append(ScoredSet(pairs, scores, thresholds))
            words.append(divergent_words(pairs, of_set))
            details.append(self._detail(sets[-1]) | {"words_tagged": words[-1] is not None})
        charts: list[Chart] = [histogram(f"{self.name}_scores", f"Scores: {self.name}", "score", sets)]
        charts.append(reliability_diagram(f"{self.name}_reliability", f"Reliability: {self.name}", sets))
        shares = []
        for pairs, divergent in zip(self.test_sets, words, strict=True):
            if divergent is not None:
                predicted = ScoredSet(pairs, percent_divergent(divergent), None, f"{pairs.name}, predicted")
                shares += [predicted, *percent_highlighted(pairs)]
        if shares:
            title = f"Divergent words: {self.name}"
            charts.append(histogram(f"{self.name}_percent", title, "percent of the words", shares))
        metrics = self._metrics(sets, words, judged=True)
        return Evaluation(metrics, details, charts, outcomes=self._outcomes(sets, words))

    def _outcomes(self, sets: Sequence[ScoredSet], words: Sequence[Words | None]) -> dict[str, Items]:
        """Items of the metrics of pairs and of words; the items of both are pairs."""
        outcomes: dict[str, Items] = {}
        for scored, divergent in zip(sets, words, strict=True):
            assert scored.thresholds is not None
            scores, equivalent = scored.values, np.array(scored.pairs.equivalent)
            for item, rows in self._items(scored.pairs):
                figures = {"roc_auc": Items.of("roc_auc", scores[rows], equivalent[rows], scale=PERCENT)}
                for prefix, threshold in scored.thresholds.by_prefix().items():
                    of_threshold = sentence_items(scores[rows] > threshold, equivalent[rows])
                    figures |= {f"{prefix}{metric}": items for metric, items in of_threshold.items()}
                outcomes |= {f"{item}/{metric}": items for metric, items in figures.items()}
            for metric, items in set_word_items(scored.pairs, self.word_kinds, divergent).items():
                outcomes[f"{scored.pairs.name}/{metric}"] = items
        return {f"{self.name}/{name}": items for name, items in outcomes.items()}

    def _metrics(self, sets: Sequence[ScoredSet], words: Sequence[Words | None], *, judged: bool) -> dict[str, float]:
        figures = {"agreement": agreement_table(self._annotations) if self._annotations else {}}
        for scored, divergent in zip(sets, words, strict=True):
            pairs = scored.pairs
            figures |= self._sentence_metrics(scored)
            if judged:
                error = calibration_error(probabilities_of(scored.values), np.array(pairs.equivalent))
                figures[pairs.name] |= {"ece": error, **clean_divergent(scored, self.threshold, self.length_bands)}
            figures[pairs.name] = figures[pairs.name] | set_word_metrics(pairs, self.word_kinds, divergent)
            if divergent is not None and self.percent_rule is not None:
                figures[pairs.name] |= self.percent_rule(percent_divergent(divergent), pairs.kinds)
        return {f"{self.name}/{item}/{metric}": value for item, row in figures.items() for metric, value in row.items()}

    def _sentence_metrics(self, scored: ScoredSet) -> dict[str, dict[str, float]]:
        assert scored.thresholds is not None
        scores, equivalent = scored.values, np.array(scored.pairs.equivalent)
        items: dict[str, dict[str, float]] = {}
        for item, rows in self._items(scored.pairs):
            items[item] = {}
            for prefix, threshold in scored.thresholds.by_prefix().items():
                figures = sentence_metrics(scores[rows] > threshold, equivalent[rows])
                items[item] |= {f"{prefix}{metric}": value for metric, value in figures.items()}
            items[item] |= ranking_metrics(scores[rows], equivalent[rows])
        return items

    def _items(self, pairs: DivergencePairs) -> Iterator[tuple[str, Bools]]:
        """Item names, and the pairs that each item scores."""
        equivalent, kinds = np.array(pairs.equivalent), np.array(pairs.kinds)
        yield pairs.name, np.ones(len(kinds), dtype=bool)
        for suffix, kind in self.against.items():
            if kind in pairs.kinds and equivalent.any():
                yield f"{pairs.name}_{suffix}", equivalent | (kinds == kind)

    def _margin_thresholds(self, size: int, vectors: Tensor) -> Thresholds:
        """Thresholds for the margins of a set of ``size`` pairs; dev pairs are scored among as many."""
        if self._dev is None:
            return Thresholds(self.margin_threshold, None, "")
        size = min(size, self.dev_seeds)
        groups = []
        for start in range(0, len(self._dev.source), size):
            stop = min(start + size, len(self._dev.source))
            near = slice(max(stop - size, 0), stop)  # the neighbours of the last group include earlier pairs
            groups.append(self._margins(self._dev, vectors, slice(start, stop), near))
        scores = np.concatenate(groups)
        calibrated = calibrate(scores, np.array(self._dev.equivalent), balanced=self.dev_balanced)
        tuned_on = f"{self.dev}: {len(scores)} pairs, {min(size, len(scores))} at a time"
        return Thresholds(self.margin_threshold, calibrated.threshold, tuned_on)

    def _margins(self, pairs: TwoSided, vectors: Tensor, part: slice = EVERYTHING, near: slice = EVERYTHING) -> Floats:
        source, target = self.rows(vectors, pairs.source[part]), self.rows(vectors, pairs.target[part])
        x, y = (self.rows(vectors, side) for side in self._candidates(pairs, near))
        return pair_margins(source, target, (x, y), margin=self.margin, k=self.k)

    def _candidates(self, pairs: TwoSided, near: slice = EVERYTHING) -> tuple[list[str], list[str]]:
        """Distinct sentences of both sides, including the pool."""
        sources, targets = ([], []) if self._pool is None else (self._pool.source, self._pool.target)
        return list(number_texts(pairs.source[near] + sources)), list(number_texts(pairs.target[near] + targets))

    def _detail(self, scored: ScoredSet) -> dict[str, object]:
        pairs, thresholds, equivalent = scored.pairs, scored.thresholds, np.array(scored.pairs.equivalent)
        assert thresholds is not None
        has_both = 0 < equivalent.sum() < len(equivalent)
        return {
            "evaluator": self.name,
            "set": pairs.name,
            "direction": direction(pairs),
            "pairs": len(equivalent),
            "equivalent": int(equivalent.sum()),
            "divergent": int((~equivalent).sum()),
            "threshold": thresholds.fixed,
            "calibrated_threshold": thresholds.calibrated,
            "calibrated_on": thresholds.tuned_on,
            "best_threshold": calibrate(scored.values, equivalent).threshold if has_both else None,
            "annotators": pairs.annotators,
            "pairs_with_scored_words": sum(has_scored_words(pairs, self.word_kinds)),
            "pairs_without_highlight": sum(not any(map(any, sides)) for sides in pairs.highlights or []),
        }
