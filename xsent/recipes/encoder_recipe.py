"""Base class of recipes that train an encoder: vectors, files, frozen parts, adapters."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from xsent.batch import Tokens
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.models import freezing
from xsent.models.encoders.base import Encoder
from xsent.models.gradient_cache import embed_chunked
from xsent.models.lora import Lora, merge_adapters, merged
from xsent.recipes.base import D, SentenceRecipe
from xsent.recipes.encoder_folder import save_encoder

PREFIX = "encoder."  # of the encoder's weights in a checkpoint


@dataclass(kw_only=True, eq=False, repr=False)
class EncoderRecipe(SentenceRecipe[D]):
    """A recipe that trains an encoder; parts of it may be frozen, or all of its transformer but LoRA's adapters.

    Optimizer and checkpoints omit frozen parts. A checkpoint stores their digest and is refused by an encoder with
    other frozen weights. A saved or loaded encoder has the adapters merged into its weights.

    Raises:
        ValueError: ``micro_batch_size`` is less than 1, or ``freeze`` or ``lora`` does not fit the encoder.
        ImportError: ``lora`` needs peft.
    """

    spaces = ("original",)
    trained_space = "original"

    encoder: Encoder  # to train
    # `embeddings` and `layers` for `xsent.models.freezing.freeze`; `field()`, since Lightning's method would be the
    # default.
    freeze: InitVar[Mapping[str, Any]] = field()
    lora: Lora
    micro_batch_size: int | None  # pairs whose activations are in memory at a time (a second forward pass); None: all
    tokenizer_sentences: int  # per language, to train a tokenizer if the encoder has none

    def __post_init__(self, freeze: Mapping[str, Any]) -> None:
        super().__post_init__()
        if self.micro_batch_size is not None and self.micro_batch_size < 1:
            raise ValueError(
                f"recipe.micro_batch_size={self.micro_batch_size}: expected a number of pairs, or null for all"
            )
        freezing.freeze(self.encoder, **freeze)
        self.lora.add_adapters(self.encoder)
        self.omitted_weights = {PREFIX + name for name in freezing.frozen_names(self.encoder)}
        # Computed once: hashing a large table takes seconds.
        self._frozen_digest = freezing.frozen_digest(self.encoder) if self.omitted_weights else ""

    @property
    def chunk_sentences(self) -> int | None:
        """Sentences whose activations are in memory at a time; None: all."""
        return None if self.micro_batch_size is None else 2 * self.micro_batch_size

    def prepare(self, data: Any, store: EmbeddingStore) -> None:
        self.encoder.fit_tokenizer(data.training_sentences(self.tokenizer_sentences))
        data.tokenize(self.encoder)

    def embed(self, sentences: Sequence[str], *, progress: bool) -> dict[str, Tensor]:
        return {"original": self.encoder.encode(sentences, show_progress=progress)}

    def embed_sides(self, *sides: Tokens) -> tuple[Tensor, ...]:
        """Vectors of each side's sentences with gradient: (B, D) each."""
        # All sides together: more sentences of one length share a forward pass.
        masks = [side.attention_mask.bool() for side in sides]
        ids = torch.cat([side.input_ids[mask] for side, mask in zip(sides, masks, strict=True)])
        lengths = torch.cat([mask.sum(dim=1) for mask in masks])
        return embed_chunked(self.encoder, ids, lengths, chunk_size=self.chunk_sentences).tensor_split(len(sides))

    @property
    def can_save_encoder(self) -> bool:
        return self.encoder.can_save

    def save_encoder(self, folder: Path) -> None:
        save_encoder(merged(self.encoder), folder)

    def on_fit_start(self) -> None:
        super().on_fit_start()
        # Lightning keeps the mode of a loaded encoder, evaluation, which has no dropout. Frozen modules are set to
        # evaluation after its check that no module is left in that mode by mistake.
        nn.Module.train(self.encoder)

    def on_train_start(self) -> None:
        super().on_train_start()
        self.encoder.train()

    # ---- checkpoints

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        _load_trained(self.encoder, state_dict)

    @classmethod
    def trained_model(cls, encoder: Encoder, checkpoint: Mapping[str, Any]) -> Encoder:
        options = checkpoint["xsent"]["config"]["recipe"]
        freezing.freeze(encoder, **options["freeze"])
        if (lora := options.get("lora")) is not None:  # runs of earlier versions have none
            Lora(**{name: value for name, value in lora.items() if name != "_target_"}).add_adapters(encoder)
        digest = freezing.frozen_digest(encoder) if freezing.frozen_names(encoder) else ""
        _check_frozen(encoder, digest, checkpoint)
        cls.reshape_encoder(encoder, options, checkpoint["state_dict"])
        _load_trained(encoder, checkpoint["state_dict"])
        merge_adapters(encoder)
        return encoder.eval()

    @classmethod
    def reshape_encoder(cls, encoder: Encoder, options: Mapping[str, Any], state_dict: Mapping[str, Any]) -> None:
        """Change an encoder as the recipe with these options did before training, so that the weights fit."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        for name in self.omitted_weights:
            checkpoint["state_dict"].pop(name, None)  # a projection may have removed the pooler
        checkpoint["xsent"]["frozen"] = self._frozen_digest

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        _check_frozen(self.encoder, self._frozen_digest, checkpoint)
        super().on_load_checkpoint(checkpoint)


def _load_trained(encoder: Encoder, state_dict: Mapping[str, Any]) -> None:
    """Load the trained weights of a checkpoint into an encoder whose frozen parts it omits."""
    names = freezing.frozen_names(encoder)
    frozen = {name: value for name, value in encoder.state_dict().items() if name in names}
    weights = {name.removeprefix(PREFIX): value for name, value in state_dict.items() if name.startswith(PREFIX)}
    encoder.load_state_dict(frozen | weights)


def _check_frozen(encoder: Encoder, digest: str, checkpoint: Mapping[str, Any]) -> None:
    trained_with = checkpoint["xsent"]["frozen"]
    if trained_with != digest:
        raise ValueError(
            f"the checkpoint was trained on top of frozen weights with digest {trained_with[:16] or 'of none'},"
            f" those of {encoder.name} have {digest[:16] or 'none'}: another base model"
        )
