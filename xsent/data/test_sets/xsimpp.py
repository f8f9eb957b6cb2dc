"""xSIM++ reader: FLORES-200 test sets with hard negatives of the English sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from xsent.data.readers.lines import read_json, read_lines
from xsent.data.readers.tatoeba import TestBitext, read_flores


@dataclass(frozen=True)
class AugmentedTestBitext(TestBitext):
    """Retrieval test set with hard negatives of the target side."""

    augmented: list[str]
    made_from: dict[str, tuple[str, str]]  # hard negative -> (target sentence, error type)


@dataclass(kw_only=True, eq=False)
class AugmentedFlores:
    """Reader of FLORES-200 files, each language against English, and of hard negatives of the English lines."""

    augmented: str  # file with one augmented English sentence per line, `eng_Latn_augmented.dev`
    # JSON file, `eng_Latn_errtype.dev.json`: an object that maps each augmented sentence to
    # `{"src": English line, "errtype": type}`.
    error_types: str

    def __call__(self, root: str, languages: Sequence[str] | None) -> list[AugmentedTestBitext]:
        """Test sets of the languages, in any code; None is all.

        Raises:
            FileNotFoundError: a file does not exist.
            ValueError: a file is damaged or does not match the others; names file and line, or the entry.
        """
        negatives, made_from = self.files
        bitexts = read_flores(root, languages, pivot="eng")
        if bitexts:  # all have the same English side
            self.check_sources(set(bitexts[0].target), root)
        return [AugmentedTestBitext(**vars(bitext), augmented=negatives, made_from=made_from) for bitext in bitexts]

    @cached_property
    def files(self) -> tuple[list[str], dict[str, tuple[str, str]]]:
        """The hard negatives, and for each its source sentence and error type."""
        lines = read_lines(Path(self.augmented))
        if not lines:
            raise ValueError(f"{self.augmented}: expected hard negatives beside the English lines, found an empty file")
        content = read_json(Path(self.error_types))
        if not isinstance(content, dict):
            raise ValueError(f"{self.error_types}: expected an object, found {type(content).__name__}")
        for text, entry in content.items():
            if not (isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("src", "errtype"))):
                raise ValueError(f"{self.error_types}: {text!r}: expected src and errtype, found {entry!r}")
        for number, line in enumerate(lines, start=1):
            if line not in content:
                raise ValueError(f"{self.augmented}:{number}: {self.error_types} has no entry for {line!r}")
        return lines, {line: (content[line]["src"], content[line]["errtype"]) for line in lines}

    def check_sources(self, english: set[str], root: str) -> None:
        """Raise ``ValueError`` if a hard negative was made from none of these lines of ``root``."""
        negatives, made_from = self.files
        for number, line in enumerate(negatives, start=1):
            source = made_from[line][0]
            if source not in english:
                raise ValueError(
                    f"{self.augmented}:{number}: {self.error_types} says it was made from {source!r},"
                    f" which is no English line in {root}"
                )
