"""Runs in the folder of an earlier run: reports show no old results, a killed run is not reported as finished."""

import json
from pathlib import Path
from typing import Any

import pytest
import pytorch_lightning as pl

from tests.helpers import config
from xsent.evaluation.evaluator import Evaluation
from xsent.reporting.pages import write_report
from xsent.run import evaluate, train
from xsent.run import evaluation as evaluating

OPTIONS = (
    "recipe=oracle encoder=micro data=cldr experiment=demo data.languages=[deu] trainer.max_epochs=1"
    " trainer.enable_progress_bar=false pictures.pairs_per_language=8 pictures.min_seconds=0"
)
TINY = OPTIONS.split()


def test_a_page_shows_nothing_of_an_earlier_run_in_its_folder(tmp_path: Path, tatoeba: tuple[str, ...]) -> None:
    run = tmp_path / "run"
    evaluate(config("evaluate", tmp_path, *tatoeba, "pictures.min_seconds=0"))
    assert 'id="pictures"' in (run / "report.html").read_text()
    (run / "notes.txt").write_text("mine")
    evaluate(config("evaluate", tmp_path, *tatoeba, "pictures=null"))
    assert 'id="pictures"' not in (run / "report.html").read_text()
    assert (run / "notes.txt").read_text() == "mine"


def test_a_killed_evaluation_leaves_no_metrics_of_an_earlier_one(
    tmp_path: Path, tatoeba: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(config("evaluate", tmp_path, *tatoeba))
    monkeypatch.setattr(evaluating, "score_model", killed)
    with pytest.raises(KeyboardInterrupt):
        evaluate(config("evaluate", tmp_path, *tatoeba))
    assert not (tmp_path / "run" / "metrics.json").exists()
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_killed_training_is_not_reported_as_finished_and_an_invalid_option_changes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    train(config("train", tmp_path, *TINY))
    about = json.loads((run / "metrics.json").read_text())
    # One evaluator, whose test sets have a digest of their own.
    assert len(about["test_sets"]) == 64
    assert f"<dd><code>{about['test_sets']}</code></dd>" in (run / "report.html").read_text()
    page = (run / "report.html").read_bytes()
    with pytest.raises(ValueError, match=r"pictures\.perplexity: expected a number above 0, found 0"):
        train(config("train", tmp_path, *TINY, "pictures.perplexity=0"))
    assert (run / "report.html").read_bytes() == page
    logged = (run / "metrics.csv").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(pl.Trainer, "fit", killed)
        with pytest.raises(KeyboardInterrupt):  # resumed: metrics.csv stays
            train(config("train", tmp_path, *TINY, "ckpt_path=last"))
        assert (run / "metrics.csv").read_bytes() == logged
        assert "This run has not finished" in write_report(run).read_text()
        with pytest.raises(KeyboardInterrupt):
            train(config("train", tmp_path, *TINY, "logger=none"))
    assert not (run / "metrics.csv").exists()


def killed(*args: Any, **options: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("pictures.languages=[fra,deu]", r"pictures\.languages: .*pairs of \(deu, eng\), found fra besides"),
        ("pictures.languages=deu", r"pictures\.languages: expected a list of languages or null, found 'deu'"),
        ("pictures.pairs_per_language=-1", r"pictures\.pairs_per_language: expected a whole number, .* found -1"),
        ("pictures.min_seconds=-1", r"pictures\.min_seconds: expected a number of seconds, 0 or more, found -1"),
        ("pictures.perplexity=many", r"pictures\.perplexity: expected a number above 0, found 'many'"),
    ],
)
def test_invalid_options_of_pictures_are_refused_before_scoring(
    override: str, message: str, tmp_path: Path, tatoeba: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(config("evaluate", tmp_path, *tatoeba, override))
    assert not (tmp_path / "run" / "metrics.json").exists()


def test_vectors_that_are_not_finite_get_no_pictures_and_the_report_is_written(
    tmp_path: Path, tatoeba: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = evaluating.embed_spaces

    def embed_spaces(embedder: Any, sentences: Any) -> dict[str, Any]:
        spaces = original(embedder, sentences)
        spaces["original"][:3] = float("nan")
        return spaces

    monkeypatch.setattr(evaluating, "score_model", lambda *args: Evaluation({}, []))
    monkeypatch.setattr(evaluating, "embed_spaces", embed_spaces)
    evaluate(config("evaluate", tmp_path, *tatoeba, "pictures.min_seconds=0"))
    assert "no pictures: 3 vectors are not finite" in caplog.text
    assert (tmp_path / "run" / "report.html").is_file()
