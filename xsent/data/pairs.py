"""Sentence pairs as columns of numbers: filtered, each once, capped, split and grouped by content."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from xsent.data.hashes import Hashes, mix, plain, text_hashes
from xsent.data.readers import SentencePair
from xsent.data.rejects import RejectLedger

log = logging.getLogger(__name__)

Rows = NDArray[np.int64]

# (ledger, root) -> pairs, lazily. The root is a folder, a file or a name; None where a package has the data.
Reader = Callable[[RejectLedger, str | None], Iterator[SentencePair]]

PIVOT = "eng"


class Columns(NamedTuple):
    """N sentence pairs; the texts and languages themselves are in a ``Corpus``."""

    source: Rows  # (N,) number of the text
    target: Rows  # (N,)
    source_lang: Rows  # (N,) number of the language
    target_lang: Rows  # (N,)
    key: Hashes  # (N,) hash of the pair's two texts and languages

    def take(self, rows: Rows) -> Columns:
        """The pairs at ``rows``, in that order."""
        return Columns(
            self.source[rows],
            self.target[rows],
            self.source_lang[rows],
            self.target_lang[rows],
            self.key[rows],
        )


class Corpus(NamedTuple):
    """Texts, languages, and pairs of them."""

    texts: list[str]  # distinct
    languages: list[str]  # ISO 639-3, English first, the others by name
    columns: Columns


def read_corpus(
    pairs: Iterable[SentencePair], *, languages: Collection[str] | None, drop_origins: Sequence[str]
) -> Corpus:
    """Take the pairs that are wanted, each once.

    Args:
        pairs: from a reader.
        languages: ISO 639-3; a pair stays if its sides other than English are among them. None keeps all.
        drop_origins: patterns (``*`` allowed) of origins to leave out.
    """
    dropping: set[str] = set()

    @cache
    def kept(source_lang: str, target_lang: str, origin: str) -> bool:
        others = {source_lang, target_lang} - {PIVOT}
        matching = {pattern for pattern in drop_origins if fnmatchcase(origin, pattern)}
        dropping.update(matching)
        return (languages is None or others <= set(languages)) and not matching

    number_of: dict[str, int] = {}
    number_of_lang: dict[str, int] = {}
    rows = array("q")  # four numbers a pair; millions of tuples would keep the garbage collector busy
    for pair in tqdm(pairs, desc="reading", unit=" pairs", unit_scale=True, delay=2, leave=False):
        if kept(pair.source_lang, pair.target_lang, pair.origin):
            rows.extend(
                (
                    number_of.setdefault(pair.source, len(number_of)),
                    number_of.setdefault(pair.target, len(number_of)),
                    number_of_lang.setdefault(pair.source_lang, len(number_of_lang)),
                    number_of_lang.setdefault(pair.target_lang, len(number_of_lang)),
                )
            )
    for pattern in set(drop_origins) - dropping:
        # A misspelt name would let in what was to stay out.
        log.warning("data.drop_origins: no pair comes from %s", pattern)
    texts, found = list(number_of), list(number_of_lang)
    ordered = sorted(found, key=lambda language: (language != PIVOT, language))
    source, target, source_lang, target_lang = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    renumber = np.array([ordered.index(language) for language in found], dtype=np.int64)
    source_lang, target_lang = renumber[source_lang], renumber[target_lang]
    text_hash, lang_hash = text_hashes(texts), text_hashes(ordered)
    key = mix(text_hash[source], text_hash[target], lang_hash[source_lang], lang_hash[target_lang])
    columns = Columns(source, target, source_lang, target_lang, key)
    return Corpus(texts, ordered, columns.take(_first_of_each(columns)))


def without_unused(corpus: Corpus) -> Corpus:
    """The corpus without texts that no pair uses."""
    texts, languages, columns = corpus
    used = np.unique(np.concatenate([columns.source, columns.target]))
    if len(used) == len(texts):
        return corpus
    number = np.zeros(len(texts), dtype=np.int64)
    number[used] = np.arange(len(used))
    renumbered = columns._replace(source=number[columns.source], target=number[columns.target])
    return Corpus([texts[old] for old in used.tolist()], languages, renumbered)


def language_pairs(columns: Columns) -> Rows:
    """Number (N,) of each pair's language pair, counted from 0."""
    languages = int(max(columns.source_lang.max(initial=0), columns.target_lang.max(initial=0))) + 1
    codes = columns.source_lang * languages + columns.target_lang
    numbers: Rows = np.unique(codes, return_inverse=True)[1]
    return numbers


def within_caps(columns: Columns, *, per_language: int | None, total: int | None) -> Rows:
    """Rows, in order, that remain under the caps: of each language pair those of lowest hash.

    Which pairs remain depends on their content alone: when data are added, a pair that stays was there.

    Args:
        columns: the pairs.
        per_language: at most so many of each language pair.
        total: at most so many in all, shared so that the language pairs are as even as they can be: the
            small ones stay whole and the large ones are cut to one size.
    """
    if not len(columns.source):
        return np.arange(0)
    pair = language_pairs(columns)
    sizes = np.bincount(pair)
    limits = sizes if per_language is None else np.minimum(sizes, per_language)
    if total is not None:
        limits = _even_shares(limits, total)
    # Position of each row within its language pair when sorted by hash.
    order = np.lexsort([columns.key, pair])
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.flatnonzero(position < limits[pair])


def split_by_content(corpus: Corpus, *, valid_share: float, test_share: float) -> dict[str, Rows]:
    """Rows of ``train``, ``valid`` and ``test``, decided by a hash of the English side alone.

    Without an English side the source decides. Letter case, punctuation, spacing and compatibility forms
    do not count, so that "Go home!" and "go home" are on one side. A pair never moves when other data come or
    go, and an English sentence with all its translations is in one split.
    """
    texts, languages, columns = corpus
    english = languages.index(PIVOT) if PIVOT in languages else -1
    is_reversed = (columns.target_lang == english) & (columns.source_lang != english)
    deciding = np.where(is_reversed, columns.target, columns.source)
    numbers, inverse = np.unique(deciding, return_inverse=True)
    hashes = text_hashes([plain(texts[number]) for number in numbers.tolist()], salt=b"split")
    place = (hashes.astype(np.float64) / 2.0**64)[inverse]
    is_valid = place < valid_share
    is_test = ~is_valid & (place < valid_share + test_share)
    rows = {"train": ~is_valid & ~is_test, "valid": is_valid, "test": is_test}
    return {name: np.flatnonzero(mask) for name, mask in rows.items()}


def groups(columns: Columns) -> Rows:
    """Number (N,) of each pair's group: pairs that share a sentence, directly or through others.

    Two pairs of one group are no negatives of each other, since the sentence of one may translate the other.
    """
    if not len(columns.source):
        return np.arange(0)
    size = int(max(columns.source.max(), columns.target.max())) + 1
    edges = (np.ones(len(columns.source), dtype=np.int8), (columns.source, columns.target))
    _, component = connected_components(coo_array(edges, shape=(size, size)), directed=False)
    numbers: Rows = component[columns.source].astype(np.int64)
    return numbers


# ---- small things


def _first_of_each(columns: Columns) -> Rows:
    """Rows, in order, of the first occurrence of each pair of texts and languages; exact, no hash."""
    order = np.lexsort((columns.source, columns.target, columns.source_lang, columns.target_lang))
    in_order = np.stack([column[order] for column in columns[:4]])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (in_order[:, 1:] != in_order[:, :-1]).any(axis=0)
    # lexsort is stable, so the first of equal rows is the first in the data.
    first: Rows = np.sort(order[is_new])
    return first


def _even_shares(sizes: Rows, total: int) -> Rows:
    """Sizes cut to one level so that their sum is ``total``, or the sizes if their sum is less."""
    if sizes.sum() <= total:
        return sizes
    shares = np.zeros_like(sizes)
    left = total
    for rank, number in enumerate(np.argsort(sizes, kind="stable")):
        shares[number] = min(int(sizes[number]), left // (len(sizes) - rank))
        left -= int(shares[number])
    return shares
