"""What a person is shown of any number of scored pairs: a histogram, and a sample of both ends and of the middle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
PARTS = ("lowest", "near", "highest", "random")  # of a sample; near the threshold
AT_ONCE = 2**16  # keys that wait for being compared


class ScoredPair(NamedTuple):
    """A pair of a file, what a judge said of it, and why it is in the sample."""

    line: int  # in the file, from 1
    score: float
    source: tuple[str, ...]
    target: tuple[str, ...]
    source_divergent: tuple[int, ...]  # positions from 0 of the words that are tagged
    target_divergent: tuple[int, ...]
    parts: tuple[str, ...]  # of ``PARTS``


class Histogram(NamedTuple):
    """Numbers of scores between equidistant edges; a score on an edge counts below it, as one on the threshold does."""

    start: float  # the lowest edge
    width: float
    counts: tuple[int, ...]


class ScoreReport(NamedTuple):
    """What is told of the pairs of a file."""

    file: str
    judge: str
    languages: tuple[str, str]  # ISO 639-3
    threshold: float
    tags_words: bool
    equivalent: int
    divergent: int
    histogram: Histogram
    pairs: list[ScoredPair]  # the sample, in the order of the file


@dataclass(frozen=True)
class SampleOptions:
    """How much is shown; ``conf/filter.yaml`` says what each means.

    Raises:
        ValueError: a number of pairs that is none, or no bin.
    """

    lowest: int
    near: int
    highest: int
    random: int
    seed: int
    bins: int

    def __post_init__(self) -> None:
        least = dict.fromkeys(PARTS, 0) | {"seed": 0, "bins": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < low:
                raise ValueError(f"sample.{name}={value}: expected a whole number, at least {low}")


def histogram(scores: Callable[[], Iterable[Scores]], *, threshold: float, bins: int) -> Histogram:
    """Count scores; the threshold is one of the edges, so that each bar is of one class.

    Args:
        scores: gives all of them, part by part, each time it is called; at least one score.
        threshold: the range covers it too.
        bins: so many, or fewer as the width is a round number, and two more at the ends.
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
    """Number of each score's bin, -1 being the one that ends at the threshold."""
    return np.ceil((scores - threshold) / width).astype(np.int64) - 1


def round_width(width: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten; of 0, as where all scores are one, it is 1."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)


def sample(
    scores: Callable[[], Iterable[Scores]], count: int, *, threshold: float, options: SampleOptions
) -> dict[int, tuple[str, ...]]:
    """The parts of the sample that a pair is in, by number of the pair, in order; pairs in none are left out.

    Args:
        scores: as of ``histogram``.
        count: of all scores.
        threshold: what ``near`` is near to.
        options: how many of each; a small file has fewer.
    """
    rng = np.random.default_rng(options.seed)
    numbers = {
        "lowest": lowest(scores(), options.lowest),
        "near": lowest((np.abs(part - threshold) for part in scores()), options.near),
        "highest": lowest((-part for part in scores()), options.highest),
        "random": rng.choice(count, min(options.random, count), replace=False),
    }
    parts: dict[int, tuple[str, ...]] = {}
    for part in PARTS:
        for number in numbers[part].tolist():
            parts[number] = (*parts.get(number, ()), part)
    return dict(sorted(parts.items()))


def lowest(keys: Iterable[Scores], count: int) -> NDArray[np.int64]:
    """Numbers of the ``count`` lowest keys, lowest first; of equal keys the first. Memory grows with ``count`` alone.

    Args:
        keys: part by part.
        count: of all, if there are fewer.
    """
    found, rows = np.empty(0), np.empty(0, dtype=np.int64)
    waiting: list[Scores] = []
    seen = 0

    def settle() -> None:
        nonlocal found, rows, seen
        size = sum(map(len, waiting))
        found = np.concatenate([found, *waiting])
        rows = np.concatenate([rows, np.arange(seen, seen + size)])
        best = np.lexsort((rows, found))[:count]
        found, rows = found[best], rows[best]
        seen += size
        waiting.clear()

    for part in keys:
        waiting.append(part)
        # As many as are kept, or more: then each key is sorted but a few times.
        if sum(map(len, waiting)) >= max(count, AT_ONCE):
            settle()
    settle()
    return rows
