"""What every recipe shares: optimizer and schedule, evaluation, exact resuming, a stop at the first NaN."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from xsent.batch import Embedder, PairJudge, Pairs
from xsent.data.embedding_store import EmbeddingStore
from xsent.data.training_data import TrainingData
from xsent.distributed import gather_by_index, rank, world_size
from xsent.evaluation.evaluator import (
    Evaluation,
    Evaluator,
    in_space,
    names_of_judgements,
    names_of_vectors,
    pairs_of,
    score_spaces,
    tell_cuts,
)

log = logging.getLogger(__name__)

OptimizerFactory = Callable[[Iterable[Tensor]], Optimizer]
SchedulerFactory = Callable[..., LRScheduler]  # (optimizer, total_steps=...)

D = TypeVar("D", bound=TrainingData)


class Recipe(pl.LightningModule, ABC, Generic[D]):
    """A method that trains something.

    Args:
        optimizer: makes the optimizer from the parameters to train.
        scheduler: makes the schedule from the optimizer and ``total_steps``, or None.

    Attributes:
        trains_on: the kind of data module that it can be trained on.
        left_out: names of weights that are in no checkpoint.
    """

    trains_on: ClassVar[type[TrainingData]]

    # Lightning cannot know which weights are left out on purpose; ``load_state_dict`` below does.
    strict_loading = False

    def __init__(self, *, optimizer: OptimizerFactory, scheduler: SchedulerFactory | None) -> None:
        super().__init__()
        # A dry run: what they refuse is refused now, and not after the data were embedded.
        trial = optimizer([torch.nn.Parameter(torch.zeros(1))])
        if scheduler is not None:
            scheduler(trial, total_steps=100)
        self.make_optimizer = optimizer
        self.make_scheduler = scheduler
        # Training batches consumed so far, over all epochs. The sampler's position is a pure function
        # of this number: Lightning's own loader state restarts silently when a schedule asks for the
        # number of steps.
        self.batches_seen = 0
        self._restored_rng: dict[str, Any] | None = None
        self.left_out: set[str] = set()
        self.config: dict[str, Any] = {}  # the resolved config, for the checkpoint

    # ---- what a recipe defines

    @classmethod
    def check_evaluator(cls, evaluator: Evaluator) -> None:
        """Raise ``ValueError`` when an evaluator cannot score what this recipe trains."""

    @abstractmethod
    def evaluation(self, evaluator: Evaluator, *, sharded: bool) -> Evaluation:
        """What an evaluator says of the present weights.

        Args:
            evaluator: one that ``check_evaluator`` lets pass.
            sharded: share the work among the ranks, without a progress bar; the result is the same on all of them.
        """

    def figures(self, evaluator: Evaluator) -> list[str]:
        """Names of the figures of ``evaluation``, known before anything is trained; here those of a judge of pairs."""
        return names_of_judgements(pairs_of(evaluator), tags_words=bool(getattr(self.encoder, "tags_words", False)))

    def vectors(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """Vectors (N, D) of the sentences by space, for pictures; none where a sentence alone has no vector."""
        return {}

    @abstractmethod
    def prepare(self, data: D, store: EmbeddingStore) -> None:
        """Have the data tokenised or embedded as this recipe trains on it."""

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        """Take over from a checkpoint what ``prepare`` needs, such as a trained tokenizer."""

    def expect(self, state: Mapping[str, Any]) -> None:
        """What a checkpoint to be resumed knows beside weights: ``prepare`` refuses what does not fit it."""

    @abstractmethod
    def trained_encoder(self, checkpoint: Mapping[str, Any]) -> Embedder | PairJudge:
        """What the checkpoint of a run learned, ready to encode sentences or to judge pairs."""

    @property
    def saves_encoder(self) -> bool:
        """Whether ``save_encoder`` can."""
        return False

    def save_encoder(self, folder: Path) -> None:
        """Write the trained encoder alone.

        Raises:
            ValueError: this recipe trains none that could stand alone.
        """
        raise ValueError(f"{type(self).__name__} trains no encoder to save; use xsent.load_encoder on the run")

    # ---- optimisation

    def trainable_parameters(self) -> list[torch.nn.Parameter]:
        """Parameters that the main optimizer moves."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def configure_optimizers(self) -> Any:
        optimizer = self.make_optimizer(self.trainable_parameters())
        if self.make_scheduler is None:
            return optimizer
        scheduler = self.make_scheduler(optimizer, total_steps=self.total_steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    @property
    def data(self) -> D:
        """The data module that is trained on."""
        return cast(D, self.trainer.datamodule)  # type: ignore[attr-defined]

    @classmethod
    def check_data(cls, data: TrainingData) -> None:
        """Raise ``ValueError`` when this recipe cannot be trained on such data."""
        if not isinstance(data, cls.trains_on):
            raise ValueError(f"{cls.__name__} trains on {cls.trains_on.holds}, data={data.name} holds {data.holds}")

    @property
    def total_steps(self) -> int:
        """Training steps of the whole run, from the data and not from Lightning's loader."""
        limit = self.trainer.max_steps
        epochs = self.trainer.max_epochs
        if epochs is None or epochs < 0:
            return limit
        steps = self.data.steps_per_epoch * epochs
        return steps if limit < 0 else min(steps, limit)

    def check_finite(self, loss: Tensor, pairs: Pairs) -> None:
        """Stop before a NaN reaches the weights.

        Raises:
            FloatingPointError: names the step, the loss and the rows of the data that were in the batch.
        """
        if not torch.isfinite(loss):
            rows = pairs.row.tolist()
            raise FloatingPointError(
                f"the loss is {loss.item()} at training batch {self.batches_seen} (epoch {self.current_epoch});"
                f" rows of the training data in it: {rows[:20]}{' ...' if len(rows) > 20 else ''};"
                " the last good checkpoint is kept"
            )

    def log_terms(self, prefix: str, terms: Mapping[str, Tensor], rows: int) -> None:
        """Log scalars as ``prefix/name``, averaged over the epoch's rows in validation."""
        in_training = prefix == "train"
        self.log_dict(
            {f"{prefix}/{name}": value.detach() for name, value in terms.items()},
            on_step=in_training,
            on_epoch=not in_training,
            batch_size=rows,
            prog_bar=False,
            # Every rank holds the value of the whole global batch already.
            sync_dist=False,
        )

    # ---- resuming, bit for bit

    def on_fit_start(self) -> None:
        self.data.batches_seen = self.batches_seen

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        if self._restored_rng is not None:
            # Only now: making a loader's iterator draws from the global generator.
            _set_rng_state(self._restored_rng)
            self._restored_rng = None

    def count_batch(self) -> None:
        """Called at the end of every ``training_step``."""
        self.batches_seen += 1
        self.data.batches_seen = self.batches_seen

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["xsent"] = {
            "batches_seen": self.batches_seen,
            "rng": _rng_state(),
            "config": self.config,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        state = checkpoint["xsent"]
        self.batches_seen = state["batches_seen"]
        self._restored_rng = state["rng"]

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        report = super().load_state_dict(state_dict, strict=False, assign=assign)
        missing = [name for name in report.missing_keys if name in self.state_dict().keys() - self.left_out]
        if missing or report.unexpected_keys:
            raise ValueError(f"checkpoint lacks {missing} and has unknown {report.unexpected_keys}")
        return report


class SentenceRecipe(Recipe[D]):
    """A method that trains an encoder, or something on top of a frozen one.

    Args:
        optimizer, scheduler: as in ``Recipe``.
    """

    @property
    @abstractmethod
    def spaces(self) -> Sequence[str]:
        """Names of the vectors that a sentence has here."""

    @abstractmethod
    def embed(self, sentences: Sequence[str], *, progress: bool) -> dict[str, Tensor]:
        """Vectors (N, D) of the sentences by space, float32, on the CPU."""

    def evaluation(self, evaluator: Evaluator, *, sharded: bool) -> Evaluation:
        tell_cuts(evaluator, self)
        sentences = evaluator.sentences()
        vectors = self.embed_sharded(sentences) if sharded else self.embed(sentences, progress=True)
        return score_spaces(evaluator, vectors)

    def figures(self, evaluator: Evaluator) -> list[str]:
        return [in_space(name, space) for space in self.spaces for name in names_of_vectors(evaluator)]

    def vectors(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        return self.embed(sentences, progress=False)

    def embed_sharded(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """As ``embed``, the work shared among the ranks; every sentence once, all rows on every rank."""
        if world_size() == 1:
            return self.embed(sentences, progress=False)
        mine = range(rank(), len(sentences), world_size())
        vectors = self.embed([sentences[i] for i in mine], progress=False)
        index = torch.tensor(mine, device=self.device)
        return {
            space: gather_by_index(rows.to(self.device), index, len(sentences)).cpu() for space, rows in vectors.items()
        }


def _rng_state() -> dict[str, Any]:
    # Nothing here draws from Python's or numpy's global generators.
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return {"cpu": torch.get_rng_state(), "cuda": cuda}


def _set_rng_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["cpu"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
