"""Vectors of a frozen encoder: every text is embedded once, whatever runs ask for it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from xsent.batch import FileEmbedder
from xsent.data.store import cached_arrays, digest_of_texts

log = logging.getLogger(__name__)


class EmbeddingStore:
    """Memory-mapped vectors in ``cache_dir``, keyed by the encoder's digest and the texts'."""

    def __init__(self, cache_dir: Path) -> None:
        self.cache_dir = cache_dir

    def vectors(self, texts: Sequence[str], embedder: FileEmbedder) -> NDArray[np.float32]:
        """Vectors (N, D) float32 of the texts, row i for text i, mapped read-only.

        The key covers weights, tokenizer, pooling, prompt and length: a trained encoder never gets
        the vectors of the one it was.
        """
        key = hashlib.sha256(f"{embedder.digest()} {digest_of_texts(texts)}".encode()).hexdigest()

        def make(folder: Path) -> None:
            log.info("embedding %s texts, once: they are kept in %s", f"{len(texts):,}", self.cache_dir)
            embedder.encode(texts, progress=True, out=folder / "vectors.npy")

        arrays = cached_arrays(self.cache_dir, "embeddings", key, make)
        return cast("NDArray[np.float32]", arrays["vectors"])
