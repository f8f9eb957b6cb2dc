"""Engines that run the shards of a job: this process, or Ray workers on one or more machines."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import Protocol, Self

from tqdm import tqdm

ENGINES = ("local", "ray")


class Engine(Protocol):
    """Runs independent pieces of work that write their results to disk."""

    def run(self, work: Callable[[int], None], numbers: Sequence[int], task: str) -> None:
        """Call ``work`` with each number and show progress as ``task``; an error ends the job."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def create_engine(name: str, *, address: str, retries: int) -> Engine:
    """Create the engine of a name.

    ``address`` is that of a Ray cluster, ``auto`` for the one of this machine, ``local`` for a new one. Ray repeats a
    shard at most ``retries`` times after its worker died.

    Raises:
        ValueError: an unknown name.
        ModuleNotFoundError: Ray is not installed.
    """
    if name not in ENGINES:
        raise ValueError(f"engine {name!r}: expected one of {', '.join(ENGINES)}")
    return LocalEngine() if name == "local" else RayEngine(address=address, retries=retries)


class LocalEngine:
    """Runs the shards one after the other in this process, each with all its threads."""

    def run(self, work: Callable[[int], None], numbers: Sequence[int], task: str) -> None:
        """Call ``work`` with each number, in order."""
        for number in tqdm(numbers, desc=task, unit=" shards"):
            work(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class RayEngine:
    """Runs the shards as Ray tasks; all machines must see the work folder. Arguments as in ``create_engine``."""

    def __init__(self, *, address: str, retries: int) -> None:
        if find_spec("ray") is None:
            raise ModuleNotFoundError("engine ray: the package ray is not installed: pip install 'xsent[ray]'")
        self.address = address
        self.retries = retries

    def __enter__(self) -> Self:
        # Ray sends no usage statistics unless the user allows it.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect; stops a cluster that was started here."""
        import ray

        ray.shutdown()

    def run(self, work: Callable[[int], None], numbers: Sequence[int], task: str) -> None:
        """Call ``work`` with each number on any free worker; the first error ends the job."""
        import ray

        remote_call = ray.remote(_call).options(max_retries=self.retries)
        shared = ray.put(work)
        waiting = [remote_call.remote(shared, number) for number in numbers]
        with tqdm(total=len(waiting), desc=task, unit=" shards") as bar:
            while waiting:
                finished, waiting = ray.wait(waiting)
                try:
                    ray.get(finished)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from error
                bar.update(len(finished))


def _call(work: Callable[[int], None], number: int) -> None:
    work(number)
