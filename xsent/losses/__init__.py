"""Loss functions: pure functions of embeddings."""

from xsent.losses.additive_margin import additive_margin_softmax
from xsent.losses.additive_margin_scale import AdditiveMarginScale
from xsent.losses.contrastive import Contrastive
from xsent.losses.cosent import CoSent
from xsent.losses.distillation import Distillation
from xsent.losses.divergence import equivalence_cross_entropy, margin_ranking, token_cross_entropy
from xsent.losses.dream import DreamTerms, dream_terms
from xsent.losses.matryoshka import check_prefixes, matryoshka
from xsent.losses.meat import MeatTerms, discriminator_loss, meat_terms
from xsent.losses.mega_batch_margin import MegaBatchMargin
from xsent.losses.oracle import OracleTerms, oracle_terms
from xsent.losses.weighting import check_weights, weighted_sum

PairLoss = Contrastive | CoSent  # of labelled pairs: (source, target, label) -> scalar

__all__ = [
    "AdditiveMarginScale",
    "CoSent",
    "Contrastive",
    "Distillation",
    "DreamTerms",
    "MeatTerms",
    "MegaBatchMargin",
    "OracleTerms",
    "PairLoss",
    "additive_margin_softmax",
    "check_prefixes",
    "check_weights",
    "discriminator_loss",
    "dream_terms",
    "equivalence_cross_entropy",
    "margin_ranking",
    "matryoshka",
    "meat_terms",
    "oracle_terms",
    "token_cross_entropy",
    "weighted_sum",
]
