"""Fixtures: the repository, shared data (``XSENT_DATA``, by default beside the checkout), reference figures."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

# Some tests send Ctrl-C, which processes started in the background of a shell ignore by default.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the tests of minutes, so that no process works alone on one of them at the end."""
    items.sort(key=lambda item: "built" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def repo_root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    folder = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set XSENT_DATA")
    return folder


@pytest.fixture(scope="session")
def fixtures_dir(shared_data: Path) -> Path:
    folder = shared_data.parent / "papers" / "fixtures"
    if not folder.is_dir():
        pytest.skip(f"no reference figures at {folder}")
    return folder


@pytest.fixture
def ray_cluster_slot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other test uses Ray meanwhile: two clusters that start at the same time take each other's ports."""
    ray = pytest.importorskip("ray")
    # Ray would write a token to the home folder, and leave its variable set for later tests.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with FileLock(Path(tempfile.gettempdir()) / "xsent-tests-ray.lock"):
        yield
        ray.shutdown()
