"""Ordered multiprocessing map over chunks of text, with bounded memory."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

QUEUED_CHUNKS = 2  # per process: none waits for work, and memory stays bounded

C = TypeVar("C")
R = TypeVar("R")


def worker_count(workers: int | None) -> int:
    """Validated number of processes; None means all available cores."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise ValueError(f"workers={workers}: expected at least 1")
    return workers


def map_in_order(function: Callable[[C], R], chunks: Iterable[C], *, workers: int, task: str) -> Generator[R]:
    """Apply ``function`` to each chunk in other processes; yield the results in order.

    Args:
        function: picklable.
        chunks: read lazily, a few ahead of the results.
        task: verb phrase for the error message, e.g. ``makes noise``.

    Raises:
        ChildProcessError: a process was killed or could not start.
    """
    # Forking is unsafe because this process has threads (torch starts some).
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_start_process)
    results: deque[Future[R]] = deque()
    try:
        for chunk in chunks:
            results.append(pool.submit(function, chunk))
            if len(results) > QUEUED_CHUNKS * workers:
                yield results.popleft().result()
        while results:
            yield results.popleft().result()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            f"a process that {task} ended early: it was killed (out of memory?), or the script that started"
            ' it lacks `if __name__ == "__main__":`; workers=1 starts no other process'
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _start_process() -> None:
    # A terminal sends Ctrl-C to all processes; only the parent handles it and then ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
