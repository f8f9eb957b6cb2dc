"""Run what a command of ``train.py`` or ``evaluate.py`` asks for: a search, a cell of a study, or one run."""

from pathlib import Path

from hydra.core.hydra_config import HydraConfig

from xsent.files.strict_json import read_json_object
from xsent.run.evaluation import evaluate_command
from xsent.run.single_run import train_in_subprocess
from xsent.run.start import HAS_LOCK, Command, started
from xsent.run.training import train_run


def train_or_sweep(command: Command) -> float | None:
    """Run the search of ``search``, the cell of ``study``, or else one training.

    Returns:
        The best value of the monitored validation metric.
    """
    if command.cfg.search is not None:
        from xsent.sweeps.search.search import run_search

        return run_search(command)
    if command.cfg.study is not None:
        from xsent.sweeps.study import run_cell

        return run_cell(command.cfg)
    with started(command) as config:
        # The command line of a grid cannot start the other processes of one of its runs.
        if HydraConfig.initialized() and config["trainer"]["strategy"] != "auto":
            train_in_subprocess(config, {HAS_LOCK: "1"})
            best: float | None = read_json_object(Path(config["run_dir"]) / "metrics.json")["best"]
            return best
        return train_run(config)


def evaluate_or_sweep(command: Command) -> dict[str, float]:
    """Run the cell of ``study``, or else one evaluation; returns the metrics."""
    if command.cfg.study is None:
        return evaluate_command(command)
    from xsent.sweeps.evaluation_study import run_evaluation_cell

    return run_evaluation_cell(command.cfg)
