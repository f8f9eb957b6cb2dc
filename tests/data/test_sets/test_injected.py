from dataclasses import dataclass

from xsent.data.test_sets.injected import InjectedDivergences
from xsent.text.divergences import SpanDeletion, WordReplacement


@dataclass
class Translations:
    name: str
    source_lang: str
    target_lang: str
    source: list[str]
    target: list[str]


GERMAN = Translations(
    "deu-eng",
    "deu",
    "eng",
    ["Der Hund schläft jetzt .", "Meine Katze sieht Mäuse ."],
    ["The dog sleeps now .", "My cat sees mice ."],
)
INJECTED = InjectedDivergences(
    read=lambda root, languages: [GERMAN],
    words=lambda text, language: text.split(),
    span_deletion=SpanDeletion(longest=0.5, most_words=None, shortest_word=3, attempts=50),
    word_replacement=WordReplacement(most_words=None, shortest_word=3, attempts=50),
    seed=1,
)


def test_clean_pairs_and_as_many_of_each_kind_with_english_first() -> None:
    (german,) = INJECTED("folder", None)
    assert (german.name, german.source_lang, german.target_lang) == ("deu", "eng", "deu")
    assert german.kinds == ["seed"] * 2 + ["span_deletion", "word_replacement"] * 2
    assert german.equivalent == [True] * 2 + [False] * 4
    assert german.source[0] == "The dog sleeps now ."
    assert german.highlights is None
    deleted, replaced = german.pairs[2:4]
    assert len(deleted.source) + len(deleted.target) < 10
    changed = [
        (new, old)
        for side, clean in zip(replaced, german.pairs[0], strict=True)
        for new, old in zip(side, clean, strict=True)
        if new != old
    ]
    assert len(changed) == 1
    other = {word.lower() for text in (GERMAN.source[1], GERMAN.target[1]) for word in text.split()}
    assert changed[0][0].lower() in other


def test_the_same_divergences_are_made_again() -> None:
    assert INJECTED("folder", None)[0].digest() == INJECTED("folder", None)[0].digest()
