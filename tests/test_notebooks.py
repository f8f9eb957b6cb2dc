"""The notebooks run from top to bottom, draw what they promise, and are stored without a trace of having run."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
PICTURES = {"disentangling": 4, "mining_and_filtering": 1, "quickstart": 1}
LINES = 22  # of a cell: what can be taken in at a glance

EACH = [pytest.param(path, id=path.stem) for path in NOTEBOOKS]


@pytest.mark.slow
@pytest.mark.parametrize("path", EACH)
def test_runs_and_draws(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel is a process of its own: it finds the package as the tests do.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(path.parent.parent), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(path.parent))
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= PICTURES[path.stem]


@pytest.mark.parametrize("path", EACH)
def test_is_stored_without_outputs_and_without_a_machine(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"
    assert "version" not in notebook.metadata.language_info
    for cell in notebook.cells:
        assert not cell.metadata
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", EACH)
def test_holds_no_logic(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    for cell in cells:
        assert len(cell.source.splitlines()) <= LINES, cell.source
        assert not cell.source.startswith(("!", "%"))
    assert any("import xsent" in cell.source or "from xsent" in cell.source for cell in cells)
