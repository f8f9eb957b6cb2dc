"""The bundled judge of sentence pairs: trained with several seeds, and tested as docs/recipes/divergence.md says.

    python -m benchmarks.judge [--encoder mini] [--seeds 1 2 3] [--work runs/judge]

Makes the divergences of ``make divergence`` from the data under ``XSENT_DATA``, trains a judge per seed (two minutes of
a core) and prints each figure, with mean and 95 % interval (Student's t) over the seeds. What is in the folder already
is not made again.

The first row is the F1 on the synthetic dev pairs, by which an encoder is chosen. Tested are REFreSD, the OpenSubtitles
pairs of SemDiverge, and clean pairs that no seed was made of: Tatoeba's test files and TICO-19.
"""

import argparse
import gzip
import json
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy import stats

import xsent
from xsent.cli import main
from xsent.files.atomic import atomic_path
from xsent.text.annotation.moses_tokenizer import moses_words

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
CLEAN = [f"clean_divergent_{band}" for band in ("1_5", "6_10", "11_up")]  # percent, by words of the English side
PAIRS = ["f1", "calibrated_f1", "roc_auc", "ece"]
WORDS = [f"{level}_f1_mul" for level in ("union", "pairwise_union", "intersection")]


def divergences(work: Path) -> list[Path]:
    """Files of ``make divergence``: of the annotated seeds, and of the bitext's sentences of any length."""
    files = [work / "divergences.jsonl", work / "plain.jsonl"]
    bitext = str(DATA / "bitext" / "en-fr.tsv.gz")
    options = [[str(DATA / "seeds"), "--kinds", "subtree_deletion"], [bitext, "--divergences", "plain"]]
    for file, arguments in zip(files, options, strict=True):
        if not file.is_file() and main(["diverge", *arguments, "-o", str(file)]):
            raise SystemExit(1)
    return files


def unused_tico(files: Sequence[Path], folder: Path) -> Path:
    """Folder of the TICO-19 pairs of the bitext that no seed was made of, in the format of Tatoeba."""
    seeds: set[str] = set()
    for file in files:
        with file.open(encoding="utf-8") as lines:
            seeds.update(json.loads(line)["source"] for line in lines)
    with gzip.open(DATA / "bitext" / "en-fr.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if line.rstrip("\n").endswith("\ttico19")]
    unused = [row for row in rows if " ".join(moses_words(row[0], "eng")) not in seeds]
    folder.mkdir(parents=True, exist_ok=True)
    for column, language in enumerate(("eng", "fra")):
        text = "".join(f"{row[column]}\n" for row in unused)
        (folder / f"tatoeba.fra-eng.{language}").write_text(text, encoding="utf-8")
    return folder


def figures(run: Path, tico: Path) -> dict[str, float]:
    """Figures of a judge, in percent."""
    tests: dict[str, tuple[str, Path, str, dict[str, Any], list[str]]] = {
        "REFreSD": ("refresd", DATA / "refresd", "refresd/wikimatrix", {}, [*PAIRS, *WORDS]),
        "OpenSubtitles": ("semdiverge", DATA / "semdiverge", "semdiverge/opensubs", {"sets": ["opensubs"]}, PAIRS),
        "Tatoeba": ("injected", DATA / "tatoeba", "injected/fra", {"sets": ["fra"]}, CLEAN),
        "TICO-19": ("injected", tico, "injected/fra", {"sets": ["fra"]}, CLEAN),
    }
    values: dict[str, float] = {}
    for name, (evaluator, root, prefix, options, chosen) in tests.items():
        metrics = xsent.evaluate(run, evaluator, root=root, **options)
        values |= {f"{name} {metric}": metrics[f"test/{prefix}/{metric}"] for metric in chosen}
    return values


def interval(values: Sequence[float]) -> str:
    """Mean and 95 % interval of the mean."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.1f}"
    half = stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5
    return f"{mean:.1f} ± {half:.1f}"


def benchmark(encoder: str, seeds: Sequence[int], work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    files = divergences(work)
    tico = unused_tico(files, work / "tico19")
    columns = []
    for seed in seeds:
        run, result = work / f"{encoder}{seed}", work / f"{encoder}{seed}.json"
        if not result.is_file():
            roots = ",".join(map(str, files))
            options = ["recipe=divergence", f"encoder={encoder}", f"data.root=[{roots}]", f"seed={seed}"]
            trained = xsent.train([*options, "evaluator=none", f"run_dir={run}"])
            assert trained.best is not None
            values = {"dev pairs f1": trained.best} | figures(run, tico)
            with atomic_path(result) as temporary:
                temporary.write_text(json.dumps(values), encoding="utf-8")
        columns.append(json.loads(result.read_text(encoding="utf-8")))
    print(f"| | {' | '.join(f'seed {seed}' for seed in seeds)} | mean |")
    print(f"| --- |{' ---: |' * (len(seeds) + 1)}")
    for name in columns[0]:
        values = [column[name] for column in columns]
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} | {interval(values)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--encoder", default="mini", help="whose word vectors the judge reads")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--work", type=Path, default=ROOT / "runs" / "judge")
    chosen = parser.parse_args()
    benchmark(chosen.encoder, chosen.seeds, chosen.work)
