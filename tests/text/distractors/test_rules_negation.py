import pytest

from xsent.text.distractors.rules.edits import apply_edits
from xsent.text.distractors.rules.maker import negations


def negate(sentence: str, language: str) -> set[str]:
    return {apply_edits(sentence, [edit]) for edit in negations(sentence, language)}


CASES = [
    ("deu", "Er ist ein Arzt.", {"Er ist kein Arzt."}),
    ("deu", "Sie hat eine neue Idee.", {"Sie hat keine neue Idee."}),
    ("deu", "Er hat keinen Bruder.", set()),  # the accusative of one, or the dative of several
    ("deu", "Das ist kein Problem.", {"Das ist ein Problem."}),
    ("deu", "Es gibt keine Lösung.", {"Es gibt eine Lösung."}),
    ("deu", "Es gibt keine Lösungen.", {"Es gibt viele Lösungen."}),
    ("deu", "Er kommt nicht.", {"Er kommt."}),
    ("deu", "Der Pilot wurde als Peter Meier erkannt.", {"Der Pilot wurde nicht als Peter Meier erkannt."}),
    ("deu", "Gestern hat Peter das Buch gelesen.", {"Gestern hat Peter das Buch nicht gelesen."}),
    ("deu", "Peter kann das Buch lesen.", {"Peter kann das Buch nicht lesen."}),
    ("fra", "Paul est malade.", {"Paul n'est pas malade."}),
    ("fra", "Elle s'est trompée.", {"Elle ne s'est pas trompée."}),
    ("fra", "Le roi a un frère.", {"Le roi n'a pas de frère."}),
    ("fra", "Le roi a un ami.", {"Le roi n'a pas d'ami."}),
    ("fra", "Les enfants peuvent venir.", {"Les enfants ne peuvent pas venir."}),
    ("fra", "C'est vrai.", {"Ce n'est pas vrai."}),
    ("fra", "Il y a trois rois.", {"Il n'y a pas trois rois."}),
    ("fra", "Ce n'est pas vrai.", {"C'est vrai."}),
    ("fra", "Il ne vient pas.", {"Il vient."}),
    ("fra", "Il ne l'a pas vu.", {"Il l'a vu."}),
    ("fra", "Il n'est plus malade.", {"Il est encore malade."}),
    ("spa", "Juan es médico.", {"Juan no es médico."}),
    ("spa", "Juan se cayó ayer.", {"Juan no se cayó ayer."}),
    ("spa", "Fueron a casa.", {"No fueron a casa."}),
    ("spa", "Juan no vino.", {"Juan vino."}),
    ("spa", "No es verdad.", {"Es verdad."}),
    ("spa", "Nunca canta.", {"Siempre canta."}),
    # What cannot be told without a parser stays.
    ("deu", "Ist er ein Arzt?", set()),
    ("deu", "Nicht nur Peter ist ein Arzt, sondern auch Paul.", set()),
    ("deu", "Er fuhr mit einem Auto.", set()),  # "mit keinem Auto" says little
    ("deu", "Das kostet eine Million.", set()),
    ("deu", "Eine der Frauen kam.", set()),
    ("deu", "Er mag keine guten Lösungen.", set()),  # "viele gute"
    ("deu", "Sie hat keine Tochter.", set()),  # one, though it ends as several do
    ("deu", "Er ist da, nicht aber sie.", set()),
    ("deu", "Vergessen Sie nicht den Hut.", set()),
    ("deu", "Warum kommt er nicht?", set()),
    ("deu", "Er zog keine Aufmerksamkeit auf sich.", set()),
    ("fra", "Paris, à l'est du pays.", set()),
    ("fra", "Il m'a presque fait peur.", set()),
    ("fra", "Il vint il y a trois ans.", set()),
    ("fra", "Il n'a que deux frères.", set()),
    ("fra", "« Je viens », a dit Paul.", set()),
    ("spa", "No vino nadie.", set()),
    ("spa", "No solo vino Juan.", set()),
    ("spa", "Llueve, claro está.", set()),
    ("spa", "No te molestes.", set()),
    ("spa", "La era moderna.", set()),
    ("spa", "«Vengo», dijo Juan.", set()),
]


@pytest.mark.parametrize(("language", "sentence", "expected"), CASES, ids=[case[1] for case in CASES])
def test_a_statement_is_denied_or_its_denial_taken_back(language: str, sentence: str, expected: set[str]) -> None:
    assert negate(sentence, language) == expected
