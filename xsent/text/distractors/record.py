"""The format of texts with their distractors: a JSON object a line, of any languages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class DistractorRow(NamedTuple):
    """One meaning in one or more languages, and near-copies that mean something else; languages are ISO 639-3."""

    id: str  # of the row, in its file
    texts: dict[str, str]  # by language; those of one row translate each other
    distractors: dict[str, tuple[str, ...]]  # by language, of the text in that language; a language may have none
    notes: dict[str, tuple[str, ...]]  # by language, what was changed in each distractor; a language may have none


def to_json(row: DistractorRow) -> str:
    """The row as one line, without its end; empty parts are left out."""
    content = {"id": row.id, "texts": row.texts, "distractors": row.distractors, "notes": row.notes}
    return json.dumps({name: value for name, value in content.items() if value}, ensure_ascii=False)


def from_json(line: str, where: str, *, distinct: bool) -> DistractorRow:
    """The row of a line.

    Args:
        line: ``{"id": "7", "texts": {"deu": "Er kommt."}, "distractors": {"deu": ["Er geht."]}}``, where
            ``distractors`` and ``notes`` may be absent.
        where: file and line, for messages.
        distinct: as of ``check_distractors``.

    Raises:
        ValueError: no such object; an empty text; distractors that ``check_distractors`` refuses; notes that are not
            one for each distractor.
    """
    try:
        found = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{where}: expected a JSON object, found {line[:60]!r} ({error})") from error
    if not isinstance(found, dict) or not {"id", "texts"} <= found.keys() <= {"id", "texts", "distractors", "notes"}:
        raise ValueError(
            f"{where}: expected a JSON object with id and texts, and perhaps distractors and notes, found {line[:60]!r}"
        )
    texts: dict[str, str] = _by_language(found["texts"], "texts", where)
    for language, text in texts.items():
        _check_text(text, f"{where}: the text in {language}")
    if not texts:
        raise ValueError(f"{where}: expected a text in one language at least, found none")
    distractors = {
        language: check_distractors(texts, language, several, where, distinct=distinct)
        for language, several in _by_language(found.get("distractors", {}), "distractors", where).items()
    }
    notes = {
        language: _notes(distractors, language, several, where)
        for language, several in _by_language(found.get("notes", {}), "notes", where).items()
    }
    return DistractorRow(str(found["id"]), texts, distractors, notes)


def check_distractors(
    texts: Mapping[str, str], language: str, found: object, where: str, *, distinct: bool
) -> tuple[str, ...]:
    """The distractors of the text in a language.

    Args:
        texts: by language.
        language: one of them.
        found: what should be its distractors, one at least.
        where: file and line, for messages.
        distinct: whether one that equals the text, or another of them, is an error.

    Raises:
        ValueError: there is no such text; there are none; one of them is empty or, if ``distinct``, equals another or
            the text.
    """
    if language not in texts:
        raise ValueError(
            f"{where}: expected distractors of one of the texts ({', '.join(texts)}), found some in {language}"
        )
    if not isinstance(found, list | tuple) or not found:
        raise ValueError(f"{where}: expected a list of distractors in {language}, found {found!r}")
    for number, distractor in enumerate(found, start=1):
        _check_text(distractor, f"{where}: distractor {number} in {language}")
        if distinct and distractor == texts[language]:
            raise ValueError(f"{where}: distractor {number} in {language} equals the text itself: {distractor!r}")
    if distinct and len(set(found)) < len(found):
        raise ValueError(f"{where}: expected different distractors in {language}, found one of them twice")
    return tuple(found)


def _by_language(found: Any, name: str, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected {name} by language, found {found!r}")
    return found


def _check_text(text: object, where: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{where}: expected some words, found {text!r}")


def _notes(distractors: Mapping[str, tuple[str, ...]], language: str, found: object, where: str) -> tuple[str, ...]:
    if language not in distractors:
        there = ", ".join(distractors) or "none"
        raise ValueError(f"{where}: expected notes of one of the distractors ({there}), found some in {language}")
    count = len(distractors[language])
    if not isinstance(found, list) or len(found) != count or not all(isinstance(note, str) for note in found):
        raise ValueError(f"{where}: notes in {language}: expected one for each of {count} distractors, found {found!r}")
    return tuple(found)
