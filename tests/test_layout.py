"""Imports between the packages of xsent, checked in the source (``docs/architecture.md``)."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "xsent"
BASE = {
    "batch",
    "similarity",
    "distributed",
    "files",
    "paths",
    "lexical_overlap",
    "quantization",
    "sigterm",
    "languages",
    "config_checks",
    "version",
}
MIDDLE = {"losses", "models", "data", "evaluation", "text"}
UPPER = {"recipes", "callbacks", "reporting", "checkpoint", "jobs"}

# package or module -> the packages and modules of xsent that it may import
ALLOWED = {
    **{name: set() for name in BASE},
    "catalogue": BASE,
    **{name: BASE | {name} for name in MIDDLE},
    "data": BASE | {"data", "text"},
    **{name: BASE | MIDDLE | {name} for name in UPPER},
    "callbacks": BASE | MIDDLE | {"recipes", "callbacks"},
    "run": BASE | MIDDLE | UPPER | {"catalogue", "run"},
    "sweeps": BASE | MIDDLE | UPPER | {"run", "sweeps"},
    "cli": BASE | MIDDLE | UPPER | {"catalogue", "run", "sweeps", "cli"},
    "__init__": {"catalogue", "run", "version"},
}

# third-party package -> files or folders of xsent that may import it
OWNERS = {
    "hydra": {"run", "sweeps"},
    "omegaconf": {"run", "sweeps"},
    "faiss": {"evaluation/search"},
    "transformers": {"models", "data"},
    "peft": {"models"},
    "stanza": {"text"},
    "nltk": {"text"},
    "mteb": {"evaluation"},
    "onnx": {"models"},
    "onnxruntime": {"models"},
    "optuna": {"sweeps"},
    "ray": {"jobs", "sweeps"},
    "submitit": {"sweeps"},
    "openai": {"text"},
    "py3langid": {"text"},
    "rapidfuzz": {"lexical_overlap", "text"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> list[tuple[int, str]]:
    """Line number and module of each import."""
    lines: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            lines += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            lines.append((node.lineno, node.module or ""))
    return lines


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    package = package_of(path)
    for line, name in imports(path):
        parts = name.split(".")
        if parts[0] == "xsent" and len(parts) > 1:
            assert parts[1] in ALLOWED[package], f"{path}:{line}: {package} may not import {name}"
        elif parts[0] in OWNERS:
            owners = tuple(OWNERS[parts[0]])
            assert str(path.relative_to(PACKAGE)).startswith(owners), f"{path}:{line}: {parts[0]} belongs to {owners}"


def dependencies() -> dict[str, set[str]]:
    """The modules of xsent that each module imports, including imports inside functions."""
    names = {str(path.relative_to(PACKAGE.parent).with_suffix("")).replace("/", "."): path for path in modules()}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph = {}
    for name, path in names.items():
        targets = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                members = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= (members & names.keys()) or {str(node.module)}
        graph[name] = targets & names.keys() - {name}
    return graph


def test_no_import_cycle_not_even_for_type_checking() -> None:
    graph = dependencies()
    while acyclic := [name for name, targets in graph.items() if not targets & graph.keys()]:
        for name in acyclic:
            del graph[name]
    cycle = next(iter(graph), "")
    path = [cycle]
    while cycle and path.count(path[-1]) < 2:
        path.append(min(graph[path[-1]] & graph.keys()))
    assert not graph, f"import cycle: {' -> '.join(path[path.index(path[-1]) :])}"
