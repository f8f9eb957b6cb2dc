"""Which transformations a sentence gets, with which parameters and in which order."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b, shake_128
from itertools import accumulate
from random import Random
from struct import Struct
from typing import NamedTuple

import numpy as np

MIX_ALL = "mix_all"
# In the order of the released script, which draws them in it; each with what can be set.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "abr1": ("probability",), "abr2": (), "abr3": (), "fing": ("probability",), "homo": ("probability",), "cont": (),
    "dysl": (), "leet": ("share",), "spel": ("probability",), "slng": (), "week": (), "spac": ("remove", "add"),
}  # fmt: skip
TRANSFORMATIONS = tuple(PARAMETERS)
# Of the seed with which the released script makes each one; the others draw nothing.
REFERENCE_OFFSETS = {
    "abr1": 1, "abr2": 2, "abr3": 3, "fing": 4, "homo": 6, "dysl": 7, "leet": 8, "spel": 9, "slng": 10, "spac": 11,
}  # fmt: skip

# Of each transformation: whether it is selected, its place in the order, and a factor for each of two parameters.
_DRAWS = Struct(f"<{4 * len(TRANSFORMATIONS)}I")


class Applied(NamedTuple):
    """A transformation and its parameters, those of ``PARAMETERS``."""

    name: str
    parameters: tuple[float, ...]

    def __str__(self) -> str:
        """As the reference's log has it: ``fing,0.025``."""
        return ",".join([self.name, *(f"{value:g}" for value in self.parameters)])


Plan = tuple[Applied, ...]


def stream(seed: int, key: int, name: str) -> Random:
    """The random numbers of one transformation on one sentence; no two are related."""
    return Random(int.from_bytes(blake2b(b"%d %d" % (seed, key), digest_size=8, person=name.encode()).digest()))


@dataclass(frozen=True)
class Mixture:
    """``mix_all``: each transformation with a probability, its parameters near their defaults, in random order.

    Attributes:
        selection: probability of each transformation.
        parameters: the defaults of each, in the order of ``PARAMETERS``.
        factors: what each parameter is multiplied by, one of them.
        weights: probability of each factor.

    Raises:
        ValueError: a value is no number, a probability is outside [0, 1], or weights do not fit.

    Source:
        Nishimwe et al. 2024, section 4, and the released script, which says what the text leaves open.
    """

    selection: float
    parameters: Mapping[str, tuple[float, ...]]
    factors: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_share("selection", self.selection)
        for name, values in (("factors", self.factors), ("factor_weights", self.weights)):
            for value in values:
                if not is_number(value):
                    raise ValueError(f"noise.{name}={list(values)}: expected numbers, found {value!r}")
        if len(self.factors) != len(self.weights) or any(weight < 0 for weight in self.weights):
            raise ValueError(
                f"noise.factor_weights={list(self.weights)}: expected a weight >= 0"
                f" for each of {len(self.factors)} factors"
            )
        if not math.isclose(sum(self.weights), 1):
            raise ValueError(
                f"noise.factor_weights={list(self.weights)}: expected a sum of 1, found {sum(self.weights)}"
            )
        for name, defaults in self.parameters.items():
            for parameter, default in zip(PARAMETERS[name], defaults, strict=True):
                _check_share(f"parameters.{name}.{parameter}", default)

    def check_scaled(self) -> None:
        """Check what only ``mix_all`` draws: a single transformation may have any parameter.

        Raises:
            ValueError: a default times a factor is outside [0, 1].
        """
        for name, defaults in self.parameters.items():
            for parameter, default in zip(PARAMETERS[name], defaults, strict=True):
                for factor in self.factors:
                    _check_share(f"parameters.{name}.{parameter}={default} times the factor {factor}", default * factor)

    def plan(self, seed: int, key: int) -> Plan:
        """The plan of one sentence, from draws of its own."""
        # One hash gives them all in 3 us, and most sentences need but the first; a generator takes 5 to begin.
        draws = _DRAWS.unpack(shake_128(b"%d %d" % (seed, key)).digest(_DRAWS.size))
        below = round(self.selection * 2**32)
        selected = [place for place in range(len(TRANSFORMATIONS)) if draws[place] < below]
        selected.sort(key=lambda place: draws[len(TRANSFORMATIONS) + place])
        return tuple([self._step(place, draws) for place in selected])

    def _step(self, place: int, draws: tuple[int, ...]) -> Applied:
        name = TRANSFORMATIONS[place]
        drawn = draws[2 * len(TRANSFORMATIONS) + place :: len(TRANSFORMATIONS)]
        # A draw falls below 2^32 times the weights up to its factor's.
        factors = (self.factors[bisect(self._bounds, one)] for one in drawn)
        return Applied(name, tuple([p * factor for p, factor in zip(self.parameters[name], factors, strict=False)]))

    @cached_property
    def _bounds(self) -> list[int]:
        # Without the last: what is not below the others is its.
        return [round(bound * 2**32) for bound in accumulate(self.weights[:-1])]

    def reference_plans(self, seed: int) -> Iterator[Plan]:
        """The plans of one sentence after the other as the released script draws them, without end."""
        # The script seeds numpy's global generator once; this is the same generator, our own.
        rng = np.random.RandomState(seed)
        while True:
            plan = []
            for name in TRANSFORMATIONS:
                if rng.random_sample() < self.selection:
                    drawn = [p * rng.choice(self.factors, p=self.weights) for p in self.parameters[name]]
                    plan.append(Applied(name, tuple(map(float, drawn))))
            rng.shuffle(plan)
            yield tuple(plan)


def is_number(value: object) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_share(name: str, value: float) -> None:
    if not is_number(value):
        raise ValueError(f"noise.{name}={value!r}: expected a number from 0 to 1")
    if not 0 <= value <= 1:
        raise ValueError(f"noise.{name}={value}: expected a value from 0 to 1")
