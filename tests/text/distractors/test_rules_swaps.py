import random
import re

import pytest

from xsent.text.distractors.rules import RuleMaker
from xsent.text.distractors.rules.edits import apply_edits
from xsent.text.distractors.rules.lexicon import LANGUAGES, find_fixed_expressions, lexicon
from xsent.text.distractors.rules.maker import KINDS
from xsent.text.distractors.rules.swaps import swap_words
from xsent.text.word_lists import load_sections


def swap(sentence: str, language: str, kind: str) -> set[str]:
    edits = swap_words(sentence, language, kind, per_word=1000, rng=random.Random(0))
    return {apply_edits(sentence, [edit]) for edit in edits}


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
    ("eng", "function_word", "The shop has already closed.", "The shop has not yet closed."),
    ("fra", "antonym", "Une grande maison.", "Une petite maison."),
    ("fra", "antonym", "Les anciens rois.", "Les nouveaux rois."),
    ("fra", "antonym", "Un ancien ami d'elle.", "Un ancien ennemi d'elle."),
    ("fra", "antonym", "Il accepte cela.", "Il refuse cela."),
    ("fra", "antonym", "Le prix augmente.", "Le prix diminue."),
    ("fra", "antonym", "Une rivière lente.", "Une rivière rapide."),
    ("fra", "antonym", "Il vient cet été.", "Il vient cet hiver."),
    ("fra", "function_word", "Avant elle, rien.", "Après elle, rien."),
    ("spa", "antonym", "Unas casas nuevas.", "Unas casas antiguas."),
    ("spa", "antonym", "Ella compró eso.", "Ella vendió eso."),
    ("spa", "antonym", "Un hombre feliz.", "Un hombre infeliz."),
    ("spa", "antonym", "Una pequeña ciudad.", "Una gran ciudad."),
    ("spa", "function_word", "Comió después del juego.", "Comió antes del juego."),
    ("fra", "antonym", "Un ancien hôpital.", "Un nouvel hôpital."),  # its form before a vowel
    ("fra", "antonym", "Un ancien roi.", "Un nouveau roi."),
    ("fra", "antonym", "Il vit à l’est.", "Il vit à l’ouest."),  # curly apostrophes stay curly
    ("fra", "entity", "Il vient d'Italie.", "Il vient d'Espagne."),
    ("fra", "entity", "Il vit au Portugal.", "Il vit au Japon."),
    ("spa", "entity", "España y Francia.", "España y Alemania."),
    ("deu", "entity", "Die Grenze Berlins.", "Die Grenze Paris'."),  # the genitive
    ("deu", "entity", "Die Grenze Polens.", "Die Grenze Frankreichs."),
    ("deu", "function_word", "Immer kommt er.", "Nie kommt er."),  # the capital of a sentence
    ("spa", "function_word", "Siempre canta.", "Rara vez canta."),
]


@pytest.mark.parametrize(("language", "kind", "sentence", "expected"), CASES, ids=[case[2] for case in CASES])
def test_a_word_is_put_for_another_in_the_same_form(language: str, kind: str, sentence: str, expected: str) -> None:
    assert expected in swap(sentence, language, kind)


LEFT_ALONE = [
    ("deu", "antonym", "Lichter zeigten in Richtung Himmel."),  # "widerlegten" stands before "dass" alone
    ("fra", "antonym", "Il parle de l'ancien roi."),  # le nouveau
    ("fra", "antonym", "Une voiture rapide."),  # lent or lente
    ("deu", "antonym", "Das dauert lange."),  # an ending, but no noun: the adverb
    ("deu", "function_word", "Er kommt nicht immer."),  # "not never"
    ("deu", "neighbour", "Im Jahr 2011 kam er."),
    ("deu", "neighbour", "In den 1480er Jahren."),
    ("deu", "function_word", "Für 60 oder mehr Kinos."),  # 60 oder weniger
    ("eng", "antonym", "He said nothing."),  # no "that"
    ("spa", "function_word", "Duerme cerca de las 9:30."),  # mucho más de las 9:30
    ("fra", "function_word", "Il vient tous les jours."),  # a fixed expression
    ("eng", "function_word", "Around 1990 it rained."),  # no amount
    ("fra", "function_word", "La plupart des animaux."),  # Très peu de animaux
    ("deu", "antonym", "Er las das Große Buch."),  # a name
    ("fra", "antonym", "Elle lit Le Grand Meaulnes."),
]


@pytest.mark.parametrize(("language", "kind", "sentence"), LEFT_ALONE, ids=[case[2] for case in LEFT_ALONE])
def test_nothing_is_put_where_the_words_around_it_would_have_to_change(language: str, kind: str, sentence: str) -> None:
    assert swap(sentence, language, kind) == set()


# All kinds but denials ("negation" is tested beside). What the lists once made of each stands behind it.
WRONG = [
    ("deu", "Das Spiel findet am Montag statt."),  # verliert ... statt
    ("deu", "Er hat ebenfalls keinen Hut."),  # nicht keinen
    ("deu", "Zwei Drittel sind rot gefärbt."),  # Drei Drittel
    ("deu", "Er ist noch da."),  # nicht mehr, but "noch vor" cannot be told from it
    ("deu", "Das alles kam so."),  # Das nichts
    ("deu", "Das Bild hing da."),  # Foto, the same
    ("deu", "Der Einsatz dauerte."),  # Angriff
    ("deu", "Sie kamen aus weiter Ferne."),  # kurzer
    ("deu", "Er saß auf der Bank."),  # Fabrik
    ("deu", "Das Schwert des Menschen."),  # des Frauen
    ("fra", "Elle dort après avoir été aidée."),  # avoir hiver
    ("fra", "Elle dort lorsque Paul ment."),  # avant que, and the subjunctive
    ("fra", "Dès que je peux."),  # bien avant que
    ("fra", "Elle est aussi belle que toi."),  # moins
    ("fra", "Le prix change."),  # coût, the same
    ("fra", "Le seul étranger."),  # pays
    ("fra", "Plusieurs d'entre eux dorment."),  # Peu de d'entre
    ("fra", "Presque tous les élus dorment."),  # Presque quelques
    ("fra", "Il dort encore."),  # déjà
    ("fra", "Il dort sous le lit."),  # sur
    ("fra", "Il joue avec elle."),  # sans
    ("fra", "Tous deux dorment."),  # Tous trois is right, "tous huit" is not
    ("fra", "Les deux tiers dorment."),  # huit tiers
    ("fra", "Elle dort haut la main."),  # bas la main
    ("fra", "Selon le plan suivant le texte."),  # précédent
    ("fra", "On dort dès son arrivée."),  # absence
    ("fra", "Une vieille lampe."),  # jeune
    ("fra", "Il a découvert cela."),  # ignoré
    ("spa", "Se casó con ella."),  # sin
    ("spa", "Los avances científicos."),  # económicos, which fits "los científicos" not at all
    ("spa", "Quedó en segundo lugar."),  # minuto
    ("spa", "A día de hoy duerme."),  # mes
    ("spa", "En pleno siglo dorado."),  # mes
    ("spa", "Duerme a causa de ello."),  # consecuencia
    ("spa", "Ya duerme."),  # Todavía no
    ("spa", "Está seguro de ello."),  # inseguro
    ("spa", "Una mesa pequeña."),  # gran
    ("spa", "Ahora duerme."),  # Antes
    ("spa", "Hoy duerme."),  # Antaño
    ("spa", "Finalmente duerme."),  # Al principio
    ("spa", "Dio comienzo el acto."),  # final
    ("spa", "Mañana temprano."),  # Tarde
    ("spa", "Duerme por la noche."),  # mañana
    ("spa", "Dos tercios de ellos."),  # Cinco tercios
    ("spa", "Los músicos duermen."),  # científicos
    ("eng", "It is filled with joy."),  # without
    ("eng", "It also rains."),  # never
    ("eng", "Two thirds of it was gone."),  # Nine thirds
    ("eng", "It rained at least."),  # at most
    ("eng", "It only rains."),  # not only
    ("eng", "The heat was felt."),  # cold
    ("eng", "Ask if it rains."),  # unless
    ("eng", "The capital was taken."),  # port
    ("eng", "It was the attack."),  # visit
    ("eng", "It went through this."),  # around
]


@pytest.mark.parametrize(("language", "sentence"), WRONG, ids=[case[1] for case in WRONG])
def test_what_would_come_out_wrong_is_find_fixed_expressions(language: str, sentence: str) -> None:
    kinds = [kind for kind in KINDS if kind not in ("negation", "entity")]
    maker = RuleMaker(count=50, seed=1, kinds=kinds, combine=False)
    assert maker.distractors(sentence, language) == {}


@pytest.mark.parametrize(
    ("language", "sentence", "expected"),
    [
        ("spa", "Duerme muy bien, muy alto.", "Duerme muy bien, demasiado alto."),  # of "muy" before any word
        ("fra", "Un roi très bon.", "Un roi trop bon."),
        ("eng", "Around 300 came.", "Far more than 300 came."),
        ("fra", "La plupart des lois.", "Très peu de lois."),
    ],
)
def test_a_function_word_has_a_single_opposite(language: str, sentence: str, expected: str) -> None:
    assert swap(sentence, language, "function_word") == {expected}


@pytest.mark.parametrize(
    ("language", "sentence", "form"),
    [
        ("fra", "Il vient d'Italie.", r"Il vient d'[AEIOUÉ].*\."),  # the elision
        ("fra", "Il vit au Portugal.", "(?!.*(?:France|Italie)).*"),  # the article
        ("spa", "España y Francia.", "(?!.* y I).*"),  # "y" before its own sounds
        ("deu", "Von Polen nach Spanien.", "(?!Von Polen nach Polen).*"),  # not the name that is in the sentence
    ],
)
def test_a_name_fits_the_words_around_it(language: str, sentence: str, form: str) -> None:
    distractors = swap(sentence, language, "entity")
    assert [text for text in distractors if not re.fullmatch(form, text)] == []


def test_expressions_that_overlap_are_both_find_fixed_expressions() -> None:
    sentence = "Elle dort après avoir été aidée."
    expressions = [sentence[start:end] for start, end in find_fixed_expressions(sentence, "fra")]
    assert expressions == ["après avoir", "avoir été"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_word_lists_have_their_sections_and_entries_in_form_and_no_word_stands_for_itself(language: str) -> None:
    for choices in lexicon(language).values():
        for form, by_place in choices.items():
            assert not any(form in substitutes for substitutes in by_place.values()), form
    lists = load_sections(f"distractors_{language}")
    assert lists["leave"]
    for section, entries in lists.items():
        for entry in entries:
            assert len(re.findall(r" [=>] ", entry)) <= 1, f"{section}: {entry}"
            assert not ("/" in entry and "=" in entry), f"{section}: {entry}"


@pytest.mark.parametrize("language", ["deu", "fra", "spa"])
def test_a_language_has_at_least_200_opposites(language: str) -> None:
    assert len(lexicon(language)["antonym"]) >= 200
