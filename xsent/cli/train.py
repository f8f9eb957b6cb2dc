"""``xsent train`` and ``xsent evaluate``, which ``train.py`` and ``evaluate.py`` run, too."""

from collections.abc import Sequence


def train(arguments: Sequence[str]) -> int:
    """Train, or search, or run a grid; returns the exit status."""
    from xsent.run.main import run_command
    from xsent.sweeps.dispatch import train_or_sweep

    return run_command("train", arguments, train_or_sweep)


def evaluate(arguments: Sequence[str]) -> int:
    """Score an encoder or what a run learned, or run a grid; returns the exit status."""
    from xsent.run.main import run_command
    from xsent.sweeps.dispatch import evaluate_or_sweep

    return run_command("evaluate", arguments, evaluate_or_sweep)
