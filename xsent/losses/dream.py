"""DREAM terms: align meaning, reconstruct the embedding, cluster and identify languages."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import positive_cosine, row_cosines


class DreamTerms(NamedTuple):
    """The four terms by the names of the released code; each adds both sides of the pairs."""

    meaning: Tensor
    reconstruction: Tensor
    language_embedding: Tensor
    language_identification: Tensor


class DreamSide(NamedTuple):
    """One side of N pairs with its random partners."""

    parts: Parts  # (N, D) each
    embeddings: Tensor  # (N, D), of the frozen encoder
    logits: Tensor  # (N, L), language identification from the language embedding
    lang: Tensor  # (N,) int64
    random_meaning: Tensor  # (N, D), meaning of another pair's sentence
    random_language: Tensor  # (N, D), language embedding of another sentence of the same language
    has_random_language: Tensor  # (N,) bool, False where there is no such sentence


def dream_terms(source: DreamSide, target: DreamSide) -> DreamTerms:
    """The terms of DREAM for N pairs.

    A language that occurs once has no partner and is left out of the mean of ``language_embedding``.

    Source:
        The released code of DREAM; Ki et al. 2024, section 3.1. Both code bases compute
        a term that separates the two languages but leave it out of their sums; it is not computed here.
    """
    aligned = 1 - row_cosines(source.parts.meaning, target.parts.meaning)  # (N,)
    unrelated = [positive_cosine(side.parts.meaning, side.random_meaning) for side in (source, target)]
    return DreamTerms(
        meaning=aligned.mean() + unrelated[0] + unrelated[1],
        reconstruction=_reconstruction(source) + _reconstruction(target),
        language_embedding=_same_language(source) + _same_language(target),
        language_identification=F.cross_entropy(source.logits, source.lang)
        + F.cross_entropy(target.logits, target.lang),
    )


def _reconstruction(side: DreamSide) -> Tensor:
    return F.mse_loss(side.parts.meaning + side.parts.language, side.embeddings)


def _same_language(side: DreamSide) -> Tensor:
    distance = 1 - row_cosines(side.parts.language, side.random_language)  # (N,)
    mask = side.has_random_language.to(distance.dtype)
    return (distance * mask).sum() / mask.sum().clamp(min=1)


def with_partners(
    parts: Parts, embeddings: Tensor, logits: Tensor, lang: Tensor, *, meaning: Tensor, language: Tensor
) -> DreamSide:
    """A side with random partners from the same batch.

    Args:
        meaning: (N,) row of each pair's random partner.
        language: (N,) row of its partner of the same language; its own row if it has none.
    """
    rows = torch.arange(len(lang), device=lang.device)
    # Same as `parts.meaning[meaning]`; the backward takes half the time.
    random_meaning = F.embedding(meaning, parts.meaning)
    random_language = F.embedding(language, parts.language)
    return DreamSide(parts, embeddings, logits, lang, random_meaning, random_language, language != rows)


def with_half_batch(parts: Parts, embeddings: Tensor, logits: Tensor, lang: Tensor) -> DreamSide:
    """The first half of the batch with the second half as random partners, whatever their language.

    The pairing of the ORACLE release; an odd batch loses its last pair.

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
