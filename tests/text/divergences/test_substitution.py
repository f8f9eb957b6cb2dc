import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.text.divergences.helpers import annotated
from xsent.text.divergences import AnnotatedPair, LexicalSubstitution, WordNet
from xsent.text.divergences import wordnet as wordnet_module
from xsent.text.divergences.json_format import Divergence, Reason
from xsent.text.divergences.substitution import Blank, FrequencyRanker
from xsent.text.divergences.wordnet import part_of_speech

GENERAL, PARTICULAR = "generalization", "particularization"
SINGLE = LexicalSubstitution(max_substitutions=1, attempts=20)
SEVERAL = LexicalSubstitution(max_substitutions=None, attempts=20)
EVERYTHING = FrequencyRanker(
    [
        *((word, "NN") for word in ["beast", "animal", "poodle", "teddy", "hound", "poodle"]),
        ("move", "VB"),
        ("walk", "VB"),
    ]
)


def substitute(
    pair: AnnotatedPair,
    kind: str,
    wordnet: WordNet,
    maker: LexicalSubstitution = SINGLE,
    ranker: FrequencyRanker = EVERYTHING,
    number: int = 0,
) -> Divergence | Reason:
    return maker.make([pair], [Random(number)], kind, wordnet, ranker)[0]


def test_ancestors_generalise_up_to_two_levels_and_never_to_the_root(small_wordnet: WordNet) -> None:
    assert small_wordnet.candidates("teddy", "n", GENERAL) == {"poodle", "dog", "hound"}
    assert small_wordnet.candidates("dog", "n", GENERAL) == {"animal", "beast"}
    assert small_wordnet.candidates("animal", "n", GENERAL) == set()
    assert small_wordnet.candidates("walk", "v", GENERAL) == {"go"}


def test_all_senses_of_a_word_count_or_the_most_frequent_ones(small_wordnet: WordNet, wordnet_folder: Path) -> None:
    assert small_wordnet.candidates("bank", "n", GENERAL) == {"institution", "slope"}
    first = WordNet(folder=str(wordnet_folder), levels_up=2, levels_down=1, senses=1)
    assert first.candidates("bank", "n", GENERAL) == {"institution"}


def test_single_lower_case_descendants_particularise(small_wordnet: WordNet, wordnet_folder: Path) -> None:
    assert small_wordnet.candidates("animal", "n", PARTICULAR) == {"dog", "hound", "poodle", "teddy"}
    assert small_wordnet.candidates("teddy", "n", PARTICULAR) == set()
    released = WordNet(folder=str(wordnet_folder), levels_up=2, levels_down=2, senses=None)
    assert released.candidates("animal", "n", PARTICULAR) == {"poodle", "teddy"}


def test_inflected_words_are_found_and_adjectives_and_unknown_words_have_no_candidates(small_wordnet: WordNet) -> None:
    assert small_wordnet.candidates("Dogs", "n", GENERAL) == {"animal", "beast"}  # none is the word itself
    assert small_wordnet.candidates("went", "v", PARTICULAR) == {"walk"}
    assert small_wordnet.candidates("weak", "a", GENERAL) == set()
    assert small_wordnet.candidates("xyzzy", "n", PARTICULAR) == set()
    assert small_wordnet.candidates("dog", "v", GENERAL) == set()


def test_a_missing_wordnet_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pytest.importorskip("nltk.data")
    with pytest.raises(FileNotFoundError, match=r"WordNet 3.0 in .*found no data.noun.*downloader.*apt.*without net"):
        WordNet(folder=str(tmp_path), levels_up=2, levels_down=1, senses=None).load()
    monkeypatch.setattr(data, "path", [])
    monkeypatch.setattr(wordnet_module, "DEBIAN", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"in nltk's data folders .* nor in .*wordnet\.folder=FOLDER"):
        WordNet(folder=None, levels_up=2, levels_down=1, senses=None).load()


@pytest.mark.parametrize("packed", [False, True])
def test_the_corpus_of_nltk_is_found_unpacked_and_as_downloaded(
    tmp_path: Path, wordnet_folder: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    data = pytest.importorskip("nltk.data")
    corpus = shutil.copytree(wordnet_folder, tmp_path / "corpora" / "wordnet")
    if packed:
        shutil.make_archive(str(corpus), "zip", tmp_path / "corpora", "wordnet")
        shutil.rmtree(corpus)
    monkeypatch.setattr(data, "path", [str(tmp_path)])
    wordnet = WordNet(folder=None, levels_up=2, levels_down=1, senses=None)
    assert wordnet.candidates("dog", "n", PARTICULAR) == {"poodle", "teddy"}


def test_the_most_frequent_candidate_takes_the_place_and_keeps_the_capital(small_wordnet: WordNet) -> None:
    pair = annotated("Dog barks", "Chien aboie", "0-0", tags="NN VBZ")
    ranker = FrequencyRanker([("beast", "NN"), ("Beast", "NN"), ("animal", "NN")])
    labels = ("CHA", "O")
    assert substitute(pair, GENERAL, small_wordnet, ranker=ranker) == Divergence(
        "a", "generalization", "source", ("Beast", "barks"), pair.target, labels, labels, "Dog > Beast", "test"
    )
    shouted = annotated("DOG", "CHIEN", tags="NN")
    assert substitute(shouted, GENERAL, small_wordnet, ranker=ranker).source == ("BEAST",)


def test_all_words_aligned_to_the_word_are_changed(small_wordnet: WordNet) -> None:
    pair = annotated("a dog", "u v w", "1-2 1-0", tags="DT NN")
    assert substitute(pair, PARTICULAR, small_wordnet).target_labels == ("CHA", "O", "CHA")


def test_verbs_adjectives_and_common_nouns_are_replaceable() -> None:
    replaceable = {"VB": "v", "VBZ": "v", "JJ": "a", "JJS": "a", "NN": "n", "NNS": "n"}
    assert {tag: part_of_speech(tag) for tag in replaceable} == replaceable
    assert {part_of_speech(tag) for tag in ("NNP", "NNPS", "RB", "MD", "IN")} == {None}


def test_every_reason_is_told_apart(small_wordnet: WordNet) -> None:
    stop_words = annotated("don 't have Dog", "u", tags="VB NN VBP NNP")
    assert substitute(stop_words, GENERAL, small_wordnet) == Reason.NO_ELIGIBLE_WORD
    unknown = annotated("weak xyzzy", "u", tags="JJ NN")
    assert substitute(unknown, GENERAL, small_wordnet) == Reason.NOT_IN_WORDNET
    unloved = annotated("a dog", "u", tags="DT NN")
    nothing = FrequencyRanker([("other", "JJ"), ("words", "NNS")])
    assert substitute(unloved, GENERAL, small_wordnet, ranker=nothing) == Reason.NOT_PREDICTED


def test_another_word_is_tried_where_the_ranker_predicts_no_candidate(small_wordnet: WordNet) -> None:
    pair = annotated("teddy walks", "u", tags="NN VBZ")
    goes = FrequencyRanker([("go", "VB")])
    assert {substitute(pair, GENERAL, small_wordnet, ranker=goes, number=n).note for n in range(10)} == {"walks > go"}
    once = LexicalSubstitution(max_substitutions=1, attempts=1)
    tried_once = {substitute(pair, GENERAL, small_wordnet, once, goes, number) for number in range(20)}
    assert Reason.NOT_PREDICTED in tried_once
    assert len(tried_once) == 2


def test_one_word_gives_way_or_in_the_released_variant_all_that_can(small_wordnet: WordNet) -> None:
    pair = annotated("dogs go", "u v", "0-0 1-1", tags="NNS VBP")
    assert {substitute(pair, PARTICULAR, small_wordnet, number=n).note for n in range(20)} == {
        "dogs > poodle",
        "go > walk",
    }
    result = substitute(pair, PARTICULAR, small_wordnet, SEVERAL)
    assert result.note == "dogs > poodle, go > walk"
    assert result.source_labels == result.target_labels == ("CHA", "CHA")


class Recorder:
    """The first candidate in the alphabet; keeps what it was asked."""

    skipped = 0

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, ...]]] = []

    def choose(self, blanks: Sequence[Blank]) -> list[str | None]:
        self.asked.append([blank.words for blank in blanks])
        return [min(blank.candidates) for blank in blanks]


def test_the_ranker_gets_many_sentences_per_call_and_sees_replaced_words(small_wordnet: WordNet) -> None:
    ranker = Recorder()
    pairs = [annotated("dogs go", "u", tags="NNS VBP", key="a"), annotated("a dog", "u", tags="DT NN", key="b")]
    result = SEVERAL.make(pairs, [Random(0), Random(0)], PARTICULAR, small_wordnet, ranker)
    assert [record.source for record in result] == [("poodle", "walk"), ("a", "poodle")]
    first, second = ranker.asked
    assert first == [("dogs", "go"), ("a", "dog")]
    assert second in ([("poodle", "go")], [("dogs", "walk")])


def test_options_begin_at_one() -> None:
    with pytest.raises(ValueError, match=r"max_substitutions=0: expected an integer of at least 1"):
        LexicalSubstitution(max_substitutions=0, attempts=20)
    with pytest.raises(ValueError, match=r"wordnet.levels_up=0: expected an integer of at least 1"):
        WordNet(folder=None, levels_up=0, levels_down=1, senses=None)


def test_words_count_as_the_part_of_speech_that_gives_way_and_ties_are_alphabetical() -> None:
    ranker = FrequencyRanker((word, "NN") for word in "bcdCB")
    blanks = [Blank(("x",), 0, "n", candidates) for candidates in ({"d", "c", "b", "a"}, {"a"}, ())]
    assert ranker.choose(blanks) == ["b", None, None]
    ranker = FrequencyRanker([("white", "JJ"), ("white", "JJ"), ("white", "NN"), ("boy", "NNS"), ("boy", "NN")])
    assert ranker.choose([Blank(("man",), 0, "n", {"white", "boy"})]) == ["boy"]
    assert ranker.choose([Blank(("man",), 0, "v", {"white", "boy"})]) == [None]


def test_a_stop_word_takes_no_place(wordnet_folder: Path, tmp_path: Path) -> None:
    # A stop word as long as "walk", so that it can stand in its place in the files.
    folder = shutil.copytree(wordnet_folder, tmp_path / "dict")
    for file in ("data.verb", "index.verb"):
        text = (folder / file).read_text(encoding="ascii")
        (folder / file).write_text(text.replace("walk", "will"), encoding="ascii")
    wordnet = WordNet(folder=str(folder), levels_up=2, levels_down=1, senses=None)
    assert wordnet.candidates("go", "v", PARTICULAR) == {"will"}
    pair = annotated("they go", "u v", tags="PRP VBP")
    ranker = FrequencyRanker([("will", "VB")])
    assert substitute(pair, PARTICULAR, wordnet, ranker=ranker) == Reason.NOT_IN_WORDNET


@pytest.mark.skipif(not wordnet_module.DEBIAN.is_dir(), reason="no WordNet at /usr/share/wordnet")
def test_the_real_wordnet_knows_that_a_dog_is_an_animal() -> None:
    pytest.importorskip("nltk")
    real = WordNet(folder=str(wordnet_module.DEBIAN), levels_up=2, levels_down=1, senses=None)
    assert {"canine", "carnivore"} <= set(real.candidates("dogs", "n", GENERAL))
    assert {"poodle", "puppy", "corgi"} <= set(real.candidates("dogs", "n", PARTICULAR))
    assert "dog" not in real.candidates("dogs", "n", PARTICULAR)
    # A circle of WordNet 3.0: to inhibit is to restrain is to inhibit.
    assert "inhibit" not in real.candidates("inhibit", "v", PARTICULAR)
    assert "restrain" not in real.candidates("restrain", "v", GENERAL)
    assert "inhibit" in real.candidates("restrain", "v", PARTICULAR)
    # Marked as slurs by WordNet, or in our list.
    assert not {"coolie", "wop", "darky", "jihad", "pachuco"} & set().union(
        *(real.candidates(word, "n", PARTICULAR) for word in ("person", "war", "teenager"))
    )
