"""Comparison of mteb's metrics with ours on the same vectors: equal where definitions agree, otherwise explained."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score
from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.mteb.clsd import CLOSE, ROWS
from xsent.evaluation.mteb.local_tasks import DISCRIMINATION, FIGURE, KINDS, Subset, by_item
from xsent.evaluation.search.margin import best_targets
from xsent.evaluation.similarity.sts import spearman
from xsent.evaluation.statistics.thresholds import Bools, Floats, best_threshold, decision_quality, roc_curve
from xsent.similarity import cos_sim, pairwise_cos_sim

TOLERANCE = 5e-5  # percent: mteb writes shares with six digits

EQUAL = "same"
REASONS = {
    "doubtful": "one definition, but ties differ: mteb compares positions where we compare texts, and computes cosines"
    " in float32; no more sentences differ than are repeated or lead by less than 1e-6",
    "ranks": "one definition; mteb computes cosines in float32, where those closer than 1e-6 may be in any order, and"
    " its figure is possible with such orders",
    "cut": "one definition, but mteb's threshold accepts at least one pair and rejects one, where ours may accept none"
    " or all; and cosines closer than 1e-6 may be in any order in float32",
    "constant": "undefined: all cosines are equal, for which we report no correlation",
    "f1": "mteb treats every sentence as a class and averages F1 over them: a repeated answer costs precision; ours is"
    " the share of right answers",
    "margin": "mteb takes the nearest by cosine, ours is by margin score",
    "mining": "mteb matches the gold pairs only; ours is the F1 of finding them among all sentences of both sides,"
    " above a threshold",
    "calibrated": "mteb chooses the best threshold on the scored pairs; ours is chosen on dev pairs",
    "conventional": "mteb chooses the best cosine threshold on the scored pairs; ours is a conventional threshold of"
    " margin scores",
    "own": "mteb ranks the candidates of all sources, ours is among each source's own",
}


class Comparison(NamedTuple):
    """A metric of mteb and ours, both in percent."""

    subset: str
    figure: str  # mteb's name
    mteb: float
    ours_is: str  # our name
    ours: float
    reason: str | None = None  # key of ``REASONS`` if the definitions differ
    within: tuple[float, float] | None = None  # range of mteb's metric if they agree ...
    because: str = "doubtful"  # ... and the key of ``REASONS`` that explains it

    @property
    def difference(self) -> float:
        """mteb's metric minus ours."""
        return self.mteb - self.ours

    @property
    def why(self) -> str | None:
        """``same``, or the reason of the difference; None if there is no explanation."""
        if self.reason is not None:
            return REASONS[self.reason]
        if math.isnan(self.ours):
            return REASONS["constant"]
        if abs(self.difference) <= TOLERANCE:
            return EQUAL
        low, high = self.within or (self.ours, self.ours)
        return REASONS[self.because] if low - TOLERANCE <= self.mteb <= high + TOLERANCE else None


class _Measured(NamedTuple):
    """A subset with both results."""

    item: str
    pairs: Subset
    scores: Mapping[str, float]  # of mteb, by figure, shares
    evaluator: Any
    vectors: Tensor
    ours: Evaluation

    def row(self, figure: str, ours_is: str, ours: float, **explanation: Any) -> Comparison:
        return Comparison(self.item, figure, 100 * self.scores[figure], ours_is, ours, **explanation)

    def metric(self, name: str) -> float:
        """Our metric of this subset."""
        return self.ours.metrics[f"{self.evaluator.name}/{self.item}/{name}"]

    def sides(self) -> tuple[Tensor, Tensor]:
        source, target = (self.evaluator.rows(self.vectors, side) for side in (self.pairs.source, self.pairs.target))
        return source, target

    def cosines(self) -> Floats:
        cosines: Floats = pairwise_cos_sim(*(side.double() for side in self.sides())).numpy(force=True)
        return cosines

    def accuracy(self) -> float:
        """Percent of the sources whose nearest target has the right text."""
        best, _ = best_targets(*self.sides(), margin="absolute", k=1, candidates="knn")
        target = self.pairs.target
        right = sum(target[row] == text for row, text in zip(best.rows.tolist(), target, strict=True))
        return 100 * float(right) / len(target)

    def doubtful_range(self, accuracy: float) -> tuple[float, float]:
        """Accuracy minus and plus the percentage of queries with a repeated target or a lead below rounding errors."""
        x, y = self.sides()
        counts = Counter(self.pairs.target)
        repeated = torch.tensor([counts[text] > 1 for text in self.pairs.target], device=x.device)
        close = []
        for start in range(0, len(x), ROWS):
            cosines = cos_sim(x[start : start + ROWS].double(), y.double())  # (n, N)
            answer = torch.arange(start, start + len(cosines), device=x.device)[:, None]
            rivals = cosines.scatter(1, answer, -torch.inf).max(dim=1).values
            close.append((cosines.gather(1, answer)[:, 0] - rivals).abs() < CLOSE)
        doubt = 100 * float((repeated | torch.cat(close)).double().mean())
        return accuracy - doubt, accuracy + doubt


def compare(kind: str, evaluator: Any, vectors: Tensor, scores: Mapping[str, Mapping[str, float]]) -> list[Comparison]:
    """Rows of a local task.

    Args:
        kind, evaluator: as in ``local_task``.
        vectors: (N, D) of ``evaluator.sentences()``, the same that mteb used.
        scores: of mteb, by subset and figure, shares.
    """
    ours = evaluator.score(vectors)
    return [
        row
        for item, pairs in KINDS[kind].subsets(evaluator).items()
        for row in _COMPARISONS[kind](_Measured(item, pairs, scores[item], evaluator, vectors, ours))
    ]


def _bitext(measured: _Measured) -> Iterator[Comparison]:
    yield from _retrieval(measured, "accuracy", measured.metric("accuracy"))


def _noisy(measured: _Measured) -> Iterator[Comparison]:
    nearest = measured.evaluator.search.margin == "absolute"
    yield from _retrieval(measured, "100 - xsim", measured.accuracy() if nearest else 100 - measured.metric("xsim"))


def _retrieval(measured: _Measured, figure: str, accuracy: float) -> Iterator[Comparison]:
    """Accuracy, equal up to doubtful answers, and F1, which mteb defines differently."""
    reason = None if measured.evaluator.search.margin == "absolute" else "margin"
    yield measured.row("accuracy", figure, accuracy, reason=reason, within=measured.doubtful_range(accuracy))
    yield measured.row("f1", figure, accuracy, reason="f1")


def _gold(measured: _Measured) -> Iterator[Comparison]:
    accuracy = measured.accuracy()
    yield measured.row("accuracy", "accuracy of gold pairs", accuracy, within=measured.doubtful_range(accuracy))
    yield measured.row("f1", "f1 of mining", measured.metric("f1"), reason="mining")


def _similarity(measured: _Measured) -> Iterator[Comparison]:
    gold = np.array(measured.pairs.values)
    low, high = (100 * spearman(order, gold) for order in orders(measured.cosines(), gold))
    rho = measured.metric("spearman")
    yield measured.row("cosine_spearman", "spearman", rho, within=(low, high), because="ranks")


def _labelled(measured: _Measured) -> Iterator[Comparison]:
    yield from _classification(measured)
    pairs = by_item(measured.evaluator.scored)[measured.item]
    key = (pairs.kind, f"{pairs.source_lang}-{pairs.target_lang}")
    detail = next(row for row in measured.ours.details if (row["kind"], row["direction"]) == key)
    yield measured.row("cosine_accuracy", "accuracy", float(str(detail["accuracy"])), reason="calibrated")


def _divergence(measured: _Measured) -> Iterator[Comparison]:
    yield from _classification(measured)
    # Recall, weighted by the shares of the classes, is accuracy.
    yield measured.row("cosine_accuracy", "recall", measured.metric("recall"), reason="conventional")


def _classification(measured: _Measured) -> Iterator[Comparison]:
    """Average precision, and the accuracy of the best threshold."""
    cosines, labels = measured.cosines(), np.array(measured.pairs.values) == 1
    worst, best = orders(cosines, labels)
    ours, low, high = (100 * float(average_precision_score(labels, values)) for values in (cosines, worst, best))
    yield measured.row("cosine_ap", "average precision", ours, within=(low, high), because="ranks")
    within = 100 * _best_cut(worst, labels), 100 * _best_accuracy(best, labels)
    ours = 100 * _best_accuracy(cosines, labels)
    yield measured.row("cosine_accuracy", "best accuracy", ours, within=within, because="cut")


def _discrimination(measured: _Measured) -> Iterator[Comparison]:
    detail = next(row for row in measured.ours.details if row["direction"] == measured.item)
    queries, close, repeated = (int(str(detail[column])) for column in ("queries", "pool_close", "pool_repeated"))
    # mteb rounds shares to five digits, which is exact for fewer than 100,000 queries.
    exact = measured._replace(scores={FIGURE: round(measured.scores[FIGURE] * queries) / queries})
    stripped = sum(text != text.strip() for text in measured.evaluator.texts())  # by mteb, which may change vectors
    recall, doubt = measured.metric("pool_recall_at_1"), 100 * (close + repeated + stripped) / queries
    yield exact.row(FIGURE, "pool_recall_at_1", recall, within=(recall - doubt, recall + doubt))
    yield exact.row(FIGURE, "p_at_1", measured.metric("p_at_1"), reason="own")


_COMPARISONS: Mapping[str, Callable[[_Measured], Iterator[Comparison]]] = {
    "bitext": _bitext,
    "gold": _gold,
    "noisy": _noisy,
    "similarity": _similarity,
    "labelled": _labelled,
    "divergence": _divergence,
    DISCRIMINATION: _discrimination,
}


# ---- effects of ties and rounding


def _best_accuracy(scores: Floats, labels: Bools) -> float:
    return decision_quality(scores >= best_threshold(roc_curve(scores, labels), "accuracy"), labels).accuracy


def _best_cut(scores: Floats, labels: Bools) -> float:
    """Best accuracy of a threshold that accepts some pairs, but not all."""
    roc = roc_curve(scores, labels)
    right = roc.positives[1:-1] + roc.negatives[-1] - roc.negatives[1:-1]
    return float(right.max(initial=0)) / len(labels)


def orders(scores: Floats, gold: Sequence[float] | np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """The worst and the best order (N,) that rounding could make of scores (N,) that should rank ``gold`` (N,).

    Scores with gaps below ``CLOSE`` are one group, whose pairs may be in any order: those with the lowest gold value on
    top, or with the highest.
    """
    rising = np.argsort(scores, kind="stable")
    group = np.empty(len(scores))
    group[rising] = np.cumsum(np.diff(scores[rising], prepend=scores[rising[:1]]) >= CLOSE)
    share = rankdata(gold) / (len(gold) + 1)  # between 0 and 1
    return group - share, group + share
