"""Base class of encoders with token embeddings: pooling, projections, normalisation, text preprocessing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from xsent.models.encoders.base import Encoder
from xsent.models.encoders.laser_normalization import normalize_laser
from xsent.models.encoders.sentence_transformers_folder import Truncate
from xsent.models.pooling import POOLING
from xsent.similarity import unit

POOLER = "pooler"  # the checkpoint's own layer on top of [CLS]
PREPROCESSING: dict[str, Callable[[str], str]] = {"none": str, "laser": normalize_laser}
PROJECTED_POOLINGS = ("max", "mean")  # of token embeddings after a token projection


@dataclass(kw_only=True, eq=False, repr=False)
class PooledEncoder(Encoder):
    """Pools the token embeddings of a transformer, then projects and normalises."""

    name: str
    transformer: PreTrainedModel  # gives token embeddings
    pooling: Sequence[str]  # names of `POOLING` or `pooler`; several are concatenated
    projection: nn.Sequential  # maps the pooled vector; an empty one does nothing
    max_length: int = field()  # tokens after which a sentence is truncated, special ones included
    normalize: bool  # whether vectors get length one
    preprocessing: str = field(init=False, default="none")

    def __post_init__(self) -> None:
        for pool in self.pooling:
            if pool not in {*POOLING, POOLER}:
                raise ValueError(f"encoder.pooling={pool}: expected one of {', '.join([*POOLING, POOLER])}")
        if POOLER in self.pooling and getattr(self.transformer, "pooler", None) is None:
            raise ValueError(f"encoder.pooling=pooler: {type(self.transformer).__name__} of {self.name} has no pooler")
        self.pooling = tuple(self.pooling)
        self.token_projection: nn.Linear | None = None
        self._can_switch_attention = True
        self._drop_unused_pooler()
        linear = [layer for layer in self.projection if isinstance(layer, nn.Linear)]
        self.dim = linear[-1].out_features if linear else self.transformer.config.hidden_size * len(self.pooling)

    def _truncate_dim(self, dim: int) -> None:
        self.projection.append(Truncate(self.dim, dim))

    @property
    def is_truncated(self) -> bool:
        """Whether ``truncate_dim`` has shortened the vectors."""
        return any(isinstance(layer, Truncate) for layer in self.projection)

    def set_preprocessing(self, preprocessing: str) -> None:
        """Normalise every sentence, but not the prompt, with a function of ``PREPROCESSING``."""
        if preprocessing not in PREPROCESSING:
            raise ValueError(f"preprocessing={preprocessing}: expected one of {', '.join(PREPROCESSING)}")
        self.preprocessing = preprocessing

    def preprocess(self, sentences: Sequence[str]) -> Sequence[str]:
        """Apply the preprocessing; without prompt."""
        if self.preprocessing == "none":
            return sentences
        return [PREPROCESSING[self.preprocessing](sentence) for sentence in sentences]

    def project_tokens(self, dim: int, *, pooling: str, seed: int) -> None:
        """Map each token embedding by a matrix W without bias, then pool: pooling(W h_1, ..., W h_T).

        This replaces the encoder's pooling, projection and normalisation. All real tokens are pooled, the special ones
        included. The maximum of projected embeddings differs from the projection of their maximum.

        Args:
            dim: new size of the sentence embeddings.
            pooling: ``max`` or ``mean``.
            seed: of W, drawn from a normal distribution of standard deviation 1 / sqrt(D of the transformer).

        Source:
            Nishimwe et al. 2024, the student of RoLASER.
        """
        if pooling not in PROJECTED_POOLINGS:
            raise ValueError(f"projection.pooling={pooling}: expected one of {', '.join(PROJECTED_POOLINGS)}")
        if dim < 1:
            raise ValueError(f"vectors of size {dim}: expected 1 or more")
        if self.is_truncated:
            raise ValueError(
                f"encoder.dim={self.dim}: recipe.projection gives the vectors the teacher's size, {dim}; truncate the"
                " trained encoder, or set recipe.projection=null"
            )
        size = self.transformer.config.hidden_size
        weight = torch.randn(dim, size, generator=torch.Generator().manual_seed(seed)) * size**-0.5
        # On the device "meta" the layer's own initialisation draws nothing from the run's random numbers.
        self.token_projection = nn.Linear(size, dim, bias=False, device="meta")
        self.token_projection.weight = nn.Parameter(weight.to(self.device))
        self.pooling = (pooling,)
        self.projection = nn.Sequential()
        self.normalize = False
        self.dim = dim
        self._drop_unused_pooler()

    def settings(self) -> dict[str, object]:
        settings: dict[str, object] = {
            "class": type(self).__name__,
            "transformer": type(self.transformer).__name__,
            "pooling": list(self.pooling),
            "projection": [repr(layer) for layer in self.projection],
            "max_length": self.max_length,
            "normalize": self.normalize,
        }
        # Only where there is one, so that the digests of other encoders, and their cached vectors, stay valid.
        return settings if self.token_projection is None else settings | {"token_projection": self.dim}

    def _pool_outputs(self, attention_mask: Tensor | None, mask: Tensor, **inputs: Tensor) -> Tensor:
        """Sentence embeddings (B, D); ``attention_mask`` is None where ``mask`` (B, T) is all ones."""
        with self.fastest_attention():
            output = self.transformer(attention_mask=attention_mask, **inputs)
        token_embeddings = output.last_hidden_state  # (B, T, D of the transformer)
        if self.token_projection is not None:
            token_embeddings = self.token_projection(token_embeddings.to(self.token_projection.weight.dtype))
        # Pooled in float32, because a sum in bfloat16 loses digits.
        token_embeddings = _at_least_float32(token_embeddings)
        parts = [
            _at_least_float32(output.pooler_output) if pool == POOLER else POOLING[pool](token_embeddings, mask)
            for pool in self.pooling
        ]
        pooled = torch.cat(parts, dim=-1)  # (B, D of a token embedding times the number of poolings)
        for layer in self.projection:
            pooled = layer(pooled.to(layer.weight.dtype) if isinstance(layer, nn.Linear) else pooled)
            pooled = _at_least_float32(pooled)
        return unit(pooled) if self.normalize else pooled

    @contextmanager
    def fastest_attention(self) -> Iterator[None]:
        """Use the fastest attention kernels of the device in a ``with`` block around a single forward pass.

        A single pass, so that gradient checkpointing, which repeats it, uses the same kernels again.
        """
        kernel = self.transformer.config._attn_implementation
        if self.device.type != "cpu" or kernel != "sdpa" or not self._can_switch_attention:
            yield
            return
        # Measured with short sentences on a CPU: two matrix products beat the fused kernel by a fifth in `encode` and
        # by 2 to 7 percent in training; switching there and back takes half a millisecond.
        self.transformer.set_attn_implementation("eager")
        # A model with code of its own may refuse with a warning: try only once.
        self._can_switch_attention = self.transformer.config._attn_implementation == "eager"
        try:
            yield
        finally:
            self.transformer.set_attn_implementation(kernel)

    def _drop_unused_pooler(self) -> None:
        if POOLER not in self.pooling and getattr(self.transformer, "pooler", None) is not None:
            # It would cost time, and its weights, if random, would change the digest.
            self.transformer.pooler = None  # type: ignore[assignment]


def _at_least_float32(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
