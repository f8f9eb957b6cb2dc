"""Test sets of labelled pairs (PAWS-X, MSRP, TSV): one set per split, kind and language pair."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from xsent.data.readers.labelled import LabelledReader, LabelledRow, LabelledSet
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.labelled_splits import check_shares, read_parts, with_negatives
from xsent.data.sampling.pair_kinds import check_kinds, check_rows, languages_of, number_rows, pairs_of, within
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class LabelledSets:
    """Reader of the valid and test part of labelled files."""

    needs_data: ClassVar[bool] = False

    source: LabelledReader  # reader of the files
    kinds: Sequence[str]  # of `xsent.data.sampling.pair_kinds.KINDS`
    valid_share: float  # as in `read_parts`; use those of the training run to get the same rows
    test_share: float
    parts: Sequence[str] = field(init=False, default=("valid", "test"))

    def __post_init__(self) -> None:
        check_kinds(self.kinds)
        check_shares(self.valid_share, self.test_share)

    def bind(self, data: object, split: str) -> None:
        """Leave out the test part if the split is ``valid``: model selection must not see it."""
        self.parts = ("valid",) if split == "valid" else ("valid", "test")

    def __call__(self, root: str, languages: Sequence[str] | None) -> list[LabelledSet]:
        """Sets of the languages, in any code; None is all."""
        ledger = RejectLedger(strict=False)
        shares = {"valid_share": self.valid_share, "test_share": self.test_share}
        try:
            parts = read_parts(self.source, ledger, root, training=False, **shares)
        except (FileNotFoundError, ValueError) as error:
            message = re.sub(r"\bdata\.(columns|threshold)\b", r"evaluator.read.source.\1", str(error))
            raise type(error)(message.replace("data.root", "evaluator.root")) from None
        if ledger.rejects:
            log.warning("%s: %s", root, ledger.summary())
        selected = {part: parts[part] for part in self.parts}
        check_rows(_in_languages(selected, languages), self.kinds)
        if set(self.kinds) == {"pairs"} and all(row.label for rows in selected.values() for row in rows):
            selected = with_negatives(selected)
        return labelled_sets(selected, self.kinds, languages)


def labelled_sets(
    parts: Mapping[str, Sequence[LabelledRow]], kinds: Sequence[str], languages: Sequence[str] | None
) -> list[LabelledSet]:
    """Group the pairs of each part by kind and language pair.

    Both sides of a pair must be in one of the languages, in any code; None is all. Raises ``FileNotFoundError`` if no
    part has pairs in a language.
    """
    texts, names, numbered = number_rows(_in_languages(parts, languages))
    sets = []
    for part, rows in numbered.items():
        for kind in kinds:
            pairs = pairs_of(rows, kind)
            for lang in sorted(set(zip(pairs.source_lang.tolist(), pairs.target_lang.tolist(), strict=True))):
                chosen = pairs.take((pairs.source_lang == lang[0]) & (pairs.target_lang == lang[1]))
                source, target = ([texts[row] for row in side.tolist()] for side in (chosen.source, chosen.target))
                sets.append(
                    LabelledSet(part, kind, names[lang[0]], names[lang[1]], source, target, chosen.label.tolist())
                )
    return sets


def _in_languages(
    parts: Mapping[str, Sequence[LabelledRow]], languages: Sequence[str] | None
) -> dict[str, list[LabelledRow]]:
    available = languages_of([row for rows in parts.values() for row in rows])
    requested = available if languages is None else {to_iso639_3(code) for code in languages}
    if missing := requested - available:
        raise FileNotFoundError(f"no pairs in {', '.join(sorted(missing))}; there are {', '.join(sorted(available))}")
    return {part: within(rows, requested) for part, rows in parts.items()}
