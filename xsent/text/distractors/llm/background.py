"""Coroutines of a program that has no event loop of its own, or, as in a notebook, one that is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

WAKES = 0.2  # seconds


class Loop:
    """An event loop in a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin some work; the future has its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work and wait for it."""
        return result_of(self.start(work))

    def cancel(self) -> None:
        """Cancel all that is not done, and wait for its end."""
        self.run(_cancel_all())


def result_of(future: Future[T]) -> T:
    """Wait for some work, and raise what it raises; Ctrl-C ends the wait."""
    # The system may tell any thread of Ctrl-C, but Python minds it in the main one alone, and only once that wakes up.
    while not wait([future], timeout=WAKES).done:
        pass
    return future.result()


@contextmanager
def event_loop() -> Iterator[Loop]:
    """An event loop in a thread of its own; at the end what is not done is cancelled."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="xsent-event-loop", daemon=True)
    thread.start()
    here = Loop(loop)
    try:
        yield here
    finally:
        try:
            here.cancel()
        finally:  # also where Ctrl-C ends the wait: nothing goes on in the thread when its files have been closed
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
