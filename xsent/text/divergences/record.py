"""What a generator makes: a pair that differs in meaning, which words differ, and how it is written down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from xsent.text.divergences.pairs import AnnotatedPair

SEED = "seed"
DELETION = "subtree_deletion"
REPLACEMENT = "phrase_replacement"
GENERALIZATION = "generalization"
PARTICULARIZATION = "particularization"
UNEVEN = "uneven"
INSERTION = "insert"
LEXICAL = (GENERALIZATION, PARTICULARIZATION)
KINDS = (DELETION, REPLACEMENT, GENERALIZATION, PARTICULARIZATION, UNEVEN, INSERTION)

SOURCE, TARGET = "source", "target"
SIDES = (SOURCE, TARGET)

UNCHANGED, CHANGED, ADDED = "O", "CHA", "ADD"
LABELS = (UNCHANGED, CHANGED, ADDED)


class Reason(StrEnum):
    """Why a seed has no divergence of some kind."""

    TOO_SHORT = "sentence too short"
    NO_SUBTREE = "no subtree of the size asked for"
    NOTHING_ALIGNED = "no drawn subtree leaves words and a difference on both sides"
    NO_PHRASE = "no drawn phrase has another of its tags"
    NO_ELIGIBLE_WORD = "no verb, adjective or common noun beside stop words"
    NOT_IN_WORDNET = "no eligible word has a candidate in WordNet"
    NOT_PREDICTED = "no candidate is among the predictions of the ranker"
    NO_OTHER_SENTENCE = "no drawn sentence has a fitting length"


class Divergence(NamedTuple):
    """A pair made from a seed, or the seed itself (kind ``seed``, all labels O)."""

    seed: str  # key of the seed
    kind: str  # SEED or one of KINDS
    side: str  # the one whose words were changed, SOURCE or TARGET; "" of a seed
    source: tuple[str, ...]
    target: tuple[str, ...]
    source_labels: tuple[str, ...]  # one of LABELS for each word
    target_labels: tuple[str, ...]
    note: str  # for a reader: "weak > strong", "- that you can see"
    origin: str  # where the seed is from


def seed_record(pair: AnnotatedPair) -> Divergence:
    """The seed itself."""
    return divergence(pair, SEED, "")


def divergence(
    pair: AnnotatedPair,
    kind: str,
    side: str,
    *,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    source_labels: Sequence[str] | None = None,
    target_labels: Sequence[str] | None = None,
    note: str = "",
) -> Divergence:
    """A record of a pair; a side that is not given is the seed's, labels that are not given are all O."""
    source = pair.source if source is None else source
    target = pair.target if target is None else target
    return Divergence(
        seed=pair.key,
        kind=kind,
        side=side,
        source=tuple(source),
        target=tuple(target),
        source_labels=tuple(source_labels or (UNCHANGED,) * len(source)),
        target_labels=tuple(target_labels or (UNCHANGED,) * len(target)),
        note=note,
        origin=pair.origin,
    )


def labels(count: int, marked: Sequence[int] | set[int], label: str) -> tuple[str, ...]:
    """``count`` labels: ``label`` at the marked positions, O elsewhere."""
    return tuple(label if position in marked else UNCHANGED for position in range(count))


def to_json(record: Divergence) -> str:
    """A line that a person can read: words and labels are joined by single spaces."""
    values = {name: value if isinstance(value, str) else " ".join(value) for name, value in record._asdict().items()}
    return json.dumps(values, ensure_ascii=False)


def from_json(line: str, where: str) -> Divergence:
    """The record of a line of ``to_json``.

    Raises:
        ValueError: no such line, an unknown kind, side or label, a side without words, or labels of another number
            than words; names ``where``.
    """
    values = _object(line, where)
    _check_one_of(where, "kind", [values["kind"]], (SEED, *KINDS))
    _check_one_of(where, "side", [values["side"]], ("", *SIDES))
    columns: dict[str, tuple[str, ...]] = {}
    for side in SIDES:
        words, marks = (tuple(values[name].split(" ")) for name in (side, f"{side}_labels"))
        if "" in words:
            raise ValueError(f"{where}: expected {side} words with single spaces between them, found {values[side]!r}")
        if len(marks) != len(words):
            raise ValueError(f"{where}: expected {len(words)} {side}_labels, one for each word, found {len(marks)}")
        _check_one_of(where, f"{side}_labels", marks, LABELS)
        columns |= {side: words, f"{side}_labels": marks}
    return Divergence(**values | columns)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: expected a JSON object, found {line[:60]!r} ({error.msg})") from error
    if not isinstance(values, dict) or set(values) != set(Divergence._fields):
        found = sorted(values) if isinstance(values, dict) else type(values).__name__
        raise ValueError(f"{where}: expected an object of {', '.join(Divergence._fields)}, found {found}")
    for name, value in values.items():
        if not isinstance(value, str):
            raise ValueError(f"{where}: expected text for {name}, found {value!r}")
    return values


def _check_one_of(where: str, name: str, found: Sequence[str], expected: Sequence[str]) -> None:
    for value in found:
        if value not in expected:
            raise ValueError(f"{where}: expected {name} of {', '.join(map(repr, expected))}, found {value!r}")
