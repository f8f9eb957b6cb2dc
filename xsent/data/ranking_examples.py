"""What a ranking loss trains on: an anchor, a paraphrase of it, and what the data call unlike the anchor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xsent.data.hashes import Hashes, mix
from xsent.data.labelled_pairs import KindPairs
from xsent.data.sampler import Rows

Bools = NDArray[np.bool_]


class Partners(NamedTuple):
    """Which texts the data call unlike each of T texts."""

    start: Rows  # (T + 1,), text i has partners text[start[i]:start[i + 1]]
    text: Rows  # (P,)

    def of(self, texts: Rows) -> tuple[Rows, Rows]:
        """Partners (K,) of the texts (N,), one text after the other, and whose each is: its position in ``texts``."""
        starts, counts = self.start[texts], self.start[texts + 1] - self.start[texts]
        before = np.cumsum(counts) - counts
        partner = self.text[np.repeat(starts - before, counts) + np.arange(counts.sum())]
        return partner, np.repeat(np.arange(len(texts)), counts)


class Examples(NamedTuple):
    """N examples over T texts."""

    anchor: Rows  # (N,) numbers of texts
    positive: Rows  # (N,), the anchor itself where it has no paraphrase
    source_lang: Rows  # (N,) of the anchor
    target_lang: Rows  # (N,) of the positive
    key: Hashes  # (N,) hash of the two texts and languages
    partners: Partners  # of label 0
    paraphrases: Rows  # ascending: text * T + other for each pair of label 1, both ways round
    hashes: Hashes  # (T,) of the texts

    def take(self, rows: Rows) -> Examples:
        """The examples at ``rows``, in that order."""
        return self._replace(
            anchor=self.anchor[rows],
            positive=self.positive[rows],
            source_lang=self.source_lang[rows],
            target_lang=self.target_lang[rows],
            key=self.key[rows],
        )

    def are_paraphrases(self, texts: Rows, others: Rows) -> Bools:
        """Whether (N,) some pair of label 1 consists of the two texts; also of examples that were left out."""
        return _contains(self.paraphrases, texts * len(self.hashes) + others)

    def partners_of(self, rows: Rows) -> tuple[Rows, Rows]:
        """Partners (K,) of the anchors of the examples at ``rows``, and their positions in ``rows``, ascending.

        A known paraphrase of the positive is no negative of that example.
        """
        partner, owner = self.partners.of(self.anchor[rows])
        unlike = ~self.are_paraphrases(self.positive[rows][owner], partner)
        return partner[unlike], owner[unlike]

    def texts(self) -> Rows:
        """Numbers, ascending, of the texts that batches may hold."""
        held = np.zeros(len(self.partners.start) - 1, dtype=bool)
        held[self.anchor] = True
        held[self.partners.of(np.flatnonzero(held))[0]] = True
        held[self.positive] = True
        return np.flatnonzero(held)

    def brought_along(self, most: int) -> Rows:
        """How many negatives (N,) each example has in a batch, at most ``most``."""
        _, owner = self.partners_of(np.arange(len(self.anchor)))
        return np.minimum(np.bincount(owner, minlength=len(self.anchor)), most)

    def among(self, kept: Rows) -> Examples:
        """The same examples when ``kept`` (ascending) alone remain of the texts and are counted anew.

        All texts of the examples must remain; of the others' partners there remain those that are kept, too.
        """
        number = np.full(len(self.partners.start) - 1, -1)
        number[kept] = np.arange(len(kept))
        partner, owner = self.partners.of(kept)
        remains = number[partner] >= 0
        partners = _by_owner(owner[remains], number[partner[remains]], len(kept))
        one, other = (number[side] for side in np.divmod(self.paraphrases, len(number)))
        both = (one >= 0) & (other >= 0)
        return self._replace(
            anchor=number[self.anchor],
            positive=number[self.positive],
            partners=partners,
            paraphrases=one[both] * len(kept) + other[both],
            hashes=self.hashes[kept],
        )


def examples_of(pairs: Sequence[KindPairs], *, texts: Hashes, languages: Hashes, lonely: bool) -> Examples:
    """Examples from labelled pairs: each pair of label 1 once, and the partners of label 0.

    A text is no partner of itself nor of a text that some pair calls its paraphrase, whatever another pair says.

    Args:
        pairs: of all kinds.
        texts: (T,) hash of each text.
        languages: hash of each language.
        lonely: make an example, its own positive, of each first sentence of label 0 that has no paraphrase. Two
            dropout masks make two vectors of it (SimCSE: Gao et al. 2021, arXiv:2104.08821).
    """
    columns = [
        np.concatenate([one.source for one in pairs]),
        np.concatenate([one.target for one in pairs]),
        np.concatenate([np.full(len(one.label), one.source_lang) for one in pairs]),
        np.concatenate([np.full(len(one.label), one.target_lang) for one in pairs]),
    ]
    is_positive = np.concatenate([one.label for one in pairs]) == 1
    chosen = _distinct([column[is_positive] for column in columns], len(texts), len(languages))
    source, target = columns[0][~is_positive], columns[1][~is_positive]
    paraphrases = _both_ways(chosen[0], chosen[1], len(texts))
    partners = _partners(source, target, paraphrases, len(texts))
    if lonely:
        has_paraphrase = np.zeros(len(texts), dtype=bool)
        has_paraphrase[chosen[0]] = has_paraphrase[chosen[1]] = True
        first, row = np.unique(source, return_index=True)
        alone = ~has_paraphrase[first]
        lang = columns[2][~is_positive][row]
        added = (first[alone], first[alone], lang[alone], lang[alone])
        chosen = [np.concatenate(both) for both in zip(chosen, added, strict=True)]
    anchor, positive, source_lang, target_lang = chosen
    key = mix(texts[anchor], texts[positive], languages[source_lang], languages[target_lang])
    return Examples(anchor, positive, source_lang, target_lang, key, partners, paraphrases, texts)


def draw_partners(examples: Examples, rows: Rows, *, most: int, seed: int, epoch: int) -> tuple[Rows, Rows]:
    """At most so many partners of each example's anchor, and the position in ``rows`` of the example they belong to.

    Of more than ``most`` others are drawn in each epoch; what is drawn for an example depends on nothing but the
    seed, the epoch and the texts and languages of the example and its partners: not on the order of the files.

    Returns:
        Numbers of texts (K,) and positions (K,), ascending.
    """
    partner, owner = examples.partners_of(rows)
    key, text = examples.key[rows][owner], examples.hashes[partner]
    drawn = mix(key, text, *(np.asarray(number, dtype=np.uint64) for number in (seed, epoch)))
    order = np.lexsort([drawn, owner])
    # ``order`` keeps the partners of an example together: less where they begin, it counts them.
    counts = np.bincount(owner, minlength=len(rows))
    within = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = order[within < most]
    return partner[kept], owner[kept]


def _distinct(columns: list[Rows], texts: int, languages: int) -> list[Rows]:
    """The columns without repetitions, the first of equal rows stays where it was."""
    source, target, source_lang, target_lang = columns
    code = ((source * texts + target) * languages + source_lang) * languages + target_lang
    first = np.sort(np.unique(code, return_index=True)[1])
    return [column[first] for column in columns]


def _both_ways(source: Rows, target: Rows, texts: int) -> Rows:
    """One number for each pair of texts, both ways round, ascending and each once."""
    code = np.sort(np.concatenate([source * texts + target, target * texts + source]))
    return code[np.diff(code, prepend=-1) > 0]


def _contains(ascending: Rows, numbers: Rows) -> Bools:
    """Whether (N,) each number is among the ascending ones."""
    left, right = (np.searchsorted(ascending, numbers, side=side) for side in ("left", "right"))
    found: Bools = left < right
    return found


def _partners(source: Rows, target: Rows, paraphrases: Rows, texts: int) -> Partners:
    """Partners of each text by pairs of label 0, less the pairs of label 1 (``paraphrases``, as in ``Examples``)."""
    code = _both_ways(source, target, texts)
    owner, partner = np.divmod(code[~_contains(paraphrases, code)], texts)
    unequal = owner != partner
    return _by_owner(owner[unequal], partner[unequal], texts)


def _by_owner(owner: Rows, partner: Rows, texts: int) -> Partners:
    """Partners from pairs whose owners ascend."""
    return Partners(np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=texts))]), partner)
