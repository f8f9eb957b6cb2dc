"""How a tokenizer cuts sentences that are given as words, and which piece is of which word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from transformers import PreTrainedTokenizerBase

NO_WORD = -1
MARKS = ("▁", "Ġ")  # the space before a word, where it is a piece of its own


class WordPieces(NamedTuple):
    """A sentence of P pieces, special tokens and prompt included."""

    ids: NDArray[np.int64]  # (P,)
    words: NDArray[np.int64]  # (P,) 0-based word of each piece; NO_WORD: a special token, the prompt, a mere space


def word_pieces(
    tokenizer: Tokenizer, sentences: Sequence[Sequence[str]], *, prompt: str = "", special: bool = True
) -> list[WordPieces]:
    """The pieces of sentences, cut as the tokenizer cuts the words with a space between them.

    So the pieces are those that the encoder was trained on, whatever its tokenizer makes of spaces. A word may have no
    piece: it was cut off, or the tokenizer drops its characters.

    Args:
        tokenizer: with the truncation that is wanted.
        sentences: as words.
        prompt: put before every sentence.
        special: whether to add special tokens.
    """
    texts = [prompt + " ".join(words) for words in sentences]
    return [
        WordPieces(np.array(encoding.ids, dtype=np.int64), _words_of(encoding, _owners(words, len(prompt))))
        for words, encoding in zip(sentences, tokenizer.encode_batch(texts, add_special_tokens=special), strict=True)
    ]


def rust_tokenizer(tokenizer: PreTrainedTokenizerBase, name: str) -> Tokenizer:
    """The tokenizer that says where in the text its pieces lie.

    Raises:
        ValueError: the model has one of another kind; names the model.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if not isinstance(backend, Tokenizer):
        raise ValueError(
            f"{name}: vectors of words need a tokenizer of the Rust kind, found {type(tokenizer).__name__}"
        )
    return backend


def _owners(words: Sequence[str], start: int) -> NDArray[np.int64]:
    """Word of each character of the text, prompt and spaces included."""
    lengths = np.array([len(word) + 1 for word in words], dtype=np.int64)  # with the space behind
    owners = np.repeat(np.arange(len(words)), lengths)
    owners[np.cumsum(lengths) - 1] = NO_WORD
    return np.concatenate([np.full(start, NO_WORD), owners])


def _words_of(encoding: Encoding, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    # The space before a word may be in its first piece, so a piece's last character tells. Special tokens are empty.
    return np.array(
        [
            owners[end - 1] if end > start and token not in MARKS else NO_WORD
            for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
        ],
        dtype=np.int64,
    )
