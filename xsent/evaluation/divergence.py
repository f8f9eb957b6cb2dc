"""Equivalent or divergent in meaning: sentence pairs and their words against what people or generators say of them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from xsent.batch import Judgement, WordPair
from xsent.evaluation.agreement import Annotated, agreement_table
from xsent.evaluation.charts import Chart
from xsent.evaluation.divergence_pairs import DivergencePairs, Scored, Thresholds, histogram
from xsent.evaluation.divergence_scores import (
    PercentRule,
    calibrate,
    percent_divergent,
    ranking_figures,
    sentence_figures,
)
from xsent.evaluation.divergence_words import WordScores, divergent_words
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.margin import MARGINS
from xsent.evaluation.pair_margins import Neighbourhood, pair_margins
from xsent.evaluation.test_sets import TestSetEvaluator, TwoSided, check_choice, zero_vectors
from xsent.evaluation.thresholds import Bools, Floats

log = logging.getLogger(__name__)


class DivergenceEvaluator(TestSetEvaluator[DivergencePairs]):
    """Precision, recall and F1 of equivalent and divergent pairs, and of divergent words.

    A model that reads both sides of a pair at once is scored by its judgements (``pairs``, ``score_pairs``), a sentence
    encoder by the margin scores of its vectors (``sentences``, ``score``).

    Args:
        name: prefix of the metrics.
        root: file or folder of the sets, for ``read``.
        sets: which ones, for ``read``; None is all.
        read: ``(root, sets)`` -> sets.
        against: by the ending of its item, a kind of divergent pairs that is scored alone against the equivalent ones.
        word_kinds: kinds of pairs whose words are scored; None is all divergent pairs.
        percent_rule: tells two kinds of divergent pairs apart by their words; None: it is not asked.
        threshold: of judgements, by convention.
        margin_threshold: of margin scores, by convention.
        margin, k: as in ``pair_margins``; a pair's neighbours are those of its own set and of the pool.
        pool: file of more candidates, for ``read_pool``; None: there are none.
        read_pool: path -> sentences of both sides.
        dev: file of other pairs, for ``read_dev``, on which the threshold of margin scores is calibrated: the best
            weighted F1. Margins fall as neighbours are sought among more sentences, so dev pairs are scored as many at
            a time as a set has pairs, and each set has a threshold of its own. None: it is not calibrated. Judgements
            bring a threshold.
        dev_seeds: from how many clean pairs the dev pairs are; so many are scored at a time at most.
        read_dev: ``(path, dev_seeds)`` -> pairs, those in a row of different clean pairs: divergences made of one would
            be each other's neighbours.
        dev_balanced: whether the classes of the dev pairs weigh the same; a seed has several divergences.
        annotations: file of what single annotators said, for ``read_annotations``; None: there is none.
        read_annotations: path -> what each annotator said of each pair.

    Metrics:
        Percent, of each set: ``<name>/<set>/precision_equivalent``, ``recall_equivalent``, ``f1_equivalent``,
        ``precision_divergent``, ``recall_divergent``, ``f1_divergent``, and ``precision``, ``recall``, ``f1`` weighted
        by the shares of the classes, all at the threshold by convention; the same with ``calibrated_`` before them at
        the calibrated one. ``roc_auc``, and ``best_f1``, weighted, at the best threshold for these very pairs
        (optimistic). ``<name>/<set>_<ending>/...`` is the same of the kinds of ``against``.

        Of judged words, micro over the corpus, both languages pooled: ``union_f1_div``, ``union_f1_eq`` and
        ``union_f1_mul``, their product (a word is divergent if any annotator highlighted it; called so if its
        probability is above 1/2), ``pairwise_union_...`` (at least two), ``intersection_...`` (all), and what a fair
        coin can expect, ``random_union_f1_div`` and so on. ``div10_above_precision`` and so on as in ``PercentRule``.
        ``word_alpha``, a coefficient: Krippendorff's of the highlights of several annotators in these pairs.

        Of annotations ``<name>/agreement/alpha_nominal`` and so on as in ``agreement_table``.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 6; the threshold of margin scores is that of WikiMatrix
        (Schwenk et al. 2019).
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        sets: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[DivergencePairs]],
        against: Mapping[str, str],
        word_kinds: Sequence[str] | None,
        percent_rule: PercentRule | None,
        threshold: float,
        margin_threshold: float,
        margin: str,
        k: int,
        pool: str | None,
        read_pool: Callable[[str], TwoSided],
        dev: str | None,
        dev_seeds: int,
        read_dev: Callable[[str, int], DivergencePairs],
        dev_balanced: bool,
        annotations: str | None,
        read_annotations: Callable[[str], Sequence[Annotated]],
    ) -> None:
        check_choice("margin", margin, MARGINS)
        if k < 1:
            raise ValueError(f"evaluator.k={k}: expected at least 1 neighbour")
        if dev_seeds < 1:
            raise ValueError(f"evaluator.dev_seeds={dev_seeds}: expected at least 1")
        super().__init__(name=name, root=root, wanted=sets, read=read, missing="error")
        self.against = against
        self.words = WordScores(word_kinds, percent_rule)
        self.threshold = threshold
        self.margin_threshold = margin_threshold
        self.margin = margin
        self.k = k
        self.pool_file, self.read_pool = pool, read_pool
        self.dev_file, self.read_dev = dev, read_dev
        self.dev_seeds, self.dev_balanced = dev_seeds, dev_balanced
        self.annotations_file, self.read_annotations = annotations, read_annotations

    # ---- what is read

    @cached_property
    def pool(self) -> TwoSided | None:
        """More candidates."""
        return None if self.pool_file is None else self.read_pool(self.pool_file)

    @cached_property
    def dev(self) -> DivergencePairs | None:
        """Pairs that the threshold of margin scores is calibrated on."""
        return None if self.dev_file is None else self.read_dev(self.dev_file, self.dev_seeds)

    @cached_property
    def annotations(self) -> Sequence[Annotated]:
        """What single annotators said."""
        return [] if self.annotations_file is None else self.read_annotations(self.annotations_file)

    def check(self) -> None:
        """Read all files.

        Raises:
            ValueError: the dev pairs have one class, or what the readers raise.
        """
        super().check()
        assert (self.pool is None) == (self.pool_file is None)
        assert self.annotations is not None
        if self.dev is not None:
            self._check_dev(self.dev.equivalent)
        for one in self.test_sets:
            if one.highlights is not None and not any(self.words.are_scored(one)):
                log.warning(
                    "%s: %s has no pairs of kinds %s: words are not scored", self.name, one.name, self.words.kinds
                )

    def _check_dev(self, labels: Sequence[bool]) -> None:
        if len(set(labels)) < 2:
            raise ValueError(
                f"{self.dev_file}: a threshold needs equivalent and divergent pairs, found {sum(labels)} equivalent and"
                f" {len(labels) - sum(labels)} divergent"
            )
        for one in self.test_sets:
            if len(one.pairs) > self.dev_seeds:
                log.warning(
                    "%s: %s has %d pairs, evaluator.dev_seeds=%d: the threshold is calibrated among fewer sentences,"
                    " where margins are larger",
                    self.name, one.name, len(one.pairs), self.dev_seeds,
                )  # fmt: skip

    def digest(self) -> str:
        """Hex digest of the sets and of all that is read beside them."""
        pool = [] if self.pool is None else [self.pool.source, self.pool.target]
        sets = self.test_sets if self.dev is None else [*self.test_sets, self.dev]
        read = [*(one.digest() for one in sets), repr(pool), repr(self.annotations)]
        return hashlib.sha256("\n".join(read).encode()).hexdigest()

    def texts(self) -> list[str]:
        """All sentences: those of the sets, of the dev pairs and of the pool."""
        read = [*self.test_sets, self.dev, self.pool]
        return [text for one in read if one is not None for side in (one.source, one.target) for text in side]

    def pairs(self) -> list[WordPair]:
        """The pairs of all sets, one after the other."""
        return [pair for one in self.test_sets for pair in one.pairs]

    # ---- what is scored

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures of margin scores, from the vectors (N, D) of ``sentences()``."""
        by_size = {size: self._margin_thresholds(size, vectors) for size in {len(one.pairs) for one in self.test_sets}}
        scored = [Scored(one, self._margins(one, one, vectors), by_size[len(one.pairs)]) for one in self.test_sets]
        metrics = self._agreement()
        for one in scored:
            metrics |= self._of_scores(one) | self.words.of_highlights(one.of)
        details = [
            self._detail(one)
            | {
                "margin": self.margin, "k": self.k, "k_used": min(self.k, *map(len, self._candidates(one.of))),
                "candidates": " + ".join(str(len(side)) for side in self._candidates(one.of)),
                "zero_vectors": zero_vectors(self.rows(vectors, one.of.source), self.rows(vectors, one.of.target)),
            }
            for one in scored
        ]  # fmt: skip
        chart = histogram(f"{self.name}_margins", f"Margin scores: {self.name}", f"{self.margin} margin", scored)
        return Evaluation({f"{self.name}/{item}": value for item, value in metrics.items()}, details, [chart])

    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        """Figures of judgements of ``pairs()``, in their order.

        Args:
            judgements: of a model that tags the words of all pairs, or of none.
            threshold: that the model calibrated on its own dev pairs.

        Raises:
            ValueError: not as many judgements as pairs, or not as many probabilities as words.
        """
        expected = sum(len(one.pairs) for one in self.test_sets)
        if len(judgements) != expected:
            raise ValueError(f"{self.name}: expected a judgement of each of {expected} pairs, found {len(judgements)}")
        thresholds = Thresholds(self.threshold, threshold, "dev pairs of the run")
        metrics = self._agreement()
        details: list[dict[str, object]] = []
        scored: list[Scored] = []
        shares: list[Scored] = []
        for one, own in self._split(judgements):
            scored.append(Scored(one, np.array([judgement.score for judgement in own], dtype=np.float64), thresholds))
            metrics |= self._of_scores(scored[-1]) | self.words.of_highlights(one)
            divergent = divergent_words(one, own)
            if divergent is not None:
                shares.append(Scored(one, np.array([percent_divergent(sides) for sides in divergent]), None))
                metrics |= self.words.of_words(one, divergent) | self.words.of_percents(one, shares[-1].values)
            details.append(self._detail(scored[-1]) | {"words_tagged": divergent is not None})
        charts: list[Chart] = [histogram(f"{self.name}_scores", f"Scores: {self.name}", "score", scored)]
        if shares:
            charts.append(
                histogram(f"{self.name}_percent", f"Divergent words: {self.name}", "percent of the words", shares)
            )
        return Evaluation({f"{self.name}/{item}": value for item, value in metrics.items()}, details, charts)

    def _split(self, judgements: Sequence[Judgement]) -> Iterator[tuple[DivergencePairs, Sequence[Judgement]]]:
        start = 0
        for one in self.test_sets:
            yield one, judgements[start : start + len(one.pairs)]
            start += len(one.pairs)

    # ---- of sentences

    def _of_scores(self, one: Scored) -> dict[str, float]:
        """Figures of a set, and of its equivalent pairs against one kind of divergent pairs each."""
        scores, equivalent = one.values, np.array(one.of.equivalent)
        metrics: dict[str, float] = {}
        for item, rows in self._items(one.of):
            for prefix, threshold in one.lines.items():
                found = sentence_figures(scores[rows] > threshold, equivalent[rows])
                metrics |= {f"{item}/{prefix}{metric}": value for metric, value in found.items()}
            found = ranking_figures(scores[rows], equivalent[rows])
            metrics |= {f"{item}/{metric}": value for metric, value in found.items()}
        return metrics

    def _items(self, one: DivergencePairs) -> Iterator[tuple[str, Bools]]:
        """Names of what is scored, and which pairs are in it."""
        equivalent, kinds = np.array(one.equivalent), np.array(one.kinds)
        yield one.name, np.ones(len(kinds), dtype=bool)
        for ending, kind in self.against.items():
            if kind in one.kinds and equivalent.any():
                yield f"{one.name}_{ending}", equivalent | (kinds == kind)

    def _margin_thresholds(self, size: int, vectors: Tensor) -> Thresholds:
        """Of the margins of a set of ``size`` pairs: dev pairs are scored among as many."""
        if self.dev is None:
            return Thresholds(self.margin_threshold, None, "")
        size = min(size, self.dev_seeds)
        scores = np.concatenate([self._margins(*part, vectors) for part in _parts(self.dev, size)])
        found = calibrate(scores, np.array(self.dev.equivalent), balanced=self.dev_balanced)
        where = f"{self.dev_file}: {len(scores)} pairs, {min(size, len(scores))} at a time"
        return Thresholds(self.margin_threshold, found.threshold, where)

    def _margins(self, one: TwoSided, near: TwoSided, vectors: Tensor) -> Floats:
        source, target = self.rows(vectors, one.source), self.rows(vectors, one.target)
        around = Neighbourhood(*(self.rows(vectors, side) for side in self._candidates(near)))
        return pair_margins(source, target, around, margin=self.margin, k=self.k)

    def _candidates(self, near: TwoSided) -> tuple[list[str], list[str]]:
        """Distinct sentences of both sides, those of the pool included."""
        read = [near] if self.pool is None else [near, self.pool]
        return _distinct(one.source for one in read), _distinct(one.target for one in read)

    # ---- of people

    def _agreement(self) -> dict[str, float]:
        found = agreement_table(self.annotations) if self.annotations else {}
        return {f"agreement/{metric}": value for metric, value in found.items()}

    # ---- how it is shown

    def _detail(self, one: Scored) -> dict[str, object]:
        of, thresholds, equivalent = one.of, one.thresholds, np.array(one.of.equivalent)
        assert thresholds is not None
        both = 0 < equivalent.sum() < len(equivalent)
        return {
            "evaluator": self.name, "set": of.name, "direction": f"{of.source_lang}-{of.target_lang}",
            "pairs": len(equivalent), "equivalent": int(equivalent.sum()), "divergent": int((~equivalent).sum()),
            "threshold": thresholds.fixed, "calibrated_threshold": thresholds.calibrated,
            "calibrated_on": thresholds.tuned_on,
            "best_threshold": calibrate(one.values, equivalent).threshold if both else None,
            "annotators": of.annotators, "pairs_with_scored_words": sum(self.words.are_scored(of)),
            "pairs_without_highlight": sum(not any(map(any, sides)) for sides in of.highlights or []),
        }  # fmt: skip


class _Sides(NamedTuple):
    source: list[str]
    target: list[str]


def _parts(one: TwoSided, size: int) -> Iterator[tuple[_Sides, _Sides]]:
    """The pairs, ``size`` at a time, and those that they are scored among: the last ones with some before them."""
    for start in range(0, len(one.source), size):
        stop = min(start + size, len(one.source))
        first = max(stop - size, 0)
        yield (
            _Sides(one.source[start:stop], one.target[start:stop]),
            _Sides(one.source[first:stop], one.target[first:stop]),
        )


def _distinct(sides: Iterable[list[str]]) -> list[str]:
    return list(dict.fromkeys(text for side in sides for text in side))
