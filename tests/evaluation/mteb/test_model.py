"""Encoders as models of ``mteb``: protocol, metadata, cache."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from xsent.evaluation.mteb.local_tasks import with_script
from xsent.evaluation.mteb.model import CachedEncoding, MtebModel
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import StaticEncoder

pytest.importorskip("mteb", reason="mteb is not installed: pip install 'xsent[mteb]'")


@pytest.fixture(scope="module")
def micro() -> StaticEncoder:
    from xsent.run import build, load_config

    encoder: StaticEncoder = build(load_config("mine", ["encoder=micro"])["encoder"], "encoder")
    return encoder


def test_the_adapter_implements_the_encoder_protocol_of_mteb(micro: StaticEncoder) -> None:
    from mteb.models import EncoderProtocol

    model = MtebModel.of(micro, name="micro")
    assert isinstance(model, EncoderProtocol)
    vectors = model.encode([{"text": ["a dog", "a cat"]}, {"text": ["a house"]}], task_metadata=None, hf_split="test")
    expected = micro.encode(["a dog", "a cat", "a house"])
    assert torch.equal(torch.from_numpy(vectors), expected)
    matrix, pairs = model.similarity(vectors, vectors), model.similarity_pairwise(vectors, vectors)
    torch.testing.assert_close(pairs, torch.ones(3))
    torch.testing.assert_close(matrix.diagonal(), pairs)


def test_the_metadata_name_the_encoder(micro: StaticEncoder) -> None:
    about = MtebModel.of(micro, name="micro").mteb_model_meta
    assert (about.name, about.revision, about.embed_dim) == ("xsent/micro", micro.digest(), micro.dim)
    assert about.framework == ["PyTorch"]


def test_each_space_of_a_run_is_a_separate_model(micro: StaticEncoder) -> None:
    torch.manual_seed(0)
    run = DisentangledEncoder(micro, DisentanglingHeads(micro.dim, [8]))
    counts = {space: MtebModel.of(run, name="run", space=space).mteb_model_meta for space in (None, "original")}
    head = micro.dim * 8 + 8 + 8 * micro.dim + micro.dim
    assert counts[None].n_parameters - (counts["original"].n_parameters or 0) == head
    assert counts[None].embed_dim == micro.dim
    models = {space: MtebModel.of(run, name="run", space=space) for space in ("meaning", "language")}
    batch = [{"text": ["a dog", "ein Hund"]}]
    for space, model in models.items():
        assert np.array_equal(model.encode(batch), run.encode(batch[0]["text"], space=space).numpy())
    revisions = {model.mteb_model_meta.revision for model in models.values()}
    assert revisions == {f"{run.digest()}-meaning", f"{run.digest()}-language"}


def test_a_text_is_encoded_once() -> None:
    encoded: list[str] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        encoded.extend(texts)
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    encoding = CachedEncoding(encode)
    assert encoding(["a", "bb", "a"]).tolist() == [[1], [2], [1]]
    assert encoding(["ccc", "bb"]).tolist() == [[3], [2]]
    assert encoded == ["a", "bb", "ccc"]


@pytest.mark.parametrize(
    ("language", "name"), [("deu", "deu-Latn"), ("zho", "zho-Hans"), ("rus", "rus-Cyrl"), ("ara", "ara-Arab")]
)
def test_languages_have_their_most_frequent_script(language: str, name: str) -> None:
    assert with_script(language) == name
