"""Protocol of distractor makers: from a text to near-copies with another meaning."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol


class Request(NamedTuple):
    """A text to make distractors of."""

    id: str  # of its row
    language: str  # ISO 639-3
    text: str


class DistractorResult(NamedTuple):
    """The distractors of a text, or why it has none."""

    request: Request
    distractors: tuple[str, ...]  # ``count`` of them, or none
    notes: tuple[str, ...]  # the change in each; empty: unknown
    failure: str  # why there are none; otherwise empty


class DistractorMaker(Protocol):
    """Makes a fixed number of distractors of each text."""

    count: int  # distractors of each text

    def check(self, languages: Iterable[str]) -> None:
        """Raise ``ValueError`` if an option is invalid or a language is not supported."""
        ...

    def make(self, requests: Sequence[Request], *, progress: bool) -> Iterator[DistractorResult]:
        """Yield the result of each request, in order."""
        ...
