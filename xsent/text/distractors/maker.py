"""What makes distractors: a text in, near-copies that mean something else out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol


class Request(NamedTuple):
    """A text that wants distractors."""

    id: str  # of its row
    language: str  # ISO 639-3
    text: str


class Made(NamedTuple):
    """What was made of a text."""

    request: Request
    distractors: tuple[str, ...]  # as many as were asked for, or none
    notes: tuple[str, ...]  # what was changed in each; empty: not known
    failure: str  # why there are none; empty: there are


class DistractorMaker(Protocol):
    """Anything that makes a fixed number of distractors of each text, rules or a language model."""

    count: int  # distractors of each text

    def check(self, languages: Iterable[str]) -> None:
        """Raise ``ValueError``, before any work, if it cannot work in one of the languages, or cannot work at all."""
        ...

    def make(self, requests: Sequence[Request], *, progress: bool) -> Iterator[Made]:
        """What is made of each request, in their order."""
        ...
