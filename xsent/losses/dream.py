"""DREAM: reconstruct the embedding from meaning plus language, pull and push each part."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import row_cosines


class DreamTerms(NamedTuple):
    """The four terms by the names of the released code; each adds both sides of the pairs."""

    meaning: Tensor
    reconstruction: Tensor
    language_embedding: Tensor
    language_identification: Tensor


class DreamSide(NamedTuple):
    """One side of N pairs with its random partners."""

    parts: Parts  # (N, D) each
    embeddings: Tensor  # (N, D), what the frozen encoder gave
    logits: Tensor  # (N, L), language identification from the language embedding
    lang: Tensor  # (N,) int64
    random_meaning: Tensor  # (N, D), meaning of another pair's sentence
    random_language: Tensor  # (N, D), language embedding of another sentence of the same language
    has_random_language: Tensor  # (N,) bool, False where there is no such sentence


def dream_terms(source: DreamSide, target: DreamSide) -> DreamTerms:
    """The terms of DREAM for N pairs.

    A language that occurs once has no partner and is left out of ``language_embedding``'s mean.

    Source:
        The released code of DREAM; digest of Ki et al. 2024, section 2.1. A term that pushes the two
        languages apart is computed in both code bases, left out of their sums, and not here.
    """
    aligned = 1 - row_cosines(source.parts.meaning, target.parts.meaning)  # (N,)
    return DreamTerms(
        meaning=aligned.mean() + _unrelated(source) + _unrelated(target),
        reconstruction=_reconstruction(source) + _reconstruction(target),
        language_embedding=_same_language(source) + _same_language(target),
        language_identification=F.cross_entropy(source.logits, source.lang)
        + F.cross_entropy(target.logits, target.lang),
    )


def _reconstruction(side: DreamSide) -> Tensor:
    return F.mse_loss(side.parts.meaning + side.parts.language, side.embeddings)


def _unrelated(side: DreamSide) -> Tensor:
    return row_cosines(side.parts.meaning, side.random_meaning).clamp(min=0).mean()


def _same_language(side: DreamSide) -> Tensor:
    distance = 1 - row_cosines(side.parts.language, side.random_language)  # (N,)
    kept = side.has_random_language.to(distance.dtype)
    return (distance * kept).sum() / kept.sum().clamp(min=1)


def with_partners(
    parts: Parts, embeddings: Tensor, logits: Tensor, lang: Tensor, *, meaning: Tensor, language: Tensor
) -> DreamSide:
    """A side whose random partners are rows of the same batch.

    Args:
        parts, embeddings, logits, lang: as in ``DreamSide``.
        meaning: (N,) row of each pair's random partner.
        language: (N,) row of its partner of the same language; its own row where it has none.
    """
    own = torch.arange(len(lang), device=lang.device)
    # As `parts.meaning[meaning]`, gradient included in half the time.
    random_meaning = F.embedding(meaning, parts.meaning)
    random_language = F.embedding(language, parts.language)
    return DreamSide(parts, embeddings, logits, lang, random_meaning, random_language, language != own)


def with_half_batch(parts: Parts, embeddings: Tensor, logits: Tensor, lang: Tensor) -> DreamSide:
    """The first half of the batch, its random partners the second half whatever their language.

    This is how the ORACLE release pairs; of an odd batch the last pair is left out.

    Raises:
        ValueError: a batch of one has no two halves.
    """
    half = len(lang) // 2
    if half == 0:
        raise ValueError("half_batch needs at least 2 pairs in a batch, found 1")
    second = slice(half, 2 * half)
    return DreamSide(
        Parts(parts.meaning[:half], parts.language[:half]),
        embeddings[:half],
        logits[:half],
        lang[:half],
        parts.meaning[second],
        parts.language[second],
        torch.ones(half, dtype=torch.bool, device=lang.device),
    )
