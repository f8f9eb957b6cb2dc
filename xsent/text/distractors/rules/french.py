"""French negation: add it to a statement, or remove it."""

import re
from collections.abc import Iterator

from xsent.text.distractors.rules.edits import NEGATION, Edit, elides, follows_quotation, match_apostrophes

NEGATIVE = re.compile(r"\b(?:ne|non|sans|ni|aucune?|jamais|personne|rien|guère|pas)\b|\bn['’]", re.I)
_FINITE = (
    r"(?:est|sont|était|étaient|sera|seront|serait|seraient|fut|furent|a|ont|avait|avaient|aura|auront|aurait|auraient"
    r"|eut|peut|peuvent|pouvait|pouvaient|pourra|pourrait|pourraient|doit|doivent|devait|devaient|devrait|devraient"
    r"|va|vont|veut|veulent|permet|permettent|permettait|semble|semblent|contient|possède|comprend|devint|devient"
    r"|constitue|représente|reste|fait|font|faisait)"
)
_HAVE = {"a", "ont", "avait", "avaient", "aura", "auront", "aurait", "auraient", "contient", "possède", "comprend"}
_STATEMENT = re.compile(
    rf"(?P<before>\w+|[,»)]) (?P<clitic>(?:il y |[Cc]['’]|s['’]|se |lui |leur |y |en |m['’]|t['’])?)"
    rf"(?P<verb>{_FINITE})(?= [\wàéê]|[ .,](?:$|\d))(?P<object>(?: (?:une?|des|du)\b)?)"
)
_FIRST = re.compile(
    rf"(?P<before>)(?P<clitic>(?:\b[Ii]l y |\bC['’]))(?P<verb>{_FINITE})\b(?P<object>(?: (?:une?|des|du)\b)?)"
)
# After these a form as "est", "a" or "fait" is no verb; before the others "pas" cannot stand, or says nothing clear.
_NO_SUBJECT = re.compile(
    r"^(?:à|de|du|des|le|la|les|un|une|au|aux|en|par|pour|sud|nord|plein|ce|cet|ces|sur|dans|tout|y|ou|lorsqu|est|vers"
    r"|son|sa|leur|l|d|je|tu|nous|vous|on|si|s|puis|quand|où|dont|et|presque|déjà|bien)$",
    re.I,
)
_NO_PAS = re.compile(
    r" (?:également|aussi|presque|déjà|encore|toujours|même|donc|alors|notamment|ainsi|plutôt|tout|tous|toutes|souvent"
    r"|parfois|que|à|-|le plus|la plus|les plus|l['’]un|désormais|ensuite|finalement|lieu|partie|face|plus|moins"
    r"|maintenant|certes|pourquoi|probablement|seulement|uniquement|surtout|généralement|en fait|d['’]abord"
    r"|actuellement|sans|peu|beaucoup|longtemps"
    r"|(?:[\w-]+ ){1,2}(?:ans|années|mois|semaines?|jours?|heures?|siècles?)\b)"  # "il y a trois ans"
)
_NE_PAS = re.compile(
    r"\b(?P<ne>[Nn]e |[Nn]['’])(?P<middle>(?:(?:s|l|m|t|y)['’]|(?:se|lui|leur|y|en|le|la|les|nous|vous) )*[\w-]+)"
    r" (?P<pas>pas|plus|jamais)\b"
    r"(?! (?:d['’]|de\b|du\b|encore|que|qu['’]|seulement|plus|uniquement|non|moins|tou|un|une))"
)


def remove_negations(sentence: str) -> Iterator[Edit]:
    for match in _NE_PAS.finditer(sentence):
        if re.search(
            r"\b(?:que|aucun|ni|mais|personne|rien|jamais|sans|moins)\b", sentence[match.end() : match.end() + 60]
        ):
            continue
        start = match.start()
        instead = {"pas": "", "plus": " encore", "jamais": " toujours"}[match["pas"]]
        new = match["middle"] + instead
        before = re.search(r"\b(ce|je|de) $", sentence[:start], re.I)
        if before and elides(new):  # "ce n'est" > "c'est"
            start = before.start()
            new = f"{before[1][0]}'{new}"
        if match["ne"][0] == "N":
            new = new[0].upper() + new[1:]
        yield Edit(start, match.end(), new, NEGATION)


def add_negations(sentence: str) -> Iterator[Edit]:
    for pattern in (_STATEMENT, _FIRST):
        for match in pattern.finditer(sentence):
            verb, clitic = match["verb"], match["clitic"]
            if follows_quotation(sentence, match.start("clitic")):
                continue
            if _NO_SUBJECT.match(match["before"]) or _NO_PAS.match(sentence, match.end("verb")):
                continue
            if verb in ("fait", "reste", "comprend", "est") and match["before"][:1].isdigit():
                continue
            new, after = _negate(clitic, verb), match["object"]
            start = match.start("clitic")
            noun = sentence[match.end() :].lstrip()
            if after and (verb in _HAVE):  # "a un frère" > "n'a pas de frère"
                after = " d'" if elides(noun) else " de"
                end = match.end() + (1 if after == " d'" else 0)
            else:
                end = match.end("verb")
                after = ""
            yield Edit(start, end, match_apostrophes(new + after, sentence), NEGATION)


def _negate(clitic: str, verb: str) -> str:
    pronoun = clitic.replace("’", "'")
    if pronoun.lower() == "il y ":
        return f"{clitic[0]}l n'y {verb} pas"
    if pronoun.lower() == "c'":
        return f"{clitic[0]}e {_negate('', verb)}"
    particle = "n'" if elides(pronoun or verb) else "ne "
    return f"{particle}{pronoun}{verb} pas"
