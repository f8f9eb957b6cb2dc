"""Heads on a frozen encoder: how often the encoder runs."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xsent.data.readers.tatoeba import TestBitext
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.evaluation.similarity.alignment_uniformity import AlignmentUniformityEvaluator
from xsent.run import load_config
from xsent.run.config.build import build_recipe


class CountingEncoder:
    """Embeds a text by its length, and records the texts of each call."""

    name, dim = "counting", 2

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def digest(self) -> str:
        return "counting"

    def encode(self, sentences: Sequence[str], *, show_progress: bool = False, out: Path | None = None) -> Tensor:
        self.calls.append(list(sentences))
        vectors = torch.tensor([[1.0, len(text)] for text in sentences])
        if out is not None:
            np.save(out, vectors.numpy())
        return vectors


def test_a_frozen_encoder_encodes_held_out_sentences_once_for_all_validations(tmp_path: Path) -> None:
    bitext = TestBitext("deu-eng", "deu", "eng", ["eins", "zwei"], ["one", "three"])
    evaluator = AlignmentUniformityEvaluator(
        name="toy", root=None, languages=None, read=lambda root, languages: [bitext], missing="error", alpha=2, t=2
    )
    encoder = CountingEncoder()
    data: Any = SimpleNamespace(language_codes=["deu", "eng"], embed=lambda encoder, store: None)
    config = load_config("train", ["recipe=dream", f"run_dir={tmp_path}"])
    scores = []
    for _ in range(2):  # a second run on the same files encodes nothing either
        recipe = build_recipe(config, encoder)
        recipe.prepare(data, EmbeddingStore(tmp_path))
        for bias in (0.0, 5.0):
            torch.nn.init.constant_(recipe.heads.meaning.bias, bias)
            scores.append(recipe.evaluation(evaluator, sharded=True).metrics)
    assert encoder.calls == [evaluator.sentences()]
    original, meaning = ({row[f"toy/{space}/deu/align"] for row in scores} for space in ("original", "meaning"))
    assert len(original) == 1
    assert len(meaning) == 4  # the heads are applied at every validation
