"""``report.html`` of a run: verdict, results, curves, pictures, charts, configuration and details."""

import base64
from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from xsent.reporting.pages.curves import curves_section
from xsent.reporting.pages.page import RUN, Section, log_page_errors, macro, shorten, write_page
from xsent.reporting.pages.points import pictures_section
from xsent.reporting.pages.run_folder import RunFiles, csv_rows, read_run
from xsent.reporting.pages.verdict import main_figures, run_changes, verdict
from xsent.reporting.tables.comparability import comparable_tables
from xsent.reporting.tables.published import published_tables
from xsent.reporting.tables.results import figure_cells, grid
from xsent.reporting.tables.table import Cell, Row, Table, text_row

REPORT = "report.html"
MAX_ROWS = 2_000  # of a table
MAX_IMAGE_BYTES = 1_000_000  # of all charts together
FIRST_ROWS = 50  # of a table of an evaluator, which may have a row per sentence
MAX_CONFIG = 150_000  # characters


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into a run's folder, from the files there alone; returns its path.

    Raises:
        ValueError: no run in the folder, or a damaged file. An earlier page stays.
    """
    run = read_run(folder)
    runs = {folder.name: run}
    curves = curves_section(runs)
    if curves is None and run.trains:
        curves = Section("curves", "Curves", "no_curves", {})
    sections = [
        _results_section(run),
        curves,
        pictures_section(runs),
        _charts_section(run),
        Section("overview", "What ran", "overview", overview(run)),
        _details_section(run),
    ]
    started = (run.folder.absolute().name, run.about.get("started"), took(run))
    return write_page(
        folder / REPORT,
        title=headline(run),
        kind=RUN,
        summary=macro("run_summary", verdict(run_changes(run), main_figures(run)), started, run.finished),
        sections=sections,
    )


def try_report(folder: Path) -> None:
    """``write_report``; a failure is logged, because all results are on disk."""
    with log_page_errors(folder / REPORT):
        write_report(folder)


# ---- results


def _results_section(run: RunFiles) -> Section | None:
    """Tables of all figures, the paper's beside ours; None where the run has not finished."""
    if not run.finished:
        return None
    header, rows = grid(run.metrics, run.expected, before=run.before, columns=run.about.get("columns") or {})
    every = [
        Row([Cell(name), *figure_cells(name, value, run.expected.get(name))])
        for name, value in islice(run.metrics.items(), MAX_ROWS)
    ]
    columns = ["metric", "ours", "paper", "difference"]
    published, notes = comparable_tables(_published_config(run), run.metrics, _detail_rows(run))
    context = {
        "grid": Table("Results", header, rows[:MAX_ROWS], len(rows), "results.csv"),
        "every": Table("Every figure", columns, every, len(run.metrics), "results.csv"),
        "published": published_tables(published, run.metrics),
        "incomparable": notes,
    }
    return Section("results", "Results", "results", context)


def _detail_rows(run: RunFiles) -> list[dict[str, object]]:
    """Rows of ``details.csv`` by field."""
    header, rows = run.details[:1], run.details[1:]
    return [dict(zip(header[0], row, strict=False)) for row in rows]


def _published_config(run: RunFiles) -> list[Mapping[str, Any]]:
    """Published tables of the config. Raises ``ValueError`` for one without title, columns or rows."""
    tables = run.config.get("published") or []
    for table in tables if isinstance(tables, list) else [tables]:
        if not isinstance(table, Mapping) or not {"title", "columns", "rows"} <= table.keys():
            message = f"published: expected tables of title, columns and rows, found {table!r:.200}"
            raise ValueError(f"{run.folder}: {message}")
    return list(tables)


# ---- charts and tables of the evaluators


def _charts_section(run: RunFiles) -> Section | None:
    """The evaluators' charts as images, as many as fit; the others are named."""
    if not run.charts:
        return None
    images, omitted, size = [], [], 0
    for path in run.charts:
        size += path.stat().st_size
        if size > MAX_IMAGE_BYTES:
            omitted.append(path.name)
            continue
        images.append((path.stem, base64.b64encode(path.read_bytes()).decode("ascii")))
    return Section("charts", "Charts", "images", {"images": images, "omitted": omitted})


def _details_section(run: RunFiles) -> Section | None:
    """The conditions of each figure, and the first rows of the evaluators' tables."""
    if not run.details and not run.tables:
        return None
    tables = []
    if run.details:
        header, *rows = map(text_row, run.details)
        label = "Conditions of each figure"
        tables.append(Table(label, header.texts, rows[:MAX_ROWS], len(rows), "details.csv"))
    for path in run.tables:
        lines = csv_rows(path)
        columns, first = next(lines, []), [text_row(line) for line in islice(lines, FIRST_ROWS)]
        total = len(first) + sum(1 for _ in lines)
        tables.append(Table(path.stem, columns, first, total, f"tables/{path.name}"))
    return Section("details", "Details", "details", {"tables": tables})


# ---- what ran


def headline(run: RunFiles) -> str:
    """The run in one line: ``oracle on mini, cldr``."""
    if run.trains:
        return training_title(run.config, run.choices.get("recipe"))
    model = run.config.get("ckpt") or _name(run.config.get("encoder"))
    return shorten(f"{model} evaluated on {', '.join(_evaluators(run.config)) or 'nothing'}")


def training_title(config: Mapping[str, Any], recipe: str | None) -> str:
    """Recipe, encoder and data; the recipe's class, if its name is not known."""
    return shorten(f"{recipe or recipe_name(config)} on {_name(config.get('encoder'))}, {_name(config.get('data'))}")


def recipe_name(config: Mapping[str, Any]) -> str:
    """Class of the recipe, with its host where it has one."""
    recipe = config.get("recipe") or {}
    name = str(recipe.get("_target_", "?")).rpartition(".")[2]
    return f"{name} ({recipe['host']})" if "host" in recipe else name


def overview(run: RunFiles) -> dict[str, Any]:
    """What ran, for ``overview.html``."""
    config = yaml.safe_dump(dict(run.config), sort_keys=False, allow_unicode=True, width=120)
    return {
        "run": run,
        "names": {group: _name(run.config.get(group)) for group in ("encoder", "data")},
        "recipe": recipe_name(run.config),
        "evaluators": _evaluators(run.config),
        "took": took(run),
        "config": config[:MAX_CONFIG],
        "cut": len(config) > MAX_CONFIG,
    }


def took(run: RunFiles) -> str | None:
    """``0:01:03 (h:min:s)``; None of an unfinished run."""
    seconds = run.about.get("seconds")
    return None if seconds is None else f"{timedelta(seconds=round(seconds))} (h:min:s)"


def _name(part: object) -> str:
    if not isinstance(part, Mapping):
        return "?"
    return str(part.get("name") or part.get("path") or str(part.get("_target_", "?")).rpartition(".")[2])


def _evaluators(config: Mapping[str, Any]) -> list[str]:
    evaluator = config.get("evaluator") or {}
    members = evaluator.get("members")
    return list(members) if isinstance(members, Mapping) else [_name(evaluator)] if evaluator else []
