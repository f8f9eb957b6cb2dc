"""What docstrings of this project write shorter than the parser of Google's style reads."""

from __future__ import annotations

import re
from typing import Any

import griffe

# `    margin, scale: cosine units` in a section `Args:`, with the lines that continue it.
TOGETHER = re.compile(r"^( {4})(\w+(?:, \w+)+)(: .*(?:\n {5,}.*)*)", re.MULTILINE)


class NamesTogether(griffe.Extension):
    """Gives each of several parameters that are described together an entry of its own, so that its type is shown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring and (obj.is_function or obj.is_class):
            obj.docstring.value = TOGETHER.sub(_apart, obj.docstring.value)


def _apart(found: re.Match[str]) -> str:
    indent, names, rest = found.groups()
    return "\n".join(f"{indent}{name}{rest}" for name in names.split(", "))
