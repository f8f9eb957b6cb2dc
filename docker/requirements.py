"""Print the requirements in pyproject.toml and in the named extras, one per line: requirements.py cpu "st,onnx".

An image can thus install the packages before it copies the code.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def requirements(pyproject: Path, extras: list[str]) -> list[str]:
    """Requirements of the project and of its extras, including nested extras.

    Raises:
        ValueError: an unknown extra.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    available: dict[str, list[str]] = project["optional-dependencies"]
    result, queue, finished = list(project["dependencies"]), list(extras), set()
    while queue:
        extra = queue.pop(0)
        if extra not in available:
            raise ValueError(f"{pyproject}: no extra {extra!r}; expected one of {', '.join(sorted(available))}")
        if extra in finished:
            continue
        finished.add(extra)
        for requirement in available[extra]:
            nested = re.fullmatch(rf"{project['name']}\[(.+)\]", requirement)
            if nested:
                queue += nested[1].split(",")
            else:
                result.append(requirement)
    return result


if __name__ == "__main__":
    extra_names = [extra for argument in sys.argv[1:] for extra in argument.replace(" ", "").split(",") if extra]
    sys.stdout.write("".join(f"{line}\n" for line in requirements(Path("pyproject.toml"), extra_names)))
