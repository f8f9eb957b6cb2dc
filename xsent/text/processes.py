"""Several processes that work through chunks of text: what comes out is in order, and bounded."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

AHEAD = 2  # chunks that wait for each process, so that none is idle; what is in memory is bounded with it

C = TypeVar("C")
R = TypeVar("R")


def processes(workers: int | None) -> int:
    """The number of processes; of None, the cores that this one may use.

    Raises:
        ValueError: it is below 1.
    """
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"workers={workers}: expected at least 1")
    return workers


def each_in_order(
    work: Callable[[C], R],
    chunks: Iterable[C],
    *,
    workers: int,
    doing: str,
    begin: Callable[..., None] | None = None,
    given: tuple[Any, ...] = (),
) -> Generator[R]:
    """What ``work`` makes of each chunk, by other processes; of all chunks only a few are held at a time.

    Args:
        work: can be sent to another process.
        chunks: read as they are needed.
        workers: how many processes.
        doing: what they do, for a message: "makes noise".
        begin: called once in each process, with ``given``.
        given: is sent to each process once.

    Raises:
        ChildProcessError: a process was killed, or could not begin.
    """
    # Threads of this process (torch has some) make forking unsafe: processes start from nothing.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(begin, given))
    waiting: deque[Future[R]] = deque()
    try:
        for chunk in chunks:
            waiting.append(pool.submit(work, chunk))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            f"a process that {doing} ended early: it was killed (for want of memory?), or the script that started"
            ' it lacks `if __name__ == "__main__":`; workers=1 needs no other process'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


# ---- in the other processes


def _begin(begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    # Ctrl-C reaches every process of a terminal: the first one ends the others, and says so once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
