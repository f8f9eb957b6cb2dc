"""Noise of single characters: slips of the finger, digits for letters, spaces lost and won."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from xsent.text.words import sections


def _table(entries: Iterable[str]) -> dict[str, str]:
    return {character: others for character, _, others in (entry.partition(" ") for entry in entries)}


_KEYS = _table(sections("keyboard")["qwerty"])
# Upper-case keys have upper-case neighbours. The space bar has itself alone: a hit that changes nothing, yet draws.
_KEYS |= {key.upper(): neighbours.upper() for key, neighbours in _KEYS.items()} | {" ": " "}
_LEET = _table(sections("leet")["leet"])


def fing(sentence: str, rng: Random, *, probability: float) -> str:
    """Butter fingers: a letter becomes one near it on a QWERTY keyboard, in its case; one of them is itself.

    Args:
        sentence: in any script; what is no letter from a to z stays.
        rng: decides everything.
        probability: a letter is hit when a whole number from 0 to 99 is at most ``int(100 * probability)``, so
            at a rate of 0.06 for 0.05 and of 0.01 for 0, as in the published experiments.

    Source:
        ``butter_fingers_perturbation`` of NL-Augmenter, in Nishimwe et al. 2024 "fing".
    """
    at_most = int(100 * probability)
    bits = rng.getrandbits
    typed = []
    for character in sentence:
        # Differs from the release: it lower-cases and raises what is on no key, and writes "SS" for "ẞ".
        keys = _KEYS.get(character)
        if keys is not None:
            # What rng.choice(range(100)) does, at a third of its time: 7 bits until they are below 100.
            drawn = bits(7)
            while drawn >= 100:
                drawn = bits(7)
            if drawn <= at_most:
                character = rng.choice(keys)
        typed.append(character)
    return "".join(typed)


def leet(sentence: str, rng: Random, *, share: float) -> str:
    """Leet: some letters become digits that look like them.

    Args:
        sentence: in any script.
        rng: decides everything.
        share: as many letters are drawn as ``int(share * len(sentence))``, among those that have a digit and with
            replacement: a letter drawn twice counts twice and changes once.

    Source:
        ``leet_letters`` of NL-Augmenter, in Nishimwe et al. 2024 "leet".
    """
    candidates = [place for place, character in enumerate(sentence) if character in _LEET]
    if not candidates:
        return sentence
    characters = list(sentence)
    for place in rng.choices(candidates, k=int(share * len(sentence))):
        characters[place] = _LEET[sentence[place]]
    return "".join(characters)


def spac(sentence: str, rng: Random, *, remove: float, add: float) -> str:
    """White space: some of it goes, and some characters are followed by a space.

    Args:
        sentence: in any script.
        rng: decides everything, with one draw for each character.
        remove: probability with which a white space character is left out.
        add: probability with which any other is followed by a space.

    Returns:
        The sentence with its new spaces; as it was when nothing would be left.

    Source:
        ``whitespace_perturbation`` of NL-Augmenter, in Nishimwe et al. 2024 "spac".
    """
    draw = rng.random
    written = []
    for character in sentence:
        drawn = draw()
        if not character.isspace():
            written.append(character + " " if drawn < add else character)
        elif drawn >= remove:
            written.append(character)
    return "".join(written) or sentence
