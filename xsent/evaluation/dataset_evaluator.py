"""Base class of evaluators that read test sets with two sides."""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor

from xsent.config_checks import UsageError, check_choice
from xsent.distributed import rank
from xsent.evaluation.evaluator import Bitext, Evaluator, TwoSided, direction, number_texts

log = logging.getLogger(__name__)

MISSING = ("error", "note")
MIN_ITEMS = 100  # of a test set, in a warning: the 95 % interval of an accuracy of 50 % is then 20 points wide
PIVOT = "eng"  # most test sets pair a language with English and are named by that language

S = TypeVar("S", bound=TwoSided)


@runtime_checkable
class SplitReader(Protocol):
    """Reader whose test sets depend on the split, or on the data of the training run."""

    needs_data: bool

    def bind(self, data: Any, split: str) -> None:
        """Read the split ``valid`` or ``test``, of ``data`` where the reader needs them."""
        ...


@dataclass(kw_only=True, eq=False, repr=False)
class DatasetEvaluator(Evaluator, Generic[S]):
    """Reads test sets at first use and assigns a row of the embeddings to each distinct sentence.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, passed to ``read``.
        read: ``(root, requested)`` -> test sets.
        missing: ``error``: each of ``requested`` must have files; ``note``: those without files are left out of the
            averages, and one warning names them.
    """

    name: str
    root: str | None
    read: Callable[..., Any]
    missing: str

    split: str = field(init=False, default="test")  # `valid` in training

    def __post_init__(self) -> None:
        check_choice("evaluator.missing", self.missing, MISSING)

    requested_by: ClassVar[str] = ""  # option with the names of the requested test sets; None there is all

    @property
    def requested(self) -> Sequence[str] | None:
        """Names of the requested test sets; None is all."""
        names: Sequence[str] | None = getattr(self, self.requested_by, None)
        return names

    def read_sets(self, requested: Sequence[str] | None) -> Sequence[S]:
        """Read test sets by name, or all."""
        test_sets: Sequence[S] = self.read(self.root, requested)
        return test_sets

    @property
    def depends_on_split(self) -> bool:
        return isinstance(self.read, SplitReader)

    @property
    def reads_training_data(self) -> bool:
        return isinstance(self.read, SplitReader) and self.read.needs_data

    def bind(self, data: object | None, *, split: str, device: str) -> None:
        if self.reads_training_data and data is None:
            raise UsageError(f"evaluator {self.name} scores the data of a training run; choose another, e.g. tatoeba")
        if isinstance(self.read, SplitReader):
            self.read.bind(data, split)
        self.split = split

    @cached_property
    def _loaded(self) -> tuple[Sequence[S], list[str]]:
        """The test sets, and the names of those without files."""
        test_sets, absent = self._read_available()
        if self.split == "test" and rank() == 0:
            _warn_of_small(self.name, test_sets)
        return test_sets, absent

    def _read_available(self) -> tuple[Sequence[S], list[str]]:
        if self.missing == "error" or self.requested is None:
            return self.read_sets(self.requested), []
        separate = {name: self.read_present([name]) for name in self.requested}
        test_sets = [test_set for name in self.requested for test_set in separate[name] or []]
        if not test_sets:
            return self.read_sets(self.requested), []  # raises the reader's error
        absent = [name for name in self.requested if not separate[name]]
        if absent:
            log.warning(
                "%s: no files in %s for %s; the averages are over the other %d of %d",
                *(self.name, self.root, ", ".join(absent), len(test_sets), len(self.requested)),
            )
        return test_sets, absent

    def read_present(self, names: Sequence[str]) -> Sequence[S] | None:
        """As ``read_sets``; None without files."""
        try:
            return self.read_sets(names)
        except FileNotFoundError:
            return None

    @property
    def test_sets(self) -> Sequence[S]:
        """The test sets with files, in the requested order."""
        return self._loaded[0]

    @property
    def absent(self) -> list[str]:
        return self._loaded[1]

    @property
    def translation_sets(self) -> Sequence[Bitext]:
        return [test_set for test_set in self.test_sets if isinstance(test_set, Bitext)]

    def check(self) -> None:
        assert self._loaded is not None

    def all_sets(self) -> Sequence[S]:
        """The test sets, and the sets that a subclass reads besides them."""
        return self.test_sets

    def digest(self) -> str:
        content = json.dumps([vars(test_set) for test_set in self.all_sets()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def texts(self) -> list[str]:
        """All sentences with repetitions, in the order of the files."""
        sides = (side for test_set in self.all_sets() for side in (test_set.source, test_set.target))
        return [text for side in sides for text in side]

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return number_texts(self.texts())

    def sentences(self) -> list[str]:
        return list(self._row_of)

    def rows(self, vectors: Tensor, texts: Sequence[str]) -> Tensor:
        """Embeddings (M, D) of M texts, from those (N, D) of ``sentences()``."""
        return vectors[torch.tensor([self._row_of[text] for text in texts], device=vectors.device)]

    def detail(self, direction: str, *sides: Tensor, **fields: object) -> dict[str, object]:
        """Details of a measurement; ``sides`` are checked for zero vectors."""
        row = {"evaluator": self.name, "direction": direction, **fields}
        return row | {"zero_vectors": zero_vectors(*sides), "missing_languages": " ".join(self.absent)}


@dataclass(kw_only=True, eq=False, repr=False)
class LanguagesEvaluator(DatasetEvaluator[S]):
    """Reads a test set per language."""

    requested_by = "languages"
    languages: Sequence[str] | None  # requested test sets, for ``read``; None is all


def _warn_of_small(name: str, test_sets: Sequence[TwoSided]) -> None:
    sizes = {_name_of(test_set): len(test_set.source) for test_set in test_sets}
    small = [f"{label} has {size}" for label, size in sizes.items() if size < MIN_ITEMS]
    if small:
        others = f" and {len(small) - 5} more sets have fewer than {MIN_ITEMS}" if len(small) > 5 else ""
        log.warning("%s: %s%s items: figures on so few are noisy", name, ", ".join(small[:5]), others)


def _name_of(test_set: object) -> str:
    fields = vars(test_set)
    return fields.get("name") or " ".join([fields["part"], fields["kind"], direction(cast(Bitext, test_set))])


def zero_vectors(*sides: Tensor) -> int:
    """Number of all-zero rows on all sides."""
    return sum(int((side == 0).all(dim=1).sum()) for side in sides)
