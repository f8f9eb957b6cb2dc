"""Metrics on disk: a long table while training, one JSON file at the end."""

from __future__ import annotations

import csv
import json
import math
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

HEADER = ["step", "epoch", "name", "value"]


class MetricsFile(Logger):
    """Appends every logged value to ``metrics.csv``: step, epoch, name, value.

    A resumed run goes on in the same file; rows beyond the step it resumes from are dropped first.

    Args:
        folder: of the file.
    """

    def __init__(self, *, folder: str) -> None:
        super().__init__()
        self.path = Path(folder) / "metrics.csv"
        self._last_step: int | None = None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def version(self) -> str:
        """A run folder has one such file."""
        return ""

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """The run folder has the config in a file of its own."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append the values of one step."""
        number = int(step or 0)
        if self._last_step is None:
            self._start(number)
        self._last_step = number
        epoch = metrics.get("epoch", "")
        rows = [[number, epoch, name, value] for name, value in metrics.items() if name != "epoch"]
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)

    def _start(self, step: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept: list[list[str]] = []
        if self.path.is_file():
            with self.path.open(newline="", encoding="utf-8") as file:
                kept = [row for row in csv.reader(file) if row and row[0].isdigit() and int(row[0]) < step]
        temporary = self.path.with_name(self.path.name + ".tmp")
        with temporary.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([HEADER, *kept])
        temporary.replace(self.path)


def write_metrics_json(path: Path, metrics: Mapping[str, float], context: Mapping[str, Any]) -> None:
    """Write the final metrics and what they need to be understood; a NaN becomes null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    content = _plain({"metrics": dict(metrics), **context})
    temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
