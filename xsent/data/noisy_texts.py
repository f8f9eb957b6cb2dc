"""A noisy copy of a corpus, made once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xsent.data.store import cached_arrays, digest_of_texts
from xsent.text.noise import Noiser, noise_all

log = logging.getLogger(__name__)


def noisy_texts(
    texts: Sequence[str], keys: Sequence[int], noiser: Noiser, *, cache_dir: Path, workers: int
) -> list[str]:
    """Text i with noise of key i; from the cache when the same noise met the same texts before.

    Args:
        texts: N sentences.
        keys: N numbers that tell them apart, a function of the text.
        noiser: makes the noise.
        cache_dir: of all caches.
        workers: processes; their number changes nothing.
    """
    key = hashlib.sha256(f"{noiser.digest()} {digest_of_texts(texts)}".encode()).hexdigest()

    def make(folder: Path) -> None:
        log.info("making %s sentences noisy", f"{len(texts):,}")
        noised = noise_all(noiser, texts, keys, workers=workers)
        raw = [one.text.encode("utf-8", "surrogatepass") for one in noised]
        np.save(folder / "bytes.npy", np.frombuffer(b"".join(raw), dtype=np.uint8))
        np.save(folder / "ends.npy", np.cumsum([len(one) for one in raw], dtype=np.int64))
        np.save(folder / "untouched.npy", np.array([sum(not one.applied for one in noised)], dtype=np.int64))

    arrays = cached_arrays(cache_dir, "noise", key, make)
    untouched = int(arrays["untouched"][0])
    log.info("noise: %s of %s sentences were left as they are", f"{untouched:,}", f"{len(texts):,}")
    everything, ends = arrays["bytes"].tobytes(), arrays["ends"].tolist()
    starts = [0, *ends[:-1]]
    return [everything[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]
