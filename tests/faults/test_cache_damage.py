"""Damaged, forged and foreign content of caches and work folders.

Expected: the arrays of an undamaged cache, made again where a byte of them or of their digests changed, and a log line
that names the folder; nothing outside the folder changes.
"""

import io
import json
import logging
import os
import pickle
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.data.stores.test_stores import TEXTS, LetterEncoder
from tests.faults.inject import Damage, damages
from tests.text.noise.test_noiser import noiser
from xsent.data.stores.array_cache import SEAL
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.stores.tokens import noisy_texts, tokenize_once
from xsent.evaluation.evaluator import Evaluation
from xsent.files.array_file import save_array
from xsent.jobs.work_folder import WorkFolder
from xsent.paths import sha256
from xsent.run.before import score_start

SENTENCES = [f"this is sentence number {number}, which is before the next" for number in range(40)]


def embeddings(folder: Path) -> list[Any]:
    encoder: Any = LetterEncoder()
    vectors: list[Any] = EmbeddingStore(folder).vectors(TEXTS, encoder).tolist()
    return vectors


def tokens(folder: Path) -> list[Any]:
    store = tokenize_once(TEXTS, LetterEncoder(), folder)
    return [store.ids.tolist(), store.offsets.tolist()]


def noise(folder: Path) -> list[str]:
    return noisy_texts(SENTENCES, range(len(SENTENCES)), noiser(), cache_dir=folder, workers=1)


def shard(folder: Path) -> list[Any]:
    work = WorkFolder(folder)

    def write(place: Path) -> None:
        save_array(place / "vectors.npy", np.arange(60, dtype=np.float32).reshape(20, 3))
        save_array(place / "zeros.npy", np.array([2]))

    work.make("vectors", 0, write)
    return [work.array("vectors", 0, name).tolist() for name in ("vectors", "zeros")]


STORES: dict[str, Callable[[Path], list[Any]]] = {
    "embeddings": embeddings,
    "tokens": tokens,
    "noise": noise,
    "shard": shard,
}
FILES = {
    "embeddings": ["vectors.npy"],
    "tokens": ["ids.npy", "offsets.npy"],
    "noise": ["bytes.npy", "ends.npy", "untouched.npy"],
    "shard": ["vectors.npy", "zeros.npy"],
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[Any]]]:
    """Folder and result of an undisturbed store, by name."""
    folders = {name: tmp_path_factory.mktemp(name) for name in STORES}
    return {name: (folders[name], STORES[name](folders[name])) for name in STORES}


@pytest.fixture
def stored(expected: dict[str, tuple[Path, list[Any]]], tmp_path: Path) -> Callable[[str], Path]:
    """Copies a store to ``tmp_path/cache`` and returns the folder of its arrays."""

    def copy(name: str) -> Path:
        shutil.copytree(expected[name][0], tmp_path / "cache")
        (seal,) = (tmp_path / "cache").rglob(SEAL)
        return seal.parent

    return copy


def check_made_again(name: str, folder: Path, expected: Any, caplog: pytest.LogCaptureFixture) -> None:
    cache = folder.parent.parent
    with caplog.at_level(logging.WARNING):
        assert STORES[name](cache) == expected[name][1]
    (message,) = (record.getMessage() for record in caplog.records)
    assert message.startswith(f"{folder}: ")
    assert message.endswith("; making it again")
    check_intact(name, cache, expected, caplog)


def check_intact(name: str, cache: Path, expected: Any, caplog: pytest.LogCaptureFixture) -> None:
    """What is stored now equals an undisturbed store, and no damage is reported."""
    caplog.clear()
    assert STORES[name](cache) == expected[name][1]
    assert not caplog.records
    origin = expected[name][0]
    for path in origin.rglob("*.npy"):
        assert (cache / path.relative_to(origin)).read_bytes() == path.read_bytes()
    assert not list(cache.rglob("*.tmp"))


ARRAYS = [(name, file) for name, files in FILES.items() for file in files]


@pytest.mark.parametrize("damage", damages(30, seed=3))
@pytest.mark.parametrize(("name", "file"), ARRAYS)
def test_a_damaged_array_is_made_again(
    name: str, file: str, damage: Damage, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    damage.apply(folder / file)
    check_made_again(name, folder, expected, caplog)


@pytest.mark.parametrize("damage", damages(24, seed=4))
@pytest.mark.parametrize("name", STORES)
def test_damaged_digests_never_change_the_result(
    name: str, damage: Damage, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    digests = json.loads((folder / SEAL).read_text())
    damage.apply(folder / SEAL)
    try:
        is_equal = json.loads((folder / SEAL).read_bytes()) == digests  # such as a further space
    except ValueError:
        is_equal = False
    if is_equal:
        check_intact(name, folder.parent.parent, expected, caplog)
    else:
        check_made_again(name, folder, expected, caplog)


# ---- forged digests: each beside arrays of which one is altered


FORGED: dict[str, Callable[[Path], object]] = {
    "empty object": lambda folder: {},
    "list": lambda folder: [],
    "list of names": lambda folder: [path.name for path in folder.glob("*.npy")],
    "null": lambda folder: None,
    "true": lambda folder: True,
    "number": lambda folder: 1,
    "text": lambda folder: "sha256",
    "digests that are null": lambda folder: dict.fromkeys(names(folder)),
    "digests that are true": lambda folder: dict.fromkeys(names(folder), True),
    "digests that are lists": lambda folder: {name: [sha256(folder / name)] for name in names(folder)},
    "digests in capitals": lambda folder: {name: sha256(folder / name).upper() for name in names(folder)},
    "empty digests": lambda folder: dict.fromkeys(names(folder), ""),
    "stems": lambda folder: {name.removesuffix(".npy"): sha256(folder / name) for name in names(folder)},
    "a name too few": lambda folder: {name: sha256(folder / name) for name in names(folder)[1:]},
    "a name too many": lambda folder: {name: sha256(folder / name) for name in names(folder)} | {"more.npy": "0" * 64},
    "a path upwards": lambda folder: {f"../{folder.name}/{name}": sha256(folder / name) for name in names(folder)},
    "an absolute path": lambda folder: {str(folder / name): sha256(folder / name) for name in names(folder)},
    "a path to the seal": lambda folder: {SEAL: sha256(folder / SEAL)},
    "an empty name": lambda folder: {"": "0" * 64},
    "another file outside": lambda folder: {"/etc/hostname": "0" * 64},
}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.npy"))


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("name", STORES)
def test_forged_digests_do_not_skip_the_check(
    name: str, forged: str, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    Damage("flipped bit", 0.99, 0).apply(folder / FILES[name][0])
    (folder / SEAL).write_text(json.dumps(FORGED[forged](folder)))
    check_made_again(name, folder, expected, caplog)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b"{} {}",
        b"1" * 5000,
        "ä".encode("latin-1"),
        bytes(100),
    ],
    ids=["empty", "UTF-16", "deep list", "deep object", "two values", "long number", "Latin-1", "NUL"],
)
@pytest.mark.parametrize("name", STORES)
def test_digests_that_are_no_json_are_made_again(
    name: str, content: bytes, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    (folder / SEAL).write_bytes(content)
    check_made_again(name, folder, expected, caplog)


# ---- forged arrays with true digests: a digest is no signature, but what cannot belong there is noticed


class Code:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, ("touch /tmp/xsent-ran-code",)


def saved(array: NDArray[Any] | np.generic) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, vectors=np.zeros((4, 2), np.float32))
    return file.getvalue()


FOREIGN: dict[str, bytes] = {
    "float64": saved(np.zeros((4, 2))),
    "a row too few": saved(np.zeros((3, 2), np.float32)),
    "a row too many": saved(np.zeros((5, 2), np.float32)),
    "one dimension": saved(np.zeros(4, np.float32)),
    "three dimensions": saved(np.zeros((4, 2, 1), np.float32)),
    "a number": saved(np.float32(1)),
    "another byte order": saved(np.zeros((4, 2), ">f4")),
    "text": saved(np.full((4, 2), "abcd")),
    "objects": saved(np.array([[Code(), 1]] * 4, dtype=object)),
    "records": saved(np.zeros(4, dtype=[("a", "f4"), ("b", "f4")])),
    "archive": archive(),
    "pickle": pickle.dumps(Code()),
    "no array": b"vectors",
    "no bytes": b"",
    "a header without data": saved(np.zeros((4, 2), np.float32))[:128],
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_array_with_a_true_digest_is_made_again_and_runs_no_code(
    kind: str, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored("embeddings")
    (folder / "vectors.npy").write_bytes(FOREIGN[kind])
    (folder / SEAL).write_text(json.dumps({"vectors.npy": sha256(folder / "vectors.npy")}))
    check_made_again("embeddings", folder, expected, caplog)
    assert not Path("/tmp/xsent-ran-code").exists()


# A work folder accepts any arrays: the job that reads it knows their names.
@pytest.mark.parametrize(("name", "file"), [row for row in ARRAYS if row[0] != "shard"])
@pytest.mark.parametrize("change", ["gone", "renamed", "an array more"])
def test_another_set_of_arrays_with_true_digests_is_made_again(
    name: str, file: str, change: str, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    if change == "an array more":
        shutil.copy(folder / file, folder / "more.npy")
    elif change == "renamed":
        (folder / file).rename(folder / "other.npy")
    else:
        (folder / file).unlink()
    (folder / SEAL).write_text(json.dumps({array: sha256(folder / array) for array in names(folder)}))
    check_made_again(name, folder, expected, caplog)


# ---- other things under the name of a store


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize(
    "kind", ["a file", "a link to a folder", "a dangling link", "an empty folder", "nested folders"]
)
def test_what_is_no_store_is_replaced_and_linked_files_stay(
    name: str, kind: str, stored: Callable[[str], Path], expected: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    shutil.rmtree(folder)
    thesis = tmp_path / "thesis" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    if kind == "a file":
        folder.write_text("no folder")
    elif kind == "a link to a folder":
        folder.symlink_to(thesis.parent)
    elif kind == "a dangling link":
        folder.symlink_to(tmp_path / "nowhere")
    else:
        folder.mkdir()
        if kind == "nested folders":
            (folder / FILES[name][0]).mkdir()
            (folder / SEAL).mkdir()
    check_made_again(name, folder, expected, caplog)
    assert thesis.read_text() == "years of work"


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("content", [b"", b"half an array"])
def test_what_a_kill_left_is_removed(
    name: str, content: bytes, stored: Callable[[str], Path], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    folder = stored(name)
    left = folder.with_name(f"{folder.name}.tmp")
    shutil.move(folder, left / folder.name)
    (left / folder.name / FILES[name][0]).write_bytes(content)
    folder.with_suffix(".lock").write_bytes(b"")
    check_intact(name, folder.parent.parent, expected, caplog)


# ---- figures before training


class Start:
    """A recipe with one figure before training; counts how often it is scored."""

    encoder = SimpleNamespace(digest=lambda: "encoder")
    eval_mode = staticmethod(nullcontext)
    calls = 0

    def evaluation(self, evaluator: Any, *, sharded: bool) -> Evaluation:
        self.calls += 1
        return Evaluation({"toy/accuracy": 12.5}, [])


@pytest.mark.parametrize("damage", damages(18, seed=10))
def test_damaged_figures_before_training_are_scored_again(
    damage: Damage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recipe: Any = Start()
    evaluator: Any = SimpleNamespace(name="toy", digest=lambda: "sentences")
    settings = {"evaluator": {}, "trainer": {"precision": 32}, "cache_dir": str(tmp_path / "cache")}
    settings["run_dir"] = str(tmp_path / "run")
    first = score_start(recipe, evaluator, settings, resumes=False)
    assert first["metrics"] == {"test/toy/accuracy": 12.5}
    (array,) = (tmp_path / "cache").rglob("*.npy")
    damage.apply(array)
    for _ in range(2):
        assert score_start(recipe, evaluator, settings, resumes=False) == first
    assert recipe.calls == 2
    assert f"{array.parent}: json.npy is missing, truncated or altered; making it again" in caplog.text
