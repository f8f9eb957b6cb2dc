"""Store of noisy copies of a corpus."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from xsent.data.stores.array_cache import cached_arrays, store_key
from xsent.text.noise import Noiser, noise_sentences

log = logging.getLogger(__name__)


def noisy_texts(
    texts: Sequence[str], keys: Sequence[int], noiser: Noiser, *, cache_dir: Path, workers: int
) -> list[str]:
    """Text i with noise of key i; stored, so the same noise of the same texts is made once.

    A key is a function of its text. The result does not depend on the number of worker processes.
    """

    def make(folder: Path) -> None:
        log.info("making %s sentences noisy", f"{len(texts):,}")
        noisy = noise_sentences(noiser, texts, keys, workers=workers)
        raw = [sentence.text.encode("utf-8", "surrogatepass") for sentence in noisy]
        np.save(folder / "bytes.npy", np.frombuffer(b"".join(raw), dtype=np.uint8))
        np.save(folder / "ends.npy", np.cumsum([len(text) for text in raw], dtype=np.int64))
        np.save(folder / "untouched.npy", np.array([sum(not sentence.applied for sentence in noisy)], dtype=np.int64))

    arrays = cached_arrays(cache_dir, "noise", store_key(noiser.digest(), texts), make)
    untouched = int(arrays["untouched"][0])
    log.info("noise: %s of %s sentences were left as they are", f"{untouched:,}", f"{len(texts):,}")
    content, ends = arrays["bytes"].tobytes(), arrays["ends"].tolist()
    return [content[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise([0, *ends])]
