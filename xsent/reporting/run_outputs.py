"""Output files of a finished run: metrics (JSON, CSV, Markdown), charts and tables; removal of earlier ones."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from xsent.evaluation.evaluator import Evaluation
from xsent.files.atomic import write_text
from xsent.files.strict_json import read_json_object
from xsent.reporting.metrics import write_metrics_json
from xsent.reporting.outcomes import OUTCOMES, outcomes_text
from xsent.reporting.secrets import redact
from xsent.reporting.tables.comparability import comparable_tables
from xsent.reporting.tables.published import published_markdown, published_tables
from xsent.reporting.tables.results import details_csv, grid, results_csv
from xsent.reporting.tables.table import compact_table, markdown_table, terminal_table

log = logging.getLogger(__name__)

# In this order: the first files mark a finished run, so an interrupted removal never leaves an incomplete finished run.
OUTPUTS = (
    *("metrics.json", "report.html", "results.csv", "results.md", "published.md", "details.csv", OUTCOMES),
    *("pictures/pca.png", "pictures/tsne.png", "pictures/points.json"),
)
OF_TRAINING = ("metrics.csv", "before.json")
FOLDERS = ("charts", "tables")  # evaluators choose the names of their files; metrics.json lists them


def report_results(
    scored: Evaluation, *, config: Mapping[str, Any], about: Mapping[str, Any], folder: Path, show: bool
) -> None:
    """Write results, details, outcomes of the test items, charts, tables and, last, ``metrics.json``.

    Args:
        scored: of the test sets.
        config: resolved. ``expected`` has the paper's figures by metric; ``published`` has the paper's tables, whose
            comparable columns are written to ``published.md`` with ours. Secrets are masked.
        about: environment, digests and how long it took; ``before`` has ``metrics`` and ``outcomes`` before training,
            and ``columns`` the headings of spaces that are not called by their names.
        show: whether to print the tables.
    """
    metrics = {f"test/{name}": value for name, value in scored.metrics.items()}
    papers = {f"test/{name}": value for name, value in config["expected"].items()}
    before: Mapping[str, Any] = about.get("before", {})
    start: Mapping[str, float | None] = before.get("metrics", {})
    console = Console(quiet=not show)
    if metrics:
        header, rows = grid(metrics, papers, before=start, columns=about.get("columns", {}))
        write_text(folder / "results.csv", results_csv(metrics, papers, before=start))
        write_text(folder / "results.md", markdown_table(header, [row.texts for row in rows]))
        write_text(folder / "details.csv", details_csv(scored.details))
        console.print(terminal_table(header, rows))
    if scored.outcomes:
        write_text(folder / OUTCOMES, outcomes_text(before.get("outcomes", {}), scored.outcomes))
    published, notes = comparable_tables(config["published"], metrics, scored.details)
    tables = published_tables(published, metrics)
    if tables or notes:
        write_text(
            folder / "published.md", "\n".join([*map(published_markdown, tables), *(f"{note}\n" for note in notes)])
        )
        for table in tables:
            console.print("", table.label, compact_table(table), sep="\n")
        for note in notes:
            console.print(note, markup=False, highlight=False)
    if scored.charts:
        from xsent.reporting.plots.charts import draw_charts

        draw_charts(scored.charts, folder / "charts")
        log.info("charts: %s", folder / "charts")
    for name, details in scored.tables.items():
        write_text(folder / "tables" / f"{name}.csv", details_csv(details))
    if scored.tables:
        log.info("tables: %s (%s)", folder / "tables", ", ".join(scored.tables))
    files = [f"charts/{chart.name}{ending}" for chart in scored.charts for ending in (".png", ".csv")]
    files += [f"tables/{name}.csv" for name in scored.tables]
    context = {**about, "before": start, "expected": papers, "files": files, "config": redact(config)}
    write_metrics_json(folder / "metrics.json", metrics, context)
    if missing := [name for name in papers if name not in metrics]:
        log.warning("%d figures of the paper were not measured: %s", len(missing), ", ".join(missing))


def remove_outputs(folder: Path, *, with_curves: bool) -> None:
    """Remove metrics, pictures, charts, tables and page of an earlier run; keep all other files.

    Args:
        folder: of the run that starts; nothing is removed unless it has an earlier run.
        with_curves: whether to remove ``metrics.csv`` and ``before.json``, which a resumed run continues.
    """
    metrics = folder / "metrics.json"
    if not metrics.is_file() and not (folder / "environment.json").is_file():
        return
    try:
        names = [Path(name) for name in read_json_object(metrics).get("files", [])]
    except (OSError, ValueError, TypeError):  # damaged, or the run was killed before it wrote one
        names = []
    # Never remove a file outside the two folders, whatever the list says.
    listed = [str(name) for name in names if len(name.parts) == 2 and name.parts[0] in FOLDERS and name.name != ".."]
    for name in (*OUTPUTS, *listed, *(OF_TRAINING if with_curves else [])):
        (folder / name).unlink(missing_ok=True)
