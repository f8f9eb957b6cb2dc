"""Training examples of a ranking loss from labelled pairs: anchor, positive, and hard negatives of the anchor."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import Hashes, mix
from xsent.data.sampling.pair_kinds import NumberedRows

Bools = NDArray[np.bool_]


class NegativeIndex(NamedTuple):
    """Own negatives of each of T texts: the other texts of its pairs of label 0."""

    start: Rows  # (T + 1,), text i has the negatives text[start[i]:start[i + 1]]
    text: Rows  # (P,)

    def lookup(self, texts: Rows) -> tuple[Rows, Rows]:
        """Negatives (K,) of the texts (N,), one text after the other, and the position of its text in ``texts``."""
        starts, counts = self.start[texts], self.start[texts + 1] - self.start[texts]
        before = np.cumsum(counts) - counts
        negative = self.text[np.repeat(starts - before, counts) + np.arange(counts.sum())]
        return negative, np.repeat(np.arange(len(texts)), counts)


class Examples(NamedTuple):
    """N examples over T texts."""

    anchor: Rows  # (N,) numbers of texts
    positive: Rows  # (N,), the anchor itself if it has no paraphrase
    source_lang: Rows  # (N,) of the anchor
    target_lang: Rows  # (N,) of the positive
    key: Hashes  # (N,) hash of the two texts and languages
    negatives: NegativeIndex
    paraphrases: Rows  # ascending: text * T + other for each pair of label 1, in both orders
    hashes: Hashes  # (T,) of the texts

    @property
    def size(self) -> int:
        """Number of examples."""
        return len(self.anchor)

    def take(self, rows: Rows) -> Self:
        """The examples at ``rows``, in that order."""
        columns = ("anchor", "positive", "source_lang", "target_lang", "key")
        return self._replace(**{name: getattr(self, name)[rows] for name in columns})

    def are_paraphrases(self, texts: Rows, others: Rows) -> Bools:
        """Whether (N,) the two texts are a pair of label 1, also of an example that was left out."""
        return _contains(self.paraphrases, texts * len(self.hashes) + others)

    def own_negatives(self, rows: Rows) -> tuple[Rows, Rows]:
        """Negatives (K,) of the anchors of the examples at ``rows``, and their positions in ``rows``, ascending.

        A known paraphrase of the positive is not a negative of that example.
        """
        negative, owner = self.negatives.lookup(self.anchor[rows])
        unlike = ~self.are_paraphrases(self.positive[rows][owner], negative)
        return negative[unlike], owner[unlike]

    def negative_counts(self, limit: int) -> Rows:
        """Number (N,) of negatives of each example in a batch, at most ``limit``."""
        _, owner = self.own_negatives(np.arange(len(self.anchor)))
        return np.minimum(np.bincount(owner, minlength=len(self.anchor)), limit)

    def describe(self, limit: int) -> str:
        """Counts for messages; ``limit`` as for ``negative_counts``."""
        equal = self.anchor == self.positive
        unpaired = equal & ~self.are_paraphrases(self.anchor, self.positive)
        negatives = self.negative_counts(limit)
        return (
            f"{unpaired.sum():,} have no paraphrase and are their own positive, {(equal & ~unpaired).sum():,} are pairs"
            f" of equal texts; {(negatives > 0).sum():,} have own negatives, at most {negatives.max(initial=0):,}"
        )

    def texts(self) -> Rows:
        """Numbers, ascending, of the texts that batches may contain."""
        used = np.zeros(len(self.hashes), dtype=bool)
        used[self.anchor] = True
        used[self.negatives.lookup(np.flatnonzero(used))[0]] = True
        used[self.positive] = True
        return np.flatnonzero(used)

    def content(self) -> Iterator[Hashes]:
        """Hashes of all that decides what is learned; their order does not depend on that of the files."""
        negative, owner = self.negatives.lookup(np.arange(len(self.hashes)))
        yield np.sort(self.key)
        yield np.sort(mix(self.hashes[owner], self.hashes[negative]))

    def renumber(self, texts: Rows) -> Self:
        """The same examples over the texts numbered ``texts`` (ascending) alone, which must include all of theirs."""
        number = np.full(len(self.hashes), -1)
        number[texts] = np.arange(len(texts))
        negative, owner = self.negatives.lookup(texts)
        remains = number[negative] >= 0
        first, second = (number[side] for side in np.divmod(self.paraphrases, len(number)))
        both_remain = (first >= 0) & (second >= 0)
        return self._replace(
            anchor=number[self.anchor],
            positive=number[self.positive],
            negatives=_index_by_owner(owner[remains], number[negative[remains]], len(texts)),
            paraphrases=first[both_remain] * len(texts) + second[both_remain],
            hashes=self.hashes[texts],
        )


def build_examples(pairs: NumberedRows, *, texts: Hashes, languages: Hashes, unpaired: bool) -> Examples:
    """Make examples from labelled pairs: each pair of label 1 once, with the negatives of label 0.

    A text is not a negative of itself or of a text that some pair calls its paraphrase. ``texts`` (T,) and
    ``languages`` are hashes. ``unpaired`` makes an example of each first sentence of label 0 without a paraphrase; it
    is its own positive. Two dropout masks give two vectors of it (SimCSE: Gao et al. 2021, arXiv:2104.08821).
    """
    positives = _distinct(pairs.take(pairs.label == 1), len(texts), len(languages))
    unlike = pairs.take(pairs.label == 0)
    paraphrases = _in_both_orders(positives[0], positives[1], len(texts))
    code = _in_both_orders(unlike.source, unlike.target, len(texts))
    owner, negative = np.divmod(code[~_contains(paraphrases, code)], len(texts))
    unequal = owner != negative
    negatives = _index_by_owner(owner[unequal], negative[unequal], len(texts))
    if unpaired:
        has_paraphrase = np.zeros(len(texts), dtype=bool)
        has_paraphrase[positives[0]] = has_paraphrase[positives[1]] = True
        first, row = np.unique(unlike.source, return_index=True)
        alone = ~has_paraphrase[first]
        lang = unlike.source_lang[row]
        added = (first[alone], first[alone], lang[alone], lang[alone])
        positives = [np.concatenate(columns) for columns in zip(positives, added, strict=True)]
    anchor, positive, anchor_lang, positive_lang = positives
    key = mix(texts[anchor], texts[positive], languages[anchor_lang], languages[positive_lang])
    return Examples(anchor, positive, anchor_lang, positive_lang, key, negatives, paraphrases, texts)


def draw_negatives(examples: Examples, rows: Rows, *, limit: int, seed: int, epoch: int) -> tuple[Rows, Rows]:
    """Draw at most ``limit`` own negatives of each example, others in each epoch.

    The draw for an example depends on the seed, the epoch and the texts and languages of the example and its
    negatives; neither the order of the files nor the batch changes it.

    Returns:
        Numbers of texts (K,) and positions (K,) in ``rows`` of their examples, ascending.
    """
    negative, owner = examples.own_negatives(rows)
    key, text = examples.key[rows][owner], examples.hashes[negative]
    draw = mix(key, text, *(np.asarray(number, dtype=np.uint64) for number in (seed, epoch)))
    order = np.lexsort([draw, owner])
    # Position of each negative among those of its example.
    counts = np.bincount(owner, minlength=len(rows))
    position = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    selected = order[position < limit]
    return negative[selected], owner[selected]


def _distinct(pairs: NumberedRows, texts: int, languages: int) -> list[Rows]:
    """Texts and languages without repeated rows, in order."""
    _, source, target, source_lang, target_lang, _ = pairs
    code = ((source * texts + target) * languages + source_lang) * languages + target_lang
    first = np.sort(np.unique(code, return_index=True)[1])
    return [column[first] for column in (source, target, source_lang, target_lang)]


def _in_both_orders(source: Rows, target: Rows, texts: int) -> Rows:
    """One number for each pair of texts, in both orders, ascending and distinct."""
    return np.unique(np.concatenate([source * texts + target, target * texts + source]))


def _contains(ascending: Rows, numbers: Rows) -> Bools:
    lower, upper = (np.searchsorted(ascending, numbers, side=side) for side in ("left", "right"))
    is_member: Bools = lower < upper
    return is_member


def _index_by_owner(owner: Rows, negative: Rows, texts: int) -> NegativeIndex:
    """Index of pairs whose owners ascend."""
    return NegativeIndex(np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=texts))]), negative)
