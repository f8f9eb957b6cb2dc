"""Test set for small evaluations."""

from pathlib import Path

import pytest


@pytest.fixture
def tatoeba(tmp_path: Path) -> tuple[str, ...]:
    """Options of an evaluation of twelve pairs."""
    folder = tmp_path / "tatoeba"
    folder.mkdir()
    for language in ("deu", "eng"):
        lines = [f"{language} {row}\n" for row in range(12)]
        (folder / f"tatoeba.deu-eng.{language}").write_text("".join(lines))
    return "encoder=micro", "evaluator=tatoeba", f"evaluator.root={folder}", "evaluator.languages=[deu]"
