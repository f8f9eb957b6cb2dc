"""Launchers: start the process of a trial on this machine, as a job of Slurm, or as a task of Ray."""

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import xsent
from xsent.run.single_run import start_process
from xsent.sweeps.search.options import Options
from xsent.sweeps.search.trial import MODULE

OUTPUT = "output.log"  # in a trial's folder: stdout and stderr of its process
# A task of Ray may run on another machine; these variables it gets from the searching process.
RAY_VARIABLES = {"OMP_NUM_THREADS", "XSENT_CACHE", "XSENT_DATA", "HF_HOME", "HF_HUB_OFFLINE"}


class TrialProcess(NamedTuple):
    """The process of a trial, queued or running."""

    done: Callable[[], bool]
    result: Callable[[], int]  # waits for the exit status; raises an exception if the job or task failed
    cancel: Callable[[], object]  # ends it at once


# Starts or queues the process of a trial: variables of its environment, folder of the trial, index of its worker
Launcher = Callable[[Mapping[str, str], Path, int], TrialProcess]


def build_launcher(options: Options, *, devices: int) -> Launcher:
    """The launcher of ``search.engine``; a trial has a process for each of its ``devices``.

    Raises:
        ModuleNotFoundError: the engine is not installed.
        ValueError: an option that the engine does not have.
    """
    if options.engine == "submitit":
        return submitit_launcher(options.folder / "jobs", **options.engine_options)
    if options.engine == "ray":
        return ray_launcher(**options.engine_options)
    return partial(start_locally, options.workers, devices)


# ---- this machine: trials share its cores and GPUs


def start_locally(workers: int, devices: int, variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
    """Start a process; ``workers`` is the number of trials at the same time."""
    shares = share_threads(workers, devices) | _share_gpus(worker, workers)
    return _start(shares | dict(variables), folder / OUTPUT)


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


def _start(variables: Mapping[str, str], output: Path) -> TrialProcess:
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("ab") as file:
        process = start_process(os.environ | dict(variables), output=file, module=MODULE)

    def cancel() -> None:
        assert process.stdin is not None
        process.stdin.close()  # ends it and the processes that Lightning started from it
        process.wait()

    return TrialProcess(lambda: process.poll() is not None, process.wait, cancel)


def run_to_end(output: str, folder: str, variables: Mapping[str, str]) -> int:
    """Run the process of a trial to its end, within a job or task; returns its exit status.

    Args:
        output: file for its stdout and stderr.
        folder: working directory, from which the paths of the config count.
        variables: of its environment, besides those of this process.
    """
    os.chdir(folder)
    return _start(variables, Path(output)).result()


# ---- other machines


def submitit_launcher(folder: Path, *, cluster: str, parameters: Mapping[str, Any]) -> Launcher:
    """Jobs of Slurm, or of local processes in their place.

    Args:
        folder: for submitit's files, on a file system that all machines share.
        cluster: ``slurm`` or ``local``.
        parameters: of ``submitit.AutoExecutor.update_parameters``: ``timeout_min``, ``slurm_partition``, ...
    """
    if find_spec("submitit") is None:
        raise ModuleNotFoundError("search.engine=submitit: pip install 'xsent[slurm]'")
    import submitit

    if cluster not in ("slurm", "local"):
        raise ValueError(f"search.submitit.cluster={cluster}: expected slurm or local")
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        executor.update_parameters(**{key: value for key, value in parameters.items() if value is not None})
    except (NameError, TypeError, ValueError, RuntimeError) as error:  # no Slurm, or an unknown parameter
        raise ValueError(f"search.submitit: {error}") from None

    def start(variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        before = dict(os.environ)
        os.environ.update(variables)  # which a job inherits: submitit would write arguments to disk
        try:
            job = executor.submit(run_to_end, str(folder / OUTPUT), str(Path.cwd()), {})
        finally:
            os.environ.clear()
            os.environ.update(before)
        return TrialProcess(job.done, job.result, job.cancel)

    return start


def ray_launcher(*, address: str, cpus_per_trial: float, gpus_per_trial: float) -> Launcher:
    """Tasks of a Ray cluster.

    Args:
        address: of the cluster, ``auto`` for that of this machine, ``local`` for a new one here.
        cpus_per_trial, gpus_per_trial: resources of one trial.
    """
    if find_spec("ray") is None:
        raise ModuleNotFoundError("search.engine=ray: pip install 'xsent[ray]'")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry unless the user asks for it
    import ray

    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    # Ray writes env_vars to disk, so they hold no secret; the variables are an argument.
    path = os.pathsep.join(filter(None, [str(Path(xsent.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    remote: Any = ray.remote(run_to_end).options(
        max_retries=0,
        runtime_env={"env_vars": {"PYTHONPATH": path}},
        num_cpus=cpus_per_trial,
        num_gpus=gpus_per_trial,
    )

    def start(variables: Mapping[str, str], folder: Path, worker: int) -> TrialProcess:
        inherited = {name: value for name, value in os.environ.items() if name in RAY_VARIABLES}
        task = remote.remote(str(folder / OUTPUT), str(Path.cwd()), inherited | dict(variables))
        future = task.future()
        return TrialProcess(future.done, future.result, partial(ray.cancel, task, force=True))

    return start
