"""SemDiverge reader: crowdsourced equivalent and divergent pairs of OpenSubtitles and Common Crawl."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from xsent.batch import WordPair
from xsent.data.readers.divergences import DivergenceSet
from xsent.data.readers.lines import read_columns
from xsent.data.test_sets.refresd import check_sets

SplitWords = Callable[[str, str], Sequence[str]]  # (sentence, ISO 639-3 code) -> its words

NAMES = ("opensubs", "commoncrawl")


def read_semdiverge(root: str, sets: Sequence[str] | None, *, words: SplitWords) -> list[DivergenceSet]:
    """Read ``opensubs.test`` and ``commoncrawl.test``: English TAB French TAB label TAB agreement.

    Label 1 is equivalent and 0 divergent, the opposite of REFreSD's. The agreement of the annotators must be a share;
    it is not used. ``sets`` names the files; None reads those that exist. ``words`` splits a raw sentence into words
    when ``pairs`` is first read, so that an evaluation of sentences needs no tokenizer.

    Raises:
        FileNotFoundError: a file does not exist.
        ValueError: another number of columns, an unknown label or agreement, an empty side, or no pair; when
            ``pairs`` is read, a sentence without words.

    Source:
        Vyas, Niu and Carpuat 2018 (NAACL), crowdsourced labels.
    """
    folder = Path(root)
    available = [name for name in NAMES if (folder / f"{name}.test").is_file()]
    selected = check_sets(sets, NAMES) if sets is not None else available
    if missing := [name for name in selected or NAMES if name not in available]:
        raise FileNotFoundError(f"{folder}: expected {' and '.join(f'{name}.test' for name in missing)}, found none")
    return [_read_set(folder / f"{name}.test", name, words) for name in selected]


class _LazyPairs(Sequence[WordPair]):
    """Pairs whose sentences are split into words on first access."""

    def __init__(self, rows: Sequence[tuple[str, str, str, str]], split: SplitWords) -> None:
        self._rows, self._split = rows, split

    @cached_property
    def _pairs(self) -> list[WordPair]:
        return [
            WordPair(self._words(english, "eng", location), self._words(french, "fra", location))
            for location, english, french, _ in self._rows
        ]

    def _words(self, sentence: str, language: str, location: str) -> tuple[str, ...]:
        words = tuple(self._split(sentence, language))
        if not words:
            raise ValueError(f"{location}: expected a sentence in {language}, found {sentence!r}, which has no words")
        return words

    def __getitem__(self, index: Any) -> Any:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._rows)


def _read_set(path: Path, name: str, words: SplitWords) -> DivergenceSet:
    rows = list(_read_rows(path))
    _, source, target, labels = (list(column) for column in zip(*rows, strict=True))
    equivalent = [label == "1" for label in labels]
    return DivergenceSet(name, _LazyPairs(rows, words), source, target, equivalent, [""] * len(rows), None, 0)


def _read_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Location, English, French and label of each line."""
    for location, columns in read_columns(path, 4):
        english, french, label, agreement = (column.strip() for column in columns)
        for language, sentence in (("eng", english), ("fra", french)):
            if not sentence:
                raise ValueError(f"{location}: expected a sentence in {language}, found none")
        if label not in ("0", "1"):
            raise ValueError(f"{location}: expected label 1 (equivalent) or 0 (divergent), found {label!r}")
        if not _is_share(agreement):
            raise ValueError(f"{location}: expected an agreement from 0 to 1, found {agreement!r}")
        yield location, english, french, label


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
