"""From many dimensions to two: the same every time, equal vectors one point, and a word where there is no picture."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from xsent.reporting.plots import projections
from xsent.reporting.plots.projections import Projection, project


def both(x: Tensor, *, seed: int = 1, perplexity: float = 5.0, cache_dir: Path | None = None) -> dict[str, Projection]:
    return project({"x": x}, seed=seed, perplexity=perplexity, cache_dir=cache_dir, progress="")["x"]


def two_clouds() -> Tensor:
    """40 vectors in 8 dimensions, the first 20 around one axis and the others around another."""
    noise = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    return 0.2 * noise + torch.eye(8)[:2].repeat_interleave(20, dim=0)


def test_pca_of_unit_vectors_by_hand() -> None:
    # (0.8, 0.6) and (0.8, -0.6) differ along the second axis alone; lengths 5 and 1 play no part.
    projection = both(torch.tensor([[4.0, 3.0], [0.8, -0.6], [4.0, 3.0], [0.8, -0.6]]))["PCA"]
    signs = np.sign(projection.points[0, 0]) * np.array([1, -1, 1, -1])
    np.testing.assert_allclose(projection.points, np.stack([0.6 * signs, np.zeros(4)], axis=1), atol=1e-6)
    assert projection.note == "100% and 0% of the variance; 4 vectors, 2 of them distinct"


def test_tsne_keeps_neighbours_together() -> None:
    points = torch.from_numpy(both(two_clouds())["t-SNE"].points)
    nearest = torch.cdist(points, points).fill_diagonal_(torch.inf).argmin(dim=1)
    assert torch.equal(nearest // 20, torch.arange(40) // 20)


def test_the_number_of_threads_decides_nothing() -> None:
    clouds = {"a": two_clouds(), "b": two_clouds().flip(0), "c": 3 - two_clouds()}
    threads = torch.get_num_threads()
    results = []
    try:
        for number in (1, 3):
            torch.set_num_threads(number)
            results.append(project(clouds, seed=1, perplexity=5.0, cache_dir=None, progress=""))
    finally:
        torch.set_num_threads(threads)
    for name, method in product(clouds, projections.METHODS):
        assert results[0][name][method].points.tobytes() == results[1][name][method].points.tobytes()


def test_equal_vectors_are_one_point() -> None:
    x = two_clouds()
    projections = both(torch.cat([x, 2 * x]))
    for projection in projections.values():
        np.testing.assert_array_equal(projection.points[:40], projection.points[40:])
        assert "80 vectors, 40 of them distinct" in projection.note


@pytest.mark.parametrize(("vectors", "distinct"), [(torch.ones(30, 4), 1), (torch.zeros(30, 4), 1), (torch.eye(5), 5)])
def test_too_few_distinct_vectors_have_a_pca_and_a_note_in_place_of_tsne(vectors: Tensor, distinct: int) -> None:
    count = len(vectors)
    projections = both(vectors)
    note = f"no t-SNE: perplexity 5 needs more than 5 distinct vectors, found {distinct} among {count}"
    assert projections["t-SNE"].points.shape == (0, 2)
    assert projections["t-SNE"].note == note
    assert projections["PCA"].points.shape == (count, 2)
    if distinct == 1:
        np.testing.assert_array_equal(projections["PCA"].points, np.zeros((count, 2)))
        assert projections["PCA"].note == f"{count} vectors, 1 of them distinct"
    assert len(both(torch.eye(6))["t-SNE"].points) == 6  # one more than the perplexity is enough


def test_points_are_taken_from_the_cache_unless_something_that_decides_them_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = both(two_clouds(), cache_dir=tmp_path)["t-SNE"].points

    def refuse(*_: object, **__: object) -> Any:
        raise RuntimeError("computed again")

    monkeypatch.setattr(projections, "TSNE", refuse)
    again = both(two_clouds(), cache_dir=tmp_path)["t-SNE"].points
    assert first.tobytes() == again.tobytes()
    for changed in ({"seed": 2}, {"perplexity": 6.0}):
        with pytest.raises(RuntimeError, match="computed again"):
            both(two_clouds(), cache_dir=tmp_path, **changed)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="computed again"):
        both(two_clouds() + 0.1, cache_dir=tmp_path)
