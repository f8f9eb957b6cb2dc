"""Accuracy of truncated vectors in fewer bits: Tatoeba and FLORES-200 dev, ten languages, mean of both directions.

``python -m benchmarks.dimensions micro mini runs/matryoshka [--dims 256 128 64 32] [--precisions float32 int8 binary]
[--languages deu fra spa]`` takes any source of ``xsent.load_encoder``; sentences are encoded once. The test sets are
under ``XSENT_DATA``.
"""

import argparse
import os
from pathlib import Path
from typing import Any, get_args

import torch

import xsent
from xsent.batch import Precision
from xsent.quantization import DTYPES, dequantise, quantise, stored_size
from xsent.run import load_config
from xsent.run.config.build import build_evaluator
from xsent.similarity import unit

DATA = Path(os.environ.get("XSENT_DATA", "../shared/data")).resolve()
ROOTS = {"tatoeba": DATA / "tatoeba", "flores": DATA / "flores200" / "dev"}


def evaluator_of(name: str, root: Path, languages: list[str] | None) -> Any:
    """An evaluator that has read its test sets."""
    chosen = [] if languages is None else [f"evaluator.languages=[{','.join(languages)}]"]
    config = load_config("evaluate", ["run_dir=none", f"evaluator={name}", f"evaluator.root={root}", *chosen])
    return build_evaluator(config["evaluator"], None, split="test")


def main() -> None:
    """Print a table for each encoder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--dims", type=int, nargs="+", default=[256, 128, 64, 32])
    parser.add_argument("--precisions", nargs="+", choices=get_args(Precision), default=["float32", "int8", "binary"])
    parser.add_argument("--languages", nargs="+", help="instead of the ten of the evaluators")
    options = parser.parse_args()
    evaluators = {name: evaluator_of(name, root, options.languages) for name, root in ROOTS.items()}
    for source in options.encoders:
        encoder = xsent.load_encoder(source)
        vectors = {name: encoder.encode(evaluator.sentences()) for name, evaluator in evaluators.items()}
        print(f"| {source}: size | precision | bytes | Tatoeba | FLORES dev |\n| ---: | --- | ---: | ---: | ---: |")
        for dim in options.dims:
            for precision in options.precisions:
                scores = []
                for name, evaluator in evaluators.items():
                    stored = quantise(unit(vectors[name][:, :dim]), precision)
                    metrics = evaluator.score(dequantise(torch.from_numpy(stored))).metrics
                    scores.append(metrics[f"{name}/mean/accuracy"])
                size = stored_size(dim, precision) * DTYPES[precision].itemsize
                print(f"| {dim} | {precision} | {size:,} | " + " | ".join(f"{score:.2f}" for score in scores) + " |")


if __name__ == "__main__":
    main()
