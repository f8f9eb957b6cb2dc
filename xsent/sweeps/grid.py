"""Report of a grid (multirun): its runs ranked by the monitored metric, and failed ones with their errors."""

import csv
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from omegaconf import DictConfig
from rich.console import Console

from xsent.files.atomic import write_text
from xsent.files.strict_json import read_json_object
from xsent.reporting.pages.grid import write_grid_tables
from xsent.reporting.pages.verdict import main_metrics
from xsent.reporting.tables.grid_tables import Model, grid_tables
from xsent.reporting.tables.results import metric_heading, same_row, value_cell
from xsent.reporting.tables.table import markdown_table, terminal_table, text_row
from xsent.run.main import Failure
from xsent.run.start import read_record

log = logging.getLogger(__name__)

WORDS = {"min": "lower is better", "max": "higher is better"}
NO_RESULT = "no result; see its log"


class GridRun(NamedTuple):
    """A run of the grid."""

    folder: Path
    overrides: Sequence[str]
    error: str = ""  # of a run that failed
    monitor: str = ""  # monitored metric; "" for an evaluation
    mode: str = "max"  # ``max`` or ``min``: which value of it is best
    best: float | None = None
    metrics: Mapping[str, float] = {}
    columns: Mapping[str, str] = {}  # headings of spaces that are not called by their names
    published: Sequence[Mapping[str, Any]] = ()  # tables of a paper, as of ``published_tables``
    source: str = ""  # run or folder that was evaluated; else empty


class GridReport(Callback):
    """Hydra callback that writes and prints the table of the runs when all have ended.

    The monitored metric of the checkpoints ranks the runs; metrics of test sets are shown and rank nothing.

    Args:
        title: of the table; None: the number of runs.
        figures: names in ``metrics.json`` to show; None: the main figure of each evaluator.
    """

    def __init__(self, *, title: str | None, figures: Sequence[str] | None) -> None:
        self.title = title
        self.figures = None if figures is None else list(figures)
        self.failed: dict[str, GridRun] = {}  # by name of the folder

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        if job_return.status == JobStatus.COMPLETED and isinstance(failure := job_return.return_value, Failure):
            folder = Path(config.hydra.runtime.output_dir)
            self.failed[folder.name] = GridRun(folder, list(job_return.overrides or []), failure.message)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        if config.get("study") is not None:
            return  # a study has its own table
        folder = Path(config.hydra.sweep.dir)
        runs = read_grid(folder, self.failed)
        header, rows = grid_table(runs, self.figures)
        title = self.title or f"{len(runs)} runs of {folder}"
        write_text(folder / "grid.md", f"## {title}\n\n{markdown_table(header, rows)}")
        Console().print(terminal_table(header, [text_row(row) for row in rows]))
        log.info("%s; table: %s", title, folder / "grid.md")
        if (results := grid_tables(published_of(runs), grid_models(runs))).tables:
            log.info("the paper's tables: %s", write_grid_tables(results, title, folder))


def read_grid(folder: Path, failed: Mapping[str, GridRun]) -> list[GridRun]:
    """Runs of a sweep: the best first, of equals the first, and those without a result last.

    Args:
        folder: of the sweep, with one folder per run, named by its number.
        failed: runs whose errors are known, by name of the folder.
    """
    names = {path.name for path in folder.iterdir() if path.is_dir() and path.name.isdigit()} | failed.keys()
    runs = [failed.get(name) or _read_run(folder / name) for name in sorted(names, key=int)]
    finished = [run for run in runs if not run.error]
    if len({(run.monitor, run.mode) for run in finished}) == 1:  # otherwise the values are not comparable
        finished.sort(key=lambda run: (run.best is None, (run.best or 0) * (-1 if run.mode == "max" else 1)))
    return [*finished, *(run for run in runs if run.error)]


def _read_run(folder: Path) -> GridRun:
    overrides, path = read_record(folder).get("overrides", []), folder / "metrics.json"
    if not path.is_file():
        return GridRun(folder, overrides, NO_RESULT)
    about = read_json_object(path)
    mode = about["config"].get("callbacks", {}).get("checkpoints", {}).get("mode", "max")
    figures = about["metrics"], about.get("columns", {})
    beside = about["config"].get("published", ()), about["config"].get("ckpt") or ""
    return GridRun(folder, overrides, "", about.get("monitor") or "", mode, about.get("best"), *figures, *beside)


def published_of(runs: Sequence[GridRun]) -> list[Mapping[str, Any]]:
    """The tables of a paper that the runs have, each once."""
    return list({table["title"]: table for run in runs for table in run.published}.values())


def grid_models(runs: Sequence[GridRun]) -> list[Model]:
    """What was evaluated, by its differing options but the evaluator, with the results of all its runs in a row."""
    finished = sorted((run for run in runs if not run.error), key=lambda run: int(run.folder.name))
    differing = {key: texts for key, texts in differing_options(finished).items() if key != "evaluator"}
    sources = set(differing.get("ckpt", ()))
    if len({Path(source).name for source in sources}) == len(sources):  # otherwise the whole paths tell them apart
        differing["ckpt"] = [Path(run.source).name for run in finished]
    models: dict[str, Model] = {}
    for number, run in enumerate(finished):
        parts = [texts[number] for texts in differing.values()]
        name = ", ".join(filter(None, parts)) or Path(run.source).name or "ours"
        of_name = models.get(name, Model(name, training_metrics(Path(run.source)) if run.source else {}, ()))
        details = [*of_name.details, *read_rows(run.folder / "details.csv")]
        models[name] = Model(name, {**of_name.metrics, **run.metrics}, details)
    return list(models.values())


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file by field; none if there is no such file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def training_metrics(folder: Path) -> dict[str, float]:
    """Facts of the training of a run folder as metrics of ``training/run``; empty for another folder."""
    if not (folder / "metrics.json").is_file():
        return {}
    about = read_json_object(folder / "metrics.json")
    facts = {"epochs": about.get("epochs"), "steps": about.get("batches"), "hours": about.get("seconds", 0) / 3600}
    if "parameters" in about:
        facts["million_parameters"] = about["parameters"] / 1e6
    curves = folder / "metrics.csv"
    values = [row for row in read_rows(curves) if row["name"] == about.get("monitor")]
    if values:
        choose = min if about["config"]["callbacks"]["checkpoints"]["mode"] == "min" else max
        best = choose(values, key=lambda row: float(row["value"]))
        facts |= {"best_epochs": int(best["epoch"]) + 1, "best_steps": int(best["step"]) + 1}
    return {f"test/training/run/{name}": float(value) for name, value in facts.items() if value is not None}


def grid_table(runs: Sequence[GridRun], figures: Sequence[str] | None) -> tuple[list[str], list[list[str]]]:
    """Header, and a row for each run: its options, monitored metric and figures."""
    options = differing_options(runs)
    monitors = list(dict.fromkeys((run.monitor, run.mode) for run in runs if run.best is not None))
    names = list(figures or dict.fromkeys(name for run in runs for name in _main_figures(run.metrics)))
    measured = [name for name in names if any(name in run.metrics for run in runs)]
    columns = {space: heading for run in runs for space, heading in run.columns.items()}
    header = [*options, *(f"{monitor} ({WORDS[mode]})" for monitor, mode in monitors)]
    header += [*(metric_heading(name, columns) for name in measured), "folder"]
    rows = []
    for number, run in enumerate(runs):
        monitored = [_text(run.monitor, run.best if run.monitor == monitor else None) for monitor, _ in monitors]
        values = [_text(name, run.metrics.get(name)) for name in measured]
        failure = f" failed: {run.error}" if run.error else ""
        rows.append([*(texts[number] for texts in options.values()), *monitored, *values, run.folder.name + failure])
    return header, rows


def differing_options(runs: Sequence[GridRun]) -> dict[str, list[str]]:
    """Values of the options that not all runs share, by key: its last part, or all where two are alike."""
    values = [
        dict(option.lstrip("+").split("=", maxsplit=1) for option in run.overrides if "=" in option) for run in runs
    ]
    texts = {key: [of_run.get(key, "") for of_run in values] for of_run in values for key in of_run}
    differing = {key: column for key, column in texts.items() if len(set(column)) > 1}
    last = [key.rpartition(".")[2] for key in differing]
    return {name if last.count(name) == 1 else key: differing[key] for key, name in zip(differing, last, strict=True)}


def _main_figures(metrics: Mapping[str, float]) -> list[str]:
    """The main figure of each evaluator, of heads in their own spaces."""
    rows = [same_row(name, metrics) for name in main_metrics(metrics)]
    return [name for row in rows for name in row if len(row) == 1 or "/original/" not in name]


def _text(metric: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if metric.endswith("loss") else value_cell(metric, value).text
