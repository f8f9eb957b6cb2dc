"""Hashed ids of character n-grams and words, vectorised over many texts."""

import sys
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

BASE = 0x9E3779B97F4A7C15  # of the polynomial hash, odd: 2^64 divided by the golden ratio
# Shifts and factors that mix 64 bits: variant 13 of Stafford, as in SplitMix (Steele, Lea, Flood 2014).
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
# Start values, so that a word and the n-gram of the same letters have different hashes.
NGRAM, WORD = 1, 2


def hashed_ngrams(
    texts: Sequence[str], *, sizes: Sequence[int], buckets: int, max_length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Hash the character n-grams and the words of texts.

    Texts are normalised: NFKC, lower case, single spaces between words and at both ends, so that an n-gram shows
    where a word begins or ends. A word is a run of letters, marks and digits. The hash of characters c_1 ... c_n is
    start B^n + c_1 B^(n-1) + ... + c_n modulo 2^64, mixed; its upper half is scaled to an id.

    Args:
        texts: N texts.
        sizes: of the n-grams, ascending.
        buckets: ids are below this number.
        max_length: characters of a text that are read (without the spaces at the ends), and the most ids that it
            gets. Ids are ordered by the start of their n-gram, then by size; a word comes last.

    Returns:
        ids (M,) of all texts one after the other, and their number for each text (N,), 0 for white space.
    """
    padded = [_pad(text, max_length) for text in texts]
    lengths = np.fromiter(map(len, padded), dtype=np.int64, count=len(padded))
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # characters up to the text's end
    hashes = np.zeros((len(codes), len(sizes) + 1), dtype=np.uint64)
    valid = np.empty(hashes.shape, dtype=bool)
    for column, (size, windows) in enumerate(zip(sizes, _ngram_hashes(codes, sizes), strict=True)):
        hashes[: len(windows), column] = windows
        valid[:, column] = remaining >= size
    begins, words = _word_hashes(codes)
    hashes[begins, -1] = words
    valid[:, -1] = False
    valid[begins, -1] = True
    mixed = hashes[valid]
    # Without mixing, the upper half of the polynomial does not depend on the last character.
    for shift, factor in MIX:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    ids = ((mixed >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(valid.sum(axis=1))])[np.cumsum(lengths)]
    counts = np.diff(ends, prepend=0)
    if counts.max(initial=0) <= max_length:
        return ids, counts
    offset = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)  # within its text
    return ids[offset < max_length], np.minimum(counts, max_length)


def _pad(text: str, max_length: int) -> str:
    text = " ".join(unicodedata.normalize("NFKC", text).lower().split())[:max_length]
    return f" {text} " if text else ""


def _ngram_hashes(codes: NDArray[np.uint32], sizes: Sequence[int]) -> list[NDArray[np.uint64]]:
    """For each size the hash of the n-gram that starts at each position, across the boundaries of texts."""
    hashes = np.full(len(codes), NGRAM, dtype=np.uint64)
    by_size = []
    for size in range(1, max(sizes) + 1):
        hashes = hashes[: max(0, len(codes) - size + 1)] * np.uint64(BASE) + codes[size - 1 :]
        if size in sizes:
            by_size.append(hashes)
    return by_size


def _word_hashes(codes: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Start positions and hashes of words."""
    is_letter = np.concatenate([[False], _letters()[codes], [False]])
    begins = np.flatnonzero(~is_letter[:-1] & is_letter[1:])
    ends = np.flatnonzero(is_letter[:-1] & ~is_letter[1:])
    if not len(begins):
        return begins, np.zeros(0, dtype=np.uint64)
    lengths = ends - begins
    inverse = np.uint64(pow(BASE, -1, 2**64))
    powers = np.cumprod(np.full(int(lengths.max()) + 1, BASE, dtype=np.uint64)) * inverse  # B^0, B^1, ...
    positions = np.flatnonzero(is_letter) - 1
    summands = codes[positions] * powers[np.repeat(ends, lengths) - positions - 1]
    return begins, np.add.reduceat(summands, np.cumsum(lengths) - lengths) + powers[lengths] * np.uint64(WORD)


@cache
def _letters() -> NDArray[np.bool_]:
    """Which code points are letters, marks or digits."""
    kinds = (unicodedata.category(chr(code))[0] in "LMN" for code in range(sys.maxunicode + 1))
    return np.fromiter(kinds, dtype=bool, count=sys.maxunicode + 1)
