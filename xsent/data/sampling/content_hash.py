"""Content hashes: splits, caps and draws that do not depend on the order of the data; groups of connected texts."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from xsent.data.sampling.batch_sampler import Rows

Hashes = NDArray[np.uint64]


def text_hashes(texts: Iterable[str], *, salt: bytes = b"") -> Hashes:
    """Hash (N,) of each text; another salt gives other hashes."""
    # JSON escapes can give lone surrogates; they are hashed as they are.
    raw = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=salt).digest() for text in texts
    )
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def unit_interval(hashes: Hashes) -> NDArray[np.float64]:
    """Hashes (N,) as positions in [0, 1)."""
    positions: NDArray[np.float64] = hashes.astype(np.float64) / 2.0**64
    return positions


def split_rows(position: NDArray[np.float64], *, valid_share: float, test_share: float) -> dict[str, Rows]:
    """Rows of each split from positions (N,) in [0, 1): first ``valid``, then ``test``, the rest is ``train``."""
    is_valid = position < valid_share
    is_test = ~is_valid & (position < valid_share + test_share)
    rows = {"train": ~is_valid & ~is_test, "valid": is_valid, "test": is_test}
    return {name: np.flatnonzero(mask) for name, mask in rows.items()}


def mix(*parts: Hashes) -> Hashes:
    """Combine hashes (N,) into one, order-sensitive (finaliser of splitmix64, Steele et al. 2014)."""
    mixed = np.zeros_like(parts[0])
    for part in parts:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + part
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def normalize(text: str) -> str:
    """The text without case, punctuation, spacing and compatibility forms; the text itself if nothing is left."""
    return re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip() or text


def connected_groups(size: int, starts: Rows, ends: Rows) -> Rows:
    """Number (size,) of each node's connected component; edges (E,) from ``starts`` to ``ends``."""
    edges = (np.ones(len(starts), dtype=np.int8), (starts, ends))
    _, component = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    group: Rows = component.astype(np.int64)
    return group


def lowest_hashes(group: Rows, hashes: Hashes) -> Hashes:
    """Lowest hash (G,) of each of G groups; it identifies a group whatever its number."""
    lowest = np.full(group.max(initial=0) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(lowest, group, hashes)
    return lowest
