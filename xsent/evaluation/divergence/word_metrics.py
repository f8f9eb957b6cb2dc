"""Metrics of divergent words: predictions of a model against highlights of annotators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xsent.batch import Judgement
from xsent.evaluation.divergence.metrics import Ints, PercentRule, coin_metrics, highlight_levels, word_metrics
from xsent.evaluation.divergence.pairs import DivergencePairs
from xsent.evaluation.statistics.agreement import word_alpha
from xsent.evaluation.statistics.thresholds import Bools, Floats

MIN_PROBABILITY = 0.5  # a word above this probability is predicted as divergent


@dataclass(frozen=True)
class WordScores:
    """Metrics of words.

    Attributes:
        kinds: kinds of pairs whose words are scored; None is all divergent pairs.
        percent_rule: separates two kinds of divergent pairs by their words; None: not scored.
    """

    kinds: Sequence[str] | None
    percent_rule: PercentRule | None

    def is_scored(self, pairs: DivergencePairs) -> list[bool]:
        """Whether the words of each pair are scored."""
        if self.kinds is None:
            return [not label for label in pairs.equivalent]
        return [kind in self.kinds for kind in pairs.kinds]

    def words(self, pairs: DivergencePairs, divergent: Sequence[tuple[Bools, Bools]]) -> dict[str, float]:
        """Metrics of predictions as of ``divergent_words``, and the expectation of a coin flip."""
        highlighted = self._highlighted(pairs)
        if highlighted is None:
            return {}
        scored = zip(divergent, self.is_scored(pairs), strict=True)
        predicted = np.concatenate([side for sides, is_scored in scored if is_scored for side in sides])
        metrics: dict[str, float] = {}
        for level, minimum in highlight_levels(pairs.annotators).items():
            by_prefix = {
                "": word_metrics(predicted, highlighted, minimum),
                "random_": coin_metrics(highlighted, minimum),
            }
            for prefix, figures in by_prefix.items():
                metrics |= {f"{pairs.name}/{prefix}{level}_{metric}": value for metric, value in figures.items()}
        return metrics

    def percents(self, pairs: DivergencePairs, shares: Floats) -> dict[str, float]:
        """Metrics of the rule, from the percentage of divergent words in each pair (N,)."""
        rule, kinds = self.percent_rule, np.array(pairs.kinds)
        if rule is None or not {rule.above, rule.below} <= set(pairs.kinds):
            return {}
        rows = (kinds == rule.above) | (kinds == rule.below)
        return {
            f"{pairs.name}/{metric}": value for metric, value in rule(shares[rows], kinds[rows] == rule.above).items()
        }

    def agreement(self, pairs: DivergencePairs) -> dict[str, float]:
        """Agreement on highlights; empty with fewer than two annotators."""
        highlighted = self._highlighted(pairs)
        if highlighted is None or pairs.annotators < 2:
            return {}
        return {f"{pairs.name}/word_alpha": word_alpha(highlighted, pairs.annotators)}

    def _highlighted(self, pairs: DivergencePairs) -> Ints | None:
        """Number of annotators that highlighted each scored word; None if no word is scored."""
        scored = self.is_scored(pairs)
        if pairs.highlights is None or not any(scored):
            return None
        sides = [side for both, is_scored in zip(pairs.highlights, scored, strict=True) if is_scored for side in both]
        return np.concatenate([np.array(side, dtype=np.int64) for side in sides])


def divergent_words(pairs: DivergencePairs, judgements: Sequence[Judgement]) -> list[tuple[Bools, Bools]] | None:
    """Words predicted as divergent, by pair and side; None if the model does not tag words.

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
