"""Frozen parts get no gradient and no dropout, have names and a digest; what cannot be frozen is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.models.small import random_sentences, small_encoder
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.laser import LaserEncoder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.freezing import freeze, frozen_digest, frozen_names

MODERN = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
DISTIL = {"dim": 16, "n_layers": 3, "n_heads": 2, "hidden_dim": 24}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {  # where the blocks are, what the config needs
    "Bert": ("encoder.layer", {}),
    "Roberta": ("encoder.layer", {}),
    "XLMRoberta": ("encoder.layer", {}),
    "MPNet": ("encoder.layer", {}),
    "ModernBert": ("layers", MODERN),
    "DistilBert": ("transformer.layer", DISTIL),
}


def build(architecture: str) -> Encoder:
    return small_encoder(architecture, dropout=0.2, **ARCHITECTURES[architecture][1])


def gradients(encoder: Encoder) -> set[str]:
    """Names of the weights that a backward pass reaches."""
    encoder.embed_ids(*random_sentences([5, 3, 5])).pow(3).sum().backward()
    return {name for name, parameter in encoder.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_encoder_aligner_are_one_table_and_the_rest_is_trained(architecture: str) -> None:
    encoder = build(architecture)
    reached = gradients(build(architecture))
    freeze(encoder, embeddings="word", layers=0)
    (name,) = frozen_names(encoder)
    assert encoder.state_dict()[name].data_ptr() == encoder.word_vectors.data_ptr()
    assert len(encoder.word_vectors) == 45
    assert gradients(encoder) == reached - {name}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_all_embeddings_are_whatever_lies_outside_of_the_blocks_before_them(architecture: str) -> None:
    encoder = build(architecture)
    freeze(encoder, embeddings="all", layers=0)
    frozen = frozen_names(encoder)
    shared = {"transformer.encoder.relative_attention_bias.weight"} if architecture == "MPNet" else set()
    before = {name for name in encoder.state_dict() if name.startswith("transformer.embeddings.")}
    assert frozen == {name for name in before | shared if not name.endswith("_ids")}
    assert not frozen & gradients(encoder)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("embeddings", ["none", "word", "all"])
def test_frozen_layers_freeze_all_embeddings_below_them(architecture: str, embeddings: str) -> None:
    encoder, only_embeddings = build(architecture), build(architecture)
    freeze(only_embeddings, embeddings="all", layers=0)
    freeze(encoder, embeddings=embeddings, layers=2)
    start = f"transformer.{ARCHITECTURES[architecture][0]}."
    blocks = {name for name in encoder.state_dict() if name.startswith((start + "0.", start + "1."))}
    assert len(blocks) > 10
    assert frozen_names(encoder) == frozen_names(only_embeddings) | blocks
    reached = gradients(encoder)
    assert any(name.startswith(start + "2.") for name in reached)
    assert not frozen_names(encoder) & reached


def test_frozen_modules_stay_in_evaluation_mode() -> None:
    encoder = build("Bert")
    freeze(encoder, embeddings="all", layers=1)
    recipe = nn.ModuleDict({"encoder": encoder})
    blocks = encoder.transformer.encoder.layer
    for _ in range(2):
        recipe.train()
        assert encoder.training
        assert not any(
            module.training for part in (encoder.transformer.embeddings, blocks[0]) for module in part.modules()
        )
        assert all(module.training for block in blocks[1:] for module in block.modules())
        recipe.eval()
        assert not any(module.training for module in encoder.modules())
    recipe.train()
    with encoder.eval_mode():
        assert not any(module.training for module in encoder.modules())
    assert blocks[1].training
    assert not blocks[0].training


def test_dropout_of_frozen_embeddings_is_off_and_that_of_free_ones_is_on() -> None:
    ids, lengths = random_sentences([5, 3])
    for embeddings, is_same in (("all", True), ("word", False)):
        encoder = build("Bert")
        freeze(encoder, embeddings=embeddings, layers=0)
        first, second = (encoder.transformer.embeddings(ids[None]) for _ in range(2))
        assert torch.equal(first, second) is is_same
        assert not torch.equal(encoder.embed_ids(ids, lengths), encoder.embed_ids(ids, lengths))  # of the blocks


def test_an_optimizer_with_weight_decay_leaves_frozen_weights_as_they_were() -> None:
    encoder = build("Bert")
    freeze(encoder, embeddings="word", layers=0)
    before, digest = encoder.word_vectors.clone(), frozen_digest(encoder)
    trained = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.1, weight_decay=0.5)
    gradients(encoder)
    full_digest = encoder.digest()
    optimizer.step()
    assert torch.equal(encoder.word_vectors, before)
    assert frozen_digest(encoder) == digest
    assert encoder.digest() != full_digest


def test_the_digest_covers_the_values_and_the_names_of_what_is_frozen() -> None:
    def digest(embeddings: str, layers: int = 0, changed: str | None = None) -> str:
        encoder = build("Bert")
        freeze(encoder, embeddings=embeddings, layers=layers)
        if changed is not None:
            with torch.no_grad():
                encoder.get_parameter(changed).view(-1)[3] += 1e-6
        return frozen_digest(encoder)

    table, weight = "transformer.embeddings.word_embeddings.weight", "transformer.encoder.layer.2.output.dense.weight"
    assert digest("word") == digest("word") == digest("word", changed=weight)
    assert len({digest("none"), digest("word"), digest("word", changed=table), digest("all"), digest("all", 1)}) == 5


def test_a_table_with_two_names_is_frozen_under_both() -> None:
    encoder = build("Bert")
    tied = nn.Linear(16, 45, bias=False)
    tied.weight = encoder.word_vectors
    encoder.projection.append(tied)
    freeze(encoder, embeddings="word", layers=0)
    assert frozen_names(encoder) == {"transformer.embeddings.word_embeddings.weight", "projection.0.weight"}
    assert frozen_names(encoder) <= encoder.state_dict().keys()


def test_nothing_is_frozen_when_nothing_is_asked() -> None:
    for encoder in (build("Bert"), tiny()):
        freeze(encoder, embeddings="none", layers=0)
        assert frozen_names(encoder) == set()
        assert all(parameter.requires_grad for parameter in encoder.parameters())


def test_all_layers_may_be_frozen_when_a_projection_is_left() -> None:
    encoder = build("Bert")
    encoder.projection.append(nn.Linear(16, 4))
    freeze(encoder, embeddings="word", layers=3)
    assert gradients(encoder) == {"projection.0.weight", "projection.0.bias"}


# ---- refusals


def tiny() -> Encoder:
    return TinyEncoder(name="tiny", dim=4, buckets=50, max_length=9, seed=0)


def static() -> Encoder:
    return StaticEncoder(
        name="static", dim=4, vocab_size=90, coverage=1.0, lowercase=True, max_length=9, std=0.1, seed=0
    )


def test_auto_freezes_word_vectors_unless_there_is_nothing_else() -> None:
    alone, deep = static(), build("Bert")
    freeze(alone, embeddings="auto", layers=0)
    assert frozen_names(alone) == set()
    freeze(deep, embeddings="auto", layers=0)
    expected = build("Bert")
    freeze(expected, embeddings="word", layers=0)
    assert frozen_names(deep) == frozen_names(expected) != set()


@pytest.mark.parametrize("embeddings", ["word", "all"])
@pytest.mark.parametrize("make", [tiny, static])
def test_an_encoder_of_word_vectors_only_cannot_have_them_frozen(make: Any, embeddings: str) -> None:
    encoder = make()
    with pytest.raises(ValueError, match=r"has only word embeddings.*recipe\.freeze\.embeddings=none"):
        freeze(encoder, embeddings=embeddings, layers=0)
    assert frozen_names(encoder) == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embeddings": "words", "layers": 0}, r"recipe\.freeze\.embeddings=words: expected one of none, word, all"),
        ({"embeddings": "word", "layers": -1}, r"recipe\.freeze\.layers=-1: expected 0 or more"),
        ({"embeddings": "word", "layers": 4}, r"recipe\.freeze\.layers=4: encoder small has 3 layers"),
        ({"embeddings": "word", "layers": 3}, r"recipe\.freeze\.layers=3: no parameter of encoder small would be left"),
    ],
)
def test_what_does_not_fit_is_named_and_changes_nothing(options: dict[str, Any], message: str) -> None:
    encoder = build("Bert")
    with pytest.raises(ValueError, match=message):
        freeze(encoder, **options)
    assert frozen_names(encoder) == set()
    assert all(module.training for module in encoder.modules())


def test_layers_are_refused_where_the_architecture_has_none_of_its_own() -> None:
    albert = small_encoder("Albert", embedding_size=8)
    with pytest.raises(ValueError, match=r"layers=1: no transformer blocks in AlbertModel of encoder small"):
        freeze(albert, embeddings="word", layers=1)
    freeze(albert, embeddings="word", layers=0)
    assert frozen_names(albert) == {"transformer.embeddings.word_embeddings.weight"}
    with pytest.raises(ValueError, match=r"layers=1: no transformer blocks in TinyEncoder of encoder tiny"):
        freeze(tiny(), embeddings="none", layers=1)


def test_the_piece_vectors_of_laser_are_frozen_and_its_lstm_is_trained(fixtures_dir: Path) -> None:
    folder = str(fixtures_dir / "laser2")
    encoder = LaserEncoder.load(name="laser2", path=folder, max_length=None, normalize=False).train()
    freeze(encoder, embeddings="word", layers=0)
    assert frozen_names(encoder) == {"embed_tokens.weight"}
    assert gradients(encoder) == {name for name, _ in encoder.named_parameters()} - {"embed_tokens.weight"}
