"""Tatoeba and FLORES-200 readers: line-aligned test sets for retrieval."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xsent.data.readers.lines import check_aligned, existing_folder, read_lines, select_available
from xsent.languages import to_iso639_3


@dataclass(frozen=True)
class TestBitext:
    """A line-aligned test set; ``target[i]`` translates ``source[i]``."""

    __test__: ClassVar[bool] = False  # not a pytest class

    name: str  # "deu-eng"
    source_lang: str  # ISO 639-3
    target_lang: str
    source: list[str]
    target: list[str]


def read_tatoeba(root: str, languages: Sequence[str] | None) -> list[TestBitext]:
    """Read LASER's Tatoeba v1 files, ``tatoeba.deu-eng.deu`` and ``tatoeba.deu-eng.eng``; None is all languages.

    Raises:
        FileNotFoundError: no such folder, or it lacks a language.
        ValueError: the two files of a language differ in length, one is missing or both are empty.
    """
    folder = existing_folder(root, "evaluator.root")
    paths = [path for path in sorted(folder.glob("tatoeba.*-eng.*")) if path.suffix != ".eng"]
    files = _by_language((path.suffix[1:], path) for path in paths)
    return [
        _read_aligned(language, "eng", files[language], files[language].with_suffix(".eng"))
        for language in select_available(languages, files, folder, "files")
    ]


def read_flores(root: str, languages: Sequence[str] | None, *, pivot: str) -> list[TestBitext]:
    """Read FLORES-200 files, one per language (``deu_Latn.dev``), each language against the pivot.

    Raises:
        FileNotFoundError: no such folder, or it lacks a language.
        ValueError: two files differ in length or are empty.
    """
    folder = existing_folder(root, "evaluator.root")
    # Of a language in two scripts the first by name is read: zho_Hans, not zho_Hant.
    files = _by_language((path.stem, path) for path in sorted(folder.glob("*_*.*")))
    pivot = to_iso639_3(pivot)
    select_available([pivot], files, folder, "files")
    selected = select_available(languages, [language for language in files if language != pivot], folder, "files")
    return [_read_aligned(language, pivot, files[language], files[pivot]) for language in selected]


def _by_language(files: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    path_of: dict[str, Path] = {}
    for code, path in files:
        path_of.setdefault(to_iso639_3(code), path)
    return path_of


def _read_aligned(language: str, pivot: str, path: Path, pivot_path: Path) -> TestBitext:
    if not pivot_path.is_file():
        # ValueError, since the set is damaged: evaluators skip sets that do not exist (FileNotFoundError).
        raise ValueError(f"{path}: expected {pivot_path.name} beside it, found none")
    source, target = read_lines(path), read_lines(pivot_path)
    check_aligned(path, len(source), pivot_path, len(target))
    if not source:
        raise ValueError(f"{path}: expected at least 1 sentence, found an empty file")
    return TestBitext(f"{language}-{pivot}", language, pivot, source, target)
