"""ORACLE: language vectors cluster within a language, and lie across meaning vectors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import row_cosines, sum_of_cosines
from xsent.losses.partners import next_of_label

VARIANTS = (
    "paper",
    "oracle_new",
    "oracle_old",
    "oracle_abs",
    "oracle_pair",
    "oracle_orth",
    "oracle_main",
    "oracle_all",
)
PAIRS = ("off_diagonal", "with_diagonal", "cyclic")


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
        variant: ``paper`` for equations (5) and (6), or the name of a released variant.
        pairs: of ``paper`` only: which i, j equation (5) compares, ``off_diagonal`` (all i != j),
            ``with_diagonal`` (all) or ``cyclic`` (i with i + 1).
        same_language: of ``paper`` only: compare sentences of one language only.

    Raises:
        ValueError: an unknown ``variant`` or ``pairs``.

    Source:
        Ki, Park, Kim 2024, equations (5) and (6); the released variants in ``dayeonki/oracle``. The
        mean over N x N cosines is that of sums of unit vectors: no N x N matrix is made.
    """
    if variant not in VARIANTS:
        raise ValueError(f"oracle variant {variant!r}: expected one of {', '.join(VARIANTS)}")
    if pairs not in PAIRS:
        raise ValueError(f"oracle pairs {pairs!r}: expected one of {', '.join(PAIRS)}")
    if variant == "paper":
        return OracleTerms(
            _scatter(source.language, source_lang, pairs, same_language)
            + _scatter(target.language, target_lang, pairs, same_language),
            _positive_cosine(*source) + _positive_cosine(*target),
        )
    return _released(source, target, variant)


def _released(source: Parts, target: Parts, variant: str) -> OracleTerms:
    intra = inter = source.language.new_zeros(())
    if variant in ("oracle_new", "oracle_abs", "oracle_pair", "oracle_old"):
        # The release averages the whole matrix of cosines, the diagonal of ones included.
        one_label = source.language.new_zeros(len(source.language), dtype=torch.int64)
        intra, other = (_scatter(side.language, one_label, "with_diagonal", False) for side in (source, target))
        intra = intra + other
    if variant == "oracle_old":
        intra = intra + 1 - row_cosines(source.meaning, target.meaning).mean()
        inter = (
            row_cosines(source.meaning, source.language).abs().mean()
            + row_cosines(target.meaning, target.language).abs().mean()
            + _positive_cosine(source.language, target.language)
        )
    elif variant in ("oracle_new", "oracle_orth"):
        inter = _positive_cosine(source.language, target.language)
    elif variant == "oracle_abs":
        inter = row_cosines(source.language, target.language).abs().mean()
    elif variant in ("oracle_main", "oracle_all"):
        means = [_positive_cosine(*source), _positive_cosine(*target)]
        if variant == "oracle_all":
            means.append(_positive_cosine(source.language, target.language))
        inter = torch.stack(means).mean()
    return OracleTerms(intra, inter)


def _positive_cosine(a: Tensor, b: Tensor) -> Tensor:
    return row_cosines(a, b).clamp(min=0).mean()


def _scatter(language: Tensor, lang: Tensor, pairs: str, same_language: bool) -> Tensor:
    """1 - the mean cosine of the pairs of rows that equation (5) compares; 0 when there are none."""
    if not same_language:
        lang = torch.zeros_like(lang)
    if pairs == "cyclic":
        partner = next_of_label(lang)
        cosines = row_cosines(language, language[partner])
        # A row that is its own partner is alone in its language.
        compared = partner != torch.arange(len(lang), device=lang.device)
        total, number = (cosines * compared).sum(), compared.sum()
    else:
        counts = lang.bincount()  # (L,)
        total, diagonal = sum_of_cosines(language, lang, len(counts))
        number = counts.square().sum()
        if pairs == "off_diagonal":
            total, number = total - diagonal, number - len(lang)
    # A language that occurs once has no pair and drops out by itself.
    return torch.where(number > 0, 1 - total / number.clamp(min=1), total * 0)
