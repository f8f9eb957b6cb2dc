"""Event loop in a thread, for programs without one or, as in notebooks, with a busy one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

WAKE_INTERVAL = 0.2  # seconds


class Loop:
    """An event loop in a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; the future gets its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        return result_of(self.start(coroutine))

    def cancel(self) -> None:
        """Cancel all unfinished tasks and wait for their end."""
        self.run(_cancel_all())


def result_of(future: Future[T]) -> T:
    """Result of a future, or its exception; Ctrl-C interrupts the wait."""
    # Python handles Ctrl-C in the main thread only, and only when that thread wakes up.
    while not wait([future], timeout=WAKE_INTERVAL).done:
        pass
    return future.result()


@contextmanager
def event_loop() -> Iterator[Loop]:
    """Event loop in a new thread; unfinished tasks are cancelled at the end."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="xsent-event-loop", daemon=True)
    thread.start()
    handle = Loop(loop)
    try:
        yield handle
    finally:
        try:
            handle.cancel()
        finally:  # also after Ctrl-C: the thread must end before its files are closed
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
