"""MTEB job: score an encoder on tasks of ``mteb`` and on local ones; finished tasks are not computed again."""

import csv
import difflib
import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from xsent import __version__
from xsent.batch import Embedder
from xsent.evaluation.mteb.compare import compare
from xsent.evaluation.mteb.local_tasks import local_digest, local_task
from xsent.evaluation.mteb.model import CachedEncoding, MtebModel, model_meta, numpy_encode
from xsent.evaluation.mteb.task_data import folder_digest, hub_task, load_data, quiet_mteb
from xsent.files.atomic import atomic_path, atomic_write, write_text
from xsent.files.strict_json import read_json_object

log = logging.getLogger(__name__)

SUGGESTIONS = 5  # names suggested for a misspelt one
MARKER = "xsent-mteb.json"  # marks a results folder of this job
COLUMNS = ("task", "subset", "figure", "mteb", "ours_is", "ours", "difference", "why")
MTEB_ONLY = "mteb's own task; nothing of ours is measured on its files"
UNEXPLAINED = "NOT EXPLAINED"

Row = dict[str, object]  # by ``COLUMNS``


class LocalTask(NamedTuple):
    """A test set of this project as an MTEB task."""

    name: str
    kind: str  # as in ``xsent.evaluation.mteb.local_tasks.local_task``
    about: str
    evaluator: Any  # has read its files
    options: object  # its config as plain values, without the paths of its files


@dataclass(frozen=True)
class PreparedTask:
    """A task whose data were found."""

    name: str  # as the user calls it
    data: str  # digest of its data
    task: Any  # the object of ``mteb``
    load: Callable[[], None]  # loads the data into the task
    missing: Sequence[str]  # subsets without data
    local: LocalTask | None

    def key(self, revision: str) -> dict[str, str]:
        """Everything that a result depends on, given the revision of the model."""
        return {"model": revision, "data": self.data, **_versions()}


def _versions() -> dict[str, str]:
    with quiet_mteb() as mteb:
        return {"mteb": mteb.__version__, "xsent": __version__}


def check_names(names: Sequence[str], local: Sequence[str]) -> None:
    """Raise ``ValueError`` if a name is neither a local task nor one of ``mteb``; suggests similar names.

    Raises:
        ImportError: ``mteb`` is not installed.
    """
    available = [*local, *_mteb_names()]
    by_lower_case: dict[str, list[str]] = defaultdict(list)
    for name in available:
        by_lower_case[name.lower()].append(name)
    for name in names:
        if name in available:
            continue
        matches = difflib.get_close_matches(name.lower(), by_lower_case, n=SUGGESTIONS, cutoff=0.6)
        similar = [task for match in matches for task in by_lower_case[match]]
        hint = f"nearest are {', '.join(similar)}" if similar else f"local tasks are {', '.join(local)}"
        raise ValueError(f"--tasks {name}: neither a local task nor one of mteb {_versions()['mteb']}; {hint}")


@cache
def _mteb_names() -> list[str]:
    with quiet_mteb() as mteb:
        return sorted(task.metadata.name for task in mteb.get_tasks(exclude_superseded=False))


def score_tasks(
    embedder: Embedder,
    output: Path,
    *,
    name: str,
    space: str | None,
    tasks: Sequence[str | LocalTask],
    root: str | None,
    download: bool,
) -> list[Row]:
    """Score an encoder with ``mteb`` and write its results, with our figures for comparison.

    The folder gets ``results/xsent__<name>/<digest>/<Task>.json``, which ``mteb.ResultCache(folder)`` reads, and
    ``<name>-<digest>/comparison.md`` and ``.csv``, so that several encoders can share it.

    Args:
        output: a new or empty folder, or one of this job.
        name: name of the encoder, after ``xsent/``.
        space: as in ``MtebModel.of``.
        root, download: as in ``hub_task``.

    Returns:
        The rows of the comparison, including those of earlier commands.

    Raises:
        FileNotFoundError: data are missing.
        ImportError: ``mteb`` is not installed.
        ValueError: the folder has other files, a task cannot be run, its data have another format, or a figure with one
            definition differs between ``mteb`` and ours without a known reason (after everything is written).
    """
    start = time.perf_counter()
    check_folder(output)
    prepared = [_prepare(task, root=root, download=download) for task in tasks]
    meta = model_meta(embedder, name=name, space=space)
    if not (output / MARKER).is_file():
        about = {"made_by": "xsent mteb", "results": "results/<model>/<digest>/<task>.json"}
        write_text(output / MARKER, json.dumps(about, indent=1))
    scoring = _Scoring(output, meta, numpy_encode(embedder, space))
    rows: list[Row] = []
    bar = tqdm(prepared, unit=" tasks", disable=len(prepared) < 2)
    for task in bar:
        bar.set_description(task.name)
        scoring.score(task)
        rows = scoring.write_comparison(prepared)
    log.info("%d tasks in %.0f s: %s", len(prepared), time.perf_counter() - start, scoring.folder / "comparison.md")
    names = {task.name for task in prepared}
    if unexplained := [row for row in rows if row["why"] == UNEXPLAINED and row["task"] in names]:
        figures = "; ".join("{task} {subset} {figure}: mteb {mteb}, ours {ours}".format(**row) for row in unexplained)
        raise ValueError(f"figures of one definition differ, which should not be: {figures}. All figures are written.")
    return rows


def _prepare(task: str | LocalTask, *, root: str | None, download: bool) -> PreparedTask:
    if isinstance(task, LocalTask):
        mteb_task = local_task(f"xsent_{task.name}", task.kind, task.evaluator, about=task.about)
        digest = local_digest(mteb_task, task.kind, task.evaluator, task.options)
        return PreparedTask(task.name, digest, mteb_task, lambda: None, (), task)
    with quiet_mteb() as mteb:
        mteb_task, folder = hub_task(mteb, task, root=root, download=download)
        missing = load_data(mteb_task, folder)  # before encoding, so that data errors come first

    def load() -> None:
        if not mteb_task.data_loaded:
            load_data(mteb_task, folder)

    return PreparedTask(task, folder_digest(folder), mteb_task, load, missing, None)


def check_folder(output: Path) -> None:
    """Raise ``ValueError`` if the results cannot go to this path."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output}: expected a folder for the results, or none yet, found a file")
    if output.is_dir() and not (output / MARKER).is_file() and (foreign := next(output.iterdir(), None)) is not None:
        raise ValueError(
            f"{output}: expected a new folder or one of xsent mteb, found {foreign.name} and no {MARKER};"
            " nothing was written"
        )


class _Scoring:
    """The part of the results folder that belongs to one model."""

    def __init__(self, output: Path, meta: Any, encode: Callable[[Sequence[str]], Any]) -> None:
        self.meta = meta
        self.encode = encode
        name = meta.name.partition("/")[2]
        self.folder = output / f"{name}-{_short(meta.revision)}"
        self.results = output / "results" / meta.name.replace("/", "__") / meta.revision

    def score(self, task: PreparedTask) -> None:
        """Compute the scores of a task, unless they exist."""
        key = task.key(self.meta.revision)
        record = self.folder / "tasks" / f"{task.name}.json"
        result_path = self.results / f"{task.task.metadata.name}.json"
        if record.is_file() and result_path.is_file():
            before = read_json_object(record, allow_nan=True)["key"]
            if before == key:
                log.info("%s: done before, %s", task.name, result_path)
                return
            changed = ", ".join(part for part in key if before.get(part) != key[part])
            log.info("%s: computed again, as another %s scored it before", task.name, changed)
        cache = CachedEncoding(self.encode)  # the embeddings of local tasks, for our figures
        result = self._run(task, cache)
        write_text(result_path.with_name("model_meta.json"), json.dumps(self.meta.to_dict(), default=str, indent=1))
        with atomic_path(result_path) as temporary:
            result.to_disk(temporary)
        rows = self._rows(task, result, cache)
        content = {"key": key, "absent": list(task.missing), "rows": rows}
        write_text(record, json.dumps(content, indent=1))

    def _run(self, task: PreparedTask, cache: CachedEncoding) -> Any:
        task.load()
        if task.local is not None:
            cache(task.local.evaluator.sentences())
        model = MtebModel(self.encode if task.local is None else cache, self.meta)
        # All sentences of a local task are encoded already: mteb's progress bars, several per subset, would only flash.
        bars = nullcontext() if task.local is None else redirect_stderr(StringIO())
        with quiet_mteb() as mteb, bars:
            results = mteb.evaluate(model, task.task, cache=None, co2_tracker=False, show_progress_bar=False)
        task.task.unload_data()
        return results.task_results[0]

    def _rows(self, task: PreparedTask, result: Any, cache: CachedEncoding) -> list[Row]:
        cells: list[tuple[object, ...]] = []
        if task.local is None:
            main_score = task.task.metadata.main_score
            values = [
                (f"{scores['hf_subset']}{f' {split}' * (len(result.scores) > 1)}", 100 * scores["main_score"])
                for split, subsets in result.scores.items()
                for scores in subsets
            ]
            cells = [(subset, main_score, round(value, 4), "", None, None, MTEB_ONLY) for subset, value in values]
        else:
            ((_, subsets),) = result.scores.items()
            evaluator = task.local.evaluator
            embeddings = torch.from_numpy(cache(evaluator.sentences()))
            by_subset: Mapping[str, Any] = {scores["hf_subset"]: scores for scores in subsets}
            for row in compare(task.local.kind, evaluator, embeddings, by_subset):
                theirs, ours, difference = (round(value, 4) for value in (row.mteb, row.ours, row.difference))
                cells.append((row.subset, row.figure, theirs, row.ours_is, ours, difference, row.why or UNEXPLAINED))
        return [dict(zip(COLUMNS, (task.name, *row), strict=True)) for row in cells]

    def write_comparison(self, prepared: Sequence[PreparedTask]) -> list[Row]:
        """Write all rows of this model, including earlier ones, as CSV and Markdown; returns them.

        Leaves out tasks scored by another version of ``mteb`` or ``xsent``, or on other data than now.
        """
        keys, rows, notes = {task.name: task.key(self.meta.revision) for task in prepared}, [], []
        for path in sorted((self.folder / "tasks").glob("*.json")):
            task = read_json_object(path, allow_nan=True)
            key = keys.get(path.stem, _versions())
            if changed := [part for part in key if task["key"].get(part) != key[part]]:
                notes.append(f"{path.stem} is left out: another {', '.join(changed)} scored it.")
                continue
            rows += task["rows"]
            if missing := task.get("absent"):
                notes.append(f"{path.stem}: there were no data of {', '.join(missing)}.")
        with atomic_write(self.folder / "comparison.csv") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        title = f"{self.meta.name}, {_short(self.meta.revision)}"
        write_text(self.folder / "comparison.md", markdown(rows, title=title, notes=notes))
        return rows


def _short(revision: str) -> str:
    digest, dash, space = revision.partition("-")
    return f"{digest[:12]}{dash}{space}"


def markdown(rows: Sequence[Row], *, title: str, notes: Sequence[str]) -> str:
    """The comparison as a Markdown table; long reasons are numbered below it, followed by the notes."""
    reasons = list(dict.fromkeys(str(row["why"]) for row in rows if len(str(row["why"])) > 20))
    lines = [f"# {title}", "", "Percent; `same` is equal to the digits that mteb writes.", ""]
    lines += ["| task | subset | figure | mteb | ours | is our | difference | why |"]
    lines += ["|---|---|---|---:|---:|---|---:|---|"]
    for row in rows:
        reason = f"[{reasons.index(str(row['why'])) + 1}]" if row["why"] in reasons else row["why"]
        figures = [_format(row[column], digits) for column, digits in [("mteb", 2), ("ours", 2), ("difference", 4)]]
        cells = [row["task"], row["subset"], row["figure"], *figures[:2], row["ours_is"], figures[2], reason]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    footnotes = [f"{number}. {reason}" for number, reason in enumerate(reasons, start=1)]
    for block in (footnotes, [f"- {note}" for note in notes]):
        if block:
            lines += ["", *block]
    return "\n".join([*lines, ""])


def _format(value: object, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
