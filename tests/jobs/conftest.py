"""Shared inputs of job tests: a small bitext in two files, the bundled encoder, a limit on file sizes."""

import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from xsent.models.encoders.static import StaticEncoder

NUMBERS = [("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs"), ("ten", "zehn")]
COLOURS = [("red", "rote"), ("blue", "blaue"), ("green", "grüne"), ("black", "schwarze"), ("white", "weiße")]
NOUNS = [
    ("houses", "Häuser"),
    ("dogs", "Hunde"),
    ("books", "Bücher"),
    ("trees", "Bäume"),
    ("doors", "Türen"),
    ("birds", "Vögel"),
    ("ships", "Schiffe"),
    ("cars", "Autos"),
]
LOCATIONS = [("in the city", "in der Stadt"), ("on the island", "auf der Insel"), ("at school", "in der Schule")]


class Bitext(NamedTuple):
    """Files of one sentence a line; line ``english[i]`` of the English one translates line i of the German one."""

    german: Path
    eng: Path
    english: list[int]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file grow beyond ``size`` bytes; the error is like that of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="session")
def micro() -> StaticEncoder:
    return StaticEncoder.load(name="micro", path=None)


@pytest.fixture(scope="session")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Bitext:
    """720 pairs."""
    parts = list(product(NUMBERS, COLOURS, NOUNS, LOCATIONS))
    random.Random(0).shuffle(parts)
    order = list(range(len(parts)))
    random.Random(1).shuffle(order)
    folder = tmp_path_factory.mktemp("bitext")
    german, eng = folder / "text.de", folder / "text.en"
    german.write_text("".join(" ".join(word[1] for word in row) + ".\n" for row in parts), encoding="utf-8")
    english = [" ".join(word[0] for word in row) + "." for row in parts]
    eng.write_text("".join(english[row] + "\n" for row in order), encoding="utf-8")
    return Bitext(german, eng, [order.index(row) for row in range(len(parts))])
