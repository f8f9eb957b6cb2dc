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

from xsent.reporting.files import write_text

HEADER = ["step", "epoch", "name", "value"]


class MetricsFile(Logger):
    """Appends every logged value to ``metrics.csv``: step, epoch, name, value.

    A resumed run goes on in the same file: what the killed run wrote after the checkpoint is dropped,
    since it is logged again. The rows of each call are on disk when the call returns.

    Args:
        folder: of the file.
    """

    def __init__(self, *, folder: str) -> None:
        super().__init__()
        self.path = Path(folder) / "metrics.csv"
        self._started = False

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
        number, epoch = int(step or 0), int(metrics.get("epoch", 0))
        if not self._started:
            # The first thing a resumed run logs is something that the killed one had logged, or would have.
            self.truncate(number, epoch)
            self._started = True
        rows = [[number, epoch, name, value] for name, value in metrics.items() if name != "epoch"]
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def truncate(self, step: int, epoch: int) -> None:
        """Drop the rows of this step of this epoch and all that are later, and a row torn by a kill.

        The end of an epoch and the first batch of the next are one step: the epoch tells them apart.
        """
        kept: list[list[str]] = []
        if self.path.is_file():
            with self.path.open(newline="", encoding="utf-8") as file:
                kept = [row for row in csv.reader(file) if _is_before(row, step, epoch)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(self.path.name + ".tmp")
        with temporary.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *kept])
        temporary.replace(self.path)


def _is_before(row: list[str], step: int, epoch: int) -> bool:
    whole = len(row) == len(HEADER) and row[0].isdigit() and row[1].isdigit()
    return whole and (int(row[1]), int(row[0])) < (epoch, step)


def write_metrics_json(path: Path, metrics: Mapping[str, Any], context: Mapping[str, Any]) -> None:
    """Write the final metrics and what they need to be understood, all or nothing.

    Args:
        path: of the file.
        metrics: figures by name; a NaN or infinity becomes null, which is what JSON has for it.
        context: further entries beside ``metrics``; what is no plain value becomes its text.
    """
    text = json.dumps(_plain({"metrics": metrics, **context}), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array or tensor; of one number: that number
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
