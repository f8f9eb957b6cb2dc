"""CLSD reader (cross-lingual semantic discrimination): sources, translations, and distractors of the translations."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from pathlib import Path

from xsent.data.test_sets.clsd_files import FORMS, LocatedRow, read_rows
from xsent.languages import to_iso639_3

TRANSLATED = "MT_"  # prefix of machine-translated files, which are not corpora of their own
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
    """Read every direction of every corpus: all corpora of the first direction, then those of the second.

    A row is an item of a direction if it has texts in both languages and distractors in the target language.

    Args:
        root: a file in the released CSV format or JSON lines (``xsent.text.distractors.json_format``), or a folder of
            such files, one per corpus. Translated files (``MT_...``) and other files of a folder are ignored.
        directions: such as ``de-fr``, German sources and French candidates, in any codes; None is all, sorted.
        distractors: number of distractors that each text must have; None: as many as the first text.

    Raises:
        FileNotFoundError: no such file or folder, or no file has items of a direction.
        ValueError: ``distractors`` is below 1, two files are of one corpus or differ in the number of distractors, or
            a row is invalid; names file and line.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638), section 3.1; the released files for their format.
    """
    if distractors is not None and distractors < 1:
        raise ValueError(
            f"evaluator.read.distractors={distractors}: expected at least 1, or null for those of the files"
        )
    files = find_corpora(Path(root))
    rows_of = {name: read_checked_rows(path, distractors, distinct=True) for name, path in files.items()}
    _check_same_counts({files[name]: rows for name, rows in rows_of.items()})
    available = sorted({direction for rows in rows_of.values() for direction in _directions(rows)})
    requested = available if directions is None else [_parse_direction(direction) for direction in directions]
    missing = ["-".join(direction) for direction in requested if direction not in available]
    if missing or not requested:
        known = ", ".join(map("-".join, available)) or "none: no row has a text in two languages and distractors of one"
        raise FileNotFoundError(f"{root}: no items of {', '.join(missing) or 'any direction'}; there are {known}")
    sets = [
        clsd_set(name, *direction, rows) for direction in dict.fromkeys(requested) for name, rows in rows_of.items()
    ]
    return [clsd for clsd in sets if clsd.ids]


def find_corpora(root: Path, *, translated: bool = False) -> dict[str, Path]:
    """Files of a folder, or the file itself, by name of the corpus.

    ``translated`` finds translated files, which in a mixed folder are those named ``MT_...``.
    """
    if root.is_file():
        return {corpus_name(root): root}
    if not root.is_dir():
        raise FileNotFoundError(f"{root}: expected a file or folder of texts with their distractors, found none")
    files = [path for path in sorted(root.iterdir()) if path.name.endswith(FORMS)]
    marked = [path for path in files if path.name.startswith(TRANSLATED)]
    selected = (marked or files) if translated else [path for path in files if path not in marked]
    corpora: dict[str, Path] = {}
    for path in selected:
        if (first := corpora.setdefault(corpus_name(path), path)) != path:
            raise ValueError(f"{path}: expected one file of {corpus_name(path)}, found {first.name}, too")
    if not corpora:
        raise FileNotFoundError(f"{root}: expected files of {', '.join(FORMS)}, found none")
    return corpora


def corpus_name(path: Path) -> str:
    """``wmt19`` for the released ``CLSD_wmt2019_adversarial_dataset.csv`` and its translation, else the file's stem."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0].removeprefix(TRANSLATED).removeprefix("M2M_")
    released = RELEASED.fullmatch(stem)
    return "".join(released.groups()) if released else stem


def read_checked_rows(path: Path, distractors: int | None, *, distinct: bool) -> list[LocatedRow]:
    """Read the rows of a file; raise ``ValueError`` if not all texts have the same number of distractors."""
    rows = read_rows(path, distinct=distinct)
    expected, origin = distractors, "as evaluator.read.distractors says"
    for location, row in rows:
        for language, texts in row.distractors.items():
            if expected is None:
                expected, origin = len(texts), f"as the first text has ({location})"
            if len(texts) != expected:
                raise ValueError(
                    f"{location}: expected {expected} distractors in {language}, {origin}, found {len(texts)}"
                )
    return rows


def clsd_set(name: str, source_lang: str, target_lang: str, rows: Iterable[LocatedRow]) -> ClsdSet:
    """The items of a direction."""
    items = [row for _, row in items_of(rows, source_lang, target_lang)]
    return ClsdSet(
        name=name,
        source_lang=source_lang,
        target_lang=target_lang,
        ids=[row.id for row in items],
        source=[row.texts[source_lang] for row in items],
        target=[row.texts[target_lang] for row in items],
        distractors=[list(row.distractors[target_lang]) for row in items],
    )


def items_of(rows: Iterable[LocatedRow], source_lang: str, target_lang: str) -> list[LocatedRow]:
    """The rows that are items of a direction."""
    return [located for located in rows if (source_lang, target_lang) in _directions([located])]


def _check_same_counts(files: Mapping[Path, Sequence[LocatedRow]]) -> None:
    # Means over corpora with different numbers of distractors would not compare.
    counts = {path: len(texts) for path, rows in files.items() for _, row in rows for texts in row.distractors.values()}
    for (first, expected), (path, count) in pairwise(counts.items()):
        if count != expected:
            raise ValueError(f"{path}: expected {expected} distractors of each text, as in {first}, found {count}")


def _directions(rows: Iterable[LocatedRow]) -> set[tuple[str, str]]:
    return {
        (source_lang, target_lang)
        for _, row in rows
        for source_lang, target_lang in permutations(row.texts, 2)
        if target_lang in row.distractors
    }


def _parse_direction(text: str) -> tuple[str, str]:
    source_lang, _, target_lang = text.partition("-")
    if not source_lang or not target_lang:
        raise ValueError(f"evaluator.directions: expected two languages such as deu-fra, found {text!r}")
    return to_iso639_3(source_lang), to_iso639_3(target_lang)
