"""Vectors in fewer bits against numbers by hand, and what compares them."""

import numpy as np
import pytest
import torch

from xsent.evaluation.search.exact import knn
from xsent.models.encoders.tiny import TinyEncoder
from xsent.quantization import DTYPES, SCALED, dequantise, quantise, stored_size
from xsent.similarity import cos_sim

VECTORS = torch.tensor([[0.5, -1.0, 0.25, 0.0, 1.0, 2.0, -3.0, 4.0], [0.0] * 8])
TEXTS = ["a dog sleeps", "a cat sleeps", "rain in Spain", "two dogs sleep"]


def test_eight_signs_are_a_byte_whose_highest_bit_is_the_first_number() -> None:
    # + - + 0 + + - +: 1 0 1 0 1 1 0 1 is 128 + 32 + 8 + 4 + 1.
    assert quantise(VECTORS, "binary").tolist() == [[173], [0]]


def test_whole_numbers_are_scaled_to_the_largest_of_a_vector() -> None:
    # 127 / 4 = 31.75 times each number, rounded.
    assert quantise(VECTORS, "int8").tolist() == [[16, -32, 8, 0, 32, 64, -95, 127], [0] * 8]


def test_half_precision_refuses_what_it_cannot_hold() -> None:
    assert quantise(VECTORS, "float16").tolist() == VECTORS.tolist()
    with pytest.raises(ValueError, match=r"^precision=float16: a number is above 65,504"):
        quantise(torch.tensor([[1e6, 1.0]]), "float16")


@pytest.mark.parametrize("precision", DTYPES)
def test_stored_vectors_have_the_announced_type_and_size(precision: str) -> None:
    stored = quantise(VECTORS, precision)
    assert stored.dtype == DTYPES[precision]
    assert stored.shape == (2, stored_size(8, precision))
    assert dequantise(torch.from_numpy(stored)).shape == (2, 8)


def test_the_cosine_of_binary_vectors_is_one_minus_twice_the_share_of_different_signs() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 64)
    bits = (x > 0).float()
    different = torch.cdist(bits, bits, p=0)  # Hamming distance
    packed = dequantise(torch.from_numpy(quantise(x, "binary")))
    torch.testing.assert_close(cos_sim(packed, packed), 1 - 2 * different / 64)


@pytest.mark.parametrize(("dim", "message"), [(12, "found 12; truncate them to 8"), (5, "found 5$")])
def test_signs_that_fill_no_bytes_are_refused(dim: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^precision=binary: expected .* size is a multiple of 8, {message}"):
        stored_size(dim, "binary")


@pytest.mark.parametrize("precision", ["float16", *SCALED])
def test_stored_vectors_can_be_compared_and_searched(precision: str) -> None:
    encoder = TinyEncoder(name="tiny", dim=32, buckets=512, max_length=64, seed=0)
    stored = encoder.encode(TEXTS, precision=precision)  # type: ignore[arg-type]
    assert np.array_equal(stored.numpy(), quantise(encoder.encode(TEXTS), precision))
    expected = cos_sim(dequantise(stored), encoder.encode(TEXTS))
    torch.testing.assert_close(encoder.similarity(stored.numpy(), TEXTS), expected)
    torch.testing.assert_close(encoder.similarity(stored[0], TEXTS), expected[:1])
    neighbours = knn(stored, stored, 1)
    assert neighbours.rows.flatten().tolist() == [0, 1, 2, 3]
    torch.testing.assert_close(neighbours.scores.float(), torch.ones(4, 1))
