"""Tasks of MTEB with their data read from local files, and ``mteb`` imported without its side effects."""

from __future__ import annotations

import hashlib
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pytorch_lightning.utilities.seed import isolate_rng

from xsent.paths import sha256

log = logging.getLogger(__name__)

TEST = "test"
LOCAL = "local"  # where mteb has the hub's address and revision of a data set; with a digest for files of its own tasks
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
    folder = _folder(name, root, download, OF_EVALUATOR, path=about.dataset["path"], revision=about.dataset["revision"])
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


class Wording(NamedTuple):
    """How a user says where the data are."""

    root: str
    download: str


OF_EVALUATOR = Wording("evaluator.root=ROOT", "evaluator.download=true")
OF_COMMAND = Wording("--local ROOT", "--download")


def hub_task(mteb: Any, name: str, *, root: str | None, download: bool) -> tuple[Any, Path]:
    """Any text task of ``mteb``, with all its splits and languages, and the folder that its data are in.

    Args:
        mteb: the package.
        name: of the task.
        root: a folder that may have a folder of the task's name, with the files of the hub's repository; None, or where
            there is no such folder: the hub's local cache.
        download: whether the hub may be asked for what the cache has not.

    Raises:
        FileNotFoundError: data that are not there; says how to get them.
        ValueError: a task of pictures or sound, or one made of several others.
    """
    task = mteb.get_task(name)
    about = task.metadata
    if about.modalities != ["text"] or task.is_aggregate:
        what = "made of other tasks: name those" if task.is_aggregate else f"found {', '.join(about.modalities)}"
        raise ValueError(f"{name}: expected a task of text, {what}")
    own_root = root if root is not None and (Path(root) / name).is_dir() else None
    address = {"path": about.dataset["path"], "revision": about.dataset["revision"]}
    folder = _folder(name, own_root, download, OF_COMMAND, **address)
    # Its own reader takes a folder where it would take the hub's address. Only the hub's files have the hub's revision.
    revision = address["revision"] if own_root is None else f"{LOCAL}-{folder_digest(folder)[:12]}"
    task.metadata = about.model_copy(update={"dataset": {**about.dataset, "path": str(folder), "revision": revision}})
    return task, folder


def load(task: Any, folder: Path) -> list[str]:
    """Have a task of ``hub_task`` read its data; returns the subsets that a folder of the user's has no rows of.

    Raises:
        ValueError: they have another form than the task expects, or the hub's cache has a part of them.
    """
    try:
        task.load_data()
    except Exception as error:  # each task has a reader of its own, on one of several libraries
        reason = " ".join(str(error.__cause__ or error).split())
        raise ValueError(f"{folder}: cannot be read as the data of {task.metadata.name}: {reason}") from error
    return _leave_out_absent(task, folder)


def _leave_out_absent(task: Any, folder: Path) -> list[str]:
    """Drop the languages that a folder has no rows of; tasks that read all languages at once do not miss them."""
    if not task.metadata.is_multilingual or getattr(task, "parallel_subsets", False):
        return []
    there = [subset for subset in task.hf_subsets if subset in task.dataset]
    if not there:
        raise ValueError(f"{folder}: expected rows of one of {', '.join(task.hf_subsets)}, found none")
    if absent := [subset for subset in task.hf_subsets if subset not in there]:
        if not task.metadata.dataset["revision"].startswith(f"{LOCAL}-"):  # results would pass for those of all data
            raise ValueError(f"{folder}: the cache has no rows of {', '.join(absent)}; --download fetches the rest")
        log.warning("%s: no rows of %s in %s; they are left out", task.metadata.name, ", ".join(absent), folder)
        task.hf_subsets = there
    return absent


def folder_digest(folder: Path) -> str:
    """Hex digest of the names and the content of all files of a folder, but those of ``hf download`` itself."""
    content = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if name.parts[0] != ".cache":  # when each file was fetched
            content.update(f"{name} {sha256(path)}\n".encode())
    return content.hexdigest()


def _folder(name: str, root: str | None, download: bool, wording: Wording, *, path: str, revision: str) -> Path:
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
        fetch = "could not be fetched" if download else f"{wording.download} fetches them, once"
        raise FileNotFoundError(
            f"{name}: the local cache of the hub has no files of {path}, revision {revision} ({fetch});"
            f" {wording.root} reads them from ROOT/{name}. The hub said: {type(error).__name__}:"
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
