from __future__ import annotations

import random
import re

import pytest

from xsent.text.distractors.rules.edits import edited
from xsent.text.distractors.rules.lexicon import LANGUAGES, lexicon
from xsent.text.distractors.rules.swaps import swaps
from xsent.text.words import sections


def made(sentence: str, language: str, kind: str) -> set[str]:
    edits = swaps(sentence, language, kind, per_word=1000, rng=random.Random(0))
    return {edited(sentence, [edit]) for edit in edits}


# One word each has one opposite, and nothing else of the sentence is in the lists.
CASES = [
    ("deu", "antonym", "Das große Auto.", "Das kleine Auto."),
    ("deu", "antonym", "Mit einem größeren Auto.", "Mit einem kleineren Auto."),
    ("deu", "antonym", "Das hohe Dach.", "Das niedrige Dach."),
    ("deu", "antonym", "Er gewann.", "Er verlor."),
    ("deu", "antonym", "Der Preis ist gestiegen.", "Der Preis ist gesunken."),
    ("deu", "antonym", "Sie hat ihn gelobt.", "Sie hat ihn getadelt."),
    ("deu", "antonym", "Er will das verbessern.", "Er will das verschlechtern."),
    ("deu", "antonym", "Ein Vorteil.", "Ein Nachteil."),
    ("deu", "antonym", "Er sagte, dass es regnet.", "Er bestritt, dass es regnet."),
    ("deu", "function_word", "Er kommt immer.", "Er kommt nie."),
    ("deu", "function_word", "Er blieb, weil es regnete.", "Er blieb, obwohl es regnete."),
    ("deu", "function_word", "Er hat mehr als das.", "Er hat weniger als das."),
    ("deu", "negation", "Es regnet nicht mehr.", "Es regnet noch immer."),
    ("eng", "antonym", "He said that it rained.", "He denied that it rained."),
    ("eng", "function_word", "He came with her.", "He came without her."),
    ("fra", "antonym", "Une grande maison.", "Une petite maison."),
    ("fra", "antonym", "Les anciens rois.", "Les nouveaux rois."),
    ("fra", "antonym", "Un ancien ami d'elle.", "Un ancien ennemi d'elle."),
    ("fra", "antonym", "Il accepte cela.", "Il refuse cela."),
    ("fra", "antonym", "Le prix augmente.", "Le prix diminue."),
    ("fra", "antonym", "Une rivière lente.", "Une rivière rapide."),
    ("fra", "function_word", "Il vient avec elle.", "Il vient sans elle."),
    ("fra", "function_word", "Avant elle, rien.", "Après elle, rien."),
    ("spa", "antonym", "Unas casas nuevas.", "Unas casas antiguas."),
    ("spa", "antonym", "Ella compró eso.", "Ella vendió eso."),
    ("spa", "antonym", "Un hombre feliz.", "Un hombre infeliz."),
    ("spa", "function_word", "Viene con ella.", "Viene sin ella."),
    ("spa", "function_word", "Comió después del juego.", "Comió antes del juego."),
]


@pytest.mark.parametrize(("language", "kind", "sentence", "expected"), CASES, ids=[case[2] for case in CASES])
def test_a_word_is_put_for_another_in_the_same_form(language: str, kind: str, sentence: str, expected: str) -> None:
    assert expected in made(sentence, language, kind)


LEFT_ALONE = [
    ("deu", "antonym", "Lichter zeigten in Richtung Himmel."),  # "widerlegten" stands before "dass" alone
    ("fra", "antonym", "Il parle de l'ancien roi."),  # le nouveau
    ("fra", "antonym", "Une voiture rapide."),  # lent or lente
    ("deu", "antonym", "Das dauert lange."),  # an ending, but no noun: the adverb
    ("deu", "function_word", "Er kommt nicht immer."),  # "not never"
    ("deu", "neighbour", "Im Jahr 2011 kam er."),
    ("eng", "antonym", "He said nothing."),  # no "that"
    ("fra", "function_word", "Il vient tous les jours."),  # a fixed expression
]


@pytest.mark.parametrize(("language", "kind", "sentence"), LEFT_ALONE, ids=[case[2] for case in LEFT_ALONE])
def test_nothing_is_put_where_the_words_around_it_would_have_to_change(language: str, kind: str, sentence: str) -> None:
    assert made(sentence, language, kind) == set()


def test_french_countries_keep_their_elision() -> None:
    found = made("Il vient d'Italie.", "fra", "entity")
    assert "Il vient d'Espagne." in found
    assert all(re.fullmatch(r"Il vient d'[AEIOUÉ].*\.", one) for one in found)


def test_french_adjectives_take_their_form_before_a_vowel() -> None:
    assert "Un nouvel hôpital." in made("Un ancien hôpital.", "fra", "antonym")
    assert "Un nouveau roi." in made("Un ancien roi.", "fra", "antonym")


def test_french_countries_are_put_for_those_of_the_same_article() -> None:
    assert "Il vit au Japon." in made("Il vit au Portugal.", "fra", "entity")
    assert not any("France" in one or "Italie" in one for one in made("Il vit au Portugal.", "fra", "entity"))


def test_spanish_y_stays_before_its_own_sounds() -> None:
    found = made("España y Francia.", "spa", "entity")
    assert "España y Alemania." in found
    assert not any(" y I" in one for one in found)


def test_german_names_keep_their_genitive() -> None:
    assert "Die Grenze Paris'." in made("Die Grenze Berlins.", "deu", "entity")
    assert "Die Grenze Frankreichs." in made("Die Grenze Polens.", "deu", "entity")


def test_a_word_that_begins_a_sentence_keeps_its_capital() -> None:
    assert "Nie kommt er." in made("Immer kommt er.", "deu", "function_word")
    assert "Sin ella, nada." in made("Con ella, nada.", "spa", "function_word")


def test_a_capital_within_a_sentence_is_a_name_and_left_alone() -> None:
    assert made("Er las das Große Buch.", "deu", "antonym") == set()
    assert made("Elle lit Le Grand Meaulnes.", "fra", "antonym") == set()


def test_a_name_that_the_sentence_has_already_is_not_put_in_again() -> None:
    assert "Von Polen nach Polen." not in made("Von Polen nach Spanien.", "deu", "entity")


def test_curly_apostrophes_stay_curly() -> None:
    assert "Il vit à l’ouest." in made("Il vit à l’est.", "fra", "antonym")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_word_stands_for_itself(language: str) -> None:
    for choices in lexicon(language).values():
        assert [form for form, by_place in choices.items() for others in by_place.values() if form in others] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_word_lists_have_their_sections_and_entries_in_form(language: str) -> None:
    lists = sections(f"distractors_{language}")
    assert lists["leave"]
    for section, entries in lists.items():
        for entry in entries:
            assert len(re.findall(r" [=>] ", entry)) <= 1, f"{section}: {entry}"
            assert not ("/" in entry and "=" in entry), f"{section}: {entry}"


@pytest.mark.parametrize("language", ["deu", "fra", "spa"])
def test_a_language_has_at_least_200_opposites(language: str) -> None:
    assert len(lexicon(language)["antonym"]) >= 200
