"""Noise of many sentences on several cores: any number of processes gives the same."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, islice, tee

from tqdm import tqdm

from xsent.text.noise.noiser import Noised, Noiser
from xsent.text.processes import each_in_order, processes

CHUNK = 2048  # sentences that go to a process at a time: a tenth of a second, and a few hundred kilobytes

Chunk = tuple[Sequence[str], Sequence[int]]  # sentences and their keys


def noise_all(noiser: Noiser, sentences: Sequence[str], keys: Sequence[int], *, workers: int) -> list[Noised]:
    """The noisy forms of sentences, as ``noiser.noised`` gives them, made by several processes.

    Args:
        noiser: with ``reference_rng`` it works in this process alone, as its sentences depend on each other.
        sentences, keys: as of ``Noiser.__call__``, as many of one as of the other.
        workers: processes; 1 is this one, and few sentences do not start others.

    Raises:
        ValueError: sentences and keys differ in number, or ``workers`` is below 1.
    """
    if len(sentences) != len(keys):
        raise ValueError(f"expected a key for each of {len(sentences):,} sentences, found {len(keys):,}")
    starts = range(0, len(sentences), CHUNK)
    chunks = ((sentences[start : start + CHUNK], keys[start : start + CHUNK]) for start in starts)
    found: list[Noised] = []
    with tqdm(total=len(sentences), desc="noise", unit=" sentences", delay=2, leave=False) as bar:
        for some in noised_chunks(noiser, chunks, workers=min(workers, len(starts) or 1)):
            found += some
            bar.update(len(some))
    return found


def noised_chunks(noiser: Noiser, chunks: Iterable[Chunk], *, workers: int) -> Generator[list[Noised]]:
    """The noisy forms of each chunk, in order; of all chunks only a few are held at a time.

    Args:
        noiser, workers: as of ``noise_all``.
        chunks: read as they are needed.

    Raises:
        ValueError: ``workers`` is below 1.
        ChildProcessError: a process was killed, or could not begin.
    """
    if processes(workers) == 1 or noiser.reference_rng:
        yield from _in_this_process(noiser, chunks)
        return
    yield from each_in_order(_noised, chunks, workers=workers, doing="makes noise", begin=_take_noiser, given=(noiser,))


def _in_this_process(noiser: Noiser, chunks: Iterable[Chunk]) -> Iterator[list[Noised]]:
    """One call for all chunks: with ``reference_rng`` the sequence of draws runs through them."""
    sizes, texts, numbers = tee(chunks, 3)
    sentences = chain.from_iterable(sentences for sentences, _ in texts)
    made = noiser.noised(sentences, chain.from_iterable(keys for _, keys in numbers))
    for chunk, _ in sizes:
        yield list(islice(made, len(chunk)))


# ---- in the other processes

_noiser: Noiser


def _take_noiser(noiser: Noiser) -> None:
    global _noiser
    _noiser = noiser


def _noised(chunk: Chunk) -> list[Noised]:
    return list(_noiser.noised(*chunk))
