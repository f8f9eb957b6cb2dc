"""Deterministic PCA and t-SNE projections of unit vectors to two dimensions."""

import hashlib
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits
from torch import Tensor
from tqdm import tqdm

from xsent.data.stores.array_cache import cached_arrays
from xsent.files.array_file import save_array
from xsent.similarity import unit

log = logging.getLogger(__name__)

Array = NDArray[np.floating[Any]]
METHODS = ("t-SNE", "PCA")


class Projection(NamedTuple):
    """N vectors in the plane."""

    points: Array  # (N, 2) float32; (0, 2) where the vectors allow no projection
    note: str  # variance, equal vectors, or why there are no points


def project(
    vectors: Mapping[str, Tensor], *, seed: int, perplexity: float, cache_dir: Path | None, progress: str
) -> dict[str, dict[str, Projection]]:
    """Both projections, by method, of each of several sets of vectors.

    Vectors are scaled to unit length first, because retrieval compares cosines; vectors of one direction become one
    point. Each set is computed by a single thread, so the number of threads does not change the result.

    Args:
        vectors: (N, D) by name of the set, D at least 2.
        seed, perplexity: of t-SNE, which keeps about ``perplexity`` neighbours together.
        cache_dir: cache of t-SNE's points; None for no cache.
        progress: text of the progress bar.
    """
    project_one_set = partial(_project, seed=seed, perplexity=perplexity, cache_dir=cache_dir)
    # BLAS has one setting for the whole process, OpenMP one for each thread.
    with (
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(torch.get_num_threads(), initializer=threadpool_limits, initargs=(1, "openmp")) as pool,
    ):
        projected = pool.map(project_one_set, vectors.values())
        return dict(zip(vectors, tqdm(projected, progress, len(vectors), leave=False), strict=True))


def _project(x: Tensor, *, seed: int, perplexity: float, cache_dir: Path | None) -> dict[str, Projection]:
    rows = unit(x.detach().double()).float().cpu().numpy()
    distinct, row_of = np.unique(rows, axis=0, return_inverse=True)
    equal = "" if len(distinct) == len(rows) else f"{len(rows):,} vectors, {len(distinct):,} of them distinct"
    if len(distinct) > perplexity:
        # t-SNE would pull equal vectors apart.
        near = Projection(_cached_tsne(distinct, seed, perplexity, cache_dir)[row_of], equal)
    else:  # the rest of a study is still drawn
        note = f"perplexity {perplexity:g} needs more than {perplexity:g} distinct vectors"
        note = f"no t-SNE: {note}, found {len(distinct):,} among {len(rows):,}"
        log.warning("%s", note)
        near = Projection(np.zeros((0, 2), np.float32), note)
    return {"t-SNE": near, "PCA": _pca(rows, len(distinct), equal)}


def _pca(rows: Array, distinct: int, equal: str) -> Projection:
    if distinct < 2:
        return Projection(np.zeros((len(rows), 2), np.float32), equal)
    pca = PCA(2, svd_solver="covariance_eigh")  # exact, so there is nothing to seed
    points = pca.fit_transform(rows.astype(np.float64)).astype(np.float32)
    first, second = pca.explained_variance_ratio_
    variance = f"{first:.0%} and {second:.0%} of the variance"
    return Projection(points, f"{variance}; {equal}" if equal else variance)


def _cached_tsne(distinct: Array, seed: int, perplexity: float, cache_dir: Path | None) -> Array:
    if cache_dir is None:
        return _tsne(distinct, seed, perplexity)
    settings = f"t-SNE cosine {seed} {perplexity} {distinct.shape} scikit-learn {sklearn.__version__}"
    key = hashlib.sha256(settings.encode() + np.ascontiguousarray(distinct).tobytes()).hexdigest()

    def make(folder: Path) -> None:
        save_array(folder / "points.npy", _tsne(distinct, seed, perplexity))

    return np.asarray(cached_arrays(cache_dir, "projections", key, make)["points"], dtype=np.float32)


def _tsne(distinct: Array, seed: int, perplexity: float) -> Array:
    # From PCA the picture keeps more of the large scale than from random points.
    tsne = TSNE(2, metric="cosine", perplexity=perplexity, init="pca", random_state=seed)
    points: Array = tsne.fit_transform(distinct.astype(np.float64)).astype(np.float32)
    return points
