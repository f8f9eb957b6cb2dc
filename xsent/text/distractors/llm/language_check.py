"""Language identification of distractors with py3langid."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from xsent.languages import to_iso639_3

NO_LANGUAGE = "zxx"  # py3langid's label of numbers and signs


def unsupported_languages(languages: Iterable[str]) -> set[str]:
    """The languages that py3langid does not know; ``ImportError`` if it is not installed."""
    return set(languages) - _labels()


def detect_other_language(distractor: str, original: str, language: str, *, threshold: float) -> str | None:
    """The language of a distractor if it is clearly not that of its text; otherwise None.

    Short texts and texts with many names look like several languages. The detected language must therefore be much
    more probable than the expected one, and must not be the one detected for the original.

    Args:
        language: ISO 639-3 code of both; a language that py3langid does not know is not checked.
        threshold: minimum probability of the detected language, normalised over these two languages.

    Source:
        py3langid's naive Bayes (Lui & Baldwin 2012), whose probabilities allow for the length of a text.
    """
    if language not in _labels():
        return None
    probabilities, of_original = _probabilities(distractor), _probabilities(original)
    best = max(probabilities, key=probabilities.__getitem__)
    if best in (language, NO_LANGUAGE, max(of_original, key=of_original.__getitem__)):
        return None
    share = probabilities[best] / (probabilities[best] + probabilities[language])
    return best if share >= threshold else None


@lru_cache(maxsize=1024)  # the distractors of a text follow each other
def _probabilities(text: str) -> dict[str, float]:
    """By ISO 639-3 code; members of a macrolanguage are summed."""
    probabilities = dict.fromkeys([*_labels(), NO_LANGUAGE], 0.0)
    for label, probability in _identifier().rank(text):
        probabilities[_code(label)] += probability
    return probabilities


@cache
def _labels() -> frozenset[str]:
    """ISO 639-3 codes of py3langid's languages."""
    return frozenset(_code(label) for label in _identifier().labels) - {NO_LANGUAGE}


def _code(label: str) -> str:
    return label if label == NO_LANGUAGE else to_iso639_3(label)


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise ImportError("checking the language of answers needs py3langid: pip install 'xsent[llm]'") from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
