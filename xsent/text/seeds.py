"""Which pairs of a bitext are clean enough to make divergences from: noise out, then the best by a score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Noise(StrEnum):
    """Why a pair is no seed."""

    SHORT = "too few words on a side"
    LONG = "too many words on a side"
    ALIKE = "sides too alike"
    NUMERIC = "too many numbers"


class NoiseFilter:
    """Drops pairs that are fragments, lists of numbers, or barely translated.

    Args:
        min_words, max_words: both sides have more words than the one and fewer than the other.
        min_distance: words that have to be replaced, added or removed to make one side of the other, at least. As no
            distance exceeds the length of the longer side, a shorter pair never passes.
        max_numeric_share: fewer than this share of the source's words are numbers; None: any share passes, as in the
            released code, whose test never fires.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 4.1 and the released code.
    """

    def __init__(self, *, min_words: int, max_words: int, min_distance: int, max_numeric_share: float | None) -> None:
        if not 0 <= min_words < max_words - 1:
            raise ValueError(f"filter: expected room between min_words and max_words, found {min_words}, {max_words}")
        if max_numeric_share is not None and not 0 < max_numeric_share <= 1:
            raise ValueError(f"filter.max_numeric_share={max_numeric_share}: expected above 0, at most 1, or null")
        self.min_words, self.max_words = min_words, max_words
        self.min_distance = min_distance
        self.max_numeric_share = max_numeric_share

    def noise(self, source: Sequence[str], target: Sequence[str]) -> Noise | None:
        """Why the pair is dropped; None: it is kept."""
        if min(len(source), len(target)) <= self.min_words:
            return Noise.SHORT
        if max(len(source), len(target)) >= self.max_words:
            return Noise.LONG
        if self.max_numeric_share is not None and numeric_share(source) >= self.max_numeric_share:
            return Noise.NUMERIC
        return None if differ(source, target, self.min_distance) else Noise.ALIKE


def numeric_share(words: Sequence[str]) -> float:
    """Share of the words that have digits and no letter: ``1998,`` and ``3-4``, not ``1st``."""
    numbers = sum(any(sign.isdigit() for sign in word) and not any(sign.isalpha() for sign in word) for word in words)
    return numbers / len(words)


def differ(one: Sequence[str], other: Sequence[str], distance: int) -> bool:
    """Whether two sentences are at least ``distance`` words apart; mostly known without computing how many."""
    longer = max(len(one), len(other))
    if longer < distance:
        return False
    # Each word that stays is shared, so that all others of the longer side were edited.
    if longer - (Counter(one) & Counter(other)).total() >= distance:
        return True
    return word_distance(one, other) >= distance


def word_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words have to be replaced, added or removed to make one sentence of the other (Levenshtein 1966)."""
    previous = list(range(len(other) + 1))
    for row, word in enumerate(one, start=1):
        current = [row]
        for column, rival in enumerate(other, start=1):
            replaced = previous[column - 1] + (word != rival)
            current.append(min(replaced, previous[column] + 1, current[-1] + 1))
        previous = current
    return previous[-1]


def best(scores: ArrayLike, count: int | None) -> NDArray[np.int64]:
    """Rows (up to ``count``, None: all) by falling score, equal ones in their own order: (N,) -> (count,).

    Raises:
        ValueError: a score is no number; names its row, from 0.
    """
    values = np.asarray(scores, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError(f"expected a score for each pair, found none in row {int(np.isnan(values).argmax())}")
    return np.argsort(-values, kind="stable")[:count]
