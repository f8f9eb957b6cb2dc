"""Kinds of labelled pairs: rows as they are, and what aligned translations of them make of two languages."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np

from xsent.data.labelled import LabelledReader, LabelledRow, LabelledSet
from xsent.data.labelled_parts import check_shares, item_numbers, read_parts
from xsent.data.rejects import RejectLedger
from xsent.data.sampler import Rows
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

KINDS = ("pairs", "intra", "inter_para", "inter_same")


class Numbered(NamedTuple):
    """R rows of one part; their texts and languages are numbers."""

    item: Rows  # (R,), -1 for none
    source: Rows  # (R,)
    target: Rows  # (R,)
    source_lang: Rows  # (R,)
    target_lang: Rows  # (R,)
    label: Rows  # (R,)

    def take(self, rows: Rows) -> Numbered:
        """The rows at ``rows``, in that order."""
        return Numbered(*(column[rows] for column in self))


class KindPairs(NamedTuple):
    """N pairs of one kind and language pair."""

    kind: str
    source_lang: int
    target_lang: int
    source: Rows  # (N,) numbers of texts
    target: Rows  # (N,)
    label: Rows  # (N,)


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise ``ValueError`` for a kind that does not exist, or none at all."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(f"kinds: expected some of {', '.join(KINDS)}, found {', '.join(unknown) or 'none'}")


def check_rows(parts: Mapping[str, Sequence[LabelledRow]], kinds: Sequence[str]) -> None:
    """Warn of rows that none of the kinds makes a pair of.

    Raises:
        ValueError: a kind across languages, and translations of one item have two labels.
    """
    lost = {}
    for part, rows in parts.items():
        in_one_language = [row for row in rows if row.source_lang == row.target_lang]
        if any(kind.startswith("inter") for kind in kinds):
            _check_labels(in_one_language)
        if not {"pairs", "intra"} & set(kinds):
            translations = Counter(row.item for row in in_one_language)
            in_one_language = [row for row in in_one_language if translations[row.item] > 1]
        if "pairs" not in kinds and len(rows) > len(in_one_language):
            lost[part] = f"{len(rows) - len(in_one_language):,} of {len(rows):,} rows of {part}"
    if lost:
        log.warning("%s make no pair of kinds=[%s] and are left out", ", ".join(lost.values()), ", ".join(kinds))


def _check_labels(rows: Sequence[LabelledRow]) -> None:
    first: dict[str, LabelledRow] = {}
    for row in rows:
        other = first.setdefault(row.item, row) if row.item else row
        if row.label != other.label:
            raise ValueError(
                f"{row.file}:{row.line}: expected one label in all languages of group {row.item}, found {row.label} in"
                f" {row.source_lang} and {other.label} in {other.source_lang} ({other.file}:{other.line})"
            )


def within(rows: Sequence[LabelledRow], languages: Collection[str]) -> list[LabelledRow]:
    """The rows whose two sides are in these languages (ISO 639-3)."""
    return [row for row in rows if row.source_lang in languages and row.target_lang in languages]


def languages_of(rows: Sequence[LabelledRow]) -> set[str]:
    """Languages of either side."""
    return {row.source_lang for row in rows} | {row.target_lang for row in rows}


def number_rows(parts: Mapping[str, Sequence[LabelledRow]]) -> tuple[list[str], list[str], dict[str, Numbered]]:
    """Distinct texts, languages by name, and each part's rows, which refer to them by number."""
    languages = sorted(languages_of([row for rows in parts.values() for row in rows]))
    number_of_lang = {language: number for number, language in enumerate(languages)}
    number_of: dict[str, int] = {}
    numbered = {}
    for part, rows in parts.items():
        columns = [
            (
                number_of.setdefault(row.source, len(number_of)),
                number_of.setdefault(row.target, len(number_of)),
                number_of_lang[row.source_lang],
                number_of_lang[row.target_lang],
                row.label,
            )
            for row in rows
        ]
        numbered[part] = Numbered(item_numbers(rows), *np.array(columns, dtype=np.int64).reshape(-1, 5).T)
    return list(number_of), languages, numbered


def pairs_of(rows: Numbered, kind: str) -> Iterator[KindPairs]:
    """Pairs of a kind, one language pair after the other.

    ``pairs``: the rows as they are. With (s1, s2) of an item in the languages a and b:

    - ``intra``: (s1 in a, s2 in a), with the item's label;
    - ``inter_para``: (s1 in a, s2 in b), with the item's label, for all a and b in both orders;
    - ``inter_same``: the translations (s1 in a, s1 in b) and (s2 in a, s2 in b) are positives, a before b by name.
      The paper does not say what the negatives of this kind are. Ours are (s1 in a, s2 in b) and (s2 in a, s1 in b)
      of the items with label 0.

    Raises:
        ValueError: the languages of an item cannot be told apart: a row has no item, or an item two rows in one.

    Source:
        Fedorova and Musatow 2024, Table II, as far as it tells.
    """
    if kind in ("pairs", "intra"):
        chosen = rows if kind == "pairs" else rows.take(np.flatnonzero(rows.source_lang == rows.target_lang))
        yield from _by_language_pair(chosen, kind)
        return
    first, second, label = _aligned(rows, kind)
    languages = range(first.shape[1])
    for a, b in permutations(languages, 2) if kind == "inter_para" else combinations(languages, 2):
        both = np.flatnonzero((first[:, a] >= 0) & (first[:, b] >= 0))
        if kind == "inter_para":
            yield KindPairs(kind, a, b, first[both, a], second[both, b], label[both])
            continue
        unlike = both[label[both] == 0]
        yield KindPairs(
            kind,
            a,
            b,
            np.concatenate([first[both, a], second[both, a], first[unlike, a], second[unlike, a]]),
            np.concatenate([first[both, b], second[both, b], second[unlike, b], first[unlike, b]]),
            np.repeat([1, 0], [2 * len(both), 2 * len(unlike)]),
        )


def labelled_sets(
    parts: Mapping[str, Sequence[LabelledRow]], kinds: Sequence[str], languages: Sequence[str] | None
) -> list[LabelledSet]:
    """Pairs of the parts by kind and language pair.

    Args:
        parts: rows by part.
        kinds: of ``KINDS``.
        languages: in any code, both sides of a pair are in them; None is all.

    Raises:
        FileNotFoundError: a language is in none of the parts.
    """
    texts, names, numbered = number_rows(_in_languages(parts, languages))
    return [
        LabelledSet(
            part,
            kind,
            names[pairs.source_lang],
            names[pairs.target_lang],
            [texts[number] for number in pairs.source.tolist()],
            [texts[number] for number in pairs.target.tolist()],
            pairs.label.tolist(),
        )
        for part, rows in numbered.items()
        for kind in kinds
        for pairs in pairs_of(rows, kind)
        if len(pairs.label)
    ]


def _in_languages(
    parts: Mapping[str, Sequence[LabelledRow]], languages: Sequence[str] | None
) -> dict[str, list[LabelledRow]]:
    there = languages_of([row for rows in parts.values() for row in rows])
    wanted = there if languages is None else {to_iso639_3(code) for code in languages}
    if missing := wanted - there:
        raise FileNotFoundError(f"no pairs in {', '.join(sorted(missing))}; there are {', '.join(sorted(there))}")
    return {part: within(rows, wanted) for part, rows in parts.items()}


def size_table(pairs: Mapping[str, Sequence[KindPairs]], kinds: Sequence[str]) -> str:
    """Pairs of each part, kind and label, a line each."""
    lines = []
    for part, of_part in pairs.items():
        for kind in kinds:
            label = np.concatenate([np.zeros(0, dtype=np.int64), *(one.label for one in of_part if one.kind == kind)])
            lines.append(f"  {part:6}{kind:11}{int(label.sum()):>12,}{int((label == 0).sum()):>12,}")
    return "\n".join(lines)


class LabelledSets:
    """Reads the valid and test part of labelled files as sets of pairs, one per kind and language pair.

    Args:
        source: reader of the files.
        kinds: of ``KINDS``.
        valid_share, test_share: as in ``read_parts``; those of the training run, for the same rows.
    """

    def __init__(self, *, source: LabelledReader, kinds: Sequence[str], valid_share: float, test_share: float) -> None:
        check_kinds(kinds)
        check_shares(valid_share, test_share)
        self.source = source
        self.kinds = kinds
        self.valid_share = valid_share
        self.test_share = test_share
        self.parts: Sequence[str] = ("valid", "test")

    def restrict(self, split: str) -> None:
        """Leave out the test part when the split is ``valid``: a run that is still choosing must not see it."""
        self.parts = ("valid",) if split == "valid" else ("valid", "test")

    def __call__(self, root: str, languages: Sequence[str] | None) -> list[LabelledSet]:
        """Sets of the languages, in any code; None is all."""
        ledger = RejectLedger(strict=False)
        parts = read_parts(
            self.source, ledger, root, valid_share=self.valid_share, test_share=self.test_share, training=False
        )
        if ledger.rejects:
            log.warning("%s: %s", root, ledger.summary())
        chosen = {part: parts[part] for part in self.parts}
        check_rows(_in_languages(chosen, languages), self.kinds)
        return labelled_sets(chosen, self.kinds, languages)


def _by_language_pair(rows: Numbered, kind: str) -> Iterator[KindPairs]:
    for a, b in sorted(set(zip(rows.source_lang.tolist(), rows.target_lang.tolist(), strict=True))):
        of_pair = np.flatnonzero((rows.source_lang == a) & (rows.target_lang == b))
        yield KindPairs(kind, a, b, rows.source[of_pair], rows.target[of_pair], rows.label[of_pair])


def _aligned(rows: Numbered, kind: str) -> tuple[Rows, Rows, Rows]:
    """First and second sentences (I, L) of I items in L languages, -1 where there is none, and labels (I,)."""
    rows = rows.take(np.flatnonzero(rows.source_lang == rows.target_lang))
    if (rows.item < 0).any():
        raise ValueError(f"kinds: {kind} needs rows with an id or group that translations share; use kinds=[pairs]")
    languages = int(rows.source_lang.max(initial=-1)) + 1
    items, item = np.unique(rows.item, return_inverse=True)
    place = item * languages + rows.source_lang
    if len(np.unique(place)) < len(place):
        raise ValueError(f"kinds: {kind} needs one row of each id or group in a language; use kinds=[pairs]")
    first = np.full((len(items), languages), -1, dtype=np.int64)
    second = first.copy()
    label = np.zeros(len(items), dtype=np.int64)
    first[item, rows.source_lang], second[item, rows.source_lang] = rows.source, rows.target
    label[item] = rows.label
    return first, second, label
