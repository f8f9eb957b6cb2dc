"""What encoders with token embeddings share: pooling, a projection after or before it, length one, prepared text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from xsent.models.encoder import Encoder
from xsent.models.laser_text import laser_normalized
from xsent.models.pooling import POOLING
from xsent.similarity import unit

POOLER = "pooler"  # the checkpoint's own layer on top of [CLS]
PREPROCESSING: dict[str, Callable[[str], str]] = {"none": str, "laser": laser_normalized}
AFTER_PROJECTION = ("max", "mean")  # ways to pool token embeddings that were projected


class PooledEncoder(Encoder):
    """Token embeddings of a transformer, pooled, and what may follow: projection, length one.

    Args:
        name: for tables and messages.
        transformer: gives token embeddings.
        pooling: names of ``POOLING`` or ``pooler``; several are concatenated.
        projection: maps the pooled vector; an empty ``nn.Sequential`` does nothing.
        max_length: tokens, special ones included, after which a sentence is cut.
        normalize: whether vectors get length one.

    Raises:
        ValueError: an unknown pooling, or a pooler that the architecture lacks.
    """

    max_length: int

    def __init__(
        self,
        *,
        name: str,
        transformer: PreTrainedModel,
        pooling: Sequence[str],
        projection: nn.Sequential,
        max_length: int,
        normalize: bool,
    ) -> None:
        super().__init__()
        for way in pooling:
            if way not in {*POOLING, POOLER}:
                raise ValueError(f"encoder.pooling={way}: expected one of {', '.join([*POOLING, POOLER])}")
        if POOLER in pooling and getattr(transformer, "pooler", None) is None:
            raise ValueError(f"encoder.pooling=pooler: {type(transformer).__name__} of {name} has no pooler")
        self.name = name
        self.transformer = transformer
        self.pooling = tuple(pooling)
        self.projection = projection
        self.token_projection: nn.Linear | None = None
        self.preprocessing = "none"
        self.max_length = max_length
        self.normalize = normalize
        self._attention_can_change = True
        self._drop_unused_pooler()
        linear = [layer for layer in projection if isinstance(layer, nn.Linear)]
        self.dim = linear[-1].out_features if linear else transformer.config.hidden_size * len(self.pooling)

    def preprocess_as(self, preprocessing: str) -> None:
        """From now on change every sentence before it is tokenised; a prompt stays as it is.

        Args:
            preprocessing: ``laser``, as ``xsent.models.laser_text.laser_normalized``; ``none``.

        Raises:
            ValueError: another name.
        """
        if preprocessing not in PREPROCESSING:
            raise ValueError(f"preprocessing={preprocessing}: expected one of {', '.join(PREPROCESSING)}")
        self.preprocessing = preprocessing

    def preprocessed(self, sentences: Sequence[str]) -> Sequence[str]:
        """The sentences as they are tokenised, without prompt."""
        if self.preprocessing == "none":
            return sentences
        return [PREPROCESSING[self.preprocessing](sentence) for sentence in sentences]

    def project_tokens(self, dim: int, *, pooling: str, seed: int) -> None:
        """From now on map every token embedding, without bias, and pool what comes out.

        This takes the place of the encoder's own pooling, projection and length one: pooling(W h_1, ..., W h_T), over
        the real tokens, those at the beginning and the end included; padding never wins. A maximum of projected
        embeddings is another function than a projected maximum.

        Args:
            dim: size of the vectors from now on.
            pooling: ``max`` or ``mean``.
            seed: of W, drawn from a normal distribution of standard deviation 1 / sqrt(D of the transformer).

        Raises:
            ValueError: another pooling, or ``dim`` less than 1.

        Source:
            Nishimwe et al. 2024, the student of RoLASER.
        """
        if pooling not in AFTER_PROJECTION:
            raise ValueError(f"projection.pooling={pooling}: expected one of {', '.join(AFTER_PROJECTION)}")
        if dim < 1:
            raise ValueError(f"vectors of size {dim}: expected 1 or more")
        size = self.transformer.config.hidden_size
        weight = torch.randn(dim, size, generator=torch.Generator().manual_seed(seed)) * size**-0.5
        # On no device yet: an initialisation of its own would draw from the run's random numbers.
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
        # Named only where there is one: vectors cached by encoders without keep their digest.
        return settings if self.token_projection is None else settings | {"token_projection": self.dim}

    def _vectors(self, attention_mask: Tensor | None, mask: Tensor, **inputs: Tensor) -> Tensor:
        """(B, D) of what the transformer takes; ``attention_mask`` None says that ``mask`` (B, T) is 1 throughout."""
        with self.fastest_attention():
            output = self.transformer(attention_mask=attention_mask, **inputs)
        token_embeddings = output.last_hidden_state  # (B, T, D of the transformer)
        if self.token_projection is not None:
            token_embeddings = self.token_projection(token_embeddings.to(self.token_projection.weight.dtype))
        # Pooled in float32 whatever the transformer computes in: a sum of bfloat16 loses digits.
        token_embeddings = _at_least_float32(token_embeddings)
        parts = [
            _at_least_float32(output.pooler_output) if way == POOLER else POOLING[way](token_embeddings, mask)
            for way in self.pooling
        ]
        pooled = torch.cat(parts, dim=-1)  # (B, D of a token embedding times the number of ways)
        for layer in self.projection:
            pooled = layer(pooled.to(layer.weight.dtype) if isinstance(layer, nn.Linear) else pooled)
            pooled = _at_least_float32(pooled)
        return unit(pooled) if self.normalize else pooled

    @contextmanager
    def fastest_attention(self) -> Iterator[None]:
        """For the transformer's forward pass and nothing else: the kernels that are fastest on its device."""
        # Around a forward pass and nothing else, so that one which is repeated in the backward pass computes the same.
        before = self.transformer.config._attn_implementation
        if self.device.type != "cpu" or before != "sdpa" or not self._attention_can_change:
            yield
            return
        # Short sentences on a CPU: two plain matrix products beat the fused kernel, by a fifth in `encode` and by 2 to
        # 7 percent in training. Both switches together take half a millisecond.
        self.transformer.set_attn_implementation("eager")
        # A model with code of its own may refuse, with a warning: once is enough.
        self._attention_can_change = self.transformer.config._attn_implementation == "eager"
        try:
            yield
        finally:
            self.transformer.set_attn_implementation(before)

    def _drop_unused_pooler(self) -> None:
        if POOLER not in self.pooling and getattr(self.transformer, "pooler", None) is not None:
            # Unused, it would cost time, and where its weights are random make every digest another.
            self.transformer.pooler = None  # type: ignore[assignment]


def _at_least_float32(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
