"""Noise of social media that the paper's twelve lack: stretched, shouted, respelt and shortened words, emoticons."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from xsent.text.english.tokens import match_case

_WORD = re.compile(r"(?<![\w'’])[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w)")  # letters, with apostrophes inside
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_VOWELS = "aeiou"
_MOST_REPEATED = 5  # letters that an elongation adds
_SHORTEST = 4  # letters of a word that loses its vowels or becomes a hashtag
_SENTENCE_END = re.compile(r"[.!?…]+(?=\s|$)|(?<![.!?…])$")


def elongate_words(sentence: str, rng: Random, *, probability: float) -> str:
    """Repeat a vowel or the last letter of some words: "soooo", "pleaseee".

    Args:
        rng: source of one draw per word, and two more for a chosen one: the letter, and 1 to 5 repetitions.
        probability: for each word of two letters and more with a vowel.
    """

    def elongate(word: str) -> str:
        places = [i for i, letter in enumerate(word) if letter.lower() in _VOWELS or i == len(word) - 1]
        place = rng.choice(places)
        return word[:place] + word[place] * rng.randint(1, _MOST_REPEATED) + word[place:]

    return _change_words(sentence, rng, probability, elongate, lambda word: len(word) > 1 and _has_vowel(word))


def shout_words(sentence: str, rng: Random, *, sentences: float, words: float) -> str:
    """Write the sentence or some of its words in capitals.

    Args:
        rng: source of one draw for the sentence and, if it is not shouted, one per word.
        sentences: probability that the whole sentence is shouted.
        words: probability for each word, if it is not.
    """
    if rng.random() < sentences:
        return sentence.upper()
    return _change_words(sentence, rng, words, str.upper)


@dataclass(frozen=True)
class Respellings:
    """Spellings by word or phrase, in lower case with straight apostrophes; of several, one is drawn."""

    spellings: Mapping[str, tuple[str, ...]]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Words, and listed phrases before their parts."""
        phrases = sorted((entry for entry in self.spellings if not entry.isalpha()), key=len, reverse=True)
        listed = "|".join(re.escape(phrase).replace("'", "['’]") for phrase in phrases)
        return re.compile(rf"(?<![\w'’])(?:{listed}|[^\W\d_]+)(?![\w'’])", re.IGNORECASE)


def respell_words(sentence: str, rng: Random, *, probability: float, lexicon: Respellings) -> str:
    """Write some words and phrases as they sound: "gonna", "2nite", "dat", "lookin".

    Args:
        rng: source of one draw per listed word or phrase and per word in "-ing" after another vowel; one more for a
            chosen listed one.
        probability: for each of them.
        lexicon: longer entries match first; an initial capital stays.
    """

    def respell(match: re.Match[str]) -> str:
        text = match.group()
        spellings = lexicon.spellings.get(text.lower().replace("’", "'"))
        is_participle = text.endswith("ing") and _has_vowel(text[:-3])
        if not (spellings or is_participle) or rng.random() >= probability:
            return text
        return match_case(rng.choice(spellings), text) if spellings else text[:-1]

    return lexicon.pattern.sub(respell, sentence)


def drop_apostrophes(sentence: str, rng: Random, *, probability: float) -> str:
    """Delete some apostrophes between letters: "dont", "its".

    Args:
        rng: source of one draw per apostrophe.
    """
    return _APOSTROPHE.sub(lambda match: "" if rng.random() < probability else match.group(), sentence)


def drop_vowels(sentence: str, rng: Random, *, probability: float) -> str:
    """Delete all vowels but a first letter of some words: "ppl", "txt", "abt".

    Args:
        rng: source of one draw per word that can change.
        probability: for each word of four letters and more that keeps two or more.
    """

    def shorten(word: str) -> str:
        return word[0] + "".join(letter for letter in word[1:] if letter.lower() not in _VOWELS)

    def can_change(word: str) -> bool:
        return len(word) >= _SHORTEST and 2 <= len(shorten(word)) < len(word)

    return _change_words(sentence, rng, probability, shorten, can_change)


def add_emoticons(sentence: str, rng: Random, *, probability: float, lexicon: Sequence[str]) -> str:
    """Put an emoticon or emoji after some sentences, in place of a single full stop.

    Args:
        rng: source of one draw per end of a sentence, and another for the sign.
        probability: for each run of ``.!?…`` before white space, and for the end.
        lexicon: the signs, each as probable as the others.
    """

    def add(match: re.Match[str]) -> str:
        signs = match.group()
        if rng.random() >= probability:
            return signs
        return f"{'' if signs == '.' else signs} {rng.choice(lexicon)}"

    text = sentence.rstrip()
    return _SENTENCE_END.sub(add, text) + sentence[len(text) :]


def add_hashtags(sentence: str, rng: Random, *, probability: float) -> str:
    """Put ``#`` before some words.

    Args:
        rng: source of one draw per word of four letters and more without an apostrophe.
    """
    return _change_words(
        sentence, rng, probability, lambda word: f"#{word}", lambda word: len(word) >= _SHORTEST and word.isalpha()
    )


def _has_vowel(word: str) -> bool:
    return any(letter in f"{_VOWELS}y" for letter in word.lower())


def _change_words(
    sentence: str,
    rng: Random,
    probability: float,
    change: Callable[[str], str],
    can_change: Callable[[str], bool] = bool,
) -> str:
    def replacement(match: re.Match[str]) -> str:
        word = match.group()
        return change(word) if can_change(word) and rng.random() < probability else word

    return _WORD.sub(replacement, sentence)
