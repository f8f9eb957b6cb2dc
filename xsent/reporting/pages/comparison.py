"""Comparison of runs: verdict, what differs, deltas of figures and whether they are comparable; HTML page and table."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from xsent.reporting.pages.curves import curves_section
from xsent.reporting.pages.page import COMPARISON, Section, macro, write_page
from xsent.reporting.pages.points import pictures_section
from xsent.reporting.pages.run_folder import RunFiles, flatten, read_run
from xsent.reporting.pages.run_report import headline, overview
from xsent.reporting.pages.seeds import Figures, figures_of, group_seeds
from xsent.reporting.pages.verdict import (
    WITHIN_NOISE,
    Change,
    change_between,
    direction_word,
    main_metrics,
    signed,
    verdict,
    verdict_note,
    verdict_table,
    with_gaps,
)
from xsent.reporting.tables.results import result_cells, value_cell
from xsent.reporting.tables.table import Cell, Row, Table, terminal_table, text_row

MAX_RUNS = 20
MAX_NAMES = 3  # in the title
MAX_ROWS = 1_000
GENERATOR = f'<meta name="generator" content="{COMPARISON}">'
HEADER_BYTES = 4096  # beginning of a file, where a page names its kind
RUN_PATHS = re.compile("run_dir|runs_dir|cache_dir")
# Where an evaluator reads, writes and computes; the digests of the test sets tell what it read.
EVALUATOR_PATHS = re.compile(
    "run_dir|runs_dir|cache_dir|root|out|folder|device|num_workers|dictionaries|augmented|error_types|flores"
    "|flores_augmented|flores_error_types|rocsmt|lexnorm|annotations|pool|models|.*_path"
)
OUTCOMES = {"seconds", "epochs", "batches", "best", "monitor", "started", "before", "columns"}  # results of a run
CONDITIONS = {
    "data": "sha256 of the data",
    "encoder": "sha256 of the encoder",
    "test_sets": "sha256 of the test sets",
    "git": "commit",
}
ABSENT = "(absent)"


class ComparedFigure(NamedTuple):
    """Figure of one run."""

    value: float | None  # None: the run has no such figure
    delta: float | None  # to the first run; None for the first run itself and where a number is missing
    mark: str  # why the delta is not judged: "other data", "other settings", "within noise"; else ""


class ComparedMetric(NamedTuple):
    """Metric in all runs."""

    metric: str
    on_screen: bool  # the table of a single run would show it
    runs: list[ComparedFigure]

    @property
    def is_equal(self) -> bool:
        """Whether all runs have the same value."""
        return len({figure.value for figure in self.runs}) == 1


def write_comparison(folders: Sequence[Path], out: Path, *, console: Console | None = None) -> Path:
    """Write one page of several runs; deltas are to the first. Returns ``out``.

    Args:
        folders: of runs of train.py or evaluate.py, finished or not.
        out: the page; an earlier comparison is replaced.
        console: where to print the verdict and the table of figures; None: nowhere.

    Raises:
        ValueError: fewer than two runs, the same run twice, a folder without a run, or ``out`` is something else than
            an earlier comparison. Nothing is written.
    """
    _check_folders(folders)
    runs = dict(zip(short_names(folders), map(read_run, folders), strict=True))
    _check_output(out)
    metrics = compare_metrics(list(runs.values()))
    shown = [compared for compared in metrics if compared.on_screen]
    on_screen, every = _figures("Figures", shown, list(runs)), _figures("Every figure", metrics, list(runs))
    unequal = _figures("Figures", [compared for compared in shown if not compared.is_equal], list(runs))
    equal = _figures("Equal in all runs", [compared for compared in shown if compared.is_equal], list(runs))
    figures = {
        "figures": unequal._replace(rows=unequal.rows[:MAX_ROWS]),
        "equal": equal._replace(rows=equal.rows[:MAX_ROWS]),
        "every": every._replace(rows=every.rows[:MAX_ROWS]) if on_screen.total < every.total else None,
        "has_marks": any(figure.mark.startswith("other") for compared in metrics for figure in compared.runs),
    }
    groups = group_seeds(runs, {name: _comparable(run.config) for name, run in runs.items()})
    sides = [figures_of(name, of_group) for name, of_group in groups.items()]
    changes = _changes(sides, list(groups.values()))
    over_seeds = seeds_table(sides) if any(side.by_seed for side in sides) else None
    overviews = {name: overview(run) for name, run in runs.items()}
    sections = [
        Section("differences", "What differs", "differences", {"tables": _difference_tables(runs)}),
        Section("comparison", "Figures", "comparison", figures),
        curves_section(runs),
        pictures_section(runs),
        Section("runs", "The runs", "overviews", {"overviews": overviews}),
    ]
    write_page(
        out,
        title=_title(runs),
        kind=COMPARISON,
        summary=macro(
            "compared_runs",
            verdict(changes),
            over_seeds,
            [(name, headline(run), run.finished) for name, run in runs.items()],
        ),
        sections=sections,
    )
    if console is not None:
        if changes:
            table = verdict_table(changes)
            console.print(terminal_table(table.header, table.rows), verdict_note(changes), sep="\n", highlight=False)
        if over_seeds is not None:
            console.print(over_seeds.label, terminal_table(over_seeds.header, over_seeds.rows), sep="\n")
        else:
            console.print(terminal_table(on_screen.header, on_screen.rows))
    return out


def _check_folders(folders: Sequence[Path]) -> None:
    if len(folders) < 2:
        raise ValueError(f"expected two runs or more to compare, found {len(folders)}")
    if len(folders) > MAX_RUNS:
        raise ValueError(f"expected at most {MAX_RUNS} runs to compare, found {len(folders)}")
    folder_of: dict[Path, Path] = {}
    for folder in folders:
        if (earlier := folder_of.setdefault(folder.resolve(), folder)) is not folder:
            raise ValueError(f"{folder}: the same run as {earlier}; expected different runs")


def _check_output(out: Path) -> None:
    """Raise ``ValueError`` if ``out`` exists and is not an earlier comparison."""
    if not out.exists():
        return
    if not out.is_file():
        raise ValueError(f"{out}: expected a page to write, found a folder or device")
    with out.open("rb") as file:
        if GENERATOR.encode() not in file.read(HEADER_BYTES):
            raise ValueError(f"{out}: expected a page of `xsent compare` to replace, found another file; it stays")


def _figures(label: str, metrics: Sequence[ComparedMetric], names: Sequence[str]) -> Table:
    rows = []
    # Without heads, ``original`` are the vectors of the encoder, trained or not.
    has_heads = any("/meaning/" in compared.metric for compared in metrics)
    for compared in metrics:
        metric = compared.metric if has_heads else compared.metric.replace("/original/", "/")
        cells = [Cell(metric.partition("/")[2].replace("/", " "))]
        for number, (name, figure) in enumerate(zip(names, compared.runs, strict=True)):
            value = figure.value
            cells.append(Cell("") if value is None else value_cell(compared.metric, value, **{"data-run": name}))
            if number:
                exact = {} if figure.delta is None else {"data-delta": repr(figure.delta)}
                cells.append(Cell(delta_text(compared.metric, figure), {"class": "delta", **exact}))
        rows.append(Row(cells, bold="/mean/" in compared.metric))
    header = ["metric", names[0], *(text for name in names[1:] for text in (name, "delta"))]
    return Table(label, header, rows, len(rows), "each run's results.csv")


def _title(runs: Mapping[str, RunFiles]) -> str:
    """``demo and short: oracle on mini, cldr``, as far as it is the same for all runs."""
    names = " and ".join(runs) if len(runs) <= MAX_NAMES else f"{len(runs)} runs"
    headlines = {headline(run) for run in runs.values()}
    return f"{names}: {headlines.pop()}" if len(headlines) == 1 else f"{names} compared"


def _changes(sides: Sequence[Figures], groups: Sequence[Sequence[RunFiles]]) -> list[Change]:
    """Changes of the main figures from the first run, or runs of several seeds, to each of the others."""
    baseline, *others = sides
    changes = []
    for metric in with_gaps(main_metrics(baseline.metrics), baseline.metrics):
        for figures, runs in zip(others, groups[1:], strict=True):
            reasons = (incomparable(run, groups[0][0], metric.split("/")[1]) for run in runs)
            changes.append(change_between(metric, baseline, figures, reason=next(filter(None, reasons), "")))
    return [change for change in changes if change is not None]


def seeds_table(sides: Sequence[Figures]) -> Table:
    """Mean and standard deviation of every figure of the first runs that a terminal shows."""
    first, *others = sides
    metrics = [cell.metric for cell in result_cells(first.metrics, {})]
    rows = []
    for metric in with_gaps(metrics, first.metrics):
        name = metric.partition("/")[2].replace("/", " ")
        texts = (side.text(metric) if metric in side.metrics else "" for side in (first, *others))
        rows.append(text_row([name, *texts], bold="/mean/" in metric))
    label = "Mean ± standard deviation over n seeds"
    return Table(label, ["metric", *(side.heading for side in sides)], rows, len(rows), "each run's results.csv")


def _difference_tables(runs: Mapping[str, RunFiles]) -> list[Table]:
    differences = {
        "Config": config_differences(list(runs.values())),
        "Versions, machine and digests": condition_differences(list(runs.values())),
    }
    return [
        Table(label, ["", *runs], [text_row(texts) for texts in rows[:MAX_ROWS]], len(rows), "each run's config")
        for label, rows in differences.items()
    ]


def short_names(folders: Sequence[Path]) -> list[str]:
    """Shortest names that tell folders apart: trailing path parts, without those that all folders share."""
    parts = [folder.resolve().parts for folder in folders]
    count = 1
    while len({part[-count:] for part in parts}) < len(parts):
        count += 1
    names = [list(part[-count:]) for part in parts]
    while all(len(name) > 1 for name in names) and len({name[-1] for name in names}) == 1:
        names = [name[:-1] for name in names]
    return ["/".join(name) for name in names]


def compare_metrics(runs: Sequence[RunFiles]) -> list[ComparedMetric]:
    """All metrics of the runs, in the order of the first run that has them."""
    on_screen = {cell.metric for run in runs for cell in result_cells(run.metrics, run.expected)}
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics)
    return [
        ComparedMetric(
            metric, metric in on_screen, [_compare(metric, run, runs[0], test=metric in on_screen) for run in runs]
        )
        for metric in metrics
    ]


def _compare(metric: str, run: RunFiles, first: RunFiles, *, test: bool) -> ComparedFigure:
    """Figure of a run beside the first run's; ``test``: find out whether the difference is within noise."""
    value, base = run.metrics.get(metric), first.metrics.get(metric)
    if value is None or base is None or run is first:
        return ComparedFigure(value, None, "")
    delta = value - base
    mark = incomparable(run, first, metric.split("/")[1])
    # Of other statistics than means an interval takes a second: the verdict has those of the main figures.
    if test and not mark and metric in run.outcomes and run.outcomes[metric].statistic == "mean":
        change = change_between(metric, figures_of("", [first]), figures_of("", [run]))
        mark = "within noise" if change is not None and change.judgement == WITHIN_NOISE else ""
    return ComparedFigure(value, delta if math.isfinite(delta) else None, mark)


def delta_text(metric: str, figure: ComparedFigure) -> str:
    """``+1.20 better``; "" where there is nothing to compare."""
    if figure.delta is None:
        return figure.mark
    return f"{signed(metric, figure.delta)} {figure.mark or direction_word(metric, figure.delta)}".rstrip()


# ---- were two figures measured in the same way?


def incomparable(run: RunFiles, first: RunFiles, evaluator: str) -> str:
    """``other settings`` or ``other data`` where an evaluator had them in one of two runs, as far as the folders tell.

    Runs of older versions have no digests of their test sets: a training run's evaluator without a root reads the
    held-out data, and for other evaluators the roots are compared.
    """
    evaluators = [_evaluators(each.config).get(evaluator) for each in (run, first)]
    if evaluators[0] is None or evaluators[1] is None:
        return ""
    if _settings(evaluators[0], run) != _settings(evaluators[1], first):
        return "other settings"
    digests = [_test_set_digests(each).get(evaluator) for each in (run, first)]
    if None in digests:
        is_held_out = run.trains and first.trains and evaluators[0].get("root") is None
        digests = [str(each.about.get("data")) if is_held_out else _root(each, evaluator) for each in (run, first)]
    return "" if digests[0] == digests[1] else "other data"


def _test_set_digests(run: RunFiles) -> dict[str, str | None]:
    """Digests by evaluator, which a suite lists in the order of its members; empty where they are not known."""
    digests = str(run.about.get("test_sets") or ("" if run.trains else run.about.get("data")) or "").split()
    names = list(_evaluators(run.config))
    return dict(zip(names, digests, strict=True)) if len(names) == len(digests) else {}


def _root(run: RunFiles, evaluator: str) -> str | None:
    root = _evaluators(run.config)[evaluator].get("root")
    return None if root is None else str(Path(root).resolve())


def _evaluators(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Evaluators of a config by the name that begins their metrics."""
    evaluator = config.get("evaluator") or {}
    members = evaluator.get("members")
    evaluators = list(members.values()) if isinstance(members, Mapping) else [evaluator]
    return {str(each["name"]): each for each in evaluators if isinstance(each, Mapping) and "name" in each}


def _settings(evaluator: Mapping[str, Any], run: RunFiles) -> dict[str, object]:
    """Settings of an evaluator; of paths and devices only whether they are set."""
    settings = _comparable({"run_dir": run.config.get("run_dir", ""), "evaluator": evaluator})
    return {
        name: value is not None if EVALUATOR_PATHS.fullmatch(name.rpartition(".")[2]) else value
        for name, value in settings.items()
    }


# ---- in what do runs differ?


def config_differences(runs: Sequence[RunFiles]) -> list[list[str]]:
    """Config keys that differ, each with its value in every run."""
    return _differences([_comparable(run.config) for run in runs])


def condition_differences(runs: Sequence[RunFiles]) -> list[list[str]]:
    """Versions, machine and digests that differ, each with its value in every run."""
    # The data of an evaluation are its test sets, which have a line of their own.
    ignored = [OUTCOMES if run.trains or "test_sets" not in run.about else OUTCOMES | {"data"} for run in runs]
    conditions = [
        flatten({name: value for name, value in run.about.items() if name not in names})
        for run, names in zip(runs, ignored, strict=True)
    ]
    return [[CONDITIONS.get(name, name), *values] for name, *values in _differences(conditions)]


def _differences(mappings: Sequence[Mapping[str, object]]) -> list[list[str]]:
    names = dict.fromkeys(name for mapping in mappings for name in mapping)
    values = {name: [each.get(name, ABSENT) for each in mappings] for name in names}
    rows = [
        [name, *(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in texts)]
        for name, texts in values.items()
    ]
    return [row for row in rows if len(set(row[1:])) > 1]


def _comparable(config: Mapping[str, Any]) -> dict[str, object]:
    """Flat config without the run's paths; its folder is replaced where other values name it."""
    run_dir = str(config.get("run_dir", ""))
    return {
        name: value.replace(run_dir, "<run_dir>") if run_dir and isinstance(value, str) else value
        for name, value in flatten(config).items()
        if not RUN_PATHS.fullmatch(name.rpartition(".")[2])
    }
