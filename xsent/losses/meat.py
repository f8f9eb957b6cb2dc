"""MEAT terms: (cross-)reconstruction, language separation, adversarial language discriminator."""

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor

from xsent.batch import Parts
from xsent.losses.cosine import positive_cosine, row_cosines


class MeatTerms(NamedTuple):
    """The four terms by the names of the released code; each adds both sides of the pairs."""

    reconstruction: Tensor
    cross_reconstruction: Tensor
    language_embedding: Tensor
    adversarial: Tensor


def meat_terms(
    source: Parts,
    target: Parts,
    source_embeddings: Tensor,
    target_embeddings: Tensor,
    source_logits: Tensor,
    target_logits: Tensor,
) -> MeatTerms:
    """The terms of MEAT's main step for N pairs.

    Args:
        source, target: (N, D) parts of each side.
        source_embeddings, target_embeddings: (N, D), of the frozen encoder.
        source_logits, target_logits: (N, L), of the discriminator on meaning embeddings.

    Source:
        The released code of MEAT (EhimeNLP/MEAT); Ki et al. 2024, section 3.2. The
        adversarial term is a cross entropy with the uniform distribution; its minimum is 2 log L.
    """
    return MeatTerms(
        reconstruction=_distance(source.meaning + source.language, source_embeddings)
        + _distance(target.meaning + target.language, target_embeddings),
        cross_reconstruction=_distance(source.meaning + target.language, target_embeddings)
        + _distance(target.meaning + source.language, source_embeddings),
        language_embedding=positive_cosine(source.language, target.language),
        adversarial=_uniform_cross_entropy(source_logits) + _uniform_cross_entropy(target_logits),
    )


def discriminator_loss(
    source_logits: Tensor, target_logits: Tensor, source_lang: Tensor, target_lang: Tensor
) -> Tensor:
    """Loss of MEAT's discriminator: cross entropy of (N, L) language logits, both sides added."""
    return F.cross_entropy(source_logits, source_lang) + F.cross_entropy(target_logits, target_lang)


def _distance(a: Tensor, b: Tensor) -> Tensor:
    return (1 - row_cosines(a, b)).mean()


def _uniform_cross_entropy(logits: Tensor) -> Tensor:
    return -logits.log_softmax(dim=-1).mean()
