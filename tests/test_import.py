"""Importing is cheap, asking for help is quick."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import xsent


def test_importing_xsent_imports_nothing_heavy() -> None:
    code = (
        "import sys, xsent; heavy = {'torch', 'transformers', 'pytorch_lightning', 'faiss', 'hydra'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    start = time.perf_counter()
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    # 0.03 seconds alone; other tests run beside it.
    assert time.perf_counter() - start < 3


def test_the_table_of_encoders_needs_no_torch() -> None:
    code = "import sys, xsent; print(xsent.encoders()); assert 'torch' not in sys.modules"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\nmini " in out.stdout


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


def test_xsent_lists_its_functions_and_each_of_them_loads() -> None:
    functions = {"encoders", "load_encoder", "load_judge", "mine", "score"}
    assert {"__version__", *functions} <= set(dir(xsent)) == set(xsent.__all__)
    for name in dir(xsent):
        assert getattr(xsent, name).__doc__ or name == "__version__"
    with pytest.raises(AttributeError, match="no attribute 'load'"):
        xsent.load  # noqa: B018
