"""Parts of a data module's held-out splits: test sets for retrieval, sentences for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from xsent.data.hashes import text_hashes
from xsent.data.labelled import LabelledRow, LabelledSet
from xsent.data.labelled_pairs import labelled_sets, languages_of, within
from xsent.data.tatoeba import TestBitext
from xsent.languages import to_iso639_3

if TYPE_CHECKING:
    from xsent.data.bitext import BitextData
    from xsent.data.paraphrase import ParaphraseData


class HeldOut:
    """Reads retrieval test sets from the training data's own held-out pairs, one per language pair.

    Args:
        pairs_per_language: at most so many pairs, those of lowest hash.

    Attributes:
        data: the data module, given when a run knows it.
        split: ``valid`` or ``test``.
    """

    def __init__(self, *, pairs_per_language: int) -> None:
        self.pairs_per_language = pairs_per_language
        self.data: BitextData | None = None
        self.split = "test"

    def use(self, data: BitextData, split: str) -> None:
        """Read from these data, ``valid`` or ``test``; they may be read later."""
        self.data, self.split = data, split

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[TestBitext]:
        """Test sets of the languages, in any code; None is all. ``root`` is not needed here."""
        assert self.data is not None, "a run gives its data"
        wanted = None if languages is None else {to_iso639_3(code) for code in languages}
        source, target, source_langs, target_langs = self.data.sentences(self.split)
        rows: dict[tuple[str, str], list[int]] = {}
        for row in np.argsort(self.data.splits[self.split].key, kind="stable").tolist():
            pair = target_langs[row], source_langs[row]
            if wanted is None or pair[0] in wanted:
                rows.setdefault(pair, []).append(row)
        return [
            # Queries in the other language first, as the published test sets have it: deu-eng.
            TestBitext(f"{lang}-{pivot}", lang, pivot, [target[r] for r in kept], [source[r] for r in kept])
            for (lang, pivot), found in sorted(rows.items())
            if (kept := found[: self.pairs_per_language])
        ]


def sample_pairs(
    data: BitextData, split: str, *, languages: Sequence[str] | None, pairs_per_language: int
) -> tuple[list[str], list[str]]:
    """Distinct sentences of some held-out pairs, both sides, and the language of each.

    Args:
        data: read before.
        split: ``valid`` or ``test``.
        languages: of the other side; None takes the first eight that the data have.
        pairs_per_language: at most so many pairs each.
    """
    read = HeldOut(pairs_per_language=pairs_per_language)
    read.data, read.split = data, split
    bitexts = read(None, languages)
    if languages is None:
        bitexts = bitexts[:8]
    language_of: dict[str, str] = {}
    for bitext in bitexts:
        for source, target in zip(bitext.source, bitext.target, strict=True):
            language_of.setdefault(source, bitext.source_lang)
            language_of.setdefault(target, bitext.target_lang)
    return list(language_of), list(language_of.values())


class HeldOutPairs:
    """Reads sets of labelled pairs from the training data's own held-out parts.

    With the split ``valid`` these are the validation sets of the languages trained on: whoever chooses by them has not
    seen the others. With ``test`` they are both parts in all languages, since the threshold is chosen on the first.

    Attributes:
        data: the data module, given when a run knows it.
        split: ``valid`` or ``test``.
    """

    def __init__(self) -> None:
        self.data: ParaphraseData | None = None
        self.split = "test"

    def use(self, data: ParaphraseData, split: str) -> None:
        """Read from these data; they may be read later."""
        self.data, self.split = data, split

    def __call__(self, root: str | None, languages: Sequence[str] | None) -> list[LabelledSet]:
        """Sets of the languages, in any code; None is all. ``root`` is not needed here."""
        assert self.data is not None, "a run gives its data"
        held_out = self.data.held_out
        if self.split == "valid":
            held_out = {"valid": within(held_out["valid"], set(self.data.languages))}
        return labelled_sets(held_out, self.data.kinds, languages)


def sample_rows(
    rows: Sequence[LabelledRow], *, languages: Sequence[str] | None, per_language: int
) -> tuple[list[str], list[str]]:
    """Distinct sentences of some labelled rows, both sides, and the language of each.

    The same items in every language, as far as they are there.

    Args:
        rows: of any labels.
        languages: in any code; None takes the first eight that the rows have.
        per_language: at most so many rows each.
    """
    there = sorted(languages_of(rows))
    chosen = there[:8] if languages is None else [to_iso639_3(code) for code in languages]
    order = np.argsort(text_hashes(row.item or row.source for row in rows), kind="stable")
    of_language: dict[str, list[LabelledRow]] = {language: [] for language in chosen}
    for number in order.tolist():
        row = rows[number]
        if len(found := of_language.get(row.source_lang, [])) < per_language:
            found.append(row)
    language_of: dict[str, str] = {}
    for row in (row for found in of_language.values() for row in found):
        language_of.setdefault(row.source, row.source_lang)
        language_of.setdefault(row.target, row.target_lang)
    return list(language_of), list(language_of.values())
