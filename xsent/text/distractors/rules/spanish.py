"""Spanish negation: add it to a statement, or remove it."""

import re
from collections.abc import Iterator

from xsent.text.distractors.rules.edits import NEGATION, Edit, follows_quotation
from xsent.text.english.tokens import match_case

NEGATIVE = re.compile(
    r"\b(?:no|nunca|jamás|nadie|nada|ning[uú]n[oa]?|sin|tampoco|ni|apenas|sino|salvo|excepto)\b", re.I
)
_FINITE = (
    r"(?:es|son|era|eran|fue|fueron|será|serán|sería|serían|está|están|estaba|estaban|ha|han|había|habían|hay|hubo|puede"
    r"|pueden|podía|podían|podría|podrían|pudo|pudieron|debe|deben|debía|debían|debería|deberían|tiene|tienen|tenía|tenían"
    r"|tuvo|tuvieron|quiere|quieren|quería|hizo|dijo|dijeron|vino|existe|existen|contiene|contienen|permite|permiten"
    r"|[a-záéíóúñ]{2,}(?:aron|ieron|yeron|ó|aban|ían))"
)
_CLITIC = r"(?:(?:se|le|les|lo|la|los|las|me|nos|te) ){1,2}"
_STATEMENT = re.compile(
    rf"(?P<before>^|[\wáéíóúñ»)]+ |, |[«¡] ?)(?P<verb>(?!las? eran?\b)(?:{_CLITIC})?{_FINITE})(?= \w|[,.;])", re.I
)
_NO_NO_AFTER = re.compile(
    r"^(?:también|ya|solo|sólo|casi|siempre|aún|todavía|la|el|los|las|un|una|esta|esa|al|del|de|en|su|sus|cada|este|o|si"
    r"|por|con|para|además|además,|así|se|le|lo|les|me|nos|te|es|son|fue|a|cuánto|cuánta|qué|como|dónde|sea|incluso|más"
    r"|ahora|claro|desde|hace|antes|muy|tan|recién|entre|hasta|y|e|bien|aunque|que tanto)$",
    re.I,
)
_NO_NO_BEFORE = re.compile(
    r" (?:decir|que\b|solo|sólo|también|ya\b|siempre|aún|todavía|incluso|tan solo|únicamente|más de|lo que|cuando"
    r"|por lo que|hasta|además)"
)
_NO = re.compile(rf"(?P<no>\b[Nn]o )(?P<rest>(?:{_CLITIC})?[a-záéíóúñ]{{2,}})\b(?! (?:solo|sólo|obstante|más que))")


def remove_negations(sentence: str) -> Iterator[Edit]:
    for match in _NO.finditer(sentence):
        nearby = sentence[match.end() : match.end() + 60]
        if match["no"][0] == "N" and re.search(r"\w\w[ae]s$", match["rest"]):
            continue  # "No te molestes": without "no" it would be no command
        if match["rest"] in ("solo", "sólo", "obstante", "más", "se", "tan", "pocos", "pocas", "todos", "todas", "muy"):
            continue
        concord = re.search(
            r"\b(?:nada|nadie|ning[uú]n\w*|nunca|ni|tampoco|sino|hasta|más que|ya|aún|todavía)\b", nearby
        )
        if concord or re.search(r"\b(?:ya|o|si|aún|todavía|que|mientras) $", sentence[: match.start()]):
            continue
        new = match["rest"]
        yield Edit(*match.span(), new[0].upper() + new[1:] if match["no"][0] == "N" else new, NEGATION)
    for match in re.finditer(r"\b[Nn]unca(?= (?!antes|más)[a-zé])", sentence):
        if re.search(r"\b(?:no|casi|ni|que)\b[^,.]*$", sentence[: match.start()]) is None:
            yield Edit(*match.span(), match_case("siempre", match.group()), NEGATION)


def add_negations(sentence: str) -> Iterator[Edit]:
    for match in _STATEMENT.finditer(sentence):
        verb, before = match["verb"], match["before"].strip()
        if follows_quotation(sentence, match.start("verb")):
            continue
        if _NO_NO_AFTER.match(before) or _NO_NO_BEFORE.match(sentence, match.end()):
            continue
        if verb[0].isupper() and before:
            continue
        yield Edit(match.start("verb"), match.end(), f"{match_case('no', verb)} {verb[0].lower()}{verb[1:]}", NEGATION)
