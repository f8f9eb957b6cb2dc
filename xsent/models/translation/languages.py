"""Languages of a translation model: its codes and tokens by ISO 639-3."""

import re
from collections.abc import Iterable

from transformers import PreTrainedTokenizerBase

from xsent.languages import to_iso639_3

FLORES_CODE = re.compile(r"[a-z]{3}_[A-Z][a-z]{3}")  # deu_Latn
NONSTANDARD_CODES = {"ns": "nso"}  # M2M-100's code for Northern Sotho


def language_tokens(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Ids of the language tokens by the model's own codes; empty without such tokens.

    M2M-100 has ``de``, mBART-50 ``de_DE``, NLLB ``deu_Latn``; Marian and T5 have none.
    """
    if not hasattr(tokenizer, "src_lang"):
        return {}
    if hasattr(tokenizer, "lang_code_to_id"):
        return {str(code): int(number) for code, number in tokenizer.lang_code_to_id.items()}
    codes = [token for token in tokenizer.all_special_tokens if FLORES_CODE.fullmatch(token)]
    return {code: tokenizer.get_vocab()[code] for code in codes}


def codes_by_language(codes: Iterable[str]) -> dict[str, str]:
    """A model's codes by ISO 639-3; a macrolanguage counts as its usual member (``zho``).

    Of several codes of one language, the first in alphabetical order is used: ``zho_Hans``, ``pes_Arab``.
    """
    by_language: dict[str, str] = {}
    for code in sorted(codes):
        if (iso := iso639_3(code)) is not None:
            by_language.setdefault(iso, code)
    return by_language


def iso639_3(code: str) -> str | None:
    """ISO 639-3 of a model's code; None if it is not a language."""
    try:
        return to_iso639_3(NONSTANDARD_CODES.get(code, code))
    except ValueError:
        return None
