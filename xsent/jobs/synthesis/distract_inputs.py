"""Input of ``xsent distract``: text files, tab-separated columns, or rows with distractors."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.readers.lines import read_lines
from xsent.data.test_sets.clsd_files import FORMS, LocatedRow, check_ids, read_rows
from xsent.languages import to_iso639_3
from xsent.text.distractors.json_format import DistractorRow

log = logging.getLogger(__name__)


class Inputs(NamedTuple):
    """Rows with their positions, and the files that they come from."""

    placed: list[LocatedRow]
    files: tuple[Path, ...]

    @property
    def rows(self) -> list[DistractorRow]:
        """The rows without positions."""
        return [row for _, row in self.placed]

    def languages(self) -> list[str]:
        """ISO 639-3 codes of the texts, in order of appearance."""
        return list(dict.fromkeys(language for row in self.rows for language in row.texts))


def read_inputs(inputs: Sequence[str]) -> Inputs:
    """Read files of one of these forms.

    - ``LANG=FILE``, one sentence per line, and ``LANG,LANG=FILE``, tab-separated translations: UTF-8, plain or
      ``.gz``. Lines with the same number translate each other; the number, from 1, is the ``id`` of the row. White
      space around a sentence and lines without any text are dropped; the number of these is logged.
    - ``FILE.jsonl`` of ``xsent.text.distractors.json_format`` and ``FILE.csv`` of the released data.

    Args:
        inputs: arguments of the command line; languages in any ISO 639 code.

    Raises:
        FileNotFoundError: no such file.
        ValueError: both forms, a malformed file or line, files of different length, a repeated language or ``id``, or
            no text.
    """
    text_inputs = [argument for argument in inputs if _names_language(argument)]
    row_inputs = [argument for argument in inputs if argument not in text_inputs]
    if text_inputs and row_inputs:
        raise ValueError(
            f"{row_inputs[0]}: expected LANG=FILE like the other inputs, found a file of rows; use another command"
        )
    data = _read_texts(text_inputs) if text_inputs else _read_rows(row_inputs)
    if not data.placed:
        raise ValueError(f"{', '.join(map(str, data.files))}: expected at least one text, found none")
    check_ids(data.placed)  # of all files
    return data


def _names_language(argument: str) -> bool:
    languages, equals, _ = argument.partition("=")
    return bool(equals) and "/" not in languages and not Path(argument).exists()


def _read_texts(inputs: Sequence[str]) -> Inputs:
    columns: dict[str, list[str]] = {}  # by language
    files: dict[str, Path] = {}
    for argument in inputs:
        codes, _, name = argument.partition("=")
        languages = [to_iso639_3(code) for code in codes.split(",")]
        for language, column in zip(languages, _columns(Path(name), len(languages)), strict=True):
            if language in columns:
                raise ValueError(f"{argument}: expected each language once, found {language} twice")
            columns[language], files[language] = column, Path(name)
    lengths = {files[language]: len(column) for language, column in columns.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{path} {length:,}" for path, length in lengths.items())
        raise ValueError(f"expected files with the same number of lines, found {counts}")
    return Inputs(_rows(columns, files), tuple(lengths))


def _columns(path: Path, count: int) -> list[list[str]]:
    lines = read_lines(path)
    if count == 1:
        return [[line.strip() for line in lines]]
    columns: list[list[str]] = [[] for _ in range(count)]
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t") if line.strip() else [""] * count
        if len(fields) != count:
            raise ValueError(f"{path}:{number}: expected {count} tab-separated columns, found {len(fields)}")
        for column, field in zip(columns, fields, strict=True):
            column.append(field.strip())
    return columns


def _rows(columns: Mapping[str, Sequence[str]], files: Mapping[str, Path]) -> list[LocatedRow]:
    """Rows with their lines in the first file."""
    rows, blank = [], 0
    first = next(iter(files.values()))
    for number, line in enumerate(zip(*columns.values(), strict=True), start=1):
        texts = dict(zip(columns, line, strict=True))
        if not any(line):
            blank += 1
            continue
        if missing := [language for language, text in texts.items() if not text]:
            raise ValueError(
                f"{files[missing[0]]}:{number}: expected a text in {missing[0]} like in the other languages, found none"
            )
        rows.append(LocatedRow(f"{first}:{number}", DistractorRow(str(number), texts, {}, {})))
    if blank:
        log.info("skipped %d blank lines of %d", blank, blank + len(rows))
    return rows


def _read_rows(inputs: Sequence[str]) -> Inputs:
    for argument in inputs:
        if not Path(argument).name.endswith(FORMS):
            raise ValueError(
                f"{argument}: expected LANG=FILE, LANG,LANG=FILE, FILE.jsonl or FILE.csv; a text file needs its"
                f" language, such as deu={argument}"
            )
    rows: list[LocatedRow] = []
    for name in tqdm(inputs, desc="reading", unit=" files", delay=2, leave=False):
        rows += read_rows(Path(name), distinct=True)
    return Inputs(rows, tuple(map(Path, inputs)))
