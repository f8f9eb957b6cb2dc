"""``xsent distill-static``: what it writes, killed runs, and mistakes of users."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers

import xsent
from tests.helpers import toy_bert, toy_words
from xsent.cli import main
from xsent.jobs import distill_static
from xsent.models.export.hard_inputs import HARD_INPUTS
from xsent.models.export.pipeline import build_pipeline, write_pipeline
from xsent.models.static_distillation import embed_pieces, principal_components, select_pieces, tokenizer_of

WORDS = [toy_words("e", [number]) for number in range(4)]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_bert(tmp_path_factory.mktemp("bert") / "bert")


@pytest.fixture(scope="module")
def distilled(bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distilled") / "new" / "static"
    assert main(["distill-static", str(bert), "-o", str(folder), "--dim", "8"]) == 0
    assert [path.name for path in folder.parent.iterdir()] == ["static"]  # no work folder stays
    return folder


def test_sentences_are_weighted_sums_of_the_reduced_vectors(bert: Path, distilled: Path) -> None:
    teacher: Any = xsent.load_encoder(bert)
    static: Any = xsent.load_encoder(distilled)
    pieces = select_pieces(tokenizer_of(teacher))
    reduced = principal_components(embed_pieces(teacher, pieces.ids), 8).vectors.float()
    # The ids of the teacher, without [CLS] and [SEP].
    assert static.tokenize(WORDS) == [ids[1:-1] for ids in teacher.tokenize(WORDS)]
    rows = [pieces.ids.index(ids[0]) for ids in static.tokenize(WORDS)]
    assert F.cosine_similarity(static.encode(WORDS), reduced[rows]).min() > 0.9999  # stored in 8 bits
    # By rank r the weight is a / (a + 1 / (r H)), H the harmonic number of the pieces.
    harmonic = sum(1 / rank for rank in range(1, len(pieces.ids) + 1))
    weights = torch.tensor([1e-4 / (1e-4 + 1 / (harmonic * (row + 1))) for row in rows])
    expected = (weights[:, None] * reduced[rows]).sum(dim=0)
    assert F.cosine_similarity(static.encode(" ".join(WORDS)), expected, dim=0) > 0.999
    assert not static.encode(["§", "[CLS]"]).any()


def test_an_exported_distillation_gives_the_same_vectors(distilled: Path, tmp_path: Path) -> None:
    static = xsent.load_encoder(distilled)
    write_pipeline(build_pipeline(static, space="original"), tmp_path)
    texts = [*HARD_INPUTS, *WORDS, "§ ".join(WORDS)]
    torch.testing.assert_close(xsent.load_encoder(tmp_path).encode(texts), static.encode(texts), rtol=0, atol=1e-5)


def test_counted_words_weigh_less(bert: Path, tmp_path: Path) -> None:
    # Of two words with equal weights by text, the one that the text repeats a thousand times has none left.
    text = tmp_path / "text.txt"
    text.write_text("\n".join([WORDS[0]] * 1000) + "\n")
    assert main(["distill-static", str(bert), "-o", str(tmp_path / "static"), "--dim", "8", "--text", str(text)]) == 0
    static = xsent.load_encoder(tmp_path / "static")
    both, last = static.encode([f"{WORDS[0]} {WORDS[1]}", WORDS[1]])
    assert F.cosine_similarity(both, last, dim=0) > 0.999


def test_any_encoder_gives_vectors_to_the_pieces_of_another_tokenizer(tmp_path: Path) -> None:
    vocabulary = ["<unk>", "▁", "▁dog", "▁cat", "▁rain", "▁house"]
    tokenizer = Tokenizer(models.Unigram([(piece, 0.0) for piece in vocabulary], unk_id=0, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert (
        main(["distill-static", "tiny", "-o", str(tmp_path / "out"), "--dim", "3", "--tokenizer", str(tmp_path)]) == 0
    )
    texts = ["dog", "cat", "rain", "house"]
    reduced = principal_components(xsent.load_encoder("tiny").encode(texts), 3).vectors.float()
    assert F.cosine_similarity(xsent.load_encoder(tmp_path / "out").encode(texts), reduced).min() > 0.9999


def test_kept_blocks_are_not_embedded_again(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    work = ["--keep-work", "--work-dir", str(tmp_path / "work")]
    command = ["distill-static", str(bert), *work, "--dim", "8", "--set", "block=7"]
    assert main([*command, "-o", str(tmp_path / "first")]) == 0
    monkeypatch.setattr(distill_static, "embed_pieces", None)
    assert main([*command, "-o", str(tmp_path / "again")]) == 0
    assert main([*command, "-o", str(tmp_path / "small"), "--dim", "4"]) == 0
    first, again, small = (tmp_path / name / "vectors.safetensors" for name in ("first", "again", "small"))
    assert first.read_bytes() == again.read_bytes()
    assert len(small.read_bytes()) < len(first.read_bytes())
    assert main([*command[:-1], "block=8", "-o", str(tmp_path / "other")]) == 1
    assert "block was 7, is 8" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mini"], "mini: is static already: use it as it is, or give other pieces with --tokenizer"),
        (["tiny"], "tiny: expected a transformer with a Rust (fast) tokenizer, found TinyEncoder"),
        (["BERT", "--dim", "17"], "dim=17: expected at most 16, the dimensions of bert"),
        (["BERT", "--dim", "0"], "dim=0: expected an integer of at least 1"),
        (["BERT", "--set", "sif.rank=0"], "sif.rank=0: expected a number above 0"),
        (["BERT", "--text", "none.txt"], "none.txt: expected a text file, found none"),
        (["BERT", "--text", "strange.txt"], "strange.txt: expected text with pieces of the tokenizer, found none"),
        (["BERT", "--tokenizer", "strange.txt"], "strange.txt: expected a tokenizer of the package tokenizers"),
        (["BERT", "--tokenizer", "minni"], "no encoder 'minni': expected "),
        ([], "expected one encoder (a name, a folder or a run; `xsent encoders` lists the names), found 0"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    arguments: list[str],
    message: str,
    bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "strange.txt").write_text("§§ §\n")
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.ERROR)
    small = [] if "--dim" in arguments else ["--dim", "8"]
    words = [str(bert) if word == "BERT" else word for word in arguments]
    assert main(["distill-static", *words, *small, "-o", "out"]) == 1
    assert caplog.messages[-1].startswith(message)
    assert "\n" not in caplog.messages[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["strange.txt"]


def test_a_folder_with_files_is_refused_before_the_encoder_is_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mine.txt").touch()
    assert main(["distill-static", "labse", "-o", str(tmp_path)]) == 1
    assert "expected an empty folder or none, found mine.txt" in caplog.messages[-1]
