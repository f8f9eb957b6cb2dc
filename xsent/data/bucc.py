"""Reader of BUCC files: two collections of sentences with ids, and the pairs of ids that translate each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xsent.data.lines import read_lines
from xsent.languages import to_iso639_3


@dataclass(frozen=True)
class MiningTask:
    """Two collections and the pairs to be found, by text: a sentence that occurs twice is one sentence.

    The gold pairs are pairs of distinct texts, too, so a pair counts once however many ids its texts have,
    and finding it under any of them is finding it.
    """

    name: str  # "zho-eng"
    source: list[str]  # the M distinct texts, in the order of their first ids
    target: list[str]  # N
    gold: list[tuple[int, int]]  # distinct (row of source, row of target), sorted
    source_lines: int  # with the repetitions
    target_lines: int
    gold_lines: int


def read_bucc(root: str, languages: Sequence[str] | None, *, part: str) -> list[MiningTask]:
    """The files ``zh-en.<part>.zh``, ``zh-en.<part>.en`` (id TAB text) and ``zh-en.<part>.gold`` (id TAB id).

    Args:
        root: their folder.
        languages: which ones, in any code; None is all that are there.
        part: ``dev``, ``training``, ``test`` or ``sample``.

    Raises:
        FileNotFoundError: no such folder, or a language is not in it.
        ValueError: a file of the three is missing or empty, a line has another form, an id comes twice, or a
            gold pair names ids that do not exist or names them in the other order.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give one with evaluator.root=...")
    found = {to_iso639_3(path.name.split("-")[0]): path for path in sorted(folder.glob(f"*-en.{part}.gold"))}
    chosen = list(found) if languages is None else [to_iso639_3(code) for code in languages]
    missing = [language for language in chosen if language not in found]
    if missing or not chosen:
        wanted, there = ", ".join(missing) or "any language", ", ".join(found) or "none"
        raise FileNotFoundError(f"{folder}: no *-en.{part}.gold for {wanted}; there are {there}")
    return [_read_task(language, found[language]) for language in chosen]


def _read_task(language: str, gold_path: Path) -> MiningTask:
    code = gold_path.name.split("-")[0]
    source_path, target_path = gold_path.with_suffix(f".{code}"), gold_path.with_suffix(".en")
    for path in (source_path, target_path):
        if not path.is_file():
            raise ValueError(f"{gold_path}: expected {path.name} beside it, found none")
    source_text, target_text = _read_texts(source_path), _read_texts(target_path)
    source, target = (_row_of_each(texts.values()) for texts in (source_text, target_text))
    pairs = _read_gold(gold_path, source_path, target_path, source_text, target_text)
    gold = {(source[source_text[first]], target[target_text[second]]) for first, second in pairs}
    return MiningTask(
        f"{language}-eng", list(source), list(target), sorted(gold), len(source_text), len(target_text), len(pairs)
    )


def _row_of_each(texts: Iterable[str]) -> dict[str, int]:
    return {text: row for row, text in enumerate(dict.fromkeys(texts))}


def _read_texts(path: Path) -> dict[str, str]:
    """Text by id, in the order of the file."""
    texts: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        id_, tab, text = line.partition("\t")
        if not (id_ and tab and text.strip()):
            raise ValueError(f"{path}:{number}: expected an id, a TAB and a text, found {line[:60]!r}")
        if id_ in texts:
            raise ValueError(f"{path}:{number}: expected a new id, found {id_} a second time")
        texts[id_] = text
    if not texts:
        raise ValueError(f"{path}: expected lines of id TAB text, found an empty file")
    return texts


def _read_gold(
    path: Path, source_path: Path, target_path: Path, source: Mapping[str, str], target: Mapping[str, str]
) -> list[tuple[str, str]]:
    pairs = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise ValueError(f"{path}:{number}: expected 2 ids with a TAB between, found {line[:60]!r}")
        first, second = columns
        if first in target and second in source and not (first in source and second in target):
            raise ValueError(
                f"{path}:{number}: expected an id of {source_path.name}, then one of {target_path.name},"
                f" found {first} and {second} in the other order"
            )
        for id_, texts, where in ((first, source, source_path), (second, target, target_path)):
            if id_ not in texts:
                raise ValueError(f"{path}:{number}: expected an id of {where.name}, found {id_!r}, which is not in it")
        pairs.append((first, second))
    if not pairs:
        raise ValueError(f"{path}: expected lines of id TAB id, found an empty file")
    return pairs
