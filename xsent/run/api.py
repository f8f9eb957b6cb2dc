"""``xsent.train`` and ``xsent.evaluate``: the programs as functions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xsent.config_checks import UsageError, check_device
from xsent.files.strict_json import read_json_object
from xsent.run.config.compose import load_config, override
from xsent.run.evaluation import evaluate_run, score
from xsent.run.loading import load_encoder, load_model
from xsent.run.start import read_command, started
from xsent.run.training import train_run

if TYPE_CHECKING:
    from xsent.batch import Embedder


@dataclass(frozen=True)
class TrainingResult:
    """A finished training run."""

    folder: Path  # with checkpoints, tables and report.html
    metrics: dict[str, float]  # of the test sets, such as test/heldout/meaning/mean/accuracy
    best: float | None  # value of the monitored validation metric

    def encoder(self, *, device: str = "cpu") -> Embedder:
        """The trained encoder, as ``xsent.load_encoder`` gives it."""
        return load_encoder(self.folder, device=device)


def train(overrides: Sequence[str]) -> TrainingResult:
    """Train as ``xsent train`` does, in this process.

    Args:
        overrides: ``["recipe=oracle", "trainer.max_epochs=4", "name=first"]``; searches and grids are commands.

    Raises:
        ValueError: an option is wrong, or the data cannot be used.
        OSError: a file does not exist, or a model cannot be fetched.
        ImportError: an optional package is missing.
    """
    if isinstance(overrides, str) or any(text.startswith("-") for text in overrides):
        raise UsageError(f'{overrides!r}: expected a list of options, such as ["recipe=oracle", "seed=1"]')
    command = read_command("train", overrides)
    if command.cfg.search is not None or command.cfg.study is not None:
        raise UsageError("a search or a study is a command: xsent train search=... or experiment=...")
    with started(command) as config:
        best = train_run(config)
        folder = Path(config["run_dir"])
        metrics = read_json_object(folder / "metrics.json")["metrics"]
    return TrainingResult(folder, metrics, best)


def evaluate(
    encoder: Embedder | str | os.PathLike[str],
    evaluator: str,
    *,
    root: str | os.PathLike[str] | None = None,
    device: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    **options: Any,
) -> dict[str, float]:
    """Score an encoder on test sets, as ``xsent evaluate`` does.

    Args:
        encoder: an encoder, or what ``xsent.load_encoder`` takes.
        evaluator: a name of ``conf/evaluator``, such as ``tatoeba``.
        root: file or folder of the test sets (``evaluator.root``).
        device: of the encoder, if it is loaded here; None: that of ``conf/evaluate.yaml``.
        folder: for tables and report; None writes no files.
        options: others of the evaluator: ``languages=["deu", "fra"]``, ``k=4``.

    Returns:
        Metrics such as ``test/tatoeba/original/deu/accuracy``.

    Raises:
        ValueError: an option is wrong, or the test sets cannot be read.
        OSError: a file does not exist, or a model cannot be fetched.
    """
    values = {"evaluator.root": root, "run_dir": folder, "device": device}
    given = {key: os.fspath(value) for key, value in values.items() if value is not None}
    given |= {f"evaluator.{key}": value for key, value in options.items()}
    chosen = [override("evaluator", evaluator), *(override(key, value) for key, value in given.items())]
    config = load_config("evaluate", chosen)
    check_device(config["device"])
    model, run = (
        load_model(encoder, device=config["device"]) if isinstance(encoder, str | os.PathLike) else (encoder, None)
    )
    return score(config, model, run) if folder is None else evaluate_run(config, model, run)
