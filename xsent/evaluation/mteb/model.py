"""Adapter of our encoders to the model interface of ``mteb``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import Embedder
from xsent.evaluation.evaluator import base_encoder
from xsent.evaluation.mteb.task_data import quiet_mteb
from xsent.similarity import check_finite, cos_sim, encoder_name, pairwise_cos_sim

Vectors = NDArray[np.float32]  # as other models of mteb return them


@dataclass(eq=False)
class MtebModel:
    """Model for ``mteb.evaluate(MtebModel.of(...), tasks)``; implements its ``EncoderProtocol``.

    Prompts of ``mteb`` are ignored: our encoders have their own.

    Args:
        vectors: texts -> vectors (N, D).
        mteb_model_meta: ``ModelMeta`` of ``mteb``: name, revision etc.
    """

    vectors: Callable[[Sequence[str]], Vectors]
    mteb_model_meta: Any

    @classmethod
    def of(cls, embedder: Embedder, *, name: str, space: str | None = None) -> MtebModel:
        """Model of an encoder or a run, named ``xsent/<name>``.

        Args:
            embedder: result of ``xsent.load_encoder``, or an encoder.
            space: of a run with heads: meaning | language | original; None: the encoder's default.

        Raises:
            ImportError: ``mteb`` is not installed.
        """
        return cls(numpy_encode(embedder, space), model_meta(embedder, name=name, space=space))

    def encode(self, inputs: Any, **_: Any) -> Vectors:
        """Vectors (N, D) of N texts in batches."""
        return self.vectors([text for batch in inputs for text in batch["text"]])

    def similarity(self, a: Vectors | Tensor, b: Vectors | Tensor) -> Tensor:
        """Cosines (M, N)."""
        return cos_sim(torch.as_tensor(a), torch.as_tensor(b))

    def similarity_pairwise(self, a: Vectors | Tensor, b: Vectors | Tensor) -> Tensor:
        """Cosines (N,)."""
        return pairwise_cos_sim(torch.as_tensor(a), torch.as_tensor(b))


def numpy_encode(embedder: Embedder, space: str | None) -> Callable[[Sequence[str]], Vectors]:
    """Function from texts to vectors (N, D) in one space, with a progress bar."""
    options: dict[str, Any] = {} if space is None else {"space": space}
    encode: Callable[..., Tensor] = embedder.encode

    def checked_encode(texts: Sequence[str]) -> Vectors:
        vectors = encode(list(texts), show_progress=True, **options).float()
        check_finite(vectors, encoder_name(embedder), texts=texts)
        return vectors.numpy(force=True)

    return checked_encode


@dataclass
class CachedEncoding:
    """Cache of vectors: each text is encoded once.

    Metrics of ``mteb`` and ours are then computed from bit-identical vectors, which other batches need not give.
    """

    encode: Callable[[Sequence[str]], Vectors]  # texts -> vectors (N, D)
    _vector_of: dict[str, Vectors] = field(default_factory=dict)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._vector_of]
        if new:
            self._vector_of.update(zip(new, self.encode(new), strict=True))
        return np.stack([self._vector_of[text] for text in texts])


def model_meta(embedder: Embedder, *, name: str, space: str | None) -> Any:
    """``ModelMeta`` of an encoder; unknown fields, such as its languages, are None."""
    with quiet_mteb():
        from mteb.models import ModelMeta
        from mteb.similarity_functions import ScoringFunction

    encoder = base_encoder(embedder)
    heads = getattr(embedder, "heads", None)
    head = getattr(heads, space or "meaning", None)  # the default of encode; none of original
    modules = [part for part in (encoder, head) if isinstance(part, torch.nn.Module)]
    linear = [layer for layer in head.modules() if isinstance(layer, torch.nn.Linear)] if head else []
    return ModelMeta.create_empty(
        {
            "name": f"xsent/{name}",
            "revision": embedder.digest() if space is None else f"{embedder.digest()}-{space}",
            "framework": ["PyTorch"],
            "embed_dim": linear[-1].out_features if linear else getattr(encoder, "dim", None),
            "max_tokens": getattr(encoder, "max_length", None),
            "n_parameters": sum(value.numel() for module in modules for value in module.parameters()) or None,
            "similarity_fn_name": ScoringFunction.COSINE,
            "use_instructions": False,
            "modalities": ["text"],
        }
    )
