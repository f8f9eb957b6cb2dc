"""Parser and validator of answers: a list of distractors from the text of a language model."""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from xsent.config_checks import is_number
from xsent.languages import to_iso639_3

# An answer in a code fence, with or without the name of a format.
_FENCED = re.compile(r"```[a-zA-Z]*\n(.*?)\n?```", re.DOTALL)
# "1. Er kommt.", "1) ...", "1、..."; the sign is not followed by a digit, as in "1.5 Millionen".
_NUMBERED = re.compile(r"(\d+)[.)．）、]\s*(?!\d)(.+)")
# A sign between two digits ("1.5", "3:1"), or a minus.
_NUMBER_SIGN = re.compile(r"(?<=\d)[^\w\s](?=\d)|(?<!\w)-(?=\d)")
_DASHES = str.maketrans("‐‒–−", "----")
NO_LANGUAGE = "zxx"  # py3langid's label of numbers and signs
_QUOTES = ('""', "''", "“”", "‘’", "„“", "„”", "«»", "»«", "「」", "『』")


class Text(NamedTuple):
    """A text to make distractors of; equal texts are asked about once."""

    language: str  # ISO 639-3
    text: str


@dataclass(frozen=True)
class Rules:
    """Requirements on a distractor."""

    max_length_ratio: float  # maximum ratio of its length to that of its original, or the reverse; in characters
    wrong_language: float | None  # minimum probability of another language against its own; None: no check

    def __post_init__(self) -> None:
        ratio, share = self.max_length_ratio, self.wrong_language
        if not is_number(ratio) or not ratio > 1:
            raise ValueError(f"maker.rules.max_length_ratio={ratio}: expected a number above 1")
        if share is not None and not (is_number(share) and 0.5 < share < 1):
            raise ValueError(f"maker.rules.wrong_language={share}: expected a probability between 0.5 and 1, or null")


def parse_distractors(answer: str, text: Text, count: int, rules: Rules) -> tuple[str, ...]:
    """The distractors that an answer lists.

    Raises:
        ValueError: there are none, or one is invalid; the message does not quote it.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.1, take four sentences from a numbered list; the
        other checks are ours.
    """
    items = list_items(answer)
    if len(items) != count:
        raise ValueError(f"expected {count} distractors, found {len(items)}")
    if not _quoted_text(text.text):
        items = [_quoted_text(item) or item for item in items]
    distractors = tuple(items)
    for distractor in distractors:
        _check(distractor, text, rules)
    if len({fold(distractor) for distractor in distractors}) < count:
        raise ValueError("two distractors are equal")
    return distractors


def list_items(answer: str) -> list[str]:
    """The items of a list: numbered lines in their order, quoted lines, or a list of strings in JSON.

    A line that ends in a colon may precede the list, and a code fence may enclose it. Any other text could be an item
    or part of one, so it is an error.

    Raises:
        ValueError: there is no such list, or other text beside it.
    """
    content = answer.strip()
    first, _, rest = content.partition("\n")
    if first.rstrip().endswith((":", "：")) and rest.strip() and not _NUMBERED.fullmatch(first):
        content = rest.strip()
    if fenced := _FENCED.fullmatch(content):
        content = fenced[1].strip()
    return _parse_json(content) if content.startswith("[") else _parse_lines(content)


def _parse_json(content: str) -> list[str]:
    try:
        items = json.loads(content)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("expected a list of strings in JSON, found something else")
    if items and all(_NUMBERED.fullmatch(item.strip()) for item in items):
        raise ValueError("expected strings without numbers in a list in JSON, found numbered ones")
    return [item.strip() for item in items]


def _parse_lines(content: str) -> list[str]:
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if [int(match[1]) for match in numbered if match] == list(range(1, len(lines) + 1)):
        return [match[2].strip() for match in numbered if match]
    if all(_quoted_text(line) for line in lines):
        return lines
    raise ValueError("expected numbered or quoted lines, or a list in JSON, found something else")


def _quoted_text(text: str) -> str:
    """The text inside enclosing quotes; empty if there are none."""
    inside = text[1:-1].strip()
    is_enclosed = len(text) > 2 and text[0] + text[-1] in _QUOTES and not {text[0], text[-1]} & set(inside)
    return inside if is_enclosed else ""


def _check(distractor: str, text: Text, rules: Rules) -> None:
    if not any(character.isalnum() for character in distractor):
        raise ValueError("a distractor has no words")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in distractor):
        raise ValueError("a distractor has a line break or another control character")
    if fold(distractor) == fold(text.text):
        raise ValueError("a distractor equals the text")
    ratio = len(distractor) / len(text.text)
    if not 1 / rules.max_length_ratio <= ratio <= rules.max_length_ratio:
        raise ValueError(f"a distractor is {'longer' if ratio > 1 else 'shorter'} than its text by too much")
    if rules.wrong_language is not None:
        detected = detect_other_language(distractor, text.text, text.language, threshold=rules.wrong_language)
        if detected is not None:
            raise ValueError(f"a distractor is in {detected}, not in {text.language}")


def fold(text: str) -> str:
    """A text without case, spaces and punctuation, to compare texts.

    Signs that change an amount are kept: those inside numbers, currency, mathematical signs and percent.
    """
    wide = unicodedata.normalize("NFKC", text).casefold().translate(_DASHES)
    number_signs = {match.start() for match in _NUMBER_SIGN.finditer(wide)}
    return "".join(character for i, character in enumerate(wide) if i in number_signs or _is_significant(character))


def _is_significant(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LMN" or category in ("Sc", "Sm") or character in "%‰°"


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
