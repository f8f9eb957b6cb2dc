"""Losses and sampling for divergence detection: rows of Briakou and Carpuat 2020, Tables 3 and 4, with ``small``.

    xsent diverge SEEDS -o divergences.jsonl
    python -m benchmarks.divergence train divergences.jsonl --encoder models/small [--seeds 1 2 3]
    python -m benchmarks.divergence table [--runs FOLDER]

``train`` trains each row and seed and evaluates it on the half of REFreSD in the shared data (``XSENT_DATA``).
Interrupted runs are resumed, finished ones skipped. ``table`` prints the finished runs.
"""

import argparse
import json
import logging
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from xsent.run import build, load_config
from xsent.run.training import train_run

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()


class Row(NamedTuple):
    """A model of the paper's tables."""

    sampling: str
    objective: str
    epochs: int  # chosen so that all rows have about 250 steps
    paper: int | None  # weighted F1 of Table 3, on all of REFreSD


LOSSES = ("ce", "ce_contrastive", "margin")
SAMPLINGS = {  # by loss: epochs, and the paper's F1
    "phrase_replacement": ((4, 75), (4, 75), (4, 80)),
    "subtree_deletion": ((4, 77), (4, 78), (4, 82)),
    "lexical_substitution": ((3, 72), (3, 71), (2, 72)),
    "balanced": ((4, 73), (4, 81), (4, 82)),
    "concatenation": ((2, 66), (2, 76), (1, 81)),
}
ROWS = [
    Row("ranking", "margin", 1, 84),
    Row("ranking", "margin_tags", 1, None),
    Row("concatenation", "margin_tags", 1, None),
    Row("balanced", "margin_tags", 4, None),
    Row("concatenation", "tags", 1, None),
    *(
        Row(sampling, objective, *row)
        for sampling, rows in SAMPLINGS.items()
        for objective, row in zip(LOSSES, rows, strict=True)
    ),
]
SMALL = [
    "data.train_seeds=1000",
    "data.valid_seeds=100",
    "data.test_seeds=100",
    "trainer.precision=bf16-mixed",
    "recipe.optimizer.lr=5e-4",
    "recipe.scheduler.warmup_share=0.1",
    "recipe/divergence/judge=cross_encoder",
    "recipe.judge.pooling=mean",
    "logger=none",
    "trainer.enable_progress_bar=false",
]
COLUMNS = {  # of the table: metric
    "F1": "f1",
    "calibrated F1": "calibrated_f1",
    "best F1": "best_f1",
    "AUC": "roc_auc",
    "DIV union": "union_f1_div",
    "EQ union": "union_f1_eq",
    "Mul union": "union_f1_mul",
    "Mul pairwise": "pairwise_union_f1_mul",
    "Mul intersection": "intersection_f1_mul",
}


def folder_of(row: Row, seed: int, runs: Path) -> Path:
    """Run folder of a row."""
    return runs / f"{row.sampling}-{row.objective}-{seed}"


def train_row(row: Row, seed: int, *, divergences: Path, encoder: Path, runs: Path, options: Sequence[str]) -> None:
    """Train and score a row, unless it is finished."""
    folder = folder_of(row, seed, runs)
    if (folder / "metrics.json").is_file():
        return
    resume = ["ckpt_path=last"] if (folder / "checkpoints" / "last.ckpt").is_file() else []
    overrides = [
        "recipe=divergence",
        f"recipe/divergence/objective={row.objective}",
        f"recipe/divergence/sampling={row.sampling}",
        "encoder=small",
        f"encoder.path={encoder}",
        f"trainer.max_epochs={row.epochs}",
        f"data.root={divergences}",
        f"seed={seed}",
        f"run_dir={folder}",
        "evaluator=refresd",
        f"evaluator.root={DATA / 'refresd'}",
    ]
    config = load_config("train", [*overrides, *SMALL, *options, *resume])
    train_run(config, build(config["data"], "data"))


def table(runs: Path) -> str:
    """Finished rows: mean over seeds, and standard deviation for several seeds."""
    lines = [f"| sampling | loss | seeds | {' | '.join(COLUMNS)} | paper's F1 |", "| --- | --- " + "| ---: " * 11 + "|"]
    for row in ROWS:
        paths = sorted(runs.glob(f"{row.sampling}-{row.objective}-*/metrics.json"))
        if not paths:
            continue
        metrics = [json.loads(path.read_text(encoding="utf-8"))["metrics"] for path in paths]
        cells = []
        for name in COLUMNS.values():
            values = [run[key] for run in metrics if (key := f"test/refresd/wikimatrix/{name}") in run]
            spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.1f}{spread}" if values else "")
        lines.append(f"| {row.sampling} | {row.objective} | {len(paths)} | {' | '.join(cells)} | {row.paper or ''} |")
    return "\n".join(lines)


def main() -> None:
    """Train rows, or print their table."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train")
    training.add_argument("divergences", type=Path)
    training.add_argument("--encoder", type=Path, default=ROOT / "models" / "small")
    training.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    training.add_argument(
        "--only", default="", metavar="TEXT", help="only rows whose sampling or objective contains it"
    )
    training.add_argument(
        "--part", type=int, nargs=2, default=[1, 1], metavar=("I", "N"), help="every N-th row, from I"
    )
    training.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    for command in (training, commands.add_parser("table")):
        command.add_argument("--runs", type=Path, default=ROOT / "runs" / "divergence-benchmark")
    options = parser.parse_args()
    if options.command == "train":
        for seed in options.seeds:
            selected = [row for row in ROWS if options.only in f"{row.sampling} {row.objective}"]
            for row in selected[options.part[0] - 1 :: options.part[1]]:
                train_row(
                    row,
                    seed,
                    divergences=options.divergences.resolve(),
                    encoder=options.encoder.resolve(),
                    runs=options.runs,
                    options=options.option,
                )
    print(table(options.runs))


if __name__ == "__main__":
    main()
