"""Selection of clean sentence pairs as seeds of divergences: noise filter and ranking by score."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rapidfuzz.distance import Levenshtein


class RejectReason(StrEnum):
    """Why a pair is no seed."""

    SHORT = "too few words on a side"
    LONG = "too many words on a side"
    ALIKE = "sides too alike"
    NUMERIC = "too many numbers"


@dataclass(frozen=True, kw_only=True)
class NoiseFilter:
    """Rejects fragments, lists of numbers and barely translated pairs.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), sections 4 and 5 and the released code.
    """

    min_words: int  # exclusive, as max_words; both sides
    max_words: int
    min_distance: int  # minimum word edit distance, so a pair with two shorter sides never passes
    max_numeric_share: float | None  # exclusive, of source words; None: no limit (the released test never fires)

    def __post_init__(self) -> None:
        if not 0 <= self.min_words < self.max_words - 1:
            raise ValueError(f"filter: expected min_words < max_words - 1, found {self.min_words}, {self.max_words}")
        share = self.max_numeric_share
        if share is not None and not 0 < share <= 1:
            raise ValueError(f"filter.max_numeric_share={share}: expected above 0, at most 1, or null")

    def reject(self, source: Sequence[str], target: Sequence[str]) -> RejectReason | None:
        """Why the pair is rejected; None if it passes."""
        if min(len(source), len(target)) <= self.min_words:
            return RejectReason.SHORT
        if max(len(source), len(target)) >= self.max_words:
            return RejectReason.LONG
        if self.max_numeric_share is not None and numeric_share(source) >= self.max_numeric_share:
            return RejectReason.NUMERIC
        return RejectReason.ALIKE if Levenshtein.distance(source, target) < self.min_distance else None


def numeric_share(words: Sequence[str]) -> float:
    """Share of the words with digits and without letters: ``1998,`` and ``3-4``, not ``1st``."""
    numbers = sum(any(sign.isdigit() for sign in word) and not any(sign.isalpha() for sign in word) for word in words)
    return numbers / len(words)


def rank_rows(scores: ArrayLike, count: int | None) -> NDArray[np.int64]:
    """The ``count`` best rows (None: all) by descending score, ties in row order: (N,) -> (count,).

    Raises:
        ValueError: a score is NaN; names its 0-based row.
    """
    values = np.asarray(scores, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError(f"expected a score for each pair, found none in row {int(np.isnan(values).argmax())}")
    return np.argsort(-values, kind="stable")[:count]
