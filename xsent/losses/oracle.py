"""ORACLE: cluster the language vectors of a language, and make them orthogonal to the meaning vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import PAIRS, cosine_scatter, positive_cosine, row_cosines

Term = Callable[[Parts, Parts], Tensor]


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
    released = VARIANTS[variant]
    zero = source.language.new_zeros(())
    intra, inter = (
        sum((term(source, target) for term in terms), zero) for terms in (released.intra_class, released.inter_class)
    )
    return OracleTerms(intra, inter / len(released.inter_class) if released.averages_inter_class else inter)


# ---- released variants


class Variant(NamedTuple):
    """Terms of a variant; none gives 0."""

    intra_class: tuple[Term, ...]
    inter_class: tuple[Term, ...]
    averages_inter_class: bool = False  # the mean of the inter-class terms instead of their sum


def _clusters(source: Parts, target: Parts) -> Tensor:
    # The whole matrix of cosines, including the diagonal of ones and pairs of two languages.
    label = torch.zeros(len(source.language), dtype=torch.int64, device=source.language.device)
    return sum(cosine_scatter(side.language, label, "with_diagonal") for side in (source, target))  # type: ignore[return-value]


def _aligned_meaning(source: Parts, target: Parts) -> Tensor:
    return 1 - row_cosines(source.meaning, target.meaning).mean()


def _source_overlap(source: Parts, target: Parts) -> Tensor:
    return positive_cosine(*source)


def _target_overlap(source: Parts, target: Parts) -> Tensor:
    return positive_cosine(*target)


def _absolute_overlaps(source: Parts, target: Parts) -> Tensor:
    return row_cosines(*source).abs().mean() + row_cosines(*target).abs().mean()


def _language_overlap(source: Parts, target: Parts) -> Tensor:
    return positive_cosine(source.language, target.language)


def _absolute_language_overlap(source: Parts, target: Parts) -> Tensor:
    return row_cosines(source.language, target.language).abs().mean()


VARIANTS = {
    "oracle_new": Variant((_clusters,), (_language_overlap,)),
    "oracle_old": Variant((_clusters, _aligned_meaning), (_absolute_overlaps, _language_overlap)),
    "oracle_abs": Variant((_clusters,), (_absolute_language_overlap,)),
    "oracle_pair": Variant((_clusters,), ()),
    "oracle_orth": Variant((), (_language_overlap,)),
    "oracle_main": Variant((), (_source_overlap, _target_overlap), averages_inter_class=True),
    "oracle_all": Variant((), (_source_overlap, _target_overlap, _language_overlap), averages_inter_class=True),
}
