"""Lexical overlap of texts: Jaccard and indel similarity, and the difficulty of distractors."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from statistics import fmean, pstdev
from typing import NamedTuple

from rapidfuzz.distance import Indel

# The default of scikit-learn's CountVectorizer, by which the released notebook counts: words of one character vanish.
_WORD = re.compile(r"(?u)\b\w\w+\b")


def words(text: str) -> frozenset[str]:
    """Lower-case words of a text: runs of word characters, of length two at least."""
    return frozenset(_WORD.findall(text.lower()))


def jaccard(a: str, b: str) -> float:
    """Share of the words of either text that are in both, 0 to 1; NaN where neither has a word.

    Source:
        Michail et al. 2025 (arXiv:2502.08638) and their notebook, which raises where neither has a word.
    """
    return _overlap(words(a), words(b))


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    union = len(a | b)
    return len(a & b) / union if union else math.nan


def intra_jaccard(texts: Sequence[str]) -> list[float]:
    """Of each text the mean Jaccard similarity to the others (Michail et al. 2025, Table 4); NaN where it has none."""
    sets = [words(text) for text in texts]
    pairs: list[list[float]] = [[] for _ in texts]
    for i, j in combinations(range(len(texts)), 2):
        value = _overlap(sets[i], sets[j])
        if not math.isnan(value):
            pairs[i].append(value)
            pairs[j].append(value)
    return [fmean(values) if values else math.nan for values in pairs]


def indel_similarity(a: str, b: str) -> float:
    """1 - inserted and deleted characters over the characters of both texts: ``Levenshtein.ratio`` of the notebook."""
    return Indel.normalized_similarity(a, b)


class Spread(NamedTuple):
    """Mean and standard deviation (n) of so many values."""

    mean: float
    sd: float
    n: int


class Difficulty(NamedTuple):
    """Word overlap of distractors with their originals and with each other; more overlap is harder."""

    original: Spread  # Jaccard of each distractor and its original
    intra: Spread  # mean Jaccard of each distractor and the others of the same original


def difficulty(originals: Iterable[tuple[str, Sequence[str]]]) -> Difficulty:
    """Overlap of texts with their distractors; texts without words or without a partner are left out.

    Source:
        Michail et al. 2025, section 3.1 and Table 4. The 0.47 that their text gives for distractors and originals is
        what comes out for distractors among themselves.
    """
    to_original: list[float] = []
    within: list[float] = []
    for text, distractors in originals:
        to_original += [jaccard(text, distractor) for distractor in distractors]
        within += intra_jaccard(distractors)
    return Difficulty(_spread(to_original), _spread(within))


def _spread(values: Iterable[float]) -> Spread:
    numbers = [value for value in values if not math.isnan(value)]
    return Spread(fmean(numbers), pstdev(numbers), len(numbers)) if numbers else Spread(math.nan, math.nan, 0)
