"""``report.html`` of a run: sections in order, each with its share of the page's size."""

from __future__ import annotations

from pathlib import Path

from xsent.reporting.report.attachments import charts_section, details_section
from xsent.reporting.report.curves import curves_section, no_curves
from xsent.reporting.report.markup import escape
from xsent.reporting.report.overview import headline, overview_section, unfinished
from xsent.reporting.report.pictures import pictures_section
from xsent.reporting.report.reading import RunFiles, read_run
from xsent.reporting.report.results import results_section
from xsent.reporting.report.shell import RUN_PAGE, write_shell

REPORT = "report.html"
# Bytes, at most; together with styles and scripts they stay below five million.
RESULTS, CURVES, PICTURES, CHARTS, CONFIG, DETAILS = 900_000, 1_000_000, 700_000, 1_500_000, 200_000, 400_000


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into a run's folder, from nothing but the files there; returns its path.

    Raises:
        ValueError: there is no run in the folder, a file of it is damaged, or an asset of the page was altered. A page
            that was there stays.
    """
    run = read_run(folder)
    runs = {folder.name: run}
    found = [
        results_section(run, room=RESULTS),
        curves_section(runs, room=CURVES) or no_curves(run),
        pictures_section(runs, room=PICTURES),
        charts_section(run, room=CHARTS),
        overview_section(run, room=CONFIG),
        details_section(run, room=DETAILS),
    ]
    sections = [section for section in found if section is not None]
    return write_shell(folder / REPORT, title=_title(run), summary=_summary(run), sections=sections, kind=RUN_PAGE)


def _title(run: RunFiles) -> str:
    return f"{'Training' if run.trains else 'Evaluation'} {run.folder.absolute().name}"


def _summary(run: RunFiles) -> str:
    return f"<p>{escape(headline(run))}.</p>{unfinished(run)}"
