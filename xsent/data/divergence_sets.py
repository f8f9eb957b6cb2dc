"""Pairs that people judged equivalent or divergent: REFreSD and the test sets of SemDiverge."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, overload

from xsent.batch import WordPair
from xsent.data.lines import read_lines

log = logging.getLogger(__name__)

Words = Callable[[str, str], Sequence[str]]  # sentence, ISO 639-3 code -> its words
Counts = tuple[int, ...]  # per word, how many annotators highlighted it

EQUIVALENT = "no_meaning_difference"
DIVERGENT = ("some_meaning_difference", "unrelated")
ANNOTATORS = 3  # of each pair of REFreSD

RATIONALE, LABELS, TEST = "REFreSD_rationale", "REFreSD_sentence_labels", "test.tsv"
SENTENCES = ("english_sentence", "french_sentence")
HIGHLIGHTS = ("english_rational", "french_rationale")
RELEASED = ("binary_label", "3_labels", *SENTENCES)
HF = ("label", "1ID", "2ID", *SENTENCES)

SEMDIVERGE = ("opensubs", "commoncrawl")


@dataclass(frozen=True)
class DivergenceSet:
    """N sentence pairs, and whether the sides of each mean the same."""

    name: str  # "wikimatrix", "opensubs", "synthetic"
    pairs: Sequence[WordPair]
    source: list[str]  # the same sentences as raw text
    target: list[str]
    equivalent: list[bool]
    kinds: list[str]  # what people or a generator call the pair; "": nothing beyond the label
    highlights: list[tuple[Counts, Counts]] | None  # of both sides; None: words are not labelled
    annotators: int  # who could highlight a word
    source_lang: str = "eng"  # ISO 639-3
    target_lang: str = "fra"

    def digest(self) -> str:
        """Hex digest of everything in it."""
        # Words that are cut when they are asked for say no more than the sentences.
        content = vars(self) | {"pairs": self.pairs if isinstance(self.pairs, list) else []}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# ---- REFreSD


def read_refresd(root: str, sets: Sequence[str] | None) -> list[DivergenceSet]:
    """REFreSD: pairs of WikiMatrix with three-way labels, and words highlighted by three annotators.

    Either form does. Released: ``REFreSD_rationale``, tokenised, and where it is there ``REFreSD_sentence_labels``,
    whose sentences are the raw ones. For Hugging Face: ``test.tsv`` with 0 for equivalent; which of its divergent
    pairs are unrelated, ``unrelated.tsv`` and ``some_meaning_difference.tsv`` tell where they are there. Where both
    forms are, the released one is read.

    Args:
        root: folder of the files.
        sets: there is one, ``wikimatrix``; None is that.

    Raises:
        FileNotFoundError: no such folder, or neither form in it.
        ValueError: another header or number of columns, an unknown label, not as many highlights as words, files
            whose rows differ, or no pair.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 4.
    """
    _chosen(sets, ("wikimatrix",))
    folder = Path(root)
    if (folder / RATIONALE).is_file():
        return [_released(folder)]
    if (folder / TEST).is_file():
        return [_hugging_face(folder)]
    raise FileNotFoundError(f"{folder}: expected {RATIONALE} or {TEST} of REFreSD, found neither")


class _Row(NamedTuple):
    """A line of a table, its cells by the header's names."""

    where: str  # file:line
    cells: dict[str, str]

    @property
    def sentences(self) -> tuple[str, str]:
        english, french = (self.cells[name] for name in SENTENCES)
        return english, french


def _released(folder: Path) -> DivergenceSet:
    rows = _table(folder / RATIONALE, [*RELEASED, *HIGHLIGHTS])
    kinds = [_kind(row) for row in rows]
    raw = rows
    if (folder / LABELS).is_file():
        raw = _table(folder / LABELS, list(RELEASED))
        if len(raw) != len(rows):
            raise ValueError(
                f"{folder / LABELS} has {len(raw)} pairs, {folder / RATIONALE} has {len(rows)}:"
                " they must be row-aligned"
            )
        for row, kind in zip(raw, kinds, strict=True):
            if _kind(row) != kind:
                raise ValueError(f"{row.where}: expected {kind} as in {RATIONALE}, found {_kind(row)}")
    return _refresd_set(rows, kinds, [row.sentences for row in raw])


def _hugging_face(folder: Path) -> DivergenceSet:
    rows = _table(folder / TEST, [*HF, *HIGHLIGHTS])
    kind_of = {
        row.sentences: kind
        for kind in DIVERGENT
        if (folder / f"{kind}.tsv").is_file()
        for row in _table(folder / f"{kind}.tsv", list(HF))
        if _is_divergent(row)
    }
    kinds = [kind_of.get(row.sentences, "") if _is_divergent(row) else EQUIVALENT for row in rows]
    if unknown := kinds.count(""):
        log.warning(
            "%s: %d divergent pairs are in neither %s: there are no figures of their kinds",
            folder / TEST, unknown, " nor ".join(f"{kind}.tsv" for kind in DIVERGENT),
        )  # fmt: skip
    return _refresd_set(rows, kinds, [row.sentences for row in rows])


def _refresd_set(rows: list[_Row], kinds: list[str], raw: list[tuple[str, str]]) -> DivergenceSet:
    pairs = [WordPair(*(_split(row, name) for name in SENTENCES)) for row in rows]
    highlights = [_highlights(row, pair) for row, pair in zip(rows, pairs, strict=True)]
    source, target = (list(side) for side in zip(*raw, strict=True))
    equivalent = [kind == EQUIVALENT for kind in kinds]
    return DivergenceSet("wikimatrix", pairs, source, target, equivalent, kinds, highlights, ANNOTATORS)


def _table(path: Path, header: list[str]) -> list[_Row]:
    """Rows by TAB below a header of these names, each after a ``#``; a header may be split by spaces alone."""
    lines = read_lines(path)
    names = (lines or [""])[0].replace("#", "").split()
    # The files of one kind for Hugging Face may have highlights, too; they are those of test.tsv.
    if names not in (header, [*header, *HIGHLIGHTS]):
        expected = " ".join(f"#{name}" for name in header)
        raise ValueError(f"{path}:1: expected the header {expected!r}, found {(lines or [''])[0][:100]!r}")
    if len(lines) < 2:
        raise ValueError(f"{path}: expected at least 1 pair, found none")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        columns = line.split("\t")
        if len(columns) != len(names):
            raise ValueError(f"{path}:{number}: expected {len(names)} columns by TAB, found {len(columns)}")
        rows.append(_Row(f"{path}:{number}", dict(zip(names, columns, strict=True))))
    return rows


def _kind(row: _Row) -> str:
    """The three-way label, which must go with the other."""
    binary, kind = row.cells["binary_label"], row.cells["3_labels"]
    if kind not in (EQUIVALENT, *DIVERGENT):
        raise ValueError(f"{row.where}: expected one of {', '.join((EQUIVALENT, *DIVERGENT))}, found {kind!r}")
    expected = "equivalent" if kind == EQUIVALENT else "divergent"
    if binary != expected:
        raise ValueError(f"{row.where}: expected {expected} with {kind}, found {binary!r}")
    return kind


def _is_divergent(row: _Row) -> bool:
    label = row.cells["label"]
    if label not in ("0", "1"):
        raise ValueError(f"{row.where}: expected label 0 (equivalent) or 1 (divergent), found {label!r}")
    return label == "1"


def _split(row: _Row, name: str) -> tuple[str, ...]:
    # By spaces alone: other white space, such as a no-break space, is within a token of the released files.
    words = tuple(word for word in row.cells[name].split(" ") if word)
    if not words:
        raise ValueError(f"{row.where}: expected a sentence in {name}, found none")
    return words


def _highlights(row: _Row, pair: WordPair) -> tuple[Counts, Counts]:
    english, french = (
        _counts(row.cells[name], len(words), f"{row.where}: {name}")
        for name, words in zip(HIGHLIGHTS, pair, strict=True)
    )
    return english, french


def _counts(text: str, words: int, where: str) -> Counts:
    found = text.split()
    if len(found) != words:
        raise ValueError(f"{where}: expected a number for each of {words} words, found {len(found)}")
    known = {str(count): count for count in range(ANNOTATORS + 1)}
    if unknown := [one for one in found if one not in known]:
        raise ValueError(f"{where}: expected numbers from 0 to {ANNOTATORS}, found {unknown[0]!r}")
    return tuple(known[one] for one in found)


# ---- SemDiverge


def read_semdiverge(root: str, sets: Sequence[str] | None, *, words: Words) -> list[DivergenceSet]:
    """``opensubs.test`` and ``commoncrawl.test``: English TAB French TAB label TAB agreement, with spaces at the ends.

    Label 1 is equivalent and 0 divergent, the opposite of REFreSD's. The agreement of the annotators is checked to be
    a share, and has no part in the figures.

    Args:
        root: folder of the files.
        sets: ``opensubs``, ``commoncrawl``; None is what there is.
        words: makes words of the raw sentences, when the pairs are first asked for: whoever takes the sentences needs
            no tool that cuts them.

    Raises:
        FileNotFoundError: no such folder, or a file is not in it.
        ValueError: another number of columns, an unknown label or agreement, an empty side, or no pair; when the pairs
            are asked for, a sentence without words.

    Source:
        Vyas, Niu and Carpuat 2018 (NAACL), crowdsourced labels.
    """
    folder = Path(root)
    there = [name for name in SEMDIVERGE if (folder / f"{name}.test").is_file()]
    chosen = _chosen(sets, SEMDIVERGE) if sets is not None else there
    if missing := [name for name in chosen or SEMDIVERGE if name not in there]:
        raise FileNotFoundError(f"{folder}: expected {' and '.join(f'{name}.test' for name in missing)}, found none")
    return [_semdiverge(folder / f"{name}.test", name, words) for name in chosen]


class _Uncut(Sequence[WordPair]):
    """Pairs whose words are cut when they are first asked for."""

    def __init__(self, rows: Sequence[tuple[str, str, str, str]], words: Words) -> None:
        self._rows, self._words = rows, words

    @cached_property
    def _pairs(self) -> list[WordPair]:
        return [
            WordPair(_worded(english, "eng", where, self._words), _worded(french, "fra", where, self._words))
            for where, english, french, _ in self._rows
        ]

    @overload
    def __getitem__(self, index: int) -> WordPair: ...
    @overload
    def __getitem__(self, index: slice) -> list[WordPair]: ...
    def __getitem__(self, index: int | slice) -> WordPair | list[WordPair]:
        return self._pairs[index]

    def __len__(self) -> int:
        return len(self._rows)


def _semdiverge(path: Path, name: str, words: Words) -> DivergenceSet:
    rows = list(_semdiverge_rows(path))
    if not rows:
        raise ValueError(f"{path}: expected at least 1 pair, found none")
    _, source, target, labels = (list(column) for column in zip(*rows, strict=True))
    equivalent = [label == "1" for label in labels]
    return DivergenceSet(name, _Uncut(rows, words), source, target, equivalent, [""] * len(rows), None, 0)


def _semdiverge_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Where it is, English, French, label."""
    for number, line in enumerate(read_lines(path), start=1):
        where, columns = f"{path}:{number}", [column.strip() for column in line.split("\t")]
        if len(columns) != 4:
            raise ValueError(f"{where}: expected 4 columns by TAB, found {len(columns)}")
        english, french, label, agreement = columns
        for language, sentence in (("eng", english), ("fra", french)):
            if not sentence:
                raise ValueError(f"{where}: expected a sentence in {language}, found none")
        if label not in ("0", "1"):
            raise ValueError(f"{where}: expected label 1 (equivalent) or 0 (divergent), found {label!r}")
        if not _is_share(agreement):
            raise ValueError(f"{where}: expected an agreement from 0 to 1, found {agreement!r}")
        yield where, english, french, label


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def _worded(sentence: str, language: str, where: str, words: Words) -> tuple[str, ...]:
    found = tuple(words(sentence, language))
    if not found:
        raise ValueError(f"{where}: expected a sentence in {language}, found {sentence!r}, which has no words")
    return found


def _chosen(sets: Sequence[str] | None, known: Sequence[str]) -> Sequence[str]:
    if unknown := [name for name in sets or [] if name not in known]:
        raise ValueError(f"evaluator.sets: unknown {', '.join(unknown)}; expected some of {', '.join(known)}")
    return known if sets is None else sets
