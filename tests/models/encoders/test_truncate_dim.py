"""Truncated vectors of each kind of encoder are the first numbers of its vectors, also after saving and export."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import xsent
from tests.helpers import config, toy_bitext, toy_overrides
from tests.models.encoders.test_laser import load as load_laser
from tests.models.small import small_encoder
from xsent.config_checks import UsageError
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.characters.static_characters import StaticCharacterEncoder
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.embedder import SentenceEmbedder
from xsent.models.encoders.language_marking import LanguageMarkedEncoder
from xsent.models.encoders.sentence_transformers_folder import Normalize
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.export.pipeline import build_pipeline, write_pipeline
from xsent.run import build, train
from xsent.run.config.compose import plain
from xsent.similarity import unit

TEXTS = ["w1 w2 w3 a dog", "w7 ein Hund", "w9 w9 w2", ""]
DIM = 5


def tiny() -> TinyEncoder:
    return TinyEncoder(name="tiny", dim=16, buckets=64, max_length=32, seed=0)


def characters() -> StaticCharacterEncoder:
    return StaticCharacterEncoder(name="c", dim=16, sizes=[3], buckets=50, max_length=64, std=1.0, seed=1)


def projected() -> Encoder:
    encoder = small_encoder(normalize=False)
    encoder.projection.extend([nn.Linear(16, 12), nn.Tanh()])
    encoder.dim = 12
    return encoder


def folder_of(embedder: Any, folder: Path) -> Path:
    folder.mkdir()
    space = "meaning" if isinstance(embedder, DisentangledEncoder) else "original"
    write_pipeline(build_pipeline(embedder, space=space), folder)
    return folder


ENCODERS: dict[str, Callable[[], Encoder]] = {
    "random words": tiny,
    "characters": characters,
    "static": lambda: xsent.load_encoder("micro"),  # type: ignore[dict-item, return-value]
    "transformer": small_encoder,
    "transformer without normalisation": lambda: small_encoder(normalize=False),
    "transformer with a projection": projected,
}


def first_numbers(vectors: Tensor, *, normalize: bool) -> Tensor:
    return unit(vectors[:, :DIM]) if normalize else vectors[:, :DIM]


def check_truncation(embedder: Any, *, normalize: bool) -> None:
    full, digest = embedder.encode(TEXTS).clone(), embedder.digest()
    embedder.truncate_dim(DIM)
    assert embedder.dim == DIM
    torch.testing.assert_close(embedder.encode(TEXTS), first_numbers(full, normalize=normalize), rtol=1e-5, atol=1e-6)
    assert embedder.digest() != digest


@pytest.mark.parametrize("name", ENCODERS)
def test_vectors_are_the_first_numbers(name: str) -> None:
    encoder = ENCODERS[name]()
    check_truncation(encoder, normalize=encoder.normalize)
    assert encoder.normalize == (name not in ("transformer without normalisation", "transformer with a projection"))


@pytest.mark.parametrize("normalize", [True, False])
def test_laser_vectors_are_the_first_numbers(fixtures_dir: Path, normalize: bool) -> None:
    check_truncation(load_laser(fixtures_dir / "laser2", normalize=normalize), normalize=normalize)


@pytest.mark.parametrize("base", ["static", "transformer with a projection"])
def test_every_space_of_a_run_with_heads_is_truncated(base: str) -> None:
    encoder = ENCODERS[base]()
    run = DisentangledEncoder(encoder, DisentanglingHeads(encoder.dim, [4]))
    full, digest = run.embed(TEXTS), run.digest()
    run.truncate_dim(DIM)
    for space, vectors in run.embed(TEXTS).items():
        is_unit = space == "original" and encoder.normalize
        torch.testing.assert_close(vectors, first_numbers(full[space], normalize=is_unit), rtol=1e-5, atol=1e-6)
        assert torch.equal(run.encode(TEXTS, space=space), vectors)
    assert run.encode([]).shape == (0, DIM)
    assert run.digest() != digest


@pytest.mark.parametrize("name", ["static", "transformer", "transformer with a projection", "heads"])
def test_an_exported_folder_has_truncated_vectors_and_can_be_truncated(name: str, tmp_path: Path) -> None:
    embedder: Any = small_encoder() if name == "heads" else ENCODERS[name]()
    if name == "heads":
        embedder = DisentangledEncoder(embedder, DisentanglingHeads(embedder.dim, [4]))
    texts = TEXTS[:3]  # a folder has the zero vector of an empty text, a run the head's vector of zero
    full = xsent.load_encoder(folder_of(embedder, tmp_path / "full"), dim=DIM).encode(texts)
    embedder.truncate_dim(DIM)
    expected = embedder.encode(texts)
    torch.testing.assert_close(full, expected, rtol=1e-5, atol=1e-6)
    folder = folder_of(embedder, tmp_path / "truncated")
    torch.testing.assert_close(xsent.load_encoder(folder).encode(texts), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow  # imports sentence-transformers
def test_sentence_transformers_reads_a_truncated_transformer(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = small_encoder().eval()
    encoder.truncate_dim(DIM)
    model = SentenceTransformer(str(folder_of(encoder, tmp_path / "folder")), device="cpu")
    vectors = model.encode(TEXTS[:3], convert_to_tensor=True)
    torch.testing.assert_close(vectors, encoder.encode(TEXTS[:3]), rtol=1e-5, atol=1e-6)


def test_a_static_folder_with_other_modules_is_truncated_behind_them(tmp_path: Path) -> None:
    micro: Any = xsent.load_encoder("micro")
    torch.manual_seed(0)
    heads = DisentanglingHeads(micro.dim, [])
    folder = folder_of(DisentangledEncoder(micro, heads), tmp_path / "head")
    encoder: Any = xsent.load_encoder(folder)
    assert not encoder.normalize
    check_truncation(encoder, normalize=False)
    encoder = xsent.load_encoder(folder)
    encoder.layers.append(Normalize())
    encoder.normalize = True
    check_truncation(encoder, normalize=True)


@pytest.mark.parametrize("name", ["static", "transformer with a projection"])
def test_a_saved_encoder_has_the_truncated_vectors(name: str, tmp_path: Path) -> None:
    encoder = ENCODERS[name]()
    encoder.truncate_dim(DIM)
    encoder.save(tmp_path / "saved")
    loaded = xsent.load_encoder(tmp_path / "saved")
    torch.testing.assert_close(loaded.encode(TEXTS), encoder.encode(TEXTS), rtol=0, atol=1e-2)  # a table in 8 bits


def test_gradients_of_a_truncated_transformer_reach_its_weights() -> None:
    encoder = small_encoder()
    encoder.truncate_dim(DIM)
    encoder(encoder.collate(encoder.tokenize(TEXTS[:3])))[:, 0].sum().backward()
    assert all(parameter.requires_grad for parameter in encoder.parameters())
    gradient = encoder.word_vectors.grad
    assert gradient is not None
    assert gradient.any()


@pytest.mark.parametrize("dim", [0, 17, -1, 2.0, True])
def test_a_size_beyond_the_vectors_is_refused(dim: Any) -> None:
    embedders: list[SentenceEmbedder] = [tiny(), DisentangledEncoder(tiny(), DisentanglingHeads(16, []))]
    for embedder in embedders:
        with pytest.raises(UsageError, match=rf"^dim={dim}: expected 1 to 16, the size of the vectors of tiny$"):
            embedder.truncate_dim(dim)
    tiny().truncate_dim(16)


def test_marked_vectors_and_judges_cannot_be_truncated() -> None:
    with pytest.raises(ValueError, match="the vectors of LanguageMarkedEncoder cannot be truncated"):
        LanguageMarkedEncoder(name="marked", base=tiny(), alpha=0.5, seed=0).truncate_dim(4)
    from xsent.run.loading import bundled_judge

    with pytest.raises(UsageError, match=r"^dim=4: .* judges pairs and has no vectors to truncate$"):
        xsent.load_encoder(bundled_judge(), dim=4)


def test_a_projection_of_tokens_refuses_what_it_would_replace() -> None:
    encoder = small_encoder()
    encoder.truncate_dim(DIM)
    with pytest.raises(ValueError, match=r"^encoder\.dim=5: recipe\.projection gives the vectors the teacher's size"):
        encoder.project_tokens(8, pooling="mean", seed=0)


# ---- encoder.dim


def built(tmp_path: Path, *overrides: str) -> Any:
    return build(plain(config("evaluate", tmp_path, "evaluator.root=none", *overrides))["encoder"], "encoder")


def test_the_option_truncates_pretrained_encoders_and_is_the_size_of_new_ones(tmp_path: Path) -> None:
    full = built(tmp_path, "encoder=micro")
    assert "dim" not in plain(config("evaluate", tmp_path, "evaluator.root=none", "encoder=micro"))["encoder"]
    expected = unit(full.encode(TEXTS)[:, :DIM])
    torch.testing.assert_close(built(tmp_path, "encoder=micro", "encoder.dim=5").encode(TEXTS), expected)
    assert built(tmp_path, "encoder=static").dim == 256
    assert built(tmp_path, "encoder=tiny", "encoder.dim=5").vectors.shape == (4096, 5)
    marked = built(tmp_path, "encoder=micro", "encoder.dim=5", "encoder.language_marking=0.5")
    assert (marked.dim, marked.base.dim) == (5, 5)


@pytest.mark.parametrize("dim", ["0", "many", "257"])
def test_a_wrong_option_is_refused(tmp_path: Path, dim: str) -> None:
    with pytest.raises(UsageError, match=rf"dim={dim}: expected (1 to 256|an integer of at least 1)"):
        built(tmp_path, "encoder=micro", f"encoder.dim={dim}")


def test_a_run_trains_and_keeps_the_truncated_size(tmp_path: Path) -> None:
    options = "recipe=labse encoder=micro encoder.dim=5 recipe.matryoshka=[5,2] trainer.max_steps=2 evaluator=none"
    data = toy_bitext(tmp_path / "data", pairs=80)
    train(config("train", tmp_path, *toy_overrides(data, *options.split())))
    encoder: Any = xsent.load_encoder(tmp_path / "run")
    assert (encoder.dim, encoder.vectors.size(1)) == (5, 5)
    assert xsent.load_encoder(tmp_path / "run", dim=2).encode(TEXTS).shape == (4, 2)
