"""Summary of a job as JSON: counts by group and reason, and the versions of packages."""

import json
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from xsent import __version__
from xsent.files.atomic import write_text


def write_summary(output: Path, content: Mapping[str, object]) -> None:
    """Write ``<output>.summary.json``."""
    write_text(summary_path(output), json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def summary_path(output: Path) -> Path:
    """``<output>.summary.json``."""
    return output.with_name(f"{output.name}.summary.json")


def nest_counts(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """Counts by both parts of the key, sorted."""
    nested: dict[str, dict[str, int]] = {}
    for (group, reason), count in sorted(counts.items()):
        nested.setdefault(group, {})[reason] = count
    return nested


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of Python, of xsent and of the packages that are installed."""
    installed = {"python": platform.python_version(), "xsent": __version__}
    for package in packages:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed
