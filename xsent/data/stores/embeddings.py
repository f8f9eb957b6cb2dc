"""Store of a frozen encoder's embeddings: every list of texts is embedded once, over all runs."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from xsent.batch import Embedder, MarksLanguages
from xsent.data.stores.array_cache import Layout, cached_arrays, store_key

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EmbeddingStore:
    """Memory-mapped embeddings, keyed by the encoder's digest and the texts."""

    cache_dir: Path

    def vectors(self, texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
        """Vectors (N, D) float32 of the texts in order, memory-mapped read-only.

        Those of an encoder that marks languages are marked anew, in memory, because the key has no languages.
        The encoder's digest covers weights, tokenizer, pooling, prompt and length, so training changes the key.
        """

        def make(folder: Path) -> None:
            log.info("embedding %s texts, stored in %s", f"{len(texts):,}", self.cache_dir)
            embedder.encode(texts, show_progress=True, out=folder / "vectors.npy")

        if isinstance(embedder, MarksLanguages):  # all markings share the vectors without marks
            unmarked = torch.from_numpy(np.array(self.vectors(texts, embedder.unmarked())))
            return embedder.mark(unmarked, texts).numpy()
        layout: Layout = {"vectors": (np.float32, (len(texts), None))}
        arrays = cached_arrays(self.cache_dir, "embeddings", store_key(embedder.digest(), texts), make, layout=layout)
        return cast("NDArray[np.float32]", arrays["vectors"])
