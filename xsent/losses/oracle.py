"""ORACLE: cluster the language vectors of a language, and make them orthogonal to the meaning vectors."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import PAIRS, cosine_scatter, positive_cosine
from xsent.losses.released import VARIANTS, released_terms


class OracleTerms(NamedTuple):
    """Intra-class clustering and inter-class separation; a variant without one of them gives 0."""

    intra_class: Tensor
    inter_class: Tensor


def oracle_terms(
    source: Parts,
    target: Parts,
    source_lang: Tensor,
    target_lang: Tensor,
    *,
    variant: str,
    pairs: str,
    same_language: bool,
) -> OracleTerms:
    """The two terms of ORACLE for N pairs.

    Args:
        source, target: (N, D) parts of each side.
        source_lang, target_lang: (N,) int64 labels.
        variant: ``paper`` for equations (5) and (6), or a released variant (``xsent.losses.released``).
        pairs: of ``paper``: the i, j that equation (5) compares, ``off_diagonal`` (all i != j), ``with_diagonal``
            (all) or ``cyclic`` (i with i + 1).
        same_language: of ``paper``: compare sentences of one language only.

    Raises:
        ValueError: unknown ``variant`` or ``pairs``.

    Source:
        Ki, Park, Kim 2024, equations (5) and (6).
    """
    if variant != "paper" and variant not in VARIANTS:
        raise ValueError(f"oracle variant {variant!r}: expected one of {', '.join(['paper', *VARIANTS])}")
    if pairs not in PAIRS:
        raise ValueError(f"oracle pairs {pairs!r}: expected one of {', '.join(PAIRS)}")
    if variant != "paper":
        return OracleTerms(*released_terms(source, target, variant=variant))
    sides = [(source.language, source_lang), (target.language, target_lang)]
    clusters = [cosine_scatter(x, lang if same_language else lang.new_zeros(len(lang)), pairs) for x, lang in sides]
    return OracleTerms(clusters[0] + clusters[1], positive_cosine(*source) + positive_cosine(*target))
