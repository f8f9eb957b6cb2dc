"""Similarity change by a distractor in units of a normaliser, and statistics of single-word swaps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from xsent.evaluation.charts import BoxPlot, Series
from xsent.evaluation.clsd.base import Corpus
from xsent.evaluation.similarity.sts import RESOLUTION, spearman
from xsent.evaluation.statistics.items import Items
from xsent.similarity import pairwise_cos_sim, unit

ANY = "any"  # all classes together
MIN_PAIRS = 3  # two pairs of values always have a correlation of 1 or -1
CROSS, MONO = "cross", "mono"
KINDS = {CROSS: "cross-lingual", MONO: "monolingual"}
# The precision of float32 cosines is about 1e-7: smaller differences are rounding errors.
MIN_DIFFERENCE = 1e-6


class Normaliser(NamedTuple):
    """Difference between the mean cosines of parallel and of unrelated sentences."""

    mean_parallel: float
    mean_unrelated: float
    unrelated_pairs: int

    @property
    def value(self) -> float:
        """The difference; NaN unless parallel sentences are nearer than unrelated ones."""
        difference = self.mean_parallel - self.mean_unrelated
        return difference if difference > MIN_DIFFERENCE else math.nan

    def metrics(self) -> dict[str, float]:
        return {"mean_parallel": self.mean_parallel, "mean_unrelated": self.mean_unrelated, "normaliser": self.value}


def normaliser(sets: Sequence[tuple[Tensor, Tensor]], *, n_unrelated: int | None, seed: int) -> Normaliser:
    """Mean cosine of parallel minus unrelated sentences.

    Every source and every target of the same set except its translation are unrelated. Pairs of all sets are pooled.

    Args:
        sets: vectors of the sources (N, D) and of their translations (N, D), by test set.
        n_unrelated: size of a random sample of unrelated pairs; None is all, computed without an N x N matrix.
        seed: of the sample.

    Raises:
        ValueError: there are fewer unrelated pairs than ``n_unrelated``, or none.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.3, footnote 2. The paper does not say which pairs
        are unrelated and whether the corpora are pooled. Ours: all pairs within a corpus, pooled; no sampling.
    """
    units = [(unit(source.double()), unit(target.double())) for source, target in sets]
    sizes = [len(source) for source, _ in units]
    total = count_unrelated(sizes)
    if total == 0 or (n_unrelated is not None and not 1 <= n_unrelated <= total):
        expected = "at least 1" if n_unrelated is None else f"{n_unrelated}"
        raise ValueError(f"expected {expected} of the unrelated pairs of {sizes} parallel ones, found {total}")
    parallel = sum(float((source * target).sum()) for source, target in units)
    if n_unrelated is None:
        # The product of the sums is the sum of all N x N cosines; the diagonal is parallel.
        unrelated = sum(float(source.sum(dim=0) @ target.sum(dim=0)) for source, target in units) - parallel
    else:
        unrelated = _sample_sum(units, sizes, n_unrelated, seed)
    pairs = total if n_unrelated is None else n_unrelated
    return Normaliser(parallel / sum(sizes), unrelated / pairs, pairs)


def count_unrelated(sizes: Sequence[int]) -> int:
    """Number of unrelated pairs within sets of these numbers of parallel pairs."""
    return sum(n * (n - 1) for n in sizes)


def _sample_sum(units: Sequence[tuple[Tensor, Tensor]], sizes: Sequence[int], count: int, seed: int) -> float:
    """Sum of the cosines of ``count`` distinct unrelated pairs."""
    sampled = np.random.default_rng(seed).choice(count_unrelated(sizes), size=count, replace=False, shuffle=False)
    total, start = 0.0, 0
    for (source, target), n in zip(units, sizes, strict=True):
        end = start + n * (n - 1)
        pairs = torch.from_numpy(sampled[(sampled >= start) & (sampled < end)] - start).to(source.device)
        rows = pairs // max(n - 1, 1)
        columns = pairs % max(n - 1, 1)
        columns = columns + (columns >= rows).long()  # skip the diagonal
        total += float((source[rows] * target[columns]).sum())
        start = end
    return total


def similarity_change(source: Tensor, target: Tensor, distractor: Tensor, *, normaliser: float) -> Tensor:
    """By how much a distractor is nearer to the source than the target is; above 0 the encoder prefers the distractor.

    With the target as source it is the monolingual change, which is never above 0.

    Args:
        source, target: (..., D).
        distractor: (..., D), in the target's language.
        normaliser: ``Normaliser.value``; NaN gives NaN.

    Returns:
        (...), float64, in units of the normaliser.

    Source:
        Michail et al. 2025, section 3.3. Their formula uses cosine distances; the ones cancel.
    """
    source, target, distractor = source.double(), target.double(), distractor.double()
    return (pairwise_cos_sim(source, distractor) - pairwise_cos_sim(source, target)) / normaliser


# ---- swaps


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


def swap_items(changes: Changes, classes: Sequence[str]) -> dict[str, Items]:
    """Items of the means and correlations of ``swap_metrics``; the normaliser is taken as given."""
    items: dict[str, Items] = {}
    for label, tags in _groups(classes).items():
        group = changes.filter(tags)
        if len(group.tags):
            items |= {f"{label}_{kind}": Items.of("mean", group.values(kind)) for kind in (CROSS, MONO)}
        if len(group.tags) >= MIN_PAIRS:
            both = group.cross, group.mono
            items |= {f"{name}_{label}": Items.of(name, *both) for name in ("pearson", "spearman")}
    return items


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
