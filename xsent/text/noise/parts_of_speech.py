"""Rule-based part-of-speech guesses for English from word lists and context, without a model."""

from collections.abc import Sequence
from functools import cache

from xsent.text.english import verbs
from xsent.text.noise.tokenizer import Piece
from xsent.text.word_lists import load_word_sets

_WORDS = load_word_sets("grammar")
_FUNCTION_WORDS = _WORDS["before nouns"] | _WORDS["before verbs"] | _WORDS["function words"]


def is_verb(pieces: Sequence[Piece], i: int) -> bool:
    """Whether piece ``i`` is a verb: of the bundled list, or after a word that only precedes verbs."""
    word = pieces[i].text.lower()
    if len(word) > 1 and pieces[i].text.isupper():
        return False
    before = _previous(pieces, i)
    if before in _WORDS["only before verbs"]:
        return True
    if word not in _verb_forms() or before in _WORDS["before nouns"]:
        return False
    if before in _WORDS["before verbs"] or not before[:1].isalpha():
        return True
    # Nouns have these forms too: "work" and "works".
    return word not in verbs.bases("base") and word not in verbs.bases("third")


def is_adjective(pieces: Sequence[Piece], i: int) -> bool:
    """Whether piece ``i``, a possible adjective, is one: after a word that precedes adjectives, or before a noun."""
    before = _previous(pieces, i)
    if before in _WORDS["articles"]:
        after = pieces[i + 1].text.lower() if i + 1 < len(pieces) else ""
        return after[:1].isalpha() and after not in _FUNCTION_WORDS  # "the poor" and "a cold" are nouns
    return before in _WORDS["before adjectives"] or not is_verb(pieces, i)


def starts_sentence(pieces: Sequence[Piece], i: int) -> bool:
    """Whether piece ``i`` begins the text or a sentence, so that its capital carries no information."""
    before = i - 1
    while before >= 0 and not pieces[before].text[0].isalnum() and pieces[before].text[0] not in ".!?":
        before -= 1
    return before < 0 or pieces[before].text[0] in ".!?"


def _previous(pieces: Sequence[Piece], i: int) -> str:
    return pieces[i - 1].text.lower() if i else ""


@cache
def _verb_forms() -> frozenset[str]:
    forms = {word for form in verbs.Forms._fields for word in verbs.bases(form)}
    return frozenset(forms | {"is", "are", "am", "was", "were", "been", "let"}) - _WORDS["rarely verbs"]
