"""The reference release's numbers of retrieval and mining."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((fixtures_dir / "retrieval.json").read_text())
    return found
