import itertools
import logging
from collections.abc import Iterable

import numpy as np
import pytest

from xsent.data.readers.parallel import SentencePair
from xsent.data.sampling import pair_table
from xsent.data.sampling.pair_table import (
    Corpus,
    groups,
    read_corpus,
    split_by_content,
    swapped_sides,
    within_caps,
    without_unused,
)


def pair(
    source: str, target: str, target_lang: str = "deu", origin: str = "", source_lang: str = "eng"
) -> SentencePair:
    return SentencePair(source, target, source_lang, target_lang, origin, "f", 1)


def corpus_of(pairs: Iterable[SentencePair]) -> Corpus:
    return read_corpus([pairs], languages=None, drop_origins=[])


def many(n: int, target_lang: str = "deu", start: int = 0) -> list[SentencePair]:
    return [pair(f"sentence {i}", f"{target_lang} {i}", target_lang) for i in range(start, start + n)]


def texts_at(corpus: Corpus, rows: Iterable[int]) -> set[tuple[str, str]]:
    texts, _, columns = corpus
    return {(texts[columns.source[row]], texts[columns.target[row]]) for row in rows}


def split(corpus: Corpus) -> dict[str, set[tuple[str, str]]]:
    splits = split_by_content(corpus, valid_share=0.2, test_share=0.1)
    return {name: texts_at(corpus, rows) for name, rows in splits.items()}


def test_sides_in_the_letters_of_each_others_language_are_swapped() -> None:
    fitting = [pair("good morning", "おはよう", "jpn"), pair("bread", "хлеб", "rus"), pair("bread", "Brot")]
    assert swapped_sides(corpus_of(fitting)) == []
    swapped = [pair("おはよう", "good morning", "jpn"), pair("Brot", "bread"), pair("a", "b", "rus")]
    assert swapped_sides(corpus_of([*fitting[1:], *swapped[:2]])) == ["eng-jpn"]
    assert swapped_sides(corpus_of(swapped[2:])) == []  # untranslated, not swapped


# ---- what is taken


def test_a_pair_of_several_roots_belongs_to_the_first() -> None:
    roots = [[pair("a", "b")], [pair("c", "d"), pair("a", "b")], [pair("c", "d"), pair("a", "b", "nld")]]
    corpus = read_corpus(roots, languages=None, drop_origins=[])
    assert corpus.columns.root.tolist() == [0, 1, 2]


def test_a_pair_that_occurs_twice_is_kept_once_and_only_then() -> None:
    inputs = [pair("a", "b"), pair("a", "c"), pair("a", "b"), pair("a", "b", "nld"), pair("b", "a")]
    corpus = corpus_of(inputs)
    assert len(corpus.columns.source) == 4
    assert corpus.texts == ["a", "b", "c"]


def test_english_is_the_first_language_and_the_others_go_by_name() -> None:
    inputs = [pair("hola", "guten Tag", source_lang="spa"), pair("hi", "hola", "spa")]
    assert corpus_of(inputs).languages == ["eng", "deu", "spa"]
    assert corpus_of(reversed(inputs)).languages == ["eng", "deu", "spa"]


def test_only_the_languages_asked_for_stay() -> None:
    inputs = [pair("a", "b", "deu"), pair("a", "c", "spa"), pair("c", "d", "grn", source_lang="spa")]
    corpus = read_corpus([inputs], languages={"deu", "spa"}, drop_origins=[])
    assert texts_at(corpus, range(2)) == {("a", "b"), ("a", "c")}
    assert len(corpus.columns.source) == 2


def test_origins_are_dropped_by_pattern_and_a_pattern_that_drops_nothing_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    inputs = [pair("a", "b", origin="xnli"), pair("c", "d", origin="americasnlp-dev"), pair("e", "f", origin="x")]
    with caplog.at_level(logging.WARNING):
        corpus = read_corpus([inputs], languages=None, drop_origins=["xnli", "americasnlp*", "multi30k"])
    assert texts_at(corpus, [0]) == {("e", "f")}
    assert len(corpus.columns.source) == 1
    assert caplog.messages == ["data.drop_origins: no pair comes from multi30k"]


def test_texts_that_no_pair_uses_are_left_out_and_the_others_stay_the_same() -> None:
    corpus = corpus_of(many(50))
    several = corpus._replace(columns=corpus.columns.take(np.array([3, 7])))
    smaller = without_unused(several)
    assert len(smaller.texts) == 4
    assert texts_at(smaller, range(2)) == texts_at(several, range(2))


# ---- caps


def test_caps_keep_what_they_kept_when_data_are_added() -> None:
    before, after = corpus_of(many(300)), corpus_of([*many(200, start=300), *many(300)])
    stored = texts_at(before, within_caps(before.columns, per_language=100, total=None))
    grown = texts_at(after, within_caps(after.columns, per_language=100, total=None))
    assert len(stored) == len(grown) == 100
    old = texts_at(before, range(300))
    assert grown & old <= stored


def test_a_cap_takes_from_all_over_the_data() -> None:
    corpus = corpus_of(many(1000))
    rows = within_caps(corpus.columns, per_language=200, total=None)
    # 200 of 1,000 at random: the first half holds 100 +- 5 * 6.3
    assert abs((rows < 500).sum() - 100) < 32


def test_a_total_cap_is_shared_evenly_and_small_languages_stay_whole() -> None:
    corpus = corpus_of([*many(100, "deu"), *many(60, "fra"), *many(10, "grn")])
    rows = within_caps(corpus.columns, per_language=None, total=91)
    by_language = np.bincount(corpus.columns.target_lang[rows], minlength=4)
    assert dict(zip(corpus.languages, by_language.tolist(), strict=True)) == {"eng": 0, "deu": 41, "fra": 40, "grn": 10}


def test_a_cap_above_the_data_takes_all() -> None:
    corpus = corpus_of(many(20))
    assert len(within_caps(corpus.columns, per_language=30, total=40)) == 20


# ---- split


def test_adding_data_moves_no_pair() -> None:
    before = split(corpus_of(many(200)))
    after = split(corpus_of([*many(300, "fra", start=100), *many(500)]))
    for name, pairs in before.items():
        assert pairs <= after[name]


def test_the_shares_are_those_asked_for() -> None:
    sizes = {name: len(pairs) for name, pairs in split(corpus_of(many(4000))).items()}
    # Binomial: five standard deviations are 5 * sqrt(4000 * 0.2 * 0.8) = 126 and 95.
    assert abs(sizes["valid"] - 800) < 127
    assert abs(sizes["test"] - 400) < 96
    assert sum(sizes.values()) == 4000


def test_an_english_sentence_is_in_one_split_with_all_its_translations_and_spellings() -> None:
    inputs = [
        p
        for i in range(300)
        for p in (
            pair(f"Sentence {i}.", f"de {i}"),
            pair(f"sentence  {i}!", f"fr {i}", "fra"),
            pair(f"es {i}", f"SENTENCE {i}", "eng", source_lang="spa"),
        )
    ]
    splits = split(corpus_of(inputs))
    numbers = {name: {row[0].strip(".!").split()[1] for row in pairs} for name, pairs in splits.items()}
    assert all(numbers.values())
    for first, second in itertools.combinations(numbers.values(), 2):
        assert not first & second


def test_without_english_the_source_decides() -> None:
    inputs = [pair(f"frase {i}", f"grn {i} {j}", "grn", source_lang="spa") for i in range(200) for j in range(2)]
    sources = [{source for source, _ in pairs} for pairs in split(corpus_of(inputs)).values()]
    assert sum(map(len, sources)) == 200


def test_sentences_of_signs_alone_are_not_all_one_sentence() -> None:
    splits = split(corpus_of([pair("!" * n, f"de {n}") for n in range(1, 200)]))
    assert all(splits.values())


# ---- groups


def groups_of(corpus: Corpus) -> list[int]:
    numbers: list[int] = groups(corpus.columns, corpus.languages).tolist()
    return numbers


def test_pairs_that_share_a_sentence_directly_or_through_others_are_one_group() -> None:
    inputs = [pair("a", "x"), pair("b", "x"), pair("b", "y", "fra"), pair("c", "z"), pair("d", "c")]
    numbers = groups_of(corpus_of(inputs))
    assert numbers[0] == numbers[1] == numbers[2]
    assert numbers[3] == numbers[4]
    assert numbers[0] != numbers[3]


def test_no_sentence_is_in_two_groups() -> None:
    rng = np.random.default_rng(0)
    inputs = [pair(f"s{a}", f"t{b}") for a, b in rng.integers(0, 300, size=(200, 2))]
    corpus = corpus_of(inputs)
    columns, numbers = corpus.columns, groups(corpus.columns, corpus.languages)
    assert len(set(numbers.tolist())) > 1
    for side in (columns.source, columns.target):
        for text in np.unique(side):
            assert len(np.unique(numbers[side == text])) == 1


def test_a_component_of_too_many_pairs_is_grouped_by_its_english_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_table, "MAX_COMPONENT", 3)
    # "Bank" has two meanings and links the four pairs of money and of furniture.
    large = [
        pair("bank", "Bank"),
        pair("bank", "banco", "spa"),
        pair("bench", "Bank"),
        pair("banc", "bench", "eng", "", "fra"),
    ]
    small = [pair("lock", "Schloss"), pair("castle", "Schloss"), pair("castle", "castillo", "spa")]
    numbers = groups_of(corpus_of([*large, *small]))
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]
    assert numbers[4] == numbers[5] == numbers[6]
    assert len(set(numbers)) == 3
    without_english = [pair("Bank", "banco", "spa", source_lang="deu"), pair("Bank", "banc", "fra", source_lang="deu")]
    chain = [pair("Sitz", "banc", "fra", source_lang="deu"), pair("Sitz", "silla", "spa", source_lang="deu")]
    numbers = groups_of(corpus_of([*without_english, *chain]))
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]
