"""Engines that run the shards of a job: this process, or Ray workers on one or more machines."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

from tqdm import tqdm

from xsent.config_checks import check_choice

Work = Callable[[int], None]  # makes the shard of a number and writes it to disk
# Calls ``work`` with each number and shows progress as ``task``; an error ends the job.
Engine = Callable[[Work, Sequence[int], str], None]


@contextmanager
def open_engine(name: str, *, address: str, retries: int) -> Iterator[Engine]:
    """Open the engine ``local``, this process with all its threads, or ``ray``.

    All machines of Ray must see the work folder.

    Args:
        name: of the engine.
        address: of a Ray cluster, ``auto`` for the one of this machine, ``local`` for a new one.
        retries: how often Ray repeats a shard after its worker died.

    Raises:
        ValueError: an unknown name.
        ModuleNotFoundError: Ray is not installed.
    """
    check_choice("engine", name, ("local", "ray"))
    if name == "local":
        yield run_locally
        return
    if find_spec("ray") is None:
        raise ModuleNotFoundError("engine ray: the package ray is not installed: pip install 'xsent[ray]'")
    # Ray sends no usage statistics unless the user allows it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    try:
        yield partial(_run_on_ray, retries)
    finally:
        ray.shutdown()  # stops a cluster that was started here


def run_locally(work: Work, numbers: Sequence[int], task: str) -> None:
    """Run the shards in this process, in order."""
    for number in tqdm(numbers, desc=task, unit=" shards"):
        work(number)


def _run_on_ray(retries: int, work: Work, numbers: Sequence[int], task: str) -> None:
    import ray

    remote_call = ray.remote(_call).options(max_retries=retries)
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


def _call(work: Work, number: int) -> None:
    work(number)
