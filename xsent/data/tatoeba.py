"""Readers of retrieval test sets: lines of one file translate the lines of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from xsent.data.lines import read_lines
from xsent.languages import to_iso639_3


@dataclass(frozen=True)
class TestBitext:
    """A line-aligned test set; ``target[i]`` translates ``source[i]``."""

    __test__: ClassVar[bool] = False  # not a test, whatever its name begins with

    name: str  # "deu-eng"
    source_lang: str  # ISO 639-3
    target_lang: str
    source: list[str]
    target: list[str]


def read_tatoeba(root: str, languages: Sequence[str] | None) -> list[TestBitext]:
    """LASER's Tatoeba v1 files, ``tatoeba.deu-eng.deu`` and ``tatoeba.deu-eng.eng``.

    Args:
        root: their folder.
        languages: which ones, in any code; None is all that are there.

    Raises:
        FileNotFoundError: no such folder, or a language is not in it.
        ValueError: the two files of a language differ in length, one is missing or both are empty.
    """
    folder = _folder(root)
    paths = [path for path in sorted(folder.glob("tatoeba.*-eng.*")) if path.suffix != ".eng"]
    found = _by_language((path.suffix[1:], path) for path in paths)
    bitexts = []
    for language in _chosen(languages, list(found), folder):
        path = found[language]
        bitexts.append(_aligned(language, "eng", path, path.with_suffix(".eng")))
    return bitexts


def read_flores(root: str, languages: Sequence[str] | None, *, pivot: str) -> list[TestBitext]:
    """FLORES-200 files, one per language (``deu_Latn.dev``), each language against the pivot.

    Raises:
        FileNotFoundError: no such folder, or a language is not in it.
        ValueError: two files differ in length or are empty.
    """
    folder = _folder(root)
    # Of a language in two scripts the first by name stands for it: zho_Hans, not zho_Hant.
    found = _by_language((path.stem, path) for path in sorted(folder.glob("*_*.*")))
    pivot = to_iso639_3(pivot)
    _chosen([pivot], list(found), folder)
    others = [language for language in found if language != pivot]
    chosen = _chosen(languages, others, folder)
    return [_aligned(language, pivot, found[language], found[pivot]) for language in chosen]


def _by_language(files: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for code, path in files:
        found.setdefault(to_iso639_3(code), path)
    return found


def _folder(root: str) -> Path:
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give one with evaluator.root=...")
    return folder


def _chosen(languages: Sequence[str] | None, available: list[str], folder: Path) -> list[str]:
    chosen = available if languages is None else [to_iso639_3(code) for code in languages]
    missing = [language for language in chosen if language not in available]
    if missing or not chosen:
        wanted = ", ".join(missing) or "any language"
        there = ", ".join(sorted(available)) or "none"
        raise FileNotFoundError(f"{folder}: no files for {wanted}; there are {there}")
    return chosen


def _aligned(language: str, pivot: str, path: Path, pivot_path: Path) -> TestBitext:
    if not pivot_path.is_file():
        # A damaged set, not an absent one: it is never left out with a note.
        raise ValueError(f"{path}: expected {pivot_path.name} beside it, found none")
    source, target = read_lines(path), read_lines(pivot_path)
    if len(source) != len(target):
        raise ValueError(f"{path} has {len(source)} lines, {pivot_path} has {len(target)}: they must be line-aligned")
    if not source:
        raise ValueError(f"{path}: expected at least 1 sentence, found an empty file")
    return TestBitext(f"{language}-{pivot}", language, pivot, source, target)
