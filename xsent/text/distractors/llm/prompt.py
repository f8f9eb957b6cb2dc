"""Prompts and calls of a language model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, NamedTuple

PLACEHOLDERS = frozenset({"count", "language", "sentence"})


class Text(NamedTuple):
    """A text to make distractors of; equal texts are asked about once."""

    language: str  # ISO 639-3
    text: str


class Call(NamedTuple):
    """One question to a model: all that decides its answer, and the number of the attempt."""

    model: str
    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]  # sent unchanged
    attempt: int  # from 1

    @property
    def key(self) -> str:
        """Hex digest (SHA-256) of all fields: key of the answer in the ledger."""
        return hashlib.sha256(json.dumps(self._asdict(), sort_keys=True).encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the messages in UTF-8."""
        return sum(
            len(value.encode("utf-8", "surrogatepass")) for message in self.messages for value in message.values()
        )


def check_prompt(template: str, language_names: Mapping[str, str], languages: Iterable[str]) -> None:
    """Raise ``ValueError`` unless a template has its three placeholders and each language has a name."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:  # an unclosed brace
        raise ValueError(f"maker.prompt: {error}; write a literal brace twice") from None
    if names != PLACEHOLDERS:
        expected, placeholders = (" ".join(f"{{{name}}}" for name in sorted(part)) for part in (PLACEHOLDERS, names))
        raise ValueError(
            f"maker.prompt: expected {expected}, found {placeholders or 'none'}; write a literal brace twice"
        )
    if unknown := sorted(set(languages) - set(language_names)):
        raise ValueError(
            f"maker.language_names has no {', '.join(unknown)}: set the name for the prompt,"
            f" +maker.language_names.{unknown[0]}=NAME"
        )
