"""Character noise: keyboard typos (``fing``), leetspeak (``leet``), white space (``spac``)."""

from random import Random

from xsent.text.word_lists import load_sections


def _load_table(name: str, section: str) -> dict[str, str]:
    return dict(entry.split(" ", 1) for entry in load_sections(name)[section])


_KEYS = _load_table("keyboard", "qwerty")
# Upper-case keys have upper-case neighbours. The space bar's only neighbour is itself: a hit draws but changes nothing.
_KEYS |= {key.upper(): neighbours.upper() for key, neighbours in _KEYS.items()} | {" ": " "}
_LEET = _load_table("leet", "leet")


def butter_fingers(sentence: str, rng: Random, *, probability: float) -> str:
    """Replace letters by neighbours on a QWERTY keyboard, in the same case; a key is its own neighbour too.

    Args:
        probability: a letter is hit if a uniform integer from 0 to 99 is at most ``int(100 * probability)``: the
            rate is 0.06 for 0.05 and 0.01 for 0, as in the published experiments.

    Source:
        ``butter_fingers_perturbation`` of NL-Augmenter, in Nishimwe et al. 2024 "fing".
    """
    threshold = int(100 * probability)
    bits = rng.getrandbits
    output = []
    for character in sentence:
        # Differs from the release: it lower-cases and raises what is on no key, and writes "SS" for "ẞ".
        keys = _KEYS.get(character)
        if keys is not None:
            # As rng.choice(range(100)), at a third of its time: 7 bits until they are below 100.
            draw = bits(7)
            while draw >= 100:
                draw = bits(7)
            if draw <= threshold:
                character = rng.choice(keys)
        output.append(character)
    return "".join(output)


def leet_letters(sentence: str, rng: Random, *, share: float) -> str:
    """Replace letters by similar digits.

    Args:
        share: ``int(share * len(sentence))`` letters are drawn, with replacement, among those with a similar digit.

    Source:
        ``leet_letters`` of NL-Augmenter, in Nishimwe et al. 2024 "leet".
    """
    candidates = [i for i, character in enumerate(sentence) if character in _LEET]
    if not candidates:
        return sentence
    characters = list(sentence)
    for i in rng.choices(candidates, k=int(share * len(sentence))):
        characters[i] = _LEET[sentence[i]]
    return "".join(characters)


def perturb_whitespace(sentence: str, rng: Random, *, remove: float, add: float) -> str:
    """Delete white space and insert spaces after other characters; the sentence stays if nothing would be left.

    Args:
        rng: source of one draw per character.
        remove: probability of deleting a white space character.
        add: probability of inserting a space after any other character.

    Source:
        ``whitespace_perturbation`` of NL-Augmenter, in Nishimwe et al. 2024 "spac".
    """
    random = rng.random
    output = []
    for character in sentence:
        draw = random()
        if not character.isspace():
            output.append(character + " " if draw < add else character)
        elif draw >= remove:
            output.append(character)
    return "".join(output) or sentence
