"""Bring all-MiniLM-L6-v2 to the languages of a static encoder: the tables of docs/midi.md.

    python -m benchmarks.transfer [--rows untrained,frozen_body,...] [--pairs 500] [--static micro] [--runs FOLDER]

Each row is an encoder: transplanted, then trained as ``ROWS`` says on ``--pairs`` pairs of each language of the bitext
(permissive rows). It is scored alone and side by side with the static encoder: FLORES dev and Tatoeba (ten languages,
the first ``--sentences`` of each), STS 2017 (five tracks), and with ``--clsd`` CLSD WMT19, a test set that nothing is
chosen on. The data lie under ``XSENT_DATA``. Finished trainings and vectors in ``--runs`` are used again.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.clsd import CLSD, DATA, ROOT, minilm
from xsent import load_encoder
from xsent.run import load_config
from xsent.run.config.build import build
from xsent.similarity import unit

# Of the square of the cosine's parts: 1 is the static encoder alone, 0 the trained one.
WEIGHTS = (1.0, 0.9, 0.8, 0.7, 0.5, 0.0)
SCORES = {"flores": "/mean/", "tatoeba": "/mean/", "sts": "spearman", "clsd": "wmt19"}  # parts of metrics' names
TRAINING = [
    "recipe=transfer",
    "encoder=minilm",
    f"recipe.teacher_path={minilm()}",
    "recipe.unfreeze_step=null",
    "recipe.optimizer.lr=2e-3",
    "data=bitext",
    f"data.root={DATA / 'bitext'}",
    'data.drop_origins=[xnli,multi30k-train,"americasnlp*"]',
    "data.languages=[ara,deu,spa,fra,ita,jpn,nld,por,ron,zho]",
    "data.valid_share=0.02",
    "data.test_share=0",
    "data.global_batch_size=128",
    "trainer.max_epochs=1",
    "trainer.precision=bf16-mixed",
    "evaluator=none",
    "score_before=false",
    "final=last",
]
ROWS: Mapping[str, Sequence[str] | None] = {  # overrides of TRAINING; None: not trained
    "untrained": None,
    "all_words": None,  # transplanted without --text
    "frozen_body": [],
    "random_embeddings": [],
    "everything": ["recipe.unfreeze_step=0", "recipe.optimizer.lr=2e-4", "recipe.embedding_lr=1e-3"],
    "target_alone": ["recipe.weights.source=0"],
    "ranking": ["recipe.weights.ranking=1"],
}


def transplant(folder: Path, static: str, text: Path | None) -> Path:
    """Folder of the transplanted encoder."""
    if not folder.exists():
        if text is not None and not text.exists():
            rows = subprocess.run(["gzip", "-dc", DATA / "english/english.tsv.gz"], capture_output=True, check=True)
            lines = [line.split("\t")[0] for line in rows.stdout.decode().splitlines()[:100_000]]
            text.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = ["transplant", "--from", str(minilm()), "--tokenizer", static, "-o", str(folder)]
        of_text = [] if text is None else ["--text", str(text)]
        subprocess.run([sys.executable, "-m", "xsent.cli", *command, *of_text], check=True)
    return folder


def randomise(source: Path, folder: Path) -> Path:
    """The transplanted encoder with word embeddings drawn anew, of the same mean length; special tokens, too."""
    if not folder.exists():
        encoder = load_encoder(source)
        vectors = encoder.word_vectors  # type: ignore[attr-defined]
        drawn = unit(torch.randn(vectors.shape, generator=torch.Generator().manual_seed(0)))
        vectors.data = drawn * vectors.detach().norm(dim=1).mean()
        encoder.save(folder)  # type: ignore[attr-defined]
    return folder


def trained(row: str, pairs: int, static: str, runs: Path) -> Path:
    """Folder of the encoder of a row."""
    if row == "all_words":
        return transplant(runs / row, static, None)
    start = transplant(runs / "transplanted", static, runs / "english.txt")
    if row == "random_embeddings":
        start = randomise(start, runs / "random")
    if (overrides := ROWS[row]) is None:
        return start
    folder = runs / f"{row}-{pairs}"
    if not folder.exists():
        begin = time.perf_counter()
        of_run = [f"encoder.path={start}", f"data.max_pairs_per_language={pairs}", f"save_encoder={folder}"]
        of_run += [f"run_dir={runs / 'training' / folder.name}", f"cache_dir={runs / 'cache'}"]
        subprocess.run([sys.executable, "train.py", *TRAINING, *of_run, *overrides], cwd=ROOT, check=True)
        print(f"{row}: trained in {(time.perf_counter() - begin) / 60:.1f} min", flush=True)
    return folder


def heads(source: Path, folder: Path, sentences: int) -> Path:
    """The first lines of each file."""
    if not folder.exists():
        folder.mkdir(parents=True)
        for path in source.iterdir():
            lines = path.read_text(encoding="utf-8").splitlines()[:sentences] if path.is_file() else []
            (folder / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def vectors(name: str, source: str | Path, sentences: Sequence[str], runs: Path) -> Tensor:
    """Vectors of length one."""
    path = runs / "vectors" / f"{name}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, load_encoder(source).encode(sentences, normalize=True).numpy())
    return torch.from_numpy(np.load(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", default="untrained,frozen_body", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--pairs", type=int, default=500, help="of each of ten languages")
    parser.add_argument("--static", default="micro", choices=["micro", "mini"], help="gives pieces; stands beside")
    parser.add_argument("--clsd", action="store_true", help="score CLSD WMT19, too")
    parser.add_argument("--sentences", type=int, default=300, help="of each language of FLORES and Tatoeba")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "transfer")
    options = parser.parse_args()
    runs = options.runs.absolute() / options.static
    runs.mkdir(parents=True, exist_ok=True)
    head = partial(heads, sentences=options.sentences)
    roots = {
        "flores": head(DATA / "flores200" / "dev", runs / f"flores-{options.sentences}"),
        "tatoeba": head(DATA / "tatoeba", runs / f"tatoeba-{options.sentences}"),
        "sts": DATA / "sts17",
    } | ({"clsd": CLSD} if options.clsd else {})
    evaluators = {}
    for name, root in roots.items():
        chosen = [f"evaluator={name}", f"evaluator.root={root}", "run_dir=none"]
        evaluators[name] = build(load_config("evaluate", chosen)["evaluator"], "evaluator")
        evaluators[name].check()
    sentences = {name: evaluator.sentences() for name, evaluator in evaluators.items()}
    texts = list(dict.fromkeys(text for part in sentences.values() for text in part))
    rows_of = {text: row for row, text in enumerate(texts)}
    static = vectors(f"{options.static}-{len(texts)}", options.static, texts, runs)
    for row in options.rows.split(","):
        folder = trained(row, options.pairs, options.static, runs)
        student = vectors(f"{folder.name}-{len(texts)}", folder, texts, runs)
        for weight in WEIGHTS:
            both = torch.cat([weight**0.5 * static, (1 - weight) ** 0.5 * student], dim=1)
            cells = []
            for name, evaluator in evaluators.items():
                chosen_rows = [rows_of[text] for text in sentences[name]]
                cells += [
                    f"{metric.removeprefix('/')} {value:.2f}"
                    for metric, value in evaluator.score(both[chosen_rows]).metrics.items()
                    if SCORES[name] in metric
                ]
            print(f"{folder.name} w={weight}: " + "; ".join(cells), flush=True)


if __name__ == "__main__":
    main()
