import random
import re

import pytest

from xsent.text.distractors.rules.edits import apply_edits
from xsent.text.distractors.rules.numerals import replace_numbers


def change_numbers(sentence: str, language: str, n: int = 50) -> list[str]:
    edits = replace_numbers(sentence, language, per_span=n, rng=random.Random(0))
    return [apply_edits(sentence, [edit]) for edit in edits]


FORMS = [
    ("deu", "Er zahlte 1.200 Euro.", r"Er zahlte [1-9]\.[1-9]00 Euro\."),
    ("deu", "Es kostet 2,5 Millionen.", r"Es kostet [2-9],[1-9] Millionen\."),
    ("deu", "Es sind 1,5 Liter.", r"Es sind 1,[1-9] Liter\."),  # the noun agrees with the 1
    ("deu", "Um 11:20 Uhr.", r"Um 1[0-2]:[0-5][05] Uhr\."),
    ("deu", "Um 11.29 Uhr.", r"Um 1[0-2]\.[0-5]\d Uhr\."),
    ("deu", "Am 24. August.", r"Am ([2-9]|1\d|2[0-8])\. August\."),
    ("deu", "Der 28-jährige Sohn.", r"Der [1-9]\d-jährige Sohn\."),
    ("deu", "Nadal gewann 88 % davon.", r"Nadal gewann [1-9]\d % davon\."),
    ("deu", "Im 18. Jahrhundert.", r"Im (1\d|20)\. Jahrhundert\."),
    ("deu", "Zwölf Kinder.", r"(Zwei|Drei|Vier|Fünf|Sechs|Sieben|Acht|Neun|Zehn|Elf) Kinder\."),
    ("fra", "Il a payé 1 200 euros.", r"Il a payé [1-9] [1-9]00 euros\."),
    ("fra", "Environ 2,3 litres.", r"Environ [2-9],[1-9] litres\."),
    ("fra", "Le 3 août.", r"Le ([2-9]|1\d|2[0-8]) août\."),
    ("fra", "Le 10\u00a0juin 1940.", r"Le (([2-9]|1\d|2[0-8])\u00a0juin 1940|10\u00a0juin 19\d\d)\."),
    ("fra", "Au XVIIe siècle.", r"Au (XI|XII|XIII|XIV|XV|XVI|XVIII|XIX|XX)e siècle\."),
    ("fra", "Elle a deux frères.", r"Elle a (trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze) frères\."),
    ("fra", "Les années 1980.", r"Les années 19[1-9]0\."),
    ("spa", "Pagó 1.200 euros.", r"Pagó [1-9]\.[1-9]00 euros\."),
    ("spa", "El 3 de agosto.", r"El ([2-9]|1\d|2[0-8]) de agosto\."),
    ("spa", "En el siglo XIX.", r"En el siglo (XI|XII|XIII|XIV|XV|XVI|XVII|XVIII|XX)\."),
    ("spa", "Vino a las 9:30 horas.", r"Vino a las [2-9]:[0-5][05] horas\."),
    ("spa", "Dos o tres.", r"(\w+ o tres|Dos o (?!o)\w+)\."),  # "u once"
]


@pytest.mark.parametrize(("language", "sentence", "form"), FORMS, ids=[case[1] for case in FORMS])
def test_another_number_has_the_form_of_the_old(language: str, sentence: str, form: str) -> None:
    distractors = change_numbers(sentence, language)
    assert distractors
    assert sentence not in distractors
    assert [text for text in distractors if not re.fullmatch(form, text)] == []


LEFT_ALONE = [
    ("deu", "Er wurde Nummer 1."),
    ("deu", "Der Airbus A380 fliegt."),
    ("deu", "Sie gewannen 7:2."),
    ("fra", "Ils ont gagné 5-3."),
    ("deu", "Zwei Drittel davon."),
    ("fra", "Les deux tiers du pays."),
    ("fra", "Tous deux sont venus."),
    ("spa", "Dos tercios del país."),
    ("fra", "Un homme neuf."),  # new, or nine
    ("spa", "Tenía treinta y dos."),
]


@pytest.mark.parametrize(("language", "sentence"), LEFT_ALONE, ids=[case[1] for case in LEFT_ALONE])
def test_codes_scores_and_what_is_no_plain_number_are_find_fixed_expressions(language: str, sentence: str) -> None:
    assert change_numbers(sentence, language) == []


@pytest.mark.parametrize(("language", "sentence"), [("deu", "Von 1939 bis 1945."), ("spa", "Entre 3 y 6 días.")])
def test_years_and_spans_stay_in_order(language: str, sentence: str) -> None:
    distractors = change_numbers(sentence, language)
    assert distractors
    assert all(int(low) < int(high) for low, high in (re.findall(r"\d+", text) for text in distractors))


def test_each_number_of_a_sentence_is_replaced_alone() -> None:
    distractors = change_numbers("Il a 12 chats et 34 chiens.", "fra", n=2)
    assert len(distractors) == 4
    assert sum("12" in text for text in distractors) == sum("34" in text for text in distractors) == 2
