"""Damage of the inverted file and the other shards of ``xsent mine``: made again, byte for byte, or refused.

Neither xsent nor its searches write FAISS index files: an index of FAISS lives in memory for one search. What a killed
run of ``xsent mine`` leaves on disk are the shards of its work folder.
"""

import json
import logging
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.faults.inject import KINDS, Damage, contents
from xsent.data.stores.array_cache import SEAL
from xsent.jobs.mining.engines import run_locally
from xsent.jobs.mining.mine import mine_files
from xsent.jobs.mining.settings import options_from
from xsent.models.encoders.tiny import TinyEncoder
from xsent.paths import sha256
from xsent.run import load_config

SETTINGS = ["search_method=ivf", "ivf.cell_size=8", "ivf.probes=3", "shard=25", "block=25"]
ARRAYS = {
    "source": ("text", "ends", "numbers", "counts"),
    "target": ("text", "ends", "numbers", "counts"),
    "source-vectors": ("vectors", "empty"),
    "target-vectors": ("vectors", "empty"),
    "centroids": ("centroids",),
    "target-cells": ("cell",),
    "order": ("order", "starts"),
    "arranged-vectors": ("vectors",),
    "search": ("scores", "rows", "back_scores", "back_rows"),
    "answer": ("scores", "rows"),
}
FILES = [f"{kind}/000000/{name}" for kind, names in ARRAYS.items() for name in (*(f"{n}.npy" for n in names), SEAL)]


def encoder(seed: int = 0) -> TinyEncoder:
    return TinyEncoder(name="tiny", dim=8, buckets=512, max_length=64, seed=seed)


def mine(folder: Path, **changes: Any) -> bytes:
    """The output of the job in ``folder``, whose work folder stays."""
    job: dict[str, Any] = {
        "load": encoder,
        "engine": run_locally,
        "options": options_from(load_config("mine", SETTINGS)),
    }
    sides = folder / "source.txt", folder / "target.txt"
    mine_files(*sides, folder / "out.tsv", space=None, device="cpu", work_dir=None, keep_work=True, **job | changes)
    return (folder / "out.tsv").read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("finished"), random.Random(0)
    words = ["red", "blue", "old", "new", "house", "tree", "river", "cat", "dog", "book"]
    for side in ("source", "target"):
        lines = [" ".join(rng.sample(words, 4)) for _ in range(60)]
        (folder / f"{side}.txt").write_text("\n".join(lines) + "\n")
    mine(folder)
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished job without its output."""
    copy = Path(shutil.copytree(finished, tmp_path / "job"))
    (copy / "out.tsv").unlink()
    return copy


@pytest.mark.parametrize("kind", [*KINDS, "missing", "a folder", "empty"])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_shard_is_made_again(
    name: str, kind: str, folder: Path, finished: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = folder / "out.tsv.work" / name
    assert file.is_file()
    if kind in KINDS:
        Damage(kind, 0.6, len(name)).apply(file)
    else:
        file.unlink()
        if kind == "a folder":
            file.mkdir()
        elif kind == "empty":
            file.touch()
    caplog.set_level(logging.WARNING)
    assert mine(folder) == (finished / "out.tsv").read_bytes()
    assert any(f"{file.parent}: " in message and "making it again" in message for message in caplog.messages)
    assert contents(folder) == contents(finished)


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_missing_shard_is_made_again(kind: str, folder: Path, finished: Path) -> None:
    shutil.rmtree(folder / "out.tsv.work" / kind)
    assert mine(folder) == (finished / "out.tsv").read_bytes()


# ---- shards with a valid seal that do not belong to the job


def forge(folder: Path, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
    """Change an array and its digest."""
    file = folder / "out.tsv.work" / name
    np.save(file, change(np.load(file)))
    seal = file.parent / SEAL
    seal.write_text(json.dumps(json.loads(seal.read_text()) | {file.name: sha256(file)}))


LAID_OUT = [
    f"{kind}/000000/{name}.npy" for kind, names in ARRAYS.items() for name in names if kind not in ("source", "target")
]
OTHER_ARRAYS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "fewer rows": lambda array: array[:-1],
    "another dimension": lambda array: array[..., None],
    "another type": lambda array: array.astype(np.float16),
}


# The number of cells is no part of the layout.
OTHER_ROWS = [
    pytest.param(name, change, id=f"{name}-{kind}")
    for name in LAID_OUT
    for kind, change in OTHER_ARRAYS.items()
    if kind != "fewer rows" or not name.endswith(("centroids.npy", "starts.npy"))
]


@pytest.mark.parametrize(("name", "change"), OTHER_ROWS)
def test_a_sealed_shard_of_another_shape_or_type_is_made_again(
    name: str, change: Callable[[NDArray[Any]], NDArray[Any]], folder: Path, finished: Path
) -> None:
    forge(folder, name, change)
    assert mine(folder) == (finished / "out.tsv").read_bytes()
    assert contents(folder) == contents(finished)


def _with(value: float, array: NDArray[Any]) -> NDArray[Any]:
    array[-1, 1] = value
    return array


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "name",
    [
        *("source-vectors/000001/vectors.npy", "target-vectors/000000/vectors.npy"),
        *("arranged-vectors/000001/vectors.npy", "centroids/000000/centroids.npy"),
    ],
)
def test_sealed_vectors_that_are_not_finite_are_refused(name: str, value: float, folder: Path) -> None:
    forge(folder, name, partial(_with, value))
    for later in ("target-cells", "order", "arranged-vectors", "search", "answer"):  # an unfinished run
        if not name.startswith(later):
            shutil.rmtree(folder / "out.tsv.work" / later)
    with pytest.raises(FloatingPointError, match=r"the vector of row .* is not finite"):
        mine(folder)
    assert not (folder / "out.tsv").exists()


# ---- work folders of another job


@pytest.mark.parametrize("change", ["encoder", "text", "option", "manifest"])
def test_the_work_folder_of_another_job_is_refused_and_stays(change: str, folder: Path) -> None:
    changes: dict[str, Any] = {}
    work = folder / "out.tsv.work"
    if change == "encoder":
        changes["load"] = partial(encoder, 1)
    elif change == "text":
        (folder / "source.txt").write_text("another text\n")
    elif change == "option":
        changes["options"] = options_from(load_config("mine", [*SETTINGS, "ivf.cell_size=9"]))
    else:
        manifest = json.loads((work / "manifest.json").read_text())
        (work / "manifest.json").write_text(json.dumps(manifest | {"encoder": "another"}))
    before = contents(folder)
    with pytest.raises(ValueError, match=r"holds the shards of another run: .* was .*, is "):
        mine(folder, **changes)
    assert contents(folder) == before


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00", '{"encoder": '], ids=repr)
def test_a_damaged_manifest_is_refused_and_stays(content: str, folder: Path) -> None:
    (folder / "out.tsv.work" / "manifest.json").write_text(content)
    before = contents(folder)
    with pytest.raises(ValueError, match=r"manifest\.json") as error:
        mine(folder)
    assert "\n" not in str(error.value)
    assert contents(folder) == before
