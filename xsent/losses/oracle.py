"""ORACLE: language vectors cluster within a language, and lie across meaning vectors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.partners import next_of_label
from xsent.similarity import pairwise_cos_sim, unit

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
            _positive_cosine(source.meaning, source.language) + _positive_cosine(target.meaning, target.language),
        )
    return _released(source, target, variant)


def _released(source: Parts, target: Parts, variant: str) -> OracleTerms:
    nothing = source.language.new_zeros(())
    intra = inter = nothing
    languages = pairwise_cos_sim(source.language, target.language)  # (N,)
    if variant in ("oracle_new", "oracle_abs", "oracle_pair", "oracle_old"):
        # The release averages the whole matrix of cosines, the diagonal of ones included.
        intra = 2 - _mean_cosine(source.language) - _mean_cosine(target.language)
    if variant == "oracle_old":
        intra = intra + 1 - pairwise_cos_sim(source.meaning, target.meaning).mean()
        inter = (
            pairwise_cos_sim(source.meaning, source.language).abs().mean()
            + pairwise_cos_sim(target.meaning, target.language).abs().mean()
            + languages.clamp(min=0).mean()
        )
    elif variant in ("oracle_new", "oracle_orth"):
        inter = languages.clamp(min=0).mean()
    elif variant == "oracle_abs":
        inter = languages.abs().mean()
    elif variant in ("oracle_main", "oracle_all"):
        means = [
            _positive_cosine(source.meaning, source.language),
            _positive_cosine(target.meaning, target.language),
        ]
        if variant == "oracle_all":
            means.append(languages.clamp(min=0).mean())
        inter = torch.stack(means).mean()
    return OracleTerms(intra, inter)


def _positive_cosine(a: Tensor, b: Tensor) -> Tensor:
    return pairwise_cos_sim(a, b).clamp(min=0).mean()


def _mean_cosine(x: Tensor) -> Tensor:
    """Mean of the N x N cosines of the rows of ``x`` (N, D), diagonal included."""
    mean = unit(x).mean(dim=0)  # (D,)
    return mean @ mean


def _scatter(language: Tensor, lang: Tensor, pairs: str, same_language: bool) -> Tensor:
    """1 - the mean cosine of the pairs of rows that equation (5) compares; 0 when there are none."""
    if not same_language:
        lang = torch.zeros_like(lang)
    u = unit(language)  # (N, D)
    if pairs == "cyclic":
        partner = next_of_label(lang)
        alone = partner == torch.arange(len(lang), device=lang.device)
        cosines = (u * u[partner]).sum(dim=-1).masked_fill(alone, 0.0)
        compared = (~alone).sum()
        return torch.where(compared > 0, 1 - cosines.sum() / compared.clamp(min=1), cosines.sum() * 0)
    counts = lang.bincount().to(u.dtype)  # (L,)
    sums = u.new_zeros(len(counts), u.size(1)).index_add(0, lang, u)  # (L, D)
    total = sums.square().sum()  # all cosines within a language, the diagonal included
    compared = counts.square().sum()
    if pairs == "off_diagonal":
        total = total - u.square().sum()
        compared = compared - counts.sum()
    # A language that occurs once has no pair and drops out by itself.
    return torch.where(compared > 0, 1 - total / compared.clamp(min=1), total * 0)
