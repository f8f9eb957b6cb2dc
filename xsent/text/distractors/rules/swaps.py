"""Word swaps from the word list, where the surrounding words keep their form."""

import random
import re
from collections.abc import Iterator, Sequence

from xsent.text.distractors.rules.edits import Edit, Word, elides, match_apostrophes, split_list, straighten, words
from xsent.text.distractors.rules.lexicon import Choices, find_fixed_expressions, lexicon, overlaps
from xsent.text.english.tokens import match_case, starts_sentence, takes_an

_MAX_WORDS = 4  # of an entry of the lists
# French words whose form depends on the initial of the next word.
_BEFORE_VOWEL = set(
    split_list(
        "le la de que ne se je me te ce cet du au mon ton son ma ta "
        "sa l' d' qu' n' s' j' m' t' c' jusqu' lorsque lorsqu' puisque puisqu' "
        "beau bel nouveau nouvel vieux vieil jusque"
    )
)
_NEGATIONS = set(split_list("nicht nichts kein keine keinen keinem keiner nie not no never ne n' pas nunca nada nadie"))
_VOWEL_FORMS = {"nouveau": "nouvel", "vieux": "vieil", "beau": "bel"}


def swap_words(sentence: str, language: str, kind: str, *, per_word: int, rng: random.Random) -> Iterator[Edit]:
    """Edits that replace one word, or one entry of several words, each.

    Capitals are matched as in the lists, except at the start of a sentence. Fixed expressions are not edited. A
    replacement may not change French elision, Spanish "y/e" and "o/u", or English "a/an" of the word before.
    """
    choices = lexicon(language).get(kind, {})
    fixed = find_fixed_expressions(sentence, language)
    all_words = words(sentence)
    present = f" {' '.join(word.text for word in all_words)} ".lower()
    covered = 0
    for first in range(len(all_words)):
        if all_words[first].start < covered:
            continue
        for start, end, replacements, old in _matches(sentence, all_words, first, choices):
            covered = end
            if overlaps(start, end, fixed):
                break
            if kind == "function_word" and _is_negated(all_words, first, end):
                break
            if kind == "neighbour" and _is_beside_year(sentence, start, end):
                break
            before = all_words[first - 1].text.lower() if first else ""
            fitting = [
                new
                for new in replacements
                if f" {new} ".lower() not in present and _fits(language, before, old, new, sentence[end:])
            ]
            for new in rng.sample(fitting, min(per_word, len(fitting))):
                is_before_vowel = sentence[end:].startswith(" ") and elides(sentence[end + 1 :])
                written = _VOWEL_FORMS.get(new, new) if language == "fra" and is_before_vowel else new
                yield Edit(start, end, match_case(match_apostrophes(written, sentence), sentence[start:end]), kind)
            break


def _matches(
    sentence: str, all_words: Sequence[Word], first: int, choices: Choices
) -> Iterator[tuple[int, int, list[str], str]]:
    """The longest entry that begins at a word: span, replacements, and key in the list."""
    start = all_words[first].start
    for last in range(min(first + _MAX_WORDS, len(all_words)) - 1, first - 1, -1):
        end = all_words[last].end
        key = straighten(sentence[start:end])
        if key not in choices and key[:1].isupper() and starts_sentence(sentence, start):
            key = key[0].lower() + key[1:]
        by_follower = choices.get(key, {})
        specific = [news for follows, news in by_follower.items() if follows and follows.match(sentence, end)]
        # Replacements for this context go before general ones: "près de 200" must not become "loin de 200".
        replacements = [new for news in specific or [by_follower.get(None, [])] for new in news]
        if replacements:
            yield start, end, replacements, key


def _is_negated(all_words: Sequence[Word], first: int, end: int) -> bool:
    """Whether a negation is near: "nicht immer" and "nicht nie" mean much the same, "nie kein" is wrong."""
    after = [word for word in all_words[first:] if word.start >= end]
    return any(word.text.lower() in _NEGATIONS for word in (*all_words[max(0, first - 3) : first], *after[:2]))


def _is_beside_year(sentence: str, start: int, end: int) -> bool:
    """Whether a year is adjacent: "im Jahr 2011", "in den 1480er Jahren"."""
    return re.match(r" \d", sentence[end:]) is not None or re.search(r"\der $", sentence[:start]) is not None


def _fits(language: str, before: str, old: str, new: str, after: str) -> bool:
    """Whether the word before keeps its form, and a final French "de" is not elided."""
    if language == "fra" and new.endswith(" de") and elides(after.lstrip()):
        return False
    if language == "fra" and before in _BEFORE_VOWEL:
        return elides(old) == elides(new)
    if language == "spa" and before in ("y", "e"):
        return _begins_with(old, "i") == _begins_with(new, "i")
    if language == "spa" and before in ("o", "u"):
        return _begins_with(old, "o") == _begins_with(new, "o")
    if language == "eng" and before in ("a", "an"):
        return takes_an(old) == takes_an(new)
    return True


def _begins_with(word: str, sound: str) -> bool:
    return word.lower().removeprefix("h").startswith(sound) and not word.lower().startswith("hie")
