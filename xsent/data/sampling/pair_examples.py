"""Training examples of a pair loss: every labelled pair once."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import Hashes, mix
from xsent.data.sampling.pair_kinds import NumberedRows


class PairExamples(NamedTuple):
    """N labelled pairs over T texts."""

    source: Rows  # (N,) numbers of texts
    target: Rows  # (N,)
    source_lang: Rows  # (N,)
    target_lang: Rows  # (N,)
    label: Rows  # (N,), 1 for the same meaning, else 0
    key: Hashes  # (N,) hash of texts, languages and label
    hashes: Hashes  # (T,) of the texts

    @property
    def size(self) -> int:
        """Number of examples."""
        return len(self.source)

    def take(self, rows: Rows) -> Self:
        """The examples at ``rows``, in that order."""
        columns = ("source", "target", "source_lang", "target_lang", "label", "key")
        return self._replace(**{name: getattr(self, name)[rows] for name in columns})

    def describe(self) -> str:
        """Counts for messages."""
        positives = int(self.label.sum())
        return f"{positives:,} of label 1 and {self.size - positives:,} of label 0, each a pair"

    def texts(self) -> Rows:
        """Numbers, ascending, of the texts that batches may contain."""
        return np.union1d(self.source, self.target)

    def renumber(self, texts: Rows) -> Self:
        """The same examples over the texts numbered ``texts`` (ascending) alone, which must include all of theirs."""
        source, target = (np.searchsorted(texts, side) for side in (self.source, self.target))
        return self._replace(source=source, target=target, hashes=self.hashes[texts])

    def content(self) -> Iterator[Hashes]:
        """Hashes of all that decides what is learned; their order does not depend on that of the files."""
        yield np.sort(self.key)


def build_pairs(pairs: NumberedRows, *, texts: Hashes, languages: Hashes) -> PairExamples:
    """Each labelled pair once, whether or not its sentences have other pairs.

    Pairs of label 0 that repeat a pair of label 1, or one text twice, are left out, as in ``build_examples``.
    ``texts`` (T,) and ``languages`` are hashes.
    """
    _, source, target, source_lang, target_lang, label = pairs
    unordered = np.minimum(source, target) * len(texts) + np.maximum(source, target)
    contradicted = (label == 0) & (np.isin(unordered, unordered[label == 1]) | (source == target))
    key = mix(texts[source], texts[target], languages[source_lang], languages[target_lang], label.astype(np.uint64))
    first = np.unique(key, return_index=True)[1]
    return PairExamples(source, target, source_lang, target_lang, label, key, texts).take(
        np.sort(first[~contradicted[first]])
    )
