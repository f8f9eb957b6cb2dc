"""Remove the outputs of an earlier run from a run folder that is used again."""

from __future__ import annotations

import json
from pathlib import Path

# In this order: the first files mark a finished run, so an interrupted removal never leaves an incomplete finished run.
OUTPUTS = (
    "metrics.json",
    "report.html",
    "results.csv",
    "results.md",
    "published.md",
    "details.csv",
    "pictures/pca.png",
    "pictures/tsne.png",
    "pictures/points.json",
)
CURVES = "metrics.csv"
FOLDERS = ("charts", "tables")  # evaluators choose the names of their files; metrics.json lists them
SIGNS = ("metrics.json", "environment.json")  # of an earlier run


def remove_outputs(folder: Path, *, with_curves: bool) -> None:
    """Remove metrics, pictures, charts, tables and page of an earlier run; keep all other files.

    Args:
        folder: of the run that starts; nothing is removed unless it has an earlier run.
        with_curves: whether to remove ``metrics.csv``, which a resumed run continues.
    """
    if not any((folder / sign).is_file() for sign in SIGNS):
        return
    written = _charts_and_tables(folder / "metrics.json")
    for name in (*OUTPUTS, *written, *([CURVES] if with_curves else [])):
        (folder / name).unlink(missing_ok=True)


def files_of(charts: list[str], tables: list[str]) -> list[str]:
    """Paths of the files of charts and tables, as ``metrics.json`` lists them."""
    of_charts = [f"charts/{name}{ending}" for name in charts for ending in (".png", ".csv")]
    return [*of_charts, *(f"tables/{name}.csv" for name in tables)]


def _charts_and_tables(metrics: Path) -> list[str]:
    """Charts and tables listed in ``metrics.json``; none if the file is damaged."""
    try:
        names = json.loads(metrics.read_text(encoding="utf-8")).get("files", [])
        # Never remove a file outside the two folders, whatever the list says.
        return [
            name for name in names if len(parts := Path(name).parts) == 2 and parts[0] in FOLDERS and parts[1] != ".."
        ]
    except (OSError, ValueError, AttributeError, TypeError):
        return []
