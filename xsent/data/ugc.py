"""Clean sentences and their noisy selves as batches, with a teacher's vectors of the clean ones."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from tqdm import tqdm

from xsent.batch import DistillationBatch, FileEmbedder, Pairs, Tokenizer
from xsent.data.batches import Batches
from xsent.data.embedding_store import EmbeddingStore
from xsent.data.hashes import mix, plain, text_hashes
from xsent.data.labelled_parts import check_shares
from xsent.data.monolingual import Sentence
from xsent.data.noisy_texts import noisy_texts
from xsent.data.rejects import RejectLedger
from xsent.data.sampler import EvaluationSampler, Rows, WithEpoch
from xsent.data.token_store import TokenStore, store_of, tokenize_once
from xsent.data.training_data import TrainingData
from xsent.distributed import rank, world_size
from xsent.text.noise import Noiser

log = logging.getLogger(__name__)

SentenceReader = Callable[[RejectLedger, str], Iterator[Sentence]]


class UgcData(TrainingData):
    """Data module over clean sentences, which it makes noisy.

    Args:
        name: for messages and metrics.
        root: file or folder that the reader reads.
        reader: yields sentences and sends unusable lines to the ledger.
        noise: makes sentences noisy; the same sentence always in the same way, whatever its place in the files.
        redraw: other noise in every epoch, made as batches are; otherwise one noisy copy, kept on disk.
        valid_root: clean sentences to validate on, for the same reader; None takes ``valid_share`` of the others.
        max_pairs: at most so many sentences, those of lowest hash; None is all.
        valid_share, test_share: of the sentences, by content.
        global_batch_size: sentences of a training step over all devices.
        num_workers: processes that load batches; 0 loads in the training process.
        noise_workers: processes that make the noisy copy; their number changes nothing.
        seed: of the order of training.
        strict: stop at the first unusable line instead of keeping a ledger.
        cache_dir: where noisy copies and token ids are kept.

    Attributes:
        languages: ISO 639-3; the index is the label in ``Pairs``.
        texts: the distinct clean sentences; ``splits`` refer to them by number.
        batches_seen: training batches consumed in all epochs; the recipe keeps it up to date, the
            training loader starts there.
    """

    holds = "clean sentences to be made noisy"

    def __init__(
        self,
        *,
        name: str,
        root: str,
        reader: SentenceReader,
        noise: Noiser,
        redraw: bool,
        valid_root: str | None,
        max_pairs: int | None,
        valid_share: float,
        test_share: float,
        global_batch_size: int,
        num_workers: int,
        noise_workers: int,
        seed: int,
        strict: bool,
        cache_dir: str,
    ) -> None:
        super().__init__()
        check_shares(valid_share, test_share)
        if max_pairs is not None and max_pairs < 1:
            raise ValueError(f"data.max_pairs={max_pairs}: expected a number of sentences, or null for all")
        if noise_workers < 1:
            raise ValueError(f"data.noise_workers={noise_workers}: expected at least 1 process")
        if redraw and noise.reference_rng:
            raise ValueError("data.redraw=true: the reference's random numbers are drawn once for the whole corpus")
        self.name = name
        self.root = root
        self.reader = reader
        self.noise = noise
        self.redraw = redraw
        self.valid_root = valid_root
        self.max_pairs = max_pairs
        self.valid_share = valid_share
        self.test_share = test_share
        self.global_batch_size = global_batch_size
        self.num_workers = num_workers
        self.noise_workers = noise_workers
        self.seed = seed
        self.cache_dir = Path(cache_dir)
        self.ledger = RejectLedger(strict=strict)
        self.batches_seen = 0
        self.texts: list[str] = []
        self.languages: list[str] = []
        self.splits: dict[str, Rows] = {}
        self._lang: Rows = np.zeros(0, dtype=np.int64)
        self._hashes = text_hashes([])
        self._teacher: Any = None  # (N, D) of the texts
        self._tokenizer: Tokenizer | None = None
        self._standard: TokenStore | None = None
        self._noisy: TokenStore | None = None

    # ---- reading

    def read(self) -> None:
        """Read, split by content; a second call does nothing.

        Raises:
            FileNotFoundError: a file or folder is not there.
            ValueError: what the reader refuses; too few sentences for a split or a batch.
        """
        if self.splits:
            return
        log.info("reading data=%s", self.name)
        found = self._languages_of(self.root)
        given = {} if self.valid_root is None else self._languages_of(self.valid_root)
        to_validate = {plain(text) for text in given}
        of_training = [text for text in found if plain(text) not in to_validate]
        hashes = text_hashes(of_training)
        if self.max_pairs is not None:
            kept = np.sort(np.argsort(hashes, kind="stable")[: self.max_pairs])
            of_training, hashes = [of_training[row] for row in kept.tolist()], hashes[kept]
        self.texts = [*of_training, *given]
        self._hashes = text_hashes(self.texts)
        language_of = found | given
        self.languages = sorted(set(language_of.values()))
        self._lang = np.array([self.languages.index(language_of[text]) for text in self.texts], dtype=np.int64)
        self._split(len(of_training))

    def _languages_of(self, root: str) -> dict[str, str]:
        """Language by distinct sentence, in the order of the files."""
        found = self.reader(self.ledger, root)
        bar = tqdm(found, desc="reading", unit=" sentences", unit_scale=True, delay=2, leave=False, disable=rank() > 0)
        return {sentence.text: sentence.lang for sentence in bar}

    def _split(self, of_training: int) -> None:
        # Letter case and punctuation do not count: "Go home!" and "go home" are in one split.
        place = text_hashes(map(plain, self.texts[:of_training]), salt=b"split").astype(np.float64) / 2.0**64
        valid_share = self.valid_share if self.valid_root is None else 0.0
        splits = {
            "train": np.flatnonzero(place >= valid_share + self.test_share),
            "valid": np.flatnonzero(place < valid_share),
            "test": np.flatnonzero((place >= valid_share) & (place < valid_share + self.test_share)),
        }
        if self.valid_root is not None:
            splits["valid"] = np.arange(of_training, len(self.texts))
        self._check_sizes(splits)
        self.splits = splits
        log.info(
            "data=%s: %s sentences in %s (%s)",
            self.name, f"{len(self.texts):,}", ", ".join(self.languages),
            ", ".join(f"{len(rows):,} {split}" for split, rows in splits.items()),
        )  # fmt: skip

    def _check_sizes(self, splits: dict[str, Rows]) -> None:
        if len(splits["train"]) < self.global_batch_size:
            raise ValueError(
                f"data={self.name}: a batch of data.global_batch_size={self.global_batch_size} sentences is larger"
                f" than the training split of {len(splits['train']):,}; {self.ledger.summary()}"
            )
        if len(splits["valid"]) < (needed := 2 * world_size()):
            raise ValueError(
                f"data={self.name}: {len(splits['valid'])} sentences for validation, at least {needed} are needed;"
                f" raise data.valid_share={self.valid_share} or give data.valid_root"
            )

    def digest(self) -> str:
        """Hex digest of sentences, split and noise, whatever their order in the files (but for reference noise)."""
        content = hashlib.sha256(" ".join([*self.languages, self.noise.digest(), str(self.redraw)]).encode())
        for split, rows in self.splits.items():
            content.update(split.encode())
            content.update(np.sort(mix(self._hashes[rows], self._lang[rows].astype(np.uint64))).tobytes())
        if self.noise.reference_rng:  # drawn from one sentence to the next: here the order counts
            content.update(self._hashes.tobytes())
        return content.hexdigest()

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct sentences of each language, those of lowest hash."""
        rows = self.splits["train"]
        rows = rows[np.argsort(self._hashes[rows], kind="stable")]
        by_language = [rows[self._lang[rows] == lang][:per_language] for lang in range(len(self.languages))]
        return [self.texts[row] for chosen in by_language for row in chosen.tolist()]

    def noisy_and_standard(self, split: str, most: int) -> tuple[list[str], list[str]]:
        """At most so many sentences of a split, those of lowest hash: with noise, and as they were."""
        rows = self.splits[split]
        rows = rows[np.argsort(self._hashes[rows], kind="stable")][:most]
        standard = [self.texts[row] for row in rows.tolist()]
        return [one.text for one in self.noise.noised(standard, self._hashes[rows].tolist())], standard

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """Distinct sentences of a held-out split, and after them their noisy selves, which count as another language.

        ``languages`` plays no part.
        """
        noisy, standard = self.noisy_and_standard(split, per_language)
        kinds = dict.fromkeys(standard, "standard")
        for text in noisy:
            kinds.setdefault(text, "noisy")
        return list(kinds), list(kinds.values())

    # ---- batches

    def tokenize(self, tokenizer: Tokenizer) -> None:
        """Have token ids of the standard sentences and of their noisy copy; every text is tokenised once."""
        self._tokenizer = tokenizer
        self._standard = tokenize_once(self.texts, tokenizer, self.cache_dir)
        # Validation has the same noise every time, so with `redraw` its sentences alone have a copy.
        rows = self.splits["valid"] if self.redraw else np.arange(len(self.texts))
        texts = [self.texts[row] for row in rows.tolist()]
        noisy = noisy_texts(
            texts, self._hashes[rows].tolist(), self.noise, cache_dir=self.cache_dir, workers=self.noise_workers
        )
        self._noisy = tokenize_once(noisy, tokenizer, self.cache_dir)

    def embed(self, teacher: FileEmbedder, store: EmbeddingStore) -> None:
        """Have the teacher's vectors; every sentence is embedded once, and left out if the teacher has none for it."""
        self._teacher = store.vectors(self.texts, teacher)
        rows = np.concatenate(list(self.splits.values()))
        empty = rows[[not self._teacher[row].any() for row in rows.tolist()]]
        if len(empty):
            log.warning("%d sentences have no token for the teacher and are left out", len(empty))
            self.splits = {split: np.setdiff1d(rows, empty) for split, rows in self.splits.items()}
            self._check_sizes(self.splits)

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch."""
        return len(self.splits["train"]) // self.global_batch_size

    def train_dataloader(self) -> DataLoader[Any]:
        """Batches of the training split from ``batches_seen`` on, this rank's share of each."""
        rows = self.splits["train"]
        sampler = WithEpoch(self.train_sampler(self._lang[rows], temperature=1))
        batches = Batches(len(rows), lambda of: self._batch(rows, of[0], epoch=of[1]))
        return DataLoader(batches, sampler=sampler, batch_size=None, num_workers=self.num_workers)

    def val_dataloader(self) -> DataLoader[Any]:
        """Batches of the validation split in order, this rank's share of each."""
        rows = self.splits["valid"]
        sampler = EvaluationSampler(
            len(rows), global_batch_size=self.global_batch_size, rank=rank(), world_size=world_size()
        )
        return DataLoader(
            Batches(len(rows), lambda of: self._batch(rows, of, epoch=None)), sampler=sampler, batch_size=None
        )

    def _batch(self, split: Rows, places: Rows, *, epoch: int | None) -> DistillationBatch:
        if self._standard is None or self._noisy is None or self._teacher is None or self._tokenizer is None:
            raise RuntimeError("call tokenize() and embed() before asking for batches")
        rows = split[places]
        if not self.redraw:
            noisy = self._noisy.tokens(rows)
        elif epoch is None:
            noisy = self._noisy.tokens(places)
        else:
            noiser = self.noise.with_seed(self.noise.seed + epoch)
            made = noiser.noised([self.texts[row] for row in rows.tolist()], self._hashes[rows].tolist())
            ids = store_of(self._tokenizer.tokenize([one.text for one in made]))
            noisy = ids.tokens(np.arange(len(rows)))
        number = torch.from_numpy(rows)
        lang = torch.from_numpy(self._lang[rows])
        teacher = torch.from_numpy(self._teacher[rows])
        return DistillationBatch(self._standard.tokens(rows), noisy, teacher, Pairs(number, number, lang, lang))
