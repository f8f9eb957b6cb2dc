"""Inter-annotator agreement: Krippendorff's alpha of labels, F1 of highlighted spans and words."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import mean, stdev
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Distance = Callable[[Floats], Floats]  # counts of V values -> (V, V) squared distances


class Annotated(Protocol):
    """Annotation of one pair by one annotator."""

    pair: str
    annotator: str
    level: int  # 0, 1, 2: higher is more divergent
    source: tuple[int, ...]  # per word, 1 where it is highlighted
    target: tuple[int, ...]


# ---- Krippendorff's alpha


def nominal(totals: Floats) -> Floats:
    """Nominal distances (V, V): 0 or 1."""
    return 1 - np.eye(len(totals))


def ordinal(totals: Floats) -> Floats:
    """Ordinal distances (V, V), squared: number of ratings between two values, plus half of their own."""
    ranks = np.cumsum(totals) - totals / 2
    distances: Floats = (ranks[:, None] - ranks[None, :]) ** 2
    return distances


def alpha(counts: ArrayLike, distance: Distance) -> float:
    """Krippendorff's alpha: 1 is full agreement, 0 is chance; NaN if all values are equal or no unit has two.

    Args:
        counts: (U, V), number of annotators that gave unit u the value v, values in order; missing values are not
            counted, and units with fewer than two values are ignored.
        distance: ``nominal`` or ``ordinal``.

    Source:
        Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: section C, any number of observers, missing data.
    """
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) >= 2]
    if not len(table):
        return math.nan
    totals = table.sum(axis=0)  # (V,)
    distances = distance(totals)
    # Over ordered pairs of ratings of a unit; a rating paired with itself adds distance 0.
    within = np.einsum("uv,vw,uw->u", table, distances, table) / (table.sum(axis=1) - 1)
    observed = float(within.sum())
    expected = float(totals @ distances @ totals) / (float(totals.sum()) - 1)
    return 1 - observed / expected if expected else math.nan


def word_alpha(highlighted: ArrayLike, annotators: int) -> float:
    """Nominal alpha of word highlights, from the number of annotators that highlighted each word (N,)."""
    yes = np.asarray(highlighted, dtype=np.float64)
    return alpha(np.stack([annotators - yes, yes], axis=1), nominal)


# ---- highlighted words


def spans(annotated: Annotated) -> list[set[tuple[int, int]]]:
    """Maximal runs of highlighted words, each as its words: side and position."""
    runs = []
    for side, marks in enumerate((annotated.source, annotated.target)):
        edges = np.flatnonzero(np.diff([0, *marks, 0])).tolist()
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            runs.append({(side, word) for word in range(start, end)})
    return runs


def span_f1(reference: Annotated, predicted: Annotated) -> float | None:
    """F1 of the spans of one pair, a share; a span matches another if their overlap is above half of their union.

    Spans of one annotator do not touch, so each matches at most one span of the other. None if neither annotator
    highlighted anything.
    """
    predictions, references = spans(predicted), spans(reference)
    if not predictions and not references:
        return None
    hits = sum(any(len(a & b) / len(a | b) > 0.5 for b in references) for a in predictions)
    return 2 * hits / (len(predictions) + len(references))


def word_f1(reference: Annotated, predicted: Annotated) -> float | None:
    """F1 of the highlighted words of one pair, a share; None if neither annotator highlighted anything."""
    marks, reference_marks = (np.array([*side.source, *side.target], dtype=bool) for side in (predicted, reference))
    total = int(marks.sum() + reference_marks.sum())
    return 2 * int((marks & reference_marks).sum()) / total if total else None


def agreement_table(annotations: Sequence[Annotated]) -> dict[str, float]:
    """Inter-annotator agreement as in Table 2 of Briakou & Carpuat 2020 (arXiv:2010.03662).

    F1 is averaged over the sentence pairs that two annotators share (macro), then over the pairs of annotators; it is
    symmetric. Sentence pairs where neither highlighted anything are ignored (ours: the paper does not say).

    Returns:
        ``alpha_nominal`` and ``alpha_ordinal`` of the labels (the paper does not say which it reports); ``span_f1`` and
        ``word_f1`` in percent, and ``span_f1_sd``, ``word_f1_sd``, their standard deviation over the pairs of
        annotators, NaN if there is one pair.
    """
    by_annotator: dict[str, dict[str, Annotated]] = defaultdict(dict)
    for annotated in annotations:
        by_annotator[annotated.annotator][annotated.pair] = annotated
    labels = _label_counts(annotations)
    table = {"alpha_nominal": alpha(labels, nominal), "alpha_ordinal": alpha(labels, ordinal)}
    for name, f1 in (("span_f1", span_f1), ("word_f1", word_f1)):
        means = []
        for a, b in combinations(by_annotator.values(), 2):
            shares = [f1(b[pair], annotated) for pair, annotated in a.items() if pair in b]
            if defined := [share for share in shares if share is not None]:
                means.append(mean(defined))
        table[name] = 100 * mean(means) if means else math.nan
        table[f"{name}_sd"] = 100 * stdev(means) if len(means) > 1 else math.nan
    return table


def _label_counts(annotations: Sequence[Annotated]) -> Floats:
    """(pairs, labels), number of annotators that gave a pair a label."""
    row_of = {pair: row for row, pair in enumerate(dict.fromkeys(annotated.pair for annotated in annotations))}
    counts = np.zeros((len(row_of), 1 + max(annotated.level for annotated in annotations)))
    for annotated in annotations:
        counts[row_of[annotated.pair], annotated.level] += 1
    return counts
