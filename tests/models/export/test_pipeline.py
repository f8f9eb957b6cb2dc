"""Folders of built-in modules give what the encoder gives, whichever sentence-transformers is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.models.small import WORDS, small_encoder
from xsent.models.disentangled import DisentangledEncoder
from xsent.models.export.pipeline import Pipeline, expected_vectors, limits_of, pipeline_of, size_of, write_pipeline
from xsent.models.heads import DisentanglingHeads
from xsent.models.sentence_encoder import SentenceEncoder
from xsent.models.static_characters import StaticCharacterEncoder
from xsent.models.static_encoder import StaticEncoder

sentence_transformers = pytest.importorskip("sentence_transformers")

TEXTS = [
    " ".join(f"w{(7 * i + j * j) % WORDS}" for j in range(length)) for i, length in enumerate([1, 2, 5, 11, 29, 60])
] + ["", "  ", "nothing known", "w1\u2028w2"]


def trained_small(architecture: str = "Bert", **options: Any) -> SentenceEncoder:
    encoder = small_encoder(architecture, **options).eval()
    assert isinstance(encoder, SentenceEncoder)
    return encoder


def check(pipeline: Pipeline, folder: Path) -> Any:
    """Write, load, compare; the loaded model."""
    folder.mkdir()
    write_pipeline(pipeline, folder)
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = expected_vectors(pipeline, TEXTS)
    assert not expected.undefined
    assert expected.vectors.shape == (len(TEXTS), size_of(pipeline))
    for size in (1, 3, len(TEXTS)):
        found = model.encode(TEXTS, batch_size=size, convert_to_tensor=True, show_progress_bar=False)
        torch.testing.assert_close(found, expected.vectors, rtol=0, atol=1e-5, msg=sentence_transformers.__version__)
    return model


# ---- what a folder can hold


@pytest.mark.parametrize("pooling", [["mean"], ["cls"], ["max"], ["cls", "max", "mean"], ["pooler"]])
@pytest.mark.parametrize("normalize", [True, False])
def test_every_pooling_is_a_built_in_one(pooling: list[str], normalize: bool, tmp_path: Path) -> None:
    small = small_encoder()
    from transformers import BertModel

    torch.manual_seed(1)
    encoder = SentenceEncoder(
        name="small", transformer=BertModel(small.transformer.config).eval(), tokenizer=small.tokenizer,
        pooling=pooling, projection=nn.Sequential(), prompt="", max_length=12, normalize=normalize,
    ).eval()  # fmt: skip
    check(pipeline_of(encoder, space="original"), tmp_path / "out")


@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "MPNet", "DistilBert"])
def test_every_architecture_keeps_its_vectors(architecture: str, tmp_path: Path) -> None:
    encoder = trained_small(architecture)
    check(pipeline_of(encoder, space="original"), tmp_path / "out")


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_a_projection_before_pooling_is_a_dense_of_tokens_and_is_read_back(pooling: str, tmp_path: Path) -> None:
    encoder = trained_small()
    encoder.project_tokens(6, pooling=pooling, seed=3)
    check(pipeline_of(encoder, space="original"), tmp_path / "out")
    read = SentenceEncoder.load(
        name="read", path=str(tmp_path / "out"), revision=None, pooling=None, projection=None, prompt=None,
        max_length=None, normalize=None, trust_remote_code=False,
    )  # fmt: skip
    assert read.token_projection is not None
    assert (read.dim, read.pooling, read.normalize) == (6, (pooling,), False)
    assert torch.equal(read.token_projection.weight, encoder.token_projection.weight)  # type: ignore[union-attr]
    torch.testing.assert_close(read.encode(TEXTS), encoder.encode(TEXTS), rtol=0, atol=1e-6)


def test_a_prompt_and_a_projection_after_pooling_are_kept(tmp_path: Path) -> None:
    torch.manual_seed(2)
    encoder = trained_small()
    encoder.prompt = "w3 w4 "
    encoder.projection = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 5))
    encoder.dim = 5
    model = check(pipeline_of(encoder, space="original"), tmp_path / "out")
    assert model.prompts["default"] == "w3 w4 "


def test_weights_in_half_precision_are_written_in_full(tmp_path: Path) -> None:
    encoder = trained_small()
    rounded = encoder.to(torch.bfloat16)
    (tmp_path / "out").mkdir()
    write_pipeline(pipeline_of(rounded, space="original"), tmp_path / "out")
    from safetensors.torch import load_file

    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert {value.dtype for value in weights.values()} == {torch.float32}
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == "float32"


def test_the_static_encoder_is_a_static_embedding(tmp_path: Path) -> None:
    pipeline = pipeline_of(StaticEncoder.load(name="mini", path=None), space="original")
    model = check(pipeline, tmp_path / "out")
    assert not model.encode([""]).any()


@pytest.mark.parametrize("hidden", [[], [12, 20]])
@pytest.mark.parametrize("space", ["meaning", "language"])
def test_a_head_follows_the_vectors_of_length_one(space: str, hidden: list[int], tmp_path: Path) -> None:
    torch.manual_seed(4)
    encoder = trained_small()
    embedder = DisentangledEncoder(encoder, DisentanglingHeads(encoder.dim, hidden).eval())
    pipeline = pipeline_of(embedder, space=space)
    model = check(pipeline, tmp_path / "out")
    found = model.encode(TEXTS[:5], convert_to_tensor=True)
    torch.testing.assert_close(found, embedder.encode(TEXTS[:5], space=space), rtol=0, atol=1e-5)


def test_a_folder_holds_tensors_and_text_alone(tmp_path: Path) -> None:
    check(pipeline_of(trained_small(), space="original"), tmp_path / "out")
    kinds = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert kinds <= {".json", ".safetensors", ".txt"}
    types = [module["type"] for module in json.loads((tmp_path / "out" / "modules.json").read_text())]
    assert all(name.startswith("sentence_transformers.models.") for name in types)


# ---- what none can hold


def test_prepared_text_is_refused_with_the_reason() -> None:
    encoder = trained_small()
    encoder.preprocess_as("laser")
    with pytest.raises(ValueError, match=r"SentenceEncoder small: .*preprocessing=laser.*recipe\.preprocessing=none"):
        pipeline_of(encoder, space="original")


def test_an_encoder_with_code_of_its_own_is_refused_by_its_class() -> None:
    encoder = StaticCharacterEncoder(name="chars", dim=4, sizes=[3], buckets=50, max_length=20, std=1.0, seed=0)
    with pytest.raises(ValueError, match="StaticCharacterEncoder: its n-grams of characters are hashed"):
        pipeline_of(encoder, space="original")


def test_a_language_head_of_an_encoder_without_heads_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no language head"):
        pipeline_of(trained_small(), space="language")


def test_a_projection_that_is_no_dense_module_is_refused() -> None:
    encoder = trained_small()
    encoder.projection = nn.Sequential(nn.Linear(16, 16), nn.Softplus())
    with pytest.raises(ValueError, match="its projection has more than linear layers"):
        pipeline_of(encoder, space="original")


def test_limits_name_what_differs() -> None:
    encoder = trained_small()
    said = " ".join(limits_of(pipeline_of(encoder, space="original")))
    assert "cut after 32 tokens" in said
    assert "xsent gives it the zero vector" in said
    mini = pipeline_of(StaticEncoder.load(name="mini", path=None), space="original")
    assert "order of words plays no part" in " ".join(limits_of(mini))


def test_texts_that_no_module_gives_a_vector_are_named() -> None:
    encoder = trained_small()
    plain = encoder.tokenizer
    plain.backend_tokenizer.post_processor = None  # no special tokens
    bare = SentenceEncoder(
        name="bare", transformer=encoder.transformer, tokenizer=plain, pooling=["mean"], projection=nn.Sequential(),
        prompt="", max_length=12, normalize=True,
    ).eval()  # fmt: skip
    pipeline = pipeline_of(bare, space="original")
    assert expected_vectors(pipeline, ["w1", "", "w2", " "]).undefined == [1, 3]
    assert "has no vector in sentence-transformers" in " ".join(limits_of(pipeline))
