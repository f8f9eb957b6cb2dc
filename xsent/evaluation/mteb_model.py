"""An encoder as ``mteb`` wants one: texts of a task in, vectors out, and a card that says which encoder it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import Embedder
from xsent.evaluation.mteb_data import quiet_mteb
from xsent.similarity import cos_sim, pairwise_cos_sim

Vectors = NDArray[np.float32]  # as mteb has them from other models


class MtebModel:
    """What ``mteb`` takes for a model (its ``EncoderProtocol``): ``mteb.evaluate(MtebModel.of(...), tasks)``.

    Prompts of ``mteb`` are not used: an encoder of this project brings its own.

    Args:
        vectors: texts -> vectors (N, D).
        meta: ``ModelMeta`` of ``mteb``: name, revision and what else is known.
    """

    def __init__(self, vectors: Callable[[Sequence[str]], Vectors], meta: object) -> None:
        self.vectors = vectors
        self.mteb_model_meta = meta

    @classmethod
    def of(cls, embedder: Embedder, *, name: str, space: str | None = None) -> MtebModel:
        """An encoder or a run.

        Args:
            embedder: what ``xsent.load_encoder`` gives, or an encoder.
            name: of the model, after ``xsent/``.
            space: of a run with heads: meaning | language | original; None: the encoder's own choice.

        Raises:
            ImportError: ``mteb`` is not installed.
        """
        return cls(encoding(embedder, space), model_meta(embedder, name=name, space=space))

    def encode(self, inputs: Any, **_: Any) -> Vectors:
        """Vectors (N, D) of N texts, which come in batches."""
        return self.vectors([text for batch in inputs for text in batch["text"]])

    def similarity(self, a: Vectors | Tensor, b: Vectors | Tensor) -> Tensor:
        """Cosines (M, N)."""
        return cos_sim(torch.as_tensor(a), torch.as_tensor(b))

    def similarity_pairwise(self, a: Vectors | Tensor, b: Vectors | Tensor) -> Tensor:
        """Cosines (N,)."""
        return pairwise_cos_sim(torch.as_tensor(a), torch.as_tensor(b))


def encoding(embedder: Embedder, space: str | None) -> Callable[[Sequence[str]], Vectors]:
    """Texts -> vectors (N, D) of an encoder in one space, with a bar."""
    options: dict[str, Any] = {} if space is None else {"space": space}
    encode: Callable[..., Tensor] = embedder.encode
    return lambda texts: encode(list(texts), progress=True, **options).float().numpy(force=True)


class Remembered:
    """Vectors of texts, each text encoded once, however often and by whomever it is asked for.

    So figures of two programs are of the same vectors to the last bit, which batches of other texts need not give.

    Args:
        encode: texts -> vectors (N, D).
    """

    def __init__(self, encode: Callable[[Sequence[str]], Vectors]) -> None:
        self.encode = encode
        self._vector_of: dict[str, Vectors] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Vectors (N, D)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vector_of]
        if new:
            self._vector_of.update(zip(new, self.encode(new), strict=True))
        return np.stack([self._vector_of[text] for text in texts])


def revision_of(embedder: Embedder, space: str | None) -> str:
    """What tells this encoder from all others: its digest, and the space where one was chosen."""
    return embedder.digest() if space is None else f"{embedder.digest()}-{space}"


def model_meta(embedder: Embedder, *, name: str, space: str | None) -> Any:
    """``ModelMeta`` of an encoder; what is not known of it, such as its languages, is None."""
    with quiet_mteb():
        from mteb.models import ModelMeta
        from mteb.similarity_functions import ScoringFunction

    below: Any = getattr(embedder, "encoder", embedder)  # of a run with heads
    head = getattr(getattr(embedder, "heads", None), space or "meaning", None)  # as encode of runs; none of original
    parameters = [one for part in (below, head) for one in _parameters(part)]
    sizes = [one.out_features for one in head.modules() if isinstance(one, torch.nn.Linear)] if head else []
    size = sizes[-1] if sizes else getattr(below, "dim", None)
    return ModelMeta.create_empty(
        {
            "name": f"xsent/{name}", "revision": revision_of(embedder, space), "framework": ["PyTorch"],
            "embed_dim": size, "max_tokens": getattr(below, "max_length", None),
            "n_parameters": sum(one.numel() for one in parameters) or None,
            "similarity_fn_name": ScoringFunction.COSINE, "use_instructions": False, "modalities": ["text"],
        }
    )  # fmt: skip


def _parameters(part: Any) -> list[Tensor]:
    return list(part.parameters()) if isinstance(part, torch.nn.Module) else []
