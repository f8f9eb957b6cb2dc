"""Held-out seeds of a training run and their divergences, as a test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xsent.data.divergence_files import divergence_set
from xsent.data.divergence_sets import DivergenceSet

if TYPE_CHECKING:
    from xsent.data.divergences import DivergenceData

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
        source_lang, target_lang = self.data.languages
        made = divergence_set([record for record, _ in judged], name=NAME)
        equivalent = [equivalent for _, equivalent in judged]
        return [replace(made, equivalent=equivalent, source_lang=source_lang, target_lang=target_lang)]
