"""Base class of the data modules that recipes train on."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset, Sampler

from xsent.config_checks import UsageError, check_integer
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.batch_sampler import EvaluationSampler, Rows, TrainSampler, epoch_order
from xsent.distributed import rank, world_size

B = TypeVar("B")


@dataclass(frozen=True, eq=False)
class BatchDataset(Dataset[B], Generic[B]):
    """Dataset whose items are complete batches; the sampler yields the rows of a batch."""

    size: int  # number of rows that the batches are made of
    fetch: Callable[[Rows, int], B]  # makes a batch of rows, in an epoch

    def __getitem__(self, rows_and_epoch: tuple[Rows, int]) -> B:
        return self.fetch(*rows_and_epoch)

    def __len__(self) -> int:
        return self.size


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingData(pl.LightningDataModule, ABC):
    """Training data: read once, split by content, with a position that is a number of batches.

    Each loader gives this rank's share of every batch: training batches from ``batches_seen`` on, the others in order.
    """

    description: ClassVar[str]  # what the data are, for messages
    choice: ClassVar[str]  # options that select such data

    # `field()`, since Lightning's class attribute would be the default.
    name: str = field()  # for messages and metrics
    global_batch_size: int  # rows per training step over all devices
    max_lines: int | None  # to read of each file, for a quick trial; None: all
    seed: int  # of the training order and everything else drawn
    strict: bool = field(init=False, default=True)  # stop at the first unusable line instead of recording it
    num_workers: int = field(init=False, default=0)  # processes that load batches; 0 loads in the training process
    ledger: RejectLedger = field(init=False)
    language_codes: list[str] = field(init=False, default_factory=list)  # ISO 639-3; the index is the label in `Pairs`
    # Training batches consumed in all epochs. The recipe updates it; the training loader starts there.
    batches_seen: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        super().__init__()
        check_integer("data.global_batch_size", self.global_batch_size, minimum=1)
        check_integer("data.num_workers", self.num_workers, minimum=0)
        if self.max_lines is not None:
            check_integer("data.max_lines", self.max_lines, minimum=1)
        self.ledger = RejectLedger(strict=self.strict, max_lines=self.max_lines)

    @abstractmethod
    def read(self) -> None:
        """Read, filter and split; a second call does nothing. Errors are raised before any long work.

        Raises:
            FileNotFoundError: a file or folder does not exist.
            ValueError: raised by the reader; too few rows for a language, a split or a batch; only one label.
        """

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of the data and their splits; the order of the files does not change it."""

    @abstractmethod
    def size(self, split: str) -> int:
        """Number of rows of a split."""

    def summary(self) -> dict[str, Any]:
        """Languages, files and sizes as plain values, for run folders, checkpoints and model cards."""
        # Names without folders, which may be private; an id of the hub has no folder on this machine.
        names = [Path(file).name if Path(file).parent.is_dir() else file for file in self.ledger.files]
        return {
            "languages": sorted(set(self.language_codes)),
            "files": names,
            "lines": self.ledger.lines,
            "rejected": len(self.ledger.rejects),
            "train": self.size("train"),
            "valid": self.size("valid"),
        }

    @abstractmethod
    def batches(self, split: str) -> Callable[[Rows, int], Any]:
        """The function that makes a batch of rows of a split, in an epoch.

        Raises:
            RuntimeError: the batches are not prepared.
        """

    @abstractmethod
    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """Distinct sentences of the split ``valid`` or ``test``, for plots, and the language of each.

        Languages are in any code; None takes the first eight of the data. Each gives at most ``per_language`` pairs.
        """

    @property
    def steps_per_epoch(self) -> int:
        """Training batches per epoch."""
        return self.draws_per_epoch // self.global_batch_size

    @property
    def draws_per_epoch(self) -> int:
        """Training rows of an epoch, counted as often as they are drawn."""
        return self.size("train")

    def epoch_order(self, epoch: int) -> Rows:
        """Training rows in the order of an epoch."""
        return epoch_order(np.arange(self.size("train")), None, seed=self.seed, epoch=epoch)

    def check_split_sizes(self, train: int, valid: int, *, unit: str, advice: str) -> None:
        """Raise ``ValueError`` if the splits are too small for a batch."""
        if not train and self.ledger.rejects:
            raise ValueError(f"data={self.name}: no usable {unit} to train on; {self.ledger.first_reject()}")
        if train < self.global_batch_size:
            raise UsageError(
                f"data={self.name}: a batch of data.global_batch_size={self.global_batch_size} {unit} is larger than"
                f" the training split of {train:,}: lower it"
                f"{f'; {self.ledger.summary()}' if self.ledger.lines else ''}"
            )
        needed = 2 * world_size()
        if valid < needed:
            raise UsageError(f"data={self.name}: {valid} {unit} for validation, at least {needed} are needed; {advice}")

    def train_dataloader(self) -> DataLoader[Any]:
        """This rank's share of every training batch, from ``batches_seen`` on.

        Raises:
            ValueError: the devices cannot share a batch evenly.
        """
        if self.global_batch_size % world_size():
            raise UsageError(
                f"data.global_batch_size={self.global_batch_size}: expected a multiple of the number of"
                f" devices, found {world_size()} devices"
            )
        sampler = TrainSampler(
            size=self.draws_per_epoch,
            order=self.epoch_order,
            global_batch_size=self.global_batch_size,
            rank=rank(),
            world_size=world_size(),
            batches_seen=lambda: self.batches_seen,
        )
        return self._loader("train", sampler)

    def val_dataloader(self) -> DataLoader[Any]:
        return self.evaluation_loader("valid")

    def evaluation_loader(self, split: str) -> DataLoader[Any]:
        """All rows of a split in order, this rank's share of each batch."""
        size = self.size(split)
        sampler = EvaluationSampler(
            size, global_batch_size=self.global_batch_size, rank=rank(), world_size=world_size()
        )
        return self._loader(split, sampler)

    def _loader(self, split: str, sampler: Sampler[Any]) -> DataLoader[Any]:
        dataset = BatchDataset(self.size(split), self.batches(split))
        # The sampler yields the rows of a complete batch, so nothing is collated.
        return DataLoader(
            dataset,
            sampler=sampler,
            batch_size=None,
            num_workers=self.num_workers,
            worker_init_fn=_tokenize_in_one_thread,
        )


def _tokenize_in_one_thread(worker: int) -> None:
    # A forked worker has no threads of the tokenizers library, and would wait for them without end.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
