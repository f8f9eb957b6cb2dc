"""Search space: parameters with choices or a range, and their values as Hydra overrides."""

import itertools
from collections.abc import Mapping
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from xsent.config_checks import UsageError, is_number
from xsent.run.config.compose import override

Value = None | bool | int | float | str
Distribution = CategoricalDistribution | FloatDistribution | IntDistribution
Space = Mapping[str, Distribution]  # by dotted config key (recipe.margin) or config group (encoder)

KINDS: dict[str, type[FloatDistribution | IntDistribution]] = {"float": FloatDistribution, "int": IntDistribution}


def read_space(space: Mapping[str, Any]) -> dict[str, Distribution]:
    """The parameters of ``search.space``.

    Args:
        space: by dotted key or config group ``{choices: [...]}``, or ``{low, high}`` with the optional keys
            ``log``, ``step`` and ``kind`` (float or int).

    Raises:
        ValueError: there is no parameter, or one is invalid; the message names it.
    """
    if not space:
        raise UsageError("search.space: expected at least one parameter, found none")
    distributions = {}
    for name, options in space.items():
        try:
            distributions[name] = _distribution(dict(options or {}))
        except ValueError as error:
            raise UsageError(f"{key_of(name)}: {error}") from None
    return distributions


def _distribution(options: dict[str, Any]) -> Distribution:
    if set(options) == {"choices"}:
        return _categorical(options["choices"])
    if not {"low", "high"} <= set(options) <= {"low", "high", "log", "step", "kind"}:
        raise UsageError(
            "expected choices alone, or low and high with optional log, step and kind;"
            f" found {', '.join(options) or 'nothing'}"
        )
    kind = options.get("kind", "float")
    if kind not in KINDS:
        raise UsageError(f"kind={kind}: expected float or int")
    numbers = {key: options[key] for key in ("low", "high", "step") if options.get(key) is not None}
    if not all(is_number(value) and (kind == "float" or isinstance(value, int)) for value in numbers.values()):
        raise UsageError(f"expected numbers of kind {kind}, found {numbers}")
    if not numbers["low"] < numbers["high"]:
        raise UsageError(f"expected low < high, found {numbers}")
    return KINDS[kind](**numbers, log=options.get("log", False))


def _categorical(choices: Any) -> Distribution:
    if not isinstance(choices, list) or len(set(map(repr, choices))) < max(1, len(choices)):
        raise UsageError(f"choices: expected a list of different values, found {choices!r}")
    if invalid := [choice for choice in choices if not isinstance(choice, Value)]:
        raise UsageError(f"choices: expected strings, numbers, booleans or null, found {invalid[0]!r}")
    return CategoricalDistribution(choices)


def key_of(name: str) -> str:
    """Name of a parameter in error messages."""
    return f"search.space[{name}]"


def grid_points(space: Space) -> list[dict[str, Value]]:
    """Every combination of values; the last parameter changes fastest.

    Raises:
        ValueError: a range of floats has no step.
    """
    values = [_grid_values(name, distribution) for name, distribution in space.items()]
    return [dict(zip(space, point, strict=True)) for point in itertools.product(*values)]


def _grid_values(name: str, distribution: Distribution) -> list[Value]:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    if distribution.step is None:
        raise UsageError(f"{key_of(name)}: a grid needs choices or a step, found a range without a step")
    count = int((distribution.high - distribution.low) / distribution.step + 1e-9) + 1
    values = [distribution.low + i * distribution.step for i in range(count)]
    # Rounded, because steps of a tenth would end in ...0000004.
    return [value if isinstance(value, int) else float(f"{value:.12g}") for value in values]


def probe_points(space: Space) -> list[dict[str, Value]]:
    """Few combinations that contain every choice and both ends of every range."""
    extremes = {
        name: list(axis.choices) if isinstance(axis, CategoricalDistribution) else [axis.low, axis.high]
        for name, axis in space.items()
    }
    first = {name: values[0] for name, values in extremes.items()}
    return [first, *(first | {name: value} for name, values in extremes.items() for value in values[1:])]


def overrides_of(values: Mapping[str, Value]) -> list[str]:
    """Values as overrides of Hydra's command line: ``recipe.margin=5``."""
    return [override(name, value) for name, value in values.items()]
