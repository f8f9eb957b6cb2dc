"""Exported folders of built-in modules give the vectors of the encoder."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.models.small import WORDS, load_encoder, small_encoder
from xsent.models.encoders.characters.static_characters import StaticCharacterEncoder
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import StaticEncoder
from xsent.models.export.pipeline import (
    Pipeline,
    build_pipeline,
    describe_limits,
    embedding_size,
    expected_vectors,
    write_pipeline,
)

sentence_transformers = pytest.importorskip("sentence_transformers")

TEXTS = [
    " ".join(f"w{(7 * i + j * j) % WORDS}" for j in range(length)) for i, length in enumerate([1, 2, 5, 11, 29, 60])
] + ["", "  ", "nothing known", "w1\u2028w2"]


def check(pipeline: Pipeline, folder: Path) -> Any:
    """Write, load and compare; return the loaded model."""
    folder.mkdir()
    write_pipeline(pipeline, folder)
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = expected_vectors(pipeline, TEXTS)
    assert not expected.undefined
    assert expected.vectors.shape == (len(TEXTS), embedding_size(pipeline))
    for size in (1, 3, len(TEXTS)):
        vectors = model.encode(TEXTS, batch_size=size, convert_to_tensor=True, show_progress_bar=False)
        torch.testing.assert_close(vectors, expected.vectors, rtol=0, atol=1e-5, msg=sentence_transformers.__version__)
    return model


# ---- supported encoders


@pytest.mark.parametrize("pooling", [["mean"], ["cls"], ["max"], ["cls", "max", "mean"], ["pooler"]])
@pytest.mark.parametrize("normalize", [True, False])
def test_every_pooling_is_exported(pooling: list[str], normalize: bool, tmp_path: Path) -> None:
    encoder = small_encoder(pooling=pooling, normalize=normalize).eval()
    check(build_pipeline(encoder, space="original"), tmp_path / "out")


@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "MPNet", "DistilBert"])
def test_every_architecture_keeps_its_vectors(architecture: str, tmp_path: Path) -> None:
    encoder = small_encoder(architecture).eval()
    check(build_pipeline(encoder, space="original"), tmp_path / "out")


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_a_projection_before_pooling_is_a_dense_of_tokens_and_is_read_back(pooling: str, tmp_path: Path) -> None:
    encoder = small_encoder().eval()
    encoder.project_tokens(6, pooling=pooling, seed=3)
    check(build_pipeline(encoder, space="original"), tmp_path / "out")
    read = load_encoder(tmp_path / "out")
    assert read.token_projection is not None
    assert (read.dim, read.pooling, read.normalize) == (6, (pooling,), False)
    assert torch.equal(read.token_projection.weight, encoder.token_projection.weight)  # type: ignore[union-attr]
    torch.testing.assert_close(read.encode(TEXTS), encoder.encode(TEXTS), rtol=0, atol=1e-6)


def test_a_prompt_and_a_projection_after_pooling_are_kept(tmp_path: Path) -> None:
    torch.manual_seed(2)
    encoder = small_encoder().eval()
    encoder.prompt = "w3 w4 "
    encoder.projection = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 5))
    encoder.dim = 5
    model = check(build_pipeline(encoder, space="original"), tmp_path / "out")
    assert model.prompts["default"] == "w3 w4 "


def test_weights_in_half_precision_are_written_in_full(tmp_path: Path) -> None:
    encoder = small_encoder().eval()
    rounded = encoder.to(torch.bfloat16)
    (tmp_path / "out").mkdir()
    write_pipeline(build_pipeline(rounded, space="original"), tmp_path / "out")
    from safetensors.torch import load_file

    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert {value.dtype for value in weights.values()} == {torch.float32}
    assert json.loads((tmp_path / "out" / "config.json").read_text())["dtype"] == "float32"


def test_the_static_encoder_is_a_static_embedding(tmp_path: Path) -> None:
    pipeline = build_pipeline(StaticEncoder.load(name="micro", path=None), space="original")
    model = check(pipeline, tmp_path / "out")
    assert not model.encode([""]).any()


@pytest.mark.parametrize("hidden", [[], [12, 20]])
@pytest.mark.parametrize("space", ["meaning", "language"])
def test_a_head_follows_the_vectors_of_length_one(space: str, hidden: list[int], tmp_path: Path) -> None:
    torch.manual_seed(4)
    encoder = small_encoder().eval()
    embedder = DisentangledEncoder(encoder, DisentanglingHeads(encoder.dim, hidden).eval())
    pipeline = build_pipeline(embedder, space=space)
    model = check(pipeline, tmp_path / "out")
    vectors = model.encode(TEXTS[:5], convert_to_tensor=True)
    torch.testing.assert_close(vectors, embedder.encode(TEXTS[:5], space=space), rtol=0, atol=1e-5)


def test_a_folder_has_only_tensors_and_text(tmp_path: Path) -> None:
    check(build_pipeline(small_encoder().eval(), space="original"), tmp_path / "out")
    kinds = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert kinds <= {".json", ".safetensors", ".txt"}
    types = [module["type"] for module in json.loads((tmp_path / "out" / "modules.json").read_text())]
    assert all(name.startswith("sentence_transformers.models.") for name in types)


# ---- refused encoders


def test_preprocessing_is_refused_with_the_reason() -> None:
    encoder = small_encoder().eval()
    encoder.set_preprocessing("laser")
    with pytest.raises(ValueError, match=r"SentenceEncoder small: .*preprocessing=laser.*recipe\.preprocessing=none"):
        build_pipeline(encoder, space="original")


def test_an_encoder_with_code_of_its_own_is_refused_by_its_class() -> None:
    encoder = StaticCharacterEncoder(name="chars", dim=4, sizes=[3], buckets=50, max_length=20, std=1.0, seed=0)
    with pytest.raises(ValueError, match="StaticCharacterEncoder: no tokenizer gives the ids of hashed"):
        build_pipeline(encoder, space="original")


def test_a_language_head_of_an_encoder_without_heads_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no language head"):
        build_pipeline(small_encoder().eval(), space="language")


def test_a_projection_that_is_no_dense_module_is_refused() -> None:
    encoder = small_encoder().eval()
    encoder.projection = nn.Sequential(nn.Linear(16, 16), nn.Softplus())
    with pytest.raises(ValueError, match="its projection has other layers than linear"):
        build_pipeline(encoder, space="original")


def test_limits_name_truncation_empty_text_and_word_order() -> None:
    encoder = small_encoder().eval()
    limits = " ".join(describe_limits(build_pipeline(encoder, space="original")))
    assert "truncated after 32 tokens" in limits
    assert "xsent gives it the zero vector" in limits
    micro = build_pipeline(StaticEncoder.load(name="micro", path=None), space="original")
    assert "word order does not matter" in " ".join(describe_limits(micro))


def test_texts_without_a_vector_in_the_modules_are_named() -> None:
    encoder = small_encoder().eval()
    encoder.tokenizer.backend_tokenizer.post_processor = None  # no special tokens
    encoder.empty_ids = encoder.prompted_ids([""])[0]
    pipeline = build_pipeline(encoder, space="original")
    assert expected_vectors(pipeline, ["w1", "", "w2", " "]).undefined == [1, 3]
    assert "has no vector (an error or NaN)" in " ".join(describe_limits(pipeline))
