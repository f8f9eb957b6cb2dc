"""Subword ids of sentences given as words, with the word that each subword belongs to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from transformers import PreTrainedTokenizerBase

NO_WORD = -1
MARKS = ("▁", "Ġ")  # the space before a word, where it is a token of its own


class Subwords(NamedTuple):
    """A sentence of P tokens, special tokens and prompt included."""

    ids: NDArray[np.int64]  # (P,)
    words: NDArray[np.int64]  # (P,) 0-based word of each token; NO_WORD for special tokens, the prompt and bare spaces


def encode_words(
    tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], *, prompt: str = "", special: bool = True
) -> list[Subwords]:
    """Tokenize the words of each sentence, joined by spaces.

    So the tokens are those that the encoder was trained on, however its tokenizer treats spaces. A word may have no
    token: it was truncated, or the tokenizer drops its characters.

    Args:
        tokenizer: with its truncation set.
        prompt: put before every sentence.
        special: whether to add special tokens.
    """
    texts = [prompt + " ".join(words) for words in sentences]
    return [
        Subwords(np.array(encoding.ids, dtype=np.int64), _token_words(encoding, _character_words(words, len(prompt))))
        for words, encoding in zip(sentences, tokenizer.encode_batch(texts, add_special_tokens=special), strict=True)
    ]


def rust_tokenizer(tokenizer: PreTrainedTokenizerBase, name: str) -> Tokenizer:
    """Return the Rust tokenizer behind ``tokenizer``, which gives the offsets of tokens.

    Raises:
        ValueError: the model ``name`` has a Python tokenizer only.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise ValueError(f"{name}: word vectors need a Rust (fast) tokenizer, found {type(tokenizer).__name__}")
    return backend


def _character_words(words: Sequence[str], start: int) -> NDArray[np.int64]:
    """Word of each character of the text, after a prompt of ``start`` characters."""
    lengths = np.array([len(word) + 1 for word in words], dtype=np.int64)  # with the space behind
    numbers = np.repeat(np.arange(len(words)), lengths)
    numbers[np.cumsum(lengths) - 1] = NO_WORD
    return np.concatenate([np.full(start, NO_WORD), numbers])


def _token_words(encoding: Encoding, character_words: NDArray[np.int64]) -> NDArray[np.int64]:
    # The last character decides: a word's first token may include the space before it. Special tokens are empty.
    return np.array(
        [
            character_words[end - 1] if end > start and token not in MARKS else NO_WORD
            for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        ],
        dtype=np.int64,
    )
