"""Which words of a pair diverge: what a model says of them against what annotators highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xsent.batch import Judgement
from xsent.evaluation.agreement import word_alpha
from xsent.evaluation.divergence_pairs import DivergencePairs
from xsent.evaluation.divergence_scores import Ints, PercentRule, coin_figures, levels, word_figures
from xsent.evaluation.thresholds import Bools, Floats

LIKELY = 0.5  # a word diverges when that is more probable than not


@dataclass(frozen=True)
class WordScores:
    """Figures of words.

    Attributes:
        kinds: kinds of pairs whose words are scored; None is all divergent pairs.
        percent_rule: tells two kinds of divergent pairs apart by their words; None: it is not asked.
    """

    kinds: Sequence[str] | None
    percent_rule: PercentRule | None

    def are_scored(self, one: DivergencePairs) -> list[bool]:
        """Whether the words of each pair are."""
        if self.kinds is None:
            return [not label for label in one.equivalent]
        return [kind in self.kinds for kind in one.kinds]

    def of_words(self, one: DivergencePairs, divergent: Sequence[tuple[Bools, Bools]]) -> dict[str, float]:
        """Figures of the words that are called divergent, as of ``divergent_words``, and what a coin can expect."""
        highlighted = self._highlighted(one)
        if highlighted is None:
            return {}
        chosen = zip(divergent, self.are_scored(one), strict=True)
        said = np.concatenate([side for sides, here in chosen if here for side in sides])
        metrics: dict[str, float] = {}
        for level, least in levels(one.annotators).items():
            for prefix, found in (
                ("", word_figures(said, highlighted, least)),
                ("random_", coin_figures(highlighted, least)),
            ):
                metrics |= {f"{one.name}/{prefix}{level}_{metric}": value for metric, value in found.items()}
        return metrics

    def of_percents(self, one: DivergencePairs, shares: Floats) -> dict[str, float]:
        """Figures of the rule, from the percentage of divergent words in each pair (N,)."""
        rule, kinds = self.percent_rule, np.array(one.kinds)
        if rule is None or not {rule.above, rule.below} <= set(one.kinds):
            return {}
        rows = (kinds == rule.above) | (kinds == rule.below)
        found = rule(shares[rows], kinds[rows] == rule.above)
        return {f"{one.name}/{metric}": value for metric, value in found.items()}

    def of_highlights(self, one: DivergencePairs) -> dict[str, float]:
        """How far annotators agree; nothing where there is one, or none."""
        highlighted = self._highlighted(one)
        if highlighted is None or one.annotators < 2:
            return {}
        return {f"{one.name}/word_alpha": word_alpha(highlighted, one.annotators)}

    def _highlighted(self, one: DivergencePairs) -> Ints | None:
        """By how many annotators each word is highlighted, of all pairs whose words are scored; None where none are."""
        chosen = self.are_scored(one)
        if one.highlights is None or not any(chosen):
            return None
        sides = [side for both, here in zip(one.highlights, chosen, strict=True) if here for side in both]
        return np.concatenate([np.array(side, dtype=np.int64) for side in sides])


def divergent_words(one: DivergencePairs, judgements: Sequence[Judgement]) -> list[tuple[Bools, Bools]] | None:
    """Which words are called divergent, by pair and side; None where words are not tagged.

    Raises:
        ValueError: a pair has not as many probabilities as words.
    """
    found = []
    for pair, judgement in zip(one.pairs, judgements, strict=True):
        if judgement.source is None or judgement.target is None:
            return None
        for words, likely in ((pair.source, judgement.source), (pair.target, judgement.target)):
            if len(words) != len(likely):
                raise ValueError(
                    f"{one.name}: expected a probability for each of {len(words)} words, found {len(likely)}:"
                    f" {' '.join(words)}"
                )
        found.append((judgement.source > LIKELY, judgement.target > LIKELY))
    return found
