"""German negation: add it to a statement, or remove it."""

import re
from collections.abc import Iterator

from xsent.text.distractors.rules.edits import NEGATION, Edit, split_list
from xsent.text.english.tokens import match_case

NEGATIVE = re.compile(
    r"\b(?:nicht|kein\w*|nie|niemals|niemand\w*|nichts|weder|ohne|kaum|selten|außer|nirgends|bevor|sondern)\b", re.I
)
_NOUN = r"(?=(?: (?!der |die |des |dem |den )[a-zäöüß]+(?:e|en|er|es|em))? [A-ZÄÖÜ])"
_NO_COUNT = r"(?! (?:Drittel|Viertel|Fünftel|Hälfte|Million|Milliarde|Prozent|Dutzend|Mal|Reihe|Art|Tages|Zeit|Teil))"
# Before these "ein" is the subject or object of a verb that may be denied; after a preposition it hardly is.
_VERB = (
    r"(?:ist|sind|war|waren|wird|wurde|hat|haben|hatte|hatten|gibt es|gab es|bietet|bot|enthält|benötigt|braucht"
    r"|besitzt|besaß|bildet|bildete|erhielt|erhält|fand|findet|stellt|trägt|trug|machte|macht|zeigt|zeigte|verlor|verliert"
    r"|gewann|bekam|bekommt|verwendet|erreichte|er|sie|man|sich)"
)
_EIN = re.compile(rf"\b(?P<verb>{_VERB}) ein(?P<ending>|e|en){_NO_COUNT}{_NOUN}")
_EIN_FIRST = re.compile(rf"^Ein(?P<ending>|e){_NO_COUNT}{_NOUN}")
_KEIN = re.compile(rf"\b[Kk]ein(?P<ending>|em)(?! (?:Geld|Wasser|Strom|Interesse|Wunder|Platz)\b){_NOUN}")
_KEINE = re.compile(
    r"\b[Kk]eine (?!Aufmerksamkeit\b)(?:[a-zäöüß]+e )?[A-ZÄÖÜ]\w+(?:ung|heit|keit|schaft|tät|tion|sion|quelle|rolle)\b"
)
_KEINE_PLURAL = re.compile(r"\b[Kk]eine(?= [A-ZÄÖÜ]\w+(?:ungen|heiten|keiten|schaften|täten|ionen|en|eme)\b)")
_AUXILIARY = (
    r"(?:ist|sind|war|waren|wird|werden|wurde|wurden|hat|haben|hatte|hatten|kann|können|konnte|konnten|soll|sollen"
    r"|sollte|sollten|muss|müssen|musste|mussten|darf|dürfen|durfte|durften|will|wollen|wollte|wollten|könnte|könnten"
    r"|würde|würden|möchte|möchten)"
)
_PARTICIPLE = (
    r"(?:(?:an|auf|aus|ein|ab|zu|vor|nach|mit|her|hin|um|weg|fest|statt|teil|bei|zurück|durch)?ge[a-zäöüß]{2,}(?:t|en)"
    r"|[a-zäöüß]{2,}iert|(?:be|ver|er|ent|zer|unter|über)[a-zäöüß]{2,}(?:t|en))"
)
# "Wurde der Pilot identifiziert." and ", dass der Pilot identifiziert wurde,": the participle and what follows it.
_CLUSTER = re.compile(
    rf"(?<= )(?P<verbs>{_PARTICIPLE}(?: (?:worden|werden|haben|sein))?(?: {_AUXILIARY})?)(?=\s?[.,;])"
)
_MODAL_AND_INFINITIVE = re.compile(
    r"\b(?:kann|können|konnten?|soll|sollen|sollten?|muss|müssen|mussten?|darf|dürfen|durften?|will|wollen|wollten?"
    r"|könnten?|würden?|möchten?)\b[^,;:.]* "
    r"(?P<verbs>(?!werden|haben|worden|können)[a-zäöüß]{3,}(?:en|ern|eln))(?=\s?[.,;])"
)
# "Die Frage nicht beantwortet", but not "eine Frage nicht beantwortet" (that takes "keine").
_DEFINITE = re.compile(
    r"\b(?:(?:es|ihn|ihm|ihnen|uns|dort|hier|heute)|(?:der|die|das|den|dem|des|diese[rnsm]?|seine[rnsm]?|ihre[rnsm]?|vom)"
    r" (?:[a-zäöüß]+en? )?[A-ZÄÖÜ][\w-]+(?: \d+)?) $"
)
# "In die Luft geworfen", "zum Arzt gegangen", "als ... bezeichnet": what comes before belongs to the verb.
_BELONGS = re.compile(r"\b(?:in|auf|an|unter|über|zum|zur|zu|um|für) (?:den|das|die )?[^,]{0,40}$|\b(?:als|nur|nach)\b")
# "Das Atom kann nicht als ...": the subject comes first, so what follows the finite verb is no subject.
_SUBJECT_FIRST = re.compile(
    rf"^(?:Der|Das|Ein|Eine|Er|Es|Sie|Man|Wir|Ich|Dieser|Dieses|Diese|Die|Sein|Seine|Ihr|Ihre|Viele|Einige|Alle)\b[^,;:.]*?"
    rf" ?(?<=[\s])(?P<auxiliary>{_AUXILIARY})(?= (?P<next>[\wäöüß]+))"
)
_PREPOSITIONS = set(
    split_list(
        "in im am an auf als aus von vom für mit durch bei zum zur unter über nach zwischen gegen um aufgrund wegen"
    )
)
_AFTER_BE = {"der", "die", "das", "sehr", "so", "besonders", "wichtig", "groß", "gut", "leicht", "einfach"}


def remove_negations(sentence: str) -> Iterator[Edit]:
    if re.search(r"\b(?:sondern|weder|nur|lediglich|jedoch nur)\b", sentence):
        return
    for match in re.finditer(
        r" nicht\b(?! (?:mehr|zuletzt|einmal|ganz|alle|jede\w*|unbedingt|so|selten|ohne|aber)\b)", sentence
    ):
        if not re.search(
            r"\b(?:noch|gar|überhaupt|auch|ob|oder|und|aber|wenn|warum|Warum|was|Sie|[Vv]ergiss)$",
            sentence[: match.start()],
        ):
            # The edit includes the word before, so that its replacement is not empty.
            first = sentence.rfind(" ", 0, match.start()) + 1
            yield Edit(first, match.end(), sentence[first : match.start()], NEGATION)
    for match in _KEIN.finditer(sentence):
        yield Edit(*match.span(), match_case(f"ein{match['ending']}", match.group()), NEGATION)
    for match in _KEINE.finditer(sentence):
        yield Edit(match.start(), match.start() + 5, match_case("eine", match.group()), NEGATION)
    for match in _KEINE_PLURAL.finditer(sentence):
        yield Edit(*match.span(), match_case("viele", match.group()), NEGATION)


def add_negations(sentence: str) -> Iterator[Edit]:
    for match in _EIN.finditer(sentence):
        start = match.end("verb") + 1
        yield Edit(start, match.end(), f"kein{match['ending']}", NEGATION)
    for match in _EIN_FIRST.finditer(sentence):
        yield Edit(*match.span(), f"Kein{match['ending']}", NEGATION)
    for pattern in (_CLUSTER, _MODAL_AND_INFINITIVE):
        for match in pattern.finditer(sentence):
            clause = re.split(r"[,;:.–]", sentence[: match.start("verbs")])[-1]
            has_verb = re.search(rf"\b{_AUXILIARY}\b", clause) or re.search(rf" {_AUXILIARY}$", match["verbs"])
            if has_verb and _DEFINITE.search(clause) and not _BELONGS.search(clause):
                yield Edit(*match.span("verbs"), f"nicht {match['verbs']}", NEGATION)
    first = _SUBJECT_FIRST.search(sentence)
    if first and _may_follow(first["auxiliary"], first["next"]):
        yield Edit(*first.span("auxiliary"), f"{first['auxiliary']} nicht", NEGATION)


def _may_follow(auxiliary: str, word: str) -> bool:
    """Whether "nicht" may stand between an auxiliary and the next word, if no subject follows."""
    is_copula = auxiliary in ("ist", "sind", "war", "waren")
    if auxiliary in ("hat", "haben", "hatte", "hatten"):
        return re.fullmatch(_PARTICIPLE, word) is not None
    return word in _PREPOSITIONS or (is_copula and word in _AFTER_BE) or re.fullmatch(_PARTICIPLE, word) is not None
