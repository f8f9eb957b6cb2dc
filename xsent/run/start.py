"""Start a run: compose and check its config, name its folder, keep its log; a refused command leaves nothing."""

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from xsent.config_checks import UsageError
from xsent.files.atomic import write_text
from xsent.files.locking import InUseError, exclusive
from xsent.reporting.secrets import redact
from xsent.run.announce import announce
from xsent.run.config.checks import check_machine
from xsent.run.config.compose import compose_config, marked_name, plain, without_hydra

log = logging.getLogger(__name__)

COMMAND = "command.yaml"  # in a run folder: overrides, and what was chosen of each group; secrets masked
LAST = Path("checkpoints") / "last.ckpt"
# Environment variable: the folder, for the other processes of a distributed run.
RUN_DIR = "XSENT_RUN_DIR"
LOCK = "run.lock"  # in a run folder while a process writes it
HAS_LOCK = "XSENT_RUN_LOCKED"  # environment variable: set if the process that started this one holds the lock
_written: ContextVar[frozenset[Path]] = ContextVar("_written", default=frozenset())  # folders that this thread writes
# A folder with nothing else is that of a command that was refused.
BEFORE_START = {COMMAND, LOCK, "train.log", "evaluate.log", "rejects.tsv", "multirun.yaml"}


class ScreenHandler(logging.StreamHandler[TextIO]):
    """Writes to what ``sys.stderr`` is at the moment: above a progress bar, where one replaces it."""

    @property
    def stream(self) -> TextIO:
        """The current ``sys.stderr``."""
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None: ...


class MaskingFormatter(logging.Formatter):
    """Messages and tracebacks with their time, secrets masked."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(redact(super().format(record).split("\n")))


def log_to_screen() -> None:
    """Show messages of every package on stderr, unless something does so already; of further processes warnings."""
    level, handler = logging.INFO if _rank() == 0 else logging.WARNING, ScreenHandler()
    handler.setFormatter(MaskingFormatter())
    logging.basicConfig(level=level, handlers=[handler])
    # Read when torch is imported: DDP warns of a setting that some losses need.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")


class RunInUseError(UsageError):
    """Another run writes the folder."""


class Command(NamedTuple):
    """A composed command line."""

    program: str  # train or evaluate
    cfg: DictConfig
    overrides: list[str]
    choices: dict[str, str | None]  # of each config group


def read_command(program: str, overrides: Sequence[str]) -> Command:
    """Compose the config of ``train`` or ``evaluate``.

    Raises:
        UsageError: an override does not fit.
    """
    cfg = compose_config(program, overrides)
    choices = _choices(cfg, cfg.hydra)
    return Command(program, without_hydra(cfg), list(overrides), choices)


def grid_command(program: str, cfg: DictConfig) -> Command:
    """The command of a run of a grid, within Hydra's job; its folder is Hydra's."""
    hydra = HydraConfig.get()
    if cfg.run_dir is None:
        cfg.run_dir = hydra.runtime.output_dir
    return Command(program, cfg, list(hydra.overrides.task), _choices(cfg, hydra))


def _choices(cfg: DictConfig, hydra: Any) -> dict[str, str | None]:
    choices = {str(group): choice for group, choice in hydra.runtime.choices.items()}
    if isinstance(alpha := OmegaConf.select(cfg, "encoder.language_marking"), int | float):
        choices["encoder"] = marked_name(choices["encoder"], alpha)  # in all that names the run
    return {group: choice for group, choice in choices.items() if not group.startswith("hydra/")}


@contextmanager
def started(command: Command) -> Iterator[dict[str, Any]]:
    """Check the config of a run and create its folder, with a log file; gives the resolved config.

    Raises:
        FileNotFoundError: no run to resume.
        UsageError: a value is wrong, or ``name`` is taken.
    """
    cfg = command.cfg
    resumed = _resumed_folder(command)
    if resumed is not None or cfg.run_dir is not None or _rank() != 0:
        folders = iter([resumed or Path(cfg.run_dir or os.environ.get(RUN_DIR) or next(_new_folders(command)))])
        may_exist = True
    else:
        folders, may_exist = _new_folders(command), False
    for folder in folders:
        if folder.exists() and not may_exist:
            continue
        cfg.run_dir = str(folder)
        if _rank() == 0:
            # Before ``plain``, whose import of torch takes seconds.
            announce(command.program, cfg, command.choices, folder)
        config = plain(cfg)
        check_machine(config)
        if _rank() != 0:
            yield config
            return
        with ExitStack() as stack:
            try:
                stack.enter_context(writing(folder, is_new=not may_exist))
            except FileExistsError:  # by a run that started at the same time
                continue
            os.environ[RUN_DIR] = str(folder)
            stack.callback(os.environ.pop, RUN_DIR, None)
            with logged(folder, command):
                _log_default_data(command)
                yield config
        return
    raise UsageError(
        f"name={cfg.name}: {Path(cfg.runs_dir) / cfg.name} exists; choose another name, or resume that run with"
        f" ckpt_path=last name={cfg.name}"
    )


@contextmanager
def writing(folder: Path, *, is_new: bool = False) -> Iterator[None]:
    """Create a run folder, unless it exists, and be the one run that writes it; without output it is removed again.

    Further processes of a distributed run belong to the first.

    Raises:
        FileExistsError: it exists, and ``is_new``.
        RunInUseError: another run writes it; nothing was changed.
    """
    path = folder.resolve()
    if _rank() != 0 or os.environ.get(HAS_LOCK) or path in _written.get():
        yield
        return
    created = first_missing(folder)
    folder.mkdir(parents=True, exist_ok=not is_new)
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive(folder / LOCK, f"{folder}: {{holder}} writes this run; wait until it ends"))
        except InUseError as error:
            raise RunInUseError(str(error)) from None
        token = _written.set(_written.get() | {path})
        try:
            yield
        except BaseException:
            remove_unstarted(created)
            raise
        finally:
            _written.reset(token)


@contextmanager
def logged(folder: Path, command: Command) -> Iterator[None]:
    """Write ``command.yaml`` and the log of xsent's messages to a folder."""
    record = redact({"overrides": command.overrides, "choices": command.choices})
    write_text(folder / COMMAND, yaml.safe_dump(record, sort_keys=False, allow_unicode=True))
    handler = logging.FileHandler(folder / f"{command.program}.log", encoding="utf-8")
    handler.setFormatter(MaskingFormatter())
    root, package = logging.getLogger(), logging.getLogger("xsent")
    level = package.level
    root.addHandler(handler)
    package.setLevel(logging.INFO)  # a notebook shows warnings only
    try:
        yield
    finally:
        root.removeHandler(handler)
        package.setLevel(level)
        handler.close()


def _log_default_data(command: Command) -> None:
    keys = {text.partition("=")[0].lstrip("+") for text in command.overrides}
    if command.choices.get("data") == "cldr" and not {"data", "experiment", "debug"} & keys:
        log.info("no data=...: training on data=cldr (emoji names in 14 languages)")


def first_missing(folder: Path) -> list[Path]:
    """The folder and its parents that do not exist, the deepest first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def remove_unstarted(created: Sequence[Path]) -> None:
    """Remove a created folder without the output of a run, and its created parents (``first_missing``)."""
    if created and all(path.name in BEFORE_START for path in created[0].rglob("*") if path.is_file()):
        shutil.rmtree(created[0])
        for parent in created[1:]:
            with suppress(OSError):  # another run has begun there
                parent.rmdir()


def _new_folders(command: Command) -> Iterator[Path]:
    """The folder of ``name``, or the default one and, should that exist, the same with ``-2``, ``-3``, ..."""
    cfg, choices = command.cfg, command.choices
    parent = Path(cfg.runs_dir)
    if cfg.name is not None:
        if "/" in str(cfg.name):
            raise UsageError(f"name={cfg.name}: expected a name without /; runs_dir= sets the folder of the runs")
        yield parent / str(cfg.name)
        return
    if command.program == "train":
        parts = [choices["recipe"], choices["encoder"], choices["data"]]
    else:
        parts = ["evaluate", choices["encoder"] if cfg.ckpt is None else _run_name(cfg.ckpt), choices["evaluator"]]
    name = "-".join([*(str(part).replace("/", "_") for part in parts), datetime.now().strftime("%m%d-%H%M")])
    yield parent / name
    yield from (parent / f"{name}-{number}" for number in count(2))


def _run_name(ckpt: str) -> str:
    path = Path(ckpt)
    return (path.parent.parent if path.suffix == ".ckpt" else path).name


def _resumed_folder(command: Command) -> Path | None:
    """Folder of the run that ``ckpt_path`` names, None without one.

    Raises:
        FileNotFoundError: there is no such checkpoint.
    """
    cfg = command.cfg
    ckpt_path = cfg.get("ckpt_path")
    if ckpt_path is None:
        return None
    if cfg.run_dir is not None and ckpt_path == "last":
        folder = Path(cfg.run_dir)
    elif ckpt_path == "last":
        folder = _last_run(command)
    else:
        path = Path(ckpt_path)
        if path.is_dir():
            path /= LAST
            cfg.ckpt_path = str(path)
        if not path.is_file():
            raise FileNotFoundError(f"ckpt_path={ckpt_path}: expected a run folder or a checkpoint, found none")
        folder = path.parent.parent if cfg.run_dir is None else Path(cfg.run_dir)
        if cfg.name is not None and folder.name != cfg.name:
            raise UsageError(f"name={cfg.name}: {ckpt_path} is resumed in {folder}; leave out name")
        return folder
    if not (folder / LAST).is_file():
        raise FileNotFoundError(f"ckpt_path=last: no {folder / LAST} to resume")
    return folder


def _last_run(command: Command) -> Path:
    """The run folder of ``name``, or the newest of this recipe with a checkpoint."""
    cfg, recipe = command.cfg, command.choices["recipe"]
    if cfg.name is not None:
        return Path(cfg.runs_dir) / str(cfg.name)
    folders = [path.parents[1] for path in Path(cfg.runs_dir).glob(f"*/{LAST}")]
    folders = [folder for folder in folders if read_record(folder).get("choices", {}).get("recipe") == recipe]
    if not folders:
        raise FileNotFoundError(f"ckpt_path=last: no run of recipe={recipe} in {cfg.runs_dir} has {LAST} to resume")
    return max(folders, key=lambda folder: (folder / LAST).stat().st_mtime)


def read_record(folder: Path) -> dict[str, Any]:
    """``command.yaml`` of a run folder; empty if there is none.

    Raises:
        ValueError: it is no YAML of plain values.
    """
    path = folder / COMMAND
    if not path.is_file():
        return {}
    try:
        record = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected YAML: {' '.join(str(error).split())}") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path}: expected keys and values, found {str(record)[:80]}")
    return record


def _rank() -> int:
    """Rank of this process, before Lightning knows it."""
    names = ("RANK", "SLURM_PROCID", "LOCAL_RANK")
    return int(next((os.environ[name] for name in names if name in os.environ), 0))
