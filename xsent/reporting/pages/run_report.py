"""``report.html`` of a run: results, curves, pictures, charts, configuration and details."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from xsent.reporting.pages.curves import curves_section
from xsent.reporting.pages.page import RUN, Cell, Row, Section, Table, macro, shorten, text_cell, write_page
from xsent.reporting.pages.points import pictures_section
from xsent.reporting.pages.run_folder import RunFiles, csv_rows, read_run
from xsent.reporting.tables.published import Published, published_tables
from xsent.reporting.tables.results import ResultCell, columns, decimals, result_cells

REPORT = "report.html"
MAX_ROWS = 2_000  # of a table
MAX_IMAGE_BYTES = 1_000_000  # of all charts together
FIRST_ROWS = 50  # of a table of an evaluator, which may have a row per sentence
MAX_CONFIG = 150_000  # characters
MAX_FACT = 2_000

Fact = tuple[str, str, bool]  # name, text, whether it is code


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
        results_section(run),
        curves,
        pictures_section(runs),
        _charts_section(run),
        Section("overview", "What ran", "overview", overview(run)),
        _details_section(run),
    ]
    title = f"{'Training' if run.trains else 'Evaluation'} {run.folder.absolute().name}"
    return write_page(
        folder / REPORT,
        title=title,
        kind=RUN,
        summary=macro("run_summary", headline(run), run.finished),
        sections=[section for section in sections if section is not None],
    )


# ---- results


def results_section(run: RunFiles) -> Section | None:
    """Tables of all figures, the paper's beside ours; None where the run has not finished."""
    if not run.finished:
        return None
    every = [
        Row([name, value_cell(value, name), *_paper_cells(value, run.expected.get(name), name)], row_text(name))
        for name, value in islice(run.metrics.items(), MAX_ROWS)
    ]
    header = ["metric", "ours", "paper", "difference"]
    context = {
        "grid": _grid(run),
        "every": Table("every figure", header, every, len(run.metrics), "results.csv"),
        "published": [
            _published(table, run.metrics) for table in published_tables(_published_config(run), run.metrics)
        ],
    }
    return Section("results", "Results", "results", context)


def row_text(name: str, *, bold: bool = False) -> dict[str, str]:
    """Attributes of a row that the filter finds by the words of ``name``."""
    return {"data-text": name.replace("/", " ").lower(), **({"class": "mean"} if bold else {})}


def value_text(value: float, metric: str) -> str:
    """A figure with the decimals of its metric; ``none`` for a value that is not finite."""
    return f"{value:.{decimals(metric)}f}" if math.isfinite(value) else "none"


def value_cell(value: float, metric: str, **attributes: str) -> Cell:
    """Cell with the name of the metric and its full value in attributes."""
    exact = json.dumps(value) if math.isfinite(value) else "null"
    return Cell(value_text(value, metric), {"data-metric": metric, "data-value": exact, **attributes})


def _grid(run: RunFiles) -> Table:
    """Items down and spaces across, as ``results.md`` has them."""
    results = result_cells(run.metrics, run.expected)
    by_position = {(result.row, result.column): result for result in results}
    spaces, compared, header = columns(results)
    names = list(dict.fromkeys(result.row for result in results))
    rows = []
    for name in names[:MAX_ROWS]:
        cells = [cell for space in spaces for cell in _grid_cells(by_position.get((name, space)), space in compared)]
        rows.append(Row([name, *cells], row_text(name, bold=" mean " in name)))
    return Table("results", header, rows, len(names), "results.csv")


def _grid_cells(result: ResultCell | None, with_paper: bool) -> list[str | Cell]:
    if result is None:
        return ["", "", ""] if with_paper else [""]
    ours = value_cell(result.ours, result.metric)
    return [ours, *_paper_cells(result.ours, result.paper, result.metric)] if with_paper else [ours]


def _paper_cells(ours: float, paper: float | None, metric: str) -> list[str | Cell]:
    """The paper's figure, and ours less the paper's."""
    if paper is None:
        return ["", ""]
    difference = f"{ours - paper:+.{decimals(metric)}f}" if math.isfinite(ours) else ""
    return [Cell(f"{paper:.{decimals(metric)}f}", {"class": "paper"}), Cell(difference, {"class": "delta"})]


def _published_config(run: RunFiles) -> list[Mapping[str, Any]]:
    """Published tables of the config. Raises ``ValueError`` for one without title, columns or rows."""
    tables = run.config.get("published") or []
    for table in tables if isinstance(tables, list) else [tables]:
        if not isinstance(table, Mapping) or not {"title", "columns", "rows"} <= table.keys():
            message = f"published: expected tables of title, columns and rows, found {table!r:.200}"
            raise ValueError(f"{run.folder}: {message}")
    return list(tables)


def _published(published: Published, metrics: Mapping[str, float]) -> Table:
    rows = [Row([shorten(text) for text in line]) for line in published.rows]
    for (label, *texts), (_, *names) in zip(published.ours, published.metrics, strict=True):
        cells = [value_cell(metrics[name], name) if name else text for text, name in zip(texts, names, strict=True)]
        rows.append(Row([label, *cells], {"class": "ours"}))
    return Table(published.title, published.header, rows, len(rows), "published.md")


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
        header, *rows = run.details
        tables.append(_text_table("Conditions of each figure", header, rows[:MAX_ROWS], len(rows), "details.csv"))
    for path in run.tables:
        lines = csv_rows(path)
        header, first = next(lines, []), list(islice(lines, FIRST_ROWS))
        total = len(first) + sum(1 for _ in lines)
        tables.append(_text_table(path.stem, header, first, total, f"tables/{path.name}"))
    return Section("details", "Details", "details", {"tables": tables})


def _text_table(label: str, header: Sequence[str], rows: Sequence[Sequence[str]], total: int, source: str) -> Table:
    return Table(label, header, [Row([text_cell(text) for text in row]) for row in rows], total, source)


# ---- what ran


def headline(run: RunFiles) -> str:
    """The run in one line: ``DisentanglingRecipe on mini, trained on cldr``."""
    encoder = _name(run.config.get("encoder"))
    if run.trains:
        return shorten(f"{recipe_name(run.config)} on {encoder}, trained on {_name(run.config.get('data'))}")
    model = run.config.get("ckpt") or encoder
    return shorten(f"{model} evaluated on {', '.join(_evaluators(run.config)) or 'nothing'}")


def recipe_name(config: Mapping[str, Any]) -> str:
    """Class of the recipe, with its host where it has one."""
    recipe = config.get("recipe") or {}
    name = str(recipe.get("_target_", "?")).rpartition(".")[2]
    return f"{name} ({recipe['host']})" if "host" in recipe else name


def overview(run: RunFiles) -> dict[str, Any]:
    """Facts of a run and its config, for ``overview.html``."""
    config = yaml.safe_dump(dict(run.config), sort_keys=False, allow_unicode=True, width=120)
    source = "config.yaml" if run.trains else "metrics.json"
    return {"facts": _facts(run), "config": config[:MAX_CONFIG], "cut": len(config) > MAX_CONFIG, "source": source}


def _facts(run: RunFiles) -> list[Fact]:
    config, about, trains = run.config, run.about, run.trains
    encoder = config.get("encoder") or {}
    versions = {"xsent": about.get("xsent"), "python": about.get("python"), **(about.get("packages") or {})}
    # The data of an evaluation are its test sets, which have a line of their own.
    data = about.get("data") if trains or "test_sets" not in about else None
    best = about.get("best")
    encoder_parts = [
        _name(encoder),
        f"pooling {encoder['pooling']}" if encoder.get("pooling") else None,
        f"from {encoder['path']}" if encoder.get("path") else None,
    ]
    threads = f"threads: {about['threads']}" if about.get("threads") else None
    languages = (config.get("data") or {}).get("languages")
    values: list[tuple[str, object, bool]] = [
        ("command", run.command, True),
        ("recipe", recipe_name(config) if trains else None, False),
        ("checkpoint", config.get("ckpt_path" if trains else "ckpt"), True),
        ("encoder", None if config.get("ckpt") else _joined(encoder_parts), False),
        ("data", _name(config.get("data")) if trains else None, False),
        ("languages", _joined(languages) if isinstance(languages, list) else None, False),
        ("evaluators", _joined(_evaluators(config)), False),
        ("seed", about.get("seed", config.get("seed")), False),
        ("epochs, batches", _joined([f"{about[name]:,}" for name in ("epochs", "batches") if about.get(name)]), False),
        ("best", None if best is None else f"{about.get('monitor')} {best:.6g}", False),
        ("took", None if about.get("seconds") is None else _duration(about["seconds"]), False),
        ("machine", _joined([about.get("machine"), about.get("device"), threads]), False),
        ("commit", about.get("git"), True),
        ("versions", _joined([f"{name} {version}" for name, version in versions.items() if version]), False),
        ("sha256 of the data", data, True),
        ("sha256 of the encoder", about.get("encoder"), True),
        ("sha256 of the test sets", about.get("test_sets"), True),
    ]
    return [(name, "" if value is None else shorten(str(value), MAX_FACT), code) for name, value, code in values]


def _joined(parts: Sequence[object]) -> str:
    return ", ".join(str(part) for part in parts if part)


def _name(part: object) -> str:
    if not isinstance(part, Mapping):
        return "?"
    return str(part.get("name") or part.get("path") or str(part.get("_target_", "?")).rpartition(".")[2])


def _evaluators(config: Mapping[str, Any]) -> list[str]:
    evaluator = config.get("evaluator") or {}
    members = evaluator.get("members")
    return list(members) if isinstance(members, Mapping) else [_name(evaluator)] if evaluator else []


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
