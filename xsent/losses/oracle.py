"""ORACLE: cluster the language vectors of a language, and make them orthogonal to the meaning vectors."""

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import PAIRS, cosine_scatter, positive_cosine, row_cosines


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
        variant: ``paper`` for equations (5) and (6), or one of the released ``VARIANTS``.
        pairs: of ``paper``: the i, j that equation (5) compares, ``off_diagonal`` (all i != j), ``with_diagonal``
            (all) or ``cyclic`` (i with i + 1).
        same_language: of ``paper``: compare sentences of one language only.

    Raises:
        ValueError: unknown ``variant`` or ``pairs``.

    Source:
        Ki, Park, Kim 2024, equations (5) and (6); the released code (``dayeonki/oracle``).
    """
    for option, value, choices in (("variant", variant, ("paper", *VARIANTS)), ("pairs", pairs, PAIRS)):
        if value not in choices:
            raise ValueError(f"oracle {option} {value!r}: expected one of {', '.join(choices)}")
    if variant == "paper":
        sides = [(source.language, source_lang), (target.language, target_lang)]
        scatters = [cosine_scatter(x, lang if same_language else lang.new_zeros(len(lang)), pairs) for x, lang in sides]
        return OracleTerms(scatters[0] + scatters[1], positive_cosine(*source) + positive_cosine(*target))
    return _released_terms(source, target, VARIANTS[variant])


# ---- released variants


class Variant(NamedTuple):
    """Terms of a variant; overlaps are cosines of ``source`` and ``target`` parts, or of ``language`` parts."""

    clusters: bool = False
    aligns_meaning: bool = False
    absolute: tuple[str, ...] = ()  # overlaps by their absolute value
    positive: tuple[str, ...] = ()  # overlaps by their positive part
    averages: bool = False  # the mean of the overlaps instead of their sum


VARIANTS = {
    "oracle_new": Variant(clusters=True, positive=("language",)),
    "oracle_old": Variant(clusters=True, aligns_meaning=True, absolute=("source", "target"), positive=("language",)),
    "oracle_abs": Variant(clusters=True, absolute=("language",)),
    "oracle_pair": Variant(clusters=True),
    "oracle_orth": Variant(positive=("language",)),
    "oracle_main": Variant(positive=("source", "target"), averages=True),
    "oracle_all": Variant(positive=("source", "target", "language"), averages=True),
}


def _released_terms(source: Parts, target: Parts, variant: Variant) -> OracleTerms:
    intra_class = zero = source.language.new_zeros(())
    if variant.clusters:
        # The release averages the whole matrix of cosines, including the diagonal of ones and pairs of two languages.
        label = torch.zeros(len(source.language), dtype=torch.int64, device=source.language.device)
        intra_class = sum((cosine_scatter(side.language, label, "with_diagonal") for side in (source, target)), zero)
    if variant.aligns_meaning:
        intra_class = intra_class + (1 - row_cosines(source.meaning, target.meaning).mean())
    overlapping = {"source": source, "target": target, "language": (source.language, target.language)}
    overlaps = [row_cosines(*overlapping[name]).abs().mean() for name in variant.absolute]
    overlaps += [positive_cosine(*overlapping[name]) for name in variant.positive]
    inter_class = sum(overlaps, zero)
    return OracleTerms(intra_class, inter_class / len(overlaps) if variant.averages else inter_class)
