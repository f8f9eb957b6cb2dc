"""Divergences of seed pairs as training items: read once, split by seed, sampled as Briakou and Carpuat 2020 do."""

from __future__ import annotations

import hashlib
import logging
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from xsent.batch import IGNORED, DivergenceBatch, Pairs, PairTokens, WordPair
from xsent.data.batches import Batches
from xsent.data.lines import read_lines
from xsent.data.rejects import RejectLedger
from xsent.data.sampler import EvaluationSampler, Rows
from xsent.data.training_data import TrainingData
from xsent.distributed import rank, world_size
from xsent.text.divergences.pairing import balanced_pairs, concatenation_pairs, ranking_pairs, single_pairs
from xsent.text.divergences.record import (
    DELETION,
    GENERALIZATION,
    KINDS,
    PARTICULARIZATION,
    REPLACEMENT,
    SEED,
    UNCHANGED,
    Divergence,
    from_json,
    to_json,
)

log = logging.getLogger(__name__)

RANKED = (DELETION, REPLACEMENT, GENERALIZATION, PARTICULARIZATION)  # the paper's four
SAMPLING = ("single", "balanced", "concatenation", "ranking")
ITEMS = ("pairs", "contrastive", "independent")


class TokenizedPair(Protocol):
    """A pair as ids."""

    @property
    def words(self) -> NDArray[np.int32]:
        """(T,) number of the word of each token, those of the source first; -1 on special tokens."""
        ...


class PairTokenizer(Protocol):
    """The half of a cross-encoder that turns words into ids."""

    def tokenize(self, pairs: Sequence[WordPair]) -> Sequence[Any]:
        """A ``TokenizedPair`` of each pair."""
        ...

    def collate(self, pairs: Sequence[Any]) -> PairTokens:
        """Pad a batch of them."""
        ...


class Items(NamedTuple):
    """What a model is shown, by numbers of records."""

    finer: Rows  # (N,) of ranked items; empty where each record is an item of its own
    record: Rows  # (N,) the record that is judged, and tagged; of ranked items the more divergent one
    divergent: Rows  # (N,) 0 where it counts as equivalent


class DivergenceData(TrainingData):
    """Data module over the file that ``xsent diverge`` writes.

    Args:
        name: for messages.
        root: JSONL of seeds and their divergences (``xsent.text.divergences.record``).
        kinds: divergences that are used.
        sampling: ``single``: each seed with its divergences of the kinds, mostly one; ``balanced``: with one of its
            divergences, drawn; ``concatenation``: all; ``ranking``: seed above lexical substitution above phrase
            replacement or subtree deletion.
        items: ``pairs`` of a finer and a coarser version; ``contrastive``: seeds and the divergences of these very
            seeds, each an item; ``independent``: seeds, and as many divergences of each kind drawn from seeds that are
            in no split. Differs from the released code: it draws from all, so that most would be of these very seeds.
        train_seeds, valid_seeds, test_seeds: sizes of the splits, in the order of the file; only seeds with a
            divergence count.
        source_lang, target_lang: ISO 639-3, of the sides.
        global_batch_size: items of a step over all devices; an item of ``pairs`` is two pairs of sentences.
        num_workers: processes that load batches; 0 loads in the training process.
        seed: of everything drawn.

    Attributes:
        records: of the file, those of a seed one after the other.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662), section 3.2 and 5; the split into three is the released code's.
    """

    holds = "divergences of seed pairs"

    def __init__(
        self,
        *,
        name: str,
        root: str,
        kinds: Sequence[str],
        sampling: str,
        items: str,
        train_seeds: int,
        valid_seeds: int,
        test_seeds: int,
        source_lang: str,
        target_lang: str,
        global_batch_size: int,
        num_workers: int,
        seed: int,
    ) -> None:
        super().__init__()
        for option, value, known in [("sampling", sampling, SAMPLING), ("items", items, ITEMS)]:
            if value not in known:
                raise ValueError(f"data.{option}={value}: expected one of {', '.join(known)}")
        if sampling == "ranking" and items != "pairs":
            raise ValueError(f"data.items={items}: data.sampling=ranking orders pairs; give data.items=pairs")
        known = KINDS if sampling == "single" else RANKED
        if not kinds or set(kinds) - set(known):
            raise ValueError(
                f"data.kinds={','.join(kinds)}: expected some of {', '.join(known)} with data.sampling={sampling}"
            )
        if min(train_seeds, valid_seeds) < 1 or test_seeds < 0:
            raise ValueError(f"data: {train_seeds} seeds to train on and {valid_seeds} to validate on: expected some")
        self.name = name
        self.root = root
        self.kinds = list(kinds)
        self.sampling = sampling
        self.items = items
        self.sizes = {"train": train_seeds, "valid": valid_seeds, "test": test_seeds}
        self.languages = [source_lang, target_lang]
        self.global_batch_size = global_batch_size
        self.num_workers = num_workers
        self.seed = seed
        self.ledger = RejectLedger(strict=True)
        self.batches_seen = 0
        self.records: list[Divergence] = []
        self._of_seed: list[dict[str, int]] = []  # number of the record by kind
        self._splits: dict[str, range] = {}
        self._items: dict[str, Items] = {}
        self._tokenizer: PairTokenizer | None = None
        self._ids: dict[int, Any] = {}  # by number of the record
        self._labels: dict[int, NDArray[np.int64]] = {}

    # ---- reading

    def read(self) -> None:
        """Read, split, sample; a second call does nothing.

        Raises:
            FileNotFoundError: no such file.
            ValueError: a line that is no record, or too few seeds.
        """
        if self._items:
            return
        log.info("reading data=%s", self.name)
        # Split by whatever divergences there are: data.kinds changes what is trained on, and not what is held out.
        groups = [group for group in self._groups() if len(group) > 1]
        needed = sum(self.sizes.values())
        if len(groups) < needed:
            asked = ", ".join(f"data.{split}_seeds={size}" for split, size in self.sizes.items())
            raise ValueError(f"{self.root}: {len(groups)} seeds with a divergence; {asked} need {needed}")
        for group in groups:
            used = [record for record in group if record.kind in (SEED, *self.kinds)]
            self._of_seed.append({record.kind: len(self.records) + place for place, record in enumerate(used)})
            self.records += used
        start = 0
        for split, size in self.sizes.items():
            self._splits[split] = range(start, start + size)
            start += size
        self._items = {split: self._sampled(split) for split in self.sizes}
        for split, least in (("train", self.global_batch_size), ("valid", 2 * world_size())):
            if len(self._items[split].record) < least:
                raise ValueError(
                    f"{self.root}: {len(self._items[split].record)} items of data.kinds={','.join(self.kinds)} in the"
                    f" {split} split, at least {least} are needed (data.global_batch_size={self.global_batch_size})"
                )
        self._say_what_was_read()

    def _groups(self) -> Iterator[list[Divergence]]:
        """Each seed and its divergences, the seed first."""
        group: list[Divergence] = []
        seeds: set[str] = set()
        # The file was written by this package: a line that is wrong means that the file is not what it should be.
        for number, line in enumerate(read_lines(Path(self.root)), start=1):
            record = from_json(line, f"{self.root}:{number}")
            if record.kind == SEED:
                if record.seed in seeds:
                    raise ValueError(f"{self.root}:{number}: expected another seed, found {record.seed} again")
                seeds.add(record.seed)
                yield group
                group = [record]
            elif not group or group[0].seed != record.seed:
                raise ValueError(f"{self.root}:{number}: expected seed {record.seed} itself before its divergences")
            elif record.kind in {one.kind for one in group}:
                raise ValueError(f"{self.root}:{number}: expected one {record.kind} of a seed, found another")
            else:
                group.append(record)
        yield group

    def _say_what_was_read(self) -> None:
        counts = {kind: sum(kind in group for group in self._of_seed) for kind in self.kinds}
        log.info(
            "data=%s: %s seeds (%s); %s; %s items of %s to train on",
            self.name, f"{len(self._of_seed):,}", ", ".join(f"{size:,} {split}" for split, size in self.sizes.items()),
            ", ".join(f"{count:,} {kind}" for kind, count in counts.items()),
            f"{len(self._items['train'].record):,}", self.items,
        )  # fmt: skip

    # ---- sampling

    def _sampled(self, split: str) -> Items:
        finer: list[int] = []
        coarser: list[int] = []
        for seed in self._splits[split]:
            for one, other in self._pairs(seed):
                finer.append(self._of_seed[seed][one])
                coarser.append(self._of_seed[seed][other])
        if self.items == "pairs":
            return Items(np.array(finer, np.int64), np.array(coarser, np.int64), np.ones(len(finer), np.int64))
        if self.items == "independent" and split == "train":
            coarser = self._of_other_seeds(coarser)
        seeds = list(dict.fromkeys(finer))
        divergent = np.repeat([0, 1], [len(seeds), len(coarser)])
        return Items(np.zeros(0, np.int64), np.array(seeds + coarser, np.int64), divergent)

    def _pairs(self, seed: int) -> list[tuple[str, str]]:
        kinds = list(self._of_seed[seed])[1:]
        # A seed's draws depend on the seed alone, not on those before it.
        rng = random.Random(f"{self.seed} {self.records[self._of_seed[seed][SEED]].seed}")
        if self.sampling == "ranking":
            return ranking_pairs(kinds, rng)
        if self.sampling == "concatenation":
            return concatenation_pairs(kinds)
        if self.sampling == "balanced":
            return balanced_pairs(kinds, rng)
        return single_pairs(kinds, self.kinds)

    def _of_other_seeds(self, coarser: Sequence[int]) -> list[int]:
        """As many divergences of each kind, of seeds that are in no split."""
        pool = self._of_seed[self._splits["test"].stop :]
        rng = random.Random(f"{self.seed} independent")
        drawn: list[int] = []
        for kind in self.kinds:
            wanted = sum(self.records[number].kind == kind for number in coarser)
            there = [group[kind] for group in pool if kind in group]
            if len(there) < wanted:
                raise ValueError(
                    f"{self.root}: data.items=independent needs {wanted:,} divergences of kind {kind} of seeds that are"
                    f" in no split, found {len(there):,}; give a smaller data.train_seeds={self.sizes['train']}"
                )
            drawn += rng.sample(there, wanted)
        return drawn

    # ---- what is in it

    def digest(self) -> str:
        """Hex digest of the records and of what is made of them."""
        how = [*self.languages, *self.kinds, self.sampling, self.items, str(self.seed), str(self.sizes)]
        content = hashlib.sha256(" ".join(how).encode())
        for record in self.records:
            content.update(to_json(record).encode())
        return content.hexdigest()

    def judged(self, split: str) -> list[tuple[Divergence, bool]]:
        """Every record that an item of a split has, as often as it has it, and whether it counts as equivalent.

        Of ranked items the finer one does, be it a seed or a lexical substitution: as in the released code, whose
        dev scores of divergence ranking are lower for that.
        """
        items = self._items[split]
        finer = [(self.records[number], True) for number in items.finer]
        own = [
            (self.records[number], not divergent)
            for number, divergent in zip(items.record, items.divergent, strict=True)
        ]
        return finer + own

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """None: nothing here has a vector to be drawn."""
        return [], []

    # ---- batches

    def tokenize(self, tokenizer: PairTokenizer) -> None:
        """Have batches of token ids; every record that a batch may have is tokenised once."""
        self._tokenizer = tokenizer
        shown = [column for split in ("train", "valid") for column in self._items[split][:2]]
        numbers = np.unique(np.concatenate(shown)).tolist()
        pairs = [WordPair(self.records[number].source, self.records[number].target) for number in numbers]
        self._ids = dict(zip(numbers, tokenizer.tokenize(pairs), strict=True))
        self._labels = {number: _token_labels(self.records[number], ids) for number, ids in self._ids.items()}

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch."""
        return len(self._items["train"].record) // self.global_batch_size

    def train_dataloader(self) -> DataLoader[Any]:
        """Batches of the training split from ``batches_seen`` on, this rank's share of each."""
        items = self._items["train"]
        sampler = self.train_sampler(np.zeros(len(items.record), np.int64), temperature=1)
        batches = Batches(len(items.record), lambda rows: self._batch(items, rows))
        return DataLoader(batches, sampler=sampler, batch_size=None, num_workers=self.num_workers)

    def val_dataloader(self) -> DataLoader[Any]:
        """Batches of the validation split in order, this rank's share of each."""
        items = self._items["valid"]
        size = len(items.record)
        sampler = EvaluationSampler(
            size, global_batch_size=self.global_batch_size, rank=rank(), world_size=world_size()
        )
        return DataLoader(Batches(size, lambda rows: self._batch(items, rows)), sampler=sampler, batch_size=None)

    def _batch(self, items: Items, rows: Rows) -> DivergenceBatch:
        if self._tokenizer is None:
            raise RuntimeError("call tokenize() before asking for batches")
        finer = items.finer[rows] if len(items.finer) else items.finer
        numbers = np.concatenate([finer, items.record[rows]])
        tokens = self._tokenizer.collate([self._ids[number] for number in numbers])
        divergent = torch.from_numpy(np.concatenate([np.zeros(len(finer), np.int64), items.divergent[rows]]))
        number = torch.from_numpy(rows)
        pairs = Pairs(number, number, torch.zeros_like(number), torch.ones_like(number))
        return DivergenceBatch(tokens, divergent, self._padded_labels(numbers, divergent, tokens.input_ids), pairs)

    def _padded_labels(self, numbers: Rows, divergent: Tensor, input_ids: Tensor) -> Tensor:
        labels = torch.full_like(input_ids, IGNORED)
        for row in torch.nonzero(divergent).flatten().tolist():  # the paper tags the more divergent of two pairs
            own = self._labels[numbers[row]]
            labels[row, : len(own)] = torch.from_numpy(own)
        return labels


def _token_labels(record: Divergence, ids: TokenizedPair) -> NDArray[np.int64]:
    """(T,) 1 where the token's word diverges; all ``IGNORED`` where no word that is left does."""
    words = np.array([label != UNCHANGED for label in (*record.source_labels, *record.target_labels)], dtype=np.int64)
    labels = np.where(ids.words >= 0, words[ids.words], IGNORED)
    # Of a pair whose divergent words were cut off nothing is left to tag: it would teach that divergences look alike.
    return labels if (labels == 1).any() else np.full_like(labels, IGNORED)
