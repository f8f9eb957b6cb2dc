"""Hashed n-grams of characters against a plain definition, and the encoder made of them."""

import math
import random
import re
import string
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from xsent.models.encoders.characters.character_ngrams import hashed_ngrams
from xsent.models.encoders.characters.static_characters import StaticCharacterEncoder
from xsent.models.freezing import freeze

GOLDEN = 0x9E3779B97F4A7C15
TEXTS = [
    "The cat sat on the mat.",
    "  THE cat\tsat \u3000 on the\u2028mat.  ",
    "a",
    "!!!",
    "😀",
    "😀👍🏽 ok",
    "l0V3 it, don't u?",
    "l’été Ünïcode ﬁne Ａ１",
    "नमस्ते दुनिया",
    "猫が好き",
    "\ud83d lone",
    "x" * 30,
]
EMPTY = ["", " \n\u3000"]


def plain_parts(text: str, sizes: tuple[int, ...], max_length: int) -> list[str]:
    """N-grams as they are and words behind a mark, in the order in which they begin."""
    text = " ".join(unicodedata.normalize("NFKC", text).lower().split())[:max_length]
    text = f" {text} " if text else ""
    kinds = "".join("x" if unicodedata.category(character)[0] in "LMN" else " " for character in text)
    words = {match.start(): text[match.start() : match.end()] for match in re.finditer("x+", kinds)}
    parts = []
    for i in range(len(text)):
        parts += [text[i : i + size] for size in sizes if i + size <= len(text)]
        parts += ["\0" + words[i]] if i in words else []
    return parts[:max_length]


def plain_id(part: str, buckets: int) -> int:
    value, characters = (2, part[1:]) if part.startswith("\0") else (1, part)
    for character in characters:
        value = (value * GOLDEN + ord(character)) % 2**64
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    value ^= value >> 31
    return (value >> 32) * buckets >> 32


def encoder_of(**options: Any) -> StaticCharacterEncoder:
    plain: dict[str, Any] = {"name": "characters", "dim": 16, "sizes": [3, 4, 5], "buckets": 2000, "max_length": 400}
    return StaticCharacterEncoder(**plain | {"std": 0.1, "seed": 0} | options)


# ---- n-grams


@pytest.mark.parametrize("sizes", [(3, 4, 5), (2,), (1, 6)])
@pytest.mark.parametrize("max_length", [4096, 17])
def test_ids_are_those_of_a_plain_definition(sizes: tuple[int, ...], max_length: int) -> None:
    encoder = encoder_of(sizes=list(sizes), buckets=35_000, max_length=max_length)
    texts = [*EMPTY, *TEXTS, *EMPTY]
    expected = [[plain_id(part, 35_000) for part in plain_parts(text, sizes, max_length)] for text in texts]
    assert encoder.tokenize(texts) == expected
    assert [ids for text in texts for ids in encoder.tokenize([text])] == expected
    assert encoder.tokenize([]) == []


def test_one_character_has_one_ngram_of_three_and_is_a_word_if_it_is_a_letter() -> None:
    encoder = encoder_of()
    assert plain_parts("a", (3, 4, 5), 9) == [" a ", "\0a"]
    assert [len(ids) for ids in encoder.tokenize(["a", "!", "😀", "!!!", "", " "])] == [2, 1, 1, 6, 0, 0]


def test_a_sentence_is_cut_at_max_length() -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(1, 12))) for _ in range(10_000)]
    encoder = encoder_of(max_length=4096)
    long, short = encoder.tokenize([" ".join(words), " ".join(words[:1000])])
    assert long == short
    assert len(long) == 4096
    assert len(encoder.tokenize(["x" * 100_000])[0]) == 4096
    assert encoder.encode([" ".join(words)]).isfinite().all()


def test_ids_are_spread_as_if_drawn_at_random() -> None:
    # 50,000 distinct texts of four letters into as many buckets: a share of 1/e stays empty.
    letters = string.ascii_lowercase
    texts = [a + b + c + d for a in letters[:3] for b in letters for c in letters for d in letters][:50_000]
    ids, _ = hashed_ngrams(texts, sizes=[6], buckets=50_000, max_length=9)
    grams = ids.reshape(50_000, 2)
    for column in (0, 1):  # the n-gram " abcd ", the word "abcd"
        counts = np.bincount(grams[:, column], minlength=50_000)
        assert (counts == 0).mean() == pytest.approx(math.exp(-1), abs=0.01)
        assert counts.max() < 12
    assert (grams[:, 0] == grams[:, 1]).mean() < 0.001


def test_a_typo_a_missing_and_an_added_space_leave_most_ngrams_as_they_are() -> None:
    encoder = encoder_of(buckets=2**20)
    clean, *noisy = map(
        set,
        encoder.tokenize(
            [
                "the weather is going to be wonderful tomorrow",
                "the weathwr is going to be wonderful tomorrow",
                "the weather is goingto be wonderful tomorrow",
                "the weather is going to be wonder ful tomorrow",
            ]
        ),
    )
    for ids in noisy:
        assert len(ids & clean) / len(clean) > 0.85


# ---- vectors


def test_a_vector_is_the_mean_of_its_parts_with_length_one() -> None:
    encoder = encoder_of()
    parts = plain_parts("the cat", (3, 4, 5), 400)
    mean = sum(encoder.vectors[plain_id(part, 2000)].detach() for part in parts) / len(parts)
    torch.testing.assert_close(encoder.encode(["the cat"])[0], mean / mean.norm(), rtol=1e-5, atol=1e-6)


def test_white_space_is_zero_and_counted_and_everything_else_has_length_one() -> None:
    encoder = encoder_of()
    lengths = encoder.encode([*EMPTY, *TEXTS]).norm(dim=1)
    assert lengths.tolist() == pytest.approx([0] * len(EMPTY) + [1] * len(TEXTS))
    assert encoder.empty_sentences == len(EMPTY)


def test_the_seed_decides_the_first_vectors() -> None:
    assert encoder_of().digest() == encoder_of().digest()
    assert encoder_of().digest() != encoder_of(seed=1).digest()
    assert float(encoder_of(buckets=20_000).vectors.detach().std()) == pytest.approx(0.1, abs=0.001)


def test_the_digest_covers_what_decides_the_ids() -> None:
    options: list[dict[str, Any]] = [{}, {"sizes": [3, 4]}, {"buckets": 2001}, {"max_length": 399}]
    assert len({encoder_of(**option).tokenizer_digest() for option in options}) == 4
    assert encoder_of(sizes=[5, 4, 3, 3]).tokenizer_digest() == encoder_of().tokenizer_digest()


def test_gradients_are_the_same_bits_every_time_and_both_ways_to_embed_agree() -> None:
    encoder = encoder_of().train()
    ids = encoder.tokenize(TEXTS)
    flat, lengths = torch.tensor([id_ for row in ids for id_ in row]), torch.tensor(list(map(len, ids)))
    torch.testing.assert_close(encoder.embed_ids(flat, lengths), encoder(encoder.collate(ids)), rtol=0, atol=0)
    gradients = []
    for _ in range(2):
        encoder.zero_grad()
        (encoder(encoder.collate(ids)) * torch.linspace(-1, 1, 16)).sum().backward()
        assert encoder.vectors.grad is not None
        gradients.append(encoder.vectors.grad.clone())
    assert gradients[0].abs().sum() > 0
    assert torch.equal(*gradients)


def test_there_is_nothing_to_freeze() -> None:
    with pytest.raises(ValueError, match=r"has only word embeddings.*recipe\.freeze\.embeddings=none"):
        freeze(encoder_of(), embeddings="word", layers=0)


# ---- files


def loaded(path: Path | None, **options: Any) -> StaticCharacterEncoder:
    unused = {"dim": 8, "sizes": [2], "buckets": 10, "max_length": 5, "std": 0.1, "seed": 3}
    return StaticCharacterEncoder.load(name="again", path=None if path is None else str(path), **unused | options)


def test_a_folder_decides_all_that_it_knows_and_vectors_point_the_same_way(tmp_path: Path) -> None:
    encoder = encoder_of()
    assert encoder.can_save
    with torch.no_grad():
        encoder.vectors.mul_(torch.logspace(-3, 3, 2000)[:, None])  # vectors of all lengths
        encoder.vectors[5] = 0.0
    encoder.save(tmp_path / "saved")
    again = loaded(tmp_path / "saved")
    assert (again.dim, again.sizes, again.buckets, again.max_length) == (16, (3, 4, 5), 2000, 400)
    assert again.tokenizer_digest() == encoder.tokenizer_digest()
    assert torch.cosine_similarity(again.encode(TEXTS), encoder.encode(TEXTS)).min() > 0.999
    assert again.digest() == loaded(tmp_path / "saved").digest()


def test_without_a_folder_an_encoder_begins_with_random_vectors() -> None:
    assert loaded(None).digest() == encoder_of(dim=8, sizes=[2], buckets=10, max_length=5, seed=3).digest()


def test_35000_vectors_of_256_numbers_take_9_megabytes(tmp_path: Path) -> None:
    encoder_of(dim=256, buckets=35_000).save(tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size == pytest.approx(35_000 * (256 + 4), rel=0.001)  # 9.1 million
    assert load_file(tmp_path / "vectors.safetensors")["vectors"].dtype == torch.int8


def test_files_that_do_not_belong_together_or_are_missing_are_named(tmp_path: Path) -> None:
    encoder_of().save(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace("2000", "1999"))
    with pytest.raises(ValueError, match=r"need vectors of shape \(1999, 16\), .* has \(2000, 16\)"):
        loaded(tmp_path)
    (tmp_path / "config.json").write_text('{"dim": 16, "max_length": 9}')
    with pytest.raises(ValueError, match=r"config\.json: expected a static character encoder, found no sizes"):
        loaded(tmp_path)
    (tmp_path / "vectors.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"found no vectors\.safetensors"):
        loaded(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": []}, r"encoder\.sizes=\[\]: expected sizes of n-grams"),
        ({"sizes": [0, 3]}, r"encoder\.sizes=\[0, 3\]: expected sizes of n-grams, 1 to 100"),
        ({"buckets": 0}, r"encoder\.buckets=0: expected 1 to 2\^31"),
        ({"max_length": 0}, r"encoder\.max_length=0: expected an integer of at least 1"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoder_of(**options)
