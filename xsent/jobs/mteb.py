"""Tasks of ``mteb`` and local ones, scored for one encoder; what is finished is not computed again."""

from __future__ import annotations

import csv
import difflib
import json
import logging
import os
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
from xsent.data.whole_file import whole_file
from xsent.evaluation.mteb_compare import Compared, compare
from xsent.evaluation.mteb_data import folder_digest, hub_task, load, quiet_mteb
from xsent.evaluation.mteb_local import local_digest, local_task
from xsent.evaluation.mteb_model import MtebModel, Remembered, encoding, model_meta

log = logging.getLogger(__name__)

NEAREST = 5  # names that a misspelt one is answered with
MARK = "xsent-mteb.json"  # tells a folder of ours from anybody else's
COLUMNS = ("task", "subset", "figure", "mteb", "ours_is", "ours", "difference", "why")
OTHERS = "mteb's own task; nothing of ours is measured on its files"
UNEXPLAINED = "NOT EXPLAINED"

Row = dict[str, object]  # by ``COLUMNS``


class Local(NamedTuple):
    """A test set of this project as a task."""

    name: str
    kind: str  # as in ``xsent.evaluation.mteb_local.local_task``
    about: str
    evaluator: Any  # its files read
    options: object  # plain values that it was built from, without the places of its files


@dataclass(frozen=True)
class Asked:
    """A task with its data at hand.

    Attributes:
        name: as the user calls it.
        data: digest of its data.
        task: ``mteb``'s object.
        load: has the task hold its data.
        absent: subsets that there are no data of.
        local: where it is one of ours.
    """

    name: str
    data: str
    task: Any
    load: Callable[[], object]
    absent: Sequence[str]
    local: Local | None

    def key(self, revision: str) -> dict[str, str]:
        """What a result was computed from, given the model's revision."""
        return {"model": revision, "data": self.data, **_versions()}


def _versions() -> dict[str, str]:
    with quiet_mteb() as mteb:
        return {"mteb": mteb.__version__, "xsent": __version__}


def check_names(names: Sequence[str], local: Sequence[str]) -> None:
    """Raise ``ValueError`` when a name is neither a local task nor one of ``mteb``, and show the nearest.

    Raises:
        ImportError: ``mteb`` is not installed.
    """
    known = [*local, *_names_of_mteb()]
    by_lower_case: dict[str, list[str]] = defaultdict(list)
    for one in known:
        by_lower_case[one.lower()].append(one)
    for name in names:
        if name in known:
            continue
        matches = difflib.get_close_matches(name.lower(), by_lower_case, n=NEAREST, cutoff=0.6)
        near = [one for match in matches for one in by_lower_case[match]]
        hint = f"nearest are {', '.join(near)}" if near else f"local tasks are {', '.join(local)}"
        raise ValueError(f"--tasks {name}: neither a local task nor one of mteb {_versions()['mteb']}; {hint}")


@cache
def _names_of_mteb() -> list[str]:
    with quiet_mteb() as mteb:
        return sorted(task.metadata.name for task in mteb.get_tasks(exclude_superseded=False))


def score_tasks(
    embedder: Embedder,
    output: Path,
    *,
    name: str,
    space: str | None,
    tasks: Sequence[str | Local],
    root: str | None,
    download: bool,
) -> list[Row]:
    """Score an encoder and write what ``mteb`` says, and ours beside it.

    The folder holds ``results/xsent__<name>/<digest>/<Task>.json``, which ``mteb.ResultCache(folder)`` reads, and
    ``<name>-<digest>/comparison.md`` and ``.csv``, so that several encoders can share it.

    Args:
        embedder: what is scored.
        output: a folder; new, empty or one of this job.
        name: of the encoder, after ``xsent/``.
        space: as of ``MtebModel.of``.
        tasks: names of tasks of ``mteb``, and local ones.
        root, download: as of ``hub_task``.

    Returns:
        The rows of the comparison, those of earlier commands too.

    Raises:
        FileNotFoundError: data are missing.
        ImportError: ``mteb`` is not installed.
        ValueError: the folder holds something else, a task cannot be run, its data have another form, or a figure of
            one definition differs in one of these tasks and nothing explains it (all is written then).
    """
    start = time.perf_counter()
    check_folder(output)
    asked = [_asked(task, root=root, download=download) for task in tasks]
    meta = model_meta(embedder, name=name, space=space)
    claim_folder(output)
    scoring = _Scoring(output, meta, encoding(embedder, space))
    rows: list[Row] = []
    bar = tqdm(asked, unit=" tasks", disable=len(asked) < 2)
    for one in bar:
        bar.set_description(one.name)
        scoring.score(one)
        rows = scoring.write_comparison(asked)
    log.info("%d tasks in %.0f s: %s", len(asked), time.perf_counter() - start, scoring.folder / "comparison.md")
    names = {one.name for one in asked}
    if bad := [row for row in rows if row["why"] == UNEXPLAINED and row["task"] in names]:
        shown = "; ".join("{task} {subset} {figure}: mteb {mteb}, ours {ours}".format(**row) for row in bad)
        raise ValueError(f"figures of one definition differ, which should not be: {shown}. All figures are written.")
    return rows


def _asked(task: str | Local, *, root: str | None, download: bool) -> Asked:
    if isinstance(task, Local):
        made = local_task(f"xsent_{task.name}", task.kind, task.evaluator, about=task.about)
        digest = local_digest(made, task.kind, task.evaluator, task.options)
        return Asked(task.name, digest, made, lambda: None, (), task)
    with quiet_mteb() as mteb:
        found, folder = hub_task(mteb, task, root=root, download=download)
        absent = load(found, folder)  # here, so that what is wrong with the data is said before anything is encoded
    return Asked(task, folder_digest(folder), found, lambda: found.data_loaded or load(found, folder), absent, None)


def check_folder(output: Path) -> None:
    """Raise ``ValueError`` when there is something else at the place of the results."""
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output}: expected a folder for the results, or none yet, found a file")
    if output.is_dir() and not (output / MARK).is_file() and (other := next(output.iterdir(), None)) is not None:
        raise ValueError(
            f"{output}: expected a new folder or one of xsent mteb, found {other.name} and no {MARK};"
            " nothing was written"
        )


def claim_folder(output: Path) -> None:
    """Make the folder, and mark it as one of this job."""
    if not (output / MARK).is_file():
        with whole_file(output / MARK) as file:
            json.dump({"made_by": "xsent mteb", "results": "results/<model>/<digest>/<task>.json"}, file, indent=1)


class _Scoring:
    """One model's part of the folder."""

    def __init__(self, output: Path, meta: Any, encode: Callable[[Sequence[str]], Any]) -> None:
        self.meta = meta
        self.encode = encode
        name = meta.name.partition("/")[2]
        self.folder = output / f"{name}-{_short(meta.revision)}"
        self.results = output / "results" / meta.name.replace("/", "__") / meta.revision

    def score(self, one: Asked) -> None:
        """Have a task computed, unless that is done."""
        key = one.key(self.meta.revision)
        done, result = self.folder / "tasks" / f"{one.name}.json", self.results / f"{one.task.metadata.name}.json"
        if done.is_file() and result.is_file():
            before = json.loads(done.read_text(encoding="utf-8"))["key"]
            if before == key:
                log.info("%s: done before, %s", one.name, result)
                return
            changed = ", ".join(part for part in key if before.get(part) != key[part])
            log.info("%s: computed again, as another %s scored it before", one.name, changed)
        remembered = Remembered(self.encode)  # of local tasks, whose sentences we score, too
        found = self._run(one, remembered)
        self._write_result(found, result)
        rows = self._rows(one, found, remembered)
        with whole_file(done) as file:
            json.dump({"key": key, "absent": list(one.absent), "rows": rows}, file, indent=1)

    def _run(self, one: Asked, remembered: Remembered) -> Any:
        one.load()
        if one.local is not None:
            remembered(one.local.evaluator.sentences())
        model = MtebModel(self.encode if one.local is None else remembered, self.meta)
        # Where all is encoded, what mteb would show are bars of moments, several for each subset.
        bars = nullcontext() if one.local is None else redirect_stderr(StringIO())
        with quiet_mteb() as mteb, bars:
            found = mteb.evaluate(model, one.task, cache=None, co2_tracker=False, show_progress_bar=False)
        one.task.unload_data()
        return found.task_results[0]

    def _write_result(self, found: Any, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path.with_name("model_meta.json")) as file:
            json.dump(self.meta.to_dict(), file, default=str, indent=1)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        found.to_disk(temporary)
        temporary.replace(path)

    def _rows(self, one: Asked, found: Any, remembered: Remembered) -> list[Row]:
        if one.local is None:
            return [
                _row(
                    one.name,
                    f"{scores['hf_subset']}" + ("" if len(found.scores) == 1 else f" {split}"),
                    scores,
                    one.task,
                )
                for split, of_split in found.scores.items()
                for scores in of_split
            ]
        ((_, of_split),) = found.scores.items()
        evaluator = one.local.evaluator
        vectors = torch.from_numpy(remembered(evaluator.sentences()))
        by_subset: Mapping[str, Any] = {scores["hf_subset"]: scores for scores in of_split}
        return [_compared(one.name, row) for row in compare(one.local.kind, evaluator, vectors, by_subset)]

    def write_comparison(self, asked: Sequence[Asked]) -> list[Row]:
        """Write all rows of this model, those of earlier commands too, as CSV and Markdown; returns them.

        Tasks that another ``mteb`` or ``xsent`` scored, or of other data than those asked for, are left out.
        """
        keys, rows, said = {one.name: one.key(self.meta.revision) for one in asked}, [], []
        for path in sorted((self.folder / "tasks").glob("*.json")):
            task = json.loads(path.read_text(encoding="utf-8"))
            wanted = keys.get(path.stem, _versions())
            if changed := [part for part in wanted if task["key"].get(part) != wanted[part]]:
                said.append(f"{path.stem} is left out: another {', '.join(changed)} scored it.")
                continue
            rows += task["rows"]
            if absent := task.get("absent"):
                said.append(f"{path.stem}: there were no data of {', '.join(absent)}.")
        with whole_file(self.folder / "comparison.csv") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        with whole_file(self.folder / "comparison.md") as file:
            file.write(markdown(rows, title=f"{self.meta.name}, {_short(self.meta.revision)}", said=said))
        return rows


def _short(revision: str) -> str:
    digest, dash, space = revision.partition("-")
    return f"{digest[:12]}{dash}{space}"


def _row(task: str, subset: str, scores: Mapping[str, Any], asked: Any) -> Row:
    value = 100 * scores["main_score"]
    return {
        "task": task, "subset": subset, "figure": asked.metadata.main_score, "mteb": round(value, 4), "ours_is": "",
        "ours": None, "difference": None, "why": OTHERS,
    }  # fmt: skip


def _compared(task: str, row: Compared) -> Row:
    return {
        "task": task, "subset": row.subset, "figure": row.figure, "mteb": round(row.mteb, 4), "ours_is": row.ours_is,
        "ours": round(row.ours, 4), "difference": round(row.difference, 4), "why": row.why or UNEXPLAINED,
    }  # fmt: skip


def markdown(rows: Sequence[Row], *, title: str, said: Sequence[str]) -> str:
    """A table; long reasons stand below it once, by number, and what else is said of tasks."""
    reasons = list(dict.fromkeys(str(row["why"]) for row in rows if len(str(row["why"])) > 20))
    lines = [f"# {title}", "", "Percent; `same` is equal to the digits that mteb writes.", ""]
    lines += [
        "| task | subset | figure | mteb | ours | is our | difference | why |",
        "|---|---|---|---:|---:|---|---:|---|",
    ]
    for row in rows:
        why = f"[{reasons.index(str(row['why'])) + 1}]" if row["why"] in reasons else row["why"]
        figures = [_shown(row[column], digits) for column, digits in [("mteb", 2), ("ours", 2), ("difference", 4)]]
        cells = [row["task"], row["subset"], row["figure"], *figures[:2], row["ours_is"], figures[2], why]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    below = [f"{number}. {reason}" for number, reason in enumerate(reasons, start=1)]
    return "\n".join([*lines, *["", *below] * bool(below), *["", *(f"- {one}" for one in said)] * bool(said), ""])


def _shown(value: object, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
