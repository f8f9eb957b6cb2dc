"""Type-token ratio: distinct tokens over all tokens of a text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import sentencepiece


@dataclass(kw_only=True)
class TypeTokenRatio:
    """Distinct tokens over all tokens, in percent.

    Args:
        pieces: file of a SentencePiece model that tokenizes the text; None: split at white space.
        lower_case: lower-case the text first.

    Source:
        Nishimwe et al. 2024, section 4.2: pieces of LASER's model. New words raise the ratio, words split
        into characters lower it.
    """

    pieces: str | None
    lower_case: bool

    def check(self) -> None:
        """Read the model; raise ``FileNotFoundError`` or, for another file, ``ValueError``."""
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
        """Ratio of all sentences as one text; NaN without tokens."""
        types: set[str] = set()
        count = 0
        for sentence in sentences:
            text = sentence.lower() if self.lower_case else sentence
            tokens = text.split() if self.pieces is None else self._model.encode(text, out_type=str)
            types.update(tokens)
            count += len(tokens)
        return 100 * len(types) / count if count else math.nan

    @property
    def unit(self) -> str:
        """Name of the tokens, for tables."""
        return "words" if self.pieces is None else f"pieces of {Path(self.pieces).name}"
