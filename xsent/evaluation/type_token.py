"""Type-token ratio: how many different tokens a text has for its length."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import sentencepiece


class TypeTokenRatio:
    """Distinct tokens over all tokens, in percent.

    Args:
        pieces: file of a SentencePiece model, whose pieces are the tokens; None: words between white space.
        lower_case: whether text is lower-cased first.

    Source:
        Nishimwe et al. 2024, section 4.2: pieces of LASER's model. Noise that coins words raises it, noise that
        breaks words into characters lowers it.
    """

    def __init__(self, *, pieces: str | None, lower_case: bool) -> None:
        self.pieces = pieces
        self.lower_case = lower_case

    def check(self) -> None:
        """Read the model.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is no SentencePiece model.
        """
        assert self.pieces is None or self._model is not None

    @cached_property
    def _model(self) -> sentencepiece.SentencePieceProcessor:
        path = Path(str(self.pieces))
        if not path.is_file():
            raise FileNotFoundError(f"{path}: expected a SentencePiece model for evaluator.pieces, found none")
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except RuntimeError as error:
            raise ValueError(f"{path}: expected a SentencePiece model, found another file ({error})") from error

    def __call__(self, sentences: Iterable[str]) -> float:
        """Of all sentences as one text; NaN where it has no token."""
        types: set[str] = set()
        count = 0
        for sentence in sentences:
            tokens = self._tokens(sentence.lower() if self.lower_case else sentence)
            types.update(tokens)
            count += len(tokens)
        return 100 * len(types) / count if count else math.nan

    def _tokens(self, sentence: str) -> list[str]:
        if self.pieces is None:
            return sentence.split()
        return list(self._model.encode(sentence, out_type=str))

    @property
    def unit(self) -> str:
        """What a token is, for tables."""
        return "words" if self.pieces is None else f"pieces of {Path(self.pieces).name}"
