"""The opposite of what a sentence says: "not" put in or taken out, with "do" where grammar asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from xsent.text import verbs
from xsent.text.tokens import Token, cased_like, replaced, starts_sentence, tokens

_MODALS = {"can", "could", "will", "would", "shall", "should", "may", "might", "must"}
_BE = {"am", "is", "are", "was", "were"}
_HAVE = {"has", "have", "had"}
_DO = {"do", "does", "did"}
_SHORT = {
    "is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't", "has": "hasn't", "have": "haven't",
    "had": "hadn't", "can": "can't", "could": "couldn't", "will": "won't", "would": "wouldn't", "should": "shouldn't",
    "must": "mustn't", "do": "don't", "does": "doesn't", "did": "didn't",
}  # fmt: skip
_LONG = {short: long for long, short in _SHORT.items()} | {"cannot": "can", "shan't": "shall"}
# "It's" and the like: "not" follows. "'d" may be "had" or "would" and is left alone.
_SHORT_BE = re.compile(r"(?:it|that|he|she|there|they|we|you)'(?:s|re)|i'm")
_PRONOUNS = {"i", "he", "she", "it", "we", "they", "you"}
_NEGATIVE = {
    "not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "hardly", "barely", "rarely",
    "scarcely", "seldom", "cannot", "without", "unless", "few", "fewer", "little", "ever",
}  # fmt: skip
# After these a word like "will" or "might" is a noun, and a past form is no verb of the sentence.
_BEFORE_NOUN = {
    "a", "an", "the", "his", "her", "its", "my", "your", "our", "their", "of", "with", "by", "free", "own", "to", "at",
    "military", "from", "for", "in", "on", "as", "than", "how", "this", "these", "those", "and", "or", "but",
}  # fmt: skip
_ADVERBS = {
    "also", "always", "already", "just", "still", "even", "often", "ever", "now", "only", "then", "soon", "both", "all",
    "long", "once", "since", "thus", "later", "first", "again", "further",
}  # fmt: skip
# "Not" before these is no plain denial, and what follows them hangs on a denial.
_AFTER_NOT = {"only", "just", "until", "least", "all", "even", "to", "so", "necessarily", "merely", "enough", "yet"}
_HANGS_ON_NOT = {
    "any", "anyone", "anybody", "anything", "anywhere", "ever", "yet", "either", "anymore", "until", "nor", "or", "but",
    "unless", "much", "long", "whether",
}  # fmt: skip
# These adverbs belong before a denial ("still cannot") or ask for more words ("not only ... but").
_NO_NOT_BEFORE = {"also", "still", "already", "only", "just", "both", "either", "even", "rather", "better", "there"}
_PERSONAL = {"i": "do", "we": "do", "they": "do", "you": "do", "he": "does", "she": "does", "it": "does"}
# Past forms that are nothing else: no participle, no noun, no adjective.
_SURE_PAST = {
    forms.past
    for forms in verbs.known().values()
    if forms.past != forms.participle and forms.past not in verbs.known() and forms.base != "be"
} - {"saw", "rose", "bore", "wound", "lay", "shook", "rode", "had", "did"}


def with_other_polarity(sentence: str) -> list[str]:
    """The sentence with one of its statements denied, or one denial taken back; once for each that allows it.

    Auxiliaries take "not" ("was not", "cannot"), other verbs take "do" ("did not go"), contractions are used where
    the sentence uses some. Only verbs that can be told from nouns and participles without a parser are touched:
    auxiliaries, verbs after a personal pronoun, past forms that are nothing else, and a past form that is the
    only verb.
    Questions and sentences that already deny something get no further "not".
    """
    words = tokens(sentence)
    found = list(_without_not(sentence, words))
    denies = any(word.lower in _NEGATIVE or word.lower.endswith("n't") for word in words)
    if not found and not denies and "?" not in sentence:
        found = list(_with_not(sentence, words))
    return list(dict.fromkeys(found))


# ---- putting "not" in


def _with_not(sentence: str, words: Sequence[Token]) -> Iterator[str]:
    contracts = re.search(r"\w['’](?:t|re|ll|ve|m)\b|\b(?:[Ii]t|[Tt]hat|[Tt]here)['’]s\b", sentence) is not None
    only_verb = _only_past_form(words)
    for i, word in enumerate(words):
        if _SHORT_BE.fullmatch(word.lower) and _next(words, i) is not None:
            yield sentence[: word.end] + " not" + sentence[word.end :]
        elif word.text in _MODALS | _BE | _HAVE and _is_auxiliary(words, i):
            yield replaced(sentence, word.start, word.end, _denied(word.text, contracts))
        elif word.text in _HAVE and _has_object(words, i):
            yield _with_do(sentence, words, i, "have", contracts)
        elif (base := _finite(words, i)) or (i == only_verb and (base := verbs.bases("past")[word.text])):
            yield _with_do(sentence, words, i, base, contracts)


def _denied(auxiliary: str, contracts: bool) -> str:
    if contracts and auxiliary in _SHORT:
        return _SHORT[auxiliary]
    return "cannot" if auxiliary == "can" else f"{auxiliary} not"


def _is_auxiliary(words: Sequence[Token], i: int) -> bool:
    """Whether "not" may follow word ``i``, a form of be or have or a modal verb."""
    word, before, after = words[i].text, _previous(words, i), _next(words, i)
    if before is None or after is None or before in _MODALS | _BE | _HAVE | _DO | {"to", "as", "than", "if"}:
        return False
    if after in _PRONOUNS | _NO_NOT_BEFORE:  # "Only then was he ...", "had better"
        return False
    if (word == "am" and before != "i") or "whether" in {words[j].lower for j in range(max(0, i - 3), i)}:
        return False
    if word in _MODALS:
        return before not in _BEFORE_NOUN and _verb_after(words, i) in verbs.known()
    if word in _HAVE:
        chained = {words[j].lower for j in range(max(0, i - 3), i)} & (_MODALS | _DO)
        follows = _verb_after(words, i)
        return not chained and (follows in verbs.bases("participle") or follows.endswith("ed"))
    return True


def _has_object(words: Sequence[Token], i: int) -> bool:
    """Whether word ``i``, a form of have, is a full verb: "has a roof", "they have to"."""
    before, after = _previous(words, i), _next(words, i)
    if before is None or before in _MODALS | _BE | _HAVE | _DO | _BEFORE_NOUN or "'" in before:  # "I've had"
        return False
    if words[i].text == "have" and before not in {"i", "we", "they", "you", "who", "which", "that"}:
        return False
    return after in {"a", "an", "the", "to", "many", "more", "its", "his", "her", "their", "several", "two", "three"}


def _finite(words: Sequence[Token], i: int) -> str | None:
    """Base of word ``i`` if it surely is a verb in the present or past of a statement."""
    word, before = words[i].text, _previous_but_adverbs(words, i)
    if before is None or _next(words, i) == "by" or not word.islower() or _previous(words, i) in _NO_NOT_BEFORE:
        return None
    if word in _DO and _verb_after(words, i) in verbs.known():  # "They do know"
        return None
    earlier = {words[j].text for j in range(max(0, i - 3), i)} & (_MODALS | _DO | {"to", "let", "lets", "help", "n't"})
    if word in verbs.bases("past") and word not in _HAVE | _BE | _DO:
        base = verbs.bases("past")[word]
        after_pronoun = before in {"i", "he", "she", "we", "they"} or (before in {"it", "who"} and i < 4)
        if not earlier and (after_pronoun or (word in _SURE_PAST and before.isalpha() and before not in _BEFORE_NOUN)):
            # "They put" and "they read" may be of today, but are so rarely.
            return base
    if earlier or before not in _PERSONAL:
        return None
    if _PERSONAL[before] == "does":
        return verbs.bases("third").get(word) if word not in _BE | _HAVE else None
    return word if word in verbs.known() and word not in _HAVE and before != "you" else None


def _only_past_form(words: Sequence[Token]) -> int | None:
    """The place of a regular past form, when no other word can be the verb of the sentence."""
    past = [i for i, word in enumerate(words) if word.lower.endswith("ed") or word.lower in verbs.bases("past")]
    others = _MODALS | _BE | _HAVE | _DO | {"been", "be", "being"}
    if len(past) != 1 or any(word.lower in others or "'" in word.lower for word in words):
        return None
    present = verbs.bases("third").keys() | verbs.known().keys()
    for i, word in enumerate(words):
        if word.lower in present and i != past[0] and _previous(words, i) not in _BEFORE_NOUN:
            return None
    (i,) = past
    before, after = _previous(words, i), _next(words, i)
    if words[i].text not in verbs.bases("past") or before is None or before in _BEFORE_NOUN or after in (None, "by"):
        return None
    return i if before.isalpha() else None


def _with_do(sentence: str, words: Sequence[Token], i: int, base: str, contracts: bool) -> str:
    word = words[i].text
    do = "did" if word in verbs.bases("past") or word == "had" else "do" if word == base else "does"
    start = i
    while start > 0 and _is_adverb(words[start - 1].lower) and words[start - 1].text.islower():
        start -= 1
    between = sentence[words[start].start : words[i].start]
    return replaced(sentence, words[start].start, words[i].end, f"{_denied(do, contracts)} {between}{base}")


# ---- taking "not" out


def _without_not(sentence: str, words: Sequence[Token]) -> Iterator[str]:
    for i, word in enumerate(words):
        before, after = _previous(words, i) or "", _next(words, i)
        is_one_word = word.lower in _LONG
        if not is_one_word and not (word.lower == "not" and (before in _SHORT or _SHORT_BE.fullmatch(before))):
            continue
        nearby = {near.lower for near in words[i + 1 : i + 9]}
        if after is None or after in _AFTER_NOT | _PRONOUNS or nearby & _HANGS_ON_NOT:
            continue
        auxiliary = _LONG[word.lower] if is_one_word else before
        if auxiliary in _DO:
            yield from _without_do(sentence, words, i if is_one_word else i - 1, i, auxiliary)
        elif is_one_word:
            yield replaced(sentence, word.start, word.end, cased_like(auxiliary, word.text))
        else:
            yield sentence[: words[i - 1].end] + sentence[word.end :]


def _without_do(sentence: str, words: Sequence[Token], first: int, denial: int, do: str) -> Iterator[str]:
    at = denial + 1
    while at < len(words) - 1 and _is_adverb(words[at].lower):
        at += 1
    base = words[at].text
    if not base.isalpha() or not base.islower():
        return
    forms = verbs.forms(base)
    verb = {"do": forms.base, "does": forms.third, "did": forms.past}[do]
    between = sentence[words[denial + 1].start : words[at].start]
    new = between + verb
    if starts_sentence(sentence, words[first].start):
        new = cased_like(new, words[first].text)
    yield replaced(sentence, words[first].start, words[at].end, new)


# ---- neighbours


def _previous(words: Sequence[Token], i: int) -> str | None:
    return words[i - 1].lower if i else None


def _next(words: Sequence[Token], i: int) -> str | None:
    """The next word in lower case; None at the end, or where a sign other than a quote follows."""
    if i + 1 < len(words) and (words[i + 1].text[0].isalnum() or words[i + 1].text in "\"“'‘"):
        return words[i + 1].lower
    return None


def _previous_but_adverbs(words: Sequence[Token], i: int) -> str | None:
    while i > 0 and _is_adverb(words[i - 1].lower):
        i -= 1
    return _previous(words, i)


def _verb_after(words: Sequence[Token], i: int) -> str:
    """The word after ``i`` and any adverbs."""
    i += 1
    while i < len(words) - 1 and _is_adverb(words[i].lower):
        i += 1
    return words[i].lower if i < len(words) else ""


def _is_adverb(word: str) -> bool:
    return word in _ADVERBS or (word.endswith("ly") and word not in verbs.known() and word not in {"family", "only"})
