"""One page per run, and one across runs: written from the files of the run folders, it asks nothing of the network."""

from xsent.reporting.report.comparison import write_comparison
from xsent.reporting.report.pages import write_report

__all__ = ["write_comparison", "write_report"]
