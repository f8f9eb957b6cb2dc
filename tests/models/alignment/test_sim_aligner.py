"""SimAlign on a small random BERT, compared with our aligner."""

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.models.alignment.test_encoder_aligner import load
from tests.models.piece_bert import MAX_LENGTH, WORDS, save_bert
from xsent.batch import WordPair
from xsent.models.alignment.encoder_aligner import EncoderAligner
from xsent.models.alignment.sim_aligner import SimAligner
from xsent.run import build, load_config
from xsent.text.annotation.word_alignment import argmax_links, itermax_links, link_words

VOCABULARY = [*WORDS, "cats", "friends", "unfriendly", "redly"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def pairs() -> list[WordPair]:
    rng = random.Random(0)
    sides = [tuple(rng.choices(VOCABULARY, k=rng.randint(1, 6))) for _ in range(60)]
    return [WordPair(*two) for two in zip(sides[::2], sides[1::2], strict=True)]


def sim_aligner(folder: Path, **options: Any) -> SimAligner:
    pytest.importorskip("simalign")
    defaults: dict[str, Any] = {"layer": 2, "method": "argmax", "token_type": "bpe", "distortion": 0.0}
    return SimAligner(name="bert", path=str(folder), revision=None, **defaults | options)


@pytest.mark.parametrize("distortion", [0.0, 0.5])
@pytest.mark.parametrize("method", ["argmax", "itermax"])
def test_our_aligner_gives_the_links_of_simalign(
    folder: Path, pairs: list[WordPair], method: str, distortion: float
) -> None:
    match = {"argmax": argmax_links, "itermax": partial(itermax_links, rounds=2, discount=0.9)}[method]
    link = partial(link_words, match=partial(match, distortion=distortion))
    ours = EncoderAligner(encoder=load(folder), layer=2, depth=0.667, link=link).align(pairs)
    theirs = sim_aligner(folder, method=method, distortion=distortion).align(pairs)
    assert theirs == ours
    assert sum(map(len, ours)) > len(pairs)


@pytest.mark.parametrize("token_type", ["bpe", "word"])
def test_maximum_weight_matching_links_every_word_of_two_equally_long_sentences(folder: Path, token_type: str) -> None:
    pair = WordPair(("the", "red", "house"), ("a", "cat", "run"))
    (links,) = sim_aligner(folder, method="match", token_type=token_type).align([pair])
    assert sorted(source for source, _ in links) == sorted(target for _, target in links) == [0, 1, 2]


def test_a_side_without_words_has_no_links(folder: Path) -> None:
    assert sim_aligner(folder).align([WordPair((), ("cat",)), WordPair(("cat",), ("\u200b",))]) == [(), ()]


def test_a_sentence_that_is_too_long_is_cut(folder: Path) -> None:
    (links,) = sim_aligner(folder).align([WordPair(("the", "cat") * MAX_LENGTH, ("the", "cat"))])
    assert max(source for source, _ in links) < MAX_LENGTH - 2


def test_the_digest_tells_what_decides_the_links_of_simalign(folder: Path, tmp_path: Path) -> None:
    digests = {sim_aligner(folder, **options).digest() for options in ({}, {"layer": 1}, {"method": "itermax"})}
    assert len(digests) == 3
    assert sim_aligner(save_bert(tmp_path / "again")).digest() in digests


def test_options_that_simalign_lacks_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"aligner.method=best: expected one of argmax, itermax, match"):
        sim_aligner(folder, method="best")
    with pytest.raises(ValueError, match=r"aligner.token_type=piece: expected one of bpe, word"):
        sim_aligner(folder, token_type="piece")
    with pytest.raises(ValueError, match=r"aligner.layer=8: bert has hidden states 0 to 3"):
        sim_aligner(folder, layer=8)


def test_a_missing_package_is_named_with_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simalign", None)
    with pytest.raises(ImportError, match=r"pip install 'xsent\[simalign\]'"):
        SimAligner(
            name="bert", path=str(folder), revision=None, layer=2, method="argmax", token_type="bpe", distortion=0.0
        )


def test_its_config_file_builds_an_aligner(folder: Path, pairs: list[WordPair]) -> None:
    pytest.importorskip("simalign")
    config = load_config("diverge", ["aligner=simalign", f"aligner.path={folder}", "aligner.layer=2"])["aligner"]
    assert build(config, "aligner").align(pairs) == sim_aligner(folder, method="itermax").align(pairs)
