"""What recipes share that train an encoder itself: its vectors, its files, and parts of it that stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from xsent.models import freezing
from xsent.models.encoder import Encoder
from xsent.recipes.base import D, OptimizerFactory, SchedulerFactory, SentenceRecipe

PREFIX = "encoder."  # of the encoder's weights in a checkpoint


class EncoderRecipe(SentenceRecipe[D]):
    """A method that trains an encoder, whole or less some frozen parts.

    Frozen parts are in no optimizer and in no checkpoint. A checkpoint knows their digest, and is refused by an
    encoder whose own are others.

    Args:
        encoder: what is trained; its vectors are the ones compared.
        freeze: ``embeddings`` and ``layers`` for ``xsent.models.freezing.freeze``.
        micro_batch_size: pairs whose activations are in memory at a time (``embed_in_chunks``); None: all.
        optimizer, scheduler: as in ``Recipe``.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        freeze: Mapping[str, Any],
        micro_batch_size: int | None,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None,
    ) -> None:
        super().__init__(optimizer=optimizer, scheduler=scheduler)
        if micro_batch_size is not None and micro_batch_size < 1:
            raise ValueError(f"recipe.micro_batch_size={micro_batch_size}: expected a number of pairs, or null for all")
        self.encoder = encoder
        self.at_once = None if micro_batch_size is None else 2 * micro_batch_size  # sentences
        freezing.freeze(encoder, **freeze)
        self.left_out = {PREFIX + name for name in freezing.frozen_names(encoder)}
        # Taken now: hashing a large table before every checkpoint would cost seconds each time.
        self._frozen_digest = freezing.frozen_digest(encoder) if self.left_out else ""

    @property
    def spaces(self) -> Sequence[str]:
        return ("original",)

    def embed(self, sentences: Sequence[str], *, progress: bool) -> dict[str, Tensor]:
        return {"original": self.encoder.encode(sentences, progress=progress)}

    @property
    def saves_encoder(self) -> bool:
        return self.encoder.has_files

    def save_encoder(self, folder: Path) -> None:
        self.encoder.save(folder)

    def on_fit_start(self) -> None:
        super().on_fit_start()
        # A loaded encoder is in evaluation mode, and Lightning leaves it there: it would train without dropout.
        self.encoder.train()

    # ---- checkpoints

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        frozen = {name: value for name, value in self.encoder.state_dict().items() if PREFIX + name in self.left_out}
        weights = {name.removeprefix(PREFIX): value for name, value in state_dict.items() if name.startswith(PREFIX)}
        self.encoder.load_state_dict(frozen | weights)

    def trained_encoder(self, checkpoint: Mapping[str, Any]) -> Encoder:
        self._check_frozen(checkpoint)
        self.load_encoder(checkpoint["state_dict"])
        return self.encoder.eval()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        for name in self.left_out:
            del checkpoint["state_dict"][name]
        checkpoint["xsent"]["frozen"] = self._frozen_digest

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._check_frozen(checkpoint)
        super().on_load_checkpoint(checkpoint)

    def _check_frozen(self, checkpoint: Mapping[str, Any]) -> None:
        trained_with = checkpoint["xsent"]["frozen"]
        if trained_with != self._frozen_digest:
            raise ValueError(
                f"the checkpoint was trained on top of frozen weights with digest {trained_with[:16] or 'of none'},"
                f" those of {self.encoder.name} have {self._frozen_digest[:16] or 'none'}: another base model"
            )
