"""Data of MTEB tasks from local files, and ``mteb`` without side effects."""

import hashlib
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.utilities.seed import isolate_rng

from xsent.paths import sha256

log = logging.getLogger(__name__)

TEST = "test"
LOCAL = "local"  # replaces the hub's address and revision of a data set; files of mteb's own tasks add a digest
TYPES = ("Classification", "PairClassification", "STS")


def _columns(task: Any) -> dict[str, list[str]]:
    """Columns that ``mteb`` reads, by split; the label or score is last."""
    if task.metadata.type == "Classification":
        return {split: [task.input_column_name, task.label_column_name] for split in (task.train_split, TEST)}
    if task.metadata.type == "PairClassification":
        return {TEST: [task.input1_column_name, task.input2_column_name, task.label_column_name]}
    return {TEST: [*task.column_names, "score"]}


@contextmanager
def quiet_mteb() -> Iterator[Any]:
    """The package ``mteb``, without its reseeding of random generators and its warnings.

    Raises:
        ImportError: it is not installed.
    """
    # Tasks and evaluators of mteb set the seeds of random, numpy and torch, some on import.
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with isolate_rng(include_cuda=False), torch.random.fork_rng(devices), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import mteb
        except ImportError as error:
            raise ImportError("scoring tasks of MTEB needs mteb: pip install 'xsent[mteb]'") from error
        logging.getLogger("mteb").setLevel(logging.ERROR)
        yield mteb


def read_task(mteb: Any, name: str, *, root: str | None, download: bool, cache_dir: str) -> Any:
    """A task of ``mteb`` with its data.

    Args:
        root: folder with a folder per task; None: the local cache of the hub.
        cache_dir: cache of ``datasets``.

    Raises:
        FileNotFoundError: missing data; the message says how to get them.
        ValueError: no such task, or unexpected type or data format.
    """
    try:
        task = mteb.get_task(name, eval_splits=[TEST])
    except KeyError as error:
        raise ValueError(f"evaluator.tasks: mteb {mteb.__version__} has no task {name}; {error.args[0]}") from error
    about = task.metadata
    if about.type not in TYPES or about.is_multilingual or TEST not in task.eval_splits:
        raise ValueError(
            f"evaluator.tasks: {name}: expected a task in one language with a test split, of type"
            f" {', '.join(TYPES)}; found {about.type}, languages {', '.join(about.languages)}, splits"
            f" {', '.join(about.eval_splits)}"
        )
    folder = _folder(task, root, download, options=("evaluator.root=ROOT", "evaluator.download=true"))
    task.dataset = _load(folder, cache_dir)
    required = _columns(task)
    if any(split in task.dataset and _absent(task.dataset[split], columns) for split, columns in required.items()):
        with suppress(ValueError):  # of a missing column
            task.dataset_transform()  # renames the hub's columns to mteb's
    for split, columns in required.items():
        _check_split(task.dataset, split, columns, folder)
    task.data_loaded = True
    return task


def data_digest(task: Any) -> str:
    """Hex digest of the data of ``read_task``."""
    content = {
        split: [list(task.dataset[split][column]) for column in columns] for split, columns in _columns(task).items()
    }
    return hashlib.sha256(json.dumps([task.metadata.name, content], sort_keys=True).encode()).hexdigest()


def hub_task(mteb: Any, name: str, *, root: str | None, download: bool) -> tuple[Any, Path]:
    """Any text task of ``mteb``, with all its splits and languages, and the folder of its data.

    The data are in a folder of ``root`` named like the task, with the files of the hub's repository, otherwise in the
    local cache of the hub; ``download``: fetch files that are not in the cache.

    Raises:
        FileNotFoundError: missing data; the message says how to get them.
        ValueError: a task of images or audio, or an aggregate of tasks.
    """
    task = mteb.get_task(name)
    about = task.metadata
    if about.modalities != ["text"] or task.is_aggregate:
        description = "made of other tasks: name those" if task.is_aggregate else f"found {', '.join(about.modalities)}"
        raise ValueError(f"{name}: expected a task of text, {description}")
    task_root = root if root is not None and (Path(root) / name).is_dir() else None
    folder = _folder(task, task_root, download, options=("--local ROOT", "--download"))
    # The task's reader accepts a folder instead of the hub's address. Only the hub's files have the hub's revision.
    revision = about.dataset["revision"] if task_root is None else f"{LOCAL}-{folder_digest(folder)[:12]}"
    task.metadata = about.model_copy(update={"dataset": {**about.dataset, "path": str(folder), "revision": revision}})
    return task, folder


def load_data(task: Any, folder: Path) -> list[str]:
    """Read the data of a task of ``hub_task``; returns the subsets without rows in a local folder.

    Raises:
        ValueError: the task cannot read the data, or the hub's cache is incomplete.
    """
    try:
        task.load_data()
    except Exception as error:  # tasks have their own readers, based on several libraries
        reason = " ".join(str(error.__cause__ or error).split())
        raise ValueError(f"{folder}: cannot be read as the data of {task.metadata.name}: {reason}") from error
    if not task.metadata.is_multilingual or getattr(task, "parallel_subsets", False):
        return []
    available = [subset for subset in task.hf_subsets if subset in task.dataset]
    if not available:
        raise ValueError(f"{folder}: expected rows of one of {', '.join(task.hf_subsets)}, found none")
    if absent := [subset for subset in task.hf_subsets if subset not in available]:
        if not task.metadata.dataset["revision"].startswith(f"{LOCAL}-"):  # results would look like those of all data
            raise ValueError(f"{folder}: the cache has no rows of {', '.join(absent)}; --download fetches the rest")
        log.warning("%s: no rows of %s in %s; they are left out", task.metadata.name, ", ".join(absent), folder)
        task.hf_subsets = available
    return absent


def folder_digest(folder: Path) -> str:
    """Hex digest of names and contents of all files of a folder, except those of ``hf download`` itself."""
    content = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if name.parts[0] != ".cache":  # download times
            content.update(f"{name} {sha256(path)}\n".encode())
    return content.hexdigest()


def _folder(task: Any, root: str | None, download: bool, *, options: tuple[str, str]) -> Path:
    """The folder of a task's data in ``root``, or in the hub's cache; messages name the options for both."""
    name, path, revision = task.metadata.name, task.metadata.dataset["path"], task.metadata.dataset["revision"]
    if root is not None:
        folder = Path(root) / str(name)
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{folder}: no such folder; expected the data of {name}. To get them: hf download {path}"
                f" --repo-type dataset --revision {revision} --local-dir {folder}"
            )
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(snapshot_download(path, repo_type="dataset", revision=revision, local_files_only=not download))
    except (OSError, HfHubHTTPError) as error:
        fetch = "could not be fetched" if download else f"{options[1]} fetches them, once"
        raise FileNotFoundError(
            f"{name}: the local cache of the hub has no files of {path}, revision {revision} ({fetch});"
            f" {options[0]} reads them from ROOT/{name}. The hub said: {type(error).__name__}:"
            f" {str(error).splitlines()[0]}"
        ) from error


def _load(folder: Path, cache_dir: str) -> Any:
    """Splits by name, from files or from the output of ``save_to_disk``."""
    from datasets import Dataset, load_dataset, load_from_disk
    from datasets.exceptions import DatasetGenerationError

    if (folder / "dataset_dict.json").is_file():
        return load_from_disk(str(folder))
    try:
        splits = load_dataset(str(folder), cache_dir=cache_dir)
    except DatasetGenerationError as error:
        raise ValueError(f"{folder}: cannot be read: {error.__cause__ or error}") from error
    for split, rows in splits.items():
        # On the hub some tasks have all pairs in one row of lists.
        if len(rows) == 1 and all(isinstance(value, list) for value in rows[0].values()):
            splits[split] = Dataset.from_dict(rows[0])
    return splits


def _absent(rows: Any, columns: list[str]) -> list[str]:
    return [column for column in columns if column not in rows.column_names]


def _check_split(splits: Any, split: str, columns: list[str], folder: Path) -> None:
    if split not in splits:
        raise ValueError(f"{folder}: expected a split {split} (such as {split}.jsonl), found {', '.join(splits)}")
    rows = splits[split]
    if absent := _absent(rows, columns):
        raise ValueError(
            f"{folder}, split {split}: expected columns {', '.join(columns)}, found {', '.join(rows.column_names)}:"
            f" no {', '.join(absent)}"
        )
    if not len(rows):
        raise ValueError(f"{folder}, split {split}: expected at least 1 row, found none")
    for column in columns:
        types, expected = ((int, float), "a number") if column == columns[-1] else ((str,), "a text")
        for number, value in enumerate(rows[column], start=1):
            if not isinstance(value, types):
                raise ValueError(f"{folder}, split {split}, row {number}: {column} is {value!r}, expected {expected}")
