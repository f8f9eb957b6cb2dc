"""Metrics files: ``metrics.csv`` grows during training, ``metrics.json`` is written at the end."""

import csv
import json
import math
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger
from pytorch_lightning.utilities import rank_zero_only

from xsent.files.atomic import atomic_write, write_text

HEADER = ["step", "epoch", "name", "value"]


class MetricsFile(Logger):
    """Appends every logged value to ``metrics.csv``: step, epoch, name, value.

    A resumed run continues the file. It first drops the rows after its checkpoint, because it logs them again.
    The rows of each call are on disk when the call returns.
    """

    def __init__(self, *, folder: str) -> None:
        super().__init__()
        self.path = Path(folder) / "metrics.csv"
        self._started = False

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def version(self) -> str:
        """Empty: a run folder has one such file."""
        return ""

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """Do nothing: ``config.yaml`` has the config."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Append the values of one step."""
        number, epoch = int(step or 0), int(metrics.get("epoch", 0))
        if not self._started:
            # A resumed run first logs a step that the killed run may have logged.
            self.truncate(number, epoch)
            self._started = True
        rows = [[number, epoch, name, value] for name, value in metrics.items() if name != "epoch"]
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    def truncate(self, step: int, epoch: int) -> None:
        """Drop incomplete rows, and those at or after this step of this epoch.

        The end of an epoch and the first batch of the next have the same step, so both step and epoch are compared.
        """
        earlier_rows: list[list[str]] = []
        if self.path.is_file():
            with self.path.open(newline="", encoding="utf-8") as file:
                earlier_rows = [row for row in csv.reader(file) if _is_before(row, step, epoch)]
        with atomic_write(self.path) as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *earlier_rows])


def _is_before(row: list[str], step: int, epoch: int) -> bool:
    is_complete = len(row) == len(HEADER) and row[0].isdigit() and row[1].isdigit()
    return is_complete and (int(row[1]), int(row[0])) < (epoch, step)


def write_metrics_json(path: Path, metrics: Mapping[str, Any], context: Mapping[str, Any]) -> None:
    """Write ``metrics_json`` atomically."""
    write_text(path, metrics_json(metrics, context))


def metrics_json(metrics: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    """The final metrics and their context, as JSON.

    NaN and infinity become null, other values that JSON cannot represent become strings. ``context`` has further
    entries beside ``metrics``.
    """
    return json.dumps(_plain({"metrics": metrics, **context}), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # array or tensor, also of a single number
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
