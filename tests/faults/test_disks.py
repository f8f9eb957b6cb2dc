"""Disks that are full, broken or read-only, in every step of every writer.

Expected each time: a one-line error that names a file; what was there before is unchanged, nothing partial is left; and
the same call succeeds when the disk is well again, with the result of an undisturbed one.
"""

import builtins
import errno
import io
import os
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from tests.child_processes import exit_code
from tests.faults.conftest import INJECTIONS
from tests.faults.inject import outcome
from tests.faults.small_disk import mount_small_disk
from tests.jobs.conftest import file_size_limit
from tests.models.encoders.characters.test_static_characters import encoder_of
from tests.text.noise.test_noiser import noiser
from xsent.checkpoint import load_checkpoint, save_checkpoint
from xsent.cli import main
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.data.stores.tokens import noisy_texts, tokenize_once
from xsent.files.array_file import write_array
from xsent.files.atomic import FULL_DISK, atomic_write, write_text
from xsent.jobs.work_folder import WorkFolder
from xsent.models.encoders.static import StaticEncoder
from xsent.paths import sha256
from xsent.recipes.encoder_folder import save_encoder
from xsent.reporting.metrics import write_metrics_json
from xsent.run import errors
from xsent.run.errors import format_error

MICRO = StaticEncoder.load(name="micro", path=None)


def texts(version: int, size: int = 300) -> list[str]:
    return [f"sentence {number} of version {version}" for number in range(size)]


# ---- writers: each writes version 0 or 1 of its content into a folder


def checkpoint(folder: Path, version: int) -> None:
    values = np.random.default_rng(version).standard_normal(100_000, dtype=np.float32)
    save_checkpoint({"weights": torch.from_numpy(values), "step": version}, folder / "last.ckpt")


def embeddings(folder: Path, version: int) -> None:
    EmbeddingStore(folder).vectors(texts(version), MICRO)


def tokens(folder: Path, version: int) -> None:
    tokenize_once(texts(version), MICRO, folder)


def noise(folder: Path, version: int) -> None:
    sentences = texts(version)
    noisy_texts(sentences, range(len(sentences)), noiser(transform="fing"), cache_dir=folder, workers=1)


def shard(folder: Path, version: int) -> None:
    values = np.arange(100_000) + version

    def write(place: Path) -> None:
        write_array(place / "a.npy", np.split(values, 10), dtype=np.int64, shape=values.shape)

    WorkFolder(folder).make("vectors", version, write)


def vectors_file(folder: Path, version: int) -> None:
    MICRO.encode(texts(version), out=folder / "vectors.npy")


def text_file(folder: Path, version: int) -> None:
    write_text(folder / "text.txt", f"{version}\n" * 200_000)


def packed_text(folder: Path, version: int) -> None:
    rng = np.random.default_rng(version)
    with atomic_write(folder / "text.tsv.gz") as file:
        file.writelines(f"{number}\n" for number in rng.integers(10**9, size=60_000).tolist())


def metrics(folder: Path, version: int) -> None:
    figures = {f"test/{number}": float(version) for number in range(10_000)}
    write_metrics_json(folder / "metrics.json", figures, {"seed": version})


def encoder(folder: Path, version: int) -> None:
    save_encoder(encoder_of(seed=version), folder / "encoder")


def command(*words: str) -> None:
    """Run ``xsent``; its error comes back as an exception."""
    raised: list[Exception] = []

    def record(error: Exception) -> str:
        raised.append(error)
        return format_error(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "format_error", record)
        status = main(list(words))
    if raised:
        assert status in (1, 2)
        raise raised[0]
    assert status == 0


def write_texts(path: Path, version: int) -> Path:
    path.write_text("".join(f"{text}\n" for text in texts(version)), encoding="utf-8")
    return path


def encode_job(folder: Path, version: int, *, suffix: str) -> None:
    source = write_texts(folder.parent / f"source{version}.txt", version)
    command("encode", str(source), "-o", str(folder / f"vectors{suffix}"), "--set", "block=100")


def npy_job(folder: Path, version: int) -> None:
    encode_job(folder, version, suffix=".npy")


def safetensors_job(folder: Path, version: int) -> None:
    encode_job(folder, version, suffix=".safetensors")


def parquet_job(folder: Path, version: int) -> None:
    encode_job(folder, version, suffix=".parquet")


def noise_job(folder: Path, version: int) -> None:
    source = write_texts(folder.parent / f"source{version}.txt", version)
    command("noise", str(source), "-o", str(folder / "noisy.txt"), "--set", "workers=1")


def mine_job(folder: Path, version: int) -> None:
    sides = [write_texts(folder.parent / f"{side}{version}.txt", version) for side in "xy"]
    command("mine", *map(str, sides), "-o", str(folder / "mined.tsv"))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    writer.__name__: writer
    for writer in (
        checkpoint,
        embeddings,
        tokens,
        noise,
        shard,
        vectors_file,
        text_file,
        packed_text,
        metrics,
        encoder,
        npy_job,
        safetensors_job,
        parquet_job,
        noise_job,
        mine_job,
    )
}
JOBS = ("npy_job", "safetensors_job", "parquet_job", "noise_job", "mine_job")  # of half a second
STRIDE = 7  # of their steps, every seventh fails
UNITS = ("embeddings", "tokens", "noise", "shard", "encoder")  # the files of a folder belong together

Content = dict[str, str]


def content_of(folder: Path) -> Content:
    """Digests of all files but locks, which are empty, and work folders of resumable jobs."""
    return {
        str(path.relative_to(folder)): sha256(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and ".work" not in str(path)
    }


class Prepared(NamedTuple):
    """Version 0 on the disk, and the content that version 1 turns it into."""

    start: Path
    before: Content
    after: Content


@pytest.fixture(scope="module")
def prepare(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    known: dict[str, Prepared] = {}

    def get(name: str) -> Prepared:
        if name not in known:
            folder = tmp_path_factory.mktemp(name) / "disk"
            folder.mkdir()
            WRITERS[name](folder, 0)
            start = folder.parent / "start"
            shutil.copytree(folder, start)
            WRITERS[name](folder, 1)
            known[name] = Prepared(start, content_of(start), content_of(folder))
            assert known[name].before != known[name].after
        return known[name]

    return get


def check_nothing_is_lost(name: str, folder: Path, prepared: Prepared) -> None:
    """Every file is as before or as it should become; nothing else is there."""
    now = content_of(folder)
    assert not list(folder.rglob("*.tmp"))
    assert prepared.before.keys() <= now.keys() <= prepared.after.keys() | prepared.before.keys()
    states: dict[str, set[bool]] = defaultdict(set)
    for file in prepared.before.keys() | prepared.after.keys():
        values = prepared.before.get(file), prepared.after.get(file)
        assert now.get(file) in values, file
        if values[0] != values[1]:
            states[str(Path(file).parent)].add(now.get(file) == values[1])
    if name in UNITS:
        assert all(len(both) == 1 for both in states.values()), f"old and new files beside each other: {states}"
    if name == "checkpoint":
        for path in folder.glob("*.ckpt"):
            load_checkpoint(path)


def check_success(name: str, folder: Path, prepared: Prepared) -> None:
    now, expected = content_of(folder), prepared.after
    if name == "checkpoint":  # a second save makes the first the previous one
        now, expected = ({"last.ckpt": files["last.ckpt"]} for files in (now, expected))
    assert now == expected


def check_message(error: OSError, folder: Path) -> None:
    message = format_error(error)
    assert "\n" not in message
    assert str(folder) in message
    if error.errno in FULL_DISK:
        assert re.search(r"[\d,]+ bytes are free", message)


# ---- a step of a writer fails


class Step:
    """Makes the n-th call of an operation in a folder fail, with an error as the system words it."""

    def __init__(self, operation: str, code: int, number: int, folder: Path) -> None:
        self.operation, self.code, self.number, self.folder = operation, code, number, folder
        self.calls = 0

    @property
    def has_failed(self) -> bool:
        return self.calls >= self.number

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if self.operation == "create":
            for module in (io, builtins):
                monkeypatch.setattr(module, "open", self._failing_open(io.open))
            return
        for name in OPERATIONS[self.operation]:
            monkeypatch.setattr(os, name, self._failing(getattr(os, name)))

    def _failing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *rest: Any, **options: Any) -> Any:
            is_open = isinstance(first, int)
            path = str(Path(f"/proc/self/fd/{first}").readlink()) if is_open else os.fspath(first)
            self._count(path, names_file=not is_open)
            return function(first, *rest, **options)

        return call

    def _failing_open(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
            if not isinstance(file, int) and set(mode) & set("wxa"):
                self._count(os.fspath(file), names_file=True)
            return function(file, mode, *rest, **options)

        return call

    def _count(self, path: str, *, names_file: bool) -> None:
        if not Path(path).is_relative_to(self.folder):
            return
        self.calls += 1
        if self.calls == self.number:
            raise OSError(self.code, os.strerror(self.code), *([path] if names_file else []))


OPERATIONS = {
    "sync": ("fsync",),
    "allocate": ("posix_fallocate",),
    "write rows": ("pwrite",),
    "rename": ("replace", "rename"),
    "new folder": ("mkdir",),
    "create": (),
}
CODES = {
    "sync": ("EIO", "ENOSPC"),
    "allocate": ("ENOSPC", "EDQUOT"),
    "write rows": ("ENOSPC",),
    "rename": ("EROFS", "EACCES"),
    "new folder": ("EACCES",),
    "create": ("ENOSPC", "EACCES"),
}
ROWS = ("embeddings", "vectors_file")  # writers that write rows in any order
USERS = {  # the writers that do an operation, unless all do
    "allocate": (*ROWS, "tokens", "noise", "shard", "npy_job", "safetensors_job", "parquet_job", "mine_job"),
    "write rows": ROWS,
}
STEPS = [
    pytest.param(name, operation, code, id=f"{name}-{operation}-{code}")
    for name in WRITERS
    for operation, codes in CODES.items()
    if name in USERS.get(operation, WRITERS)
    for code in (codes[:1] if name in JOBS else codes)
]


@pytest.mark.parametrize(("name", "operation", "code"), STEPS)
def test_a_step_that_fails_loses_nothing_and_the_same_call_succeeds_later(
    name: str,
    operation: str,
    code: str,
    prepare: Callable[[str], Prepared],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    prepared, folder, injected = prepare(name), tmp_path / "disk", 0
    for number in count(1, STRIDE if name in JOBS else 1):
        shutil.copytree(prepared.start, folder)
        step = Step(operation, getattr(errno, code), number, folder)
        with monkeypatch.context() as patch:
            step.patch(patch)
            try:
                WRITERS[name](folder, 1)
            except OSError as error:
                assert step.has_failed
                check_message(error, folder)
                check_nothing_is_lost(name, folder, prepared)
                patch.undo()
                WRITERS[name](folder, 1)
            else:  # a folder that exists is made in vain; the text of a lock file may be missing
                assert not step.has_failed or operation in ("new folder", "create")
        check_success(name, folder, prepared)
        shutil.rmtree(folder)
        if not step.has_failed:
            break
        injected += 1
    assert injected
    record_property(INJECTIONS, injected)


# ---- a real file system without space, and files that may not grow


def fill_and_write(name: str, folder: Path, free: int) -> None:
    """In a process of its own: write with ``free`` bytes on the disk, then with enough."""
    try:
        mount_small_disk(folder, DISK)
    except OSError:
        sys.exit(SKIP)
    target = folder / "target"
    target.mkdir()
    WRITERS[name](target, 0)
    before = content_of(target)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(folder).free - free))
    error = outcome(lambda: WRITERS[name](target, 1), OSError)
    assert str(target) in str(error)
    assert " are free" in str(error)
    assert content_of(target).items() >= before.items()
    assert not list(target.rglob("*.tmp"))
    ballast.unlink()
    WRITERS[name](target, 1)
    assert content_of(target) != before


DISK, SKIP = 2**22, 77
SIZES = {"checkpoint": 400_000, "embeddings": 300_000, "shard": 800_000, "vectors_file": 300_000, "npy_job": 300_000}


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("name", SIZES)
def test_a_file_system_that_fills_up_gives_an_error_and_no_signal(name: str, share: float, tmp_path: Path) -> None:
    space_of_source = 2**15 if name in JOBS else 0
    status = exit_code(fill_and_write, name, tmp_path, int(share * SIZES[name]) + space_of_source)
    if status == SKIP:
        pytest.skip("this system does not permit a mount namespace")
    assert status == 0  # a write through a memory map dies of SIGBUS: -7


@pytest.mark.parametrize("limit", [0, 200, 20_000, 90_000])
@pytest.mark.parametrize("name", ["checkpoint", "shard", "vectors_file", "text_file", "packed_text", "metrics"])
def test_a_file_that_may_not_grow_is_named_and_removed(
    name: str, limit: int, prepare: Callable[[str], Prepared], tmp_path: Path
) -> None:
    prepared, folder = prepare(name), tmp_path / "disk"
    shutil.copytree(prepared.start, folder)
    with file_size_limit(limit):  # no output before it is lifted: that may go to a file
        error = outcome(lambda: WRITERS[name](folder, 1), OSError)
    assert isinstance(error, OSError)
    check_message(error, folder)
    check_nothing_is_lost(name, folder, prepared)
    WRITERS[name](folder, 1)
    check_success(name, folder, prepared)
