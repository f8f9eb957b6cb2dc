"""Readers of cross-lingual semantic discrimination: a source, its translation, and distractors of the translation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from pathlib import Path

from xsent.data.clsd_files import FORMS, PlacedRow, read_rows
from xsent.languages import to_iso639_3

TRANSLATED = "MT_"  # how the names of translated files begin, which are no corpora of their own
RELEASED = re.compile(r"CLSD_(wmt)20(\d\d)_adversarial_dataset")


@dataclass(frozen=True)
class ClsdSet:
    """N items of one corpus in one direction; row i of each list belongs to item i."""

    name: str  # of the corpus, "wmt19"
    source_lang: str  # ISO 639-3
    target_lang: str  # of the translations and their distractors
    ids: list[str]
    source: list[str]
    target: list[str]
    distractors: list[list[str]]  # K of each translation

    @property
    def direction(self) -> str:
        """``deu-fra``: German sources, French candidates."""
        return f"{self.source_lang}-{self.target_lang}"


def read_clsd(root: str, directions: Sequence[str] | None, *, distractors: int | None) -> list[ClsdSet]:
    """Every direction of every corpus: the corpora of the first direction, then those of the second, as in the paper.

    A row without a text in one of the two languages, or without distractors in the language of the candidates, is no
    item of a direction.

    Args:
        root: a file of the released form or of JSON lines (``xsent.text.distractors.record``), or a folder of them, a
            corpus each; translated files (``MT_...``) and other files of a folder are passed over.
        directions: such as ``de-fr``, German sources and French candidates, in any codes; None is all that are there,
            in the order of the alphabet.
        distractors: how many each text must have; None: as many as the first one, in all files.

    Raises:
        FileNotFoundError: no such file or folder, or a direction is in none of its files.
        ValueError: fewer than one distractor is asked for, two files are of one corpus or differ in the number of
            distractors, or a row is not as it should be; names file and line.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638), section 3; the released files for their form.
    """
    if distractors is not None and distractors < 1:
        raise ValueError(
            f"evaluator.read.distractors={distractors}: expected at least 1, or null for those of the files"
        )
    files = corpora(Path(root))
    found = {name: checked_rows(path, distractors, distinct=True) for name, path in files.items()}
    _check_alike({files[name]: rows for name, rows in found.items()})
    there = sorted({direction for rows in found.values() for direction in _directions(rows)})
    wanted = there if directions is None else [_direction(one) for one in directions]
    missing = ["-".join(one) for one in wanted if one not in there]
    if missing or not wanted:
        known = ", ".join(map("-".join, there)) or "none: no row has a text in two languages and distractors of one"
        raise FileNotFoundError(f"{root}: no items of {', '.join(missing) or 'any direction'}; there are {known}")
    sets = [
        clsd_set(name, *direction, rows_of(rows, *direction))
        for direction in dict.fromkeys(wanted)
        for name, rows in found.items()
    ]
    return [one for one in sets if one.ids]


def corpora(root: Path, *, translated: bool = False) -> dict[str, Path]:
    """The files of a folder, or the file itself, by the name of the corpus, in the order of their names.

    Args:
        root: file or folder.
        translated: whether translated files are looked for, which in a folder of both are those named ``MT_...``.

    Raises:
        FileNotFoundError: no such file or folder, or none in it.
        ValueError: two files are of one corpus.
    """
    if root.is_file():
        return {corpus_name(root): root}
    if not root.is_dir():
        raise FileNotFoundError(f"{root}: expected a file or folder of texts with their distractors, found none")
    files = [path for path in sorted(root.iterdir()) if path.name.endswith(FORMS)]
    marked = [path for path in files if path.name.startswith(TRANSLATED)]
    chosen = (marked or files) if translated else [path for path in files if path not in marked]
    found: dict[str, Path] = {}
    for path in chosen:
        if (other := found.setdefault(corpus_name(path), path)) != path:
            raise ValueError(f"{path}: expected one file of {corpus_name(path)}, found {other.name}, too")
    if not found:
        raise FileNotFoundError(f"{root}: expected files of {', '.join(FORMS)}, found none")
    return found


def corpus_name(path: Path) -> str:
    """``wmt19`` of the released ``CLSD_wmt2019_adversarial_dataset.csv`` and its translation, else the file's stem."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0].removeprefix(TRANSLATED).removeprefix("M2M_")
    released = RELEASED.fullmatch(stem)
    return "".join(released.groups()) if released else stem


def checked_rows(path: Path, distractors: int | None, *, distinct: bool) -> list[PlacedRow]:
    """The rows of a file, all of whose texts have the same number of distractors, or none.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a text has another number, or a row is not as it should be; names file and line.
    """
    rows = read_rows(path, distinct=distinct)
    expected, origin = distractors, "as evaluator.read.distractors says"
    for where, row in rows:
        for language, several in row.distractors.items():
            if expected is None:
                expected, origin = len(several), f"as the first text has ({where})"
            if len(several) != expected:
                raise ValueError(
                    f"{where}: expected {expected} distractors in {language}, {origin}, found {len(several)}"
                )
    return rows


def _check_alike(files: Mapping[Path, Sequence[PlacedRow]]) -> None:
    """Raise ``ValueError`` where two files have other numbers of distractors: their means would not compare."""
    counts = {
        path: len(several) for path, rows in files.items() for _, row in rows for several in row.distractors.values()
    }
    for (one, expected), (other, count) in pairwise(counts.items()):
        if count != expected:
            raise ValueError(f"{other}: expected {expected} distractors of each text, as in {one}, found {count}")


def rows_of(rows: Iterable[PlacedRow], source_lang: str, target_lang: str) -> list[PlacedRow]:
    """The rows that are items of a direction."""
    return [one for one in rows if (source_lang, target_lang) in _directions([one])]


def clsd_set(name: str, source_lang: str, target_lang: str, rows: Sequence[PlacedRow]) -> ClsdSet:
    """The set of rows that are items of a direction."""
    return ClsdSet(
        name=name,
        source_lang=source_lang,
        target_lang=target_lang,
        ids=[row.id for _, row in rows],
        source=[row.texts[source_lang] for _, row in rows],
        target=[row.texts[target_lang] for _, row in rows],
        distractors=[list(row.distractors[target_lang]) for _, row in rows],
    )


def _directions(rows: Iterable[PlacedRow]) -> set[tuple[str, str]]:
    return {
        (source_lang, target_lang)
        for _, row in rows
        for source_lang, target_lang in permutations(row.texts, 2)
        if target_lang in row.distractors
    }


def _direction(text: str) -> tuple[str, str]:
    source_lang, _, target_lang = text.partition("-")
    if not source_lang or not target_lang:
        raise ValueError(f"evaluator.directions: expected two languages such as deu-fra, found {text!r}")
    return to_iso639_3(source_lang), to_iso639_3(target_lang)
