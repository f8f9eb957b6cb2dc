"""What distractors are made of: texts in lines, in columns, or in rows that have some distractors already."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.clsd_files import FORMS, PlacedRow, check_ids, read_rows
from xsent.data.lines import read_lines
from xsent.languages import to_iso639_3
from xsent.text.distractors.record import DistractorRow

log = logging.getLogger(__name__)

EXPECTED = "LANG=FILE, LANG,LANG=FILE, FILE.jsonl or FILE.csv"


class Inputs(NamedTuple):
    """Rows, and where they are from."""

    placed: list[PlacedRow]
    files: tuple[Path, ...]

    @property
    def rows(self) -> list[DistractorRow]:
        """The rows alone."""
        return [row for _, row in self.placed]

    def languages(self) -> list[str]:
        """ISO 639-3 codes of the texts, in the order in which they come first."""
        return list(dict.fromkeys(language for row in self.rows for language in row.texts))


def read_inputs(inputs: Sequence[str]) -> Inputs:
    """Rows of files of one of these forms, not of both.

    - ``LANG=FILE``, a sentence a line, and ``LANG,LANG=FILE``, translations in columns by tab: UTF-8, plain or ``.gz``.
      Lines of the same number translate each other; the number, from 1, is the ``id`` of the row. White space around
      a sentence is dropped, and so is a line without text in any language, with a note of how many there are.
    - ``FILE.jsonl`` of ``xsent.text.distractors.record`` and ``FILE.csv`` of the released form, one after the other.

    Args:
        inputs: as they stand on the command line; languages in any ISO 639 code.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file or line of another form, named with its number; files of different length; a language or the
            ``id`` of a row twice; no text at all.
    """
    texts = [one for one in inputs if _is_of_texts(one)]
    others = [one for one in inputs if one not in texts]
    if texts and others:
        raise ValueError(
            f"{others[0]}: expected LANG=FILE as the other inputs, found a file of rows; make it another command"
        )
    found = _read_texts(texts) if texts else _read_rows([_of_rows(one) for one in others])
    if not found.placed:
        raise ValueError(f"{', '.join(map(str, found.files))}: expected at least one text, found none")
    check_ids(found.placed)  # in all files together
    return found


def _is_of_texts(one: str) -> bool:
    languages, equals, _ = one.partition("=")
    return bool(equals) and "/" not in languages and not Path(one).exists()


# ---- texts, a language a file or column


def _read_texts(inputs: Sequence[str]) -> Inputs:
    by_language: dict[str, tuple[Path, list[str]]] = {}
    for one in inputs:
        codes, _, name = one.partition("=")
        languages = [to_iso639_3(code) for code in codes.split(",")]
        path = Path(name)
        for language, column in zip(languages, _columns(path, len(languages)), strict=True):
            if language in by_language:
                raise ValueError(f"{one}: expected each language once, found {language} twice")
            by_language[language] = path, column
    _check_lengths(by_language)
    files = tuple(dict.fromkeys(path for path, _ in by_language.values()))
    return Inputs(_rows(by_language), files)


def _columns(path: Path, count: int) -> list[list[str]]:
    lines = read_lines(path)
    if count == 1:
        return [[line.strip() for line in lines]]
    columns: list[list[str]] = [[] for _ in range(count)]
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t") if line.strip() else [""] * count
        if len(fields) != count:
            raise ValueError(f"{path}:{number}: expected {count} columns by tab, found {len(fields)}")
        for column, field in zip(columns, fields, strict=True):
            column.append(field.strip())
    return columns


def _check_lengths(by_language: dict[str, tuple[Path, list[str]]]) -> None:
    lengths = {path: len(column) for path, column in by_language.values()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{path} {length:,}" for path, length in lengths.items())
        raise ValueError(f"expected as many lines in each file, as lines translate each other, found {found}")


def _rows(by_language: dict[str, tuple[Path, list[str]]]) -> list[PlacedRow]:
    """Rows, each at its line of the first file."""
    rows, blank = [], 0
    first = next(path for path, _ in by_language.values())
    columns = [column for _, column in by_language.values()]
    for number, texts in enumerate(zip(*columns, strict=True), start=1):
        if not any(texts):
            blank += 1
            continue
        for language, text in zip(by_language, texts, strict=True):
            if not text:
                path = by_language[language][0]
                raise ValueError(
                    f"{path}:{number}: expected a text in {language}, as there is one in another language, found none"
                )
        row = DistractorRow(str(number), dict(zip(by_language, texts, strict=True)), {}, {})
        rows.append(PlacedRow(f"{first}:{number}", row))
    if blank:
        log.info("%d of %d lines are blank and left out", blank, blank + len(rows))
    return rows


# ---- rows


def _of_rows(one: str) -> Path:
    path = Path(one)
    if not path.name.endswith(FORMS):
        raise ValueError(f"{one}: expected {EXPECTED}; a text file needs its language, such as deu={one}")
    return path


def _read_rows(paths: Sequence[Path]) -> Inputs:
    rows: list[PlacedRow] = []
    for path in tqdm(paths, desc="reading", unit=" files", delay=2, leave=False):
        rows += read_rows(path, distinct=True)
    return Inputs(rows, tuple(paths))
