"""Weighted sum of the named terms of a loss."""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor


def check_weights(terms: type[NamedTuple], weights: Mapping[str, float]) -> None:
    """Raise ``ValueError`` unless the weights name exactly the terms."""
    if set(weights) != set(terms._fields):
        raise ValueError(f"weights name {sorted(weights)}, the loss has {sorted(terms._fields)}")


def weighted_sum(terms: NamedTuple, weights: Mapping[str, float]) -> Tensor:
    """Sum of the terms, each times the weight of its name.

    A term of weight 0 is left out, so a NaN in it reaches neither the sum nor a gradient.

    Raises:
        ValueError: the weights do not name exactly the terms of the loss.
    """
    check_weights(type(terms), weights)
    named: dict[str, Tensor] = terms._asdict()
    total = next(iter(named.values())).new_zeros(())
    for name, term in named.items():
        if weights[name] != 0:
            total = total + weights[name] * term
    return total
