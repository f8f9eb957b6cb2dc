"""Some sentences of an evaluator's own test sets with their languages, for pictures of the vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xsent.evaluation.test_sets import PIVOT
from xsent.languages import to_iso639_3

MOST_LANGUAGES = 8  # of the sample, unless they are named: with English as many as have a marker of their own


def sample_of(evaluator: Any, *, languages: Sequence[str] | None, per_language: int) -> tuple[list[str], list[str]]:
    """Distinct sentences of some translation pairs, both sides, and the language of each.

    Args:
        evaluator: its files are read; one without translation pairs gives nothing.
        languages: of the side that is not English, in any code; None takes the first eight.
        per_language: at most so many pairs of a test set, spread over the whole of it.

    Returns:
        N sentences and N languages in ISO 639-3.

    Raises:
        ValueError: a language that is named has no translation pairs.
    """
    wanted = None if languages is None else {to_iso639_3(language) for language in languages}
    taken: set[str] = set()
    language_of: dict[str, str] = {}
    bitexts = list(_bitexts(evaluator))
    found = {side for one in bitexts for side in (one.source_lang, one.target_lang)}
    if wanted is not None and (absent := wanted - found):
        raise ValueError(
            f"pictures.languages: expected languages that the evaluator has translation pairs of"
            f" ({', '.join(sorted(found)) or 'it has none'}), found {', '.join(sorted(absent))} besides"
        )
    for one in bitexts:
        sides = {one.source_lang, one.target_lang} - {PIVOT}
        is_wanted = len(taken | sides) <= MOST_LANGUAGES if wanted is None else bool(sides & wanted)
        if not is_wanted:
            continue
        taken |= sides
        rows = min(per_language, len(one.source))
        for row in (number * len(one.source) // rows for number in range(rows)):
            language_of.setdefault(one.source[row], one.source_lang)
            language_of.setdefault(one.target[row], one.target_lang)
    return list(language_of), list(language_of.values())


def _bitexts(evaluator: Any) -> Iterator[Any]:
    for one in getattr(evaluator, "members", [evaluator]):
        for test_set in getattr(one, "test_sets", ()):
            if hasattr(test_set, "source_lang") and hasattr(test_set, "target_lang"):
                yield test_set
