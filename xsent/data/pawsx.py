"""Readers of PAWS-X: English adversarial paraphrases and their translations, as released or as XTREME has them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.labelled import LabelledRow, Parts, has_both_sides, parse_label
from xsent.data.lines import read_lines
from xsent.data.rejects import RejectLedger
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

# In a folder per language; English has train.tsv, the others what was translated from it.
RELEASED = {"train": ("train.tsv", "translated_train.tsv"), "valid": ("dev_2k.tsv",), "test": ("test_2k.tsv",)}
HEADER = ["id", "sentence1", "sentence2", "label"]
XTREME = {"train": "train", "dev": "valid", "test": "test"}
UNTRANSLATED = "NS"


class _File(NamedTuple):
    """A file of one language."""

    rows: list[LabelledRow]
    dropped: list[str]  # items without a usable row: not missing, but their label means nothing


def read_pawsx(ledger: RejectLedger, root: str, *, only_dev: bool) -> Parts:
    """PAWS-X in all languages of the folder; which form it has, its files tell.

    Released: ``en/train.tsv``, ``de/translated_train.tsv``, ``de/dev_2k.tsv``, ``de/test_2k.tsv``, with a header and
    an id that is the same in all languages. XTREME: ``train-de.tsv``, ``dev-de.tsv``, ``test-de.tsv``, no header and
    no id, the same row in all languages.

    A sentence ``NS`` was not translated, and the label of its row is 0 whatever the English one says: the row is
    dropped and counted in the log, in that language alone.

    Args:
        ledger: gets rows with an empty side, which are dropped likewise.
        root: folder of the languages' folders, or of XTREME's files.
        only_dev: the dev files are all there is: they are the part ``train``, from which others can be cut.

    Raises:
        FileNotFoundError: no such folder, or no such files in it; without ``only_dev`` dev and test files must be
            there, since rows cut off the training files are not the test set that others report on.
        ValueError: both forms at once; another header or number of columns; a label that is neither 0 nor 1; an
            item twice in a file, in one language only, or with two labels; files of different length (XTREME).
    """
    files, has_ids = _files(Path(root))
    if only_dev:
        if "valid" not in files:
            raise FileNotFoundError(f"{root}: expected dev files of PAWS-X, there are only those of {', '.join(files)}")
        files = {"train": files["valid"]}
    elif set(files) == {"valid"}:
        raise FileNotFoundError(
            f"{root}: holds dev files of PAWS-X and no others; data=pawsx_dev and evaluator=pawsx_dev split them by row"
        )
    elif missing := [name for part, name in (("valid", "dev"), ("test", "test")) if part not in files]:
        raise FileNotFoundError(
            f"{root}: expected {' and '.join(missing)} files of PAWS-X, there are those of {', '.join(files)}; XTREME's"
            " test files have no labels, the released archive has them"
        )
    return {part: partial(_read_part, ledger, part, paths, has_ids) for part, paths in files.items()}


def _files(folder: Path) -> tuple[dict[str, dict[str, Path]], bool]:
    """Path by language (sorted) by part, and whether the files have ids."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give one with data.root=... or evaluator.root=...")
    released = list(_released(folder))
    xtreme = [
        (XTREME[match[1]], match[2], path)
        for path in folder.iterdir()
        if (match := re.fullmatch(r"(train|dev|test)-([A-Za-z_-]+)\.tsv", path.name))
    ]
    if released and xtreme:
        raise ValueError(f"{folder}: expected one form of PAWS-X, found {released[0][2]} and {xtreme[0][2]}")
    if not released and not xtreme:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise FileNotFoundError(f"{folder}: expected files such as de/dev_2k.tsv or dev-de.tsv, found {names}")
    files: dict[str, dict[str, Path]] = {}
    for part, code, path in sorted(released or xtreme):
        language = to_iso639_3(code)
        other = files.setdefault(part, {}).setdefault(language, path)
        if other != path:
            raise ValueError(f"{folder}: {other.name} and {path.name} are both {language}, one is expected")
    return {part: dict(sorted(paths.items())) for part, paths in files.items()}, bool(released)


def _released(folder: Path) -> Iterator[tuple[str, str, Path]]:
    for own in folder.iterdir():
        for part, names in RELEASED.items():
            there = [own / name for name in names if (own / name).is_file()]
            if there:
                yield part, own.name, there[0]


def _read_part(ledger: RejectLedger, part: str, paths: dict[str, Path], has_ids: bool) -> list[LabelledRow]:
    """All rows of a part, one language after the other."""
    bar = tqdm(paths.items(), desc=f"reading PAWS-X {part}", unit=" files", delay=2, leave=False)
    files = {path: _read_file(ledger, path, language, has_ids) for language, path in bar}
    rows = [row for file in files.values() for row in file.rows]
    if not has_ids:
        _check_lengths(files)
    if len(files) > 1:
        _check_shared(rows, files)
    _check_labels(rows)
    log.info(
        "PAWS-X %s: %s rows in %s; dropped as untranslated (%s) or empty: %s",
        part,
        f"{len(rows):,}",
        ", ".join(paths),
        UNTRANSLATED,
        ", ".join(f"{lang} {n:,}" for lang, path in paths.items() if (n := len(files[path].dropped))) or "none",
    )
    return rows


def _read_file(ledger: RejectLedger, path: Path, language: str, has_ids: bool) -> _File:
    name, lines = str(path), read_lines(path)
    ledger.lines += len(lines)
    width = 4 if has_ids else 3
    if has_ids and (not lines or lines[0].split("\t") != HEADER):
        raise ValueError(f"{name}:1: expected the header {' '.join(HEADER)!r}, found {(lines or [''])[0][:80]!r}")
    rows, dropped = [], []
    line_of: dict[str, int] = {}
    for number, line in list(enumerate(lines, start=1))[has_ids:]:
        columns = line.split("\t")
        if len(columns) != width:
            raise ValueError(f"{name}:{number}: expected {width} columns by TAB, found {len(columns)}{_hint(columns)}")
        item = columns[0] if has_ids else str(number)
        if (before := line_of.setdefault(item, number)) != number:
            raise ValueError(f"{name}:{number}: expected each id once, found id {item} in line {before}, too")
        source, target, label = columns[-3:]
        row = LabelledRow(item, source, target, language, language, parse_label(label, name, number), name, number)
        if UNTRANSLATED not in (source.strip(), target.strip()) and has_both_sides(row, ledger):
            rows.append(row)
        else:
            dropped.append(item)
    return _File(rows, dropped)


def _hint(columns: list[str]) -> str:
    return " (XTREME's test files have no labels; the released archive has them)" if len(columns) == 2 else ""


# ---- what must agree between languages


def _check_lengths(files: dict[Path, _File]) -> None:
    lengths = {path: len(file.rows) + len(file.dropped) for path, file in files.items()}
    (one, expected), *others = lengths.items()
    for path, found in others:
        if found != expected:
            raise ValueError(f"{one} has {expected:,} rows, {path} has {found:,}: they must be row-aligned")


def _check_shared(rows: list[LabelledRow], files: dict[Path, _File]) -> None:
    there = Counter(row.item for row in rows)
    there.update(item for file in files.values() for item in file.dropped)
    single = next((row for row in rows if there[row.item] == 1), None)
    if single:
        raise ValueError(
            f"{single.file}:{single.line}: expected id {single.item} in other languages, too, found it in"
            f" {single.source_lang} alone"
        )


def _check_labels(rows: list[LabelledRow]) -> None:
    first: dict[str, LabelledRow] = {}
    for row in rows:
        other = first.setdefault(row.item, row)
        if row.label != other.label:
            raise ValueError(
                f"{row.file}:{row.line}: id {row.item} has label {row.label}, in {other.file}:{other.line} it has"
                f" {other.label}: expected one label in all languages"
            )
