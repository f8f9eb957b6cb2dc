"""JSON Lines format of texts with their distractors."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from xsent.files.strict_json import parse_json


class DistractorRow(NamedTuple):
    """A text in one or more languages, with distractors; languages are ISO 639-3."""

    id: str  # unique in the file
    texts: dict[str, str]  # by language; translations of each other
    distractors: dict[str, tuple[str, ...]]  # by language; may lack languages
    notes: dict[str, tuple[str, ...]]  # by language, the change in each distractor; may lack languages


def to_json(row: DistractorRow) -> str:
    """The row as one line, without the line end; empty parts are omitted."""
    content = {"id": row.id, "texts": row.texts, "distractors": row.distractors, "notes": row.notes}
    return json.dumps({name: value for name, value in content.items() if value}, ensure_ascii=False)


def from_json(line: str, source: str, *, distinct: bool) -> DistractorRow:
    """Parse a line.

    Args:
        line: ``{"id": "7", "texts": {"deu": "Er kommt."}, "distractors": {"deu": ["Er geht."]}}``, where
            ``distractors`` and ``notes`` may be absent.
        source: file and line, for messages.
        distinct: as in ``check_distractors``.

    Raises:
        ValueError: the line has another form, a text is empty, ``check_distractors`` refuses the distractors, or the
            number of notes differs from that of the distractors.
    """
    try:
        row = parse_json(line)
    except ValueError as error:
        raise ValueError(f"{source}: expected a JSON object, found {line[:60]!r} ({error})") from error
    if not isinstance(row, dict) or not {"id", "texts"} <= row.keys() <= {"id", "texts", "distractors", "notes"}:
        raise ValueError(
            f"{source}: expected a JSON object with id and texts, optional distractors and notes, found {line[:60]!r}"
        )
    parts = {name: row.get(name, {}) for name in ("texts", "distractors", "notes")}
    for name, part in parts.items():
        if not isinstance(part, dict):
            raise ValueError(f"{source}: expected {name} by language, found {part!r}")
    texts, distractors, notes = parts.values()
    for language, text in texts.items():
        _check_text(text, f"{source}: the text in {language}")
    if not texts:
        raise ValueError(f"{source}: expected a text in at least one language, found none")
    for language, values in distractors.items():
        check_distractors(texts, language, values, source, distinct=distinct)
    for language, values in notes.items():
        if language not in distractors:
            available = ", ".join(distractors) or "none"
            raise ValueError(
                f"{source}: expected notes of one of the distractors ({available}), found some in {language}"
            )
        count = len(distractors[language])
        if not isinstance(values, list) or len(values) != count or not all(isinstance(note, str) for note in values):
            expected = f"expected one for each of {count} distractors"
            raise ValueError(f"{source}: notes in {language}: {expected}, found {values!r}")
    as_tuples = ({language: tuple(values) for language, values in part.items()} for part in (distractors, notes))
    return DistractorRow(str(row["id"]), texts, *as_tuples)


def check_distractors(
    texts: Mapping[str, str], language: str, distractors: object, source: str, *, distinct: bool
) -> tuple[str, ...]:
    """Check the distractors of the text in a language, and return them.

    Args:
        texts: by language.
        language: one of them.
        distractors: value to check, a list of at least one.
        source: file and line, for messages.
        distinct: refuse a distractor that equals the text or another distractor.

    Raises:
        ValueError: there is no such text, or a distractor is missing, empty or, if ``distinct``, a duplicate.
    """
    if language not in texts:
        raise ValueError(
            f"{source}: expected distractors of one of the texts ({', '.join(texts)}), found some in {language}"
        )
    if not isinstance(distractors, list | tuple) or not distractors:
        raise ValueError(f"{source}: expected a list of distractors in {language}, found {distractors!r}")
    for number, distractor in enumerate(distractors, start=1):
        _check_text(distractor, f"{source}: distractor {number} in {language}")
        if distinct and distractor == texts[language]:
            raise ValueError(f"{source}: distractor {number} in {language} equals the text itself: {distractor!r}")
    if distinct and len(set(distractors)) < len(distractors):
        raise ValueError(f"{source}: expected different distractors in {language}, found a duplicate")
    return tuple(distractors)


def _check_text(text: object, source: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{source}: expected text, found {text!r}")
