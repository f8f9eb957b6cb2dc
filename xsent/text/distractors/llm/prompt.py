"""What a language model is asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, NamedTuple

PLACEHOLDERS = frozenset({"count", "language", "sentence"})


class Text(NamedTuple):
    """What distractors are asked for; equal texts are asked once."""

    language: str  # ISO 639-3
    text: str


class Call(NamedTuple):
    """One question to a model; all that decides its answer, and which of several answers it is."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]  # sent as they are
    attempt: int  # from 1; answers to one question differ, as the temperature is above 0

    @property
    def key(self) -> str:
        """Hex digest (SHA-256) of all of it: what an answer is kept under."""
        return hashlib.sha256(json.dumps(self._asdict(), sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of what is said in the messages, in UTF-8."""
        return sum(len(said.encode("utf-8", "surrogatepass")) for message in self.messages for said in message.values())


@dataclass(frozen=True)
class Prompt:
    """A question about one sentence, as one message of a user; the model never sees another language of its row.

    Attributes:
        template: has ``{count}``, ``{language}`` and ``{sentence}``.
        language_names: by ISO 639-3 code, as the template's language calls them.
        count: distractors that are asked for.
    """

    template: str
    language_names: Mapping[str, str]
    count: int

    def check(self, languages: Iterable[str]) -> None:
        """Raise ``ValueError`` unless the template has its three places and each language has a name."""
        try:
            found = {name for _, name, _, _ in Formatter().parse(self.template) if name is not None}
        except ValueError as error:  # a brace that nobody closes
            raise ValueError(f"maker.prompt: {error}; a brace that is meant is written twice") from None
        if found != PLACEHOLDERS:
            raise ValueError(
                f"maker.prompt: expected {_braced(PLACEHOLDERS)}, found {_braced(found)};"
                " a brace that is meant is written twice"
            )
        if unknown := sorted(set(languages) - set(self.language_names)):
            raise ValueError(
                f"maker.language_names has no {', '.join(unknown)}: say what the prompt shall call it,"
                f" +maker.language_names.{unknown[0]}=NAME"
            )

    def messages(self, text: Text) -> tuple[Mapping[str, str], ...]:
        """The conversation that asks for distractors of a text."""
        said = self.template.format(count=self.count, language=self.language_names[text.language], sentence=text.text)
        return ({"role": "user", "content": said},)


def _braced(names: Iterable[str]) -> str:
    return " ".join(f"{{{name}}}" for name in sorted(names)) or "none"
