"""Data module of clean sentences and their noisy versions, with a teacher's vectors of the clean ones."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xsent.batch import DistillationBatch, Embedder, Pairs, Tokenizer
from xsent.data.modules.base import TrainingData
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.labelled_splits import check_shares
from xsent.data.sampling.sentence_table import SentenceReader, SentenceTable, read_sentence_table
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.stores.tokens import TokenStore, noisy_texts, store_of, tokenize_once
from xsent.text.noise import Noiser

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False, repr=False)
class UgcData(TrainingData):
    """Data module over clean sentences, to which it adds noise."""

    description = "clean sentences to be made noisy"
    choice = "data=ugc data.root=sentences.txt"

    root: str  # file or folder that the reader reads
    reader: SentenceReader  # yields sentences and sends unusable lines to the ledger
    noise: Noiser  # the noise of a sentence does not depend on its position
    # Draw other noise in every epoch, while batches are made; otherwise one noisy copy is stored on disk.
    redraw: bool
    valid_root: str | None  # clean sentences to validate on, for the same reader; None takes `valid_share` of `root`
    max_pairs: int | None  # maximum number of sentences, those of lowest hash; None is no cap
    valid_share: float  # of the sentences, by content
    test_share: float
    num_workers: int = field()  # `field()`, since the default of the base class would hold
    noise_workers: int  # processes that make the noisy copy; the result does not depend on their number
    strict: bool = field()
    cache_dir: str  # folder of noisy copies and token ids
    texts: list[str] = field(init=False, default_factory=list)  # distinct; `splits` refer to them by number
    splits: dict[str, Rows] = field(init=False, default_factory=dict)
    _table: SentenceTable = field(init=False)
    _teacher: Any = field(init=False, default=None)  # (N, D) of the texts
    _tokenizer: Tokenizer | None = field(init=False, default=None)
    _standard: TokenStore | None = field(init=False, default=None)
    _noisy: TokenStore | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shares(self.valid_share, self.test_share)
        if self.max_pairs is not None and self.max_pairs < 1:
            raise ValueError(f"data.max_pairs={self.max_pairs}: expected a number of sentences, or null for all")
        if self.noise_workers < 1:
            raise ValueError(f"data.noise_workers={self.noise_workers}: expected at least 1 process")
        if self.redraw and self.noise.reference_rng:
            raise ValueError("data.redraw=true: the reference's random numbers are drawn once for the whole corpus")

    # ---- reading

    def read(self) -> None:
        if self.splits:
            return
        log.info("reading data=%s", self.name)
        table = read_sentence_table(
            lambda root: self.reader(self.ledger, root),
            self.root,
            valid_root=self.valid_root,
            max_sentences=self.max_pairs,
            valid_share=self.valid_share,
            test_share=self.test_share,
        )
        self._set_splits(table)
        sizes = ", ".join(f"{len(rows):,} {split}" for split, rows in self.splits.items())
        log.info(f"data={self.name}: {len(self.texts):,} sentences in {', '.join(self.language_codes)} ({sizes})")

    def _set_splits(self, table: SentenceTable) -> None:
        train, valid = len(table.splits["train"]), len(table.splits["valid"])
        advice = f"raise data.valid_share={self.valid_share} or give data.valid_root"
        self.check_split_sizes(train, valid, unit="sentences", advice=advice)
        self._table = table
        self.texts, self.language_codes, self.splits = table.texts, table.languages, table.splits

    def digest(self) -> str:
        """Hex digest of sentences, splits and noise; the order of the files changes it for reference noise alone."""
        content = hashlib.sha256(" ".join([self._table.digest(), self.noise.digest(), str(self.redraw)]).encode())
        if self.noise.reference_rng:  # one random sequence for all sentences, so their order counts
            content.update(self._table.hashes.tobytes())
        return content.hexdigest()

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct training sentences of each language, those of lowest hash."""
        return self._table.training_sentences(per_language)

    def noisy_and_standard(self, split: str, limit: int) -> tuple[list[str], list[str]]:
        """Noisy and standard versions of at most ``limit`` sentences of a split, those of lowest hash."""
        rows = self._table.lowest(split)[:limit]
        return self._make_noisy(self.noise, rows), [self.texts[row] for row in rows.tolist()]

    def step_counts(self) -> list[int]:
        """Number of transformations of each training sentence, in the first epoch."""
        return self.noise.step_counts(self._table.hashes[self.splits["train"]].tolist())

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """Distinct held-out sentences, ``standard`` and ``noisy`` in place of languages; ``languages`` is not used."""
        noisy, standard = self.noisy_and_standard(split, per_language)
        kinds = dict.fromkeys(standard, "standard")
        for text in noisy:
            kinds.setdefault(text, "noisy")
        return list(kinds), list(kinds.values())

    # ---- batches

    def tokenize(self, tokenizer: Tokenizer) -> None:
        """Prepare token ids of the standard sentences and of their noisy copy; every text is tokenised once."""
        self._tokenizer = tokenizer
        self._standard = tokenize_once(self.texts, tokenizer, Path(self.cache_dir))
        # Validation always has the same noise, so with `redraw` only its sentences have a copy.
        rows = self.splits["valid"] if self.redraw else np.arange(len(self.texts))
        noisy = noisy_texts(
            [self.texts[row] for row in rows.tolist()],
            self._table.hashes[rows].tolist(),
            self.noise,
            cache_dir=Path(self.cache_dir),
            workers=self.noise_workers,
        )
        self._noisy = tokenize_once(noisy, tokenizer, Path(self.cache_dir))

    def embed(self, teacher: Embedder, store: EmbeddingStore) -> None:
        """Prepare the teacher's vectors; every sentence is embedded once, those with a zero vector are left out."""
        self._teacher = store.vectors(self.texts, teacher)
        rows = np.concatenate(list(self.splits.values()))
        empty = rows[[not self._teacher[row].any() for row in rows.tolist()]]
        if len(empty):
            log.warning("%d sentences have no token for the teacher and are left out", len(empty))
            splits = {split: np.setdiff1d(rows, empty) for split, rows in self.splits.items()}
            self._set_splits(self._table._replace(splits=splits))

    def size(self, split: str) -> int:
        return len(self.splits[split])

    def batches(self, split: str) -> Callable[[Rows, int], DistillationBatch]:
        tokenizer, standard, copy, teacher = self._tokenizer, self._standard, self._noisy, self._teacher
        if tokenizer is None or standard is None or copy is None or teacher is None:
            raise RuntimeError("call tokenize() and embed() before asking for batches")
        return partial(self._batch, split, tokenizer, standard, copy, teacher)

    def _batch(
        self,
        split: str,
        tokenizer: Tokenizer,
        standard: TokenStore,
        copy: TokenStore,
        teacher: Any,
        rows: Rows,
        epoch: int,
    ) -> DistillationBatch:
        texts = self.splits[split][rows]
        if self.redraw and split == "train":
            redrawn = self._make_noisy(self.noise.with_seed(self.noise.seed + epoch), texts)
            noisy = store_of(tokenizer.tokenize(redrawn)).tokens(np.arange(len(texts)))
        else:
            noisy = copy.tokens(rows if self.redraw else texts)
        number, lang = torch.from_numpy(texts), torch.from_numpy(self._table.lang[texts])
        pairs = Pairs(number, number, lang, lang)
        return DistillationBatch(standard.tokens(texts), noisy, torch.from_numpy(teacher[texts]), pairs)

    def _make_noisy(self, noiser: Noiser, texts: Rows) -> list[str]:
        standard = [self.texts[number] for number in texts.tolist()]
        return [sentence.text for sentence in noiser.apply(standard, self._table.hashes[texts].tolist())]
