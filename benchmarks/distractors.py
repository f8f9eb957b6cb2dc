"""Do distractors of rules and the released ones put encoders in the same order? The figures of docs/distractors.md.

    python -m benchmarks.distractors [--items 600] [--transformers minilm] [--resamples 2000] [--runs FOLDER]

Both kinds of distractors belong to the same texts of CLSD WMT19: the items that have both in both languages, or a
sample of ``--items`` of them. P@1 of each encoder is printed for both, with Spearman's rank correlation over the
encoders and its 95 % interval over the items: a resampled item keeps the outcomes of all encoders on both. Then the
pairs of encoders whose difference is beyond its interval with both kinds: how many, and which have opposite signs.
Transformers take minutes; ``--transformers`` without names leaves them out. The data lie under ``XSENT_DATA``. Files,
encoders and vectors in ``--runs`` are used again.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.clsd import CLSD, ROOT, minilm
from benchmarks.transfer import transplant
from xsent import load_encoder
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.test_sets.clsd import ClsdSet, read_clsd
from xsent.evaluation.clsd.base import score_candidates
from xsent.evaluation.similarity.sts import spearman
from xsent.models.encoders.static import StaticEncoder
from xsent.quantization import dequantise, quantise
from xsent.run import load_config
from xsent.run.config.build import build
from xsent.similarity import unit

RELEASED = CLSD / "CLSD_wmt2019_adversarial_dataset.csv"
SEED = 42
STUDENT = 0.2  # share of the transplanted encoder in the cosine, side by side with the static one (docs/midi.md)
TRANSFORMERS = ("minilm", "transplanted")  # they take minutes
TAILS = (2.5, 97.5)  # percent
Sets = dict[str, ClsdSet]  # by direction, `deu-fra`
Outcomes = NDArray[np.bool_]  # (E encoders, N items): whether the translation is nearest


# ---- items


def read_items(runs: Path, size: int | None) -> tuple[Sets, Sets]:
    """The same items with released distractors and with those of rules."""
    made = runs / "wmt19.jsonl"
    if not made.exists():
        run_xsent("distract", str(RELEASED), "--again", "-o", str(made))
    released, rules = (
        {s.direction: s for s in read_clsd(str(path), None, distractors=None)} for path in (RELEASED, made)
    )
    common = sorted(set.intersection(*(set(items.ids) for items in (*released.values(), *rules.values()))), key=int)
    print(f"{len(common):,} of {len(next(iter(released.values())).ids):,} texts have distractors of both kinds")
    if size is not None and size < len(common):
        common = [common[row] for row in sorted(np.random.default_rng(SEED).permutation(len(common))[:size])]
    chosen = tuple({name: select(items, common) for name, items in sets.items()} for sets in (released, rules))
    for name, items in chosen[0].items():
        if (items.source, items.target) != (chosen[1][name].source, chosen[1][name].target):
            raise SystemExit(f"{made}: its texts are not those of {RELEASED.name}; delete it")
    return chosen[0], chosen[1]


def run_xsent(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "xsent.cli", *arguments], check=True)


def select(items: ClsdSet, ids: list[str]) -> ClsdSet:
    """Items by id."""
    row_of = {item: row for row, item in enumerate(items.ids)}
    columns: dict[str, Any] = {
        name: [getattr(items, name)[row_of[item]] for item in ids]
        for name in ("ids", "source", "target", "distractors")
    }
    return replace(items, **columns)


def candidates(items: ClsdSet) -> list[list[str]]:
    """The translations, then each item's first distractor, second distractor etc."""
    return [items.target, *map(list, zip(*items.distractors, strict=True))]


# ---- encoders


def all_vectors(texts: list[str], runs: Path, transformers: Sequence[str]) -> dict[str, Tensor]:
    """Vectors (N, D) of the texts by every encoder."""
    store = EmbeddingStore(runs / "cache")
    static = runs / "distilled"
    if not static.exists():
        run_xsent("distill-static", str(minilm()), "-o", str(static))
    mini = load_encoder("mini")
    assert isinstance(mini, StaticEncoder)
    assert mini.tokenizer is not None
    drawn = torch.randn(mini.vectors.shape, generator=torch.Generator().manual_seed(SEED))
    random = StaticEncoder.from_vectors(mini.tokenizer, drawn, name="random", max_length=mini.max_length)
    characters = load_config("mine", ["encoder=static_characters", f"encoder.seed={SEED}"])["encoder"]
    encoders: dict[str, Any] = {
        "mini": mini,
        "micro": load_encoder("micro"),
        "MiniLM, distilled": load_encoder(static),
        "mini's pieces, random vectors": random,
        "character n-grams, random vectors": build(characters, "encoder"),
    }
    if "minilm" in transformers:
        encoders["MiniLM"] = load_encoder(minilm())
    if "transplanted" in transformers:
        encoders["MiniLM, transplanted"] = load_encoder(transplant(runs / "transplanted", "mini", None))
    vectors = {}
    for name, encoder in encoders.items():
        start = time.perf_counter()
        vectors[name] = unit(torch.from_numpy(np.array(store.vectors(texts, encoder))))
        print(f"  {name}: {time.perf_counter() - start:.0f} s", flush=True)
    for name, dims in (("mini", (128, 64, 32)), ("micro", (64,))):
        for dim in dims:
            vectors[f"{name}, {dim} dimensions"] = unit(vectors[name][:, :dim])
    for name in ("mini", "micro"):
        vectors[f"{name}, binary"] = dequantise(torch.from_numpy(quantise(vectors[name], "binary")))
    if "transplanted" in transformers:
        parts = (1 - STUDENT) ** 0.5 * vectors["mini"], STUDENT**0.5 * vectors["MiniLM, transplanted"]
        vectors["mini and transplanted MiniLM"] = torch.cat(parts, dim=1)
    return vectors


# ---- figures


def outcomes_of(items: ClsdSet, vectors: dict[str, Tensor], row_of: dict[str, int]) -> Outcomes:
    """Outcome of every item for each encoder."""
    source = torch.tensor([row_of[text] for text in items.source])
    columns = [torch.tensor([row_of[text] for text in column]) for column in candidates(items)]
    scores = (score_candidates(each[source], [each[column] for column in columns]) for each in vectors.values())
    return np.stack([score.right for score in scores])


def compare(names: list[str], released: Outcomes, rules: Outcomes, resamples: int) -> str:
    """Table and conclusions of one direction, or of both joined."""
    drawn = np.random.default_rng(SEED).multinomial(
        released.shape[1], np.full(released.shape[1], 1 / released.shape[1]), resamples
    )
    p = [100 * each.mean(axis=1) for each in (released, rules)]
    samples = [100 * drawn @ each.T / each.shape[1] for each in (released, rules)]  # (resamples, E)
    low, high = np.percentile([spearman(*both) for both in zip(*samples, strict=True)], TAILS)
    lines = [
        f"| {name} | {a:.1f} | {b:.1f} |" for name, a, b in sorted(zip(names, *p, strict=True), key=lambda row: -row[1])
    ]
    lines.append(f"Spearman over {len(names)} encoders: {spearman(*p):.3f} [{low:.3f}, {high:.3f}]")
    signs = [sign_of_differences(each) for each in samples]
    sure = [pair for pair in signs[0] if signs[0][pair] and signs[1][pair]]
    opposed = [pair for pair in sure if signs[0][pair] != signs[1][pair]]
    lines.append(
        f"{len(signs[0])} pairs: beyond the interval {sum(map(bool, signs[0].values()))} (released),"
        f" {sum(map(bool, signs[1].values()))} (rules), {len(sure)} (both), of which {len(opposed)} with opposite signs"
    )
    lines += [
        f"  released {p[0][i] - p[0][j]:+.1f}, rules {p[1][i] - p[1][j]:+.1f}: {names[i]} and {names[j]}"
        for i, j in opposed
    ]
    return "\n".join(lines)


def sign_of_differences(samples: NDArray[np.float64]) -> dict[tuple[int, int], int]:
    """Of each pair of encoders: the sign of the first's lead over the second, 0 where its interval includes 0."""
    signs = {}
    for i, j in combinations(range(samples.shape[1]), 2):
        low, high = np.percentile(samples[:, i] - samples[:, j], TAILS)
        signs[i, j] = int(low > 0) - int(high < 0)
    return signs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--items", type=int, default=None, help="a sample of this size")
    parser.add_argument(
        "--transformers", nargs="*", choices=TRANSFORMERS, default=TRANSFORMERS, help="none: static ones"
    )
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "distractors")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    released, rules = read_items(options.runs.absolute(), options.items)
    columns = [column for s in (*released.values(), *rules.values()) for column in (s.source, *candidates(s))]
    texts = list(dict.fromkeys(text for column in columns for text in column))
    print(f"{len(texts):,} texts, {torch.get_num_threads()} threads")
    vectors = all_vectors(texts, options.runs.absolute(), options.transformers)
    row_of = {text: row for row, text in enumerate(texts)}
    for name, items in released.items():
        both = [outcomes_of(each, vectors, row_of) for each in (items, rules[name])]
        print(f"\n{name}, {len(items.ids):,} items: P@1, released | rules")
        print(compare(list(vectors), both[0], both[1], options.resamples))


if __name__ == "__main__":
    main()
