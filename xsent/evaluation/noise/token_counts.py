"""Types and tokens of a text, and their ratio: words, or pieces of an encoder's tokenizer."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import sentencepiece

from xsent.batch import SplitsText
from xsent.config_checks import check_choice
from xsent.evaluation.noise.aggregation import mean_and_sd, two_sample_p

TEACHER_PIECES, WORDS = "teacher", "words"
SPM = ".spm"


class TokenCounts(NamedTuple):
    """Distinct and all tokens of a text."""

    types: int
    tokens: int

    @property
    def ratio(self) -> float:
        """Type-token ratio in percent; NaN without tokens."""
        return 100 * self.types / self.tokens if self.tokens else math.nan


class TextCounts(NamedTuple):
    """Counts of several texts, each a list of sentences."""

    unit: str  # name of the tokens, for tables
    by_id: Mapping[int, TokenCounts]  # by ``id`` of the list

    def of(self, sentences: list[str]) -> TokenCounts:
        """Counts of one of the texts."""
        return self.by_id[id(sentences)]


@dataclass(kw_only=True)
class TokenCounter:
    """Counts types and tokens.

    Args:
        pieces: ``teacher``: of the tokenizer of the encoder that ``__call__`` gets; words if it has no pieces of text.
            ``words``: split at white space. Or a SentencePiece model, ``FILE.spm``.
        lower_case: lower-case words and the text for a file; an encoder reads the text as it does for its vectors.

    Source:
        Nishimwe et al. 2024, section 4.2: pieces of LASER's model. New words raise the type-token ratio, words split
        into characters lower it.
    """

    pieces: str
    lower_case: bool

    def __post_init__(self) -> None:
        if not self._is_file:
            check_choice("evaluator.pieces", self.pieces, (TEACHER_PIECES, WORDS, f"FILE{SPM}"))

    def check(self) -> None:
        """Read the model; raise ``FileNotFoundError`` or, for another file, ``ValueError``."""
        assert not self._is_file or self._model is not None

    @property
    def _is_file(self) -> bool:
        return str(self.pieces).endswith(SPM)

    @cached_property
    def _model(self) -> sentencepiece.SentencePieceProcessor:
        path = Path(self.pieces)
        if not path.is_file():
            raise FileNotFoundError(f"{path}: expected a SentencePiece model for evaluator.pieces, found none")
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except RuntimeError as error:
            raise ValueError(f"{path}: expected a SentencePiece model, found another file ({error})") from error

    def __call__(self, texts: Iterable[list[str]], encoder: object) -> TextCounts:
        """Counts of each text, all its sentences together."""
        unit, split = self._splitter(encoder)
        distinct = {id(sentences): sentences for sentences in texts}
        return TextCounts(unit, {key: _count(split(sentences)) for key, sentences in distinct.items()})

    def _splitter(self, encoder: object) -> tuple[str, Callable[[list[str]], list[list[str]]]]:
        if self.pieces == TEACHER_PIECES and isinstance(encoder, SplitsText):
            return f"pieces of {encoder.name}", encoder.to_pieces
        if self._is_file:
            return f"pieces of {Path(self.pieces).stem}", lambda sentences: self._model.encode(
                self._cased(sentences), out_type=str
            )
        return WORDS, lambda sentences: [sentence.split() for sentence in self._cased(sentences)]

    def _cased(self, sentences: list[str]) -> list[str]:
        return [sentence.lower() for sentence in sentences] if self.lower_case else sentences


def _count(tokens_of_sentences: Iterable[list[str]]) -> TokenCounts:
    tokens = Counter(chain.from_iterable(tokens_of_sentences))
    return TokenCounts(len(tokens), tokens.total())


def count_summary(noisy: Sequence[TokenCounts], standard: Sequence[TokenCounts]) -> dict[str, float]:
    """Metrics of the counts of N noisy texts and their standard forms; ratios are noisy over standard."""
    ratios, of_standard = [each.ratio for each in noisy], [each.ratio for each in standard]
    metrics = mean_and_sd("ttr", ratios)
    metrics |= {"ttr_standard": mean(of_standard), "ttr_ratio": _quotient(ratios, of_standard)}
    for kind in TokenCounts._fields:
        sides = [[float(getattr(each, kind)) for each in side] for side in (noisy, standard)]
        metrics |= {kind: mean(sides[0]), f"{kind}_standard": mean(sides[1]), f"{kind}_ratio": _quotient(*sides)}
    return metrics | ({"p_ttr": two_sample_p(ratios, of_standard)} if len(noisy) > 1 else {})


def _quotient(noisy: Sequence[float], standard: Sequence[float]) -> float:
    return mean(a / b if b else math.nan for a, b in zip(noisy, standard, strict=True))
