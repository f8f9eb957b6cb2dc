"""Code-switched retrieval test sets: words of the source side are replaced by English translations."""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from xsent.data.modules.base import TrainingData
from xsent.data.readers.lines import select_available
from xsent.data.readers.muse import dictionary_files, read_dictionary
from xsent.data.readers.tatoeba import TestBitext
from xsent.data.test_sets.heldout import HeldOut
from xsent.files.atomic import atomic_write
from xsent.text.codeswitch import CASINGS, switch_words

log = logging.getLogger(__name__)

Read = Callable[[str | None, Sequence[str] | None], Sequence[TestBitext]]


@dataclass(kw_only=True)
class CodeSwitched:
    """Reads test sets with another reader and switches words of the side that is not English.

    Sentences without any word of the dictionary are left out. The result for a sentence depends on the sentence, its
    language, the dictionary and the seed alone.

    Source:
        Ki et al. 2024 (ORACLE), section on code-switching: 1,000 sentences for each of eight languages.
    """

    read: Read  # (root, languages) -> test sets against English
    dictionaries: str  # folder of MUSE dictionaries, `de-en.txt`
    rate: float  # this and the next two: as in `switch_words`
    force_one: bool
    casing: str
    pairs_per_language: int  # maximum number of pairs, the first that can be switched
    seed: int  # of the words and their translations
    out: str  # folder for the sentences, `deu.tsv`: original TAB switched TAB English

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise ValueError(f"evaluator.read.rate={self.rate}: expected a probability")
        if self.casing not in CASINGS:
            raise ValueError(f"evaluator.read.casing={self.casing}: expected one of {', '.join(CASINGS)}")

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[TestBitext]:
        """Switched test sets of the languages, in any code; None is all with a dictionary.

        Raises:
            FileNotFoundError: a language has no dictionary; also raised by ``read``.
            ValueError: a broken dictionary, a test set not against English, or one without a switchable word.
        """
        folder = Path(self.dictionaries)
        files = dictionary_files(folder)
        select_available(languages, files, folder, "dictionary")
        bitexts = [bitext for bitext in self.read(root, languages) if bitext.source_lang in files]
        if not bitexts:
            raise FileNotFoundError(f"no test set in {', '.join(sorted(files))}, the languages with a dictionary")
        return [self._switch(bitext, files[bitext.source_lang]) for bitext in bitexts]

    def _switch(self, bitext: TestBitext, dictionary_file: Path) -> TestBitext:
        if bitext.target_lang != "eng":
            raise ValueError(f"{bitext.name}: expected English on the other side, found {bitext.target_lang}")
        dictionary = read_dictionary(dictionary_file)
        rows: list[tuple[str, str, str]] = []
        skipped = 0
        for original, english in zip(bitext.source, bitext.target, strict=True):
            if len(rows) == self.pairs_per_language:
                break
            # One generator per sentence, so that its position does not matter.
            rng = random.Random(f"{self.seed}\n{bitext.source_lang}\n{original}")
            switched = switch_words(
                original, dictionary, rate=self.rate, force_one=self.force_one, casing=self.casing, rng=rng
            )
            if switched is None:
                skipped += 1
            else:
                rows.append((original, switched, english))
        if not rows:
            raise ValueError(f"{bitext.name}: no sentence has a word of {dictionary_file}")
        path = self._folder() / f"{bitext.source_lang}.tsv"
        with atomic_write(path) as file:
            file.write("original\tswitched\tenglish\n")
            file.writelines("\t".join(text.replace("\t", "\\t") for text in row) + "\n" for row in rows)
        counts = f"{len(rows)} sentences switched, {skipped} left out without a word of the dictionary"
        log.info(f"{bitext.name}: {counts}: {path}")
        return replace(bitext, source=[row[1] for row in rows], target=[row[2] for row in rows])

    def _folder(self) -> Path:
        return Path(self.out)


class CodeSwitchedHeldOut(CodeSwitched):
    """Code-switched held-out pairs of a run's training data; each split has its own output folder."""

    needs_data: ClassVar[bool] = True

    def bind(self, data: TrainingData, split: str) -> None:
        """Set the data module, which may be read later, and the split, ``valid`` or ``test``."""
        assert isinstance(self.read, HeldOut)
        self.read.bind(data, split)
        self.split = split

    def _folder(self) -> Path:
        return Path(self.out) / self.split
