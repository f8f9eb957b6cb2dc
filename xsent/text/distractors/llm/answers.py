"""From what a language model said to distractors, or to the reason why it is no answer."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass

from xsent.text.distractors.llm.identification import other_language
from xsent.text.distractors.llm.prompt import Text
from xsent.text.distractors.values import is_number

# A whole answer in a fence of backquotes, with or without the name of a format.
_FENCED = re.compile(r"```[a-zA-Z]*\n(.*?)\n?```", re.DOTALL)
# "1. Er kommt.", "1) ...", "1、..."; what follows the sign is no digit, as in "1.5 Millionen".
_NUMBERED = re.compile(r"(\d+)[.)．）、]\s*(?!\d)(.+)")
# The sign between two digits ("1.5", "3:1"), and a minus.
_OF_A_NUMBER = re.compile(r"(?<=\d)[^\w\s](?=\d)|(?<!\w)-(?=\d)")
_DASHES = str.maketrans("‐‒–−", "----")
_QUOTES = ('""', "''", "“”", "‘’", "„“", "„”", "«»", "»«", "「」", "『』")


@dataclass(frozen=True)
class Rules:
    """What a distractor must be.

    Attributes:
        max_length_ratio: how many times as many characters it may have as its original, or its original as it.
        wrong_language: probability of another language, against that of its own, from which on it is taken to be in
            that other one; None: languages are not looked at.
    """

    max_length_ratio: float
    wrong_language: float | None

    def check(self) -> None:
        """Raise ``ValueError`` where a value makes no sense."""
        if not is_number(self.max_length_ratio) or not self.max_length_ratio > 1:
            raise ValueError(f"maker.rules.max_length_ratio={self.max_length_ratio}: expected a number above 1")
        if self.wrong_language is None:
            return
        if not is_number(self.wrong_language) or not 0.5 < self.wrong_language < 1:
            raise ValueError(
                f"maker.rules.wrong_language={self.wrong_language}: expected a probability between 0.5 and 1, or null"
            )


def distractors_of(answer: str, text: Text, count: int, rules: Rules) -> tuple[str, ...]:
    """The distractors that an answer lists.

    Raises:
        ValueError: it lists none, or one that will not do; says why, without its words.

    Source:
        Michail et al. 2025 (arXiv:2502.08638), section 3.1, take four sentences from a numbered list; what else is
        looked at here is ours.
    """
    found = listed(answer)
    if len(found) != count:
        raise ValueError(f"expected {count} distractors, found {len(found)}")
    distractors = tuple(_bare(one, text.text) for one in found)
    for distractor in distractors:
        _check(distractor, text, rules)
    if len({folded(one) for one in distractors}) < count:
        raise ValueError("a distractor is there twice")
    return distractors


def listed(answer: str) -> list[str]:
    """The items of a list: numbered lines in their order, quoted lines, or a list of strings in JSON.

    One line that ends in a colon may come before, and backquotes may fence the list. Whatever else is beside the items
    could be one of them, or the rest of one, so it is an error.

    Raises:
        ValueError: there is no such list, or there is more than the list.
    """
    content = answer.strip()
    first, _, rest = content.partition("\n")
    if first.rstrip().endswith((":", "：")) and rest.strip() and not _NUMBERED.fullmatch(first):
        content = rest.strip()
    if fenced := _FENCED.fullmatch(content):
        content = fenced[1].strip()
    return _of_json(content) if content.startswith("[") else _of_lines(content)


def _of_json(content: str) -> list[str]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError("expected a list of strings in JSON, found something else")
    if found and all(_NUMBERED.fullmatch(one.strip()) for one in found):
        raise ValueError("expected bare strings in a list in JSON, found numbered ones")
    return [one.strip() for one in found]


def _of_lines(content: str) -> list[str]:
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if [int(one[1]) for one in numbered if one] == list(range(1, len(lines) + 1)):
        return [one[2].strip() for one in numbered if one]
    if all(_unquoted(line) for line in lines):
        return lines
    raise ValueError("expected numbered or quoted lines, or a list in JSON, found something else")


def _bare(item: str, original: str) -> str:
    """An item without the quotes around all of it, unless the original stands in quotes itself."""
    return item if _unquoted(original) else _unquoted(item) or item


def _unquoted(text: str) -> str:
    """What stands between quotes that enclose all of a text; empty where none do."""
    inside = text[1:-1].strip()
    is_enclosed = len(text) > 2 and text[0] + text[-1] in _QUOTES and not {text[0], text[-1]} & set(inside)
    return inside if is_enclosed else ""


def _check(distractor: str, text: Text, rules: Rules) -> None:
    if not any(character.isalnum() for character in distractor):
        raise ValueError("a distractor has no words")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in distractor):
        raise ValueError("a distractor has a line break or another control character")
    if folded(distractor) == folded(text.text):
        raise ValueError("a distractor equals the text")
    ratio = len(distractor) / len(text.text)
    if not 1 / rules.max_length_ratio <= ratio <= rules.max_length_ratio:
        raise ValueError(f"a distractor is {'longer' if ratio > 1 else 'shorter'} than its text by too much")
    if rules.wrong_language is not None:
        other = other_language(distractor, text, threshold=rules.wrong_language)
        if other is not None:
            raise ValueError(f"a distractor is in {other}, not in {text.language}")


def folded(text: str) -> str:
    """A text without case, space and punctuation: what two texts share that read the same.

    What makes another number or amount of it stays: the sign in a number, and those of money, reckoning and percent.
    """
    wide = unicodedata.normalize("NFKC", text).casefold().translate(_DASHES)
    of_numbers = {found.start() for found in _OF_A_NUMBER.finditer(wide)}
    return "".join(character for place, character in enumerate(wide) if place in of_numbers or _is_read(character))


def _is_read(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LMN" or category in ("Sc", "Sm") or character in "%‰°"
