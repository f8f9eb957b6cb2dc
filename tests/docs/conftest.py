"""Files and models that documented commands name, built once for all tests and processes."""

import os
from pathlib import Path

import pytest

from tests.docs.placeholders import Store


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # which the processes share
    shared = Path(folder) / "made"
    shared.mkdir(exist_ok=True)
    return Store(shared)
