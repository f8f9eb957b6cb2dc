"""Base classes of recipes: optimizer and schedule, evaluation, exact resuming, stop at the first NaN."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from xsent.batch import Embedder, PairJudge, Pairs
from xsent.config_checks import UsageError
from xsent.data.modules.base import TrainingData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_by_index, gather_rows, rank, world_size
from xsent.evaluation.evaluator import Evaluation, Evaluator, add_space, as_pair_evaluator, score_spaces

OptimizerFactory = Callable[[Iterable[Any]], Optimizer]  # of parameters, or of groups of them
SchedulerFactory = Callable[..., LRScheduler]  # (optimizer, total_steps=...)

D = TypeVar("D", bound=TrainingData)


@dataclass(kw_only=True, eq=False, repr=False)
class Recipe(pl.LightningModule, ABC, Generic[D]):
    """A training method; the options of each recipe are its fields."""

    data_class: ClassVar[type[TrainingData]]  # to train on
    # Space whose vectors training changes, "" for a judge of pairs; None if the figures of a run have the start's.
    trained_space: ClassVar[str | None] = ""

    # ``load_state_dict`` below checks the names, because ``omitted_weights`` are missing on purpose.
    strict_loading = False

    optimizer: OptimizerFactory  # called with the parameters to train
    scheduler: SchedulerFactory | None  # called with the optimizer and ``total_steps``; None: constant learning rate
    # Training batches over all epochs; determines the position of the sampler. Lightning's own loader state restarts
    # silently when a schedule asks for the number of steps.
    batches_seen: int = field(init=False, default=0)
    omitted_weights: set[str] = field(init=False, default_factory=set)  # names of weights that checkpoints omit
    config: dict[str, Any] = field(init=False, default_factory=dict)  # resolved, secrets masked; stored in checkpoints
    start_digest: str = field(init=False, default="")  # of the encoder before training; stored in checkpoints
    _restored_rng: dict[str, Tensor] | None = field(init=False, default=None)  # of all ranks
    # After the last step, where it ends no epoch.
    _final_rng: dict[str, Tensor] | None = field(init=False, default=None)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        recipe = super().__new__(cls)
        # A module must be initialised before the generated ``__init__`` assigns its encoder.
        pl.LightningModule.__init__(recipe)
        return recipe

    def __post_init__(self) -> None:
        # Fail now on wrong options, not after the data have been embedded.
        probe = self.optimizer([torch.nn.Parameter(torch.zeros(1))])
        if self.scheduler is not None:
            self.scheduler(probe, total_steps=100)

    # ---- defined by a recipe

    @classmethod
    def check_evaluator(cls, evaluator: Evaluator) -> None:
        """Raise ``ValueError`` if the evaluator cannot score this recipe."""

    @abstractmethod
    def evaluation(self, evaluator: Evaluator, *, sharded: bool) -> Evaluation:
        """Score the current weights.

        Args:
            evaluator: accepted by ``check_evaluator``.
            sharded: split the work over the ranks, without a progress bar; all ranks get the same result.
        """

    @contextmanager
    def eval_mode(self) -> Iterator[None]:
        """Evaluation mode without gradients in a ``with`` block; restores each module's own mode afterwards."""
        modes = [(module, module.training) for module in self.modules()]
        self.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            for module, training in modes:
                module.training = training

    def metric_names(self, evaluator: Evaluator) -> list[str]:
        """Names of the metrics of ``evaluation``, known before training; here those of a judge of pairs."""
        tags_words = bool(getattr(self.encoder, "tags_words", False))
        return as_pair_evaluator(evaluator).pair_metric_names(tags_words=tags_words)

    def vectors(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """Vectors (N, D) of the sentences by space, for pictures; empty if the model has no sentence vectors."""
        return {}

    @abstractmethod
    def prepare(self, data: D, store: EmbeddingStore) -> None:
        """Tokenise or embed the data for training."""

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        """Load the parts of a checkpoint that ``prepare`` needs, such as a trained tokenizer."""

    def prepare_resume(self, state: Mapping[str, Any]) -> None:
        """Take the state of the checkpoint to resume, so that ``prepare`` can check that it fits.

        Raises:
            UsageError: an earlier version of xsent saved it.
        """
        if "start_digest" not in state:
            raise UsageError("the checkpoint to resume is of an earlier version of xsent: use it, or start a new run")
        self.start_digest = state["start_digest"]

    @classmethod
    @abstractmethod
    def trained_model(cls, encoder: Any, checkpoint: Mapping[str, Any]) -> Embedder | PairJudge:
        """Model with the weights of a checkpoint, ready to encode sentences or to judge pairs.

        Only plain options of the stored recipe are read: a checkpoint builds no optimizer, loss or teacher.

        Args:
            encoder: that of the checkpoint's config, as it is before training.
            checkpoint: of a run of this recipe.
        """

    @property
    def can_save_encoder(self) -> bool:
        """Whether ``save_encoder`` is supported."""
        return False

    def save_encoder(self, folder: Path) -> None:
        """Write the trained encoder.

        Raises:
            ValueError: this recipe trains no encoder that works alone.
            UsageError: the folder holds something else than a saved encoder.
            OSError: the disk is full; an earlier encoder there is unchanged.
        """
        raise ValueError(f"{type(self).__name__} trains no encoder to save; use xsent.load_encoder on the run")

    # ---- optimisation

    def trainable_parameters(self) -> list[torch.nn.Parameter]:
        """Parameters of the main optimizer."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    def parameter_groups(self) -> list[Any]:
        """What the main optimizer gets: parameters, or groups of them as dicts with options of their own."""
        return self.trainable_parameters()

    def configure_optimizers(self) -> Any:
        optimizer = self.optimizer(self.parameter_groups())
        if self.scheduler is None:
            return optimizer
        scheduler = self.scheduler(optimizer, total_steps=self.total_steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    @property
    def data(self) -> D:
        """The data module of the trainer."""
        return cast(D, self.trainer.datamodule)  # type: ignore[attr-defined]

    @classmethod
    def check_data(cls, data: TrainingData) -> None:
        """Raise ``ValueError`` if this recipe cannot train on the data."""
        if not isinstance(data, cls.data_class):
            raise UsageError(
                f"{cls.__name__} trains on {cls.data_class.description}, data={data.name} holds {data.description};"
                f" choose {cls.data_class.choice}"
            )

    @property
    def total_steps(self) -> int:
        """Optimizer steps of the whole run, computed from the data instead of Lightning's loader."""
        limit = self.trainer.max_steps
        epochs = self.trainer.max_epochs
        if epochs is None or epochs < 0:
            return limit
        # The last step of an epoch may have fewer accumulated gradients.
        steps = math.ceil(self.data.steps_per_epoch / self.trainer.accumulate_grad_batches) * epochs
        return steps if limit < 0 else min(steps, limit)

    def check_finite(self, loss: Tensor, pairs: Pairs) -> None:
        """Stop before a NaN reaches the weights.

        Raises:
            FloatingPointError: names the step, the loss and the data rows of the batch.
        """
        if not torch.isfinite(loss):
            rows = pairs.row.tolist()
            raise FloatingPointError(
                f"the loss is {loss.item()} at step {self.batches_seen + 1} (epoch {self.current_epoch + 1});"
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
            # Every rank already holds the value of the global batch.
            sync_dist=False,
        )

    def finish_step(self, loss: Tensor, terms: Mapping[str, Tensor], pairs: Pairs) -> Tensor:
        """Check, log and count a training batch; return its loss."""
        self.check_finite(loss, pairs)
        self.log_terms("train", {"loss": loss, **terms}, len(pairs.row))
        self.count_batch()
        return loss

    # ---- exact resuming

    def on_fit_start(self) -> None:
        self.data.batches_seen = self.batches_seen
        if self.batches_seen % self.data.steps_per_epoch == 0:
            self._restore_rng()  # saved between two epochs: the loader of the next one draws its seed afterwards

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        self._restore_rng()  # saved within an epoch, after its loader had drawn its seed

    def _restore_rng(self) -> None:
        if self._restored_rng is None:
            return
        # A rank that the saved run did not have takes the state of another one. A copy: torch 2.13 crashes on a view.
        state = {name: rows[rank() % len(rows)].clone() for name, rows in self._restored_rng.items()}
        torch.set_rng_state(state["cpu"])
        if self.device.type == "cuda" and len(state["cuda"]):
            torch.cuda.set_rng_state(state["cuda"], self.device)
        self._restored_rng = None

    def _rng_state(self) -> dict[str, Tensor]:
        """States of this rank's generators: (S,) uint8 each. Training does not use those of Python and numpy."""
        on_gpu = self.device.type == "cuda"
        cuda = torch.cuda.get_rng_state(self.device) if on_gpu else torch.zeros(0, dtype=torch.uint8)
        return {"cpu": torch.get_rng_state(), "cuda": cuda}

    def count_batch(self) -> None:
        """Called at the end of every ``training_step``."""
        self.batches_seen += 1
        self.data.batches_seen = self.batches_seen

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        if 0 <= self.trainer.max_steps <= self.trainer.global_step:
            self.trainer.should_stop = True  # otherwise Lightning ends within an epoch without validation
            if self.batches_seen % self.data.steps_per_epoch:
                # This validation, which a longer run has not, draws from the generators.
                self._final_rng = self._rng_state()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        rank_states = self._final_rng or self._rng_state()
        # The ranks draw different amounts: (W, S).
        states = {name: gather_rows(state[None].to(self.device)).cpu() for name, state in rank_states.items()}
        rng = self._restored_rng or states  # restored, but no batch was trained since
        state = {"batches_seen": self.batches_seen, "rng": rng, "config": self.config}
        about = {"training_data": self.data.summary(), "start_digest": self.start_digest}
        checkpoint["xsent"] = state | about
        if self.batches_seen % self.data.steps_per_epoch:
            # ``trainer.max_steps`` may end training within an epoch, which Lightning counts as complete.
            for progress in checkpoint["loops"]["fit_loop"]["epoch_progress"].values():
                progress["processed"] = progress["started"] - 1

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        state = checkpoint["xsent"]
        self.batches_seen = state["batches_seen"]
        self._restored_rng = state["rng"]

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        report = super().load_state_dict(state_dict, strict=False, assign=assign)
        missing = [name for name in report.missing_keys if name in self.state_dict().keys() - self.omitted_weights]
        if missing or report.unexpected_keys:
            raise ValueError(f"checkpoint lacks {missing} and has unknown {report.unexpected_keys}")
        return report


class SentenceRecipe(Recipe[D]):
    """A recipe for sentence vectors: trains an encoder, or heads on a frozen one."""

    spaces: ClassVar[Sequence[str]]  # names of the vectors of a sentence

    @abstractmethod
    def embed(self, sentences: Sequence[str], *, progress: bool) -> dict[str, Tensor]:
        """Vectors (N, D) of the sentences by space, float32, on the CPU."""

    def evaluation(self, evaluator: Evaluator, *, sharded: bool) -> Evaluation:
        evaluator.bind_encoder(self)
        sentences = evaluator.sentences()
        vectors = self.embed_sharded(sentences) if sharded else self.embed(sentences, progress=True)
        return score_spaces(evaluator, vectors)

    def metric_names(self, evaluator: Evaluator) -> list[str]:
        names = [add_space(name, space) for space in self.spaces for name in evaluator.metric_names()]
        return names + evaluator.metric_names_between(self.spaces)

    def vectors(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        return self.embed(sentences, progress=False)

    def embed_sharded(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """``embed`` with the work split over the ranks; every rank gets all rows."""
        if world_size() == 1:
            return self.embed(sentences, progress=False)
        shard = range(rank(), len(sentences), world_size())
        vectors = self.embed([sentences[i] for i in shard], progress=False)
        index = torch.tensor(shard, device=self.device)
        return {
            space: gather_by_index(rows.to(self.device), index, len(sentences)).cpu() for space, rows in vectors.items()
        }
