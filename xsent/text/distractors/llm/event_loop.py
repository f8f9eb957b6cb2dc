"""Event loop in a thread, for programs without one or, as in notebooks, with a busy one."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any, Self, TypeVar

T = TypeVar("T")

WAKE_INTERVAL = 0.2  # seconds


class Loop:
    """An event loop in a new thread; unfinished tasks are cancelled at the end of the context."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="xsent-event-loop", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        try:
            self.cancel()
        finally:  # also after Ctrl-C: the thread must end before its files are closed
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; the future gets its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
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


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
