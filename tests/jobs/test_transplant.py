"""``xsent transplant``: a folder that every command reads, and errors before any work."""

import logging
from pathlib import Path

import pytest
import torch

import xsent
from tests.models.transplant.toy import save_static, source_encoder
from xsent.cli import main


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A transformer and a static encoder."""
    folder = tmp_path_factory.mktemp("encoders")
    source_encoder().save(folder / "source")
    return folder / "source", save_static(folder / "static")


def test_the_command_writes_a_folder_and_reports_its_counts(
    encoders: tuple[Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    source, static = encoders
    output, text = tmp_path / "new", tmp_path / "english.txt"
    text.write_text("the cat\nthe dog\n", encoding="utf-8")
    command = ["transplant", "--from", str(source), "--tokenizer", str(static), "-o", str(output)]
    limits = ["--set", "min_count=1", "--set", "anchor_count=1", "--set", "anchor_ratio=1"]
    assert main([*command, "--text", str(text), *limits, "--temperature", "0.001"]) == 0
    assert "14 tokens: 3 copied, 5 interpolated from 3 anchors, 1 unmatched, 5 special (" in caplog.messages[-1]
    encoder = xsent.load_encoder(output)
    # Equal up to the 8 bits of the saved static vectors; "chien" lies nearest to "dog".
    vectors = xsent.load_encoder(source).encode(["the cat", "dog"])
    torch.testing.assert_close(encoder.encode(["The cat"]), vectors[:1])
    torch.testing.assert_close(encoder.encode(["dog"]), vectors[1:])
    assert len({path.stat().st_mode for path in output.rglob("*") if path.is_file()}) == 1  # everybody may read them
    assert main(command) == 1
    assert "nothing is overwritten" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "tiny"], "--from tiny: expected an encoder of transformers, found TinyEncoder"),
        (["--from", "SOURCE", "--tokenizer", "tiny"], "--tokenizer tiny: expected a trained static encoder, such as m"),
        (["--from", "minni"], "no encoder 'minni': expected "),
        (["--from", "SOURCE", "--text", "none.txt"], "none.txt: expected a text file, found none"),
        (["--from", "SOURCE", "--temperature", "0"], "temperature=0.0: expected a number above 0"),
        (["--from", "SOURCE", "--neighbours", "0"], "neighbours=0: expected an integer of at least 1"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    options: list[str],
    message: str,
    encoders: tuple[Path, Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = [str(encoders[0]) if word == "SOURCE" else word for word in options]
    assert main(["transplant", *words, "-o", str(tmp_path / "new")]) == 1
    assert caplog.messages[-1].startswith(message)
    assert list(tmp_path.iterdir()) == []
