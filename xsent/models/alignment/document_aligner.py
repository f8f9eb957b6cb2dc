"""Word alignment of two whole documents by a hidden Markov model: which words have a counterpart, and where."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.config_checks import check_integer

Numbers = NDArray[np.float32]
Positions = NDArray[np.int64]

REACH = 6  # words that a step of the model reaches beyond the next word, without a jump
LARGEST_EXPONENT = 60.0  # of an emission, so that no product overflows


class AlignedSide(NamedTuple):
    """The L words of one document."""

    unmatched: Numbers  # (L,) probability that the other document has no counterpart of the word, 0 to 1
    counterpart: Positions  # (L,) position of the most probable counterpart


@dataclass(frozen=True, kw_only=True)
class DocumentAligner:
    """Aligns the words of two documents, of which either may have additional, missing or moved passages.

    The model walks over the words of one document. Its state is a position in the other document, with a mark whether
    the word has its counterpart there or none. A word's counterpart usually is near that of the word before; jumps to
    any position are rare, so that sections in another order cost one jump. The evidence for a link is the cosine of
    both words; words without a vector are no evidence. Forward and backward passes give the probability of each link.

    Two such models, one per direction, must agree: the counterpart of a word counts only as far as it has its own
    counterpart within ``window`` words of the word. Otherwise an added sentence would be matched with a similar one
    that has a better match.

    Raises:
        ValueError: an option is out of range.

    Source:
        Vogel, Ney and Tillmann 1996 (the model), Och and Ney 2003 (states without counterpart), Liang, Taskar and Klein
        2006 (agreement); cosines instead of translation probabilities, and jumps, are ours.
    """

    null_cosine: float  # a word with this cosine is as probable with the counterpart as without
    temperature: float  # of the cosines
    leave: float  # probability that a word without counterpart follows a word with one
    stay: float  # probability that a word without counterpart follows another
    jump: float  # probability of a jump between two words
    spread: float  # scale in words of the distance from the expected next position
    window: int  # words
    max_words: int  # of a document: memory grows with the product of both numbers of words

    def __post_init__(self) -> None:
        for name in ("leave", "stay", "jump"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"aligner.{name}={getattr(self, name)}: expected a probability between 0 and 1")
        for name in ("temperature", "spread"):
            if not getattr(self, name) > 0:
                raise ValueError(f"aligner.{name}={getattr(self, name)}: expected a number above 0")
        check_integer("aligner.window", self.window, minimum=0)
        check_integer("aligner.max_words", self.max_words, minimum=1)

    def align(self, source: Numbers, target: Numbers) -> tuple[AlignedSide, AlignedSide]:
        """Align S and T words.

        Args:
            source: (S, D) vectors of length one, or 0 for an unknown word; S >= 1.
            target: (T, D), likewise.

        Raises:
            ValueError: a document has more than ``max_words`` words.
        """
        longest = max(len(source), len(target))
        if longest > self.max_words:
            raise ValueError(
                f"a document of {longest:,} words: expected at most {self.max_words:,} (aligner.max_words);"
                " split both documents at the same places"
            )
        evidence = (source @ target.T - np.float32(self.null_cosine)) / np.float32(self.temperature)  # (S, T)
        evidence[~source.any(axis=1)] = 0
        evidence[:, ~target.any(axis=1)] = 0
        emissions = np.exp(np.clip(evidence, -LARGEST_EXPONENT, LARGEST_EXPONENT))
        forward, backward = self.links(emissions), self.links(emissions.T)  # (S, T), (T, S)
        return self._side(forward, backward), self._side(backward, forward)

    def _side(self, links: Numbers, reverse: Numbers) -> AlignedSide:
        """One side, from the links (L, M) of its words and those (M, L) of the other side's words."""
        returns = np.minimum(_window_sums(reverse, self.window), 1).T  # (L, M)
        agreed = links * returns
        unmatched = np.clip(1 - agreed.sum(axis=1), 0, 1).astype(np.float32)
        return AlignedSide(unmatched, links.argmax(axis=1))

    def links(self, emissions: Numbers) -> Numbers:
        """Probability that the counterpart of word l is at position m, by the model in one direction.

        Args:
            emissions: (L, M) likelihood of each word given its counterpart, relative to that without counterpart.

        Returns:
            (L, M); the rest of a row is the probability that the word has none.
        """
        length, positions = emissions.shape
        steps = np.exp(-np.abs(np.arange(-REACH, REACH + 1)) / self.spread)
        steps = np.pad(steps / steps.sum(), (2, 0))  # (2 * REACH + 3,), expected is the next position
        states = np.zeros((length, 2, positions), dtype=np.float32)  # given the words so far; counterpart, none
        start = np.full(positions, 1 / positions)
        matched, null = (1 - self.leave) * start, self.leave * start
        for row, emission in enumerate(emissions):
            if row:
                before, before_null = states[row - 1].astype(np.float64)
                leaving = (1 - self.leave) * before + (1 - self.stay) * before_null
                matched = self._move(leaving, steps)
                null = self.leave * before + self.stay * before_null
            matched = matched * emission
            total = matched.sum() + null.sum()
            states[row] = matched / total, null / total
        links = np.empty((length, positions), dtype=np.float32)
        future = np.ones((2, positions))  # of the words behind, given the state; up to a factor
        for row in range(length - 1, -1, -1):
            joint = states[row] * future
            links[row] = joint[0] / joint.sum()
            arriving = self._move(future[0] * emissions[row], steps[::-1])
            future = np.stack(
                [
                    (1 - self.leave) * arriving + self.leave * future[1],
                    (1 - self.stay) * arriving + self.stay * future[1],
                ]
            )
            future /= future.max()
        return links

    def _move(self, mass: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mass (M,) after a step or a jump; the same with reversed steps is its transpose."""
        near = np.convolve(mass, steps)[REACH + 1 : REACH + 1 + len(mass)]
        moved: NDArray[np.float64] = (1 - self.jump) * near + self.jump * mass.mean()
        return moved


def _window_sums(values: Numbers, reach: int) -> Numbers:
    """Sums of (L, M) over the columns at most ``reach`` away."""
    sums = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1, dtype=np.float64)
    columns = np.arange(values.shape[1])
    last = np.minimum(columns + reach + 1, values.shape[1])
    windows: Numbers = (sums[:, last] - sums[:, np.maximum(columns - reach, 0)]).astype(np.float32)
    return windows
