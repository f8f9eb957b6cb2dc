"""Small random transformers as sentence encoders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import BertTokenizerFast

from xsent.models.encoders.small_transformer import small_transformer
from xsent.models.encoders.transformer import SentenceEncoder

WORDS = 40
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZE = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
# The usual standard deviation of 0.02 would make all sentences alike.
COMMON = {"vocab_size": len(SPECIAL) + WORDS, "max_position_embeddings": 40, "initializer_range": 0.5}
DROPOUT = ("hidden_dropout_prob", "attention_probs_dropout_prob")


def small_encoder(
    architecture: str = "Bert",
    *,
    dropout: float = 0.0,
    pooling: Sequence[str] = ("mean",),
    normalize: bool = True,
    **options: Any,
) -> SentenceEncoder:
    """An encoder in training mode; ``options`` go to the architecture's config."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{architecture}Config")(**COMMON | SIZE | dict.fromkeys(DROPOUT, dropout) | options)
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *(f"w{i}" for i in range(WORDS))])}
    return SentenceEncoder(
        name="small",
        transformer=getattr(transformers, f"{architecture}Model")(config),
        tokenizer=BertTokenizerFast(vocab=vocabulary, model_max_length=32),
        pooling=pooling,
        projection=nn.Sequential(),
        prompt="",
        max_length=32,
        normalize=normalize,
    ).train()


def load_encoder(folder: Path | str, **options: Any) -> SentenceEncoder:
    """``SentenceEncoder.load`` of a folder; options that are not given are None or off."""
    unset = dict.fromkeys(["revision", "pooling", "projection", "prompt", "max_length", "normalize"])
    fixed = {"name": "some/model", "path": str(folder), "trust_remote_code": False}
    return SentenceEncoder.load(**unset | fixed | options)  # type: ignore[arg-type]


def pair_transformer(**options: Any) -> SentenceEncoder:
    """``small_transformer`` on the pieces of `mini`, with few layers."""
    sizes = {"layers": 2, "heads": 4, "feed_forward": 64, "max_length": 64}
    fixed = {"path": None, "dropout": 0.1, "vector_std": 0.1, "comparing": None, "pooling": "mean", "seed": 3}
    return small_transformer(**{"name": "small"} | sizes | fixed | options)  # type: ignore[arg-type]


def random_sentences(lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Ids (M,) and lengths (N,) of sentences of random words."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(len(SPECIAL), len(SPECIAL) + WORDS, (sum(lengths),), generator=generator)
    return ids, torch.tensor(lengths)
