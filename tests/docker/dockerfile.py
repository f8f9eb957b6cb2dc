"""Dockerfile and .dockerignore parser: the steps of each stage, and the files of the build context."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

INSTRUCTIONS = {"FROM", "RUN", "COPY", "ENV", "ARG", "USER", "WORKDIR", "VOLUME", "LABEL", "ENTRYPOINT", "CMD"}


class Step(NamedTuple):
    """One instruction."""

    line: int  # from 1, where it begins
    name: str  # upper case
    value: str  # continuation lines joined

    def words(self) -> list[str]:
        """The words of a JSON list or of a space-separated value."""
        result: list[str] = json.loads(self.value) if self.value.startswith("[") else self.value.split()
        return result

    def pairs(self) -> dict[str, str]:
        """Names and values of ENV, LABEL and ARG, unquoted; an ARG without a value is empty."""
        result = re.findall(r'([\w.]+)(?:=("[^"]*"|\S*))?', self.value)
        return {name: value.strip('"') for name, value in result}


class Stage(NamedTuple):
    """The steps between two FROM instructions."""

    name: str
    base: str  # another stage, or an image
    steps: list[Step]


def read_dockerfile(path: Path) -> dict[str, Stage]:
    """Read the stages by name.

    Raises:
        ValueError: an instruction that is not known here, or a stage without a name.
    """
    stages: dict[str, Stage] = {}
    for step in _steps(path.read_text(encoding="utf-8")):
        if step.name not in INSTRUCTIONS:
            raise ValueError(
                f"{path}:{step.line}: expected one of {', '.join(sorted(INSTRUCTIONS))}, found {step.name}"
            )
        if step.name == "FROM":
            base, *named = re.split(r"\s+[Aa][Ss]\s+", step.value)
            if not named:
                raise ValueError(f"{path}:{step.line}: expected FROM ... AS name, found {step.value}")
            stages[named[0]] = Stage(named[0], base, [])
        else:
            list(stages.values())[-1].steps.append(step)
    return stages


def lineage(stages: dict[str, Stage], name: str) -> list[Stage]:
    """The stage and the stages it is based on, the first base first."""
    stage = stages[name]
    return [*(lineage(stages, stage.base) if stage.base in stages else []), stage]


def _steps(text: str) -> list[Step]:
    result, parts, first = [], [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or not (line.strip() or parts):
            continue
        first = first if parts else number
        parts.append(line.strip().removesuffix("\\").strip())
        if not line.rstrip().endswith("\\"):
            name, _, value = " ".join(parts).partition(" ")
            result.append(Step(first, name.upper(), value.strip()))
            parts = []
    return result


def context_files(root: Path, ignore: Path) -> list[Path]:
    """The files of the build context, relative to ``root``; the last matching pattern decides."""
    lines = [line.strip() for line in ignore.read_text(encoding="utf-8").splitlines()]
    patterns = [line for line in lines if line and not line.startswith("#")]
    result = []
    for top in sorted(root.iterdir()):
        # Skip top-level folders without an exception: .git and virtual environments are large.
        if any(pattern.lstrip("!").split("/")[0] == top.name for pattern in patterns if pattern.startswith("!")):
            files = [top] if top.is_file() else sorted(path for path in top.rglob("*") if path.is_file())
            result += [path.relative_to(root) for path in files if _is_sent(path.relative_to(root), patterns)]
    return result


def _is_sent(path: Path, patterns: list[str]) -> bool:
    sent = True
    for pattern in patterns:
        if _matches(path, pattern.removeprefix("!")):
            sent = pattern.startswith("!")
    return sent


def _matches(path: Path, pattern: str) -> bool:
    """Whether a pattern matches the path or a parent folder; ``**/`` matches any number of folders."""
    names = [path, *path.parents[:-1]]
    if pattern.startswith("**/"):
        return any(fnmatchcase(name.name, pattern.removeprefix("**/")) for name in names)
        # fnmatch's * also matches slashes, so compare folder by folder.
    parts = pattern.split("/")
    return any(len(name.parts) == len(parts) and all(map(fnmatchcase, name.parts, parts)) for name in names)
