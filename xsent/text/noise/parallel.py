"""Noise of many sentences on several cores; the number of processes does not change the result."""

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from itertools import chain, islice, tee

from tqdm import tqdm

from xsent.text.multiprocess import map_in_order, worker_count
from xsent.text.noise.noiser import Noiser, NoisySentence

CHUNK = 2048  # sentences per task: a tenth of a second, and a few hundred kilobytes

Chunk = tuple[Sequence[str], Sequence[int]]  # sentences and their keys


def noise_sentences(
    noiser: Noiser, sentences: Sequence[str], keys: Sequence[int], *, workers: int
) -> list[NoisySentence]:
    """As ``noiser.apply``, in several processes.

    Args:
        noiser: with ``reference_rng`` it runs in this process, as sentences depend on each other.
        sentences, keys: as of ``Noiser.__call__``, equally many.
        workers: number of processes; 1 is this one, and fewer start for few sentences.

    Raises:
        ValueError: sentences and keys differ in number, or ``workers`` is below 1.
    """
    if len(sentences) != len(keys):
        raise ValueError(f"expected a key for each of {len(sentences):,} sentences, found {len(keys):,}")
    starts = range(0, len(sentences), CHUNK)
    chunks = ((sentences[start : start + CHUNK], keys[start : start + CHUNK]) for start in starts)
    noisy: list[NoisySentence] = []
    with tqdm(total=len(sentences), desc="noise", unit=" sentences", delay=2, leave=False) as bar:
        for noisy_chunk in noise_chunks(noiser, chunks, workers=min(workers, len(starts) or 1)):
            noisy += noisy_chunk
            bar.update(len(noisy_chunk))
    return noisy


def noise_chunks(noiser: Noiser, chunks: Iterable[Chunk], *, workers: int) -> Generator[list[NoisySentence]]:
    """The noisy forms of each chunk, in order; chunks are read lazily.

    Raises:
        ValueError: ``workers`` is below 1.
        ChildProcessError: a process was killed or could not start.
    """
    if worker_count(workers) > 1 and not noiser.reference_rng:
        yield from map_in_order(partial(_noise_chunk, noiser), chunks, workers=workers, task="makes noise")
        return
    # One call for all chunks, as with ``reference_rng`` the sequence of draws continues through them.
    for_sizes, for_sentences, for_keys = tee(chunks, 3)
    sentences = chain.from_iterable(sentences for sentences, _ in for_sentences)
    noisy = noiser.apply(sentences, chain.from_iterable(keys for _, keys in for_keys))
    for chunk, _ in for_sizes:
        yield list(islice(noisy, len(chunk)))


def _noise_chunk(noiser: Noiser, chunk: Chunk) -> list[NoisySentence]:
    return list(noiser.apply(*chunk))
