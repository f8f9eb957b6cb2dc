"""Small random transformers as sentence encoders."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import processors
from torch import Tensor, nn
from transformers import BertTokenizerFast, PreTrainedTokenizerFast

from xsent.models.encoders.static import StaticEncoder
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


def pair_transformer(*, layers: int = 2, feed_forward: int = 64, max_length: int = 64) -> SentenceEncoder:
    """A random BERT with segments and a ``[CLS]``, over the pieces and piece vectors of ``micro``."""
    static = StaticEncoder.load(name="micro", path=None)
    tokenizer = static.tokenizer
    assert tokenizer is not None
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    tokenizer.add_special_tokens(list(names.values()))
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    wrap: Any = PreTrainedTokenizerFast
    wrapped = wrap(tokenizer_object=tokenizer, model_max_length=max_length, unk_token="<unk>", **names)
    size = {"hidden_size": static.dim, "num_hidden_layers": layers, "num_attention_heads": 4}
    size |= {"intermediate_size": feed_forward, "max_position_embeddings": max_length, "vocab_size": len(wrapped)}
    torch.manual_seed(3)
    transformer = transformers.BertModel(transformers.BertConfig(**size, pad_token_id=wrapped.pad_token_id))
    table, vectors = transformer.embeddings.word_embeddings.weight.data, static.vectors.detach()
    table[: len(vectors)] = vectors * (0.1 / vectors.std())
    return SentenceEncoder(
        name="small",
        transformer=transformer,
        tokenizer=wrapped,
        pooling=("mean",),
        projection=nn.Sequential(),
        prompt="",
        max_length=max_length,
        normalize=True,
    ).eval()


def random_sentences(lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Ids (M,) and lengths (N,) of sentences of random words."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(len(SPECIAL), len(SPECIAL) + WORDS, (sum(lengths),), generator=generator)
    return ids, torch.tensor(lengths)
