"""LoRA: the start, the update and its rank, what is trained, merging; invalid options are refused."""

import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.models.small import random_sentences, small_encoder
from tests.models.test_freezing import ARCHITECTURES, build, gradients, static
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.freezing import freeze, frozen_names
from xsent.models.gradient_cache import embed_chunked
from xsent.models.lora import ALL_LINEAR, Lora, merge_adapters, merged

pytest.importorskip("peft", reason="needs peft: pip install 'xsent[lora]'")

QUERY = "transformer.encoder.layer.1.attention.self.query"


def lora(rank: int | None = 2, alpha: float = 6.0, **options: Any) -> Lora:
    return Lora(
        **{"rank": rank, "alpha": alpha, "dropout": 0.0, "target_modules": ALL_LINEAR, "train_embeddings": False}
        | options
    )


def adapted(encoder: SentenceEncoder, **options: Any) -> SentenceEncoder:
    """The encoder with adapters as after training: B is not zero."""
    lora(**options).add_adapters(encoder)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1, generator=generator)
    return encoder


def vectors(encoder: SentenceEncoder) -> Tensor:
    return encoder.embed_ids(*random_sentences([5, 3, 9]))


def layers_with_adapters(encoder: SentenceEncoder) -> set[str]:
    return {name.partition(".lora_A")[0] for name, _ in encoder.named_parameters() if "lora_A" in name}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_training_starts_with_the_vectors_and_the_random_numbers_of_the_encoder(architecture: str) -> None:
    encoder: Any = build(architecture)
    torch.manual_seed(3)
    expected = vectors(encoder)  # with dropout
    torch.manual_seed(3)
    lora().add_adapters(encoder)
    assert torch.equal(vectors(encoder), expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_only_adapters_and_a_projection_are_trained(architecture: str) -> None:
    encoder: Any = build(architecture)
    encoder.projection.append(nn.Linear(16, 4))
    adapted(encoder)
    reached = gradients(encoder)
    assert reached == {name for name in encoder.state_dict() if "lora_" in name or name.startswith("projection.")}


def test_the_update_is_alpha_over_rank_times_b_a_and_has_the_rank_of_the_adapters() -> None:
    encoder = small_encoder()
    start = encoder.get_parameter(f"{QUERY}.weight").clone()
    adapted(encoder, rank=3, alpha=6.0)
    a, b = (encoder.get_parameter(f"{QUERY}.lora_{side}.default.weight") for side in "AB")
    assert (a.shape, b.shape) == ((3, 16), (16, 3))
    expected = start + 2.0 * b @ a
    merge_adapters(encoder)
    weight = encoder.get_parameter(f"{QUERY}.weight")
    torch.testing.assert_close(weight, expected, rtol=1e-6, atol=1e-6)
    assert torch.linalg.matrix_rank(weight - start, atol=1e-4) == 3


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_merged_weights_give_the_same_vectors_and_leave_no_trace_of_adapters(architecture: str) -> None:
    encoder: Any = adapted(build(architecture).eval())  # type: ignore[arg-type]
    expected, start = vectors(encoder), vectors(build(architecture).eval())  # type: ignore[arg-type]
    plain: Any = merged(encoder)
    torch.testing.assert_close(vectors(plain), expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(expected, start, atol=1e-2)
    assert plain.state_dict().keys() == build(architecture).state_dict().keys()
    assert not hasattr(plain.transformer, "peft_config")
    assert torch.equal(vectors(encoder), expected)  # the original keeps its adapters
    assert merged(plain) is plain


def test_gradient_caching_gives_the_gradients_of_the_adapters() -> None:
    ids, lengths = random_sentences([5, 3, 9, 4, 6])
    results = []
    for chunk_size in (2, None):
        encoder = adapted(small_encoder())
        embed_chunked(encoder, ids, lengths, chunk_size=chunk_size).pow(3).sum().backward()
        results.append({name: value.grad for name, value in encoder.named_parameters() if value.requires_grad})
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)


def test_target_modules_are_named_by_the_ends_of_their_names() -> None:
    encoder = small_encoder()
    lora(target_modules=["query", "attention.output.dense"]).add_adapters(encoder)
    layers = range(3)
    assert layers_with_adapters(encoder) == {
        *(f"transformer.encoder.layer.{number}.attention.self.query" for number in layers),
        *(f"transformer.encoder.layer.{number}.attention.output.dense" for number in layers),
    }


def test_frozen_layers_get_no_adapters() -> None:
    encoder = small_encoder()
    freeze(encoder, embeddings="none", layers=2)
    lora().add_adapters(encoder)
    names = layers_with_adapters(encoder)
    assert len(names) == 6
    assert all(name.startswith("transformer.encoder.layer.2.") for name in names)


def test_word_embeddings_are_trained_beside_the_adapters_on_request() -> None:
    encoder = adapted(small_encoder(), train_embeddings=True)
    reached = gradients(encoder)
    assert {name for name in reached if "lora_" not in name} == {"transformer.embeddings.word_embeddings.weight"}
    frozen = small_encoder()
    freeze(frozen, embeddings="word", layers=0)
    with pytest.raises(ValueError, match=r"recipe\.lora\.train_embeddings trains .*, and recipe\.freeze freezes them"):
        lora(train_embeddings=True).add_adapters(frozen)


def test_without_a_rank_nothing_changes() -> None:
    for encoder in (small_encoder(), static()):
        lora(rank=None).add_adapters(encoder)
        assert all(parameter.requires_grad for parameter in encoder.parameters())
        assert merged(encoder) is encoder


# ---- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, r"recipe\.lora\.rank=0: expected 1 or more, or null"),
        ({"alpha": 0}, r"recipe\.lora\.alpha=0: expected a number above 0"),
        ({"dropout": 1.0}, r"recipe\.lora\.dropout=1\.0: expected 0 or more, below 1"),
        ({"target_modules": "query"}, r"recipe\.lora\.target_modules=query: expected all-linear, or a list"),
        ({"target_modules": []}, r"recipe\.lora\.target_modules=\[\]: expected all-linear, or a list"),
    ],
)
def test_a_value_outside_its_range_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lora(**options)


def test_missing_layers_and_encoders_without_any_are_named_and_nothing_changes() -> None:
    encoder = small_encoder()
    message = r"BertModel of encoder small has no linear layer q_proj; expected all-linear or some of dense, key, query"
    with pytest.raises(ValueError, match=message):
        lora(target_modules=["query", "q_proj"]).add_adapters(encoder)
    assert layers_with_adapters(encoder) == frozen_names(encoder) == set()
    with pytest.raises(ValueError, match=r"recipe\.lora\.rank=2: encoder static is no transformer.*encoder=mbert"):
        lora().add_adapters(static())
    with pytest.raises(ValueError, match=r"recipe\.lora\.rank=17: expected at most 16, the rank of layer encoder\."):
        lora(rank=17).add_adapters(encoder)
    encoder.projection.append(nn.Linear(16, 4))
    freeze(encoder, embeddings="none", layers=3)
    with pytest.raises(ValueError, match=r"recipe\.freeze\.layers: no layer of recipe\.lora\.target_modules"):
        lora().add_adapters(encoder)


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ImportError, match=r"recipe\.lora needs peft: pip install 'xsent\[lora\]'"):
        lora().add_adapters(small_encoder())
