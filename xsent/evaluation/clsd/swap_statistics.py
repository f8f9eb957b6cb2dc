"""Statistics of similarity changes by single-word swaps: means by part of speech, correlations, box plots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from xsent.evaluation.charts import BoxPlot, Series
from xsent.evaluation.clsd.base import Corpus
from xsent.evaluation.similarity.sts import RESOLUTION, spearman

ANY = "any"  # all classes together
MIN_PAIRS = 3  # two pairs of values always have a correlation of 1 or -1
CROSS, MONO = "cross", "mono"
KINDS = {CROSS: "cross-lingual", MONO: "monolingual"}


class Swaps(Corpus, Protocol):
    """N distractors that differ from their original, the target, in one word."""

    swapped: list[str]
    tags: list[str]
    equivalent: list[int]
    words: list[tuple[str, str]]
    additions: int


class Changes(NamedTuple):
    """Similarity changes of N swaps of one language, in units of the normaliser."""

    name: str  # "deu", the language of originals and distractors
    tags: Sequence[str]  # (N,)
    cross: Series  # (N,) compared with the translation
    mono: Series  # (N,) compared with the original

    def values(self, kind: str) -> Series:
        return self.cross if kind == CROSS else self.mono

    def filter(self, tags: Sequence[str]) -> Changes:
        """The changes with one of these tags."""
        rows = np.isin(self.tags, list(tags))
        return Changes(self.name, [tag for tag in self.tags if tag in tags], self.cross[rows], self.mono[rows])


def concatenate(changes: Sequence[Changes], name: str) -> Changes:
    """Changes of several languages as one series."""
    tags = [tag for language in changes for tag in language.tags]
    return Changes(name, tags, *(np.concatenate([c.values(kind) for c in changes]) for kind in (CROSS, MONO)))


def swap_metrics(changes: Changes, classes: Sequence[str]) -> dict[str, float]:
    """Number, mean changes and correlations of both changes, by class and of ``any`` class.

    A mean of no values is NaN, and so is a correlation of fewer than three pairs or of constant values.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3, which does not name the kind of correlation.
    """
    metrics: dict[str, float] = {}
    for label, tags in _groups(classes).items():
        group = changes.filter(tags)
        metrics |= {
            f"{label}_n": float(len(group.tags)),
            f"{label}_{CROSS}": _mean(group.cross),
            f"{label}_{MONO}": _mean(group.mono),
            f"pearson_{label}": pearson(group.cross, group.mono),
            f"spearman_{label}": spearman(group.cross, group.mono) if len(group.tags) >= MIN_PAIRS else math.nan,
        }
    return metrics


def _groups(classes: Sequence[str]) -> dict[str, list[str]]:
    """Tags by label."""
    return {tag: [tag] for tag in classes} | {ANY: list(classes)}


def _mean(values: Series) -> float:
    return float(values.mean()) if len(values) else math.nan


def pearson(a: Series, b: Series) -> float:
    """Pearson correlation of two series (N,), -1 to 1; NaN below three values or if a series is constant."""
    if len(a) < MIN_PAIRS or not (np.ptp(a) > RESOLUTION and np.ptp(b) > RESOLUTION):
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def box_plot(
    name: str, title: str, changes: Mapping[str, Changes], classes: Sequence[str], kind: str, *, suffix: str = ""
) -> BoxPlot:
    """Box plot of changes: a group for each class and for ``ANY`` of them, a box for each label.

    ``changes`` by label, a language or an encoder; ``kind``: ``cross`` (Figure 2 of Michail et al. 2025) or ``mono``
    (Figure 3).
    """
    groups: dict[str, dict[str, Series]] = {}
    for label, tags in _groups(classes).items():
        boxes = {key: of_key.filter(tags).values(kind) for key, of_key in changes.items()}
        boxes = {key: values[~np.isnan(values)] for key, values in boxes.items()}
        groups[label.upper()] = {key: values for key, values in boxes.items() if len(values)}
    name = f"{name}_{KINDS[kind].replace('-', '_')}{suffix}"
    return BoxPlot(name, f"{title}: {KINDS[kind]} similarity change", "change of cosine / normaliser", groups)


def change_charts(name: str, changes: Sequence[Changes], classes: Sequence[str]) -> list[BoxPlot]:
    """Figures 2 and 3 of Michail et al. 2025 for one encoder, languages side by side."""
    by_language = {language.name: language for language in changes}
    return [box_plot(name, "One word swapped", by_language, classes, kind) for kind in KINDS]


def compare_encoders(name: str, changes: Mapping[str, Sequence[Changes]], classes: Sequence[str]) -> list[BoxPlot]:
    """Figures 2 and 3 for several encoders side by side, a chart for each language.

    ``changes`` by encoder, as ``ClsdSwapsEvaluator.changes`` returns them; ``name`` is the prefix of the file names.
    """
    by_language: dict[str, dict[str, Changes]] = {}
    for encoder, languages in changes.items():
        for language in languages:
            by_language.setdefault(language.name, {})[encoder] = language
    return [
        box_plot(name, f"One word swapped, {language}", by_encoder, classes, kind, suffix=f"_{language}")
        for kind in KINDS
        for language, by_encoder in by_language.items()
    ]
