"""HTML pages of runs: a report per run, and a comparison of several."""

from xsent.reporting.pages.comparison import write_comparison
from xsent.reporting.pages.run_report import try_report, write_report

__all__ = ["try_report", "write_comparison", "write_report"]
