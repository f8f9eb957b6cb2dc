"""Pictures of vectors: there, of a sensible size, the same for the same seed."""

import json
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from xsent.reporting.plots.canvas import COLOURS, MARKERS
from xsent.reporting.plots.embeddings import projection_pictures

LANGUAGES = ["deu"] * 12 + ["eng"] * 12


def spaces() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    meaning, language = torch.randn(2, 24, 6, generator=generator)
    return {"original": meaning + language, "meaning": meaning, "language": language}


def draw(vectors: dict[str, Tensor], folder: Path) -> list[Path]:
    sentences = [f"sentence {number}" for number in range(24)]
    return projection_pictures(vectors, sentences, LANGUAGES, folder=folder, seed=1, perplexity=5.0)


def test_two_pictures_with_a_panel_per_space_and_their_points_the_same_for_the_same_seed(tmp_path: Path) -> None:
    has_pyplot = "matplotlib.pyplot" in sys.modules
    paths = draw(spaces(), tmp_path / "a")
    assert ("matplotlib.pyplot" in sys.modules) == has_pyplot  # whose state is global
    assert [path.name for path in paths] == ["pca.png", "tsne.png"]
    for path, again in zip(paths, draw(spaces(), tmp_path / "b"), strict=True):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.read_bytes() == again.read_bytes()
        width, height = (int.from_bytes(path.read_bytes()[at : at + 4], "big") for at in (16, 20))
        assert width > 2.5 * height  # three panels side by side
    content = (tmp_path / "a" / "points.json").read_bytes()
    assert content == (tmp_path / "b" / "points.json").read_bytes()
    written = json.loads(content)
    assert written["sentences"] == [f"sentence {number}" for number in range(24)]
    assert written["languages"] == LANGUAGES
    assert {method: list(panels) for method, panels in written["methods"].items()} == {
        method: ["original", "meaning", "language"] for method in ("PCA", "t-SNE")
    }
    # The first axis of PCA is that of the largest variance, and both are around zero.
    points = np.array(written["methods"]["PCA"]["meaning"]["points"])
    assert points.shape == (24, 2)
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-4)
    assert points[:, 0].var() > points[:, 1].var()


def test_a_space_that_has_collapsed_to_a_point_is_drawn_too(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = draw({"language": torch.ones(24, 6), "zero": torch.zeros(24, 6)}, tmp_path)
    assert all(path.is_file() for path in paths)


def test_up_to_72_languages_have_a_colour_and_marker_of_their_own() -> None:
    looks = {(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i in range(72)}
    assert looks == set(product(COLOURS, MARKERS))


def test_too_few_sentences_or_labels_are_an_error(tmp_path: Path) -> None:
    few = {space: x[:5] for space, x in spaces().items()}
    with pytest.raises(ValueError, match=r"perplexity 5.0 needs more sentences than that, found 5"):
        projection_pictures(few, ["a"] * 5, LANGUAGES[:5], folder=tmp_path, seed=1, perplexity=5.0)
    with pytest.raises(ValueError, match="original: 5 vectors for 24 languages"):
        draw(few, tmp_path)
    with pytest.raises(ValueError, match="1 sentences for 24 languages"):
        projection_pictures(spaces(), ["a"], LANGUAGES, folder=tmp_path, seed=1, perplexity=5.0)
