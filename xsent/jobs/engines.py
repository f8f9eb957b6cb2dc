"""Who does the shards of a job: this process, or Ray's workers on one machine or many."""

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
    """Runs pieces of work that are independent and leave their results on disk."""

    def run(self, work: Callable[[int], None], numbers: Sequence[int], what: str) -> None:
        """Call ``work`` with each number, under a progress bar named ``what``; an error ends the job."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def engine_named(name: str, *, address: str | None, retries: int) -> Engine:
    """The engine of that name.

    Args:
        name: ``local`` or ``ray``.
        address: of a Ray cluster, ``auto`` for the one this machine belongs to; None starts one here.
        retries: how often Ray gives a shard to another worker when its worker dies.

    Raises:
        ValueError: there is no such engine.
        ModuleNotFoundError: Ray is not installed.
    """
    if name not in ENGINES:
        raise ValueError(f"engine {name!r}: expected one of {', '.join(ENGINES)}")
    return LocalEngine() if name == "local" else RayEngine(address=address, retries=retries)


class LocalEngine:
    """One shard after the other in this process, each with all its threads."""

    def run(self, work: Callable[[int], None], numbers: Sequence[int], what: str) -> None:
        """Call ``work`` with each number, in order."""
        for number in tqdm(numbers, desc=what, unit=" shards"):
            work(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


class RayEngine:
    """Ray tasks over a folder that all machines of the cluster see; arguments as of ``engine_named``."""

    def __init__(self, *, address: str | None, retries: int) -> None:
        if find_spec("ray") is None:
            raise ModuleNotFoundError("engine ray: the package ray is not installed: pip install 'xsent[ray]'")
        self.address = address
        self.retries = retries

    def __enter__(self) -> Self:
        # Nothing about a run is sent anywhere unless the user has said so.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; one that was started here ends."""
        import ray

        ray.shutdown()

    def run(self, work: Callable[[int], None], numbers: Sequence[int], what: str) -> None:
        """Call ``work`` with each number on whichever worker is free; the first error ends the job."""
        import ray

        task = ray.remote(_call).options(max_retries=self.retries)
        shared = ray.put(work)
        waiting = [task.remote(shared, number) for number in numbers]
        with tqdm(total=len(waiting), desc=what, unit=" shards") as bar:
            while waiting:
                done, waiting = ray.wait(waiting)
                try:
                    ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from error
                bar.update(len(done))


def _call(work: Callable[[int], None], number: int) -> None:
    work(number)
