"""What a run needs of any data module, whatever it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import pytorch_lightning as pl

from xsent.data.rejects import RejectLedger
from xsent.data.sampler import Rows, TrainSampler
from xsent.distributed import rank, world_size


class TrainingData(pl.LightningDataModule, ABC):
    """Data that a recipe trains on: read once, split by content, a training position that is a number.

    Attributes:
        holds: what it has, for messages.
        name: for messages and metrics.
        ledger: lines that were not used.
        languages: ISO 639-3; the index is the label in ``Pairs``.
        batches_seen: training batches consumed in all epochs; the recipe keeps it up to date, the
            training loader starts there.
    """

    holds: ClassVar[str]
    name: str
    seed: int
    global_batch_size: int
    ledger: RejectLedger
    languages: list[str]
    batches_seen: int

    @abstractmethod
    def read(self) -> None:
        """Read, filter, split; a second call does nothing. Raises before any long work if that cannot be done."""

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of the data and of how they are split, whatever their order in the files."""

    @property
    @abstractmethod
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch."""

    def train_sampler(self, stratum: Rows, *, temperature: float) -> TrainSampler:
        """This rank's share of every training batch, from ``batches_seen`` on.

        Args:
            stratum, temperature: as in ``epoch_order``.

        Raises:
            ValueError: a batch cannot be shared evenly among the devices.
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

    @abstractmethod
    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """Distinct sentences of a held-out split, for pictures, and the language of each.

        Args:
            split: ``valid`` or ``test``.
            languages: in any code; None takes the first eight that the data have.
            per_language: at most so many pairs of each.
        """
