"""A folder that is used again: what an earlier run left there is no part of the new one."""

from __future__ import annotations

import json
from pathlib import Path

# Those that come first say that a run has finished, so a kill in between leaves no finished run of a part of its files.
OUTPUTS = (
    "metrics.json", "report.html", "results.csv", "results.md", "published.md", "details.csv",
    "pictures/pca.png", "pictures/tsne.png", "pictures/points.json",
)  # fmt: skip
CURVES = "metrics.csv"
FOLDERS = ("charts", "tables")  # whose files have names of the evaluators' choice, which metrics.json tells
SIGNS = ("metrics.json", "environment.json")  # that there was a run


def remove_outputs(folder: Path, *, with_curves: bool) -> None:
    """Remove figures, pictures, charts, tables and page of an earlier run, and nothing that no run has written.

    Args:
        folder: of the run that begins; where no run was before, all in it stays.
        with_curves: whether ``metrics.csv`` goes, too; a resumed run goes on in it.
    """
    if not any((folder / sign).is_file() for sign in SIGNS):
        return
    written = _charts_and_tables(folder / "metrics.json")
    for name in (*OUTPUTS, *written, *([CURVES] if with_curves else [])):
        (folder / name).unlink(missing_ok=True)


def files_of(charts: list[str], tables: list[str]) -> list[str]:
    """What ``metrics.json`` says of the files of charts and tables, by the names of those."""
    of_charts = [f"charts/{name}{ending}" for name in charts for ending in (".png", ".csv")]
    return [*of_charts, *(f"tables/{name}.csv" for name in tables)]


def _charts_and_tables(metrics: Path) -> list[str]:
    """Those that the earlier run wrote; a damaged file tells of none."""
    try:
        names = json.loads(metrics.read_text(encoding="utf-8")).get("files", [])
        # A file of another folder is none of ours, whoever wrote its name here.
        return [
            name for name in names if len(parts := Path(name).parts) == 2 and parts[0] in FOLDERS and parts[1] != ".."
        ]
    except (OSError, ValueError, AttributeError, TypeError):
        return []
