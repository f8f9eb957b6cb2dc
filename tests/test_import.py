"""Importing is cheap, asking for help is quick."""

import subprocess
import sys
import time
from pathlib import Path


def test_importing_xsent_imports_nothing_heavy() -> None:
    code = (
        "import sys, xsent; heavy = {'torch', 'transformers', 'pytorch_lightning', 'faiss', 'hydra'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_help_of_train_comes_quickly(repo_root: Path) -> None:
    start = time.perf_counter()
    out = subprocess.run(
        [sys.executable, "train.py", "recipe=oracle", "--help"],
        cwd=repo_root,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - start
    assert "recipe" in out.stdout
    # Alone it takes about one second; other tests run beside it.
    assert seconds < 10


def test_train_alone_lists_the_recipes(repo_root: Path) -> None:
    out = subprocess.run([sys.executable, "train.py"], cwd=repo_root, capture_output=True, text=True)
    assert out.returncode != 0
    for recipe in ("labse", "dream", "meat", "oracle"):
        assert recipe in out.stderr
