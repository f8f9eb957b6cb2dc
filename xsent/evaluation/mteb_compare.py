"""Figures of ``mteb`` beside ours, of the same vectors: equal where the definition is one, else explained."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from xsent.evaluation.clsd_mteb import CLOSE, FIGURE, ROWS
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.margin import best_targets
from xsent.evaluation.mteb_local import DISCRIMINATION, KINDS, Subset, by_item
from xsent.evaluation.sts import spearman
from xsent.evaluation.thresholds import Floats, best_threshold, roc_curve, verdict
from xsent.similarity import cos_sim, pairwise_cos_sim

Scores = Mapping[str, Mapping[str, float]]  # of mteb, by subset and figure, shares
TOLERANCE = 5e-5  # percent: mteb writes shares with six digits, so that half of the last one may be missing

SAME = "same"
REASONS = {
    "doubtful": "one definition, told apart by ties: mteb counts places where we compare texts, and takes cosines in"
    " float32; no more sentences differ than stand there twice or lead by less than 1e-6",
    "ranks": "one definition; mteb takes cosines in float32, where those nearer than 1e-6 may stand in any order, and"
    " its figure is one that such orders give",
    "cut": "one definition, but that mteb's threshold takes one pair at least and leaves one, where ours may take none"
    " or all; and cosines nearer than 1e-6 may stand in any order in float32",
    "constant": "undefined: all cosines are the same, and we call that no correlation",
    "f1": "every sentence is a class of its own with mteb, and F1 is averaged over them: an answer given twice costs"
    " precision; ours is the share found",
    "margin": "mteb takes the nearest by cosine, ours is by margin score",
    "mining": "mteb is given the gold pairs alone and matches them; ours has to find them among all sentences of both"
    " sides, above a threshold, and is their F1",
    "calibrated": "mteb chooses the threshold that is best on the very pairs it scores; ours is chosen on dev pairs",
    "conventional": "mteb chooses the threshold of the cosine that is best on the very pairs it scores; ours is a"
    " threshold of margin scores by convention",
    "own": "mteb ranks the candidates of all sources, ours is among each source's own",
}


class Compared(NamedTuple):
    """A figure of mteb and ours, both in percent."""

    subset: str
    figure: str  # mteb's name
    mteb: float
    ours_is: str  # what ours is
    ours: float
    reason: str | None = None  # of ``REASONS``, where the definitions differ; None: they are one
    within: tuple[float, float] | None = None  # where mteb's may be, of one definition, for ...
    because: str = "doubtful"  # ... this of ``REASONS``

    @property
    def difference(self) -> float:
        """Theirs less ours."""
        return self.mteb - self.ours

    @property
    def why(self) -> str | None:
        """``same``, or why the figures differ; None where nothing explains it."""
        if self.reason is not None:
            return REASONS[self.reason]
        if math.isnan(self.ours):
            return REASONS["constant"]
        if abs(self.difference) <= TOLERANCE:
            return SAME
        low, high = self.within or (self.ours, self.ours)
        return REASONS[self.because] if low - TOLERANCE <= self.mteb <= high + TOLERANCE else None


def compare(kind: str, evaluator: Any, vectors: Tensor, scores: Scores) -> list[Compared]:
    """Rows of a local task.

    Args:
        kind: as in ``local_task``.
        evaluator: whose test sets the task is made of.
        vectors: (N, D) of ``evaluator.sentences()``, those that mteb was given.
        scores: of mteb.
    """
    return list(_COMPARED[kind](evaluator, vectors, scores, evaluator.score(vectors)))


def _bitext(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    is_one = evaluator.margin == "absolute"
    for item, one in KINDS["bitext"].subsets(evaluator).items():
        ours = found.metrics[f"{evaluator.name}/{item}/accuracy"]
        doubt = _doubtful(*_rows(evaluator, vectors, one), one.target)
        yield from _translations(item, scores, "accuracy", ours, doubt, None if is_one else "margin")


def _noisy(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    is_one = evaluator.search.margin == "absolute"
    for item, one in KINDS["noisy"].subsets(evaluator).items():
        ours = _found(evaluator, vectors, one) if is_one else 100 - found.metrics[f"{evaluator.name}/{item}/xsim"]
        doubt = _doubtful(*_rows(evaluator, vectors, one), one.target)
        yield from _translations(item, scores, "100 - xsim", ours, doubt, None if is_one else "margin")


def _translations(
    item: str, scores: Scores, figure: str, ours: float, doubt: float, why: str | None
) -> Iterator[Compared]:
    """Accuracy, which equals ours up to what ``doubt`` allows, and F1, which is another figure."""
    within = (ours - doubt, ours + doubt)
    yield Compared(item, "accuracy", 100 * scores[item]["accuracy"], figure, ours, why, within)
    yield Compared(item, "f1", 100 * scores[item]["f1"], figure, ours, "f1")


def _gold(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    for item, one in KINDS["gold"].subsets(evaluator).items():
        doubt = _doubtful(*_rows(evaluator, vectors, one), one.target)
        ours = _found(evaluator, vectors, one)
        yield Compared(
            item,
            "accuracy",
            100 * scores[item]["accuracy"],
            "accuracy of gold pairs",
            ours,
            None,
            (ours - doubt, ours + doubt),
        )
        mined = found.metrics[f"{evaluator.name}/{item}/f1"]
        yield Compared(item, "f1", 100 * scores[item]["f1"], "f1 of mining", mined, "mining")


def _similarity(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    for item, one in KINDS["similarity"].subsets(evaluator).items():
        assert one.values is not None
        ours, gold = found.metrics[f"{evaluator.name}/{item}/spearman"], np.array(one.values)
        low, high = (100 * spearman(order, gold) for order in orders(_cosines(evaluator, vectors, one), gold))
        theirs = 100 * scores[item]["cosine_spearman"]
        yield Compared(item, "cosine_spearman", theirs, "spearman", ours, None, (low, high), "ranks")


def _labelled(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    of_set = {(row["kind"], row["direction"]): row["accuracy"] for row in found.details}
    for item, pairs in by_item(evaluator.scored).items():
        yield from _classified(evaluator, vectors, KINDS["labelled"].subsets(evaluator)[item], item, scores[item])
        ours = of_set[pairs.kind, f"{pairs.source_lang}-{pairs.target_lang}"]
        yield Compared(
            item, "cosine_accuracy", 100 * scores[item]["cosine_accuracy"], "accuracy", float(str(ours)), "calibrated"
        )


def _divergence(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    for item, one in KINDS["divergence"].subsets(evaluator).items():
        yield from _classified(evaluator, vectors, one, item, scores[item])
        # Recall, weighted by the shares of the classes, is accuracy.
        ours = found.metrics[f"{evaluator.name}/{item}/recall"]
        yield Compared(item, "cosine_accuracy", 100 * scores[item]["cosine_accuracy"], "recall", ours, "conventional")


def _classified(
    evaluator: Any, vectors: Tensor, one: Subset, item: str, scores: Mapping[str, float]
) -> Iterator[Compared]:
    """Average precision and the best accuracy that a threshold could have, ours by our own definition of both."""
    cosines, labels = _cosines(evaluator, vectors, one), np.array(one.values) == 1
    both = [cosines, *orders(cosines, labels)]
    ours, *within = (100 * average_precision(order, labels) for order in both)
    theirs = 100 * scores["cosine_ap"]
    yield Compared(item, "cosine_ap", theirs, "average precision", ours, None, (within[0], within[1]), "ranks")
    worst, best = both[1:]
    limits = 100 * _best_cut(worst, labels), 100 * _best_accuracy(best, labels)
    theirs, ours = 100 * scores["cosine_accuracy"], 100 * _best_accuracy(cosines, labels)
    yield Compared(item, "cosine_accuracy", theirs, "best accuracy", ours, None, limits, "cut")


def _discrimination(evaluator: Any, vectors: Tensor, scores: Scores, found: Evaluation) -> Iterator[Compared]:
    stripped = sum(text != text.strip() for text in evaluator.texts())  # mteb strips, which may make other vectors
    for row in found.details:
        item = str(row["direction"])
        queries = int(str(row["queries"]))
        # mteb rounds shares to five digits: of fewer than 100,000 queries that leaves no doubt how many were right.
        theirs = 100 * round(scores[item][FIGURE] * queries) / queries
        doubtful = int(str(row["pool_close"])) + int(str(row["pool_repeated"])) + stripped
        ours = found.metrics[f"{evaluator.name}/{item}/pool_recall_at_1"]
        doubt = 100 * doubtful / queries
        yield Compared(item, FIGURE, theirs, "pool_recall_at_1", ours, None, (ours - doubt, ours + doubt))
        yield Compared(item, FIGURE, theirs, "p_at_1", found.metrics[f"{evaluator.name}/{item}/p_at_1"], "own")


_COMPARED: Mapping[str, Callable[[Any, Tensor, Scores, Evaluation], Iterator[Compared]]] = {
    "bitext": _bitext, "gold": _gold, "noisy": _noisy, "similarity": _similarity, "labelled": _labelled,
    "divergence": _divergence, DISCRIMINATION: _discrimination,
}  # fmt: skip


# ---- what one definition leaves open


def _rows(evaluator: Any, vectors: Tensor, one: Subset) -> tuple[Tensor, Tensor]:
    return evaluator.rows(vectors, one.source), evaluator.rows(vectors, one.target)


def _cosines(evaluator: Any, vectors: Tensor, one: Subset) -> Floats:
    source, target = (side.double() for side in _rows(evaluator, vectors, one))
    cosines: Floats = pairwise_cos_sim(source, target).numpy(force=True)
    return cosines


def _found(evaluator: Any, vectors: Tensor, one: Subset) -> float:
    """Percent of the sources whose nearest target has the right text."""
    best, _ = best_targets(*_rows(evaluator, vectors, one), margin="absolute", k=1, candidates="knn")
    right = sum(one.target[row] == text for row, text in zip(best.rows.tolist(), one.target, strict=True))
    return 100 * float(right) / len(one.target)


def _doubtful(x: Tensor, y: Tensor, texts: Sequence[str]) -> float:
    """Percent of the queries (N, D) whose own of ``texts`` is there twice, or leads or lags by less than rounding."""
    seen = Counter(texts)
    repeated = torch.tensor([seen[text] > 1 for text in texts], device=x.device)
    close = []
    for start in range(0, len(x), ROWS):
        cosines = cos_sim(x[start : start + ROWS].double(), y.double())  # (n, N)
        own = torch.arange(start, start + len(cosines), device=x.device)[:, None]
        others = cosines.scatter(1, own, -torch.inf).max(dim=1).values
        close.append((cosines.gather(1, own)[:, 0] - others).abs() < CLOSE)
    return 100 * float((repeated | torch.cat(close)).double().mean())


def average_precision(scores: Floats, labels: Sequence[bool] | np.ndarray[Any, Any]) -> float:
    """Mean over the positive pairs of the precision where each is taken, 0 to 1; pairs of one score are taken together.

    Args:
        scores: (N,), the higher, the more likely positive.
        labels: (N,) bool, both classes.
    """
    roc = roc_curve(scores, labels)
    taken = roc.positives[1:] / (roc.positives[1:] + roc.negatives[1:])
    return float((np.diff(roc.positives) * taken).sum() / roc.positives[-1])


def _best_accuracy(scores: Floats, labels: np.ndarray[Any, Any]) -> float:
    return verdict(scores >= best_threshold(roc_curve(scores, labels), "accuracy"), labels).accuracy


def _best_cut(scores: Floats, labels: np.ndarray[Any, Any]) -> float:
    """The best accuracy of a threshold that takes some of the pairs and not all."""
    roc = roc_curve(scores, labels)
    right = roc.positives[1:-1] + roc.negatives[-1] - roc.negatives[1:-1]
    return float(right.max(initial=0)) / len(labels)


def orders(scores: Floats, gold: np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """The worst and the best order of pairs that rounding could make of these scores.

    Scores that follow each other by less than ``CLOSE`` are one group, whose pairs may stand in any order.

    Args:
        scores: (N,).
        gold: (N,), what should order them.

    Returns:
        Twice (N,), places: within a group the pairs of least gold on top, and those of most.
    """
    rising = np.argsort(scores, kind="stable")
    group = np.empty(len(scores))
    group[rising] = np.cumsum(np.diff(scores[rising], prepend=scores[rising[:1]]) >= CLOSE)
    share = rankdata(gold) / (len(gold) + 1)  # between 0 and 1
    return group - share, group + share
