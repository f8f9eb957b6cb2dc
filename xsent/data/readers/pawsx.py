"""PAWS-X reader: adversarial paraphrase pairs and their translations, in the released format or XTREME's."""

import logging
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.readers.labelled import LabelledRow, PartReaders, check_item_labels, parse_label, read_rows
from xsent.data.readers.rejects import RejectLedger
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

# Files in the folder of each language; the training data of languages other than English are machine-translated.
RELEASED = {"train": ("train.tsv", "translated_train.tsv"), "valid": ("dev_2k.tsv",), "test": ("test_2k.tsv",)}
HEADER = ["id", "sentence1", "sentence2", "label"]
XTREME = {"train": "train", "dev": "valid", "test": "test"}
UNTRANSLATED = "NS"


class _File(NamedTuple):
    """Content of a file of one language."""

    rows: list[LabelledRow]
    dropped: list[str]  # items whose row is untranslated or empty: they exist, but their label is not used


def read_pawsx(ledger: RejectLedger, root: str, *, only_dev: bool) -> PartReaders:
    """Read PAWS-X in all languages of the folder; the file names tell the format.

    - Released: ``en/train.tsv``, ``de/translated_train.tsv``, ``de/dev_2k.tsv``, ``de/test_2k.tsv``, with a header
      and an id that is the same in all languages.
    - XTREME: ``train-de.tsv``, ``dev-de.tsv``, ``test-de.tsv``, without header and id; row i is the same item in all
      languages.

    A sentence ``NS`` was not translated, and its row has label 0 whatever the English label is. The row is dropped in
    that language, and the log counts it. Rows with an empty side go to the ledger and are dropped in the same way.
    ``only_dev`` reads the dev files alone, as the part ``train``, from which the other parts can be split off.

    Raises:
        FileNotFoundError: no such folder, or the files are missing. Without ``only_dev`` dev and test files must
            exist, because rows split off the training files are not the published test set.
        ValueError: files of both formats; another header or number of columns; a label that is neither 0 nor 1; an
            item twice in a file, in one language only, or with two labels; files of different length (XTREME).
    """
    files, has_ids = _find_files(Path(root))
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


def _find_files(folder: Path) -> tuple[dict[str, dict[str, Path]], bool]:
    """Path by part and language (sorted), and whether the files have ids."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give one with data.root=... or evaluator.root=...")
    released = [
        (part, subfolder.name, existing[0])
        for subfolder in folder.iterdir()
        for part, names in RELEASED.items()
        if (existing := [subfolder / name for name in names if (subfolder / name).is_file()])
    ]
    xtreme = [
        (XTREME[match[1]], match[2], path)
        for path in folder.iterdir()
        if (match := re.fullmatch(r"(train|dev|test)-([A-Za-z_-]+)\.tsv", path.name))
    ]
    if released and xtreme:
        raise ValueError(f"{folder}: expected one format of PAWS-X, found {released[0][2]} and {xtreme[0][2]}")
    if not released and not xtreme:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise FileNotFoundError(f"{folder}: expected files such as de/dev_2k.tsv or dev-de.tsv, found {names}")
    files: dict[str, dict[str, Path]] = {}
    for part, code, path in sorted(released or xtreme):
        language = to_iso639_3(code)
        first = files.setdefault(part, {}).setdefault(language, path)
        if first != path:
            raise ValueError(f"{folder}: {first.name} and {path.name} are both {language}, one is expected")
    return {part: dict(sorted(paths.items())) for part, paths in files.items()}, bool(released)


def _read_part(ledger: RejectLedger, part: str, paths: dict[str, Path], has_ids: bool) -> list[LabelledRow]:
    """All rows of a part, sorted by language."""
    bar = tqdm(paths.items(), desc=f"reading PAWS-X {part}", unit=" files", delay=2, leave=False)
    files = {path: _read_file(ledger, path, language, has_ids) for language, path in bar}
    rows = [row for file in files.values() for row in file.rows]
    if not has_ids:
        _check_lengths(files)
    if len(files) > 1 and ledger.max_lines is None:  # the beginnings of two files need not end with the same item
        _check_shared(rows, files)
    check_item_labels(rows)
    dropped = ", ".join(f"{lang} {n:,}" for lang, path in paths.items() if (n := len(files[path].dropped)))
    log.info(
        f"PAWS-X {part}: {len(rows):,} rows in {', '.join(paths)}; dropped as untranslated ({UNTRANSLATED}) or empty:"
        f" {dropped or 'none'}"
    )
    return rows


def _read_file(ledger: RejectLedger, path: Path, language: str, has_ids: bool) -> _File:
    name, rows, dropped = str(path), [], []
    hint = " (XTREME's test files have no labels; the released archive has them)"
    lines = read_rows(ledger, path, HEADER if has_ids else None, width=4 if has_ids else 3, hint=hint)
    line_of: dict[str, int] = {}
    for number, columns in lines:
        item = columns[0] if has_ids else str(number)
        if (first := line_of.setdefault(item, number)) != number:
            raise ValueError(f"{name}:{number}: expected each id once, found id {item} in line {first}, too")
        source, target, label = columns[-3:]
        row = LabelledRow(item, source, target, language, language, parse_label(label, name, number), name, number)
        is_translated = UNTRANSLATED not in (source.strip(), target.strip())
        if is_translated and ledger.has_both_sides(source, target, name, number):
            rows.append(row)
        else:
            dropped.append(item)
    return _File(rows, dropped)


def _check_lengths(files: dict[Path, _File]) -> None:
    lengths = {path: len(file.rows) + len(file.dropped) for path, file in files.items()}
    first, expected = next(iter(lengths.items()))
    for path, length in lengths.items():
        if length != expected:
            raise ValueError(f"{first} has {expected:,} rows, {path} has {length:,}: they must be row-aligned")


def _check_shared(rows: list[LabelledRow], files: dict[Path, _File]) -> None:
    counts = Counter(row.item for row in rows)
    counts.update(item for file in files.values() for item in file.dropped)
    single = next((row for row in rows if counts[row.item] == 1), None)
    if single:
        raise ValueError(
            f"{single.file}:{single.line}: expected id {single.item} in other languages, too, found it in"
            f" {single.source_lang} alone"
        )
