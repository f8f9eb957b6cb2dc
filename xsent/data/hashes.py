"""Hashes of content: what is split, capped or drawn by them does not depend on the order of the data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def text_hashes(texts: Iterable[str], *, salt: bytes = b"") -> Hashes:
    """Hash (N,) of each text, whatever is in it; another salt gives other hashes."""
    # A text may hold lone surrogates (JSON escapes): they are hashed as they are.
    raw = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=salt).digest() for text in texts
    )
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def mix(*parts: Hashes) -> Hashes:
    """One hash (N,) from several, their order counts (the finaliser of splitmix64, Steele et al. 2014)."""
    mixed = np.zeros_like(parts[0])
    for part in parts:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + part
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def plain(text: str) -> str:
    """The text without letter case, punctuation, spacing and compatibility forms, or itself if nothing is left."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip() or text
