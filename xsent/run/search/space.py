"""What a search may choose: parameters, their values, and how a value is said to Hydra."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Value = None | bool | int | float | str
KEYS = {"low", "high", "log", "step", "kind"}
BARE = re.compile(r"[A-Za-z_][\w/]*")  # what Hydra reads as a text without quotes


class Parameter(NamedTuple):
    """One dotted key of the config, or one config group: choices, or a range."""

    name: str  # recipe.margin, or objective for a file of that group
    choices: tuple[Value, ...]  # empty: a range
    low: float = 0
    high: float = 0
    log: bool = False
    step: float | None = None
    is_int: bool = False

    def values(self) -> list[Value]:
        """Every value of choices or of a range with a step.

        Raises:
            ValueError: a range without a step has no end of them.
        """
        if self.choices:
            return list(self.choices)
        step = self.step or (1 if self.is_int else None)
        if step is None:
            raise ValueError(f"{where(self.name)}: a grid needs choices, or a step; found a range without one")
        count = int((self.high - self.low) / step + 1e-9) + 1
        return [self._number(self.low + number * step) for number in range(count)]

    def extremes(self) -> list[Value]:
        """Every choice, or both ends of a range."""
        return list(self.choices) or [self._number(self.low), self._number(self.high)]

    def distribution(self) -> BaseDistribution:
        """As Optuna has it."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(self.choices)
        if self.is_int:
            return IntDistribution(int(self.low), int(self.high), log=self.log, step=int(self.step or 1))
        return FloatDistribution(self.low, self.high, log=self.log, step=self.step)

    def _number(self, value: float) -> Value:
        # Steps of a tenth would otherwise end in ...0000004.
        return round(value) if self.is_int else float(f"{value:.12g}")


def read_space(space: Mapping[str, Any]) -> list[Parameter]:
    """The parameters of ``hparams_search.space``.

    Args:
        space: by dotted key or config group ``{choices: [...]}``, or ``{low, high}`` with ``log: true``, ``step`` or
            ``kind: int`` where wanted.

    Raises:
        ValueError: it is empty, or a parameter is not one of the two; the message has its name.
    """
    if not space:
        raise ValueError("hparams_search.space: expected at least one parameter, found none")
    return [_parameter(name, dict(options or {})) for name, options in space.items()]


def _parameter(name: str, options: dict[str, Any]) -> Parameter:
    if set(options) == {"choices"}:
        choices = options["choices"]
        if not isinstance(choices, list) or len(set(map(repr, choices))) < max(1, len(choices)):
            raise ValueError(f"{where(name)}.choices: expected a list of different values, found {choices!r}")
        wrong = [one for one in choices if not isinstance(one, Value)]
        if wrong:
            raise ValueError(f"{where(name)}.choices: expected texts, numbers, true, false or null, found {wrong[0]!r}")
        return Parameter(name, tuple(choices))
    if not {"low", "high"} <= set(options) <= KEYS:
        raise ValueError(
            f"{where(name)}: expected choices alone, or low and high and if need be log, step and kind;"
            f" found {', '.join(options) or 'nothing'}"
        )
    return _range(name, **options)


def _range(
    name: str, low: float, high: float, log: bool = False, step: float | None = None, kind: str = "float"
) -> Parameter:
    if kind not in ("float", "int"):
        raise ValueError(f"{where(name)}.kind={kind}: expected float or int")
    numbers = [low, high] + ([] if step is None else [step])
    if any(isinstance(one, bool) or not isinstance(one, int | float) or not math.isfinite(one) for one in numbers):
        raise ValueError(f"{where(name)}: expected numbers, found low={low!r}, high={high!r}, step={step!r}")
    if not low < high or (step is not None and step <= 0) or (log and (low <= 0 or step is not None)):
        raise ValueError(
            f"{where(name)}: expected low < high, a step above 0, and with log low > 0 and no step;"
            f" found low={low}, high={high}, step={step}, log={log}"
        )
    if kind == "int" and any(one != int(one) for one in numbers):
        raise ValueError(f"{where(name)}: kind=int, found low={low}, high={high}, step={step}")
    return Parameter(name, (), low, high, log, step, kind == "int")


def where(name: str) -> str:
    """How errors call a parameter."""
    return f"hparams_search.space[{name}]"


def grid_points(space: Sequence[Parameter]) -> list[dict[str, Value]]:
    """Every combination; the last parameter changes fastest."""
    names = [one.name for one in space]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(one.values() for one in space))]


def probes(space: Sequence[Parameter]) -> list[dict[str, Value]]:
    """Few combinations in which every choice and every end of a range is there once, the others at their first."""
    first = {one.name: one.extremes()[0] for one in space}
    others = [first | {one.name: value} for one in space for value in one.extremes()[1:]]
    return [first, *others]


def overrides_of(values: Mapping[str, Value]) -> list[str]:
    """As they are said to Hydra on a command line: ``recipe.margin=5``."""
    return [f"{name}={_said(value)}" for name, value in values.items()]


def _said(value: Value) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str):
        return repr(value)
    if BARE.fullmatch(value) and value.lower() not in ("null", "true", "false", "nan", "inf"):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
