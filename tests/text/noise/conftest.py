import json
from pathlib import Path
from typing import Any

import pytest

from xsent.text.noise.lexicons import Lexicons, from_folder


@pytest.fixture(scope="session")
def nl_augmenter(shared_data: Path) -> Lexicons:
    """NL-Augmenter's own lists."""
    return from_folder(shared_data / "nlaugmenter")


@pytest.fixture(scope="session")
def reference(fixtures_dir: Path) -> dict[str, Any]:
    """Outputs and test cases of the released transformations."""
    fixture: dict[str, Any] = json.loads((fixtures_dir / "rolaser.json").read_text(encoding="utf-8"))
    return fixture
