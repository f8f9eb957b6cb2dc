"""Language codes: conversion of any ISO 639 code or locale to ISO 639-3, and back to two letters."""

import difflib
from functools import cache

import langcodes
from langcodes.data_dicts import LANGUAGE_ALPHA3
from langcodes.tag_parser import LanguageTagError

NEW_CODES = ("isv",)  # of ISO 639-3 since 2024 (Interslavic); the tables of langcodes are older


def parse_language(option: str, code: str) -> str:
    """``to_iso639_3`` of an option's value; the error names the option."""
    try:
        return to_iso639_3(code)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def to_iso639_1(code: str) -> str:
    """Two-letter code of an ISO 639-3 language, as the Hugging Face hub writes it; the code itself if it has none."""
    return "tl" if code == "tgl" else langcodes.standardize_tag(code)


@cache
def is_written_in_latin(code: str) -> bool:
    """Whether a language is usually written in Latin letters."""
    return langcodes.get(code).maximize().script == "Latn"


@cache
def to_iso639_3(code: str) -> str:
    """ISO 639-3 code of a language: ``en``, ``eng``, ``eng_Latn`` and ``en-US`` are all ``eng``.

    The main member of a macrolanguage becomes the macrolanguage (``cmn`` is ``zho``, ``arb`` is ``ara``, ``pes`` is
    ``fas``, ``ayr`` is ``aym``), so that a language has one code in all corpora. Script and region are dropped.

    Raises:
        ValueError: no such language; names the code and its nearest known ones.
    """
    try:
        language = langcodes.get(langcodes.get(code).language or "und")
        if language.language in NEW_CODES:
            return language.language
        if not language.is_valid() or language.language in (None, "und"):
            raise LookupError(code)
        code3 = language.prefer_macrolanguage().to_alpha3()
        # CLDR, and langcodes with it, calls Tagalog Filipino; the corpora do not.
        return "tgl" if code3 == "fil" else code3
    except (LookupError, LanguageTagError):
        known = sorted({*LANGUAGE_ALPHA3, *LANGUAGE_ALPHA3.values()})
        near = difflib.get_close_matches(code.lower(), known, n=4, cutoff=0.5)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise ValueError(
            f"unknown language {code!r}: expected an ISO 639 code such as deu, de or deu_Latn{hint}"
        ) from None
