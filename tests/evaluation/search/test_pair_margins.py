"""Margin scores of pairs, by hand."""

from __future__ import annotations

import pytest
import torch

from xsent.evaluation.search.margin import pair_margins

SOURCE = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
TARGET = torch.tensor([[2.0, 0.0], [0.6, 0.8]])  # cosines 1 and 0.6; 0 and 0.8


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        ("absolute", [1.0, 0.8]),
        # Mean cosines of both neighbours: 0.8 and 0.4 of the sources, 0.5 and 0.7 of the targets.
        ("distance", [1 - 0.65, 0.8 - 0.55]),
        ("ratio", [1 / 0.65, 0.8 / 0.55]),
    ],
)
def test_margins_by_hand(margin: str, expected: list[float]) -> None:
    result = pair_margins(SOURCE, TARGET, (SOURCE, TARGET), margin=margin, k=2)
    assert result.tolist() == pytest.approx(expected)


def test_more_candidates_change_the_neighbourhood() -> None:
    # With the first target twice among the candidates the first source has two neighbours of cosine 1.
    around = (SOURCE, torch.cat([TARGET, TARGET[:1]]))
    result = pair_margins(SOURCE, TARGET, around, margin="ratio", k=2)
    assert result.tolist() == pytest.approx([1 / ((1 + 0.5) / 2), 0.8 / 0.55])


def test_k_above_the_number_of_candidates_uses_all() -> None:
    around = (SOURCE, TARGET)
    two, four = (pair_margins(SOURCE, TARGET, around, margin="ratio", k=k).tolist() for k in (2, 4))
    assert two == four
