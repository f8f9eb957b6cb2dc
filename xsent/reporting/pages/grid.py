"""``grid_tables.html``: a paper's tables with a row for each model of a grid; the same as Markdown and CSV."""

from pathlib import Path

from rich.console import Console

from xsent.files.atomic import write_text
from xsent.reporting.pages.page import STUDY, Section, log_page_errors, macro, write_page
from xsent.reporting.tables.grid_tables import CSV, GridFigure, GridTables
from xsent.reporting.tables.study import study_markdown
from xsent.reporting.tables.table import compact_table, csv_text


def write_grid_tables(results: GridTables, title: str, folder: Path) -> Path:
    """Print the tables and write them into the folder as CSV, Markdown and page; returns the page."""
    page = folder / "grid_tables.html"
    write_text(folder / CSV, csv_text([GridFigure._fields, *results.figures]))
    write_text(page.with_suffix(".md"), study_markdown(results.tables, title, results.notes))
    console = Console()
    for table in results.tables:
        console.print("", table.label, compact_table(table), sep="\n", markup=False)
    for note in results.notes:
        console.print(note, markup=False)
    with log_page_errors(page):
        section = Section("tables", "Tables", "study_tables", {"tables": results.tables})
        summary = macro("study_summary", results.notes)
        write_page(page, title=title, kind=STUDY, summary=summary, sections=[section])
    return page
