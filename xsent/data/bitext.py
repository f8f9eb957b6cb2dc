"""Translation pairs of many languages as batches: read once, split by content, tokenised or embedded once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

from xsent.batch import EmbeddedBatch, FileEmbedder, Pairs, ParallelBatch, Tokenizer
from xsent.data.batches import Batches
from xsent.data.embedding_store import EmbeddingStore
from xsent.data.heldout import sample_pairs
from xsent.data.pairs import (
    Columns,
    Reader,
    Rows,
    groups,
    language_pairs,
    read_corpus,
    split_by_content,
    within_caps,
    without_unused,
)
from xsent.data.rejects import RejectLedger
from xsent.data.sampler import EvaluationSampler
from xsent.data.token_store import tokenize_once
from xsent.data.training_data import TrainingData
from xsent.distributed import rank, world_size
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

Fetch = Callable[[Columns, Rows, Rows], ParallelBatch | EmbeddedBatch]  # (columns, groups, rows)


class BitextData(TrainingData):
    """Data module over the sentence pairs of any reader.

    Args:
        name: for messages.
        root: file, folder or name that the reader reads; None for one that needs none.
        reader: yields sentence pairs and sends unusable lines to the ledger.
        languages: keep pairs whose other side is one of these, in any code; None keeps all.
        drop_origins: patterns (``*`` allowed) of origins to leave out.
        max_pairs_per_language, max_pairs: caps, see ``within_caps``; None is no cap.
        temperature: of sampling language pairs in training, see ``epoch_order``.
        valid_share, test_share: of the source sentences, see ``split_by_content``.
        paper_split: as ORACLE's release: all that is held out, both shares, is validation and test at once.
        global_batch_size: pairs of a training step over all devices.
        num_workers: processes that load batches; 0 loads in the training process.
        seed: of the order of training.
        strict: stop at the first unusable line instead of keeping a ledger.
        cache_dir: where token ids are kept.

    Attributes:
        languages: ISO 639-3; the index is the label in ``Pairs``.
        texts: every distinct text; ``splits`` refer to them by number.
        batches_seen: training batches consumed in all epochs; the recipe keeps it up to date, the
            training loader starts there.
    """

    holds = "translation pairs"

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        reader: Reader,
        languages: Sequence[str] | None,
        drop_origins: Sequence[str],
        max_pairs_per_language: int | None,
        max_pairs: int | None,
        temperature: float,
        valid_share: float,
        test_share: float,
        paper_split: bool,
        global_batch_size: int,
        num_workers: int,
        seed: int,
        strict: bool,
        cache_dir: str,
    ) -> None:
        super().__init__()
        if not (0 < valid_share < 1 and 0 <= test_share < 1 - valid_share):
            raise ValueError(f"data: valid_share {valid_share} and test_share {test_share} leave no pairs to train on")
        if temperature <= 0:
            raise ValueError(f"data.temperature: expected a number above 0, found {temperature}")
        self.name = name
        self.root = root
        self.reader = reader
        self.wanted = None if languages is None else {to_iso639_3(code) for code in languages}
        self.drop_origins = drop_origins
        self.max_pairs_per_language = max_pairs_per_language
        self.max_pairs = max_pairs
        self.temperature = temperature
        self.valid_share = valid_share
        self.test_share = test_share
        self.paper_split = paper_split
        self.global_batch_size = global_batch_size
        self.num_workers = num_workers
        self.seed = seed
        self.cache_dir = Path(cache_dir)
        self.ledger = RejectLedger(strict=strict)
        self.batches_seen = 0
        self.texts: list[str] = []
        self.languages: list[str] = []
        self.splits: dict[str, Columns] = {}
        self._fetch: Fetch | None = None

    # ---- reading

    def read(self) -> None:
        """Read, filter, remove duplicates, split; a second call does nothing.

        Raises:
            FileNotFoundError: a file or folder is not there.
            ValueError: too few pairs for a language, a split or a batch.
        """
        if self.splits:
            return
        log.info("reading data=%s", self.name)
        corpus = read_corpus(self.reader(self.ledger, self.root), languages=self.wanted, drop_origins=self.drop_origins)
        self.languages = corpus.languages
        self._check_languages(corpus.columns)
        columns = corpus.columns.take(
            within_caps(corpus.columns, per_language=self.max_pairs_per_language, total=self.max_pairs)
        )
        corpus = without_unused(corpus._replace(columns=columns))
        self.texts, columns = corpus.texts, corpus.columns
        split = split_by_content(corpus, valid_share=self.valid_share, test_share=self.test_share)
        if self.paper_split:
            split["valid"] = split["test"] = np.sort(np.concatenate([split["valid"], split["test"]]))
        splits = {name: columns.take(rows) for name, rows in split.items()}
        self._check_sizes(splits)
        self.splits = splits
        self._say_what_was_read(columns)

    def digest(self) -> str:
        """Hex digest of the pairs and of how they are split, whatever their order in the files."""
        content = hashlib.sha256(" ".join(self.languages).encode())
        for name, columns in self.splits.items():
            content.update(name.encode())
            content.update(np.sort(columns.key).tobytes())
        return content.hexdigest()

    def sentences(self, split: str) -> tuple[list[str], list[str], list[str], list[str]]:
        """Source texts, target texts, source languages, target languages of a split."""
        columns = self.splits[split]
        return (
            [self.texts[number] for number in columns.source],
            [self.texts[number] for number in columns.target],
            [self.languages[number] for number in columns.source_lang],
            [self.languages[number] for number in columns.target_lang],
        )

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct sentences of each language, those of lowest hash."""
        columns = self.splits["train"]
        text = np.concatenate([columns.source, columns.target])
        lang = np.concatenate([columns.source_lang, columns.target_lang])
        key = np.concatenate([columns.key, columns.key])
        chosen: list[str] = []
        for language in range(len(self.languages)):
            rows = np.flatnonzero(lang == language)
            first = np.unique(text[rows[np.argsort(key[rows], kind="stable")]], return_index=True)
            numbers = first[0][np.argsort(first[1])][:per_language]
            chosen += [self.texts[number] for number in numbers]
        return chosen

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """Distinct sentences of some held-out pairs, both sides, and the language of each."""
        return sample_pairs(self, split, languages=languages, pairs_per_language=per_language)

    # ---- batches

    def tokenize(self, tokenizer: Tokenizer) -> None:
        """Have batches of token ids (``ParallelBatch``); every text is tokenised once."""
        store = tokenize_once(self.texts, tokenizer, self.cache_dir)

        def fetch(columns: Columns, group: Rows, rows: Rows) -> ParallelBatch:
            source, target = columns.source[rows], columns.target[rows]
            return ParallelBatch(store.tokens(source), store.tokens(target), _pairs(columns, group, rows))

        self._fetch = fetch

    def embed(self, embedder: FileEmbedder, store: EmbeddingStore) -> None:
        """Have batches of a frozen encoder's vectors (``EmbeddedBatch``); every text is embedded once."""
        vectors = store.vectors(self.texts, embedder)

        def fetch(columns: Columns, group: Rows, rows: Rows) -> EmbeddedBatch:
            source, target = (vectors[column[rows]] for column in (columns.source, columns.target))
            pairs = _pairs(columns, group, rows)
            return EmbeddedBatch(torch.from_numpy(source), torch.from_numpy(target), pairs)

        self._fetch = fetch

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch."""
        return len(self.splits["train"].source) // self.global_batch_size

    def train_dataloader(self) -> DataLoader[Any]:
        """Batches of the training split from ``batches_seen`` on, this rank's share of each."""
        sampler = self.train_sampler(language_pairs(self.splits["train"]), temperature=self.temperature)
        return self._loader("train", sampler)

    def val_dataloader(self) -> DataLoader[Any]:
        """Batches of the validation split in order, this rank's share of each."""
        return self._evaluation_loader("valid")

    def test_dataloader(self) -> DataLoader[Any]:
        """Batches of the test split in order, this rank's share of each."""
        return self._evaluation_loader("test")

    def _evaluation_loader(self, split: str) -> DataLoader[Any]:
        sampler = EvaluationSampler(
            len(self.splits[split].source),
            global_batch_size=self.global_batch_size,
            rank=rank(),
            world_size=world_size(),
        )
        return self._loader(split, sampler)

    def _loader(self, split: str, sampler: Sampler[Rows]) -> DataLoader[Any]:
        fetch, columns = self._fetch, self.splits[split]
        if fetch is None:
            raise RuntimeError("call tokenize() or embed() before asking for batches")
        group = groups(columns)
        batches = Batches(len(group), lambda rows: fetch(columns, group, rows))
        # The sampler gives the rows of a whole batch, so `batch_size=None`: nothing is left to collate.
        return DataLoader(batches, sampler=sampler, batch_size=None, num_workers=self.num_workers)

    # ---- checks and messages

    def _check_languages(self, columns: Columns) -> None:
        if not len(columns.source):
            wanted = f" in {sorted(self.wanted)}" if self.wanted else ""
            raise ValueError(f"data={self.name}: no usable pair{wanted}; {self.ledger.summary()}")
        if self.wanted and (missing := self.wanted - set(self.languages)):
            raise ValueError(
                f"data={self.name}: data.languages has {', '.join(sorted(missing))}, the data have"
                f" {', '.join(self.languages)}"
            )
        # A pair within one language counts once.
        both = np.where(columns.source_lang == columns.target_lang, -1, columns.source_lang)
        sides = np.concatenate([both[both >= 0], columns.target_lang])
        counts = np.bincount(sides, minlength=len(self.languages))
        single = [language for language, n in zip(self.languages, counts, strict=True) if n == 1]
        if single:
            raise ValueError(
                f"data={self.name}: {', '.join(single)} has a single pair, which leaves nothing to compare it"
                " with; leave the language out with data.languages=[...]"
            )

    def _check_sizes(self, splits: dict[str, Columns]) -> None:
        sizes = {name: len(columns.source) for name, columns in splits.items()}
        if sizes["train"] < self.global_batch_size:
            raise ValueError(
                f"data={self.name}: a batch of data.global_batch_size={self.global_batch_size} pairs is"
                f" larger than the training split of {sizes['train']:,}"
            )
        needed = 2 * world_size()
        if sizes["valid"] < needed:
            raise ValueError(
                f"data={self.name}: {sizes['valid']} pairs for validation, at least {needed} are needed;"
                f" raise data.valid_share={self.valid_share}"
            )

    def _say_what_was_read(self, columns: Columns) -> None:
        counts = np.bincount(columns.target_lang, minlength=len(self.languages))
        by_language = sorted(zip(counts.tolist(), self.languages, strict=True), reverse=True)
        log.info(
            "data=%s: %s pairs (%s): %s",
            self.name,
            f"{len(columns.source):,}",
            ", ".join(f"{len(split.source):,} {name}" for name, split in self.splits.items()),
            ", ".join(f"{language} {n:,}" for n, language in by_language if n),
        )


def _pairs(columns: Columns, group: Rows, rows: Rows) -> Pairs:
    return Pairs(
        torch.from_numpy(np.asarray(rows)),
        torch.from_numpy(group[rows]),
        torch.from_numpy(columns.source_lang[rows]),
        torch.from_numpy(columns.target_lang[rows]),
    )
