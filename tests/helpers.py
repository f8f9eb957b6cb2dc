"""Toy data, toy encoders and configs for small runs in tests."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from xsent.run import register_resolvers

ROOT = Path(__file__).resolve().parent.parent
CONCEPTS = 60
FOUR_KINDS = ("subtree_deletion", "phrase_replacement", "generalization", "particularization")


def existing(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"no {path}")
    return path


def write_nl_augmenter(folder: Path) -> None:
    """A small folder with every file of NL-Augmenter that the noise reads."""
    files = {
        "abbreviation_transformation/phrase_abbrev_dict.json": json.dumps({"see you": "cu"}),
        "abbreviation_transformation/word_abbrev_dict.json": json.dumps({"you": "u"}),
        "insert_abbreviation/replacement_rules_en.txt": "# comment\ncu  = see you\n\n",
        "replace_abbreviation_and_acronyms/abbreviations.txt": "HR:Human resources\n",
        "dyslexia_words_swap/data.json": json.dumps({"similar": {"of": "off"}}),
        "replace_spelling/spell_errors.json": json.dumps({"the": ["teh"]}),
        "slangificator/Slang_Nouns.txt": "man,bloke,blokes\r\n",
        "slangificator/Slang_Adjectives.txt": "tired,zonked\n",
        "slangificator/Slang_Adverbs.txt": "totally,totes",
        "weekday_month_abbreviation/weekday_month_abb_en.json": json.dumps({"Monday": "Mon."}),
        "weekday_month_abbreviation/weekday_month_exp_en.json": json.dumps({"Mon.": "Monday"}),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")


def toy_bitext(folder: Path, pairs: int = 320) -> Path:
    """Bitext of three made-up languages, whose words correspond one to one."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for lang in ("de", "fr", "es"):
        rows = []
        for _ in range(pairs):
            concepts = [rng.randrange(CONCEPTS) for _ in range(4)]
            rows.append(f"{toy_words('e', concepts)}\t{toy_words(lang[0], concepts)}\ttoy")
        (folder / f"en-{lang}.tsv").write_text("\n".join(rows) + "\n")
    return folder


def toy_words(letter: str, concepts: list[int]) -> str:
    return " ".join(letter + chr(97 + number // 10) + chr(107 + number % 10) for number in concepts)


def toy_labelled(folder: Path, groups: int = 250) -> Path:
    """Labelled pairs of two made-up languages: equal concepts (1) or one of four different (0)."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["sentence1\tsentence2\tlabel"]
    for _ in range(groups):
        concepts = rng.sample(range(CONCEPTS), 4)
        different = [*concepts[:3], rng.choice([concept for concept in range(CONCEPTS) if concept not in concepts])]
        anchor = toy_words("e", concepts)
        rows += [f"{anchor}\t{toy_words('d', concepts)}\t1", f"{anchor}\t{toy_words('d', different)}\t0"]
    (folder / "train.tsv").write_text("\n".join(rows) + "\n")
    return folder


def toy_sentences(folder: Path, sentences: int = 400) -> Path:
    """One file of clean sentences of a made-up language."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [toy_words("e", [rng.randrange(CONCEPTS) for _ in range(6)]) for _ in range(sentences)]
    (folder / "clean.txt").write_text("\n".join(rows) + "\n")
    return folder / "clean.txt"


def toy_divergences(path: Path, seeds: int = 160) -> Path:
    """Seeds and divergences of two made-up languages.

    Only divergences contain the last ten concepts, in the source: two in coarse divergences, one in fine ones.
    """
    from xsent.text.divergences.json_format import Divergence, to_json

    rng = random.Random(0)
    lines = []
    for number in range(seeds):
        source, target = ([rng.randrange(CONCEPTS - 10) for _ in range(5)] for _ in range(2))
        for kind in ("seed", *FOUR_KINDS):
            changed = 0 if kind == "seed" else 2 if kind in FOUR_KINDS[:2] else 1
            odd = [rng.randrange(CONCEPTS - 10, CONCEPTS) for _ in range(changed)]
            words, labels = toy_words("e", [*source[: 5 - changed], *odd]), ("O",) * (5 - changed) + ("CHA",) * changed
            record = Divergence(
                f"s{number}",
                kind,
                "source" if changed else "",
                tuple(words.split()),
                tuple(toy_words("f", target).split()),
                labels,
                ("O",) * 5,
                "",
                "toy",
            )
            lines.append(to_json(record))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def toy_bert(folder: Path) -> Path:
    """A small random BERT, dropout included, that knows the words of the toy languages; saved as transformers does."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = [toy_words(letter, [number]) for letter in "edfs" for number in range(CONCEPTS)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=32).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    # With the usual standard deviation of 0.02 all sentences would have almost the same vector.
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


def toy_overrides(root: Path, *overrides: str) -> list[str]:
    """Options of a run on ``toy_bitext`` that takes seconds."""
    return [
        "data=bitext",
        f"data.root={root}",
        "data.global_batch_size=64",
        "data.valid_share=0.1",
        "data.test_share=0.1",
        "pictures.pairs_per_language=0",
        "logger=none",
        *overrides,
    ]


def tiny_static() -> list[str]:
    """Options of a small static encoder, trained from scratch."""
    return ["encoder=static", "encoder.dim=32", "encoder.vocab_size=300", "recipe.tokenizer_sentences=500"]


def state_of(path: Path) -> dict[str, Any]:
    """The weights of a checkpoint."""
    from xsent.checkpoint import load_checkpoint

    state: dict[str, Any] = load_checkpoint(path)["state_dict"]
    return state


def train_as_command(overrides: Sequence[str]) -> None:
    """Run ``python train.py`` in a new process, which may start further ones."""
    process = subprocess.run(
        [sys.executable, "train.py", *overrides],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.returncode == 0, process.stderr[-3000:]
