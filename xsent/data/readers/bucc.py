"""BUCC reader: two collections of sentences with ids, and the pairs of ids that translate each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xsent.data.readers.lines import existing_folder, read_columns, read_lines, select_available
from xsent.languages import to_iso639_3


@dataclass(frozen=True)
class MiningTask:
    """Two collections of distinct texts, and the gold pairs to be mined.

    A gold pair is a pair of distinct texts: it counts once however many ids its texts have.
    """

    name: str  # "zho-eng"
    source: list[str]  # M distinct texts, in the order of their first ids
    target: list[str]  # N
    gold: list[tuple[int, int]]  # distinct (row of source, row of target), sorted
    source_lines: int  # with repetitions
    target_lines: int
    gold_lines: int


def read_bucc(root: str, languages: Sequence[str] | None, *, part: str) -> list[MiningTask]:
    """Read ``zh-en.<part>.zh``, ``zh-en.<part>.en`` (id TAB text) and ``zh-en.<part>.gold`` (id TAB id) of a folder.

    Languages are in any code; None is all of the folder. Parts are ``dev``, ``training``, ``test`` and ``sample``.

    Raises:
        FileNotFoundError: no such folder, or it lacks a language.
        ValueError: one of the three files is missing or empty, a line has another form, an id occurs twice, or a
            gold pair has unknown ids or ids in the other order.
    """
    folder = existing_folder(root, "evaluator.root")
    files = {to_iso639_3(path.name.split("-")[0]): path for path in sorted(folder.glob(f"*-en.{part}.gold"))}
    return [_read_task(lang, files[lang]) for lang in select_available(languages, files, folder, f"*-en.{part}.gold")]


def _read_task(language: str, gold_path: Path) -> MiningTask:
    code = gold_path.name.split("-")[0]
    source_path, target_path = gold_path.with_suffix(f".{code}"), gold_path.with_suffix(".en")
    for path in (source_path, target_path):
        if not path.is_file():
            raise ValueError(f"{gold_path}: expected {path.name} beside it, found none")
    source_text, target_text = _read_texts(source_path), _read_texts(target_path)
    source, target = (
        {text: row for row, text in enumerate(dict.fromkeys(texts.values()))} for texts in (source_text, target_text)
    )
    pairs = _read_gold(gold_path, (source_path, source_text), (target_path, target_text))
    gold = {(source[source_text[first]], target[target_text[second]]) for first, second in pairs}
    return MiningTask(
        f"{language}-eng", list(source), list(target), sorted(gold), len(source_text), len(target_text), len(pairs)
    )


def _read_texts(path: Path) -> dict[str, str]:
    """Text by id, in file order."""
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
    path: Path, source: tuple[Path, Mapping[str, str]], target: tuple[Path, Mapping[str, str]]
) -> list[tuple[str, str]]:
    pairs = []
    for location, (first, second) in read_columns(path, 2):
        if first in target[1] and second in source[1] and not (first in source[1] and second in target[1]):
            raise ValueError(
                f"{location}: expected an id of {source[0].name}, then one of {target[0].name},"
                f" found {first} and {second} in the other order"
            )
        for id_, (texts_path, texts) in ((first, source), (second, target)):
            if id_ not in texts:
                raise ValueError(f"{location}: expected an id of {texts_path.name}, found {id_!r}, which is not in it")
        pairs.append((first, second))
    return pairs
