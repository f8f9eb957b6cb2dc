"""Table of translation pairs: filter, deduplicate, cap, split and group by content."""

import logging
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from xsent.data.readers.parallel import SentencePair
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import (
    Hashes,
    connected_groups,
    mix,
    normalize,
    split_rows,
    text_hashes,
    unit_interval,
)
from xsent.languages import is_written_in_latin

log = logging.getLogger(__name__)

# (ledger, root) -> pairs, lazily. The root is a folder, a file or a name; None if a package contains the data.
Reader = Callable[[RejectLedger, str | None], Iterator[SentencePair]]

PIVOT = "eng"
MAX_COMPONENT = 2000  # pairs; the largest component of 0.8 M sentence pairs in 12 languages has 109, docs/data.md


class Columns(NamedTuple):
    """N sentence pairs as numbers of texts and languages of a ``Corpus``."""

    source: Rows  # (N,) number of the text
    target: Rows  # (N,)
    source_lang: Rows  # (N,) number of the language
    target_lang: Rows  # (N,)
    key: Hashes  # (N,) hash of the pair's two texts and languages
    root: Rows  # (N,) number of the folder, file or name that the pair was read from

    def take(self, rows: Rows) -> "Columns":
        """The pairs at ``rows``, in that order."""
        source, target, source_lang, target_lang, key, root = self
        languages = source_lang[rows], target_lang[rows]
        return Columns(source[rows], target[rows], *languages, key[rows], root[rows])


class Corpus(NamedTuple):
    """Texts, languages, and pairs of them."""

    texts: list[str]  # distinct
    languages: list[str]  # ISO 639-3, English first, then sorted
    columns: Columns


def read_corpus(
    roots: Iterable[Iterable[SentencePair]], *, languages: Collection[str] | None, drop_origins: Sequence[str]
) -> Corpus:
    """Read and filter the pairs of each root; a pair that occurs several times belongs to the first root with it.

    Pairs remain whose sides other than English are in the languages (ISO 639-3; None keeps all) and whose origin
    matches none of the patterns (``*`` allowed).
    """
    matched_patterns: set[str] = set()
    available: set[str] = set()

    @cache
    def is_selected(source_lang: str, target_lang: str, origin: str) -> bool:
        matching = {pattern for pattern in drop_origins if fnmatchcase(origin, pattern)}
        matched_patterns.update(matching)
        available.update((source_lang, target_lang))
        return (languages is None or {source_lang, target_lang} - {PIVOT} <= set(languages)) and not matching

    text_numbers: dict[str, int] = {}
    lang_numbers: dict[str, int] = {}
    rows = array("q")  # five numbers per pair; millions of tuples would keep the garbage collector busy
    numbered = ((root, pair) for root, pairs in enumerate(roots) for pair in pairs)
    for root, pair in tqdm(numbered, desc="reading", unit=" pairs", unit_scale=True, delay=2, leave=False):
        if is_selected(pair.source_lang, pair.target_lang, pair.origin):
            rows.extend(
                (
                    text_numbers.setdefault(pair.source, len(text_numbers)),
                    text_numbers.setdefault(pair.target, len(text_numbers)),
                    lang_numbers.setdefault(pair.source_lang, len(lang_numbers)),
                    lang_numbers.setdefault(pair.target_lang, len(lang_numbers)),
                    root,
                )
            )
    if languages is not None and not rows and available:
        raise ValueError(
            f"data.languages has {', '.join(sorted(languages))}, the data have {', '.join(sorted(available))}"
        )
    for pattern in set(drop_origins) - matched_patterns:
        # A misspelt pattern would keep pairs that were to be dropped.
        log.warning("data.drop_origins: no pair comes from %s", pattern)
    texts = list(text_numbers)
    sorted_languages = sorted(lang_numbers, key=lambda language: (language != PIVOT, language))
    source, target, source_lang, target_lang, root_numbers = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    renumber = np.array([sorted_languages.index(language) for language in lang_numbers], dtype=np.int64)
    source_lang, target_lang = renumber[source_lang], renumber[target_lang]
    text_hash, lang_hash = text_hashes(texts), text_hashes(sorted_languages)
    key = mix(text_hash[source], text_hash[target], lang_hash[source_lang], lang_hash[target_lang])
    columns = Columns(source, target, source_lang, target_lang, key, root_numbers)
    return Corpus(texts, sorted_languages, columns.take(_first_occurrences(columns)))


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
    """Rows, in order, that remain under the caps: those of lowest hash in each language pair.

    Whether a pair remains depends on its content: adding data never brings back a pair that was cut. The total is
    shared as evenly as possible: large language pairs are cut to one common size, smaller ones are kept completely.
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
    """Rows of ``train``, ``valid`` and ``test``, decided by a hash of the English side.

    Pairs without an English side are split by the source. Case, punctuation, spacing and compatibility forms are
    ignored, so "Go home!" and "go home" are in the same split. A pair stays in its split when other data are added
    or removed, and a sentence is in one split with all its translations.
    """
    texts, languages, columns = corpus
    numbers, inverse = np.unique(_pivot_side(columns, languages), return_inverse=True)
    hashes = text_hashes([normalize(texts[number]) for number in numbers.tolist()], salt=b"split")
    return split_rows(unit_interval(hashes)[inverse], valid_share=valid_share, test_share=test_share)


def with_source_language(columns: Columns, language: int) -> Columns:
    """The pairs with a side in the language, in order; the sides are swapped where only the target is in it."""
    is_reversed = (columns.target_lang == language) & (columns.source_lang != language)
    turned = columns._replace(
        source=np.where(is_reversed, columns.target, columns.source),
        target=np.where(is_reversed, columns.source, columns.target),
        source_lang=np.where(is_reversed, columns.target_lang, columns.source_lang),
        target_lang=np.where(is_reversed, columns.source_lang, columns.target_lang),
    )
    return turned.take(np.flatnonzero(turned.source_lang == language))


def swapped_sides(corpus: Corpus) -> list[str]:
    """Language pairs such as ``eng-jpn`` whose texts are in the scripts of each other's language.

    Only pairs of a language in Latin letters with another one can tell; their first 100 pairs of texts decide.
    """
    texts, languages, columns = corpus
    swapped = []
    pairs = language_pairs(columns)
    for number in range(pairs.max(initial=-1) + 1):
        rows = np.flatnonzero(pairs == number)[:100]
        codes = [languages[side[rows[0]]] for side in (columns.source_lang, columns.target_lang)]
        expected = [is_written_in_latin(code) for code in codes]
        letters = ["".join(texts[text] for text in side[rows].tolist()) for side in (columns.source, columns.target)]
        if expected[0] != expected[1] and expected == [not _is_latin(text) for text in letters]:
            swapped.append("-".join(codes))
    return swapped


def components(columns: Columns) -> Rows:
    """Number (N,) of each pair's component: pairs that share a sentence, directly or through other pairs."""
    if not len(columns.source):
        return np.arange(0)
    size = int(max(columns.source.max(), columns.target.max())) + 1
    numbers: Rows = connected_groups(size, columns.source, columns.target)[columns.source]
    return numbers


def groups(columns: Columns, languages: Sequence[str]) -> Rows:
    """Number (N,) of each pair's group, which is its component unless that is too large.

    Pairs of one group are not negatives of each other, since the sentence of one may translate the other. Lexicons link
    a third of all pairs through words of several meanings, and these pairs would lose a third of their negatives. So
    where such a component has more than ``MAX_COMPONENT`` pairs, its groups are the pairs of one English text (of one
    source, without an English side).
    """
    component = components(columns)
    is_large = np.bincount(component)[component] > MAX_COMPONENT
    # Components and texts have numbers from 0: those of texts start after the last component.
    first = component.max(initial=-1) + 1
    numbers: Rows = np.where(is_large, first + _pivot_side(columns, languages), component)
    return numbers


def _pivot_side(columns: Columns, languages: Sequence[str]) -> Rows:
    """Number (N,) of the text of each pair's English side, else of its source."""
    english = languages.index(PIVOT) if PIVOT in languages else -1
    is_reversed = (columns.target_lang == english) & (columns.source_lang != english)
    numbers: Rows = np.where(is_reversed, columns.target, columns.source)
    return numbers


def _is_latin(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < "\u0250" or "\u1e00" <= letter < "\u1f00" for letter in letters) > len(letters) / 2


def _first_occurrences(columns: Columns) -> Rows:
    """Rows, in order, of the first occurrence of each pair of texts and languages."""
    order = np.lexsort((columns.source, columns.target, columns.source_lang, columns.target_lang))
    in_order = np.stack([column[order] for column in columns[:4]])
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (in_order[:, 1:] != in_order[:, :-1]).any(axis=0)
    # lexsort is stable, so the first of equal rows is the first in the data.
    first: Rows = np.sort(order[is_new])
    return first


def _even_shares(sizes: Rows, total: int) -> Rows:
    """Sizes cut to one common maximum so that their sum is ``total``; unchanged if their sum is less."""
    if sizes.sum() <= total:
        return sizes
    shares = np.zeros_like(sizes)
    remaining = total
    for rank, number in enumerate(np.argsort(sizes, kind="stable")):
        shares[number] = min(int(sizes[number]), remaining // (len(sizes) - rank))
        remaining -= int(shares[number])
    return shares
