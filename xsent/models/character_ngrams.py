"""Character n-grams and words of texts, hashed into a fixed number of ids; many texts at once, no loop over n-grams."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

BASE = 0x9E3779B97F4A7C15  # of the polynomial, odd: 2^64 divided by the golden ratio
# Shifts and factors that mix 64 bits: variant 13 of Stafford, as in SplitMix (Steele, Lea, Flood 2014).
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
# What a hash starts from keeps a word and the n-gram of the same letters apart.
NGRAM, WORD = 1, 2


def hashed_ngrams(
    texts: Sequence[str], *, sizes: Sequence[int], buckets: int, max_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids of the character n-grams and the words of texts.

    A text is read as NFKC, in lower case, with one space between what white space separates and one at both ends, so
    that an n-gram tells where a word begins or ends; every run of letters, marks and digits is a word. The hash of
    characters c_1 ... c_n is start B^n + c_1 B^(n-1) + ... + c_n modulo 2^64, mixed; its upper half is scaled to an id.

    Args:
        texts: N of them.
        sizes: of the n-grams, in rising order.
        buckets: ids, from 0 on.
        max_length: characters of a text that are read (before the spaces at the ends are put), and the most ids that it
            gets. Ids are in the order in which n-grams begin, shorter ones first, a word after them.

    Returns:
        ids (M,) of all texts one after the other, and how many each has (N,); a text of white space has none.
    """
    padded = [_padded(text, max_length) for text in texts]
    lengths = np.fromiter(map(len, padded), dtype=np.int64, count=len(padded))
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    room = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters from here to the text's end
    hashes = np.zeros((len(codes), len(sizes) + 1), dtype=np.uint64)
    is_real = np.empty(hashes.shape, dtype=bool)
    for column, (size, windows) in enumerate(zip(sizes, _windows(codes, sizes), strict=True)):
        hashes[: len(windows), column] = windows
        is_real[:, column] = room >= size
    begins, words = _words(codes)
    hashes[begins, -1] = words
    is_real[:, -1] = False
    is_real[begins, -1] = True
    ids = ((_mixed(hashes[is_real]) >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(is_real.sum(axis=1))])[np.cumsum(lengths)]
    return _cut(ids, np.diff(ends, prepend=0), max_length)


def _padded(text: str, max_length: int) -> str:
    text = " ".join(unicodedata.normalize("NFKC", text).lower().split())[:max_length]
    return f" {text} " if text else ""


def _windows(codes: NDArray[np.uint32], sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """For every size the hash of what begins at each place, as far as there is room in all texts together."""
    hashes = np.full(len(codes), NGRAM, dtype=np.uint64)
    found = []
    for size in range(1, max(sizes) + 1):
        hashes = hashes[: max(0, len(codes) - size + 1)] * np.uint64(BASE) + codes[size - 1 :]
        if size in sizes:
            found.append(hashes)
    return found


def _words(codes: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Where words begin, and their hashes."""
    is_letter = np.concatenate([[False], _letters()[codes], [False]])
    begins = np.flatnonzero(~is_letter[:-1] & is_letter[1:])
    ends = np.flatnonzero(is_letter[:-1] & ~is_letter[1:])
    if not len(begins):
        return begins, np.zeros(0, dtype=np.uint64)
    lengths = ends - begins
    powers = np.cumprod(np.full(int(lengths.max()) + 1, BASE, dtype=np.uint64)) * _inverse(BASE)  # B^0, B^1, ...
    places = np.flatnonzero(is_letter) - 1
    summands = codes[places] * powers[np.repeat(ends, lengths) - places - 1]
    return begins, np.add.reduceat(summands, np.cumsum(lengths) - lengths) + powers[lengths] * np.uint64(WORD)


def _mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # The upper half of a bare polynomial knows nothing of the last character.
    for shift, factor in MIX:
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return hashes


def _cut(ids: NDArray[np.int64], lengths: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if lengths.max(initial=0) <= most:
        return ids, lengths
    place = np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # within its text
    return ids[place < most], np.minimum(lengths, most)


@cache
def _letters() -> NDArray[np.bool_]:
    """Which code points are letters, marks or digits."""
    kinds = (unicodedata.category(chr(code))[0] in "LMN" for code in range(sys.maxunicode + 1))
    return np.fromiter(kinds, dtype=bool, count=sys.maxunicode + 1)


def _inverse(odd: int) -> np.uint64:
    return np.uint64(pow(odd, -1, 2**64))
