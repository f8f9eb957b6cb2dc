"""The words of many sentence pairs, cut by several processes: any number of them gives the same."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from xsent.text.moses import moses_words
from xsent.text.noise.parallel import end_with_parent

# Nothing here imports torch: a process that cuts words starts at once.

AHEAD = 2  # chunks that wait for each process, so that none is idle; what is in memory is bounded with it

Texts = Sequence[tuple[str, str]]  # sentences, source and target
Words = list[tuple[tuple[str, ...], tuple[str, ...]]]


def words_of(texts: Texts, languages: tuple[str, str]) -> Words:
    """The words of each pair of sentences; every sentence has one, whatever signs it is made of.

    Args:
        texts: no sentence is blank.
        languages: ISO 639-3, of source and target.
    """
    source, target = languages
    return [(_words(one, source), _words(other, target)) for one, other in texts]


def _words(sentence: str, language: str) -> tuple[str, ...]:
    return moses_words(sentence, language) or tuple(sentence.split())


def words_of_chunks(chunks: Iterable[Texts], languages: tuple[str, str], *, workers: int) -> Generator[Words]:
    """``words_of`` each chunk, in order; of all chunks only a few are held at a time.

    Args:
        chunks: read as they are needed.
        languages: as of ``words_of``.
        workers: processes; 1 is this one.

    Raises:
        ChildProcessError: a process was killed, or could not begin.
    """
    if workers == 1:
        for chunk in chunks:
            yield words_of(chunk, languages)
        return
    # Threads of this process (torch has some) make forking unsafe: processes start from nothing.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=end_with_parent)
    waiting: deque[Future[Words]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(words_of, chunk, languages))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a process that cuts words ended early: it was killed (for want of memory?), or the script that started"
            ' it lacks `if __name__ == "__main__":`; workers=1 needs no other process'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
