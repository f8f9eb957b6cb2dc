"""Which versions of a seed are ranked against each other: the sampling schemes of the paper."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from xsent.text.divergences.record import DELETION, GENERALIZATION, KINDS, PARTICULARIZATION, REPLACEMENT, SEED

RankedPair = tuple[str, str]  # the kinds of two versions of a seed, the finer one first: it must score higher

_COARSE = (REPLACEMENT, DELETION)  # not ordered with each other
_LEXICAL = (PARTICULARIZATION, GENERALIZATION)  # in the released order
_FOUR = (*_COARSE, *_LEXICAL)  # the paper's; the coarse generators are compared as single kinds only


def single_pairs(kinds: Collection[str], wanted: Collection[str]) -> list[RankedPair]:
    """The seed against its divergences of some kinds.

    Args:
        kinds: those that the seed has; likewise in the other schemes.
        wanted: usually one; both lexical ones are the paper's "lexical substitution".

    Raises:
        ValueError: an unknown kind is wanted.
    """
    unknown = set(wanted) - set(KINDS)
    if unknown:
        raise ValueError(f"kinds of divergences: expected some of {', '.join(KINDS)}, found {sorted(unknown)}")
    return [(SEED, kind) for kind in KINDS if kind in wanted and kind in kinds]


def balanced_pairs(kinds: Collection[str], rng: Random) -> list[RankedPair]:
    """The seed against one of its divergences, drawn uniformly; nothing if it has none."""
    available = concatenation_pairs(kinds)
    return [rng.choice(available)] if available else []


def concatenation_pairs(kinds: Collection[str]) -> list[RankedPair]:
    """The seed against each of its divergences, up to four pairs."""
    return [(SEED, kind) for kind in _FOUR if kind in kinds]


def ranking_pairs(kinds: Collection[str], rng: Random) -> list[RankedPair]:
    """Neighbours in the order seed > lexical substitution > phrase replacement or subtree deletion, up to four pairs.

    Each lexical substitution is paired with the seed and with a coarser divergence, which a fair coin chooses for each
    of them if the seed has both. A seed without lexical substitutions gives nothing.
    """
    coarse = [kind for kind in _COARSE if kind in kinds]
    pairs = []
    for kind in _LEXICAL:
        if kind in kinds:
            pairs.append((SEED, kind))
            if coarse:
                pairs.append((kind, rng.choice(coarse)))
    return pairs
