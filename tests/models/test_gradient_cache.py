"""Chunked embedding, with and without recomputation, equals one plain batch: value, gradient, dropout."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.models.small import random_sentences, small_encoder
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.tiny import TinyEncoder
from xsent.models.gradient_cache import embed_chunked

LENGTHS = [7, 3, 12, 3, 9, 1, 5, 12, 4, 7, 2, 8, 6, 3]  # of 14 sentences: 7 pairs, one half after the other
IDS, COUNTS = random_sentences(LENGTHS)


def contrastive(vectors: Tensor) -> Tensor:
    """Softmax over the cosines of every sentence with all others: each gradient depends on every vector."""
    half = len(vectors) // 2
    scores = (20 * vectors @ vectors.T).fill_diagonal_(float("-inf"))
    return F.cross_entropy(scores, torch.arange(len(vectors)).roll(half))


def step(encoder: Encoder, *, chunk_size: int | None, plain: bool = False) -> tuple[Tensor, Tensor]:
    """Loss and the gradient of all weights, as one vector; ``plain`` is one padded batch."""
    encoder.zero_grad()
    vectors = encoder.embed_ids(IDS, COUNTS) if plain else embed_chunked(encoder, IDS, COUNTS, chunk_size=chunk_size)
    loss = contrastive(vectors)
    loss.backward()
    gradients = [parameter.grad for parameter in encoder.parameters()]
    assert all(gradient is not None for gradient in gradients)
    return loss.detach(), torch.cat([gradient.flatten() for gradient in gradients if gradient is not None])


def saved_and_recomputed(encoder: Encoder, tokens: int, seed: int = 5) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Loss, gradient and random state after the step, of the same runs without and with recomputation."""
    encoder.cpu_token_budget = tokens
    results = []
    for chunk_size in (None, len(LENGTHS)):  # more than any chunk has: only the token budget splits
        torch.manual_seed(seed)
        results.append((*step(encoder, chunk_size=chunk_size), torch.get_rng_state()))
    return results


# ---- values and gradients


@pytest.mark.parametrize("tokens", [24, 10_000])
@pytest.mark.parametrize("chunk_size", [None, 1, 3, 5, 13, 14, 100])
def test_value_and_gradient_are_those_of_one_plain_batch(chunk_size: int | None, tokens: int) -> None:
    encoder = small_encoder().double()
    expected, expected_gradient = step(encoder, chunk_size=None, plain=True)
    assert expected_gradient.abs().max() > 1e-2
    encoder.cpu_token_budget = tokens
    loss, gradient = step(encoder, chunk_size=chunk_size)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    assert (gradient - expected_gradient).norm() < 1e-10 * expected_gradient.norm()


def test_float32_gradients_are_as_exact_as_those_of_one_plain_batch() -> None:
    _, exact = step(small_encoder().double(), chunk_size=None, plain=True)
    _, plain = step(small_encoder(), chunk_size=None, plain=True)
    _, gradient = step(small_encoder(), chunk_size=3)
    assert (gradient - exact).norm() < 2 * (plain - exact).norm() < 1e-5 * exact.norm()


@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "MPNet"])
def test_dropout_masks_are_the_same_the_second_time(architecture: str) -> None:
    encoder = small_encoder(architecture, dropout=0.3)
    (loss, gradient, state), (again, gradient_again, state_again) = saved_and_recomputed(encoder, tokens=24)
    assert gradient.abs().max() > 1e-2
    assert torch.equal(loss, again)
    assert (gradient - gradient_again).norm() < 1e-6 * gradient.norm()
    assert torch.equal(state, state_again)  # the next step draws the same numbers


def test_dropout_masks_are_really_drawn() -> None:
    encoder = small_encoder(dropout=0.3)
    (_, (loss, gradient, _)), (_, (second, second_gradient, _)) = (
        saved_and_recomputed(encoder, tokens=24, seed=seed) for seed in (5, 6)
    )
    assert abs(loss - second) > 1e-3
    assert (gradient - second_gradient).norm() > 1e-2 * gradient.norm()


def test_autocast_is_the_same_the_second_time() -> None:
    encoder = small_encoder(dropout=0.3)
    with torch.autocast("cpu", torch.bfloat16):
        (loss, gradient, _), (again, gradient_again, _) = saved_and_recomputed(encoder, tokens=24)
    full, full_gradient, _ = saved_and_recomputed(encoder, tokens=24)[1]
    assert 0 < abs(full - loss) < 0.1 * full  # bfloat16 was used
    assert (gradient - full_gradient).norm() > 1e-3 * full_gradient.norm()
    assert torch.equal(loss, again)
    assert (gradient - gradient_again).norm() < 1e-6 * gradient.norm()


def test_a_backward_pass_outside_of_autocast_computes_as_the_forward_pass_did() -> None:
    # As Lightning does it: the training step under autocast, the backward pass after it.
    encoder = small_encoder(dropout=0.3)
    encoder.cpu_token_budget = 24
    gradients = []
    for chunk_size in (None, len(LENGTHS)):
        torch.manual_seed(5)
        encoder.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = contrastive(embed_chunked(encoder, IDS, COUNTS, chunk_size=chunk_size))
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None]))
    assert gradients[0].abs().max() > 1e-2
    assert (gradients[1] - gradients[0]).norm() < 1e-6 * gradients[0].norm()


def test_frozen_word_vectors_do_not_stop_the_gradient_of_the_rest() -> None:
    encoder = small_encoder().double()
    encoder.word_vectors.requires_grad_(False)
    gradients: list[dict[str, Tensor | None]] = []
    for chunk_size in (None, 3):
        encoder.zero_grad()
        contrastive(embed_chunked(encoder, IDS, COUNTS, chunk_size=chunk_size)).backward()
        gradients.append({name: parameter.grad for name, parameter in encoder.named_parameters()})
    assert [name for name, gradient in gradients[0].items() if gradient is None] == [
        "transformer.embeddings.word_embeddings.weight"
    ]
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-8, atol=1e-12)


# ---- order, empty sentences, encoders that do not pad


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_a_sentence_without_tokens_gets_a_zero_row_and_the_others_their_vectors(chunk_size: int | None) -> None:
    encoder = small_encoder().eval()
    ids, lengths = random_sentences([0, 3, 0, 5, 2, 0])
    vectors = embed_chunked(encoder, ids, lengths, chunk_size=chunk_size)
    filled = lengths > 0
    assert vectors[~filled].abs().max() == 0
    torch.testing.assert_close(vectors[filled], encoder.embed_ids(ids, lengths[filled]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [0, 3])
def test_no_token_at_all_is_no_error(count: int) -> None:
    ids, lengths = torch.zeros(0, dtype=torch.int64), torch.zeros(count, dtype=torch.int64)
    assert torch.equal(embed_chunked(small_encoder(), ids, lengths, chunk_size=2), torch.zeros(count, 16))


@pytest.mark.parametrize("lengths", [[4, 1, 6, 2], [4, 0, 6, 0]])
def test_an_encoder_without_padding_gets_all_sentences_in_one_chunk(lengths: list[int]) -> None:
    encoder, chunks = TinyEncoder(name="tiny", dim=4, buckets=50, max_length=9, seed=0), []
    embed = encoder.embed_ids
    encoder.embed_ids = lambda ids, lengths: chunks.append(lengths.tolist()) or embed(ids, lengths)  # type: ignore[method-assign,func-returns-value]
    ids, counts = random_sentences(lengths)
    vectors = embed_chunked(encoder, ids, counts, chunk_size=1)
    assert chunks == [[length for length in lengths if length]]
    assert torch.equal(vectors, embed(ids, counts))


def test_impossible_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"chunk_size=0: expected at least 1 sentence"):
        embed_chunked(small_encoder(), IDS, COUNTS, chunk_size=0)
    with pytest.raises(ValueError, match=rf"expected {sum(LENGTHS)} ids for .* 14 sentences, found {sum(LENGTHS) - 1}"):
        embed_chunked(small_encoder(), IDS[1:], COUNTS, chunk_size=None)


# ---- work and memory


def record_chunks(encoder: Encoder) -> list[tuple[int, ...]]:
    """List to which each chunk adds its shape in the forward pass and ``()`` after its backward pass."""
    events: list[tuple[int, ...]] = []
    first = encoder.transformer.encoder.layer[0]
    first.register_forward_hook(lambda module, args, output: events.append(tuple(args[0].shape[:2])))
    first.register_full_backward_hook(lambda module, args, output: events.append(()))
    return events


def test_chunks_are_sorted_and_respect_both_limits() -> None:
    encoder = small_encoder()
    encoder.cpu_token_budget = 24
    events = record_chunks(encoder)
    with torch.no_grad():  # without gradient nothing is recomputed
        contrastive(embed_chunked(encoder, IDS, COUNTS, chunk_size=3))
    # Longest first: 12 12 | 9 8 | 7 7 6 | 5 4 3 | 3 3 2 | 1
    assert events == [(2, 12), (2, 9), (3, 7), (3, 5), (3, 3), (1, 1)]


def test_the_backward_pass_recomputes_one_chunk_at_a_time() -> None:
    encoder = small_encoder()
    events = record_chunks(encoder)
    loss = contrastive(embed_chunked(encoder, IDS, COUNTS, chunk_size=5))
    assert events == [(5, 12), (5, 7), (4, 3)]
    events.clear()
    loss.backward()
    assert events == [(4, 3), (), (5, 7), (), (5, 12), ()]


def test_a_single_chunk_is_not_recomputed() -> None:
    encoder = small_encoder()
    events = record_chunks(encoder)
    step(encoder, chunk_size=len(LENGTHS))
    assert events == [(14, 12), ()]


def saved_bytes(encoder: Encoder, ids: Tensor, lengths: Tensor, chunk_size: int | None) -> int:
    """Bytes that the graph keeps between forward and backward pass, without the weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in encoder.parameters()}
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        vectors = embed_chunked(encoder, ids, lengths, chunk_size=chunk_size)
    assert vectors.requires_grad
    return sum(saved.values())


def test_activations_of_a_large_batch_are_not_kept() -> None:
    encoder = small_encoder(dropout=0.1)
    ids, lengths = random_sentences([8] * 64)
    micro = saved_bytes(encoder, ids[:16], lengths[:2], chunk_size=None)
    plain = saved_bytes(encoder, ids, lengths, chunk_size=None)
    cached = saved_bytes(encoder, ids, lengths, chunk_size=2)
    assert plain > 25 * micro
    # Only ids, lengths and vectors remain.
    assert cached < plain / 20
