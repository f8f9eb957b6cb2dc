"""Negation edits of German, French and Spanish sentences."""

from __future__ import annotations

from xsent.text.distractors.rules import french, german, spanish
from xsent.text.distractors.rules.edits import Edit

_RULES = {"deu": german, "fra": french, "spa": spanish}


def negations(sentence: str, language: str) -> list[Edit]:
    """Edits that negate one statement of a sentence, or remove one negation, each.

    There is no parser, so questions are not edited, and no negation is added to a sentence that has one.
    """
    if "?" in sentence:
        return []
    rules = _RULES[language]
    edits = list(rules.remove_negations(sentence))
    if not edits and rules.NEGATIVE.search(sentence) is None:
        edits = list(rules.add_negations(sentence))
    return edits
