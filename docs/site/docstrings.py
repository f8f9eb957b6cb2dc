"""Griffe extension: one entry per parameter for parameters that a docstring describes together."""

from __future__ import annotations

import re
from typing import Any

import griffe

# `    margin, scale: cosine units` in a section `Args:`, with the lines that continue it.
TOGETHER = re.compile(r"^( {4})(\w+(?:, \w+)+)(: .*(?:\n {5,}.*)*)", re.MULTILINE)


class NamesTogether(griffe.Extension):
    """Splits ``margin, scale: text`` into one entry per parameter, so that types are shown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring and (obj.is_function or obj.is_class):
            obj.docstring.value = TOGETHER.sub(_apart, obj.docstring.value)


def _apart(match: re.Match[str]) -> str:
    indent, names, rest = match.groups()
    return "\n".join(f"{indent}{name}{rest}" for name in names.split(", "))
