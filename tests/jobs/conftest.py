"""Two small files that translate each other, in different orders, and the bundled encoder."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from xsent.models.static_encoder import StaticEncoder

NUMBERS = [("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs"), ("ten", "zehn")]
COLOURS = [("red", "rote"), ("blue", "blaue"), ("green", "grüne"), ("black", "schwarze"), ("white", "weiße")]
THINGS = [
    ("houses", "Häuser"), ("dogs", "Hunde"), ("books", "Bücher"), ("trees", "Bäume"), ("doors", "Türen"),
    ("birds", "Vögel"), ("ships", "Schiffe"), ("cars", "Autos"),
]  # fmt: skip
PLACES = [("in the city", "in der Stadt"), ("on the island", "auf der Insel"), ("at school", "in der Schule")]


class Bitext(NamedTuple):
    """Files of one sentence a line; line ``english[i]`` of the English one translates line i of the German one."""

    german: Path
    eng: Path
    english: list[int]


@pytest.fixture(scope="session")
def mini() -> StaticEncoder:
    return StaticEncoder.load(name="mini", path=None)


@pytest.fixture(scope="session")
def bitext(tmp_path_factory: pytest.TempPathFactory) -> Bitext:
    """720 pairs."""
    parts = list(product(NUMBERS, COLOURS, THINGS, PLACES))
    random.Random(0).shuffle(parts)
    order = list(range(len(parts)))
    random.Random(1).shuffle(order)
    folder = tmp_path_factory.mktemp("bitext")
    german, eng = folder / "text.de", folder / "text.en"
    german.write_text("".join(" ".join(word[1] for word in row) + ".\n" for row in parts), encoding="utf-8")
    english = [" ".join(word[0] for word in row) + "." for row in parts]
    eng.write_text("".join(english[row] + "\n" for row in order), encoding="utf-8")
    return Bitext(german, eng, [order.index(row) for row in range(len(parts))])
