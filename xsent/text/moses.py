"""Words as Moses cuts them, by its own chain of normalisation: what the divergences of Divergent mBERT are made of."""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable
from functools import cache

import langcodes

log = logging.getLogger(__name__)

# The chain deletes control characters; between two words one of these is a space.
BREAKS = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]")


def moses_words(sentence: str, language: str) -> tuple[str, ...]:
    """The words of a sentence, none of them empty or with white space inside, no HTML escapes made.

    In this order: Unicode punctuation becomes ASCII, punctuation is normalised by the rules of the language,
    control and other invisible characters go, and the words are cut.

    Args:
        sentence: any text; a blank one has no words.
        language: ISO 639-3. One that Moses has no rules for is cut by the English list of abbreviations and the
            rules that all languages share, which is said once.

    Raises:
        ImportError: sacremoses is not installed.

    Source:
        Briakou & Carpuat 2020 (arXiv:2010.03662), section 4.1 and the released code; the scripts of Moses
        (Koehn et al. 2007) in sacremoses.
    """
    return _cutter(language)(sentence)


@cache
def _cutter(language: str) -> Callable[[str], tuple[str, ...]]:
    try:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer
        from sacremoses.corpus import NonbreakingPrefixes
    except ImportError as error:
        raise ImportError("cutting words needs sacremoses: pip install 'xsent[divergence]'") from error

    code = langcodes.get(language).language or language  # Moses says fr where we say fra
    # Japanese and Korean have no list of abbreviations, but characters that the tokenizer knows.
    if code not in {*NonbreakingPrefixes().available_langs.values(), "ja", "ko"}:
        log.warning("language %s: Moses has no rules for it; words are cut by those that all languages share", language)
    normalizer = MosesPunctNormalizer(lang=code, pre_replace_unicode_punct=True, post_remove_control_chars=True)
    tokenizer = MosesTokenizer(lang=code)

    def cut(sentence: str) -> tuple[str, ...]:
        # Differs from the released code: a letter and its accent are one character first (NFC), else an accent that
        # stands apart is cut off as if it were punctuation.
        text = unicodedata.normalize("NFC", BREAKS.sub(" ", sentence))
        return tuple(tokenizer.tokenize(normalizer.normalize(text), escape=False))

    return cut
