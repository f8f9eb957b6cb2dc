"""Encoding in runs, their activations kept or computed again, is held to one plain batch: value, gradient, dropout."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.models.small import random_sentences, small_encoder
from xsent.models.chunks import embed_in_chunks
from xsent.models.encoder import Encoder
from xsent.models.tiny import TinyEncoder

LENGTHS = [7, 3, 12, 3, 9, 1, 5, 12, 4, 7, 2, 8, 6, 3]  # of 14 sentences: 7 pairs, one half after the other
IDS, COUNTS = random_sentences(LENGTHS)


def contrastive(vectors: Tensor) -> Tensor:
    """Softmax over the cosines of every sentence with all others: each gradient depends on every vector."""
    half = len(vectors) // 2
    scores = (20 * vectors @ vectors.T).fill_diagonal_(float("-inf"))
    return F.cross_entropy(scores, torch.arange(len(vectors)).roll(half))


def step(encoder: Encoder, *, at_once: int | None, plain: bool = False) -> tuple[Tensor, Tensor]:
    """Loss and the gradient of all weights, as one vector; ``plain`` is one padded batch."""
    encoder.zero_grad()
    vectors = encoder.embed_ids(IDS, COUNTS) if plain else embed_in_chunks(encoder, IDS, COUNTS, at_once=at_once)
    loss = contrastive(vectors)
    loss.backward()
    gradients = [parameter.grad for parameter in encoder.parameters()]
    assert all(gradient is not None for gradient in gradients)
    return loss.detach(), torch.cat([gradient.flatten() for gradient in gradients if gradient is not None])


def kept_and_recomputed(encoder: Encoder, tokens: int, seed: int = 5) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Loss, gradient and random state after the step, of the same runs without and with recomputation."""
    encoder.cpu_tokens = tokens
    found = []
    for at_once in (None, len(LENGTHS)):  # more than a run ever has: the tokens alone cut
        torch.manual_seed(seed)
        found.append((*step(encoder, at_once=at_once), torch.get_rng_state()))
    return found


# ---- values and gradients


@pytest.mark.parametrize("tokens", [24, 10_000])
@pytest.mark.parametrize("at_once", [None, 1, 3, 5, 13, 14, 100])
def test_value_and_gradient_are_those_of_one_plain_batch(at_once: int | None, tokens: int) -> None:
    encoder = small_encoder().double()
    expected, expected_gradient = step(encoder, at_once=None, plain=True)
    assert expected_gradient.abs().max() > 1e-2
    encoder.cpu_tokens = tokens
    loss, gradient = step(encoder, at_once=at_once)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=0)
    assert (gradient - expected_gradient).norm() < 1e-10 * expected_gradient.norm()


def test_float32_gradients_are_as_exact_as_those_of_one_plain_batch() -> None:
    _, exact = step(small_encoder().double(), at_once=None, plain=True)
    _, plain = step(small_encoder(), at_once=None, plain=True)
    _, gradient = step(small_encoder(), at_once=3)
    assert (gradient - exact).norm() < 2 * (plain - exact).norm() < 1e-5 * exact.norm()


@pytest.mark.parametrize("architecture", ["Bert", "Roberta", "MPNet"])
def test_dropout_masks_are_the_same_the_second_time(architecture: str) -> None:
    encoder = small_encoder(architecture, dropout=0.3)
    (loss, gradient, state), (again, gradient_again, state_again) = kept_and_recomputed(encoder, tokens=24)
    assert gradient.abs().max() > 1e-2
    assert torch.equal(loss, again)
    assert (gradient - gradient_again).norm() < 1e-6 * gradient.norm()
    assert torch.equal(state, state_again)  # the next step draws the same numbers, too


def test_dropout_masks_are_really_drawn() -> None:
    encoder = small_encoder(dropout=0.3)
    (_, (loss, gradient, _)), (_, (other, other_gradient, _)) = (
        kept_and_recomputed(encoder, tokens=24, seed=seed) for seed in (5, 6)
    )
    assert abs(loss - other) > 1e-3
    assert (gradient - other_gradient).norm() > 1e-2 * gradient.norm()


def test_autocast_is_the_same_the_second_time() -> None:
    encoder = small_encoder(dropout=0.3)
    with torch.autocast("cpu", torch.bfloat16):
        (loss, gradient, _), (again, gradient_again, _) = kept_and_recomputed(encoder, tokens=24)
    full, full_gradient, _ = kept_and_recomputed(encoder, tokens=24)[1]
    assert 0 < abs(full - loss) < 0.1 * full  # it was bfloat16
    assert (gradient - full_gradient).norm() > 1e-3 * full_gradient.norm()
    assert torch.equal(loss, again)
    assert (gradient - gradient_again).norm() < 1e-6 * gradient.norm()


def test_a_backward_pass_outside_of_autocast_computes_as_the_forward_pass_did() -> None:
    # As Lightning does it: the training step under autocast, the backward pass after it.
    encoder = small_encoder(dropout=0.3)
    encoder.cpu_tokens = 24
    gradients = []
    for at_once in (None, len(LENGTHS)):
        torch.manual_seed(5)
        encoder.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = contrastive(embed_in_chunks(encoder, IDS, COUNTS, at_once=at_once))
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in encoder.parameters() if p.grad is not None]))
    assert gradients[0].abs().max() > 1e-2
    assert (gradients[1] - gradients[0]).norm() < 1e-6 * gradients[0].norm()


def test_frozen_word_vectors_do_not_stop_the_gradient_of_the_rest() -> None:
    encoder = small_encoder().double()
    encoder.word_vectors.requires_grad_(False)
    gradients: list[dict[str, Tensor | None]] = []
    for at_once in (None, 3):
        encoder.zero_grad()
        contrastive(embed_in_chunks(encoder, IDS, COUNTS, at_once=at_once)).backward()
        gradients.append({name: parameter.grad for name, parameter in encoder.named_parameters()})
    assert [name for name, gradient in gradients[0].items() if gradient is None] == [
        "transformer.embeddings.word_embeddings.weight"
    ]
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-8, atol=1e-12)


# ---- order, empty sentences, encoders that do not pad


@pytest.mark.parametrize("at_once", [None, 2])
def test_a_sentence_without_tokens_gets_a_zero_row_and_the_others_their_vectors(at_once: int | None) -> None:
    encoder = small_encoder().eval()
    ids, lengths = random_sentences([0, 3, 0, 5, 2, 0])
    vectors = embed_in_chunks(encoder, ids, lengths, at_once=at_once)
    said = lengths > 0
    assert vectors[~said].abs().max() == 0
    torch.testing.assert_close(vectors[said], encoder.embed_ids(ids, lengths[said]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [0, 3])
def test_no_token_at_all_is_no_error(count: int) -> None:
    ids, lengths = torch.zeros(0, dtype=torch.int64), torch.zeros(count, dtype=torch.int64)
    assert torch.equal(embed_in_chunks(small_encoder(), ids, lengths, at_once=2), torch.zeros(count, 16))


@pytest.mark.parametrize("lengths", [[4, 1, 6, 2], [4, 0, 6, 0]])
def test_an_encoder_that_does_not_pad_gets_all_sentences_in_one_run(lengths: list[int]) -> None:
    encoder, runs = TinyEncoder(name="tiny", dim=4, buckets=50, max_length=9, seed=0), []
    embed = encoder.embed_ids
    encoder.embed_ids = lambda ids, lengths: runs.append(lengths.tolist()) or embed(ids, lengths)  # type: ignore[method-assign,func-returns-value]
    ids, counts = random_sentences(lengths)
    vectors = embed_in_chunks(encoder, ids, counts, at_once=1)
    assert runs == [[length for length in lengths if length]]
    assert torch.equal(vectors, embed(ids, counts))


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"at_once=0: expected at least 1 sentence"):
        embed_in_chunks(small_encoder(), IDS, COUNTS, at_once=0)
    with pytest.raises(ValueError, match=rf"lengths of 14 sentences say {sum(LENGTHS)} ids, found {sum(LENGTHS) - 1}"):
        embed_in_chunks(small_encoder(), IDS[1:], COUNTS, at_once=None)


# ---- work and memory


def runs_of(encoder: Encoder) -> list[tuple[int, ...]]:
    """Where every run that passes the first block from now on leaves its shape, and ``()`` at its gradient's end."""
    events: list[tuple[int, ...]] = []
    first = encoder.transformer.encoder.layer[0]
    first.register_forward_hook(lambda module, args, output: events.append(tuple(args[0].shape[:2])))
    first.register_full_backward_hook(lambda module, args, output: events.append(()))
    return events


def test_runs_are_sorted_and_hold_tokens_and_sentences() -> None:
    encoder = small_encoder()
    encoder.cpu_tokens = 24
    events = runs_of(encoder)
    with torch.no_grad():  # nothing is computed again, at_once or not
        contrastive(embed_in_chunks(encoder, IDS, COUNTS, at_once=3))
    # Longest first: 12 12 | 9 8 | 7 7 6 | 5 4 3 | 3 3 2 | 1
    assert events == [(2, 12), (2, 9), (3, 7), (3, 5), (3, 3), (1, 1)]


def test_the_backward_pass_finishes_with_a_run_before_it_computes_the_next_again() -> None:
    encoder = small_encoder()
    events = runs_of(encoder)
    loss = contrastive(embed_in_chunks(encoder, IDS, COUNTS, at_once=5))
    assert events == [(5, 12), (5, 7), (4, 3)]
    events.clear()
    loss.backward()
    assert events == [(4, 3), (), (5, 7), (), (5, 12), ()]


def test_a_single_run_is_not_computed_again() -> None:
    encoder = small_encoder()
    events = runs_of(encoder)
    step(encoder, at_once=len(LENGTHS))
    assert events == [(14, 12), ()]


def kept_bytes(encoder: Encoder, ids: Tensor, lengths: Tensor, at_once: int | None) -> int:
    """Bytes that the graph keeps between forward and backward pass, the weights aside."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in encoder.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        vectors = embed_in_chunks(encoder, ids, lengths, at_once=at_once)
    assert vectors.requires_grad
    return sum(kept.values())


def test_activations_of_a_large_batch_are_not_kept() -> None:
    encoder = small_encoder(dropout=0.1)
    ids, lengths = random_sentences([8] * 64)
    micro = kept_bytes(encoder, ids[:16], lengths[:2], at_once=None)
    plain = kept_bytes(encoder, ids, lengths, at_once=None)
    cached = kept_bytes(encoder, ids, lengths, at_once=2)
    assert plain > 25 * micro
    # What is left are ids, lengths and vectors.
    assert cached < plain / 20
