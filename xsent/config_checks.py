"""Type and range checks of config values: each raises ``UsageError`` that names the option."""

import math
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TypeGuard


class UsageError(ValueError):
    """A wrong option or value: the user has to change the command, not the data."""


def check_integer(name: str, value: object, *, minimum: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise UsageError(f"{name}={value}: expected an integer of at least {minimum}")


def check_positive(name: str, value: object) -> None:
    if not is_number(value) or value <= 0:
        raise UsageError(f"{name}={value}: expected a number above 0")


def check_number(name: str, value: object, *, minimum: float = 0) -> None:
    if not is_number(value) or value < minimum:
        raise UsageError(f"{name}={value}: expected a number of at least {minimum:g}")


def check_share(name: str, value: object) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise UsageError(f"{name}={value!r}: expected a number from 0 to 1")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{name}={value}: expected one of {', '.join(choices)}{suggestion(str(value), choices)}")


def check_string(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{name}={value}: expected a string, found {type(value).__name__}")


def check_space(space: str, spaces: tuple[str, ...]) -> None:
    if space not in spaces:
        advice = "" if len(spaces) > 1 else "; only a run with heads has meaning and language"
        raise UsageError(f"space={space}: expected {' or '.join(spaces)}{advice}")


def check_boolean(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name}={value}: expected true or false")


def check_device(device: str) -> None:
    """Raise ``ValueError`` if torch cannot compute there."""
    import torch  # takes seconds

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch was built without CUDA
        reason = str(error).split("\n")[0]
        raise UsageError(f"device {device!r} cannot be used: {reason}") from error


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether the value is a finite number; no comparison with NaN holds, so NaN would disable a limit."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def suggestion(name: str, choices: Iterable[str]) -> str:
    """End of an error message: ``"; did you mean oracle?"`` if a choice is near the name, else empty."""
    nearest = get_close_matches(name.lower(), choices, n=1, cutoff=0.6)
    return f"; did you mean {nearest[0]}?" if nearest else ""
