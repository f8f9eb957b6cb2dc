"""Output files of a finished run: metrics (JSON, CSV, Markdown), charts and tables."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from xsent.atomic import write_text
from xsent.evaluation.evaluator import Evaluation
from xsent.reporting.metrics import write_metrics_json
from xsent.reporting.plots.charts import draw_charts
from xsent.reporting.secrets import redact
from xsent.reporting.stale_outputs import files_of
from xsent.reporting.tables.published import published_markdown, published_table, published_tables
from xsent.reporting.tables.results import details_csv, results_table, to_csv, to_markdown

log = logging.getLogger(__name__)


def report_results(
    scored: Evaluation, *, config: Mapping[str, Any], about: Mapping[str, Any], folder: Path, show: bool
) -> None:
    """Write ``results.csv``, ``results.md``, ``details.csv``, ``charts``, ``tables`` and, last, ``metrics.json``.

    Args:
        scored: of the test sets.
        config: resolved. ``expected`` has the paper's figures by metric; ``published`` has the paper's tables, which
            are written to ``published.md`` with our rows. Secrets are masked.
        about: environment, digests and how long it took.
        folder: of the run.
        show: whether to print the tables.
    """
    metrics = {f"test/{name}": value for name, value in scored.metrics.items()}
    papers = {f"test/{name}": value for name, value in config["expected"].items()}
    if metrics:
        write_text(folder / "results.csv", to_csv(metrics, papers))
        write_text(folder / "results.md", to_markdown(metrics, papers))
        write_text(folder / "details.csv", details_csv(scored.details))
        if show:
            Console().print(results_table(metrics, papers))
    if tables := published_tables(config["published"], metrics):
        write_text(folder / "published.md", published_markdown(tables))
        if show:
            for table in tables:
                Console().print("", table.title, published_table(table), sep="\n")
    if scored.charts:
        draw_charts(scored.charts, folder / "charts")
        log.info("charts: %s", folder / "charts")
    for name, rows in scored.tables.items():
        write_text(folder / "tables" / f"{name}.csv", details_csv(rows))
    if scored.tables:
        log.info("tables: %s (%s)", folder / "tables", ", ".join(scored.tables))
    files = files_of([chart.name for chart in scored.charts], list(scored.tables))
    context = {**about, "expected": papers, "files": files, "config": redact(config)}
    write_metrics_json(folder / "metrics.json", metrics, context)
    if missing := [name for name in papers if name not in metrics]:
        log.warning("%d figures of the paper were not measured: %s", len(missing), ", ".join(missing))
