"""The static encoder: tokenizer, mean of vectors, files, checkpoints."""

import io
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from xsent.models.encoders import static as static_encoder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.unigram_tokenizer import train_unigram

WORDS = "cat dog mat house tree river sat slept ran the a on in under katze hund haus baum fluss der die das"


def texts(count: int = 400) -> list[str]:
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS.split(), k=rng.randint(2, 9))) for _ in range(count)]


def untrained(seed: int = 0, dim: int = 16) -> StaticEncoder:
    return StaticEncoder(
        name="static", dim=dim, vocab_size=120, coverage=1.0, lowercase=True, max_length=64, std=0.1, seed=seed
    )


def trained(seed: int = 0) -> StaticEncoder:
    encoder = untrained(seed)
    encoder.fit_tokenizer(texts())
    return encoder


def test_without_a_tokenizer_any_use_says_how_to_get_one(tmp_path: Path) -> None:
    encoder = untrained()
    calls: list[Callable[[], object]] = [
        encoder.digest,
        lambda: encoder.encode(["a"]),
        lambda: encoder.save(tmp_path),
        lambda: encoder.tokenize(["a"]),
    ]
    for use in calls:
        with pytest.raises(ValueError, match="no tokenizer yet: a recipe trains it"):
            use()


def test_the_same_text_gives_the_same_tokenizer_in_any_order() -> None:
    first = train_unigram(texts(), 120, coverage=1.0, lowercase=True).to_str()
    again = train_unigram(reversed(texts() * 2), 120, coverage=1.0, lowercase=True).to_str()
    assert first == again


def test_the_tokenizer_cuts_known_words_whole_and_joins_case_and_width() -> None:
    tokenizer = train_unigram(texts(), 120, coverage=1.0, lowercase=True)
    assert tokenizer.encode("katze house").tokens == ["▁katze", "▁house"]
    assert tokenizer.encode("ＫＡＴＺＥ House").ids == tokenizer.encode("katze house").ids


def test_no_text_or_too_few_pieces_is_a_clear_error() -> None:
    with pytest.raises(ValueError, match="found none"):
        train_unigram(["", " "], 100, coverage=1.0, lowercase=True)
    with pytest.raises(ValueError, match=r"no tokenizer of 5 pieces can be trained on \d+ texts"):
        train_unigram(texts(), 5, coverage=1.0, lowercase=True)


def test_what_no_piece_covers_contributes_nothing() -> None:
    encoder = trained()
    torch.testing.assert_close(encoder.encode(["katze猫"]), encoder.encode(["katze"]))
    assert encoder.encode(["猫", " "]).abs().sum() == 0
    assert encoder.empty_sentences == 2


def test_a_sentence_is_cut_at_max_length() -> None:
    encoder = trained()
    (ids,) = encoder.tokenize(["cat " * 500])
    assert len(ids) == 64
    assert len(encoder.to_pieces(["cat " * 500])[0]) >= 500  # pieces of the whole text


def test_saved_and_loaded_vectors_point_the_same_way(tmp_path: Path) -> None:
    encoder = trained()
    with torch.no_grad():
        encoder.vectors.mul_(torch.logspace(-3, 3, len(encoder.vectors))[:, None])  # pieces of all lengths
        encoder.vectors[5] = 0.0
    encoder.save(tmp_path / "saved")
    loaded = StaticEncoder.load(name="again", path=str(tmp_path / "saved"))
    ours, theirs = encoder.encode(texts()), loaded.encode(texts())
    assert torch.cosine_similarity(ours, theirs).min() > 0.999
    assert loaded.tokenizer_digest() == encoder.tokenizer_digest()
    assert loaded.digest() == StaticEncoder.load(name="third", path=str(tmp_path / "saved")).digest()


def test_files_that_do_not_belong_together_or_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = trained()
    encoder.save(tmp_path)
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace('"dim": 16', '"dim": 15'))
    with pytest.raises(ValueError, match=r"need vectors of shape \(\d+, 15\)"):
        StaticEncoder.load(name="x", path=str(tmp_path))
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"found no tokenizer\.json"):
        StaticEncoder.load(name="x", path=str(tmp_path))
    monkeypatch.setattr(static_encoder, "bundled_folder", lambda name: tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"mini.*found no config\.json"):
        StaticEncoder.load(name="mini", path=None)


@pytest.mark.parametrize("name", ["maxi", "../micro", "words", "divergence", "/etc", ""])
def test_without_a_folder_only_a_bundled_encoder_is_opened(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"encoder.name={name}: expected one of micro, mini")):
        StaticEncoder.load(name=name, path=None)


def test_a_checkpoint_of_plain_values_gives_back_tokenizer_and_vectors() -> None:
    encoder = trained(seed=1)
    file = io.BytesIO()
    torch.save(torch.nn.ModuleDict({"encoder": encoder}).state_dict(), file)
    file.seek(0)
    fresh = untrained(seed=2)
    torch.nn.ModuleDict({"encoder": fresh}).load_state_dict(torch.load(file, weights_only=True))
    assert fresh.digest() == encoder.digest()
    assert torch.equal(fresh.encode(texts()), encoder.encode(texts()))


def test_preparing_a_second_time_changes_nothing() -> None:
    encoder = trained()
    before = encoder.digest()
    encoder.fit_tokenizer(["something else entirely"])
    assert encoder.digest() == before
