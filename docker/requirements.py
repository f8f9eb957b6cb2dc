"""Say what pyproject.toml requires, with the extras that are named, a line each: requirements.py cpu "st,onnx".

So that an image installs the packages before it copies the code.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def requirements(pyproject: Path, extras: list[str]) -> list[str]:
    """What the project and its extras require; extras of extras are followed.

    Raises:
        ValueError: there is no such extra.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    known: dict[str, list[str]] = project["optional-dependencies"]
    found, waiting, seen = list(project["dependencies"]), list(extras), set()
    while waiting:
        extra = waiting.pop(0)
        if extra not in known:
            raise ValueError(f"{pyproject}: no extra {extra!r}; there are {', '.join(sorted(known))}")
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in known[extra]:
            own = re.fullmatch(rf"{project['name']}\[(.+)\]", requirement)
            if own:
                waiting += own[1].split(",")
            else:
                found.append(requirement)
    return found


if __name__ == "__main__":
    wanted = [extra for argument in sys.argv[1:] for extra in argument.replace(" ", "").split(",") if extra]
    sys.stdout.write("".join(f"{line}\n" for line in requirements(Path("pyproject.toml"), wanted)))
