"""Synthetic language marking: an encoder whose vectors give away the language of their text, for controlled studies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import Precision, Tokens
from xsent.config_checks import check_positive
from xsent.files.array_file import ArrayFile
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.embedder import EncodeOptions
from xsent.similarity import unit


@dataclass(kw_only=True, eq=False, repr=False)
class LanguageMarkedEncoder(Encoder):
    """A frozen encoder with a random unit vector per language, times ``alpha``, added to each embedding.

    Embeddings have length one before and after the addition; a zero vector stays zero. The mark of a text that occurs
    in several languages is the mean of theirs. ``set_languages`` must name the language of a text before it is encoded.

    Args:
        name: says that the marking is synthetic.
        base: gives the embeddings.
        alpha: length of the marks.
        seed: of the marks. That of a language depends on the seed and its ISO 639-3 code alone.

    Raises:
        ValueError: ``alpha`` is not a positive number.
    """

    normalize = True

    name: str
    base: Encoder
    alpha: float
    seed: int
    _languages: Mapping[str, Collection[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        check_positive("encoder.language_marking", self.alpha)
        self.dim = self.base.dim
        self._languages = {}

    def set_languages(self, languages: Mapping[str, Collection[str]]) -> None:
        """Languages (ISO 639-3) of the texts that are encoded next; replaces those of an earlier call."""
        self._languages = languages

    def unmarked(self) -> Encoder:
        """The encoder without marks."""
        return self.base

    def mark(self, embeddings: Tensor, sentences: Sequence[str]) -> Tensor:
        """Add the marks of N sentences to their embeddings (N, D) of the encoder without marks.

        Raises:
            ValueError: the language of a sentence is not known.
        """
        rows: dict[tuple[str, ...], int] = {}
        index = [rows.setdefault(self._languages_of(sentence), len(rows)) for sentence in sentences]
        if not rows:
            return embeddings
        marks = torch.stack(
            [torch.stack([language_mark(code, self.dim, self.seed) for code in codes]).mean(dim=0) for codes in rows]
        )  # (number of language combinations, D)
        marked = unit(unit(embeddings) + self.alpha * marks[torch.tensor(index)].to(embeddings))
        return torch.where((embeddings == 0).all(dim=1, keepdim=True), embeddings, marked)

    def _languages_of(self, sentence: str) -> tuple[str, ...]:
        languages = tuple(sorted(self._languages.get(sentence, ())))
        if not languages:
            raise ValueError(
                f"{self.name}: the language of {sentence[:40]!r} is not known, and its mark depends on it; translation"
                " pairs give it (data of recipe=oracle, dream or meat; evaluators of translation pairs), or turn the"
                " marking off with encoder.language_marking=null"
            )
        return languages

    def _encode(self, sentences: Sequence[str], space: str, options: EncodeOptions) -> NDArray[Any] | ArrayFile:
        self.mark(torch.zeros(len(sentences), self.dim), sentences)  # an unknown language is an error before long work
        computed: Precision = "bfloat16" if options.precision == "bfloat16" else "float32"
        embeddings = self.base.encode(
            sentences, batch_size=options.batch_size, show_progress=options.show_progress, precision=computed
        )
        self.empty_sentences = self.base.empty_sentences
        result = options.allocate(len(sentences), self.dim)
        result[:] = options.finish(self.mark(embeddings, sentences))
        return result

    def truncated(self, sentences: Sequence[str]) -> NDArray[Any]:
        return self.base.truncated(sentences)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return self.base.tokenize(sentences)

    def tokenizer_digest(self) -> str:
        return self.base.tokenizer_digest()

    def settings(self) -> dict[str, object]:
        return {**self.base.settings(), "language_marking": self.alpha, "language_marking_seed": self.seed}

    def forward(self, tokens: Tokens) -> Tensor:
        raise ValueError(f"{self.name}: tokens have no language to mark; encode texts")


def language_mark(language: str, dim: int, seed: int) -> Tensor:
    """Random unit vector (D,) of a language (ISO 639-3)."""
    digest = blake2b(f"{seed} {language}".encode(), digest_size=7).digest()
    return unit(torch.randn(dim, generator=torch.Generator().manual_seed(int.from_bytes(digest))))
