"""The tokenizer that leaves out by itself what the static encoder leaves out: the same ids, whatever the text."""

import gzip
import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from xsent.models.encoders.static import StaticEncoder
from xsent.models.export.hard_inputs import HARD_INPUTS
from xsent.models.export.static_tokenizer import built_in_tokenizer


@pytest.fixture(scope="module")
def micro() -> StaticEncoder:
    return StaticEncoder.load(name="micro", path=None)


def built_in_ids(encoder: StaticEncoder, texts: list[str]) -> list[list[int]]:
    assert encoder.tokenizer is not None
    tokenizer = built_in_tokenizer(encoder.tokenizer, encoder.max_length)
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


def test_hard_texts_and_random_mixtures_have_the_same_ids(micro: StaticEncoder) -> None:
    rng = random.Random(0)
    assert micro.tokenizer is not None
    letters = sorted(piece for piece in micro.tokenizer.get_vocab() if len(piece) == 1)
    hard = [" ", "▁", "𐍈", "\u2028", "\t", "<unk>", "\uffff", "\ufdd0", "e\u0301", "word", "\u00a8"]
    texts = list(HARD_INPUTS)
    texts += [
        "".join(
            rng.choice([rng.choice(letters), rng.choice(hard), chr(rng.randrange(0xD800))])
            for _ in range(rng.randrange(12))
        )
        for _ in range(4000)
    ]
    assert built_in_ids(micro, texts) == micro.tokenize(texts)


def test_a_short_limit_cuts_after_what_is_left_out(micro: StaticEncoder) -> None:
    micro.max_length, before = 4, micro.max_length
    texts = ["𐍈one𐍈 two 𐍈 three four five", "one two"]
    assert built_in_ids(micro, texts) == micro.tokenize(texts)
    micro.max_length = before


def test_real_text_has_the_same_ids(micro: StaticEncoder, shared_data: Path) -> None:
    texts = []
    for path in [*sorted((shared_data / "tatoeba").glob("*-eng.*"))[:60], *(shared_data / "rocsmt").glob("RoCS*")]:
        texts += path.read_text(encoding="utf-8").split("\n")[:150]
    with gzip.open(shared_data / "english" / "english.tsv.gz", "rt", encoding="utf-8") as file:
        texts += [next(file) for _ in range(1000)]
    assert len(texts) > 5000
    assert built_in_ids(micro, texts) == micro.tokenize(texts)


def test_the_tokenizer_that_was_given_stays_as_it_is(micro: StaticEncoder) -> None:
    assert micro.tokenizer is not None
    before = micro.tokenizer.to_str()
    built_in_tokenizer(micro.tokenizer, 5)
    assert micro.tokenizer.to_str() == before


def test_a_piece_of_characters_that_have_none_of_their_own_is_refused() -> None:
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("ab", -2.0)], unk_id=0, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    with pytest.raises(ValueError, match="no piece of one character for: b"):
        built_in_tokenizer(tokenizer, 5)


def test_a_tokenizer_of_another_kind_is_refused() -> None:
    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    with pytest.raises(ValueError, match="expected WordPiece, or a tokenizer that xsent trains"):
        built_in_tokenizer(tokenizer, 5)
