"""Divergence records: kinds, word labels, and the JSON Lines format."""

import json
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple

from xsent.files.strict_json import parse_json
from xsent.text.divergences.annotated_pair import SIDES, SOURCE, AnnotatedPair, opposite

SEED = "seed"
DELETION = "subtree_deletion"
REPLACEMENT = "phrase_replacement"
GENERALIZATION = "generalization"
PARTICULARIZATION = "particularization"
UNEVEN = "uneven"
INSERTION = "insert"
SPAN_DELETION = "span_deletion"
WORD_REPLACEMENT = "word_replacement"
LEXICAL = (GENERALIZATION, PARTICULARIZATION)
ANNOTATED = (DELETION, REPLACEMENT, *LEXICAL)  # need tags, and deletion a parse
KINDS = (*ANNOTATED, UNEVEN, INSERTION, SPAN_DELETION, WORD_REPLACEMENT)

UNCHANGED, CHANGED, ADDED = "O", "CHA", "ADD"
LABELS = (UNCHANGED, CHANGED, ADDED)


class Reason(StrEnum):
    """Why a seed has no divergence of some kind."""

    TOO_SHORT = "sentence too short"
    TOO_LONG = "sentence too long"
    NO_SUBTREE = "no subtree of the required size"
    NOTHING_ALIGNED = "no drawn subtree leaves words and a difference on both sides"
    NO_PHRASE = "no drawn phrase has another with its tags"
    NO_ELIGIBLE_WORD = "no verb, adjective or common noun except stop words"
    NOT_IN_WORDNET = "no eligible word has a candidate in WordNet"
    NOT_PREDICTED = "no candidate is among the predictions of the ranker"
    NO_OTHER_SENTENCE = "no drawn sentence has a suitable length"
    NO_SPAN = "no drawn span removes a content word that alone has a counterpart"
    NO_LINKED_WORD = "no content word has a link"
    NO_OTHER_WORD = "no drawn word is another content word"


class Divergence(NamedTuple):
    """A pair made from a seed, or the seed itself (kind ``seed``, all labels O)."""

    seed: str  # key of the seed
    kind: str  # SEED or one of KINDS
    side: str  # the changed side, SOURCE or TARGET; "" of a seed
    source: tuple[str, ...]
    target: tuple[str, ...]
    source_labels: tuple[str, ...]  # one of LABELS for each word
    target_labels: tuple[str, ...]
    note: str  # readable change: "weak > strong", "- that you can see"
    origin: str  # where the seed is from


def seed_record(pair: AnnotatedPair) -> Divergence:
    return make_record(pair, SEED, SOURCE, pair.source)._replace(side="")


def make_record(
    pair: AnnotatedPair,
    kind: str,
    side: str,
    words: Sequence[str],
    *,
    labels: Sequence[str] = (),
    opposite_labels: Sequence[str] = (),
    note: str = "",
) -> Divergence:
    """Record of a pair with new words on one side; omitted labels are all O."""
    unchanged = pair.words(opposite(side))
    sides = [
        (tuple(words), tuple(labels) or (UNCHANGED,) * len(words)),
        (unchanged, tuple(opposite_labels) or (UNCHANGED,) * len(unchanged)),
    ]
    (source, source_labels), (target, target_labels) = sides if side == SOURCE else reversed(sides)
    return Divergence(pair.key, kind, side, source, target, source_labels, target_labels, note, pair.origin)


def make_change(
    pair: AnnotatedPair, kind: str, side: str, words: Sequence[str], positions: Collection[int], note: str
) -> Divergence:
    """Record of changed words at these positions of a side: they and their aligned words have the label CHA."""
    labels = make_labels(len(words), positions, CHANGED)
    aligned = make_labels(len(pair.words(opposite(side))), pair.aligned(side, positions), CHANGED)
    return make_record(pair, kind, side, words, labels=labels, opposite_labels=aligned, note=note)


def make_labels(count: int, positions: Collection[int], label: str) -> tuple[str, ...]:
    """``label`` at the positions, O elsewhere."""
    return tuple(label if position in positions else UNCHANGED for position in range(count))


def to_json(record: Divergence) -> str:
    """A JSON line; words and labels are joined by single spaces."""
    values = {name: value if isinstance(value, str) else " ".join(value) for name, value in record._asdict().items()}
    return json.dumps(values, ensure_ascii=False)


def from_json(line: str, location: str) -> Divergence:
    """Parse a line of ``to_json``.

    Raises:
        ValueError: invalid JSON or fields, an unknown kind, side or label, a side without words, or a wrong number of
            labels; names ``location``.
    """
    try:
        values = parse_json(line)
    except ValueError as error:
        reason = getattr(error, "msg", error)
        raise ValueError(f"{location}: expected a JSON object, found {line[:60]!r} ({reason})") from error
    if not isinstance(values, dict) or set(values) != set(Divergence._fields):
        fields = sorted(values) if isinstance(values, dict) else type(values).__name__
        raise ValueError(f"{location}: expected an object of {', '.join(Divergence._fields)}, found {fields}")
    for name, value in values.items():
        if not isinstance(value, str):
            raise ValueError(f"{location}: expected text for {name}, found {value!r}")
    _check_choice(location, "kind", [values["kind"]], (SEED, *KINDS))
    _check_choice(location, "side", [values["side"]], ("", *SIDES))
    for side in SIDES:
        words, labels = (tuple(values[name].split(" ")) for name in (side, f"{side}_labels"))
        if "" in words:
            raise ValueError(
                f"{location}: expected {side} words with single spaces between them, found {values[side]!r}"
            )
        if len(labels) != len(words):
            raise ValueError(f"{location}: expected {len(words)} {side}_labels, one for each word, found {len(labels)}")
        _check_choice(location, f"{side}_labels", labels, LABELS)
        values |= {side: words, f"{side}_labels": labels}
    return Divergence(**values)


def _check_choice(location: str, name: str, values: Sequence[str], choices: Sequence[str]) -> None:
    for value in values:
        if value not in choices:
            raise ValueError(f"{location}: expected {name} of {', '.join(map(repr, choices))}, found {value!r}")
