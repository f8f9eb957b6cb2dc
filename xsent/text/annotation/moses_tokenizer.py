"""Moses tokenizer with Moses normalisation: the preprocessing of Divergent mBERT."""

import logging
import re
import unicodedata
from collections.abc import Callable
from functools import cache

import langcodes

log = logging.getLogger(__name__)

# The normaliser deletes control characters; these separate words, so they become spaces first.
_LINE_BREAKS = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]")


def moses_words(sentence: str, language: str) -> tuple[str, ...]:
    """Normalise and tokenize a sentence; no word is empty, contains white space or is HTML-escaped.

    The steps: Unicode punctuation to ASCII, punctuation rules of the language, removal of control characters,
    tokenization.

    For a language unknown to Moses, the English abbreviations and the language-independent rules apply, and a warning
    is logged once.

    Raises:
        ImportError: sacremoses is not installed.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 5 and the released code; the scripts of Moses
        (Koehn et al. 2007) in sacremoses.
    """
    return _tokenizer(language)(sentence)


@cache
def _tokenizer(language: str) -> Callable[[str], tuple[str, ...]]:
    try:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer
        from sacremoses.corpus import NonbreakingPrefixes
    except ImportError as error:
        raise ImportError("Moses tokenization needs sacremoses: pip install 'xsent[divergence]'") from error

    code = langcodes.get(language).language or language  # Moses says fr where we say fra
    # Japanese and Korean have no abbreviation list, but the tokenizer knows their characters.
    if code not in {*NonbreakingPrefixes().available_langs.values(), "ja", "ko"}:
        log.warning("language %s: Moses has no rules for it; the language-independent ones apply", language)
    normalizer = MosesPunctNormalizer(lang=code, pre_replace_unicode_punct=True, post_remove_control_chars=True)
    tokenizer = MosesTokenizer(lang=code)

    def tokenize(sentence: str) -> tuple[str, ...]:
        # Differs from the released code: NFC first, as Moses splits off a combining accent like punctuation.
        text = unicodedata.normalize("NFC", _LINE_BREAKS.sub(" ", sentence))
        return tuple(tokenizer.tokenize(normalizer.normalize(text), escape=False))

    return tokenize
