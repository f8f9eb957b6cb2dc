"""What evaluators of two-sided test sets share: they read them, say what is missing and number the sentences."""

from __future__ import annotations

import hashlib
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from xsent.evaluation.evaluator import Encode, Evaluation

log = logging.getLogger(__name__)

MISSING = ("error", "note")
PIVOT = "eng"  # most test sets set a language against English and are named by the language


class TwoSided(Protocol):
    """Sentences of two sides."""

    @property
    def source(self) -> list[str]: ...
    @property
    def target(self) -> list[str]: ...


class Bitext(TwoSided, Protocol):
    """A test set whose ``target[i]`` translates ``source[i]``."""

    @property
    def source_lang(self) -> str: ...
    @property
    def target_lang(self) -> str: ...


S = TypeVar("S", bound=TwoSided)


class TestSetEvaluator(ABC, Generic[S]):
    """Reads test sets at first use and gives each distinct sentence a row.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, for ``read``.
        wanted: which test sets, for ``read``; None is all.
        read: ``(root, wanted)`` -> test sets.
        missing: ``error``: each of ``wanted`` must be there; ``note``: those without files are left out of
            the averages, with one warning that names them.
    """

    __test__ = False  # not a test, whatever its name begins with

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        wanted: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[S]],
        missing: str,
    ) -> None:
        check_choice("missing", missing, MISSING)
        self.name = name
        self.root = root
        self.wanted = wanted
        self.read = read
        self.missing = missing

    @cached_property
    def _found(self) -> tuple[Sequence[S], list[str]]:
        if self.missing == "error" or self.wanted is None:
            return self.read(self.root, self.wanted), []
        found: list[S] = []
        absent: list[str] = []
        for one in self.wanted:
            try:
                there = self.read(self.root, [one])
            except FileNotFoundError:
                there = []
            found += there
            absent += [] if there else [one]
        if not found:
            return self.read(self.root, self.wanted), []  # says what is wrong
        if absent:
            log.warning(
                "%s: no files in %s for %s; the averages are over the other %d of %d",
                self.name, self.root, ", ".join(absent), len(found), len(self.wanted),
            )  # fmt: skip
        return found, absent

    @property
    def test_sets(self) -> Sequence[S]:
        """The test sets that are there, in the order asked for."""
        return self._found[0]

    @property
    def absent(self) -> list[str]:
        """What was asked for and has no files."""
        return self._found[1]

    def check(self) -> None:
        """Read the test sets."""
        assert self._found is not None

    def everything_read(self) -> Sequence[S]:
        """The test sets, and whatever else a subclass reads beside them."""
        return self.test_sets

    def digest(self) -> str:
        """Hex digest of all that was read, whatever files it came from."""
        content = json.dumps([vars(test_set) for test_set in self.everything_read()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def texts(self) -> list[str]:
        """All sentences, with repetitions, in the order of the files."""
        sides = (side for test_set in self.everything_read() for side in (test_set.source, test_set.target))
        return [text for side in sides for text in side]

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {text: row for row, text in enumerate(dict.fromkeys(self.texts()))}

    def sentences(self) -> list[str]:
        """The N distinct sentences of all test sets."""
        return list(self._row_of)

    def rows(self, vectors: Tensor, texts: Sequence[str]) -> Tensor:
        """Vectors (M, D) of ``texts``, given those (N, D) of ``sentences()``."""
        return vectors[torch.tensor([self._row_of[text] for text in texts], device=vectors.device)]

    @abstractmethod
    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""

    def __call__(self, encode: Encode) -> dict[str, float]:
        """Figures of whatever ``encode`` makes of the sentences."""
        return self.score(encode(self.sentences())).metrics


def check_choice(option: str, value: str, known: Sequence[str]) -> None:
    """Raise ``ValueError`` when a config's value is none of the known ones."""
    if value not in known:
        raise ValueError(f"evaluator.{option}={value}: expected one of {', '.join(known)}")


def zero_vectors(*sides: Tensor) -> int:
    """How many rows are all zero, over all sides."""
    return sum(int((side == 0).all(dim=1).sum()) for side in sides)
