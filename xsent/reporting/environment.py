"""Environment of a run, recorded for reproduction: versions, machine, git commit, time."""

import os
import platform
import subprocess
from datetime import datetime
from importlib import metadata
from pathlib import Path

import torch

from xsent.version import __version__

COMMIT = "XSENT_COMMIT"  # environment variable for images without a checkout, set at build time
PACKAGES = ("faiss-cpu", "faiss-gpu", "hydra-core", "numpy", "pytorch-lightning", "tokenizers", "torch", "transformers")


def environment() -> dict[str, object]:
    """Versions, machine and commit of this process and the local time, as plain values."""
    return {
        "xsent": __version__,
        "git": git_commit(Path(__file__).parent) or os.environ.get(COMMIT) or None,
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "started": f"{datetime.now():%Y-%m-%d %H:%M}",
    }


def git_commit(folder: Path) -> str | None:
    """Commit of the checkout around ``folder``, with ``+`` appended if files were changed; None outside a checkout."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
