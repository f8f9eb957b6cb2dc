"""Tasks of MTEB with their data read from local files, and ``mteb`` imported without its side effects."""

from __future__ import annotations

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

TEST = "test"
TYPES = ("Classification", "PairClassification", "STS")


def _columns(task: Any) -> dict[str, list[str]]:
    """By split the columns that ``mteb`` reads, the label or score last."""
    if task.metadata.type == "Classification":
        return {split: [task.input_column_name, task.label_column_name] for split in (task.train_split, TEST)}
    if task.metadata.type == "PairClassification":
        return {TEST: [task.input1_column_name, task.input2_column_name, task.label_column_name]}
    return {TEST: [*task.column_names, "score"]}


@contextmanager
def quiet_mteb() -> Iterator[Any]:
    """The package ``mteb``, which may not reseed a training run nor say that tasks have newer versions.

    Raises:
        ImportError: it is not installed.
    """
    # Its tasks and evaluators set the seeds of random, numpy and torch, some of them when mteb is imported.
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []  # a process trains on one
    with isolate_rng(include_cuda=False), torch.random.fork_rng(devices), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import mteb
        except ImportError as error:
            raise ImportError("scoring tasks of MTEB needs mteb: pip install 'xsent[mteb]'") from error
        logging.getLogger("mteb").setLevel(logging.ERROR)
        yield mteb


def read_task(mteb: Any, name: str, *, root: str | None, download: bool, cache_dir: str) -> Any:
    """A task of ``mteb`` that holds its data.

    Args:
        mteb: the package.
        name: of the task.
        root: folder of a folder per task; None: the hub's files in the local cache.
        download: whether the hub may be asked.
        cache_dir: where ``datasets`` keeps what it reads.

    Raises:
        FileNotFoundError: data that are not there; says how to get them.
        ValueError: no such task, one of another type, or data of another form.
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
    folder = _folder(name, root, download, **about.dataset)
    task.dataset = _load(folder, cache_dir)
    wanted = _columns(task)
    if any(split in task.dataset and _absent(task.dataset[split], columns) for split, columns in wanted.items()):
        with suppress(ValueError):  # of a column that is not there
            task.dataset_transform()  # from the hub's names of columns to mteb's
    for split, columns in wanted.items():
        _check_split(task.dataset, split, columns, folder)
    task.data_loaded = True
    return task


def data_digest(task: Any) -> str:
    """Hex digest of what ``read_task`` read for a task."""
    content = {
        split: [list(task.dataset[split][column]) for column in columns] for split, columns in _columns(task).items()
    }
    return hashlib.sha256(json.dumps([task.metadata.name, content], sort_keys=True).encode()).hexdigest()


def _folder(name: str, root: str | None, download: bool, *, path: str, revision: str) -> Path:
    if root is not None:
        folder = Path(root) / name
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
        fetch = "could not be fetched" if download else "evaluator.download=true fetches them, once"
        raise FileNotFoundError(
            f"{name}: the local cache of the hub has no files of {path}, revision {revision} ({fetch});"
            f" evaluator.root=ROOT reads them from ROOT/{name}. The hub said: {type(error).__name__}:"
            f" {str(error).splitlines()[0]}"
        ) from error


def _load(folder: Path, cache_dir: str) -> Any:
    """Splits by name, from files or from what ``save_to_disk`` wrote."""
    from datasets import Dataset, load_dataset, load_from_disk
    from datasets.exceptions import DatasetGenerationError

    if (folder / "dataset_dict.json").is_file():
        return load_from_disk(str(folder))
    try:
        splits = load_dataset(str(folder), cache_dir=cache_dir)
    except DatasetGenerationError as error:
        raise ValueError(f"{folder}: cannot be read: {error.__cause__ or error}") from error
    for split, rows in splits.items():
        # The hub has all pairs of some tasks in one row of lists.
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
        wanted, kind = ((int, float), "a number") if column == columns[-1] else ((str,), "a text")
        for number, value in enumerate(rows[column], start=1):
            if not isinstance(value, wanted):
                raise ValueError(f"{folder}, split {split}, row {number}: {column} is {value!r}, expected {kind}")
