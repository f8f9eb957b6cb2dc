"""ORACLE variants of the released code (``dayeonki/oracle``) as a table of their terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import cosine_scatter, positive_cosine, row_cosines

Term = Callable[[Parts, Parts], Tensor]


class Variant(NamedTuple):
    """Terms of a variant; none gives 0."""

    intra_class: tuple[Term, ...]
    inter_class: tuple[Term, ...]
    averages_inter_class: bool = False  # the mean of the inter-class terms instead of their sum


def _clusters(source: Parts, target: Parts) -> Tensor:
    # The release averages the whole matrix of cosines, including the diagonal of ones and pairs of two languages.
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


def released_terms(source: Parts, target: Parts, *, variant: str) -> tuple[Tensor, Tensor]:
    """Intra-class and inter-class term of a released variant; the sides are (N, D) parts."""
    zero = source.language.new_zeros(())
    terms = VARIANTS[variant]
    intra, inter = (sum((term(source, target) for term in side), zero) for side in terms[:2])
    return intra, inter / len(terms.inter_class) if terms.averages_inter_class else inter
