"""Which language a short text is in, as far as that can be told."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from xsent.languages import to_iso639_3
from xsent.text.distractors.llm.prompt import Text

NO_LANGUAGE = "zxx"  # what py3langid says of numbers and signs


def unknown(languages: Iterable[str]) -> list[str]:
    """Those of some languages that cannot be told from others.

    Raises:
        ImportError: py3langid is not installed.
    """
    return sorted(set(languages) - _labels())


def other_language(distractor: str, text: Text, *, threshold: float) -> str | None:
    """The language that a distractor is in instead of its text's; None where it is in that, or nobody can tell.

    Short texts and those full of names look like many languages. So what it looks like must be much more probable than
    the language it should be in, and be something that its text does not look like.

    Args:
        distractor: is looked at.
        text: its original, and the language of both; where py3langid does not know that, nothing is told.
        threshold: probability of the other language, of those two alone, from which on it is told.

    Returns:
        ISO 639-3.

    Source:
        py3langid's naive Bayes (Lui & Baldwin 2012), whose probabilities allow for the length of a text.
    """
    if text.language not in _labels():
        return None
    probabilities = _probabilities(distractor)
    best = max(probabilities, key=probabilities.__getitem__)
    if best in (text.language, NO_LANGUAGE) or best == _best_of(text.text):
        return None
    share = probabilities[best] / (probabilities[best] + probabilities[text.language])
    return best if share >= threshold else None


@lru_cache(maxsize=1024)  # of a text all distractors are looked at together
def _best_of(text: str) -> str:
    probabilities = _probabilities(text)
    return max(probabilities, key=probabilities.__getitem__)


def _probabilities(text: str) -> dict[str, float]:
    """By ISO 639-3 code, those of members of a macrolanguage added up."""
    found = dict.fromkeys([*_labels(), NO_LANGUAGE], 0.0)
    for label, probability in _identifier().rank(text):
        found[_code(label)] += probability
    return found


@cache
def _labels() -> frozenset[str]:
    """ISO 639-3 codes of the languages that it knows."""
    return frozenset(_code(label) for label in _identifier().labels) - {NO_LANGUAGE}


def _code(label: str) -> str:
    return label if label == NO_LANGUAGE else to_iso639_3(label)


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise ImportError("looking at the language of answers needs py3langid: pip install 'xsent[llm]'") from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
