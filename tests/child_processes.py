"""Child processes of tests, forked from a server that has imported torch and xsent once."""

import multiprocessing
import os
import runpy
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.helpers", "torch", "pytorch_lightning", "transformers", "xsent.run.training"])


def exit_code(function: Callable[..., object], *arguments: Any) -> int | None:
    """Run ``function(*arguments)`` in a child process; returns its exit code, negative for a signal."""
    return _wait([_start(function, arguments, {})])[0]


class Output(NamedTuple):
    """Exit code and output of a script."""

    returncode: int | None
    stdout: str
    stderr: str


def run_script(script: Path, arguments: Sequence[str], folder: Path) -> Output:
    """Run a Python script as ``python script arguments`` in its own folder; ``folder`` receives its output."""
    files = [folder / f"{script.stem}.{stream}" for stream in ("stdout", "stderr")]
    code = exit_code(_run_script, script, [*arguments], files)
    return Output(code, *(file.read_text(encoding="utf-8") for file in files))


def _run_script(script: Path, arguments: list[str], files: list[Path]) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(script.parent)
    sys.argv = [str(script), *arguments]
    runpy.run_path(str(script), run_name="__main__")


def run_ranks(world_size: int, function: Callable[..., object], *arguments: Any) -> None:
    """Run ``function(*arguments)`` as every rank of a job that Lightning finds already launched."""
    assert exit_codes_of_ranks(world_size, function, *arguments) == [0] * world_size


def exit_codes_of_ranks(world_size: int, function: Callable[..., object], *arguments: Any) -> list[int | None]:
    """``run_ranks`` for ranks that may fail."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NODE_RANK": "0", "OMP_NUM_THREADS": "1"}
    ranks = [_start(function, arguments, {**shared, "LOCAL_RANK": str(rank)}) for rank in range(world_size)]
    return _wait(ranks)


def run_each(function: Callable[..., object], arguments: list[tuple[Any, ...]]) -> None:
    """Run ``function`` once for each tuple of arguments, all at the same time."""
    assert _wait([_start(function, row, {}) for row in arguments]) == [0] * len(arguments)


def _start(function: Callable[..., object], arguments: tuple[Any, ...], environment: Mapping[str, str]) -> BaseProcess:
    process = CONTEXT.Process(target=_call, args=(function, arguments, dict(environment)))
    process.start()
    return process


def _wait(processes: list[BaseProcess]) -> list[int | None]:
    for process in processes:
        process.join(timeout=300)
        if process.exitcode is None:
            process.kill()
            process.join()
    return [process.exitcode for process in processes]


def _call(function: Callable[..., object], arguments: tuple[Any, ...], environment: dict[str, str]) -> None:
    os.environ.update(environment)
    function(*arguments)
