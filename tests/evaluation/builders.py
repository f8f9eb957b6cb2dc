"""Evaluators of given test sets, with the options that most tests share, and items of CLSD."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any


def builder(evaluator: type, **options: Any) -> Callable[..., Any]:
    """Function of test sets and changed options that makes an evaluator; it reads all sets unless ``read`` is given."""
    accepted = {field.name for field in fields(evaluator) if field.init}

    def make(*test_sets: Any, **changes: Any) -> Any:
        defaults = {"root": None, "languages": None, "missing": "error", "read": lambda root, requested: test_sets}
        shared = {name: value for name, value in defaults.items() if name in accepted}
        return evaluator(**{**shared, **options, **changes})

    return make


@dataclass(frozen=True)
class Items:
    """Set of items of CLSD."""

    name: str = "toy"
    source_lang: str = "deu"
    target_lang: str = "fra"
    ids: list[str] = field(default_factory=lambda: ["7", "8"])
    source: list[str] = field(default_factory=lambda: ["s0", "s1"])
    target: list[str] = field(default_factory=lambda: ["le chat dort", "il pleut"])
    distractors: list[list[str]] = field(
        default_factory=lambda: [["le chien dort", "le chat mange"], ["il neige", "elle pleut"]]
    )
