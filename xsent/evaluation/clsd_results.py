"""What is told of judged items: figures, how errors are worded, a row for each item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.evaluation.clsd_sets import ClsdSet, item_of
from xsent.evaluation.discrimination import Verdicts, buckets, percent
from xsent.overlap import difficulty, indel_similarity, jaccard

Row = dict[str, object]
MEASURES = {"levenshtein": indel_similarity, "jaccard": jaccard}


_VERDICT = ("right", "tied", "truncated", "cosine", "nearest_cosine")
_TEXTS = ("source", "translation", "nearest_distractor")


class JudgedSet(NamedTuple):
    """A set in one language or two, and what was found."""

    items: ClsdSet
    verdicts: Verdicts
    cut: NDArray[np.bool_] | None  # (N, 1 + K) whether translation and distractors are cut; None: not known
    zero_vectors: int

    def figures(self) -> dict[str, float]:
        """P@1 in percent, and how many items are ties and candidates are cut (NaN: not known)."""
        return {
            "p_at_1": percent(self.verdicts.right),
            "ties": float(self.verdicts.tied.sum()),
            "truncated": math.nan if self.cut is None else float(self.cut.sum()),
        }


class Compared(NamedTuple):
    """A set as it is, and in the pivot language."""

    direct: JudgedSet
    pivot: JudgedSet | None

    @property
    def item(self) -> str:
        """``wmt19_deu-fra``."""
        return item_of(self.direct.items)

    def figures(self) -> dict[str, float]:
        """Of the set."""
        if self.pivot is None:
            return self.direct.figures()
        pivot = {f"pivot_{name}": value for name, value in self.pivot.figures().items()}
        return self.direct.figures() | pivot | self.alone()

    def alone(self) -> dict[str, float]:
        """How many items one way alone gets right; nothing where there is one way."""
        if self.pivot is None:
            return {}
        direct, pivot = self.direct.verdicts.right, self.pivot.verdicts.right
        return {"only_direct": float((direct & ~pivot).sum()), "only_pivot": float((pivot & ~direct).sum())}


def by_language(found: Sequence[Compared]) -> dict[str, list[Compared]]:
    """The sets by the language of their candidates."""
    languages = dict.fromkeys(one.direct.items.target_lang for one in found)
    return {language: [one for one in found if one.direct.items.target_lang == language] for language in languages}


def figures(found: Sequence[Compared]) -> dict[str, dict[str, float]]:
    """By set, by language of the candidates, and the unweighted ``mean`` over the sets."""
    of_sets = {one.item: one.figures() for one in found}
    languages: dict[str, dict[str, float]] = {}
    for language, sets in by_language(found).items():
        languages[language] = {"errors": float(sum((~one.direct.verdicts.right).sum() for one in sets))}
        for name in sets[0].alone():
            languages[language][name] = sum(one.alone()[name] for one in sets)
    shared = [name for name in next(iter(of_sets.values())) if name.endswith("p_at_1")]
    mean = {name: fmean(of_set[name] for of_set in of_sets.values()) for name in shared}
    return of_sets | languages | {"mean": mean}


# ---- rows


class ErrorBucket(NamedTuple):
    """How many errors are worded how similarly."""

    language: str  # of the candidates
    measure: str  # one of ``MEASURES``
    bucket: str  # from which similarity to which
    errors: int
    percent: float  # of the errors in that language; NaN: there are none


def error_buckets(found: Sequence[Compared], edges: Mapping[str, Sequence[float]]) -> list[ErrorBucket]:
    """Errors by how similarly the translation and the distractor that was nearest to the source are worded."""
    counted: list[ErrorBucket] = []
    for language, sets in by_language(found).items():
        lost = [(one.direct.items.target[row], _nearest(one.direct, row)) for one in sets for row in _wrong(one.direct)]
        for measure, similarity in MEASURES.items():
            for bucket in buckets([similarity(*texts) for texts in lost], edges[measure]):
                percent_of = 100 * bucket.values / len(lost) if lost else math.nan
                counted.append(ErrorBucket(language, measure, bucket.label, bucket.values, percent_of))
    return counted


def difficulty_rows(sets: Sequence[ClsdSet]) -> list[Row]:
    """How alike distractors are to their originals and among themselves, by corpus and language of the candidates.

    An item of several directions counts once.
    """
    candidates: dict[tuple[str, str], dict[str, tuple[str, list[str]]]] = {}
    for items in sets:
        of_language = candidates.setdefault((items.name, items.target_lang), {})
        of_language |= zip(items.ids, zip(items.target, items.distractors, strict=True), strict=True)
    rows: list[Row] = []
    for (name, language), by_id in candidates.items():
        found = difficulty(by_id.values())
        spreads = {
            f"{name}_jaccard_{field}": value
            for name, spread in found._asdict().items()
            for field, value in spread._asdict().items()
        }
        rows.append({"set": name, "language": language, **spreads})
    return rows


def item_rows(found: Sequence[Compared]) -> list[Row]:
    """A row for each item; with a pivot its verdict there, too."""
    rows: list[Row] = []
    for one in found:
        direct = list(_rows(one.direct))
        if one.pivot is not None:
            for row, pivot in zip(direct, _rows(one.pivot), strict=True):
                row |= {f"pivot_{name}": pivot[name] for name in _VERDICT}
        rows += direct
    return rows


def disagreement_rows(found: Sequence[Compared]) -> list[Row]:
    """The items that one way alone gets right, with the texts of both."""
    rows: list[Row] = []
    for one in found:
        if one.pivot is None:
            continue
        for direct, pivot in zip(_rows(one.direct), _rows(one.pivot), strict=True):
            if direct["right"] != pivot["right"]:
                texts = {name: direct[name] for name in _TEXTS} | {f"pivot_{name}": pivot[name] for name in _TEXTS}
                which = {name: direct[name] for name in ("set", "direction", "id")}
                rows.append({**which, "right": "direct" if direct["right"] else "pivot", **texts})
    return rows


def _rows(judged: JudgedSet) -> Iterator[Row]:
    items, found = judged.items, judged.verdicts
    right, tied, nearest_cosine = found.right, found.tied, found.cosines[:, 1:].max(axis=1)
    for row, text in enumerate(items.target):
        nearest = _nearest(judged, row)
        yield {
            "set": items.name, "direction": f"{items.source_lang}-{items.target_lang}", "id": items.ids[row],
            "right": int(right[row]), "tied": int(tied[row]),
            "truncated": "" if judged.cut is None else int(judged.cut[row].sum()),
            "cosine": float(found.cosines[row, 0]), "nearest_cosine": float(nearest_cosine[row]),
            "nearest": int(found.best[row]) + 1,
            **{measure: similarity(text, nearest) for measure, similarity in MEASURES.items()},
            "source": items.source[row], "translation": text, "nearest_distractor": nearest,
        }  # fmt: skip


def _wrong(judged: JudgedSet) -> list[int]:
    return np.flatnonzero(~judged.verdicts.right).tolist()


def _nearest(judged: JudgedSet, row: int) -> str:
    return judged.items.distractors[row][int(judged.verdicts.best[row])]
