"""``xsent export`` on the command line."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch

import xsent
from tests.helpers import config, toy_bitext, toy_overrides
from xsent.cli import main
from xsent.models.encoders.disentangled import DisentangledEncoder
from xsent.run import train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Heads trained on ``micro``."""
    folder = tmp_path_factory.mktemp("run")
    options = toy_overrides(toy_bitext(folder / "bitext"))
    train(config("train", folder, *options, "recipe=dream", "encoder=micro", "trainer.max_epochs=1", "evaluator=none"))
    return folder / "run"


def last_message(caplog: pytest.LogCaptureFixture) -> str:
    return caplog.messages[-1]


@pytest.mark.slow
def test_both_heads_of_a_run_are_exported(run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    meaning, language = tmp_path / "meaning", tmp_path / "language"
    caplog.set_level(logging.INFO)
    assert main(["export", str(run), "-o", str(meaning), "--language-head", str(language)]) == 0
    assert f"exported to {language}: 8 files" in last_message(caplog)
    assert {path.name for path in tmp_path.iterdir()} == {"meaning", "language"}  # nothing is left beside them
    assert len({path.stat().st_mode for path in meaning.rglob("*") if path.is_file()}) == 1  # everybody may read them
    trained = xsent.load_encoder(run)
    assert isinstance(trained, DisentangledEncoder)
    texts = ["ak bl cm dn", "", "𐍈"]
    for folder in (meaning, language):
        model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        embeddings = model.encode(texts, convert_to_tensor=True)
        torch.testing.assert_close(embeddings, trained.encode(texts, space=folder.name), rtol=0, atol=1e-5)
    card = (meaning / "README.md").read_text()
    assert "| variant | dream |" in card
    assert str(tmp_path) not in card
    assert main(["export", str(run), "-o", str(meaning)]) == 1
    assert "nothing is overwritten" in last_message(caplog)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RUN"], "RUN: expected checkpoints/ (a run)"),
        (["--encoder", "micro", "--language-head", "OTHER"], "--language-head: only a run of dream, meat or oracle"),
        ([], "expected one encoder (a name, a folder or a run; `xsent encoders` lists the names), found 0"),
        (["RUN", "--encoder", "micro"], "expected one encoder (a name, a folder or a run; `xsent encoders`"),
        (["minni"], "no encoder 'minni': expected "),
    ],
)
def test_what_cannot_be_exported_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "RUN").mkdir()
    assert main(["export", *arguments, "-o", "out"]) == 1
    assert message in last_message(caplog)
    assert [path.name for path in tmp_path.iterdir()] == ["RUN"]


def test_an_encoder_that_needs_xsent_is_refused_with_code_to_load_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = ["--encoder", "static_characters", "--set", "encoder.dim=6"]
    assert main(["export", *options, "-o", str(tmp_path / "out")]) == 1
    assert "StaticCharacterEncoder: no tokenizer gives the ids of hashed character n-grams" in last_message(caplog)
    line = last_message(caplog).partition("Use it as it is: ")[2]
    names: dict[str, Any] = {}
    exec(line, names)
    assert names["encoder"].encode(["one", "two"]).shape == (2, 6)
    assert not (tmp_path / "out").exists()
