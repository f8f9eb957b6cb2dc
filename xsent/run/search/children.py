"""Who runs the trial: a process of this machine, a job of Slurm, or a task of Ray. Each starts the same process."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Protocol

import xsent
from xsent.run.frozen import start_frozen

log = logging.getLogger(__name__)

OUTPUT = "output.log"  # in a trial's folder: what it said
# Of the environment, what a task of Ray, which may run on another machine, has of the searching process's.
PASSED_ON = {"OMP_NUM_THREADS", "XSENT_CACHE", "XSENT_DATA", "HF_HOME", "HF_HUB_OFFLINE"}


class Child(Protocol):
    """A trial that somebody runs."""

    def poll(self) -> int | None:
        """Exit status; None while it runs or waits to."""
        ...

    def stop(self) -> None:
        """End it at once."""
        ...


class Launcher(Protocol):
    """Starts the process of a trial."""

    def start(self, variables: Mapping[str, str], folder: Path, place: int) -> Child:
        """Have the process run, now or when there is room.

        Args:
            variables: for its environment, ``frozen.frozen_variables``.
            folder: of the trial.
            place: which of the search's workers runs it, from 0.
        """
        ...

    def close(self) -> None:
        """Let go of what the launcher holds."""
        ...


def launcher_named(engine: str, options: Mapping[str, Any], *, folder: Path, workers: int, devices: int) -> Launcher:
    """The launcher of an engine.

    Args:
        engine: ``local``, ``submitit`` or ``ray``.
        options: ``hparams_search.submitit`` or ``hparams_search.ray``.
        folder: of the search.
        workers: trials side by side.
        devices: processes of one trial.

    Raises:
        ModuleNotFoundError: what the engine needs is not installed.
        ValueError: an option that the engine does not have.
    """
    if engine == "submitit":
        return SubmititLauncher(folder=folder / "jobs", **options)
    if engine == "ray":
        return RayLauncher(**options)
    return LocalLauncher(workers=workers, devices=devices)


class LocalLauncher:
    """Processes of this machine, which share its cores and its GPUs.

    Args:
        workers: trials side by side.
        devices: processes of one trial.
    """

    def __init__(self, *, workers: int, devices: int) -> None:
        self.workers = workers
        self.threads = shared_threads(workers, devices)

    def start(self, variables: Mapping[str, str], folder: Path, place: int) -> Child:
        """Start it now."""
        environment = os.environ | self.threads | _visible_gpus(place, self.workers) | dict(variables)
        return _Process(environment, folder / OUTPUT)

    def close(self) -> None:
        """Nothing is held."""


def shared_threads(workers: int, devices: int) -> dict[str, str]:
    """For the environment of a trial's process: its share of the cores; a number that the user has set stays."""
    share = max(1, len(os.sched_getaffinity(0)) // (workers * devices))
    return {} if "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": str(share)}


def _visible_gpus(place: int, workers: int) -> dict[str, str]:
    """Every worker has its share of the GPUs that are named; without a word of the user all see all."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    gpus = [one for one in given.split(",") if one]
    if workers == 1 or len(gpus) < 2:
        return {}
    share = max(1, len(gpus) // workers)
    first = place * share % len(gpus)
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus[first : first + share])}


class _Process:
    def __init__(self, environment: Mapping[str, str], output: Path) -> None:
        with _appending(output) as file:
            self.process = start_frozen(environment, output=file)

    def poll(self) -> int | None:
        return self.process.poll()

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()  # it and the processes that it has added to itself end
        self.process.wait()


class SubmititLauncher:
    """Jobs of Slurm, or of processes that take Slurm's place, through submitit.

    Args:
        folder: for what submitit writes; every machine has to see it.
        cluster: ``slurm``, or ``local`` to try it without one.
        parameters: of ``submitit.AutoExecutor.update_parameters``: ``timeout_min``, ``slurm_partition``, ...
    """

    def __init__(self, *, folder: Path, cluster: str, parameters: Mapping[str, Any]) -> None:
        if find_spec("submitit") is None:
            raise ModuleNotFoundError("hparams_search.engine=submitit: pip install 'xsent[slurm]'")
        import submitit

        if cluster not in ("slurm", "local"):
            raise ValueError(f"hparams_search.submitit.cluster={cluster}: expected slurm or local")
        given = {name: value for name, value in parameters.items() if value is not None}
        try:
            self.executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
            self.executor.update_parameters(**given)
        except (NameError, TypeError, ValueError, RuntimeError) as error:  # no Slurm here, or a parameter it has not
            raise ValueError(f"hparams_search.submitit: {error}") from None

    def start(self, variables: Mapping[str, str], folder: Path, place: int) -> Child:
        """Hand it to the queue."""
        # A job inherits the environment of the moment; arguments would be written to disk.
        with _environment(variables):
            return _Job(self.executor.submit(run_frozen, str(folder / OUTPUT)))

    def close(self) -> None:
        """Nothing is held."""


class _Job:
    def __init__(self, job: Any) -> None:
        self.job = job

    def poll(self) -> int | None:
        if not self.job.done():
            return None
        error = self.job.exception()
        if error is not None:
            log.warning("job %s: %s", self.job.job_id, str(error).strip().splitlines()[-1])
            return 1
        return int(self.job.result())

    def stop(self) -> None:
        self.job.cancel()


class RayLauncher:
    """Tasks of a Ray cluster, or of one that is started here.

    Args:
        address: of the cluster, ``auto`` for the one this machine belongs to; None starts one here.
        cpus_per_trial, gpus_per_trial: what a trial takes of the cluster's.
    """

    def __init__(self, *, address: str | None, cpus_per_trial: float, gpus_per_trial: float) -> None:
        if find_spec("ray") is None:
            raise ModuleNotFoundError("hparams_search.engine=ray: pip install 'xsent[ray]'")
        # Nothing about a run is sent anywhere unless the user has said so.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self.resources = {"num_cpus": cpus_per_trial, "num_gpus": gpus_per_trial}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)

    def start(self, variables: Mapping[str, str], folder: Path, place: int) -> Child:
        """Hand it to the cluster."""
        import ray

        # Ray writes down the environment that it is told of, and so is told of no more than where the code is.
        code = os.pathsep.join(filter(None, [str(Path(xsent.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
        remote: Any = ray.remote(run_frozen)
        task = remote.options(max_retries=0, runtime_env={"env_vars": {"PYTHONPATH": code}}, **self.resources)
        kept = {name: value for name, value in os.environ.items() if name in PASSED_ON}
        return _Task(task.remote(str(folder / OUTPUT), str(Path.cwd()), kept | dict(variables)))

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        import ray

        ray.shutdown()


class _Task:
    def __init__(self, task: Any) -> None:
        self.task = task

    def poll(self) -> int | None:
        import ray

        done, _ = ray.wait([self.task], timeout=0)
        if not done:
            return None
        try:
            return int(ray.get(self.task))
        except ray.exceptions.RayError as error:
            log.warning("a task of Ray failed: %s", str(error).strip().splitlines()[-1])
            return 1

    def stop(self) -> None:
        import ray

        ray.cancel(self.task, force=True)


def run_frozen(output: str, folder: str | None = None, variables: Mapping[str, str] | None = None) -> int:
    """Run the process that its environment describes, to its end; returns its exit status.

    Args:
        output: file for what it says.
        folder: to run in; None: where this process is.
        variables: of the environment, besides those of this process.
    """
    if folder is not None:
        os.chdir(folder)  # paths of the config count from there
    environment = os.environ | dict(variables or {})
    with _appending(Path(output)) as file, start_frozen(environment, output=file) as process:
        return process.wait()


@contextmanager
def _appending(path: Path) -> Iterator[IO[bytes]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        yield file


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
