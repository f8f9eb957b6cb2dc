"""Kinds of labelled pairs: rows as they are, and pairs within and across the languages of aligned translations."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.data.readers.labelled import LabelledRow, check_item_labels
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.labelled_splits import item_numbers

log = logging.getLogger(__name__)

KINDS = ("pairs", "intra", "inter_para", "inter_same")
# Kinds by choice: rows of the files; with their translations, which have the same label; with all else.
TRAIN_KINDS = {"rows": KINDS[:2], "labelled": KINDS[:3], "all": KINDS}


class NumberedRows(NamedTuple):
    """R pairs of one part; texts and languages are numbers."""

    item: Rows  # (R,), -1 for none
    source: Rows  # (R,)
    target: Rows  # (R,)
    source_lang: Rows  # (R,)
    target_lang: Rows  # (R,)
    label: Rows  # (R,)

    def take(self, rows: NDArray[Any]) -> "NumberedRows":
        """The rows at ``rows``, in that order, or where the mask ``rows`` is true."""
        return NumberedRows(*(column[rows] for column in self))


def concatenate(parts: Iterable[NumberedRows]) -> NumberedRows:
    """The rows of all parts, of which there is at least one."""
    return NumberedRows(*map(np.concatenate, zip(*parts, strict=True)))


def check_kinds(kinds: Sequence[str]) -> None:
    """Raise ``ValueError`` for an unknown kind or an empty list."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(f"kinds: expected some of {', '.join(KINDS)}, found {', '.join(unknown) or 'none'}")


def training_kinds(kinds: Sequence[str], choice: str) -> list[str]:
    """The kinds that are trained on; a choice is ``rows``, ``labelled`` or ``all``.

    Raises:
        ValueError: none of the kinds is in the choice.

    Source:
        Fedorova and Musatow 2024, section III-A: three types of pairs, but positives are "pairs of sentences from the
        dataset with a class label equal to 1", and a translation (``inter_same``) has no label in PAWS-X.
    """
    chosen = [kind for kind in kinds if kind in TRAIN_KINDS[choice]]
    if not chosen:
        raise ValueError(
            f"data.train_kinds={choice} trains on {', '.join(TRAIN_KINDS[choice])}, but data.kinds=[{', '.join(kinds)}]"
        )
    return chosen


def check_rows(parts: Mapping[str, Sequence[LabelledRow]], kinds: Sequence[str]) -> None:
    """Warn of rows in no pair of the kinds; raise ``ValueError`` if translations that a kind pairs have two labels."""
    unused = {}
    for part, rows in parts.items():
        used = [row for row in rows if row.source_lang == row.target_lang]
        if any(kind.startswith("inter") for kind in kinds):
            check_item_labels(used)
        if not {"pairs", "intra"} & set(kinds):
            translations = Counter(row.item for row in used)
            used = [row for row in used if translations[row.item] > 1]
        if "pairs" not in kinds and len(rows) > len(used):
            unused[part] = f"{len(rows) - len(used):,} of {len(rows):,} rows of {part}"
    if unused:
        log.warning("%s make no pair of kinds=[%s] and are left out", ", ".join(unused.values()), ", ".join(kinds))


def within(rows: Sequence[LabelledRow], languages: Collection[str]) -> list[LabelledRow]:
    """The rows whose two sides are in these languages (ISO 639-3)."""
    return [row for row in rows if row.source_lang in languages and row.target_lang in languages]


def languages_of(rows: Sequence[LabelledRow]) -> set[str]:
    """Languages of either side."""
    return {row.source_lang for row in rows} | {row.target_lang for row in rows}


def number_rows(parts: Mapping[str, Sequence[LabelledRow]]) -> tuple[list[str], list[str], dict[str, NumberedRows]]:
    """Distinct texts, sorted languages, and the rows of each part as numbers of them."""
    languages = sorted(languages_of([row for rows in parts.values() for row in rows]))
    lang_numbers = {language: number for number, language in enumerate(languages)}
    text_numbers: dict[str, int] = {}
    numbered = {}
    for part, rows in parts.items():
        columns = [
            (
                text_numbers.setdefault(row.source, len(text_numbers)),
                text_numbers.setdefault(row.target, len(text_numbers)),
                lang_numbers[row.source_lang],
                lang_numbers[row.target_lang],
                row.label,
            )
            for row in rows
        ]
        numbered[part] = NumberedRows(item_numbers(rows), *np.array(columns, dtype=np.int64).reshape(-1, 5).T)
    return list(text_numbers), languages, numbered


def pairs_of(rows: NumberedRows, kind: str) -> NumberedRows:
    """Pairs of a kind, sorted by language pair.

    ``pairs``: the rows as they are. For an item with the sentences (s1, s2) in the languages a and b:

    - ``intra``: (s1 in a, s2 in a), with the item's label;
    - ``inter_para``: (s1 in a, s2 in b), with the item's label, for all a and b in both orders;
    - ``inter_same``: the translations (s1 in a, s1 in b) and (s2 in a, s2 in b) are positives, a sorted before b.
      The paper does not define the negatives of this kind. Ours are (s1 in a, s2 in b) and (s2 in a, s1 in b) of the
      items with label 0.

    Raises:
        ValueError: the translations of an item are unknown: a row has no item, or an item has two rows in one language.

    Source:
        Fedorova and Musatow 2024, Table II.
    """
    if kind in ("pairs", "intra"):
        selected = rows if kind == "pairs" else rows.take(rows.source_lang == rows.target_lang)
        return selected.take(np.lexsort((selected.target_lang, selected.source_lang)))
    first, second, label = _aligned(rows, kind)
    languages = range(first.shape[1])
    parts = [rows.take(np.zeros(0, np.int64))]
    for a, b in permutations(languages, 2) if kind == "inter_para" else combinations(languages, 2):
        shared = np.flatnonzero((first[:, a] >= 0) & (first[:, b] >= 0))
        if kind == "inter_para":
            source, target, labels = first[shared, a], second[shared, b], label[shared]
        else:
            unlike = shared[label[shared] == 0]
            source = np.concatenate([first[shared, a], second[shared, a], first[unlike, a], second[unlike, a]])
            target = np.concatenate([first[shared, b], second[shared, b], second[unlike, b], first[unlike, b]])
            labels = np.repeat([1, 0], [2 * len(shared), 2 * len(unlike)])
        item, source_lang, target_lang = (np.full_like(source, number) for number in (-1, a, b))
        parts.append(NumberedRows(item, source, target, source_lang, target_lang, labels))
    return concatenate(parts)


def size_table(pairs: Mapping[str, Mapping[str, NumberedRows]]) -> str:
    """Number of pairs of label 1 and 0, one line per part and kind."""
    lines = []
    for part, pairs_by_kind in pairs.items():
        for kind, rows in pairs_by_kind.items():
            negative, positive = np.bincount(rows.label, minlength=2).tolist()
            lines.append(f"  {part:6}{kind:11}{positive:>12,}{negative:>12,}")
    return "\n".join(lines)


def _aligned(rows: NumberedRows, kind: str) -> tuple[Rows, Rows, Rows]:
    """First and second sentences (I, L) of I items in L languages, -1 if missing, and labels (I,)."""
    rows = rows.take(rows.source_lang == rows.target_lang)
    if (rows.item < 0).any():
        raise ValueError(f"kinds: {kind} needs rows with an id or group that translations share; use kinds=[pairs]")
    languages = int(rows.source_lang.max(initial=-1)) + 1
    items, item = np.unique(rows.item, return_inverse=True)
    cell = item * languages + rows.source_lang
    if len(np.unique(cell)) < len(cell):
        raise ValueError(f"kinds: {kind} needs one row of each id or group in a language; use kinds=[pairs]")
    first = np.full((len(items), languages), -1, dtype=np.int64)
    second = first.copy()
    label = np.zeros(len(items), dtype=np.int64)
    first[item, rows.source_lang], second[item, rows.source_lang] = rows.source, rows.target
    label[item] = rows.label
    return first, second, label
