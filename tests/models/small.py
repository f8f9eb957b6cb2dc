"""Small random transformers as sentence encoders, built from a config and from nothing on disk."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import BertTokenizerFast

from xsent.models.sentence_encoder import SentenceEncoder

WORDS = 40
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZE = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
# The usual standard deviation of 0.02 would make all sentences alike.
COMMON = {"vocab_size": len(SPECIAL) + WORDS, "max_position_embeddings": 40, "initializer_range": 0.5}
DROPOUT = ("hidden_dropout_prob", "attention_probs_dropout_prob")


def small_encoder(architecture: str = "Bert", *, dropout: float = 0.0, **options: Any) -> SentenceEncoder:
    """An encoder in training mode; ``options`` go to the architecture's config."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{architecture}Config")(**COMMON | SIZE | dict.fromkeys(DROPOUT, dropout) | options)
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *(f"w{i}" for i in range(WORDS))])}
    return SentenceEncoder(
        name="small",
        transformer=getattr(transformers, f"{architecture}Model")(config),
        tokenizer=BertTokenizerFast(vocab=vocabulary, model_max_length=32),
        pooling=["mean"],
        projection=nn.Sequential(),
        prompt="",
        max_length=32,
        normalize=True,
    ).train()


def random_sentences(lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Ids (M,) and lengths (N,) of sentences of random words."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(len(SPECIAL), len(SPECIAL) + WORDS, (sum(lengths),), generator=generator)
    return ids, torch.tensor(lengths)
