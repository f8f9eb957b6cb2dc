"""Read a Dockerfile and a .dockerignore: the steps of a stage, and the files that an engine would be sent."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

KNOWN = {"FROM", "RUN", "COPY", "ENV", "ARG", "USER", "WORKDIR", "VOLUME", "LABEL", "ENTRYPOINT", "CMD"}


class Step(NamedTuple):
    """One instruction."""

    line: int  # from 1, where it begins
    name: str  # upper case
    value: str  # continuation lines joined

    def words(self) -> list[str]:
        """The words of an instruction whose value is a JSON list or words with spaces between."""
        found: list[str] = json.loads(self.value) if self.value.startswith("[") else self.value.split()
        return found

    def pairs(self) -> dict[str, str]:
        """The names and values of ENV, LABEL and ARG, without the quotes; an ARG without a value is empty."""
        found = re.findall(r'([\w.]+)(?:=("[^"]*"|\S*))?', self.value)
        return {name: value.strip('"') for name, value in found}


class Stage(NamedTuple):
    """What is between two FROM."""

    name: str
    base: str  # another stage, or an image
    steps: list[Step]


def read_dockerfile(path: Path) -> dict[str, Stage]:
    """The stages by name.

    Raises:
        ValueError: an instruction that is not known here, or a stage without a name.
    """
    stages: dict[str, Stage] = {}
    for step in _steps(path.read_text(encoding="utf-8")):
        if step.name not in KNOWN:
            raise ValueError(f"{path}:{step.line}: expected one of {', '.join(sorted(KNOWN))}, found {step.name}")
        if step.name == "FROM":
            base, *named = re.split(r"\s+[Aa][Ss]\s+", step.value)
            if not named:
                raise ValueError(f"{path}:{step.line}: expected FROM ... AS name, found {step.value}")
            stages[named[0]] = Stage(named[0], base, [])
        else:
            list(stages.values())[-1].steps.append(step)
    return stages


def lineage(stages: dict[str, Stage], name: str) -> list[Stage]:
    """The stage and those that it begins from, the first of them first."""
    stage = stages[name]
    return [*(lineage(stages, stage.base) if stage.base in stages else []), stage]


def _steps(text: str) -> list[Step]:
    found, parts, first = [], [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or not (line.strip() or parts):
            continue
        first = first if parts else number
        parts.append(line.strip().removesuffix("\\").strip())
        if not line.rstrip().endswith("\\"):
            name, _, value = " ".join(parts).partition(" ")
            found.append(Step(first, name.upper(), value.strip()))
            parts = []
    return found


def context_files(root: Path, ignore: Path) -> list[Path]:
    """The files below ``root`` that an engine is sent, relative to it: the last pattern that matches decides."""
    lines = [line.strip() for line in ignore.read_text(encoding="utf-8").splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]
    found = []
    for top in sorted(root.iterdir()):
        # Folders of which nothing is let back in need not be walked: .git and virtual environments are large.
        if any(pattern.lstrip("!").split("/")[0] == top.name for pattern in patterns if pattern.startswith("!")):
            files = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())
            found += [path.relative_to(root) for path in files if _is_sent(path.relative_to(root), patterns)]
    return found


def _is_sent(path: Path, patterns: list[str]) -> bool:
    sent = True
    for pattern in patterns:
        if _matches(path, pattern.removeprefix("!")):
            sent = pattern.startswith("!")
    return sent


def _matches(path: Path, pattern: str) -> bool:
    """Whether a pattern matches the path or a folder that it lies in; ``**/`` is any number of folders."""
    names = [path, *path.parents[:-1]]
    if pattern.startswith("**/"):
        return any(fnmatchcase(name.name, pattern.removeprefix("**/")) for name in names)
    # No * of ours stands for a slash, and fnmatch's does: compare folder by folder.
    parts = pattern.split("/")
    return any(len(name.parts) == len(parts) and all(map(fnmatchcase, name.parts, parts)) for name in names)
