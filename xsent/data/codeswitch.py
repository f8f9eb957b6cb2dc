"""Code-switched retrieval test sets: words of the other language give way to English ones."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from xsent.data.bitext import BitextData
from xsent.data.heldout import HeldOut
from xsent.data.muse import dictionary_files, read_dictionary
from xsent.data.tatoeba import TestBitext
from xsent.data.whole_file import whole_file
from xsent.languages import to_iso639_3
from xsent.text.codeswitch import CASINGS, switch_words

log = logging.getLogger(__name__)

Read = Callable[[str | None, Sequence[str] | None], Sequence[TestBitext]]


class CodeSwitched:
    """Reads test sets with another reader and switches words of the side that is not English.

    A sentence without any word of the dictionary is left out. What each sentence becomes depends on
    itself, its language, the dictionary and the seed, not on the sentences around it.

    Args:
        read: ``(root, languages)`` -> test sets against English.
        dictionaries: folder of MUSE dictionaries, ``de-en.txt``.
        rate, force_one, casing: as in ``switch_words``.
        pairs_per_language: the first so many pairs that can be switched.
        seed: of the words and their translations.
        out: folder for the exact sentences, ``deu.tsv``: original TAB switched TAB English.

    Source:
        Ki et al. 2024 (ORACLE), section on code-switching: 1,000 sentences for each of eight languages.
    """

    def __init__(
        self,
        *,
        read: Read,
        dictionaries: str,
        rate: float,
        force_one: bool,
        casing: str,
        pairs_per_language: int,
        seed: int,
        out: str,
    ) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"evaluator.read.rate={rate}: expected a probability")
        if casing not in CASINGS:
            raise ValueError(f"evaluator.read.casing={casing}: expected one of {', '.join(CASINGS)}")
        self.read = read
        self.dictionaries = Path(dictionaries)
        self.rate = rate
        self.force_one = force_one
        self.casing = casing
        self.pairs_per_language = pairs_per_language
        self.seed = seed
        self.out = Path(out)

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[TestBitext]:
        """Switched test sets of the languages, in any code; None is all that have a dictionary.

        Raises:
            FileNotFoundError: a language has no dictionary, or what ``read`` raises.
            ValueError: a broken dictionary, a test set not against English, or one that no word of can be switched.
        """
        files = dictionary_files(self.dictionaries)
        missing = {to_iso639_3(code) for code in languages or ()} - files.keys()
        if missing:
            raise FileNotFoundError(
                f"{self.dictionaries}: no dictionary for {', '.join(sorted(missing))};"
                f" there are {', '.join(sorted(files))}"
            )
        bitexts = [bitext for bitext in self.read(root, languages) if bitext.source_lang in files]
        if not bitexts:
            raise FileNotFoundError(f"no test set in {', '.join(sorted(files))}, the languages with a dictionary")
        return [self._switched(bitext, files[bitext.source_lang]) for bitext in bitexts]

    def _switched(self, bitext: TestBitext, dictionary_file: Path) -> TestBitext:
        if bitext.target_lang != "eng":
            raise ValueError(f"{bitext.name}: expected English on the other side, found {bitext.target_lang}")
        dictionary = read_dictionary(dictionary_file)
        rows: list[tuple[str, str, str]] = []
        left_out = 0
        for original, english in zip(bitext.source, bitext.target, strict=True):
            if len(rows) == self.pairs_per_language:
                break
            # A generator of its own: a sentence switches alike wherever it stands.
            rng = random.Random(f"{self.seed}\n{bitext.source_lang}\n{original}")
            switched = switch_words(
                original, dictionary, rate=self.rate, force_one=self.force_one, casing=self.casing, rng=rng
            )
            if switched is None:
                left_out += 1
            else:
                rows.append((original, switched, english))
        if not rows:
            raise ValueError(f"{bitext.name}: no sentence has a word of {dictionary_file}")
        self._write(bitext.source_lang, rows)
        log.info(
            "%s: %d sentences switched, %d left out without a word of the dictionary: %s",
            bitext.name, len(rows), left_out, self._file(bitext.source_lang),
        )  # fmt: skip
        return TestBitext(
            bitext.name, bitext.source_lang, bitext.target_lang, [row[1] for row in rows], [row[2] for row in rows]
        )

    def _file(self, language: str) -> Path:
        return self.out / f"{language}.tsv"

    def _write(self, language: str, rows: Sequence[tuple[str, str, str]]) -> None:
        with whole_file(self._file(language)) as file:
            file.write("original\tswitched\tenglish\n")
            file.writelines("\t".join(text.replace("\t", "\\t") for text in row) + "\n" for row in rows)


class CodeSwitchedHeldOut(CodeSwitched):
    """The same over held-out pairs of the training data, which a run gives; each split has a folder of its own."""

    def use(self, data: BitextData, split: str) -> None:
        """Read from these data, ``valid`` or ``test``; they may be read later."""
        assert isinstance(self.read, HeldOut)
        self.read.use(data, split)
        self.split = split

    def _file(self, language: str) -> Path:
        return self.out / self.split / f"{language}.tsv"
