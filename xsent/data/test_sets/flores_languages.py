"""FLORES languages beside English, with hard negatives of the English side."""

from collections.abc import Sequence
from dataclasses import dataclass

from xsent.data.readers.tatoeba import read_flores
from xsent.data.readers.ugc import UgcSet
from xsent.data.test_sets.ugc import (
    GENERATED,
    PUBLISHED,
    GeneratedNegatives,
    Negatives,
    check_published,
    published_negatives,
)


@dataclass(kw_only=True)
class FloresLanguages:
    """Reader of FLORES-200 files: a set for each language, its sentences in place of noisy ones.

    Raises:
        ValueError: only one of the two files of published negatives.
    """

    negatives: GeneratedNegatives | None  # hard negatives of English; None gives none: no xSIM++
    flores_augmented: str | None  # the files published for FLORES, used in place of generated negatives
    flores_error_types: str | None

    def __post_init__(self) -> None:
        check_published(self.flores_augmented, self.flores_error_types)

    def __call__(self, root: str, languages: Sequence[str] | None) -> list[UgcSet]:
        """The languages, in any code; None is all in the folder but English.

        Raises:
            FileNotFoundError: no such folder, or it lacks a language.
            ValueError: files that do not match.
        """
        bitexts = read_flores(root, languages, pivot="eng")
        english = bitexts[0].target if bitexts else []
        negatives = published_negatives(self.flores_augmented, self.flores_error_types, english, root)
        origin = PUBLISHED
        if negatives is None:
            generated = None if self.negatives is None else self.negatives(english)
            negatives, origin = generated or Negatives([], {}), GENERATED if generated else "none"
        return [
            UgcSet(
                *(bitext.source_lang, None, bitext.source, bitext.target, {}),
                *(negatives.augmented, negatives.made_from, "eng"),
                conditions={"negatives": origin},
            )
            for bitext in bitexts
        ]
