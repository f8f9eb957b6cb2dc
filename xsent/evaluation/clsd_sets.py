"""What evaluators of cross-lingual semantic discrimination share: sets of items with their distractors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from xsent.evaluation.test_sets import Bitext, TestSetEvaluator


class ClsdSet(Bitext, Protocol):
    """N items of one corpus in one direction: sources, their translations and K distractors of each translation."""

    @property
    def name(self) -> str: ...
    @property
    def ids(self) -> list[str]: ...
    @property
    def distractors(self) -> list[list[str]]: ...


class ClsdSetsEvaluator(TestSetEvaluator[ClsdSet]):
    """Reads sets of items.

    Args:
        name: prefix of the metrics.
        root, directions: files and which directions of them, for ``read``; ``deu-fra`` has German sources and French
            candidates.
        read: ``(root, directions)`` -> sets.
        missing: a direction without items is an ``error``, or left out with a ``note``.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        directions: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[ClsdSet]],
        missing: str,
    ) -> None:
        super().__init__(name=name, root=root, wanted=directions, read=read, missing=missing)

    def texts(self) -> list[str]:
        """All sentences, the distractors too."""
        distractors = (text for one in self.everything_read() for row in one.distractors for text in row)
        return [*super().texts(), *distractors]


def item_of(items: ClsdSet) -> str:
    """What a set is called in metrics: ``wmt19_deu-fra``."""
    return f"{items.name}_{items.source_lang}-{items.target_lang}"
