"""Tables, pictures and ``study.html`` of a study of ``evaluate.py``."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from xsent.evaluation.clsd.base import ClsdSet
from xsent.files.atomic import write_text
from xsent.reporting.pages.page import STUDY, Section, log_page_errors, macro, write_page
from xsent.reporting.pages.study import PAGE, Picture, pictures_section
from xsent.reporting.tables.clsd_study import (
    difficulty_tables,
    example_tables,
    mean_tables,
    rows_by_encoder,
    swap_charts,
    tricked_tables,
)
from xsent.reporting.tables.evaluation_study import Figure, by_encoder, evaluation_tables
from xsent.reporting.tables.study import study_markdown
from xsent.reporting.tables.table import Table, compact_table, csv_text, terminal_table

TABLE = "table.csv"

log = logging.getLogger(__name__)


def report_evaluations(
    cells: Sequence[Mapping[str, Any]],
    study: Mapping[str, Any],
    *,
    folder: Path,
    published: Sequence[Mapping[str, Any]],
    sets: Callable[[], Sequence[ClsdSet]],
    seed: int,
) -> None:
    """Write ``table.md``, ``table.csv``, pictures and the page into the folder, and print the tables.

    Args:
        cells: ``encoder``, ``evaluator``, and ``metrics``, ``details`` and the folder ``evaluation``, or an ``error``.
        study: its ``title``, and options of the tables.
        published: the paper's tables that the config of the test sets has.
        sets: test sets of the evaluator, for tables with texts.
        seed: of drawn examples.
    """
    pictures: list[Picture] = []
    notes: list[str] = []
    rows: list[Sequence[object]] = []
    tables: Sequence[Table] = []
    if study["view"] == "published":
        tables, notes, figures = evaluation_tables(by_encoder(cells), study, published)
        rows = [Figure._fields, *figures]
    elif study["view"] == "examples":
        tables = example_tables(sets(), study["examples"], rows_by_encoder(cells, "clsd_items"))
    elif study["view"] == "difficulty":
        tables, rows = difficulty_tables(sets(), study["examples"], study["printed"], source=TABLE)  # type: ignore[assignment]
    elif study["view"] == "tricked":
        items = rows_by_encoder(cells, "clsd_items")
        tables, rows = tricked_tables(items, examples=study["examples"], seed=seed, source=TABLE)  # type: ignore[assignment]
    else:
        from xsent.reporting.plots.charts import draw_charts

        charts = swap_charts(rows_by_encoder(cells, "clsd_swaps"), study["classes"], study["kind"])
        tables = mean_tables(charts)
        paths = draw_charts(charts, folder)
        pictures = [
            Picture(path, f"box plots: {chart.title}; the tables have the means", f"{chart.name}.csv")
            for path, chart in zip(paths, charts, strict=True)
        ]
    if rows:
        write_text(folder / TABLE, csv_text(rows))
    notes += [f"{cell['encoder']}: failed, {cell['error']}" for cell in cells if "error" in cell]
    write_text(folder / "table.md", study_markdown(tables, study["title"], notes))
    console = Console()
    console.print("\n" + study["title"] + "\n", markup=False)
    for table in tables:
        shown = compact_table(table) if table.measured else terminal_table(table.header, table.rows)
        console.print("", table.label, shown, sep="\n")
    for note in notes:
        console.print(note, markup=False, highlight=False)
    page = folder / PAGE
    with log_page_errors(page):
        sections = [
            pictures_section("Pictures", pictures),
            Section("tables", "Tables", "study_tables", {"tables": tables}),
        ]
        write_page(page, title=study["title"], kind=STUDY, summary=macro("study_summary", notes), sections=sections)
    log.info("table: %s; page: %s%s", folder / "table.md", page, "".join(f"; {picture.path}" for picture in pictures))
