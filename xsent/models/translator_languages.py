"""Which languages a translation model knows, and what it calls them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from transformers import PreTrainedTokenizerBase

from xsent.languages import to_iso639_3

FLORES_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # deu_Latn
ISO_OF_CODE = {"ns": "nso"}  # M2M-100's own for Northern Sotho


def language_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Ids of the tokens that tell a model the language, by its own codes; empty if it has no such tokens.

    M2M-100 has ``de``, mBART-50 ``de_DE``, NLLB ``deu_Latn``; Marian and T5 have none.
    """
    if not hasattr(tokenizer, "src_lang"):
        return {}
    if hasattr(tokenizer, "lang_code_to_id"):
        return {str(code): int(number) for code, number in tokenizer.lang_code_to_id.items()}
    codes = [token for token in tokenizer.all_special_tokens if FLORES_CODE.fullmatch(token)]
    return {code: tokenizer.get_vocab()[code] for code in codes}


def by_iso639_3(codes: Iterable[str]) -> dict[str, str]:
    """A model's code of each language, by ISO 639-3, where a macrolanguage stands for its usual member (``zho``).

    Of several codes of one language the first in the order of the alphabet stands for it: ``zho_Hans``, ``pes_Arab``.
    """
    found: dict[str, str] = {}
    for code in sorted(codes):
        if (iso := iso639_3(code)) is not None:
            found.setdefault(iso, code)
    return found


def iso639_3(code: str) -> str | None:
    """ISO 639-3 of a model's code, or None for what is no language."""
    try:
        return to_iso639_3(ISO_OF_CODE.get(code, code))
    except ValueError:
        return None


def code_of(codes: Mapping[str, str], language: str, what: str) -> str:
    """A model's code of a language.

    Raises:
        ValueError: it does not know the language; names those that it knows.
    """
    if language not in codes:
        raise ValueError(f"{what}: expected one of {', '.join(sorted(codes))}, found {language}")
    return codes[language]
