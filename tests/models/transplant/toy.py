"""A BERT of ten words and a static encoder of a few pieces in two languages, small enough for paper and pencil."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from torch import nn
from transformers import BertConfig, BertModel, BertTokenizerFast

from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.transformer import SentenceEncoder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "red", "die", "##s", ","]
# Vectors in the aligned space: an axis for each concept; a translation is on the axis of its concept or near it.
VECTORS = {
    "<unk>": (0.0, 0.0, 0.0),
    "▁the": (1.0, 0.0, 0.0),
    "▁cat": (0.0, 1.0, 0.0),
    "▁dog": (0.0, 0.0, 1.0),
    "▁chat": (0.0, 2.0, 0.0),
    "▁chien": (0.0, 0.6, 0.8),
    "▁die": (1.0, 0.0, 0.0),
    ",": (-1.0, 0.0, 0.0),
    "s": (1.0, 1.0, 0.0),
    "▁": (0.0, 0.0, 0.0),
}


def static_tokenizer(pieces: Sequence[str] = tuple(VECTORS)) -> Tokenizer:
    """Unigram tokenizer in which each piece has the same probability."""
    tokenizer = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def save_static(folder: Path) -> Path:
    options = {"vocab_size": 1, "coverage": 1.0, "lowercase": True, "std": 0.0, "seed": 0}
    encoder = StaticEncoder(name="toy", dim=3, max_length=16, **options)  # type: ignore[arg-type]
    encoder._set_tokenizer(static_tokenizer())
    encoder.vectors.data = torch.tensor(list(VECTORS.values()))
    encoder.save(folder)
    return folder


def source_encoder() -> SentenceEncoder:
    size: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, initializer_range=0.5, **size)
    return SentenceEncoder(
        name="source",
        transformer=BertModel(config),
        tokenizer=BertTokenizerFast(vocab={word: row for row, word in enumerate(WORDS)}, model_max_length=16),
        pooling=("mean",),
        projection=nn.Sequential(),
        prompt="",
        max_length=16,
        normalize=True,
    ).eval()
