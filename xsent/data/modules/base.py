"""Base class of the data modules that recipes train on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset, Sampler

from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.batch_sampler import EvaluationSampler, Rows, TrainSampler
from xsent.distributed import rank, world_size

B = TypeVar("B")


@dataclass(frozen=True, eq=False)
class BatchDataset(Dataset[B], Generic[B]):
    """Dataset whose items are complete batches; the sampler yields the rows of a batch."""

    size: int  # number of rows that the batches are made of
    fetch: Callable[[Any], B]  # makes a batch from what the sampler yields

    def __getitem__(self, rows: Any) -> B:
        return self.fetch(rows)

    def __len__(self) -> int:
        return self.size


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingData(pl.LightningDataModule, ABC):
    """Training data: read once, split by content, with a position that is a number of batches.

    Each loader gives this rank's share of every batch: training batches from ``batches_seen`` on, the others in order.
    """

    description: ClassVar[str]  # what the data are, for messages

    # `field()`, since Lightning's class attribute would be the default.
    name: str = field()  # for messages and metrics
    global_batch_size: int  # rows per training step over all devices
    seed: int  # of the training order and everything else drawn
    ledger: RejectLedger = field(init=False)
    language_codes: list[str] = field(init=False, default_factory=list)  # ISO 639-3; the index is the label in `Pairs`
    # Training batches consumed in all epochs. The recipe updates it; the training loader starts there.
    batches_seen: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        super().__init__()

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

    @property
    @abstractmethod
    def training_size(self) -> int:
        """Number of rows of the training split."""

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
        return self.training_size // self.global_batch_size

    def check_split_sizes(self, train: int, valid: int, *, unit: str, advice: str) -> None:
        """Raise ``ValueError`` if the splits are too small for a batch."""
        if train < self.global_batch_size:
            raise ValueError(
                f"data={self.name}: a batch of data.global_batch_size={self.global_batch_size} {unit} is larger than"
                f" the training split of {train:,}{f'; {self.ledger.summary()}' if self.ledger.lines else ''}"
            )
        needed = 2 * world_size()
        if valid < needed:
            raise ValueError(f"data={self.name}: {valid} {unit} for validation, at least {needed} are needed; {advice}")

    def train_sampler(self, stratum: Rows, *, temperature: float = 1) -> TrainSampler:
        """This rank's share of every training batch, from ``batches_seen`` on; parameters as in ``epoch_order``.

        Raises:
            ValueError: the devices cannot share a batch evenly.
        """
        if self.global_batch_size % world_size():
            raise ValueError(
                f"data.global_batch_size={self.global_batch_size}: expected a multiple of the number of"
                f" devices, found {world_size()} devices"
            )
        return TrainSampler(
            stratum,
            global_batch_size=self.global_batch_size,
            seed=self.seed,
            temperature=temperature,
            rank=rank(),
            world_size=world_size(),
            batches_seen=lambda: self.batches_seen,
        )

    def evaluation_loader(self, size: int, fetch: Callable[[Rows], Any], *, num_workers: int = 0) -> DataLoader[Any]:
        """Batches of rows 0 to ``size`` - 1 in order, this rank's share of each."""
        sampler = EvaluationSampler(
            size, global_batch_size=self.global_batch_size, rank=rank(), world_size=world_size()
        )
        return batch_loader(size, fetch, sampler, num_workers=num_workers)


def batch_loader(
    size: int, fetch: Callable[[Any], Any], sampler: Sampler[Any], *, num_workers: int = 0
) -> DataLoader[Any]:
    """Loader of the batches that ``fetch`` makes from what the sampler yields."""
    # The sampler yields the rows of a complete batch, so nothing is collated.
    return DataLoader(BatchDataset(size, fetch), sampler=sampler, batch_size=None, num_workers=num_workers)
