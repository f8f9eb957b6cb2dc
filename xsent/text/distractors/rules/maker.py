"""Makes distractors of sentences by rules, a change of a word, number, name or denial each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, zip_longest
from typing import TypeVar

from tqdm import tqdm

from xsent.text.distractors.maker import Made, Request
from xsent.text.distractors.rules import english
from xsent.text.distractors.rules.edits import Edit, edited, note
from xsent.text.distractors.rules.lexicon import LANGUAGES
from xsent.text.distractors.rules.negation import negations
from xsent.text.distractors.rules.numerals import numbers
from xsent.text.distractors.rules.swaps import swaps
from xsent.text.distractors.values import check_flag, check_whole

T = TypeVar("T")

# Another change cannot undo one of these, as a denial undoes an opposite.
_LASTING = ("number", "entity", "neighbour")
KINDS = ("number", "entity", "antonym", "negation", "function_word", "neighbour")


class RuleMaker:
    """Changes one thing of a sentence in each of its distractors; the kinds of change take turns.

    Args:
        count: distractors of each text.
        seed: with the language and the text it decides every draw; neighbours and their order do not.
        kinds: which changes, of ``KINDS``: another number, another name of its kind, a word's opposite, a denial put
            in or taken out, another function word ("before" for "after"), another word of its group ("cat" for "dog").
        combine: where single changes are too few, change two places, one of them a number, a name or a neighbour: two
            other changes could undo each other.

    Raises:
        ValueError: a value is not of its kind; no distractor is asked for; a kind that is none, or none at all.

    Source:
        The rules are ours. Chen et al. 2023 (arXiv:2306.12907), section 2.1, for opposites, denials, numbers and names
        as changes that a sentence encoder has to notice.
    """

    def __init__(self, *, count: int, seed: int, kinds: Sequence[str], combine: bool) -> None:
        check_whole("maker.count", count, least=1)
        check_whole("maker.seed", seed, least=0)
        if not isinstance(kinds, list | tuple) or not kinds or not all(kind in KINDS for kind in kinds):
            raise ValueError(f"maker.kinds={kinds}: expected some of {', '.join(KINDS)}")
        check_flag("maker.combine", combine)
        self.count = count
        self.seed = seed
        self.kinds = tuple(dict.fromkeys(kinds))
        self.combine = combine

    def check(self, languages: Iterable[str]) -> None:
        """Raise ``ValueError``, naming those it knows, if one of the languages has no rules."""
        unknown = sorted(set(languages) - set(LANGUAGES))
        if unknown:
            raise ValueError(f"no rules for {', '.join(unknown)}: expected languages of {', '.join(LANGUAGES)}")

    def make(self, requests: Sequence[Request], *, progress: bool) -> Iterator[Made]:
        """What is made of each text, in their order; a text of which too few can be made gets none."""
        self.check(request.language for request in requests)
        for request in tqdm(requests, desc="distractors", unit=" texts", delay=2, disable=not progress):
            yield self._made(request)

    def _made(self, request: Request) -> Made:
        found = self.distractors(request.text, request.language)
        if len(found) < self.count:
            return Made(request, (), (), f"only {len(found)} of {self.count}: the rules find no more to change")
        return Made(request, tuple(found), tuple(found.values()), "")

    def distractors(self, text: str, language: str) -> dict[str, str]:
        """Up to ``count`` distractors of a text, each with what was changed."""
        rng = random.Random(f"{self.seed}\n{language}\n{text}")
        by_kind = [_places_in_turn(self._edits(text, language, kind, rng), rng) for kind in self.kinds]
        rng.shuffle(by_kind)
        singles = list(_in_turn(by_kind))
        found: dict[str, str] = {}
        for edits in self._changes(singles, rng):
            made = edited(text, edits)
            # A change of letters' case or of spaces alone changes no meaning.
            if made.lower().split() != text.lower().split():
                found.setdefault(made, note(text, edits))
            if len(found) == self.count:
                break
        return found

    def _changes(self, singles: Sequence[Edit], rng: random.Random) -> Iterator[tuple[Edit, ...]]:
        yield from ((edit,) for edit in singles)
        if self.combine:
            pairs = [
                pair
                for pair in combinations(singles, 2)
                if (pair[0].end <= pair[1].start or pair[1].end <= pair[0].start)
                and any(edit.kind in _LASTING for edit in pair)
            ]
            yield from rng.sample(pairs, len(pairs))

    def _edits(self, text: str, language: str, kind: str, rng: random.Random) -> list[Edit]:
        found: list[Edit] = []
        if language == "eng" and kind in _ENGLISH:
            found += _ENGLISH[kind](text, self.count, rng)
        elif kind == "number":
            found += numbers(text, language, per_place=self.count, rng=rng)
        elif kind == "negation":
            found += negations(text, language)
        return [*found, *swaps(text, language, kind, per_word=self.count, rng=rng)]


_ENGLISH: dict[str, Callable[[str, int, random.Random], list[Edit]]] = {
    "number": lambda text, n, rng: english.english_numbers(text, per_place=n, rng=rng),
    "entity": lambda text, n, rng: english.english_entities(text, per_place=n, rng=rng),
    "antonym": lambda text, n, rng: english.english_antonyms(text),
    "negation": lambda text, n, rng: english.english_negations(text),
}


def _places_in_turn(edits: Sequence[Edit], rng: random.Random) -> list[Edit]:
    """Changes in an order in which no place comes again before all had their turn."""
    by_place: dict[int, list[Edit]] = {}
    for edit in edits:
        by_place.setdefault(edit.start, []).append(edit)
    places = list(by_place.values())
    rng.shuffle(places)
    return list(_in_turn(places))


def _in_turn(lists: Sequence[Sequence[T]]) -> Iterator[T]:
    for row in zip_longest(*lists):
        yield from (item for item in row if item is not None)
