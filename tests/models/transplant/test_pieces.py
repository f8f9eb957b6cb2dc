"""Which pieces are words of another tokenizer, and which a language uses."""

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tests.models.transplant.toy import VECTORS, source_encoder, static_tokenizer
from xsent.models.transplant.pieces import match_pieces, scored_pieces, usage

PIECES = ["▁the", "the", "▁s", "s", ",", "▁Cat", "▁die", "▁[CLS]", "▁"]


def matches(source: Tokenizer, special: list[int]) -> list[str | None]:
    ids = match_pieces(PIECES, source, special).tolist()
    return [None if row < 0 else source.id_to_token(row) for row in ids]


def test_wordpiece_marks_continuations_and_splits_at_punctuation() -> None:
    # A comma is a word of BERT wherever it stands, so its token has no "##".
    source = source_encoder().tokenizer
    expected = ["the", None, None, "##s", ",", "cat", "die", None, None]
    assert matches(source.backend_tokenizer, source.all_special_ids) == expected


def test_sentencepiece_and_bytes_mark_the_beginnings_of_words() -> None:
    sentencepiece = static_tokenizer(["<unk>", "▁the", "s", "▁s", "the", "▁"])
    assert matches(sentencepiece, [0]) == ["▁the", "the", "▁s", "s", None, None, None, None, "▁"]
    words = {"Ġthe": 0, "the": 1, "s": 2, ",": 3, "Ġcat": 4, "ĠCat": 5}
    byte_level = Tokenizer(models.BPE(vocab=words, merges=[]))
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel()
    # Where both spellings are tokens, case counts.
    assert matches(byte_level, []) == ["Ġthe", "the", None, "s", ",", "ĠCat", None, None, None]


def test_a_token_that_the_source_can_never_give_is_no_match() -> None:
    # The normaliser strips accents, so nothing was ever learnt for the token with one.
    source = Tokenizer(models.WordPiece({"[UNK]": 0, "été": 1, "ete": 2}, unk_token="[UNK]"))
    source.normalizer = normalizers.BertNormalizer(lowercase=True)
    source.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    assert match_pieces(["▁été", "▁ete"], source, [0]).tolist() == [-1, 2]


def test_usage_compares_a_text_with_the_probabilities_of_the_tokenizer() -> None:
    # Ten pieces of probability 1/10; of the four in the text two are "▁cat": five times as often.
    counts, ratios = usage(static_tokenizer(), ["the cat", "cat dog"])
    pieces = list(VECTORS)
    assert (counts[pieces.index("▁cat")], ratios[pieces.index("▁cat")]) == (2, pytest.approx(5.0))
    assert (counts[pieces.index("▁dog")], ratios[pieces.index("▁dog")]) == (1, pytest.approx(2.5))
    assert (counts[pieces.index("▁chat")], ratios[pieces.index("▁chat")]) == (0, 0)


def test_only_a_unigram_tokenizer_has_scored_pieces() -> None:
    assert scored_pieces(static_tokenizer(["<unk>", "▁a"])) == [("<unk>", -1.0), ("▁a", -1.0)]
    with pytest.raises(ValueError, match=r"expected a unigram tokenizer with marked words .* found WordPiece, BertPre"):
        scored_pieces(source_encoder().tokenizer.backend_tokenizer)
