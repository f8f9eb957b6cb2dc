"""Sampling schemes of the paper: which versions of a seed are ranked against each other."""

from collections.abc import Collection
from random import Random

from xsent.text.divergences.json_format import DELETION, GENERALIZATION, KINDS, PARTICULARIZATION, REPLACEMENT, SEED

RankedPair = tuple[str, str]  # kinds of two versions of a seed; the first is finer and must score higher

_COARSE = (REPLACEMENT, DELETION)  # not ordered with each other
_LEXICAL = (PARTICULARIZATION, GENERALIZATION)  # in the released order
_PAPER_KINDS = (*_COARSE, *_LEXICAL)  # "uneven" and "insert" are compared as single kinds only


def single_pairs(kinds: Collection[str], requested: Collection[str]) -> list[RankedPair]:
    """The seed against each of its divergences of the requested kinds.

    Args:
        kinds: kinds that the seed has; likewise in the other schemes.
        requested: usually one; both lexical ones are the paper's "lexical substitution".
    """
    unknown = set(requested) - set(KINDS)
    if unknown:
        raise ValueError(f"kinds of divergences: expected some of {', '.join(KINDS)}, found {sorted(unknown)}")
    return [(SEED, kind) for kind in KINDS if kind in requested and kind in kinds]


def balanced_pairs(kinds: Collection[str], rng: Random) -> list[RankedPair]:
    """The seed against one of its divergences, drawn uniformly; empty if it has none."""
    available = concatenation_pairs(kinds)
    return [rng.choice(available)] if available else []


def concatenation_pairs(kinds: Collection[str]) -> list[RankedPair]:
    """The seed against each of its divergences, up to four pairs."""
    return [(SEED, kind) for kind in _PAPER_KINDS if kind in kinds]


def ranking_pairs(kinds: Collection[str], rng: Random) -> list[RankedPair]:
    """Neighbours in the order seed > lexical substitution > phrase replacement or subtree deletion, up to four pairs.

    Each lexical substitution is paired with the seed and with a coarser divergence; if the seed has both coarse
    kinds, a fair coin chooses for each. A seed without lexical substitutions gives no pairs.
    """
    coarse = [kind for kind in _COARSE if kind in kinds]
    pairs = []
    for kind in _LEXICAL:
        if kind in kinds:
            pairs.append((SEED, kind))
            if coarse:
                pairs.append((kind, rng.choice(coarse)))
    return pairs
