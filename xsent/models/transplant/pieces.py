"""Pieces of a unigram tokenizer that are words of another tokenizer's model, and that a language uses."""

import json
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders

MARK = "▁"  # beginning of a word
CHUNK = 8192  # texts tokenized at a time


def scored_pieces(tokenizer: Tokenizer) -> list[tuple[str, float]]:
    """Pieces of a unigram tokenizer in the order of their ids, each with its log-probability.

    Raises:
        ValueError: another kind of tokenizer.
    """
    content = json.loads(tokenizer.to_str())
    model, pre_tokenizer = content["model"], content["pre_tokenizer"] or {}
    if model["type"] != "Unigram" or "Metaspace" not in json.dumps(pre_tokenizer) or model["unk_id"] is None:
        raise ValueError(
            f"expected a unigram tokenizer with marked words ({MARK}) and an unknown piece, found"
            f" {model['type']}, {pre_tokenizer.get('type', 'no pre-tokenizer')}"
        )
    return [(piece, score) for piece, score in model["vocab"]]


def match_pieces(pieces: Sequence[str], source: Tokenizer, special: Iterable[int]) -> NDArray[np.int64]:
    """Id in ``source`` of each piece that is a token of it; -1 for the others.

    A piece that begins a word matches a token that does so, whatever marks it: no ``##`` in WordPiece, ``▁`` in
    SentencePiece, a leading space in byte-level BPE. Case counts only where both spellings are tokens.

    Args:
        pieces: of a tokenizer that marks the beginnings of words with ``▁``.
        source: tokenizer of the source model.
        special: ids of its special tokens, which match nothing.
    """
    content = json.loads(source.to_str())
    excluded = set(special)
    tokens = {
        _surface(token, content): index
        for token, index in sorted(source.get_vocab().items(), key=lambda item: -item[1])
        if index not in excluded
    }
    lowered = {(text.lower(), begins): index for (text, begins), index in tokens.items()}
    is_wordpiece = content["model"]["type"] == "WordPiece"
    ids = []
    for piece in pieces:
        text, begins = piece.removeprefix(MARK), piece.startswith(MARK)
        # BERT's words end at punctuation and at each Chinese character, where "##" would never be used.
        begins = begins or (is_wordpiece and _splits(source, text))
        index = tokens.get((text, begins), lowered.get((text.lower(), begins), -1))
        ids.append(index if index < 0 or _is_reachable(source, text) else -1)
    return np.array(ids, dtype=np.int64)


def _surface(token: str, content: Any) -> tuple[str, bool]:
    """Text of a token, and whether it begins a word."""
    model = content["model"]
    if model["type"] == "WordPiece":
        prefix = model["continuing_subword_prefix"]
        return token.removeprefix(prefix), not token.startswith(prefix)
    if "ByteLevel" in json.dumps([content["pre_tokenizer"], content["decoder"]]):
        text = decoders.ByteLevel().decode([token])
        return text.removeprefix(" "), text.startswith(" ")
    return token.removeprefix(MARK), token.startswith(MARK)


def _splits(source: Tokenizer, text: str) -> bool:
    """Whether the text begins a word of its own, also directly behind a letter."""
    if source.pre_tokenizer is None:
        return False
    first, _ = source.pre_tokenizer.pre_tokenize_str(_normalize(source, f"a{text}"))[0]
    return str(first) == "a"


def _is_reachable(source: Tokenizer, text: str) -> bool:
    """Whether the source's normalisation leaves more than the case of the text as it is."""
    return _normalize(source, text).strip(f" {MARK}").lower() == text.lower()


def _normalize(source: Tokenizer, text: str) -> str:
    return text if source.normalizer is None else str(source.normalizer.normalize_str(text))


def usage(tokenizer: Tokenizer, texts: Iterable[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How often each piece occurs in texts, and how much more often than in the text that the tokenizer was trained on.

    Returns:
        (V,) counts, and (V,) ratios of the relative frequency in ``texts`` to the piece's probability in the unigram
        model. A ratio below 1 says that the piece is mainly used elsewhere: with English texts the German ``die``.
    """
    scores = np.array([score for _, score in scored_pieces(tokenizer)])
    counts = np.zeros(len(scores), dtype=np.int64)
    remaining = iter(texts)
    while chunk := list(islice(remaining, CHUNK)):
        for encoding in tokenizer.encode_batch_fast(chunk, add_special_tokens=False):
            np.add.at(counts, encoding.ids, 1)
    probabilities = np.exp(scores)
    expected = probabilities / probabilities.sum() * max(1, counts.sum())
    return counts, counts / np.maximum(expected, math.ulp(0.0))
