"""Held-out sentences of a training run and their noisy selves, as a test set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xsent.data.ugc_files import UgcSet

if TYPE_CHECKING:
    from xsent.data.ugc import UgcData


class HeldOutNoise:
    """Reads a test set from the training data's own held-out sentences.

    Args:
        sentences: at most so many, those of lowest hash.

    Attributes:
        data: the data module, given when a run knows it.
        split: ``valid`` or ``test``.
    """

    def __init__(self, *, sentences: int) -> None:
        if sentences < 1:
            raise ValueError(f"evaluator.read.sentences={sentences}: expected at least 1")
        self.sentences = sentences
        self.data: UgcData | None = None
        self.split = "test"

    def use(self, data: UgcData, split: str) -> None:
        """Read from these data; they may be read later.

        Raises:
            ValueError: the data have no noisy sentences.
        """
        if not hasattr(data, "noisy_and_standard"):
            raise ValueError(f"evaluator=ugc_heldout needs noisy sentences, data={data.name} holds {data.holds}")
        self.data, self.split = data, split

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[UgcSet]:
        """The test set; ``root`` and ``languages`` are not needed here."""
        assert self.data is not None, "a run gives its data"
        noisy, standard = self.data.noisy_and_standard(self.split, self.sentences)
        if not standard:
            raise ValueError(
                f"evaluator=ugc_heldout: the {self.split} split is empty; give data.{self.split}_share=0.01, or another"
                " evaluator"
            )
        # One set, whatever languages it has: its metrics name none.
        language = self.data.languages[0] if len(self.data.languages) == 1 else "mul"
        return [UgcSet(self.data.noise.transform, None, noisy, standard, {}, [], {}, language)]
