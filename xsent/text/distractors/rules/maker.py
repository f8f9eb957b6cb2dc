"""Distractors by rules: each changes a word, number, name or negation."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, zip_longest

from tqdm import tqdm

from xsent.config_checks import check_boolean, check_integer
from xsent.text.distractors.protocol import DistractorResult, Request
from xsent.text.distractors.rules import french, german, spanish
from xsent.text.distractors.rules.edits import NEGATION, Edit, apply_edits, describe_edits, find_edit, words
from xsent.text.distractors.rules.lexicon import LANGUAGES, find_fixed_expressions, overlaps
from xsent.text.distractors.rules.numerals import replace_numbers
from xsent.text.distractors.rules.swaps import swap_words
from xsent.text.english.antonyms import replace_with_antonyms
from xsent.text.english.entities import Names
from xsent.text.english.numbers import replace_numbers as replace_english_numbers
from xsent.text.english.polarity import invert_polarity

# No other edit can undo these; a negation can undo an antonym.
_LASTING = {"number", "entity", "neighbour"}
_NEGATION_RULES = {"deu": german, "fra": french, "spa": spanish}
KINDS = ("number", "entity", "antonym", "negation", "function_word", "neighbour")


@dataclass(kw_only=True)
class RuleMaker:
    """Makes one edit of the sentence per distractor, and alternates between the kinds of edits.

    Raises:
        ValueError: a value has the wrong type or range, or a kind does not exist.

    Source:
        The rules are ours. Chen et al. 2023 (arXiv:2306.12907), section 2.1, for opposites, denials, numbers and names
        as edits that a sentence encoder has to notice.
    """

    count: int  # distractors of each text
    seed: int  # of the draws, together with the language and the text; other texts have no influence
    # Of edits, from ``KINDS``: another number, another name of the same type, an antonym, a negation added or removed,
    # another function word ("before" for "after"), another word of the same group ("cat" for "dog").
    kinds: Sequence[str]
    # If single edits are too few, combine two. One of them is a number, name or neighbour, because two other edits
    # could cancel each other.
    combine: bool

    def __post_init__(self) -> None:
        check_integer("maker.count", self.count, minimum=1)
        check_integer("maker.seed", self.seed, minimum=0)
        kinds = self.kinds
        if not isinstance(kinds, list | tuple) or not kinds or not all(kind in KINDS for kind in kinds):
            raise ValueError(f"maker.kinds={kinds}: expected some of {', '.join(KINDS)}")
        check_boolean("maker.combine", self.combine)

    def check(self, languages: Iterable[str]) -> None:
        """Raise ``ValueError`` if a language has no rules."""
        if unknown := sorted(set(languages) - set(LANGUAGES)):
            raise ValueError(f"no rules for {', '.join(unknown)}: expected languages of {', '.join(LANGUAGES)}")

    def make(self, requests: Sequence[Request], *, progress: bool) -> Iterator[DistractorResult]:
        """Yield the result of each text, in order; a text with too few distractors gets none."""
        self.check(request.language for request in requests)
        for request in tqdm(requests, desc="distractors", unit=" texts", delay=2, disable=not progress):
            distractors = self.distractors(request.text, request.language)
            if len(distractors) == self.count:
                yield DistractorResult(request, tuple(distractors), tuple(distractors.values()), "")
            else:
                failure = f"only {len(distractors)} of {self.count}: the rules find no more to change"
                yield DistractorResult(request, (), (), failure)

    def distractors(self, text: str, language: str) -> dict[str, str]:
        """Up to ``count`` distractors of a text, each with a description of its edits."""
        rng = random.Random(f"{self.seed}\n{language}\n{text}")
        by_kind = [_alternate_spans(self._edits(text, language, kind, rng), rng) for kind in dict.fromkeys(self.kinds)]
        rng.shuffle(by_kind)
        singles = _interleave(by_kind)
        distractors: dict[str, str] = {}
        for edits in chain(((edit,) for edit in singles), self._pairs(singles, rng)):
            distractor = apply_edits(text, edits)
            # Case and spaces alone do not change the meaning.
            if distractor.lower().split() != text.lower().split():
                distractors.setdefault(distractor, describe_edits(text, edits))
            if len(distractors) == self.count:
                break
        return distractors

    def _pairs(self, singles: Sequence[Edit], rng: random.Random) -> Iterator[tuple[Edit, ...]]:
        if self.combine:
            pairs = [
                (first, second)
                for first, second in combinations(singles, 2)
                if (first.end <= second.start or second.end <= first.start) and {first.kind, second.kind} & _LASTING
            ]
            yield from rng.sample(pairs, len(pairs))

    def _edits(self, text: str, language: str, kind: str, rng: random.Random) -> list[Edit]:
        edits: list[Edit] = []
        if language == "eng":
            edits += _english_edits(text, kind, self.count, rng)
        elif kind == "number":
            edits += replace_numbers(text, language, per_span=self.count, rng=rng)
        elif kind == NEGATION:
            edits += negations(text, language)
        return [*edits, *swap_words(text, language, kind, per_word=self.count, rng=rng)]


def negations(sentence: str, language: str) -> list[Edit]:
    """Edits that negate one statement of a German, French or Spanish sentence, or remove one negation, each.

    There is no parser, so questions are not edited, and no negation is added to a sentence that has one.
    """
    if "?" in sentence:
        return []
    rules = _NEGATION_RULES[language]
    edits = list(rules.remove_negations(sentence))
    if not edits and rules.NEGATIVE.search(sentence) is None:
        edits = list(rules.add_negations(sentence))
    return edits


def _alternate_spans(edits: Sequence[Edit], rng: random.Random) -> list[Edit]:
    """Order edits so that every span comes once before any comes again."""
    by_start: dict[int, list[Edit]] = {}
    for edit in edits:
        by_start.setdefault(edit.start, []).append(edit)
    groups = list(by_start.values())
    rng.shuffle(groups)
    return _interleave(groups)


def _interleave(lists: Sequence[Sequence[Edit]]) -> list[Edit]:
    return [edit for row in zip_longest(*lists) for edit in row if edit is not None]


def _english_edits(sentence: str, kind: str, count: int, rng: random.Random) -> list[Edit]:
    """Edits by the rules of xSIM++: up to ``count`` for each number and name, all antonyms and negations."""
    variants: Iterable[str] = ()
    if kind == "number":
        variants = replace_english_numbers(sentence, per_number=count, rng=rng)
    elif kind == "entity":
        variants = _bundled_names().replace(sentence, count, rng)
    elif kind == "antonym":
        variants = replace_with_antonyms(sentence)
    elif kind == NEGATION:
        variants = invert_polarity(sentence)
    edits = [find_edit(sentence, variant, kind) for variant in dict.fromkeys(variants) if variant != sentence]
    if kind == NEGATION:
        return edits
    fixed = find_fixed_expressions(sentence, "eng")
    # No antonym that the sentence contains: "public and private".
    present = {word.text.lower() for word in words(sentence)} if kind == "antonym" else set()
    return [edit for edit in edits if edit.new.lower() not in present and not overlaps(edit.start, edit.end, fixed)]


@cache
def _bundled_names() -> Names:
    return Names({})
