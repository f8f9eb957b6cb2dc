"""Data module of translation pairs in many languages: tokenised or embedded once, batched for recipes."""

import hashlib
import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from xsent.batch import DistillationBatch, EmbeddedBatch, Embedder, MarksLanguages, Pairs, ParallelBatch, Tokenizer
from xsent.config_checks import UsageError, check_integer, check_positive, check_string
from xsent.data.modules.base import TrainingData
from xsent.data.readers.table_columns import ColumnNames
from xsent.data.readers.tatoeba import TestBitext
from xsent.data.sampling.batch_sampler import Rows, epoch_order, epoch_strata
from xsent.data.sampling.pair_table import (
    Columns,
    Reader,
    groups,
    language_pairs,
    read_corpus,
    split_by_content,
    swapped_sides,
    with_source_language,
    within_caps,
    without_unused,
)
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.stores.tokens import TokenStore, tokenize_once
from xsent.languages import parse_language, to_iso639_3

log = logging.getLogger(__name__)

Batch = ParallelBatch | EmbeddedBatch | DistillationBatch
Fetch = Callable[[Rows, Rows, Pairs], Batch]


@dataclass(kw_only=True, eq=False, repr=False)
class BitextData(TrainingData):
    """Data module over the sentence pairs of any reader."""

    description = "translation pairs"
    choice = "data=bitext data.root=pairs.tsv data.source_lang=en data.target_lang=de"

    root: str | Sequence[str] | None  # file, folder or name that the reader reads, or several; None: it needs none
    reader: Reader  # yields sentence pairs and sends unusable lines to the ledger
    languages: Sequence[str] | None  # keep pairs whose side other than English is in one of these, in any code; or all
    drop_origins: Sequence[str]  # patterns (`*` allowed) of origins to leave out
    max_pairs_per_language: int | None  # this cap and the next: see `within_caps`
    max_pairs: int | None
    temperature: float  # for sampling the language pairs of a root in training, see `epoch_strata`
    shares: Sequence[float] | None  # of an epoch's draws, by root, in any unit; None: all roots are one pool
    epoch_pairs: int | None  # draws per epoch; None: as many as there are training pairs
    valid_share: float  # of the source sentences, see `split_by_content`
    test_share: float
    paper_split: bool  # as in ORACLE's release, validation and test are the same split: both shares together
    num_workers: int = field()  # `field()`, since the default of the base class would hold
    strict: bool = field()
    cache_dir: str  # folder of the token ids
    texts: list[str] = field(init=False, default_factory=list)  # distinct; `splits` refer to them by number
    splits: dict[str, Columns] = field(init=False, default_factory=dict)
    # Makes a batch from the numbers of the two sides' texts and the labels of the pairs.
    _fetch: Fetch | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.valid_share < 1 and 0 <= self.test_share < 1 - self.valid_share):
            raise ValueError(
                f"data: valid_share {self.valid_share} and test_share {self.test_share} leave no pairs to train on"
            )
        if self.temperature <= 0:
            raise ValueError(f"data.temperature: expected a number above 0, found {self.temperature}")
        self._check_roots()
        if self.epoch_pairs is not None:
            check_integer("data.epoch_pairs", self.epoch_pairs, minimum=1)
            if self.epoch_pairs < self.global_batch_size:
                raise UsageError(
                    f"data.epoch_pairs={self.epoch_pairs}: expected a batch at least,"
                    f" data.global_batch_size={self.global_batch_size}"
                )
        self.requested = (
            None if self.languages is None else {parse_language("data.languages", code) for code in self.languages}
        )

    # ---- reading

    def read(self) -> None:
        if self.splits:
            return
        log.info("reading data=%s", self.name)
        bitexts = (self.reader(self.ledger, root) for root in self.roots)
        corpus = read_corpus(bitexts, languages=self.requested, drop_origins=self.drop_origins)
        self.language_codes = corpus.languages
        self._check_languages(corpus.columns)
        if swapped := swapped_sides(corpus):
            log.warning(
                f"data={self.name}: the sides of {', '.join(swapped)} look swapped, by their letters; swap the"
                " languages in names and options, or the columns (data.columns=[2,1] in tables)"
            )
        rows = within_caps(corpus.columns, per_language=self.max_pairs_per_language, total=self.max_pairs)
        corpus = without_unused(corpus._replace(columns=corpus.columns.take(rows)))
        self.texts, columns = corpus.texts, corpus.columns
        split = split_by_content(corpus, valid_share=self.valid_share, test_share=self.test_share)
        if self.paper_split:
            split["valid"] = split["test"] = np.sort(np.concatenate([split["valid"], split["test"]]))
        self._set_splits({name: columns.take(rows) for name, rows in split.items()})
        counts = np.bincount(columns.target_lang, minlength=len(self.language_codes))
        by_language = sorted(zip(counts.tolist(), self.language_codes, strict=True), reverse=True)
        sizes = ", ".join(f"{len(split.source):,} {name}" for name, split in self.splits.items())
        languages = ", ".join(f"{language} {n:,}" for n, language in by_language if n)
        log.info(f"data={self.name}: {len(columns.source):,} pairs ({sizes}): {languages}")

    def _set_splits(self, splits: dict[str, Columns]) -> None:
        train = splits["train"]
        advice = f"raise data.valid_share={self.valid_share}"
        self.check_split_sizes(len(train.source), len(splits["valid"].source), unit="pairs", advice=advice)
        self._check_shares(train)
        self.splits = splits
        self._strata, self._draws = epoch_strata(
            language_pairs(train), train.root, temperature=self.temperature, shares=self.shares, size=self.epoch_pairs
        )

    @property
    def roots(self) -> list[str | None]:
        """``root`` as a list."""
        if self.root is None or isinstance(self.root, str):
            return [self.root]
        return list(self.root) if isinstance(self.root, Sequence) else [self.root]

    def _check_roots(self) -> None:
        if not self.roots:
            raise UsageError("data.root=[]: expected a file or folder, or several")
        if self.root is not None:
            for root in self.roots:
                check_string("data.root", root)
        if self.shares is None:
            return
        shares = list(self.shares) if isinstance(self.shares, list | tuple) else [self.shares]
        if len(shares) != len(self.roots):
            raise UsageError(
                f"data.shares={shares}: expected {len(self.roots)}, one for each file or folder of data.root,"
                f" found {len(shares)}"
            )
        for share in shares:
            check_positive("data.shares", share)

    def _check_shares(self, train: Columns) -> None:
        pairs = np.bincount(train.root, minlength=len(self.roots))
        if self.shares is not None and not pairs.all():
            number = int(np.argmin(pairs))
            raise ValueError(
                f"data.shares: expected pairs to train on from {self.roots[number]} for its share"
                f" {self.shares[number]}, found none that is in no earlier root; leave out both"
            )

    def _check_languages(self, columns: Columns) -> None:
        requested = self.requested
        if not len(columns.source):
            raise ValueError(f"data={self.name}: no usable pair; {self.ledger.first_reject()}")
        if requested and (missing := requested - set(self.language_codes)):
            raise ValueError(
                f"data={self.name}: data.languages has {', '.join(sorted(missing))}, the data have"
                f" {', '.join(self.language_codes)}"
            )
        # A pair within one language counts once.
        source_lang = columns.source_lang[columns.source_lang != columns.target_lang]
        counts = np.bincount(np.concatenate([source_lang, columns.target_lang]), minlength=len(self.language_codes))
        single = [language for language, n in zip(self.language_codes, counts, strict=True) if n == 1]
        if single:
            raise ValueError(
                f"data={self.name}: {', '.join(single)} has a single pair, which leaves nothing to compare it"
                " with; leave the language out with data.languages=[...]"
            )

    def digest(self) -> str:
        content = hashlib.sha256(" ".join(self.language_codes).encode())
        for name, columns in self.splits.items():
            content.update(name.encode())
            content.update(np.sort(columns.key).tobytes())
        return content.hexdigest()

    def keep_pivot(self, pivot: str) -> None:
        """Make ``pivot`` (ISO 639-3) the source language of all pairs to train and validate on; leave out the others.

        Raises:
            UsageError: no pair has a side in that language, or too few have.
        """
        number = self.language_codes.index(pivot) if pivot in self.language_codes else -1
        turned: dict[str, Columns] = {}
        left_out: Counter[str] = Counter()
        for name in ("train", "valid"):
            columns = self.splits[name]
            turned[name] = with_source_language(columns, number)
            rest = columns.take(np.flatnonzero((columns.source_lang != number) & (columns.target_lang != number)))
            for pair in zip(rest.source_lang.tolist(), rest.target_lang.tolist(), strict=True):
                left_out["-".join(self.language_codes[code] for code in pair)] += 1
        largest = ", ".join(f"{pair} {count:,}" for pair, count in left_out.most_common(5))
        if not any(len(columns.source) for columns in turned.values()):
            raise UsageError(
                f"data={self.name}: no pair has a side in {pivot}, the language of the teacher; they have {largest}:"
                " set recipe.pivot to a language of theirs that the teacher reads"
            )
        if left_out:
            log.warning(
                f"data={self.name}: {left_out.total():,} of {self.size('train') + self.size('valid'):,} pairs have no"
                f" side in {pivot}, the language of the teacher, and are left out: {largest}"
            )
        self._set_splits(self.splits | turned)

    # ---- sentences

    def sentences(self, split: str) -> tuple[list[str], list[str], list[str], list[str]]:
        """Source texts, target texts, source languages, target languages of a split."""
        columns = self.splits[split]
        return (
            [self.texts[number] for number in columns.source],
            [self.texts[number] for number in columns.target],
            [self.language_codes[number] for number in columns.source_lang],
            [self.language_codes[number] for number in columns.target_lang],
        )

    def languages_of_texts(self) -> dict[str, set[str]]:
        """Languages (ISO 639-3) that each text occurs in."""
        languages: dict[str, set[str]] = {}
        for split in self.splits:
            *sides, source_langs, target_langs = self.sentences(split)
            for texts, codes in zip(sides, (source_langs, target_langs), strict=True):
                for text, code in zip(texts, codes, strict=True):
                    languages.setdefault(text, set()).add(code)
        return languages

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct training sentences of each language, those of lowest hash."""
        columns = self.splits["train"]
        text = np.concatenate([columns.source, columns.target])
        lang = np.concatenate([columns.source_lang, columns.target_lang])
        key = np.concatenate([columns.key, columns.key])
        sentences: list[str] = []
        for language in range(len(self.language_codes)):
            rows = np.flatnonzero(lang == language)
            numbers, first = np.unique(text[rows[np.argsort(key[rows], kind="stable")]], return_index=True)
            sentences += [self.texts[number] for number in numbers[np.argsort(first)][:per_language]]
        return sentences

    def bitexts(self, split: str, *, languages: Sequence[str] | None, per_language: int | None) -> list[TestBitext]:
        """Held-out pairs of lowest hash, one test set per language pair, of at most ``per_language`` pairs.

        Languages are those of the side that is not English, in any code; None is all.
        """
        requested = None if languages is None else {to_iso639_3(code) for code in languages}
        source, target, source_langs, target_langs = self.sentences(split)
        limit = math.inf if per_language is None else per_language
        rows_of: dict[tuple[str, str], list[int]] = {}
        for row in np.argsort(self.splits[split].key, kind="stable").tolist():
            # The queries are in the other language, as in the published test sets: deu-eng.
            pair = target_langs[row], source_langs[row]
            if (requested is None or pair[0] in requested) and len(rows_of.setdefault(pair, [])) < limit:
                rows_of[pair].append(row)
        return [
            TestBitext(f"{lang}-{pivot}", lang, pivot, [target[row] for row in rows], [source[row] for row in rows])
            for (lang, pivot), rows in sorted(rows_of.items())
        ]

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        bitexts = self.bitexts(split, languages=languages, per_language=per_language)
        language_of: dict[str, str] = {}
        for bitext in bitexts if languages is not None else bitexts[:8]:
            for source, target in zip(bitext.source, bitext.target, strict=True):
                language_of.setdefault(source, bitext.source_lang)
                language_of.setdefault(target, bitext.target_lang)
        return list(language_of), list(language_of.values())

    # ---- batches

    def tokenize(self, tokenizer: Tokenizer) -> None:
        """Make batches of token ids (``ParallelBatch``); every text is tokenised once."""
        store = tokenize_once(self.texts, tokenizer, Path(self.cache_dir))
        self._fetch = partial(_token_batch, store)

    def embed(self, embedder: Embedder, store: EmbeddingStore) -> None:
        """Make batches of a frozen encoder's vectors (``EmbeddedBatch``); every text is embedded once."""
        if isinstance(embedder, MarksLanguages):
            embedder.set_languages(self.languages_of_texts())
        vectors = store.vectors(self.texts, embedder)
        self._fetch = partial(_embedded_batch, vectors)

    def distill(self, student: Tokenizer, teacher: Embedder, store: EmbeddingStore) -> None:
        """Make batches of the student's token ids and the teacher's vectors of the source side (``DistillationBatch``).

        Every text is tokenised once, and those of the source side of training and validation are embedded once. Pairs
        whose source side has a zero vector are left out. Call ``keep_pivot`` first.
        """
        splits = {name: self.splits[name] for name in ("train", "valid")}
        numbers = np.unique(np.concatenate([columns.source for columns in splits.values()]))
        vectors = store.vectors([self.texts[number] for number in numbers.tolist()], teacher)
        is_empty = np.fromiter((not row.any() for row in vectors), dtype=bool, count=len(vectors))
        if is_empty.any():
            log.warning("%d sentences have no token for the teacher; their pairs are left out", is_empty.sum())
            empty = numbers[is_empty]
            self._set_splits(
                self.splits
                | {name: part.take(np.flatnonzero(~np.isin(part.source, empty))) for name, part in splits.items()}
            )
        rows = np.zeros(len(self.texts), dtype=np.int64)
        rows[numbers] = np.arange(len(numbers))
        tokens = tokenize_once(self.texts, student, Path(self.cache_dir))
        self._fetch = partial(_distillation_batch, tokens, vectors, rows)

    def size(self, split: str) -> int:
        return len(self.splits[split].source)

    @property
    def draws_per_epoch(self) -> int:
        return self.size("train") if self.epoch_pairs is None else self.epoch_pairs

    def epoch_order(self, epoch: int) -> Rows:
        return epoch_order(self._strata, self._draws, seed=self.seed, epoch=epoch)

    def test_dataloader(self) -> DataLoader[Any]:
        return self.evaluation_loader("test")

    def batches(self, split: str) -> Callable[[Rows, int], Batch]:
        fetch, columns = self._fetch, self.splits[split]
        if fetch is None:
            raise RuntimeError("call tokenize(), embed() or distill() before asking for batches")
        return partial(_labelled_batch, fetch, columns, groups(columns, self.language_codes))


# With `partial` these can be sent to workers that are not forked (macOS, Windows); a lambda cannot.


def _token_batch(store: TokenStore, source: Rows, target: Rows, pairs: Pairs) -> ParallelBatch:
    return ParallelBatch(store.tokens(source), store.tokens(target), pairs)


def _embedded_batch(vectors: NDArray[np.float32], source: Rows, target: Rows, pairs: Pairs) -> EmbeddedBatch:
    return EmbeddedBatch(torch.from_numpy(vectors[source]), torch.from_numpy(vectors[target]), pairs)


def _distillation_batch(
    store: TokenStore, vectors: NDArray[np.float32], rows: Rows, source: Rows, target: Rows, pairs: Pairs
) -> DistillationBatch:
    teacher = torch.from_numpy(vectors[rows[source]])
    return DistillationBatch(store.tokens(source), store.tokens(target), teacher, pairs)


def _labelled_batch(fetch: Fetch, columns: Columns, group: Rows, rows: Rows, epoch: int) -> Batch:
    labels = (np.asarray(rows), group[rows], columns.source_lang[rows], columns.target_lang[rows])
    return fetch(columns.source[rows], columns.target[rows], Pairs(*map(torch.from_numpy, labels)))


@dataclass(kw_only=True, eq=False, repr=False)
class TableData(BitextData):
    """Data module over the sentence pairs of tables, whose reader takes these options."""

    root: str | Sequence[str]
    columns: ColumnNames | None  # see `xsent.data.readers.parallel.read_tables`
    source_lang: str | None
    target_lang: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        options = {"columns": self.columns, "source_lang": self.source_lang, "target_lang": self.target_lang}
        self.reader = partial(self.reader, **options)
