"""Held-out seeds of a training run and their divergences, as a test set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xsent.batch import WordPair
from xsent.data.divergence_sets import DivergenceSet

if TYPE_CHECKING:
    from xsent.data.divergences import DivergenceData
    from xsent.text.divergences.record import Divergence

NAME = "synthetic"


class HeldOutDivergences:
    """Reads a test set from the items of a training run's held-out seeds.

    A pair is in it as often as in the items, and the finer of two ranked pairs counts as equivalent (Table 10).

    Attributes:
        data: the data module, given when a run knows it.
        split: ``valid`` or ``test``.
    """

    def __init__(self) -> None:
        self.data: DivergenceData | None = None
        self.split = "test"

    def use(self, data: DivergenceData, split: str) -> None:
        """Read from these data; they may be read later.

        Raises:
            ValueError: the data have no divergences.
        """
        if not hasattr(data, "judged"):
            raise ValueError(f"evaluator=divergence_heldout needs divergences, data={data.name} holds {data.holds}")
        self.data, self.split = data, split

    def __call__(self, root: str | None, sets: Sequence[str] | None) -> list[DivergenceSet]:
        """The test set; ``root`` and ``sets`` are not needed here."""
        assert self.data is not None, "a run gives its data"
        judged = self.data.judged(self.split)
        if not judged:
            raise ValueError(
                f"evaluator=divergence_heldout: the {self.split} split is empty; give data.{self.split}_seeds=500, or"
                " another evaluator"
            )
        records = [record for record, _ in judged]
        return [
            DivergenceSet(
                NAME,
                [WordPair(record.source, record.target) for record in records],
                [" ".join(record.source) for record in records],
                [" ".join(record.target) for record in records],
                [equivalent for _, equivalent in judged],
                [record.kind for record in records],
                [_highlights(record) for record in records],
                1,
                *self.data.languages,
            )
        ]


def _highlights(record: Divergence) -> tuple[tuple[int, ...], tuple[int, ...]]:
    source, target = (
        tuple(int(label != "O") for label in side) for side in (record.source_labels, record.target_labels)
    )
    return source, target
