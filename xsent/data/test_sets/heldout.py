"""Test sets from the held-out splits of a run's training data."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeVar

from xsent.data.modules.base import TrainingData
from xsent.data.modules.bitext import BitextData
from xsent.data.modules.divergences import DivergenceData
from xsent.data.modules.paraphrase import ParaphraseData
from xsent.data.modules.ugc import UgcData
from xsent.data.readers.divergences import DivergenceSet, divergence_set
from xsent.data.readers.labelled import LabelledSet
from xsent.data.readers.tatoeba import TestBitext
from xsent.data.readers.ugc import UgcSet
from xsent.data.sampling.pair_kinds import within
from xsent.data.test_sets.labelled import labelled_sets

D = TypeVar("D", bound=TrainingData)


@dataclass(kw_only=True)
class _HeldOutReader(Generic[D]):
    """Reader of a data module's held-out split, ``valid`` or ``test``; a run calls ``bind`` before it reads."""

    needs_data: ClassVar[bool] = True
    data_class: ClassVar[type[TrainingData]]
    evaluator: ClassVar[str]  # option, for messages

    data: D = field(init=False)
    split: str = field(init=False, default="test")

    def bind(self, data: TrainingData, split: str) -> None:
        """Set the data module, which may be read later, and the split.

        Raises:
            ValueError: the data are of another kind.
        """
        if not isinstance(data, self.data_class):
            raise ValueError(
                f"evaluator={self.evaluator} needs {self.data_class.description}, data={data.name} holds"
                f" {data.description}"
            )
        self.data, self.split = data, split  # type: ignore[assignment]


@dataclass(kw_only=True)
class HeldOut(_HeldOutReader[BitextData]):
    """Retrieval test sets of held-out translation pairs, one per language pair."""

    data_class = BitextData
    evaluator = "heldout"

    pairs_per_language: int | None  # maximum size of a set; pairs of lowest content hash are taken. None is no limit

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[TestBitext]:
        """Test sets of the languages, in any code; None is all. ``root`` is not used."""
        return self.data.bitexts(self.split, languages=languages, per_language=self.pairs_per_language)


class HeldOutPairs(_HeldOutReader[ParaphraseData]):
    """Sets of held-out labelled pairs.

    The split ``valid`` gives the validation sets of the training languages. The split ``test`` gives the validation
    and the test sets of all languages, since the evaluator chooses its threshold on the validation sets.
    """

    data_class = ParaphraseData
    evaluator = "paraphrase"

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[LabelledSet]:
        """Sets of the languages, in any code; None is all. ``root`` is not used."""
        held_out = self.data.held_out
        if self.split == "valid":
            held_out = {"valid": within(held_out["valid"], set(self.data.language_codes))}
        return labelled_sets(held_out, self.data.kinds, languages)


class HeldOutDivergences(_HeldOutReader[DivergenceData]):
    """Test set of held-out divergences, with the pairs of the training items (Briakou & Carpuat 2020, Table 10).

    A pair occurs as often as in the items. The less divergent pair of a ranked item counts as equivalent.
    """

    data_class = DivergenceData
    evaluator = "divergence_heldout"

    def __call__(self, root: str | None, sets: Sequence[str] | None) -> list[DivergenceSet]:
        """The test set; ``root`` and ``sets`` are not used."""
        records = self.data.labelled_records(self.split)
        if not records:
            raise ValueError(
                f"evaluator=divergence_heldout: the {self.split} split is empty; give data.{self.split}_seeds=500, or"
                " another evaluator"
            )
        source_lang, target_lang = self.data.language_codes
        test_set = divergence_set([record for record, _ in records], name="synthetic")
        equivalent = [is_equivalent for _, is_equivalent in records]
        return [replace(test_set, equivalent=equivalent, source_lang=source_lang, target_lang=target_lang)]


@dataclass(kw_only=True)
class HeldOutNoise(_HeldOutReader[UgcData]):
    """Test set of held-out sentences, each with its noisy version."""

    data_class = UgcData
    evaluator = "ugc_heldout"

    sentences: int  # maximum number of sentences; those of lowest content hash are taken

    def __post_init__(self) -> None:
        if self.sentences < 1:
            raise ValueError(f"evaluator.read.sentences={self.sentences}: expected at least 1")

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[UgcSet]:
        """The test set; ``root`` and ``languages`` are not used."""
        noisy, standard = self.data.noisy_and_standard(self.split, self.sentences)
        if not standard:
            raise ValueError(
                f"evaluator=ugc_heldout: the {self.split} split is empty; give data.{self.split}_share=0.01, or another"
                " evaluator"
            )
        # One set for all languages: its metric names contain no language.
        language = self.data.language_codes[0] if len(self.data.language_codes) == 1 else "mul"
        return [UgcSet(self.data.noise.transform, None, noisy, standard, {}, [], {}, language)]
