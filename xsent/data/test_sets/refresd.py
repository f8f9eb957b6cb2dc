"""REFreSD readers: pairs that annotators labelled as equivalent or divergent, and labels of single annotators."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from xsent.batch import WordPair
from xsent.data.readers.divergences import DivergenceSet, WordCounts
from xsent.data.readers.lines import read_lines
from xsent.files.strict_json import parse_json

log = logging.getLogger(__name__)

EQUIVALENT = "no_meaning_difference"
DIVERGENT = ("some_meaning_difference", "unrelated")
LEVELS = (EQUIVALENT, *DIVERGENT)  # in order of divergence
ANNOTATORS = 3  # of each pair

RATIONALE, LABELS, TEST = "REFreSD_rationale", "REFreSD_sentence_labels", "test.tsv"
SENTENCES = ("english_sentence", "french_sentence")
HIGHLIGHTS = ("english_rational", "french_rationale")
RELEASED = ("binary_label", "3_labels", *SENTENCES)
HUGGING_FACE = ("label", "1ID", "2ID", *SENTENCES)


def read_refresd(root: str, sets: Sequence[str] | None) -> list[DivergenceSet]:
    """Read REFreSD: WikiMatrix pairs with three-way labels and words highlighted by three annotators.

    Two formats are read; if a folder has both, the released one is used. Of ``sets`` only ``wikimatrix`` exists.

    - Released: ``REFreSD_rationale``, tokenised, and optionally ``REFreSD_sentence_labels`` with the raw sentences.
    - Hugging Face: ``test.tsv``, label 0 is equivalent, and optionally ``unrelated.tsv`` and
      ``some_meaning_difference.tsv``, which tell the kind of a divergent pair.

    Raises:
        FileNotFoundError: the folder has neither format.
        ValueError: another header or number of columns, an unknown label, another number of highlights than words,
            files whose rows differ, or no pair.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 4.
    """
    check_sets(sets, ("wikimatrix",))
    folder = Path(root)
    if (folder / RATIONALE).is_file():
        return [_read_released(folder)]
    if (folder / TEST).is_file():
        return [_read_hugging_face(folder)]
    raise FileNotFoundError(f"{folder}: expected {RATIONALE} or {TEST} of REFreSD, found neither")


def check_sets(sets: Sequence[str] | None, allowed: Sequence[str]) -> Sequence[str]:
    """The requested sets, all known ones for None; raise ``ValueError`` for an unknown one."""
    if unknown := [name for name in sets or [] if name not in allowed]:
        raise ValueError(f"evaluator.sets: unknown {', '.join(unknown)}; expected some of {', '.join(allowed)}")
    return allowed if sets is None else sets


class _Row(NamedTuple):
    location: str  # file:line
    cells: dict[str, str]  # by column name

    @property
    def sentences(self) -> tuple[str, str]:
        english, french = (self.cells[name] for name in SENTENCES)
        return english, french


def _read_released(folder: Path) -> DivergenceSet:
    rows = _read_table(folder / RATIONALE, [*RELEASED, *HIGHLIGHTS])
    kinds = [_kind(row) for row in rows]
    raw_rows = rows
    if (folder / LABELS).is_file():
        raw_rows = _read_table(folder / LABELS, list(RELEASED))
        if len(raw_rows) != len(rows):
            raise ValueError(
                f"{folder / LABELS} has {len(raw_rows)} pairs, {folder / RATIONALE} has {len(rows)}:"
                " they must be row-aligned"
            )
        for row, kind in zip(raw_rows, kinds, strict=True):
            if _kind(row) != kind:
                raise ValueError(f"{row.location}: expected {kind} as in {RATIONALE}, found {_kind(row)}")
    return _refresd_set(rows, kinds, raw_rows)


def _read_hugging_face(folder: Path) -> DivergenceSet:
    rows = _read_table(folder / TEST, [*HUGGING_FACE, *HIGHLIGHTS])
    kind_of = {
        row.sentences: kind
        for kind in DIVERGENT
        if (folder / f"{kind}.tsv").is_file()
        for row in _read_table(folder / f"{kind}.tsv", list(HUGGING_FACE))
        if _is_divergent(row)
    }
    kinds = [kind_of.get(row.sentences, "") if _is_divergent(row) else EQUIVALENT for row in rows]
    if unknown := kinds.count(""):
        files = " nor ".join(f"{kind}.tsv" for kind in DIVERGENT)
        log.warning("%s: %d divergent pairs are in neither %s; their kind is unknown", folder / TEST, unknown, files)
    return _refresd_set(rows, kinds, rows)


def _refresd_set(rows: list[_Row], kinds: list[str], raw_rows: list[_Row]) -> DivergenceSet:
    pairs = [WordPair(*(_words(row, name) for name in SENTENCES)) for row in rows]
    highlights = [_highlights(row, pair) for row, pair in zip(rows, pairs, strict=True)]
    source, target = (list(side) for side in zip(*(row.sentences for row in raw_rows), strict=True))
    equivalent = [kind == EQUIVALENT for kind in kinds]
    return DivergenceSet("wikimatrix", pairs, source, target, equivalent, kinds, highlights, ANNOTATORS)


def _read_table(path: Path, header: list[str]) -> list[_Row]:
    """TSV rows; each column name starts with ``#``, and names may be separated by spaces."""
    lines = read_lines(path)
    names = (lines or [""])[0].replace("#", "").split()
    # The Hugging Face files of one kind may have highlights; test.tsv has the same ones.
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
    """The three-way label, after a check against the binary one."""
    binary, kind = row.cells["binary_label"], row.cells["3_labels"]
    if kind not in LEVELS:
        raise ValueError(f"{row.location}: expected one of {', '.join(LEVELS)}, found {kind!r}")
    expected = "equivalent" if kind == EQUIVALENT else "divergent"
    if binary != expected:
        raise ValueError(f"{row.location}: expected {expected} with {kind}, found {binary!r}")
    return kind


def _is_divergent(row: _Row) -> bool:
    label = row.cells["label"]
    if label not in ("0", "1"):
        raise ValueError(f"{row.location}: expected label 0 (equivalent) or 1 (divergent), found {label!r}")
    return label == "1"


def _words(row: _Row, name: str) -> tuple[str, ...]:
    # Only spaces separate words: the released tokens contain other white space, such as no-break spaces.
    words = tuple(word for word in row.cells[name].split(" ") if word)
    if not words:
        raise ValueError(f"{row.location}: expected a sentence in {name}, found none")
    return words


def _highlights(row: _Row, pair: WordPair) -> tuple[WordCounts, WordCounts]:
    sides = []
    for name, words in zip(HIGHLIGHTS, pair, strict=True):
        location, counts = f"{row.location}: {name}", row.cells[name].split()
        if len(counts) != len(words):
            raise ValueError(f"{location}: expected a number for each of {len(words)} words, found {len(counts)}")
        sides.append(_numbers(counts, ANNOTATORS, location, f"numbers from 0 to {ANNOTATORS}"))
    return sides[0], sides[1]


def _numbers(texts: Sequence[str], highest: int, location: str, expected: str) -> WordCounts:
    number_of = {str(number): number for number in range(highest + 1)}
    if unknown := [text for text in texts if text not in number_of]:
        raise ValueError(f"{location}: expected {expected}, found {unknown[0]!r}")
    return tuple(number_of[text] for text in texts)


# ---- labels of single annotators


@dataclass(frozen=True)
class Annotation:
    """Label and highlights of one annotator for one pair."""

    pair: str
    annotator: str
    level: int  # index of the label in LEVELS
    source: WordCounts  # per word, 1 if it is highlighted
    target: WordCounts


def read_annotations(path: str) -> list[Annotation]:
    """Read JSON lines with the label and the highlights of each annotator for each pair.

    The label is one of REFreSD's three; highlights are 0 or 1 per word, separated by spaces:
    ``{"id": "17", "annotator": "A", "label": "some_meaning_difference", "source_highlights": "0 0 1",
    "target_highlights": "1 0"}``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not a JSON object or has other keys, an unknown label or highlight, an annotator
            labels a pair twice, annotators of a pair disagree on its length, or no pair has two annotators.
    """
    annotations: dict[tuple[str, str], Annotation] = {}
    first_of_pair: dict[str, Annotation] = {}
    for location, record in _read_objects(Path(path)):
        new = _annotation(record, location)
        if (new.pair, new.annotator) in annotations:
            raise ValueError(
                f"{location}: expected each annotator once a pair, found {new.annotator} twice on {new.pair}"
            )
        first = first_of_pair.setdefault(new.pair, new)
        for side in ("source", "target"):
            length, expected = len(getattr(new, side)), len(getattr(first, side))
            if length != expected:
                raise ValueError(
                    f"{location}: expected {expected} {side} words in pair {new.pair} as for annotator"
                    f" {first.annotator}, found {length}"
                )
        annotations[new.pair, new.annotator] = new
    if max(Counter(pair for pair, _ in annotations).values(), default=0) < 2:
        raise ValueError(f"{path}: expected pairs with several annotators, found none")
    return list(annotations.values())


KEYS = ("id", "annotator", "label", "source_highlights", "target_highlights")


def _read_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = parse_json(line)
        except ValueError as error:
            found = f"{getattr(error, 'msg', error)} in {line[:60]!r}"
            raise ValueError(f"{path}:{number}: expected a JSON object, found {found}") from error
        if not isinstance(record, dict) or set(record) != set(KEYS):
            raise ValueError(f"{path}:{number}: expected an object with {', '.join(KEYS)}, found {line[:80]!r}")
        yield f"{path}:{number}", record


def _annotation(record: Mapping[str, Any], location: str) -> Annotation:
    if wrong := [key for key in KEYS if not isinstance(record[key], str)]:
        raise ValueError(f"{location}: expected text in {wrong[0]}, found {record[wrong[0]]!r}")
    if record["label"] not in LEVELS:
        raise ValueError(f"{location}: expected a label of {', '.join(LEVELS)}, found {record['label']!r}")
    source, target = (_numbers(record[key].split(), 1, f"{location}: {key}", "0 or 1 a word") for key in KEYS[3:])
    return Annotation(record["id"], record["annotator"], LEVELS.index(record["label"]), source, target)
