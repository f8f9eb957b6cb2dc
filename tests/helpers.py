"""Small runs for tests: a toy bitext and a config composed as the command line does."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from xsent.run import register_resolvers

ROOT = Path(__file__).resolve().parent.parent
CONCEPTS = 60
FOUR_KINDS = ("subtree_deletion", "phrase_replacement", "generalization", "particularization")


def toy_bitext(folder: Path, pairs: int = 320) -> Path:
    """Three made-up languages: a concept's word in each is its number with the language's letter."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for lang in ("de", "fr", "es"):
        rows = []
        for _ in range(pairs):
            concepts = [rng.randrange(CONCEPTS) for _ in range(4)]
            rows.append(f"{_say('e', concepts)}\t{_say(lang[0], concepts)}\ttoy")
        (folder / f"en-{lang}.tsv").write_text("\n".join(rows) + "\n")
    return folder


def _say(letter: str, concepts: list[int]) -> str:
    return " ".join(letter + chr(97 + number // 10) + chr(107 + number % 10) for number in concepts)


def toy_labelled(folder: Path, groups: int = 250) -> Path:
    """Labelled pairs in one made-up language and another: the same concepts (1), or one of them another (0)."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["sentence1\tsentence2\tlabel"]
    for _ in range(groups):
        concepts = rng.sample(range(CONCEPTS), 4)
        other = [*concepts[:3], rng.choice([one for one in range(CONCEPTS) if one not in concepts])]
        anchor = _say("e", concepts)
        rows += [f"{anchor}\t{_say('d', concepts)}\t1", f"{anchor}\t{_say('d', other)}\t0"]
    (folder / "train.tsv").write_text("\n".join(rows) + "\n")
    return folder


def toy_sentences(folder: Path, sentences: int = 400) -> Path:
    """One file of clean sentences of a made-up language."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [_say("e", [rng.randrange(CONCEPTS) for _ in range(6)]) for _ in range(sentences)]
    (folder / "clean.txt").write_text("\n".join(rows) + "\n")
    return folder / "clean.txt"


def toy_divergences(path: Path, seeds: int = 160) -> Path:
    """Seeds and divergences of two made-up languages.

    A divergence has source words of another sort, the last ten concepts: two if it is a coarse one, else one.
    """
    from xsent.text.divergences.record import Divergence, to_json

    rng = random.Random(0)
    lines = []
    for number in range(seeds):
        source, target = ([rng.randrange(CONCEPTS - 10) for _ in range(5)] for _ in range(2))
        for kind in ("seed", *FOUR_KINDS):
            changed = 0 if kind == "seed" else 2 if kind in FOUR_KINDS[:2] else 1
            odd = [rng.randrange(CONCEPTS - 10, CONCEPTS) for _ in range(changed)]
            words, labels = _say("e", [*source[: 5 - changed], *odd]), ("O",) * (5 - changed) + ("CHA",) * changed
            record = Divergence(
                f"s{number}", kind, "source" if changed else "", tuple(words.split()),
                tuple(_say("f", target).split()), labels, ("O",) * 5, "", "toy",
            )  # fmt: skip
            lines.append(to_json(record))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def toy_bert(folder: Path) -> Path:
    """A small random BERT, dropout included, that knows the words of the toy languages; saved as transformers does."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = [_say(letter, [number]) for letter in "edfs" for number in range(CONCEPTS)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=32).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    # The usual standard deviation of 0.02 would make all sentences alike.
    BertModel(
        BertConfig(vocab_size=5 + len(words), max_position_embeddings=40, initializer_range=0.5, **size)
    ).save_pretrained(folder)
    return folder


def config(name: str, tmp_path: Path, *overrides: str) -> DictConfig:
    """Compose ``conf/<name>.yaml``; the run goes to ``tmp_path/run``, caches to ``tmp_path/cache``."""
    register_resolvers()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        cfg: DictConfig = compose(name, [f"run_dir={tmp_path / 'run'}", f"cache_dir={tmp_path / 'cache'}", *overrides])
    return cfg


def toy_overrides(root: Path, *more: str) -> list[str]:
    """A run on ``toy_bitext`` that takes seconds."""
    return [
        "data=bitext", f"data.root={root}", "data.global_batch_size=64", "data.valid_share=0.1",
        "data.test_share=0.1", "pictures=none", "logger=none", *more,
    ]  # fmt: skip


def tiny_static() -> list[str]:
    """A small static encoder, trained from scratch."""
    return ["encoder=static", "encoder.dim=32", "encoder.vocab_size=300", "recipe.tokenizer_sentences=500"]


def state_of(path: Path) -> dict[str, Any]:
    """The weights of a checkpoint."""
    from xsent.checkpoint import load_checkpoint

    state: dict[str, Any] = load_checkpoint(path)["state_dict"]
    return state


def train_as_command(overrides: Sequence[str]) -> None:
    """``python train.py`` in a process of its own, which may add others to itself."""
    done = subprocess.run(
        [sys.executable, "train.py", *overrides], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
