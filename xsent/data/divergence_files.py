"""What is read beside pairs that people judged: made divergences, more candidates, single annotators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from xsent.batch import WordPair
from xsent.data.divergence_sets import DIVERGENT, EQUIVALENT, DivergenceSet
from xsent.data.lines import read_lines
from xsent.text.divergences.record import SEED, UNCHANGED, Divergence, from_json

LEVELS = (EQUIVALENT, *DIVERGENT)  # the further on, the more divergent


# ---- made divergences


def read_divergences(root: str, sets: Sequence[str] | None) -> list[DivergenceSet]:
    """Divergences as ``xsent diverge`` writes them: seeds are equivalent, all else is divergent.

    Args:
        root: JSON lines, plain or gzipped.
        sets: there is one, ``synthetic``; None is that.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is no divergence, another set is asked for, or there is no pair.
    """
    if sets is not None and list(sets) != ["synthetic"]:
        raise ValueError(f"evaluator.sets={list(sets)}: expected synthetic, {root} has no other")
    return [divergence_set(_records(root), name="synthetic")]


def read_dev_divergences(path: str, seeds: int) -> DivergenceSet:
    """Some seeds of such a file and their divergences, to calibrate a threshold on.

    They are taken at equal distances, for a file may have its cleanest seeds first. One version of each seed comes
    first, here the seed, there one of its divergences, then another of each: any ``seeds`` pairs in a row are of
    different seeds, where all have as many versions, with about the same share of each kind.

    Args:
        path: JSON lines, plain or gzipped.
        seeds: how many.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is no divergence, or the file has fewer seeds.
    """
    versions: dict[str, list[Divergence]] = {}
    for record in _records(path):
        versions.setdefault(record.seed, []).append(record)
    if len(versions) < seeds:
        raise ValueError(f"evaluator.dev_seeds={seeds}: expected at most {len(versions)}, the seeds of {path}")
    every = list(versions.values())
    kept = [every[number * len(every) // seeds] for number in range(seeds)]
    turned = [own[row % len(own) :] + own[: row % len(own)] for row, own in enumerate(kept)]
    in_turn = [one for round_ in zip_longest(*turned) for one in round_ if one is not None]
    return divergence_set(in_turn, name="dev")


def divergence_set(records: Sequence[Divergence], *, name: str) -> DivergenceSet:
    """Pairs of made divergences; their words are labelled as if one annotator had highlighted what was changed."""
    return DivergenceSet(
        name=name,
        pairs=[WordPair(record.source, record.target) for record in records],
        source=[" ".join(record.source) for record in records],
        target=[" ".join(record.target) for record in records],
        equivalent=[record.kind == SEED for record in records],
        kinds=[record.kind for record in records],
        highlights=[(_changed(record.source_labels), _changed(record.target_labels)) for record in records],
        annotators=1,
    )


def _records(path: str) -> list[Divergence]:
    records = [from_json(line, f"{path}:{number}") for number, line in enumerate(read_lines(Path(path)), start=1)]
    if not records:
        raise ValueError(f"{path}: expected at least 1 divergence, found none")
    return records


def _changed(labels: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(label != UNCHANGED) for label in labels)


# ---- more candidates


@dataclass(frozen=True)
class Candidates:
    """Sentences that widen the neighbourhood of margin scores."""

    source: list[str]
    target: list[str]


def read_candidates(path: str) -> Candidates:
    """Both sides of a bitext of ``source TAB target [TAB ...]``, plain or gzipped; an empty side is no candidate.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line has fewer than 2 columns, or a side has no sentence.
    """
    rows = []
    for number, line in enumerate(read_lines(Path(path)), start=1):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) < 2:
            raise ValueError(f"{path}:{number}: expected at least 2 columns by TAB, found {len(columns)}")
        rows.append(columns)
    source, target = ([row[side] for row in rows if row[side]] for side in (0, 1))
    if not source or not target:
        raise ValueError(f"{path}: expected sentences on both sides, found {len(source)} and {len(target)}")
    return Candidates(source, target)


# ---- single annotators


@dataclass(frozen=True)
class Annotation:
    """What one annotator said of one pair."""

    pair: str
    annotator: str
    level: int  # place of the label in LEVELS
    source: tuple[int, ...]  # per word, 1 where it is highlighted
    target: tuple[int, ...]


def read_annotations(path: str) -> list[Annotation]:
    """JSON lines of what each annotator said of each pair.

    The label is one of REFreSD's three; highlights are 0 or 1 a word, by single spaces:
    ``{"id": "17", "annotator": "A", "label": "some_meaning_difference", "source_highlights": "0 0 1",
    "target_highlights": "1 0"}``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no JSON object, other keys, an unknown label or highlight, an annotator twice on a pair,
            annotators of one pair who saw sentences of different length, or nobody shares a pair.
    """
    found: dict[tuple[str, str], Annotation] = {}
    first: dict[str, Annotation] = {}
    for where, record in _objects(Path(path)):
        one = _annotation(record, where)
        if (one.pair, one.annotator) in found:
            raise ValueError(f"{where}: expected each annotator once a pair, found {one.annotator} twice on {one.pair}")
        other = first.setdefault(one.pair, one)
        for side in ("source", "target"):
            here, before = len(getattr(one, side)), len(getattr(other, side))
            if here != before:
                raise ValueError(
                    f"{where}: expected {before} {side} words in pair {one.pair} as for annotator {other.annotator},"
                    f" found {here}"
                )
        found[one.pair, one.annotator] = one
    if max(Counter(pair for pair, _ in found).values(), default=0) < 2:
        raise ValueError(f"{path}: expected pairs with several annotators, found none")
    return list(found.values())


KEYS = ("id", "annotator", "label", "source_highlights", "target_highlights")


def _objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path}:{number}: expected a JSON object, found {error.msg} in {line[:60]!r}") from error
        if not isinstance(record, dict) or set(record) != set(KEYS):
            raise ValueError(f"{path}:{number}: expected an object with {', '.join(KEYS)}, found {line[:80]!r}")
        yield f"{path}:{number}", record


def _annotation(record: Mapping[str, Any], where: str) -> Annotation:
    if wrong := [key for key in KEYS if not isinstance(record[key], str)]:
        raise ValueError(f"{where}: expected text in {wrong[0]}, found {record[wrong[0]]!r}")
    if record["label"] not in LEVELS:
        raise ValueError(f"{where}: expected a label of {', '.join(LEVELS)}, found {record['label']!r}")
    source, target = (_zeros_and_ones(record[key], f"{where}: {key}") for key in KEYS[3:])
    return Annotation(record["id"], record["annotator"], LEVELS.index(record["label"]), source, target)


def _zeros_and_ones(text: str, where: str) -> tuple[int, ...]:
    found = text.split()
    if unknown := [one for one in found if one not in ("0", "1")]:
        raise ValueError(f"{where}: expected 0 or 1 a word, found {unknown[0]!r}")
    return tuple(int(one) for one in found)
