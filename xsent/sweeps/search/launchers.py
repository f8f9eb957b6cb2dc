"""Launchers: start the process of a trial on this machine, as a job of Slurm, or as a task of Ray."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import xsent
from xsent.run.single_run import start_process
from xsent.sweeps.search.options import Options
from xsent.sweeps.search.trial import MODULE

OUTPUT = "output.log"  # in a trial's folder: stdout and stderr of its process
# A task of Ray may run on another machine; these variables it gets from the searching process.
RAY_VARIABLES = {"OMP_NUM_THREADS", "XSENT_CACHE", "XSENT_DATA", "HF_HOME", "HF_HUB_OFFLINE"}


class TrialProcess(Protocol):
    """The process of a trial, queued or running; ``submitit.Job`` is one."""

    def done(self) -> bool:
        """Whether it has ended."""
        ...

    def result(self) -> int:
        """Exit status; an exception if the job or task failed."""
        ...

    def cancel(self) -> None:
        """End it at once."""
        ...


class Launcher(Protocol):
    """Starts the process of a trial."""

    def start(self, variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        """Start or queue it.

        Args:
            variables: of its environment.
            folder: of the trial.
            worker: index of the worker that it occupies.
        """
        ...


def build_launcher(options: Options, *, devices: int) -> Launcher:
    """The launcher of ``search.engine``.

    Args:
        options: of the search.
        devices: processes of one trial.

    Raises:
        ModuleNotFoundError: the engine is not installed.
        ValueError: an option that the engine does not have.
    """
    if options.engine == "submitit":
        return SubmititLauncher(folder=options.folder / "jobs", **options.engine_options)
    if options.engine == "ray":
        return RayLauncher(**options.engine_options)
    return LocalLauncher(workers=options.workers, devices=devices)


class LocalLauncher:
    """Processes of this machine, which share its cores and GPUs.

    Args:
        workers: trials that run at the same time.
        devices: processes of one trial.
    """

    def __init__(self, *, workers: int, devices: int) -> None:
        self.workers = workers
        self.threads = share_threads(workers, devices)

    def start(self, variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        environment = os.environ | self.threads | _share_gpus(worker, self.workers) | dict(variables)
        return _LocalProcess(environment, folder / OUTPUT)


def share_threads(workers: int, devices: int) -> dict[str, str]:
    """``OMP_NUM_THREADS`` of one process: its share of the cores, unless the user has set it."""
    share = max(1, len(os.sched_getaffinity(0)) // (workers * devices))
    return {} if "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": str(share)}


def _share_gpus(worker: int, workers: int) -> dict[str, str]:
    """The worker's share of ``CUDA_VISIBLE_DEVICES``; if that is not set, every process sees all GPUs."""
    gpus = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    if workers == 1 or len(gpus) < 2:
        return {}
    share = max(1, len(gpus) // workers)
    first = worker * share % len(gpus)
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpus[first : first + share])}


class _LocalProcess:
    def __init__(self, environment: Mapping[str, str], output: Path) -> None:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("ab") as file:
            self.process = start_process(environment, output=file, module=MODULE)

    def done(self) -> bool:
        return self.process.poll() is not None

    def result(self) -> int:
        return self.process.wait()

    def cancel(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()  # ends it and the processes that Lightning started from it
        self.process.wait()


class SubmititLauncher:
    """Jobs of Slurm, or of local processes in their place.

    Args:
        folder: for submitit's files, on a file system that all machines share.
        cluster: ``slurm`` or ``local``.
        parameters: of ``submitit.AutoExecutor.update_parameters``: ``timeout_min``, ``slurm_partition``, ...
    """

    def __init__(self, *, folder: Path, cluster: str, parameters: Mapping[str, Any]) -> None:
        if find_spec("submitit") is None:
            raise ModuleNotFoundError("search.engine=submitit: pip install 'xsent[slurm]'")
        import submitit

        if cluster not in ("slurm", "local"):
            raise ValueError(f"search.submitit.cluster={cluster}: expected slurm or local")
        try:
            self.executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
            self.executor.update_parameters(**{key: value for key, value in parameters.items() if value is not None})
        except (NameError, TypeError, ValueError, RuntimeError) as error:  # no Slurm, or an unknown parameter
            raise ValueError(f"search.submitit: {error}") from None

    def start(self, variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        # Through the environment, which a job inherits: submitit would write arguments to disk.
        with _environment(variables):
            job: TrialProcess = self.executor.submit(run_to_end, str(folder / OUTPUT))
        return job


class RayLauncher:
    """Tasks of a Ray cluster.

    Args:
        address: of the cluster, ``auto`` for that of this machine, ``local`` for a new one here.
        cpus_per_trial, gpus_per_trial: resources of one trial.
    """

    def __init__(self, *, address: str, cpus_per_trial: float, gpus_per_trial: float) -> None:
        if find_spec("ray") is None:
            raise ModuleNotFoundError("search.engine=ray: pip install 'xsent[ray]'")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry unless the user asks for it
        import ray

        self.resources = {"num_cpus": cpus_per_trial, "num_gpus": gpus_per_trial}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)

    def start(self, variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        import ray

        # Ray writes env_vars to disk, so they hold no secret; the variables are an argument.
        path = os.pathsep.join(filter(None, [str(Path(xsent.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
        remote: Any = ray.remote(run_to_end)
        task = remote.options(max_retries=0, runtime_env={"env_vars": {"PYTHONPATH": path}}, **self.resources)
        inherited = {name: value for name, value in os.environ.items() if name in RAY_VARIABLES}
        return _Task(task.remote(str(folder / OUTPUT), str(Path.cwd()), inherited | dict(variables)))


class _Task:
    def __init__(self, task: Any) -> None:
        self.task = task

    def done(self) -> bool:
        import ray

        return bool(ray.wait([self.task], timeout=0)[0])

    def result(self) -> int:
        import ray

        return int(ray.get(self.task))

    def cancel(self) -> None:
        import ray

        ray.cancel(self.task, force=True)


def run_to_end(output: str, folder: str | None = None, variables: Mapping[str, str] | None = None) -> int:
    """Run the process of a trial to its end; returns its exit status.

    Args:
        output: file for its stdout and stderr.
        folder: working directory, from which the paths of the config count; None: that of this process.
        variables: of its environment, besides those of this process.
    """
    if folder is not None:
        os.chdir(folder)
    return _LocalProcess(os.environ | dict(variables or {}), Path(output)).result()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
