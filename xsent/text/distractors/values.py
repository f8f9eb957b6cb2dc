"""Whether what a config says is of the kind that is expected, before anything computes with it."""

from __future__ import annotations

import math
from typing import TypeGuard


def check_whole(name: str, value: object, *, least: int) -> None:
    """Raise ``ValueError``, naming the value, unless it is a whole number of at least so much."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value}: expected a whole number of at least {least}")


def check_number(name: str, value: object, *, least: float) -> None:
    """Raise ``ValueError``, naming the value, unless it is a finite number of at least so much."""
    if not is_number(value) or value < least:
        raise ValueError(f"{name}={value}: expected a number of at least {least:g}")


def check_text(name: str, value: object) -> None:
    """Raise ``ValueError``, naming the value, unless it is text."""
    if not isinstance(value, str):
        raise ValueError(f"{name}={value}: expected text, found {type(value).__name__}")


def check_flag(name: str, value: object) -> None:
    """Raise ``ValueError``, naming the value, unless it is true or false."""
    if not isinstance(value, bool):
        raise ValueError(f"{name}={value}: expected true or false")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a finite number; ``nan`` is beyond no limit, and would make one void."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
