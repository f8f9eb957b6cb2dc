"""Who may import whom, read from the source; ``docs/architecture.md`` says why."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "xsent"
LEAVES = {"batch", "similarity", "distributed", "paths", "overlap", "append_only", "languages"}
MIDDLE = {"losses", "models", "data", "evaluation", "text"}
UPPER = {"recipes", "callbacks", "reporting", "checkpoint", "jobs"}

# room -> rooms of xsent it may import
ALLOWED = {
    **{leaf: set() for leaf in LEAVES},
    **{room: LEAVES | {room} for room in MIDDLE},
    "data": LEAVES | {"data", "text"},
    **{room: LEAVES | MIDDLE | {room} for room in UPPER},
    "callbacks": LEAVES | MIDDLE | {"recipes", "callbacks"},
    "run": LEAVES | MIDDLE | UPPER | {"run"},
    "cli": LEAVES | MIDDLE | UPPER | {"run", "cli"},
    "__init__": {"run"},
}

# third-party package -> rooms that may import it
OWNERS = {
    "hydra": {"run"},
    "omegaconf": {"run"},
    "faiss": {"evaluation"},
    "transformers": {"models", "data"},
    "stanza": {"text"},
    "nltk": {"text"},
    "mteb": {"evaluation"},
    "onnx": {"models"},
    "onnxruntime": {"models"},
    "optuna": {"run"},
    "ray": {"jobs", "run"},
    "submitit": {"run"},
    "openai": {"text"},
    "py3langid": {"text"},
    "rapidfuzz": {"overlap"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            found.append((node.lineno, node.module or ""))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    for line, name in imports(path):
        parts = name.split(".")
        if parts[0] == "xsent" and len(parts) > 1:
            assert parts[1] in ALLOWED[room], f"{path}:{line}: {room} may not import {name}"
        elif parts[0] in OWNERS:
            assert room in OWNERS[parts[0]], f"{path}:{line}: {parts[0]} belongs to {OWNERS[parts[0]]}"
