"""The small transformer: initialisation from a static encoder, comparing layer, files."""

from pathlib import Path

import pytest
import torch

from tests.helpers import config
from tests.models.small import load_encoder, pair_transformer
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.run import build
from xsent.run.config.compose import plain

COMPARING = {"sharpness": 2.0, "other_side": 0.3, "subtracted": 0.5, "segment": 1.0}
SENTENCES = ["Good morning, world!", "Guten Morgen, Welt!", "おはよう", "A cat."]


@pytest.fixture(scope="module")
def small() -> SentenceEncoder:
    return pair_transformer()


def test_it_has_the_static_encoders_pieces_and_special_tokens_around_them(small: SentenceEncoder) -> None:
    static = StaticEncoder.load(name="mini", path=None)
    for sentence, ids in zip(SENTENCES, small.tokenize(SENTENCES), strict=True):
        assert ids[1:-1] == static.tokenize([sentence])[0]
        assert small.tokenizer.convert_ids_to_tokens([ids[0], ids[-1]]) == ["[CLS]", "[SEP]"]


def test_its_piece_vectors_are_the_static_encoders_in_another_unit(small: SentenceEncoder) -> None:
    static = StaticEncoder.load(name="mini", path=None).vectors.detach()
    table = small.word_vectors.detach()[: len(static)]
    torch.testing.assert_close(table[1:], static[1:] * (0.1 / static.std()))
    assert not table[0].any()  # the unknown piece says nothing


def test_the_same_seed_draws_the_same_and_leaves_the_random_numbers_alone(small: SentenceEncoder) -> None:
    before = torch.get_rng_state()
    again = pair_transformer()
    assert torch.equal(torch.get_rng_state(), before)
    assert again.digest() == small.digest()
    assert pair_transformer(seed=4).digest() != small.digest()


def test_the_first_layer_attends_to_what_is_similar_on_the_other_side() -> None:
    encoder = pair_transformer(comparing=COMPARING, dropout=0.0)
    tokenizer = encoder.tokenizer
    tokenizer.backend_tokenizer.no_truncation()
    pair = tokenizer("a cat is in the house", "un chat est dans la maison", return_tensors="pt")
    encoder.transformer.set_attn_implementation("eager")
    attention = encoder.transformer(**pair, output_attentions=True).attentions[0].mean(dim=1)[0]  # (T, T)
    words = tokenizer.convert_ids_to_tokens(pair["input_ids"][0])
    for source, target in [("▁cat", "▁chat"), ("▁house", "▁maison")]:
        row, target_start = attention[words.index(source)], words.index("[SEP]") + 1
        assert target_start + int(row[target_start:].argmax()) == words.index(target)
        back = attention[words.index(target)]
        assert int(back[: target_start - 1].argmax()) == words.index(source)


@pytest.mark.parametrize("comparing", [None, COMPARING])
def test_before_training_translations_are_already_near(comparing: dict[str, float] | None) -> None:
    encoder = pair_transformer(comparing=comparing)
    vectors = encoder.encode(SENTENCES)
    near = vectors @ vectors.T
    assert near[0, 1] > near[0, 2:].max()


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"encoder.heads=7: expected a divisor of 256"):
        pair_transformer(heads=7)


def test_a_saved_folder_is_read_to_the_same_vectors(small: SentenceEncoder, tmp_path: Path) -> None:
    small.save(tmp_path)
    again = load_encoder(tmp_path)
    assert (again.max_length, again.pooling, again.normalize) == (64, ("mean",), True)
    assert torch.equal(again.encode(SENTENCES), small.encode(SENTENCES))


def test_sentence_transformers_reads_the_folder_to_the_same_vectors(small: SentenceEncoder, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    small.save(tmp_path)
    theirs = SentenceTransformer(str(tmp_path), device="cpu").encode(SENTENCES)
    torch.testing.assert_close(torch.from_numpy(theirs), small.encode(SENTENCES), rtol=0, atol=1e-6)


def test_what_a_folder_has_no_place_for_is_refused(tmp_path: Path) -> None:
    encoder = pair_transformer()
    encoder.set_preprocessing("laser")
    assert not encoder.can_save
    with pytest.raises(ValueError, match="the folder format of sentence-transformers cannot"):
        encoder.save(tmp_path)


def test_a_missing_small_says_how_to_train_it(tmp_path: Path) -> None:
    node = plain(config("train", tmp_path, "recipe=labse", "encoder=small", f"encoder.path={tmp_path / 'none'}"))
    with pytest.raises(FileNotFoundError, match=r"none: small is not bundled with the package; `make small"):
        build(node["encoder"], "encoder")
