"""The opposite of what a sentence says: a denial put in or taken out."""

from __future__ import annotations

from xsent.text.distractors.rules import french, german, spanish
from xsent.text.distractors.rules.edits import Edit

_RULES = {"deu": german, "fra": french, "spa": spanish}


def negations(sentence: str, language: str) -> list[Edit]:
    """Changes that deny one statement of a German, French or Spanish sentence, or take back one denial, each.

    Only what can be told without a parser is touched: no questions, and sentences that already deny something get no
    further denial.
    """
    if "?" in sentence:
        return []
    rules = _RULES[language]
    found = list(rules.taken_out(sentence))
    if not found and rules.DENIES.search(sentence) is None:
        found = list(rules.put_in(sentence))
    return found
