"""Phrase replacement: exchange a phrase of one side for another with the same tags."""

from dataclasses import dataclass
from random import Random

from xsent.config_checks import check_choice
from xsent.text.divergences.annotated_pair import SIDES, SOURCE, AnnotatedPair
from xsent.text.divergences.json_format import REPLACEMENT, Divergence, Reason, make_change
from xsent.text.divergences.phrases import Phrase, PhraseInventory, SeedCorpus
from xsent.text.english.tokens import match_case

EITHER = "either"
FITTED, AS_FOUND = "fitted", "as_found"
_NAME_TAGS = ("NNP", "PROPN")  # prefixes of the tags of names, which stay capitalised


@dataclass(frozen=True)
class PhraseReplacement:
    """Replaces a phrase by one with the same tags from the seeds.

    Source:
        Briakou & Carpuat 2020, section 3.2, after Pham et al. 2018. Differs from the released code: a used phrase
        stays in the inventory, so that no divergence depends on earlier ones.
    """

    side: str  # ``either``: a fair coin (paper), or the source if the target is not tagged; ``source``: released code
    longest: int  # maximum number of words of a phrase; it has at least 2 and at most half of the sentence
    casing: str  # ``fitted``: adapt capitals at the start of a sentence; ``as_found``: keep the phrase as it is
    attempts: int  # draws of a phrase

    def __post_init__(self) -> None:
        check_choice("replacement.side", self.side, (EITHER, SOURCE))
        check_choice("replacement.casing", self.casing, (FITTED, AS_FOUND))

    def make(self, pair: AnnotatedPair, rng: Random, seeds: SeedCorpus) -> Divergence | Reason:
        side = rng.choice(SIDES) if self.side == EITHER and pair.target_tags else SOURCE
        words, tags = pair.words(side), pair.tags if side == SOURCE else pair.target_tags
        inventory = seeds.source_phrases if side == SOURCE else seeds.target_phrases
        longest = min(len(words) // 2, inventory.longest)
        if longest < 2:
            return Reason.TOO_SHORT
        for _ in range(self.attempts):
            length = rng.randint(2, longest)
            start = rng.randint(0, len(words) - length)
            span = slice(start, start + length)
            old = Phrase(words[span], tags[span], start == 0)
            if phrase := _draw_phrase(inventory, old, rng):
                new = _match_capitals(phrase, old) if self.casing == FITTED else phrase.words
                note = f"{' '.join(old.words)} > {' '.join(new)}"
                replaced = (*words[:start], *new, *words[start + length :])
                return make_change(pair, REPLACEMENT, side, replaced, range(start, start + length), note)
        return Reason.NO_PHRASE


def _draw_phrase(inventory: PhraseInventory, old: Phrase, rng: Random) -> Phrase | None:
    """A random phrase with the same tags and other words, ignoring case."""
    numbers = inventory.find(old.tags)
    if not numbers:
        return None
    number = rng.choice(numbers)
    phrase = inventory.phrase(len(old.words), number)
    if _lower(phrase.words) != _lower(old.words):
        return phrase
    if len(numbers) == 1:
        return None
    # The phrase itself was drawn: take any of the others, which all differ from it.
    number = numbers.start + (number - numbers.start + rng.randrange(1, len(numbers))) % len(numbers)
    return inventory.phrase(len(old.words), number)


def _match_capitals(phrase: Phrase, old: Phrase) -> tuple[str, ...]:
    first, *rest = phrase.words
    keeps_capital = phrase.tags[0].startswith(_NAME_TAGS) or first == "I" or first[1:].isupper()
    if phrase.starts_sentence and not keeps_capital:
        first = first.lower()
    if old.starts_sentence:
        first = match_case(first, old.words[0])
    return (first, *rest)


def _lower(words: tuple[str, ...]) -> list[str]:
    return [word.lower() for word in words]
