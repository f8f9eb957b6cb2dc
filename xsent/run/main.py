"""Command line of ``train.py`` and ``evaluate.py``: one run, or a grid of runs by Hydra's multirun."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from xsent import sigterm
from xsent.config_checks import UsageError
from xsent.files.atomic import write_text
from xsent.paths import conf_folder
from xsent.reporting.secrets import redact
from xsent.run.config.checks import check_machine
from xsent.run.config.compose import check_hydra, compose_config, override, plain, register_resolvers, without_hydra
from xsent.run.config.override_errors import explain_override_error
from xsent.run.errors import format_error, run_reporting
from xsent.run.start import Command, first_missing, grid_command, log_to_screen, read_command, remove_unstarted
from xsent.run.usage import recipes, usage

log = logging.getLogger(__name__)

Task = Callable[[Command], object]  # trains or evaluates


class Failure(NamedTuple):
    """Error of a run of a grid; the other runs go on."""

    message: str
    is_usage: bool


def run_command(program: str, arguments: Sequence[str], task: Task) -> int:
    """Run ``train`` or ``evaluate`` with command-line arguments; returns the exit status."""
    log_to_screen()
    return run_reporting(lambda: _run(program, list(arguments), task), interrupted=lambda: INTERRUPTED[program])


CHOOSES_RECIPE = ("recipe=", "experiment=", "search=", "+experiment=", "+search=")
INTERRUPTED = {
    "train": "the same command with ckpt_path=last resumes a run that has a checkpoint",
    "evaluate": "the same command starts again",
}


def _run(program: str, arguments: list[str], task: Task) -> None:
    options = _parse(program, arguments)
    if options.help:
        sys.stdout.write(usage(program))
        return
    overrides = options.overrides
    if options.config_dir is not None:
        overrides.append(override("hydra.searchpath", [f"file://{Path(options.config_dir).absolute()}"]))
    if any((options.cfg, options.info, options.hydra_help, options.shell_completion)):
        _show(program, arguments, overrides)
    elif options.multirun or _is_grid(program, overrides):
        _run_grid(program, overrides, task)
    else:
        if program == "train" and not any(text.startswith(CHOOSES_RECIPE) for text in overrides):
            sys.stdout.write("\n".join(recipes()) + "\n")
        task(read_command(program, overrides))


def _parse(program: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise UsageError(f"{message}; {program}.py --help shows the options")

    parser.error = refuse  # type: ignore[method-assign]
    options, unknown = parser.parse_known_args(arguments)
    options.overrides += [text for text in unknown if not text.startswith("-")]
    if unknown := [text for text in unknown if text.startswith("-")]:
        key = unknown[0].lstrip("-").partition("=")[0]
        refuse(f"{unknown[0]}: no such option, values are set without dashes: {key}=VALUE")
    return options


def _show(program: str, arguments: Sequence[str], overrides: Sequence[str]) -> None:
    """Print the config or what else Hydra can tell, and run nothing."""
    if not any(text in ("--hydra-help", "-sc", "--shell-completion") for text in arguments):
        compose_config(program, overrides)  # for its errors
    register_resolvers()
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    sys.argv = [f"{program}.py", *arguments]
    hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=program)(lambda cfg: None)()


def _is_grid(program: str, overrides: Sequence[str]) -> bool:
    """Whether an experiment is a grid, such as the study of a paper's table."""
    if not any(text.lstrip("+").startswith(("experiment=", "hydra.mode=")) for text in overrides):
        return False
    return bool(_with_hydra(program, lambda app: _grid_config(app, program, overrides).hydra.mode == RunMode.MULTIRUN))


def _run_grid(program: str, overrides: Sequence[str], task: Task) -> None:
    """Check all runs of a grid, then let Hydra run them.

    Raises:
        UsageError: a run is wrong; nothing is left.
        RuntimeError: runs failed.
    """
    cfg = _with_hydra(program, lambda app: _grid_config(app, program, overrides))
    folder = Path(cfg.hydra.sweep.dir)
    if cfg.name is not None and folder.exists():
        raise UsageError(f"name={cfg.name}: {folder} exists; choose another name")
    runs = _grid_runs(cfg, overrides)
    for run in runs:
        command = read_command(program, run)
        command.cfg.run_dir = str(folder)
        check_machine(plain(command.cfg))
    created = first_missing(folder)
    log.info("%d runs in %s", len(runs), folder)
    hydra_overrides = [*overrides, override("hydra.sweep.dir", str(folder))]

    def run_job(cfg: DictConfig) -> object:
        log_to_screen()  # in a job of Slurm
        register_resolvers()
        _mask(folder / "multirun.yaml")
        try:
            return task(grid_command(program, cfg))
        except Exception as error:
            if sigterm.received():  # Hydra would go on with the next run
                raise sigterm.Terminated from error
            log.warning("this run failed: %s", format_error(error))
            return Failure(format_error(error), isinstance(error, UsageError))

    try:
        batches = _with_hydra(
            program, lambda app: app.multirun(program, run_job, hydra_overrides, with_log_configuration=False)
        )
        _raise_failures([job.return_value for batch in batches for job in batch])
    finally:
        remove_unstarted(created)
        _mask(folder / "multirun.yaml")


def _raise_failures(results: Sequence[object]) -> None:
    failures = [result for result in results if isinstance(result, Failure)]
    if not failures:
        return
    messages = list(dict.fromkeys(failure.message for failure in failures))
    message = f"{len(failures)} of {len(results)} runs failed: {'; '.join(messages)}"
    raise UsageError(message) if all(failure.is_usage for failure in failures) else ValueError(message)


def _with_hydra(program: str, use: Callable[[Hydra], Any]) -> Any:
    register_resolvers()
    GlobalHydra.instance().clear()
    app = Hydra.create_main_hydra2(task_name=program, config_search_path=create_config_search_path(str(conf_folder())))
    try:
        return use(app)
    finally:
        GlobalHydra.instance().clear()


def _grid_config(app: Hydra, program: str, overrides: Sequence[str]) -> DictConfig:
    def compose(overrides: Sequence[str]) -> DictConfig:
        return app.compose_config(
            program, list(overrides), run_mode=RunMode.MULTIRUN, with_log_configuration=False, from_shell=False
        )

    try:
        cfg = compose(overrides)
        check_hydra(cfg)
        return cfg
    except UsageError:
        raise
    except Exception as error:
        message = explain_override_error(error, overrides, lambda others: without_hydra(compose(others)))
        raise UsageError(message) from error


def _grid_runs(cfg: DictConfig, overrides: Sequence[str]) -> list[list[str]]:
    """Overrides of each run, as Hydra's sweeper makes them."""
    params = [f"{key}={value}" for key, value in (cfg.hydra.sweeper.get("params") or {}).items()]
    parsed = OverridesParser.create().parse_overrides([*params, *overrides])
    (runs,) = BasicSweeper.split_arguments(parsed, None)
    return [list(run) for run in runs]


def _mask(path: Path) -> None:
    """Mask secrets in a file of Hydra."""
    if path.is_file():
        content = OmegaConf.to_container(OmegaConf.load(path))
        if (masked := redact(content)) != content:
            write_text(path, OmegaConf.to_yaml(OmegaConf.create(masked)))
