"""Similarity changes of single-word swaps: their means by part of speech, their correlations, their pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from xsent.evaluation.charts import BoxPlot, Series
from xsent.evaluation.sts import RESOLUTION, spearman
from xsent.evaluation.test_sets import Bitext

ANY = "any"  # all classes together
FEWEST = 3  # pairs of values; any two have a correlation of 1 or -1
CROSS, MONO = "cross", "mono"
TITLES = {CROSS: "Cross-lingual", MONO: "Monolingual"}
FILES = {CROSS: "cross_lingual", MONO: "monolingual"}


class Swaps(Bitext, Protocol):
    """N distractors that differ from their original, the target, in one word."""

    @property
    def name(self) -> str: ...
    @property
    def swapped(self) -> list[str]: ...
    @property
    def tags(self) -> list[str]: ...
    @property
    def equivalent(self) -> list[int]: ...
    @property
    def ids(self) -> list[str]: ...
    @property
    def words(self) -> list[tuple[str, str]]: ...
    @property
    def additions(self) -> int: ...


class Changes(NamedTuple):
    """N swaps of one language as an encoder sees them, in units of its normaliser."""

    name: str  # "deu", the language of originals and distractors
    tags: Sequence[str]  # (N,)
    cross: Series  # (N,) beside the translation
    mono: Series  # (N,) beside the original

    def of(self, kind: str) -> Series:
        """``cross`` or ``mono``."""
        return self.cross if kind == CROSS else self.mono

    def only(self, tags: Sequence[str]) -> Changes:
        """Those with one of some tags."""
        chosen = np.isin(self.tags, list(tags))
        return Changes(self.name, [tag for tag in self.tags if tag in tags], self.cross[chosen], self.mono[chosen])


def together(changes: Sequence[Changes], name: str) -> Changes:
    """Changes of several languages as one."""
    return Changes(
        name,
        [tag for one in changes for tag in one.tags],
        np.concatenate([one.cross for one in changes]),
        np.concatenate([one.mono for one in changes]),
    )


def figures(changes: Changes, classes: Sequence[str]) -> dict[str, float]:
    """By class, and of ``any`` of them: how many, mean changes, and the correlations of the two changes.

    A mean of nothing is NaN, and so is a correlation of fewer than three pairs or of values that are all the same.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3. Of which kind their correlations are is not said.
    """
    found: dict[str, float] = {}
    for label, tags in _groups(classes).items():
        some = changes.only(tags)
        found |= {
            f"{label}_n": float(len(some.tags)),
            f"{label}_{CROSS}": _mean(some.cross),
            f"{label}_{MONO}": _mean(some.mono),
            f"pearson_{label}": pearson(some.cross, some.mono),
            f"spearman_{label}": spearman(some.cross, some.mono) if len(some.tags) >= FEWEST else math.nan,
        }
    return found


def _groups(classes: Sequence[str]) -> dict[str, list[str]]:
    """By label the tags that belong to it."""
    return {tag: [tag] for tag in classes} | {ANY: list(classes)}


def _mean(values: Series) -> float:
    return float(values.mean()) if len(values) else math.nan


def pearson(a: Series, b: Series) -> float:
    """Linear correlation of two series (N,), -1 to 1; NaN below three values or where a series is constant."""
    if len(a) < FEWEST or not (np.ptp(a) > RESOLUTION and np.ptp(b) > RESOLUTION):
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def boxes(name: str, title: str, changes: Mapping[str, Changes], classes: Sequence[str], kind: str) -> BoxPlot:
    """How changes spread: a group for each class, in it a box for each label.

    Args:
        name: of the file.
        title: begins the picture's title.
        changes: by label, a language or an encoder.
        classes: parts of speech; ``ANY`` of them comes last.
        kind: ``cross`` (Figure 2 of Michail et al. 2025) or ``mono`` (Figure 3).
    """
    groups = {
        label.upper(): {who: known for who, one in changes.items() if len(known := _known(one.only(tags).of(kind)))}
        for label, tags in _groups(classes).items()
    }
    return BoxPlot(name, f"{title}: {TITLES[kind].lower()} similarity change", "change of cosine / normaliser", groups)


def _known(values: Series) -> Series:
    return values[~np.isnan(values)]


def change_charts(name: str, changes: Sequence[Changes], classes: Sequence[str]) -> list[BoxPlot]:
    """Figures 2 and 3 of Michail et al. 2025 for one encoder, languages side by side."""
    by_language = {one.name: one for one in changes}
    return [boxes(f"{name}_{FILES[kind]}", "One word swapped", by_language, classes, kind) for kind in (CROSS, MONO)]


def compare_encoders(name: str, changes: Mapping[str, Sequence[Changes]], classes: Sequence[str]) -> list[BoxPlot]:
    """Figures 2 and 3 for several encoders side by side, a picture for each language.

    Args:
        name: begins the names of the files.
        changes: by encoder those of each language, as ``ClsdSwapsEvaluator.changes`` gives them.
        classes: parts of speech.
    """
    languages = dict.fromkeys(one.name for several in changes.values() for one in several)
    return [
        boxes(
            f"{name}_{FILES[kind]}_{language}", f"One word swapped, {language}",
            {encoder: one for encoder, several in changes.items() for one in several if one.name == language},
            classes, kind,
        )
        for kind in (CROSS, MONO)
        for language in languages
    ]  # fmt: skip
