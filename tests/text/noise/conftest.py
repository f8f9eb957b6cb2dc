from __future__ import annotations

from pathlib import Path

import pytest

from xsent.text.noise.lexicons import Lexicons, from_folder


@pytest.fixture(scope="session")
def nl_augmenter(shared_data: Path) -> Lexicons:
    """NL-Augmenter's own lists."""
    return from_folder(shared_data / "nlaugmenter")
