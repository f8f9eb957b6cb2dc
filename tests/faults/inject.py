"""Damage to the bytes of a file, from a seed; what a folder holds; a pickle that runs code."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Damage(NamedTuple):
    """A change of a file's content that always gives other bytes."""

    kind: str
    share: float  # of the file before the damage, at least 0 and below 1
    seed: int

    def apply(self, path: Path) -> None:
        """Damage the file in place; its name and permissions stay."""
        content = path.read_bytes()
        damaged = KINDS[self.kind](content, int(self.share * len(content)), random.Random(self.seed))
        assert damaged != content
        path.unlink()  # other names of the same content, hard links, are not damaged
        path.write_bytes(damaged)


def _flip(content: bytes, at: int, rng: random.Random) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]


def _other_block(content: bytes, at: int, rng: random.Random) -> bytes:
    end = min(len(content), at + rng.randrange(1, 4097))
    block = rng.randbytes(end - at)
    return content[:at] + bytes([content[at] ^ 0xFF]) + block[1:] + content[end:]


KINDS: dict[str, Callable[[bytes, int, random.Random], bytes]] = {
    "truncated": lambda content, at, _: content[:at],
    "flipped bit": _flip,
    "random block": _other_block,
    "removed byte": lambda content, at, _: content[:at] + content[at + 1 :],
    "inserted byte": lambda content, at, rng: content[:at] + rng.randbytes(1) + content[at:],
    "bytes at the end": lambda content, _, rng: content + rng.randbytes(16),
}


def outcome(call: Callable[[], Any], *errors: type[Exception]) -> Any:
    """What a call returns, or the exception of one of these types that it raises."""
    try:
        return call()
    except errors as error:
        return error


def damages(count: int, *, seed: int = 0) -> list[Any]:
    """``count`` rows for ``pytest.mark.parametrize``, all kinds in turn, at positions drawn from the seed."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        damage = Damage(kind, rng.random(), rng.randrange(2**32))
        rows.append(pytest.param(damage, id=f"{number}-{kind} at {damage.share:.3f}"))
    return rows


def contents(folder: Path) -> dict[str, object]:
    """All entries below a folder: bytes and permissions of files, targets of links, None of anything else."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    return (path.read_bytes(), path.stat().st_mode) if path.is_file() else None


class Pickled:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)
