"""Parts of a distillation to static vectors, computed by hand: pieces, principal components, frequencies, weights."""

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from tests.models.small import small_encoder
from xsent.models.static_distillation import (
    count_frequencies,
    embed_pieces,
    piece_texts,
    principal_components,
    select_pieces,
    sif_weights,
    tokenizer_of,
    zipf_frequencies,
)


def words(*vocabulary: str) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: id_ for id_, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def test_points_on_a_line_become_their_distances_from_the_mean() -> None:
    # Positions 0, 1 and 5 on the line along (3, 4) / 5 through (7, 0); the larger number of the direction is positive.
    points = torch.tensor([[7.0, 0.0], [7.6, 0.8], [10.0, 4.0]])
    reduced = principal_components(points, 1)
    torch.testing.assert_close(reduced.vectors, torch.tensor([[-2.0], [-1.0], [3.0]]).double(), rtol=0, atol=1e-6)
    assert reduced.variance == pytest.approx(1.0)


def test_a_plane_in_space_keeps_all_distances_and_a_line_of_it_its_share() -> None:
    # A rectangle of 6 by 2, rotated in four dimensions: the squares of its sides are 90 and 10 percent of the variance.
    rectangle = torch.tensor([[6.0, 2.0], [6.0, 0.0], [0.0, 2.0], [0.0, 0.0]]).double()
    rotation, _ = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(0)).double())
    points = rectangle @ rotation[:2] + 5
    plane = principal_components(points, 2).vectors
    torch.testing.assert_close(torch.cdist(plane, plane), torch.cdist(rectangle, rectangle))
    torch.testing.assert_close(plane.abs(), torch.tensor([[3.0, 1.0]]).double().expand(4, 2))  # from the centre
    assert principal_components(points, 1).variance == pytest.approx(0.9)


def test_all_dimensions_keep_their_axes() -> None:
    centred = principal_components(torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 8.0]]), 2).vectors
    torch.testing.assert_close(centred, torch.tensor([[-2.0, -1.0], [-1.0, -1.0], [3.0, 2.0]]).double())


@pytest.mark.parametrize(
    ("rows", "dim", "message"), [(9, 5, "dim=5: expected at most the encoder's 4"), (3, 3, "fewer than the 3 pieces")]
)
def test_more_components_than_there_can_be_are_refused(rows: int, dim: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        principal_components(torch.ones(rows, 4), dim)


def test_a_frequent_piece_weighs_little() -> None:
    # a / (a + p): 0.001 / 0.004, a half where p is a, and 1 for a piece that the text does not have.
    weights = sif_weights(torch.tensor([0.003, 0.001, 0.0]), 0.001)
    torch.testing.assert_close(weights, torch.tensor([0.25, 0.5, 1.0]))


def test_frequencies_by_rank_follow_zipf_and_counted_ones_the_text() -> None:
    torch.testing.assert_close(zipf_frequencies(3), torch.tensor([6.0, 3.0, 2.0]).double() / 11)
    pieces = select_pieces(words("[UNK]", "a", "b", "c"))
    torch.testing.assert_close(
        count_frequencies(pieces, ["a b", "a ? a"]), torch.tensor([0.75, 0.25, 0.0]).double()
    )  # of unknown words none
    with pytest.raises(ValueError, match="expected text with pieces"):
        count_frequencies(pieces, ["? ?"])


def test_special_unknown_and_reserved_entries_are_no_pieces_of_text() -> None:
    tokenizer = words("[PAD]", "[unused7]", "the", "[UNK]", "##ing", "▁", "▁cat")
    tokenizer.add_special_tokens([AddedToken("[PAD]", special=True)])
    pieces = select_pieces(tokenizer)
    assert pieces.ids == [2, 4, 5, 6]
    assert piece_texts(pieces) == ["the", "ing", "", "cat"]


def test_ids_with_gaps_are_refused() -> None:
    with pytest.raises(ValueError, match="expected ids from 0 to 1, found gaps"):
        select_pieces(Tokenizer(models.WordLevel({"[UNK]": 0, "a": 5}, unk_token="[UNK]")))


@pytest.mark.parametrize("prompt", ["", "w1 w2: "])
def test_a_piece_has_the_unnormalised_vector_of_a_sentence_of_it_alone(prompt: str) -> None:
    encoder = small_encoder().eval()
    encoder.prompt = prompt
    encoder.__post_init__()
    pieces = select_pieces(tokenizer_of(encoder))
    vectors = embed_pieces(encoder, pieces.ids)
    texts = piece_texts(pieces)
    assert texts[:2] == ["w0", "w1"]
    torch.testing.assert_close(torch.nn.functional.normalize(vectors), encoder.encode(texts), rtol=1e-5, atol=1e-6)
    encoder.normalize = False
    torch.testing.assert_close(vectors, encoder.encode(texts), rtol=1e-5, atol=1e-6)
