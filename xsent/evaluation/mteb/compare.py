"""Comparison of mteb's metrics with ours on the same vectors: equal where definitions agree, otherwise explained."""

from __future__ import annotations

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
from xsent.evaluation.mteb.clsd import CLOSE, FIGURE, ROWS
from xsent.evaluation.mteb.local_tasks import DISCRIMINATION, KINDS, Subset, by_item
from xsent.evaluation.search.margin import best_targets
from xsent.evaluation.similarity.sts import spearman
from xsent.evaluation.statistics.thresholds import Bools, Floats, best_threshold, decision_quality, roc_curve
from xsent.similarity import cos_sim, pairwise_cos_sim

Scores = Mapping[str, Mapping[str, float]]  # of mteb, by subset and figure, shares
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


def compare(kind: str, evaluator: Any, vectors: Tensor, scores: Scores) -> list[Comparison]:
    """Rows of a local task.

    Args:
        kind: as in ``local_task``.
        evaluator: that the task was made of.
        vectors: (N, D) of ``evaluator.sentences()``, the same that mteb used.
        scores: of mteb.
    """
    return list(_COMPARISONS[kind](evaluator, vectors, scores, evaluator.score(vectors)))


def _bitext(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    for item, pairs in KINDS["bitext"].subsets(evaluator).items():
        accuracy = ours.metrics[f"{evaluator.name}/{item}/accuracy"]
        yield from _retrieval(evaluator, vectors, item, pairs, scores, "accuracy", accuracy)


def _noisy(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    for item, pairs in KINDS["noisy"].subsets(evaluator).items():
        if evaluator.search.margin == "absolute":
            accuracy = _accuracy(evaluator, vectors, pairs)
        else:
            accuracy = 100 - ours.metrics[f"{evaluator.name}/{item}/xsim"]
        yield from _retrieval(evaluator, vectors, item, pairs, scores, "100 - xsim", accuracy)


def _retrieval(
    evaluator: Any, vectors: Tensor, item: str, pairs: Subset, scores: Scores, figure: str, accuracy: float
) -> Iterator[Comparison]:
    """Accuracy, equal up to doubtful answers, and F1, which mteb defines differently."""
    reason = None if evaluator.search.margin == "absolute" else "margin"
    within = _doubtful_range(evaluator, vectors, pairs, accuracy)
    yield Comparison(item, "accuracy", 100 * scores[item]["accuracy"], figure, accuracy, reason, within)
    yield Comparison(item, "f1", 100 * scores[item]["f1"], figure, accuracy, "f1")


def _gold(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    for item, pairs in KINDS["gold"].subsets(evaluator).items():
        accuracy = _accuracy(evaluator, vectors, pairs)
        within = _doubtful_range(evaluator, vectors, pairs, accuracy)
        theirs = 100 * scores[item]["accuracy"]
        yield Comparison(item, "accuracy", theirs, "accuracy of gold pairs", accuracy, None, within)
        mined = ours.metrics[f"{evaluator.name}/{item}/f1"]
        yield Comparison(item, "f1", 100 * scores[item]["f1"], "f1 of mining", mined, "mining")


def _similarity(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    for item, pairs in KINDS["similarity"].subsets(evaluator).items():
        assert pairs.values is not None
        rho, gold = ours.metrics[f"{evaluator.name}/{item}/spearman"], np.array(pairs.values)
        low, high = (100 * spearman(order, gold) for order in orders(_cosines(evaluator, vectors, pairs), gold))
        theirs = 100 * scores[item]["cosine_spearman"]
        yield Comparison(item, "cosine_spearman", theirs, "spearman", rho, None, (low, high), "ranks")


def _labelled(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    accuracies = {(row["kind"], row["direction"]): float(str(row["accuracy"])) for row in ours.details}
    subsets = KINDS["labelled"].subsets(evaluator)
    for item, pairs in by_item(evaluator.scored).items():
        yield from _classification(evaluator, vectors, subsets[item], item, scores[item])
        accuracy = accuracies[pairs.kind, f"{pairs.source_lang}-{pairs.target_lang}"]
        theirs = 100 * scores[item]["cosine_accuracy"]
        yield Comparison(item, "cosine_accuracy", theirs, "accuracy", accuracy, "calibrated")


def _divergence(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    for item, pairs in KINDS["divergence"].subsets(evaluator).items():
        yield from _classification(evaluator, vectors, pairs, item, scores[item])
        # Recall, weighted by the shares of the classes, is accuracy.
        recall = ours.metrics[f"{evaluator.name}/{item}/recall"]
        theirs = 100 * scores[item]["cosine_accuracy"]
        yield Comparison(item, "cosine_accuracy", theirs, "recall", recall, "conventional")


def _classification(
    evaluator: Any, vectors: Tensor, pairs: Subset, item: str, scores: Mapping[str, float]
) -> Iterator[Comparison]:
    """Average precision, and the accuracy of the best threshold."""
    cosines, labels = _cosines(evaluator, vectors, pairs), np.array(pairs.values) == 1
    worst, best = orders(cosines, labels)
    ours, low, high = (100 * float(average_precision_score(labels, values)) for values in (cosines, worst, best))
    yield Comparison(
        item, "cosine_ap", 100 * scores["cosine_ap"], "average precision", ours, None, (low, high), "ranks"
    )
    within = 100 * _best_cut(worst, labels), 100 * _best_accuracy(best, labels)
    theirs, ours = 100 * scores["cosine_accuracy"], 100 * _best_accuracy(cosines, labels)
    yield Comparison(item, "cosine_accuracy", theirs, "best accuracy", ours, None, within, "cut")


def _discrimination(evaluator: Any, vectors: Tensor, scores: Scores, ours: Evaluation) -> Iterator[Comparison]:
    stripped = sum(text != text.strip() for text in evaluator.texts())  # mteb strips texts, which may change vectors
    for row in ours.details:
        item, prefix = str(row["direction"]), f"{evaluator.name}/{row['direction']}"
        queries, close, repeated = (int(str(row[column])) for column in ("queries", "pool_close", "pool_repeated"))
        # mteb rounds shares to five digits, which is exact for fewer than 100,000 queries.
        theirs = 100 * round(scores[item][FIGURE] * queries) / queries
        recall, doubt = ours.metrics[f"{prefix}/pool_recall_at_1"], 100 * (close + repeated + stripped) / queries
        yield Comparison(item, FIGURE, theirs, "pool_recall_at_1", recall, None, (recall - doubt, recall + doubt))
        yield Comparison(item, FIGURE, theirs, "p_at_1", ours.metrics[f"{prefix}/p_at_1"], "own")


_COMPARISONS: Mapping[str, Callable[[Any, Tensor, Scores, Evaluation], Iterator[Comparison]]] = {
    "bitext": _bitext,
    "gold": _gold,
    "noisy": _noisy,
    "similarity": _similarity,
    "labelled": _labelled,
    "divergence": _divergence,
    DISCRIMINATION: _discrimination,
}


# ---- effects of ties and rounding


def _rows(evaluator: Any, vectors: Tensor, pairs: Subset) -> tuple[Tensor, Tensor]:
    return evaluator.rows(vectors, pairs.source), evaluator.rows(vectors, pairs.target)


def _cosines(evaluator: Any, vectors: Tensor, pairs: Subset) -> Floats:
    source, target = (side.double() for side in _rows(evaluator, vectors, pairs))
    cosines: Floats = pairwise_cos_sim(source, target).numpy(force=True)
    return cosines


def _accuracy(evaluator: Any, vectors: Tensor, pairs: Subset) -> float:
    """Percent of the sources whose nearest target has the right text."""
    best, _ = best_targets(*_rows(evaluator, vectors, pairs), margin="absolute", k=1, candidates="knn")
    right = sum(pairs.target[row] == text for row, text in zip(best.rows.tolist(), pairs.target, strict=True))
    return 100 * float(right) / len(pairs.target)


def _doubtful_range(evaluator: Any, vectors: Tensor, pairs: Subset, accuracy: float) -> tuple[float, float]:
    """Accuracy minus and plus the percentage of queries with a repeated target or a lead below rounding errors."""
    x, y = _rows(evaluator, vectors, pairs)
    counts = Counter(pairs.target)
    repeated = torch.tensor([counts[text] > 1 for text in pairs.target], device=x.device)
    close = []
    for start in range(0, len(x), ROWS):
        cosines = cos_sim(x[start : start + ROWS].double(), y.double())  # (n, N)
        answer = torch.arange(start, start + len(cosines), device=x.device)[:, None]
        rivals = cosines.scatter(1, answer, -torch.inf).max(dim=1).values
        close.append((cosines.gather(1, answer)[:, 0] - rivals).abs() < CLOSE)
    doubt = 100 * float((repeated | torch.cat(close)).double().mean())
    return accuracy - doubt, accuracy + doubt


def _best_accuracy(scores: Floats, labels: Bools) -> float:
    return decision_quality(scores >= best_threshold(roc_curve(scores, labels), "accuracy"), labels).accuracy


def _best_cut(scores: Floats, labels: Bools) -> float:
    """Best accuracy of a threshold that accepts some pairs, but not all."""
    roc = roc_curve(scores, labels)
    right = roc.positives[1:-1] + roc.negatives[-1] - roc.negatives[1:-1]
    return float(right.max(initial=0)) / len(labels)


def orders(scores: Floats, gold: Sequence[float] | np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """The worst and the best order of pairs that rounding could make of these scores.

    Scores with gaps below ``CLOSE`` are one group, whose pairs may be in any order.

    Args:
        scores: (N,).
        gold: (N,), values that the scores should rank.

    Returns:
        Two orders (N,): in a group, pairs with the lowest gold value on top, and with the highest.
    """
    rising = np.argsort(scores, kind="stable")
    group = np.empty(len(scores))
    group[rising] = np.cumsum(np.diff(scores[rising], prepend=scores[rising[:1]]) >= CLOSE)
    share = rankdata(gold) / (len(gold) + 1)  # between 0 and 1
    return group - share, group + share
