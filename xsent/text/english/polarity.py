"""Insertion and removal of "not" in English sentences, with do-support and contractions."""

import re
from collections.abc import Iterator, Sequence

from xsent.text.english import verbs
from xsent.text.english.tokens import Token, match_case, replace_span, starts_sentence, tokenize
from xsent.text.word_lists import load_word_sets

_WORDS = load_word_sets("polarity")
_MODALS = _WORDS["modals"]
_BE = {"am", "is", "are", "was", "were"}
_HAVE = {"has", "have", "had"}
_DO = {"do", "does", "did"}
_AUXILIARIES = _MODALS | _BE | _HAVE | _DO
_CONTRACTED = {word: f"{word}n't" for word in (_BE - {"am"}) | _HAVE | _DO | {"could", "would", "should", "must"}}
_CONTRACTED |= {"can": "can't", "will": "won't"}
_EXPANDED = {contracted: word for word, contracted in _CONTRACTED.items()} | {"cannot": "can", "shan't": "shall"}
# "It's" and the like, before "not". "'d" may be "had" or "would", so it stays.
_SHORT_BE = re.compile(r"(?:it|that|he|she|there|they|we|you)'(?:s|re)|i'm")
# "They put" and "they read" may be present tense, but rarely are.
_PAST_PRONOUNS = {"i", "he", "she", "we", "they"}
_HAVE_SUBJECTS = {"i", "we", "they", "you", "who", "which", "that"}
_OBJECT_STARTS = {"a", "an", "the", "to", "many", "more", "its", "his", "her", "their", "several", "two", "three"}
# Past forms that are no participle, noun or adjective.
_UNAMBIGUOUS_PAST = {
    forms.past
    for forms in verbs.listed_forms().values()
    if forms.past != forms.participle and forms.past not in verbs.listed_forms() and forms.base != "be"
} - _WORDS["ambiguous past"]


def invert_polarity(sentence: str) -> list[str]:
    """All sentences with one statement negated, or one negation removed.

    Auxiliaries take "not" ("was not", "cannot"), other verbs take "do" ("did not go"); contractions are used where
    the sentence has some. Without a parser, only clear verbs change: auxiliaries, verbs after a personal pronoun,
    unambiguous past forms, and a past form that is the only verb. Questions and sentences with a negation get no
    further "not".
    """
    words = tokenize(sentence)
    variants = list(_remove_not(sentence, words))
    is_negative = any(word.lower in _WORDS["negative"] or word.lower.endswith("n't") for word in words)
    if not variants and not is_negative and "?" not in sentence:
        variants = list(_insert_not(sentence, words))
    return list(dict.fromkeys(variants))


def _insert_not(sentence: str, words: Sequence[Token]) -> Iterator[str]:
    contract = re.search(r"\w['’](?:t|re|ll|ve|m)\b|\b(?:[Ii]t|[Tt]hat|[Tt]here)['’]s\b", sentence) is not None
    only_verb = _only_past_form(words)
    for i, word in enumerate(words):
        if _SHORT_BE.fullmatch(word.lower) and _next(words, i) is not None:
            yield sentence[: word.end] + " not" + sentence[word.end :]
        elif word.text in _AUXILIARIES - _DO and _is_auxiliary(words, i):
            yield replace_span(sentence, word.start, word.end, _negate(word.text, contract))
        elif word.text in _HAVE and _has_object(words, i):
            yield _negate_with_do(sentence, words, i, "have", contract)
        elif (base := _finite_base(words, i)) or (i == only_verb and (base := verbs.bases("past")[word.text])):
            yield _negate_with_do(sentence, words, i, base, contract)


def _negate(auxiliary: str, contract: bool) -> str:
    if contract and auxiliary in _CONTRACTED:
        return _CONTRACTED[auxiliary]
    return "cannot" if auxiliary == "can" else f"{auxiliary} not"


def _is_auxiliary(words: Sequence[Token], i: int) -> bool:
    """Whether "not" may follow word ``i``, a form of be or have or a modal verb."""
    word, before, after = words[i].text, _previous(words, i), _next(words, i)
    if before is None or after is None or before in _AUXILIARIES | {"to", "as", "than", "if"}:
        return False
    if after in _WORDS["pronouns"] | _WORDS["no not before"]:  # "Only then was he ...", "had better"
        return False
    preceding = {token.lower for token in words[max(0, i - 3) : i]}
    if (word == "am" and before != "i") or "whether" in preceding:
        return False
    if word in _MODALS:
        return before not in _WORDS["before nouns"] and _verb_after(words, i) in verbs.listed_forms()
    if word in _HAVE:
        verb = _verb_after(words, i)
        return not preceding & (_MODALS | _DO) and (verb in verbs.bases("participle") or verb.endswith("ed"))
    return True


def _has_object(words: Sequence[Token], i: int) -> bool:
    """Whether word ``i``, a form of have, is a full verb: "has a roof", "they have to"."""
    before = _previous(words, i)
    if before is None or before in _AUXILIARIES | _WORDS["before nouns"] or "'" in before:  # "I've had"
        return False
    if words[i].text == "have" and before not in _HAVE_SUBJECTS:
        return False
    return _next(words, i) in _OBJECT_STARTS


def _finite_base(words: Sequence[Token], i: int) -> str | None:
    """Base of word ``i`` if it clearly is a present or past verb of a statement."""
    word, subject = words[i].text, _previous_content_word(words, i)
    if subject is None or not word.islower() or _next(words, i) == "by":
        return None
    if _previous(words, i) in _WORDS["no not before"]:
        return None
    if word in _DO and _verb_after(words, i) in verbs.listed_forms():  # "They do know"
        return None
    preceding = {token.text for token in words[max(0, i - 3) : i]}
    has_auxiliary = bool(preceding & (_MODALS | _DO | {"to", "let", "lets", "help", "n't"}))
    if word in verbs.bases("past") and word not in _HAVE | _BE | _DO:
        after_pronoun = subject in _PAST_PRONOUNS or (subject in {"it", "who"} and i < 4)
        is_past = word in _UNAMBIGUOUS_PAST and subject.isalpha() and subject not in _WORDS["before nouns"]
        if not has_auxiliary and (after_pronoun or is_past):
            return verbs.bases("past")[word]
    if has_auxiliary or subject not in _WORDS["pronouns"]:
        return None
    if subject in {"he", "she", "it"}:
        return verbs.bases("third").get(word) if word not in _BE | _HAVE else None
    return word if word in verbs.listed_forms() and word not in _HAVE and subject != "you" else None


def _only_past_form(words: Sequence[Token]) -> int | None:
    """Index of a past form if no other word can be the verb of the sentence."""
    past = [i for i, word in enumerate(words) if word.lower.endswith("ed") or word.lower in verbs.bases("past")]
    excluded = _AUXILIARIES | {"been", "be", "being"}
    if len(past) != 1 or any(word.lower in excluded or "'" in word.lower for word in words):
        return None
    (i,) = past
    present = verbs.bases("third").keys() | verbs.listed_forms().keys()
    for j, word in enumerate(words):
        if word.lower in present and j != i and _previous(words, j) not in _WORDS["before nouns"]:
            return None
    before = _previous(words, i)
    if before is None or before in _WORDS["before nouns"] or not before.isalpha():
        return None
    return i if words[i].text in verbs.bases("past") and _next(words, i) not in (None, "by") else None


def _negate_with_do(sentence: str, words: Sequence[Token], i: int, base: str, contract: bool) -> str:
    word = words[i].text
    do = "did" if word in verbs.bases("past") or word == "had" else "do" if word == base else "does"
    start = i
    while start > 0 and _is_adverb(words[start - 1].lower) and words[start - 1].text.islower():
        start -= 1
    adverbs = sentence[words[start].start : words[i].start]
    return replace_span(sentence, words[start].start, words[i].end, f"{_negate(do, contract)} {adverbs}{base}")


def _remove_not(sentence: str, words: Sequence[Token]) -> Iterator[str]:
    for i, word in enumerate(words):
        before, after = _previous(words, i) or "", _next(words, i)
        is_contraction = word.lower in _EXPANDED
        follows_auxiliary = before in _CONTRACTED or _SHORT_BE.fullmatch(before)
        if not is_contraction and not (word.lower == "not" and follows_auxiliary):
            continue
        following = {token.lower for token in words[i + 1 : i + 9]}
        if after is None or after in _WORDS["after not"] | _WORDS["pronouns"] or following & _WORDS["depend on not"]:
            continue
        auxiliary = _EXPANDED[word.lower] if is_contraction else before
        if auxiliary in _DO:
            yield from _remove_do(sentence, words, i if is_contraction else i - 1, i, auxiliary)
        elif is_contraction:
            yield replace_span(sentence, word.start, word.end, match_case(auxiliary, word.text))
        else:
            yield sentence[: words[i - 1].end] + sentence[word.end :]


def _remove_do(sentence: str, words: Sequence[Token], first: int, negation: int, do: str) -> Iterator[str]:
    i = _skip_adverbs(words, negation + 1)
    base = words[i].text
    if not base.isalpha() or not base.islower():
        return
    forms = verbs.forms(base)
    verb = {"do": forms.base, "does": forms.third, "did": forms.past}[do]
    new = sentence[words[negation + 1].start : words[i].start] + verb  # with the adverbs before the verb
    if starts_sentence(sentence, words[first].start):
        new = match_case(new, words[first].text)
    yield replace_span(sentence, words[first].start, words[i].end, new)


def _previous(words: Sequence[Token], i: int) -> str | None:
    return words[i - 1].lower if i else None


def _next(words: Sequence[Token], i: int) -> str | None:
    """The next word in lower case; None at the end, or before a sign other than a quote."""
    if i + 1 < len(words) and (words[i + 1].text[0].isalnum() or words[i + 1].text in "\"“'‘"):
        return words[i + 1].lower
    return None


def _previous_content_word(words: Sequence[Token], i: int) -> str | None:
    while i > 0 and _is_adverb(words[i - 1].lower):
        i -= 1
    return _previous(words, i)


def _verb_after(words: Sequence[Token], i: int) -> str:
    """The word after ``i`` and any adverbs."""
    i = _skip_adverbs(words, i + 1)
    return words[i].lower if i < len(words) else ""


def _skip_adverbs(words: Sequence[Token], i: int) -> int:
    while i < len(words) - 1 and _is_adverb(words[i].lower):
        i += 1
    return i


def _is_adverb(word: str) -> bool:
    is_regular = word.endswith("ly") and word not in verbs.listed_forms() and word not in {"family", "only"}
    return word in _WORDS["adverbs"] or is_regular
