"""Report of scored pairs: histogram of the scores and a sample of pairs."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
PARTS = ("lowest", "near", "highest", "random")  # parts of a sample; ``near`` the threshold
BUFFER = 2**16  # keys to collect before sorting


class ScoredPair(NamedTuple):
    """A sampled pair of a file with its judgement."""

    line: int  # in the file, from 1
    score: float
    texts: tuple[str, str]  # source and target as in the file
    source: tuple[str, ...]  # words
    target: tuple[str, ...]
    source_divergent: tuple[int, ...]  # positions of tagged words, from 0
    target_divergent: tuple[int, ...]
    parts: tuple[str, ...]  # of ``PARTS``


class Histogram(NamedTuple):
    """Counts of scores between equidistant edges; a score on an edge counts as below it."""

    start: float  # the lowest edge
    width: float
    counts: tuple[int, ...]


class ScoreReport(NamedTuple):
    """Report of the pairs of a file."""

    file: str
    judge: str
    languages: tuple[str, str]  # ISO 639-3
    threshold: float
    is_trained: bool  # whether the judge was trained to find divergences
    tags_words: bool
    equivalent: int
    divergent: int
    histogram: Histogram
    pairs: list[ScoredPair]  # the sample, in the order of the file


@dataclass(frozen=True)
class SampleOptions:
    """Sizes of the sample and the histogram, explained in ``conf/job/filter.yaml``.

    Raises:
        ValueError: a number of pairs is negative or not an integer, or there is no bin.
    """

    lowest: int
    near: int
    highest: int
    random: int
    seed: int
    bins: int

    def __post_init__(self) -> None:
        minimums = dict.fromkeys(PARTS, 0) | {"seed": 0, "bins": 1}
        for name, low in minimums.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < low:
                raise ValueError(f"sample.{name}={value}: expected a whole number, at least {low}")


def histogram(scores: Callable[[], Iterable[Scores]], *, threshold: float, bins: int) -> Histogram:
    """Histogram of scores; the threshold is an edge, so that each bar has one class.

    Args:
        scores: returns all scores in parts, in each call; at least one score.
        threshold: included in the range.
        bins: maximum number, plus two at the ends; the width is a round number.
    """
    low = min(threshold, min(float(part.min()) for part in scores()))
    high = max(threshold, max(float(part.max()) for part in scores()))
    width = round_width((high - low) / bins)
    first, last = (int(_bin(np.array([edge]), threshold, width)[0]) for edge in (low, high))
    counts = np.zeros(last - first + 1, dtype=np.int64)
    for part in scores():
        counts += np.bincount(_bin(part, threshold, width) - first, minlength=len(counts))
    return Histogram(threshold + first * width, width, tuple(counts.tolist()))


def _bin(scores: Scores, threshold: float, width: float) -> NDArray[np.int64]:
    """Number of each score's bin; bin -1 ends at the threshold."""
    return np.ceil((scores - threshold) / width).astype(np.int64) - 1


def round_width(width: float) -> float:
    """The next larger value of 1, 2 or 5 times a power of ten; 1 for 0, as for constant scores."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)


def sample_rows(
    scores: Callable[[], Iterable[Scores]], count: int, *, threshold: float, options: SampleOptions
) -> dict[int, tuple[str, ...]]:
    """Sampled pairs with the parts of the sample they belong to, by number of the pair, in order.

    ``scores`` as in ``histogram``, ``count`` of them; a small file has fewer pairs than the options say.
    """
    rng = np.random.default_rng(options.seed)
    rows = {
        "lowest": lowest_rows(scores(), options.lowest),
        "near": lowest_rows((np.abs(part - threshold) for part in scores()), options.near),
        "highest": lowest_rows((-part for part in scores()), options.highest),
        "random": rng.choice(count, min(options.random, count), replace=False),
    }
    parts: dict[int, tuple[str, ...]] = {}
    for part in PARTS:
        for row in rows[part].tolist():
            parts[row] = (*parts.get(row, ()), part)
    return dict(sorted(parts.items()))


def lowest_rows(keys: Iterable[Scores], count: int) -> NDArray[np.int64]:
    """Rows of the ``count`` lowest keys, or of all, ascending; the first of equal keys. O(count) memory."""
    lowest, rows = np.empty(0), np.empty(0, dtype=np.int64)
    buffer: list[Scores] = []
    start = 0

    def merge() -> None:
        nonlocal lowest, rows, start
        size = sum(map(len, buffer))
        lowest = np.concatenate([lowest, *buffer])
        rows = np.concatenate([rows, np.arange(start, start + size)])
        best = np.lexsort((rows, lowest))[:count]
        lowest, rows = lowest[best], rows[best]
        start += size
        buffer.clear()

    for part in keys:
        buffer.append(part)
        if sum(map(len, buffer)) >= max(count, BUFFER):  # so that each key is sorted only a few times
            merge()
    merge()
    return rows
