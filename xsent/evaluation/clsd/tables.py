"""CLSD metrics and tables: P@1, errors by wording, a row per item."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.evaluation.clsd.base import CandidateScores, ClsdSet, item_name, percent
from xsent.evaluation.statistics.items import Items, gap_items, mean_over
from xsent.lexical_overlap import difficulty, indel_similarity, jaccard

Row = dict[str, object]
MEASURES = {"levenshtein": indel_similarity, "jaccard": jaccard}
SCORE_COLUMNS = ("right", "tied", "truncated", "cosine", "nearest_cosine")
TEXT_COLUMNS = ("source", "translation", "nearest_distractor")


class ScoredSet(NamedTuple):
    """A set, in its languages or in the pivot language, with its scores."""

    items: ClsdSet
    scores: CandidateScores
    truncated: NDArray[np.bool_] | None  # (N, 1 + K) of translation and distractors; None: unknown
    zero_vectors: int

    def metrics(self) -> dict[str, float]:
        """P@1 in percent, number of tied items and of truncated candidates (NaN: unknown)."""
        return {
            "p_at_1": percent(self.scores.right),
            "ties": float(self.scores.tied.sum()),
            "truncated": math.nan if self.truncated is None else float(self.truncated.sum()),
        }

    def nearest(self, row: int) -> str:
        return self.items.distractors[row][int(self.scores.nearest[row])]


class SetScores(NamedTuple):
    """Scores of a set, and of the same set in the pivot language."""

    direct: ScoredSet
    pivot: ScoredSet | None

    def metrics(self) -> dict[str, float]:
        pivot = {} if self.pivot is None else self.pivot.metrics()
        return self.direct.metrics() | {f"pivot_{name}": pivot[name] for name in pivot} | self.disagreements()

    def item_outcomes(self) -> dict[str, Items]:
        """Items of P@1 and of margin gaps."""
        outcomes: dict[str, Items] = {}
        for prefix, scored in (("", self.direct), ("pivot_", self.pivot)):
            if scored is not None:
                outcomes[f"{prefix}p_at_1"] = Items.percentage(scored.scores.right)
                outcomes |= gap_items(Items.of("mean", scored.scores.margins), prefix)
        return outcomes

    def disagreements(self) -> dict[str, float]:
        """Number of items that are right only directly, and only in the pivot language; empty without a pivot."""
        if self.pivot is None:
            return {}
        direct, pivot = self.direct.scores.right, self.pivot.scores.right
        return {"only_direct": float((direct & ~pivot).sum()), "only_pivot": float((pivot & ~direct).sum())}


def by_language(sets: Sequence[SetScores]) -> dict[str, list[SetScores]]:
    """The sets by language of their candidates."""
    languages: dict[str, list[SetScores]] = {}
    for scored in sets:
        languages.setdefault(scored.direct.items.target_lang, []).append(scored)
    return languages


def set_metrics(sets: Sequence[SetScores]) -> dict[str, dict[str, float]]:
    """Metrics by set and by language of the candidates, and the unweighted ``mean`` over the sets."""
    by_set = {item_name(scored.direct.items): scored.metrics() for scored in sets}
    languages: dict[str, dict[str, float]] = {}
    for language, of_language in by_language(sets).items():
        errors = sum((~scored.direct.scores.right).sum() for scored in of_language)
        languages[language] = {"errors": float(errors)}
        for name in of_language[0].disagreements():
            languages[language][name] = sum(scored.disagreements()[name] for scored in of_language)
    names = [name for name in next(iter(by_set.values())) if name.endswith("p_at_1")]
    mean = {name: fmean(metrics[name] for metrics in by_set.values()) for name in names}
    return by_set | languages | {"mean": mean}


def set_items(sets: Sequence[SetScores]) -> dict[str, Items]:
    """Items of P@1 and of margin gaps, by name of the metric."""
    by_set = {item_name(scored.direct.items): scored.item_outcomes() for scored in sets}
    names = next(iter(by_set.values()))
    mean = {name: mean_over(outcomes[name] for outcomes in by_set.values()) for name in names}
    return {
        f"{item}/{name}": items
        for item, outcomes in (by_set | {"mean": mean}).items()
        for name, items in outcomes.items()
    }


# ---- tables


class ErrorBucket(NamedTuple):
    """Number of errors from a lower edge of lexical similarity to below the upper one; the last includes both."""

    language: str  # of the candidates
    measure: str  # one of ``MEASURES``
    bucket: str  # range of similarity, "0.6_to_0.7"
    errors: int
    percent: float  # of the errors in that language; NaN: there are none


def error_buckets(sets: Sequence[SetScores], edges: Mapping[str, Sequence[float]]) -> list[ErrorBucket]:
    """Errors by lexical similarity of the translation and the distractor nearest to the source; NaN is not counted."""
    counted: list[ErrorBucket] = []
    for language, of_language in by_language(sets).items():
        errors = [
            (scored.direct.items.target[row], scored.direct.nearest(row))
            for scored in of_language
            for row in np.flatnonzero(~scored.direct.scores.right).tolist()
        ]
        for measure, similarity in MEASURES.items():
            values = np.array([similarity(*texts) for texts in errors], dtype=np.float64)
            counts, _ = np.histogram(values, np.array(edges[measure], dtype=np.float64))
            for (low, high), count in zip(pairwise(edges[measure]), counts.tolist(), strict=True):
                share = 100 * count / len(errors) if errors else math.nan
                counted.append(ErrorBucket(language, measure, f"{low:g}_to_{high:g}", count, share))
    return counted


def difficulty_rows(sets: Sequence[ClsdSet]) -> list[Row]:
    """Similarity of distractors to their originals and to each other, by corpus and language of the candidates.

    An item of several directions counts once.
    """
    candidates: dict[tuple[str, str], dict[str, tuple[str, list[str]]]] = {}
    for items in sets:
        by_id = candidates.setdefault((items.name, items.target_lang), {})
        by_id |= zip(items.ids, zip(items.target, items.distractors, strict=True), strict=True)
    rows: list[Row] = []
    for (name, language), by_id in candidates.items():
        row: Row = {"set": name, "language": language}
        for measure, spread in difficulty(by_id.values())._asdict().items():
            row |= {f"{measure}_jaccard_{field}": value for field, value in spread._asdict().items()}
        rows.append(row)
    return rows


def item_rows(sets: Sequence[SetScores]) -> tuple[list[Row], list[Row]]:
    """A row for each item, and one for each that is right either directly or in the pivot language.

    The first have the scores in the pivot language if there is one, the second the texts of both.
    """
    rows: list[Row] = []
    disagreements: list[Row] = []
    for scored in sets:
        if scored.pivot is None:
            rows += _rows(scored.direct)
            continue
        for direct, pivot in zip(_rows(scored.direct), _rows(scored.pivot), strict=True):
            rows.append(direct | {f"pivot_{name}": pivot[name] for name in SCORE_COLUMNS})
            if direct["right"] != pivot["right"]:
                row = {name: direct[name] for name in ("set", "direction", "id")}
                row |= {"right": "direct" if direct["right"] else "pivot"}
                row |= {name: direct[name] for name in TEXT_COLUMNS}
                disagreements.append(row | {f"pivot_{name}": pivot[name] for name in TEXT_COLUMNS})
    return rows, disagreements


def _rows(scored: ScoredSet) -> Iterator[Row]:
    items, scores = scored.items, scored.scores
    right, tied, nearest_cosines = scores.right, scores.tied, scores.nearest_cosines
    for row, text in enumerate(items.target):
        distractor = scored.nearest(row)
        yield {
            "set": items.name,
            "direction": f"{items.source_lang}-{items.target_lang}",
            "id": items.ids[row],
            "right": int(right[row]),
            "tied": int(tied[row]),
            "truncated": "" if scored.truncated is None else int(scored.truncated[row].sum()),
            "cosine": float(scores.cosines[row, 0]),
            "nearest_cosine": float(nearest_cosines[row]),
            "nearest": int(scores.nearest[row]) + 1,
            "distractor_cosines": " ".join(f"{cosine:.6f}" for cosine in scores.cosines[row, 1:]),
            **{measure: similarity(text, distractor) for measure, similarity in MEASURES.items()},
            "source": items.source[row],
            "translation": text,
            "nearest_distractor": distractor,
        }
