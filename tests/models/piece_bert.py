"""A small random BERT whose tokenizer cuts some words in pieces, saved as transformers does."""

from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = ["the", "cat", "Dog", "dog", "run", "sleep", "in", "garden", "un", "friend", "a", "red", "house"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s", "##ly", "##friend", ",", "."]
LAYERS, MAX_LENGTH = 3, 16


def save_bert(folder: Path, architecture: Any = BertModel) -> Path:
    """Write model and tokenizer; "unfriendly" has three pieces, "cats" two."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    BertTokenizerFast(
        vocab=str(folder / "vocab.txt"), do_lower_case=False, model_max_length=MAX_LENGTH
    ).save_pretrained(folder)
    size = {"hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    # The usual standard deviation of 0.02 would make all sentences alike.
    config = BertConfig(vocab_size=len(PIECES), max_position_embeddings=MAX_LENGTH, initializer_range=0.5, **size)
    architecture(config).save_pretrained(folder)
    return folder
