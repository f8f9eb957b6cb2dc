"""Projection before pooling against the reference's figures and by properties, and text prepared as LASER's."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.models.small import random_sentences, small_encoder
from xsent.batch import Tokens
from xsent.models.encoders.laser_normalization import normalize_laser
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.gradient_cache import embed_chunked
from xsent.models.pooling import POOLING


def projected(pooling: str = "max", *, dim: int = 6, seed: int = 0) -> SentenceEncoder:
    encoder = small_encoder()
    encoder.project_tokens(dim, pooling=pooling, seed=seed)
    return encoder.eval()


def giving(rows: Tensor) -> SentenceEncoder:
    """A BERT without layers whose token embeddings are the rows of its table, nothing added."""
    encoder = small_encoder(hidden_size=rows.size(1), num_hidden_layers=0, num_attention_heads=1)
    embeddings = encoder.transformer.embeddings
    embeddings.LayerNorm = nn.Identity()
    with torch.no_grad():
        for table in (embeddings.word_embeddings, embeddings.position_embeddings, embeddings.token_type_embeddings):
            table.weight.zero_()
        encoder.word_vectors[: len(rows)] = rows
    return encoder.eval()


# ---- the reference's figures


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_token_embeddings_are_projected_and_then_pooled_as_in_the_reference(fixtures_dir: Path, pooling: str) -> None:
    case = json.loads((fixtures_dir / "rolaser.json").read_text())["pool_after_projection"]
    rows, weight = torch.tensor(case["hidden(T,d)"]), torch.tensor(case["projection_W(out,d)_no_bias"])
    mask = torch.tensor([case["token_mask(1=real incl. bos/eos)"]])
    assert mask.tolist() == [[1, 1, 1, 0, 0]]
    # Id 0 is the padding's: one of the fixture's padded rows.
    encoder = giving(rows[[3, 0, 1, 2]])
    encoder.project_tokens(len(weight), pooling=pooling, seed=0)
    assert encoder.token_projection is not None
    encoder.token_projection.weight.data = weight
    (vector,) = encoder(Tokens(torch.tensor([[1, 2, 3, 0, 0]]), mask))
    expected = {"max": "expected_max_over_real_tokens_of_projected", "mean": "expected_mean"}[pooling]
    torch.testing.assert_close(vector, torch.tensor(case[expected]), rtol=1e-5, atol=1e-6)
    for wrong in ("wrong_if_pooled_before_projection", "wrong_if_padding_set_to_zero"):
        assert not torch.allclose(vector, torch.tensor(case[wrong]), atol=1e-2)


# ---- properties


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_padding_never_changes_a_projected_vector(pooling: str) -> None:
    encoder = projected(pooling)
    with torch.no_grad():
        # So far below 0 that any padding would win a maximum, and pull a mean up.
        encoder.transformer.encoder.layer[-1].output.LayerNorm.bias.copy_(
            -9 * encoder.token_projection.weight.sum(dim=0).sign()  # type: ignore[union-attr]
        )
    ids, lengths = random_sentences([9, 2, 5])
    alone = [encoder.embed_ids(part, lengths[i : i + 1]) for i, part in enumerate(ids.split(lengths.tolist()))]
    tokens = encoder._pad(ids, lengths)
    wider = Tokens(*(torch.cat([side, torch.zeros(3, 4, dtype=torch.int64)], dim=1) for side in tokens))
    for vectors in (encoder.embed_ids(ids, lengths), encoder(tokens), encoder(wider)):
        torch.testing.assert_close(vectors, torch.cat(alone), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_beginning_and_end_take_part(pooling: str) -> None:
    encoder = projected(pooling)
    ids, lengths = random_sentences([4])
    hidden = encoder.transformer(input_ids=ids[None]).last_hidden_state  # (1, 4, 16)
    every = hidden @ encoder.token_projection.weight.T  # type: ignore[union-attr]
    expected = POOLING[pooling](every, torch.ones(1, 4))
    torch.testing.assert_close(encoder.embed_ids(ids, lengths), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_the_gradient_reaches_the_transformer_also_in_runs(pooling: str) -> None:
    ids, lengths = random_sentences([5, 3, 5, 2])
    gradients = []
    for at_once in (None, 2):
        encoder = projected(pooling)
        embed_chunked(encoder, ids, lengths, chunk_size=at_once).pow(3).sum().backward()
        assert all(parameter.grad is not None for parameter in encoder.parameters())
        gradients.append(encoder.word_vectors.grad)
    assert gradients[0] is not None
    assert gradients[0].abs().sum() > 0
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-5)


def test_the_first_weights_are_normal_with_a_standard_deviation_of_one_over_the_root_of_the_size() -> None:
    encoder = small_encoder(hidden_size=64)
    encoder.project_tokens(1024, pooling="max", seed=3)
    weight = encoder.state_dict()["token_projection.weight"]
    assert weight.shape == (1024, 64)
    # 65,536 draws: 1/8, with a standard error of 1/8 / sqrt(2 * 65,536) = 0.00035.
    assert float(weight.std()) == pytest.approx(1 / 8, abs=0.0015)
    assert float(weight.mean()) == pytest.approx(0, abs=0.002)
    assert float((weight.abs() < 1 / 8).float().mean()) == pytest.approx(0.6827, abs=0.01)  # of a normal distribution
    assert "token_projection.bias" not in encoder.state_dict()


def test_the_first_weights_are_the_seeds_and_the_runs_random_numbers_go_on_as_before() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    encoder = small_encoder()
    torch.set_rng_state(state)
    encoder.project_tokens(6, pooling="max", seed=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(
        encoder.state_dict()["token_projection.weight"], projected().state_dict()["token_projection.weight"]
    )
    assert encoder.digest() == projected().digest() != projected(seed=1).digest()


def test_the_projection_takes_the_place_of_pooling_projection_and_length_one() -> None:
    encoder = small_encoder()
    encoder.projection.append(nn.Linear(16, 4))
    encoder.project_tokens(6, pooling="max", seed=0)
    vectors = encoder.eval().encode(["w1 w2", "w3"])
    assert vectors.shape == (2, encoder.dim) == (2, 6)
    assert (vectors.norm(dim=1) - 1).abs().min() > 0.1
    assert set(encoder.state_dict()) == {*small_encoder().state_dict(), "token_projection.weight"}
    assert encoder.settings() == small_encoder().settings() | {
        "pooling": ["max"],
        "normalize": False,
        "token_projection": 6,
    }


def test_a_token_projection_drops_the_pooler() -> None:
    with_pooler = small_encoder(pooling=["pooler"], normalize=False)
    with_pooler.project_tokens(6, pooling="mean", seed=0)
    assert not any("pooler" in name for name in with_pooler.state_dict())
    assert with_pooler.encode(["w1"]).shape == (1, 6)


def test_a_state_dict_gives_the_projection_back() -> None:
    encoder, second = projected(seed=1), projected(seed=2)
    assert not torch.equal(encoder.encode(["w1 w2"]), second.encode(["w1 w2"]))
    second.load_state_dict(encoder.state_dict())
    assert torch.equal(encoder.encode(["w1 w2"]), second.encode(["w1 w2"]))
    assert second.digest() == encoder.digest()


def test_in_bfloat16_vectors_are_nearly_the_same() -> None:
    encoder = projected()
    sentences = ["w1 w2 w3", "w4"]
    near = encoder.encode(sentences, precision="bfloat16")
    torch.testing.assert_close(near, encoder.encode(sentences), rtol=2e-2, atol=5e-2)


# ---- prepared text


def test_text_prepared_as_lasers_gives_the_vectors_of_text_that_is_lasers_already() -> None:
    plain, laser = small_encoder().eval(), small_encoder().eval()
    laser.set_preprocessing("laser")
    texts = ["w1\u00adw2", "W3\u200bw4 — (w5)", "w1 w2", " \u200b"]
    assert plain.tokenize(texts[:1]) != laser.tokenize(texts[:1])
    assert torch.equal(laser.encode(texts), plain.encode([normalize_laser(text) for text in texts]))
    assert laser.empty_sentences == 1


def test_preparing_text_changes_the_tokenizers_digest_and_nothing_else() -> None:
    encoder = small_encoder()
    before = encoder.tokenizer_digest(), encoder.settings()
    encoder.set_preprocessing("laser")
    assert encoder.tokenizer_digest() != before[0]
    assert encoder.settings() == before[1]
    encoder.set_preprocessing("none")
    assert (encoder.tokenizer_digest(), encoder.settings()) == before


def test_an_encoder_left_alone_keeps_the_digests_that_caches_know_it_by() -> None:
    encoder = small_encoder()
    vocabulary = encoder.tokenizer.backend_tokenizer.to_str()
    content = json.dumps([type(encoder.tokenizer).__name__, vocabulary, "", 32])
    assert encoder.tokenizer_digest() == hashlib.sha256(content.encode()).hexdigest()
    assert encoder.settings() == {
        "class": "SentenceEncoder",
        "transformer": "BertModel",
        "pooling": ["mean"],
        "projection": [],
        "prompt": "",
        "max_length": 32,
        "normalize": True,
    }
    assert all(name.startswith("transformer.") for name in encoder.state_dict())


# ---- refusals


def test_what_cannot_be_is_named_and_changes_nothing() -> None:
    encoder = small_encoder()
    before = encoder.digest()
    with pytest.raises(ValueError, match=r"projection\.pooling=cls: expected one of max, mean"):
        encoder.project_tokens(6, pooling="cls", seed=0)
    with pytest.raises(ValueError, match=r"vectors of size 0: expected 1 or more"):
        encoder.project_tokens(0, pooling="max", seed=0)
    with pytest.raises(ValueError, match=r"preprocessing=moses: expected one of none, laser"):
        encoder.set_preprocessing("moses")
    assert encoder.digest() == before
