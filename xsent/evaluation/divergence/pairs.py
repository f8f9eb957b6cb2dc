"""Divergence test sets: scores of their pairs with histograms, and metrics of their divergent words."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from xsent.batch import Judgement, WordPair
from xsent.evaluation.charts import Histogram, Panel
from xsent.evaluation.divergence.metrics import rates
from xsent.evaluation.evaluator import Bitext
from xsent.evaluation.statistics.agreement import word_alpha
from xsent.evaluation.statistics.items import PERCENT, Items
from xsent.evaluation.statistics.thresholds import Bools, Floats

Ints = NDArray[np.int64]
Words = list[tuple[Bools, Bools]]  # words predicted as divergent, by pair and side

MIN_PROBABILITY = 0.5  # a word above this probability is predicted as divergent


class DivergencePairs(Bitext, Protocol):
    """N pairs, each equivalent or divergent in meaning."""

    name: str
    pairs: Sequence[WordPair]
    equivalent: list[bool]
    kinds: list[str]  # "": only the label is known
    highlights: list[tuple[tuple[int, ...], tuple[int, ...]]] | None  # annotators per word
    annotators: int

    def digest(self) -> str: ...


class Thresholds(NamedTuple):
    """A pair with a score above the threshold is classified as equivalent."""

    fixed: float  # by convention
    calibrated: float | None  # chosen on dev pairs; None: there are none
    tuned_on: str

    def by_prefix(self) -> dict[str, float]:
        """Thresholds by prefix of their metrics' names."""
        return {"": self.fixed} | ({} if self.calibrated is None else {"calibrated_": self.calibrated})


class ScoredSet(NamedTuple):
    """A test set with a number for each pair."""

    pairs: DivergencePairs
    values: Floats  # (N,)
    thresholds: Thresholds | None  # None: the values classify nothing
    panel: str = ""  # of a chart; "": the name of the set


def histogram(name: str, title: str, label: str, sets: Sequence[ScoredSet]) -> Histogram:
    """Values by kind of pair, a panel per set, with the calibrated threshold if there is one."""
    panels: list[Panel] = []
    line_label = "threshold"
    for scored in sets:
        kinds = zip(scored.pairs.kinds, scored.pairs.equivalent, strict=True)
        labels = np.array([kind or ("equivalent" if label else "divergent") for kind, label in kinds])
        values = {label.replace("_", " "): scored.values[labels == label] for label in dict.fromkeys(labels.tolist())}
        line = None
        if scored.thresholds is not None:
            prefix, line = list(scored.thresholds.by_prefix().items())[-1]
            line_label = f"{prefix.replace('_', ' ')}threshold"
        panels.append(Panel(scored.panel or scored.pairs.name, values, line))
    return Histogram(name, title, label, "pairs", line_label, panels)


# ---- words


def divergent_words(pairs: DivergencePairs, judgements: Sequence[Judgement]) -> Words | None:
    """Words predicted as divergent; None if the model does not tag words.

    Raises:
        ValueError: the number of probabilities of a pair differs from its number of words.
    """
    predicted = []
    for pair, judgement in zip(pairs.pairs, judgements, strict=True):
        if judgement.source is None or judgement.target is None:
            return None
        for words, probabilities in ((pair.source, judgement.source), (pair.target, judgement.target)):
            if len(words) != len(probabilities):
                raise ValueError(
                    f"{pairs.name}: expected a probability for each of {len(words)} words, found {len(probabilities)}:"
                    f" {' '.join(words)}"
                )
        predicted.append((judgement.source > MIN_PROBABILITY, judgement.target > MIN_PROBABILITY))
    return predicted


def percent_divergent(divergent: Words) -> Floats:
    """Percent of each pair's words that are predicted as divergent, both sides pooled; 0 without words."""
    pooled = [np.concatenate(sides) for sides in divergent]
    return np.array([100 * float(words.mean()) if len(words) else 0.0 for words in pooled])


def percent_highlighted(pairs: DivergencePairs) -> list[ScoredSet]:
    """Percent of each pair's words that annotators highlighted, for each level of their agreement.

    Source:
        Briakou & Carpuat 2020, Figure 4: the distributions in REFreSD itself, beside those of predicted words.
    """
    if pairs.highlights is None:
        return []
    sets = []
    for level, minimum in highlight_levels(pairs.annotators).items():
        words = [(np.array(source) >= minimum, np.array(target) >= minimum) for source, target in pairs.highlights]
        name = f"{pairs.name}, annotators{', ' + level.replace('_', ' ') if pairs.annotators > 1 else ''}"
        sets.append(ScoredSet(pairs, percent_divergent(words), None, name))
    return sets


def has_scored_words(pairs: DivergencePairs, kinds: Sequence[str] | None) -> list[bool]:
    """Whether the words of each pair are scored; ``kinds``: of those pairs, None is all divergent pairs."""
    if kinds is None:
        return [not label for label in pairs.equivalent]
    return [kind in kinds for kind in pairs.kinds]


def set_word_metrics(pairs: DivergencePairs, kinds: Sequence[str] | None, divergent: Words | None) -> dict[str, float]:
    """``word_alpha`` of several annotators, and with predictions ``word_metrics`` and ``coin_metrics`` of each level.

    Empty if no word is scored; ``kinds`` as in ``has_scored_words``.
    """
    scored = has_scored_words(pairs, kinds)
    if pairs.highlights is None or not any(scored):
        return {}
    highlights = zip(pairs.highlights, scored, strict=True)
    counts = [count for sides, is_scored in highlights if is_scored for side in sides for count in side]
    highlighted = np.array(counts, dtype=np.int64)
    metrics = {"word_alpha": word_alpha(highlighted, pairs.annotators)} if pairs.annotators > 1 else {}
    if divergent is None:
        return metrics
    predictions = zip(divergent, scored, strict=True)
    predicted = np.concatenate([side for sides, is_scored in predictions if is_scored for side in sides])
    for level, minimum in highlight_levels(pairs.annotators).items():
        figures = word_metrics(predicted, highlighted, minimum)
        metrics |= {f"{level}_{metric}": value for metric, value in figures.items()}
        figures = coin_metrics(highlighted, minimum)
        metrics |= {f"random_{level}_{metric}": value for metric, value in figures.items()}
    return metrics


def set_word_items(pairs: DivergencePairs, kinds: Sequence[str] | None, divergent: Words | None) -> dict[str, Items]:
    """Items of the F1 of divergent and of equivalent words at each level: pairs, because the words of one depend on
    each other. Empty if no word is scored."""
    scored = has_scored_words(pairs, kinds)
    if pairs.highlights is None or divergent is None or not any(scored):
        return {}
    rows = [
        (np.concatenate(predicted), np.concatenate([np.array(side) for side in sides]))
        for predicted, sides, is_scored in zip(divergent, pairs.highlights, scored, strict=True)
        if is_scored
    ]
    outcomes = {}
    for level, minimum in highlight_levels(pairs.annotators).items():
        for name, value in (("f1_div", True), ("f1_eq", False)):
            classes = [(predicted == value, (marks >= minimum) == value) for predicted, marks in rows]
            hits = [2 * int((guess & truth).sum()) for guess, truth in classes]
            totals = [int(guess.sum() + truth.sum()) for guess, truth in classes]
            outcomes[f"{level}_{name}"] = Items.of("ratio", hits, totals, scale=PERCENT)
    return outcomes


def highlight_levels(annotators: int) -> dict[str, int]:
    """Number of annotators that must highlight a divergent word, by name of the level; ``union`` alone for one."""
    return {"union": 1, "pairwise_union": 2, "intersection": annotators} if annotators > 1 else {"union": 1}


def word_metrics(predicted: Bools, highlighted: Ints, minimum: int) -> dict[str, float]:
    """Percent: F1 of the divergent and of the equivalent words, all words pooled, and the product of the two.

    Args:
        predicted: (N,), words predicted as divergent.
        highlighted: (N,), number of annotators that highlighted each word.
        minimum: number of annotators that makes a word divergent.

    Source:
        Briakou & Carpuat 2020, Table 4, which has shares instead of percent.
    """
    truth = highlighted >= minimum
    return _word_f1(rates(predicted, truth).f1, rates(~predicted, ~truth).f1)


def coin_metrics(highlighted: Ints, minimum: int) -> dict[str, float]:
    """``word_metrics`` of a coin flip: the F1 of its expected precision (the share of the class) and recall (1/2)."""
    share = float((highlighted >= minimum).mean())
    return _word_f1(*(100 * part / (part + 0.5) for part in (share, 1 - share)))


def _word_f1(divergent: float, equivalent: float) -> dict[str, float]:
    return {"f1_div": divergent, "f1_eq": equivalent, "f1_mul": divergent * equivalent / 100}
