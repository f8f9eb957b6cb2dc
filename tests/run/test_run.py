"""Small complete runs: learning, output files, loading, evaluation; bad input is refused before any work."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import xsent
from tests.helpers import ROOT, config, state_of, tiny_static, toy_bitext, toy_overrides
from xsent.checkpoint import load_checkpoint, save_checkpoint
from xsent.run import build, evaluate, train
from xsent.run.evaluation import swapped_parts

LABSE = ["recipe=labse", *tiny_static(), "recipe.optimizer.lr=0.03", "recipe.loss.margin=0.1"]


@pytest.fixture(scope="module")
def labse_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("labse")
    root = toy_bitext(tmp_path / "data")
    train(config("train", tmp_path, *toy_overrides(root, *LABSE, "trainer.max_epochs=12", "logger=csv")))
    return tmp_path


@pytest.fixture(scope="module")
def oracle_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("oracle")
    options = (
        "recipe=oracle encoder=micro recipe.optimizer.lr=0.003 trainer.max_epochs=3 pictures.pairs_per_language=5"
        " pictures.min_seconds=0"
    )
    overrides = toy_overrides(toy_bitext(tmp_path / "data"), *options.split())
    train(config("train", tmp_path, *overrides, "+expected={heldout/meaning/deu/accuracy: 50.0}"))
    return tmp_path


def metrics_of(run: Path) -> dict[str, float]:
    metrics: dict[str, float] = json.loads((run / "run/metrics.json").read_text())["metrics"]
    return metrics


def test_labse_learns_the_toy_languages(labse_run: Path) -> None:
    # Three languages whose words correspond one to one: a static encoder can translate all of them.
    assert metrics_of(labse_run)["test/heldout/original/mean/accuracy"] > 90


def test_a_run_leaves_config_environment_tables_with_the_papers_figures_and_checkpoints(oracle_run: Path) -> None:
    run = oracle_run / "run"
    files = "config.yaml environment.json metrics.json results.csv results.md details.csv"
    for file in f"{files} checkpoints/best.ckpt checkpoints/last.ckpt pictures/pca.png pictures/tsne.png".split():
        assert (run / file).is_file(), file
    about = json.loads((run / "environment.json").read_text())
    assert {"git", "packages", "data", "encoder", "seed"} <= about.keys()
    ours = metrics_of(oracle_run)["test/heldout/meaning/deu/accuracy"]
    assert f"\ntest/heldout/meaning/deu/accuracy,{ours},50.0,{ours - 50.0}\n" in (run / "results.csv").read_text()


def test_a_checkpoint_holds_no_frozen_weights(oracle_run: Path) -> None:
    names = state_of(oracle_run / "run/checkpoints/last.ckpt").keys()
    assert {name.split(".")[0] for name in names} == {"heads", "classifier"}


def test_load_encoder_gives_back_the_heads(oracle_run: Path) -> None:
    encoder = xsent.load_encoder(oracle_run / "run")
    spaces = encoder.embed(["ea ek", "da dk"])  # type: ignore[attr-defined]
    state = state_of(oracle_run / "run/checkpoints/best.ckpt")
    expected = spaces["original"] @ state["heads.meaning.weight"].T + state["heads.meaning.bias"]
    torch.testing.assert_close(encoder.encode(["ea ek", "da dk"]), expected)


def test_load_encoder_gives_back_a_trained_encoder_with_its_tokenizer(labse_run: Path) -> None:
    encoder = xsent.load_encoder(labse_run / "run/checkpoints/last.ckpt")
    state = state_of(labse_run / "run/checkpoints/last.ckpt")
    assert torch.equal(encoder.state_dict()["vectors"], state["encoder.vectors"])  # type: ignore[attr-defined]
    assert encoder.encode(["eak eal"]).norm().item() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("final", ["best", "last"])
def test_load_encoder_reads_the_checkpoint_that_final_names(oracle_run: Path, tmp_path: Path, final: str) -> None:
    bias = {}
    for name in ("best", "last"):
        checkpoint = load_checkpoint(oracle_run / f"run/checkpoints/{name}.ckpt")
        checkpoint["xsent"]["config"]["final"] = final
        bias[name] = torch.full_like(checkpoint["state_dict"]["heads.meaning.bias"], len(bias))
        checkpoint["state_dict"]["heads.meaning.bias"] = bias[name]
        save_checkpoint(checkpoint, tmp_path / f"checkpoints/{name}.ckpt")
    encoder: Any = xsent.load_encoder(tmp_path)
    assert torch.equal(encoder.heads.meaning.bias, bias[final])


def test_figures_of_the_paper_without_ours_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = toy_bitext(tmp_path / "data")
    expected = "+expected={heldout/original/kor/accuracy: 50.0}"
    train(config("train", tmp_path, *toy_overrides(root, *LABSE, "trainer.max_epochs=1", expected)))
    assert "1 figures of the paper were not measured: test/heldout/original/kor/accuracy" in caplog.text


@pytest.mark.slow
def test_evaluate_as_a_command(tmp_path: Path, tatoeba: tuple[str, ...]) -> None:
    command = [sys.executable, "evaluate.py", *tatoeba, f"runs_dir={tmp_path / 'runs'}"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    (file,) = (tmp_path / "runs").glob("evaluate-micro-tatoeba-*/metrics.json")
    assert "test/tatoeba/original/deu/accuracy" in json.loads(file.read_text())["metrics"]


def test_a_run_is_evaluated_in_all_its_spaces(oracle_run: Path, tmp_path: Path, tatoeba: tuple[str, ...]) -> None:
    metrics = evaluate(config("evaluate", tmp_path, f"ckpt={oracle_run / 'run'}", *tatoeba[1:]))
    assert {name.split("/")[2] for name in metrics} == {"original", "meaning", "language"}
    bare = evaluate(config("evaluate", tmp_path, *tatoeba))
    assert bare["test/tatoeba/original/mean/accuracy"] == metrics["test/tatoeba/original/mean/accuracy"]


def test_an_evaluation_draws_its_own_sentences_where_it_is_told_to_or_takes_long(
    tmp_path: Path, tatoeba: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    evaluate(config("evaluate", tmp_path / "drawn", *tatoeba, "pictures.min_seconds=0"))
    assert sorted(path.name for path in (tmp_path / "drawn").rglob("*.png")) == ["pca.png", "tsne.png"]
    for name, pictures in (("short", "pictures.min_seconds=60"), ("plain", "pictures=null")):
        evaluate(config("evaluate", tmp_path / name, *tatoeba, pictures))
        assert not list((tmp_path / name).rglob("*.png"))
    assert caplog.text.count("no pictures of a run below 60 s; pictures.min_seconds=0 draws them") == 1


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    root = toy_bitext(tmp_path / "data")
    states = []
    for name in ("one", "two"):
        train(config("train", tmp_path / name, *toy_overrides(root, *LABSE, "trainer.max_epochs=2", "evaluator=none")))
        states.append(state_of(tmp_path / name / "run/checkpoints/last.ckpt"))
    assert torch.equal(states[0]["encoder.vectors"], states[1]["encoder.vectors"])


# ---- bad input


def test_a_nan_loss_stops_the_run_names_the_rows_and_keeps_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xsent.recipes.labse import LabseRecipe

    original = LabseRecipe.check_finite

    def poisoned(self: LabseRecipe, loss: torch.Tensor, pairs: object) -> None:
        original(self, loss * float("nan") if self.batches_seen == 8 else loss, pairs)  # type: ignore[arg-type]

    monkeypatch.setattr(LabseRecipe, "check_finite", poisoned)
    options = "trainer.max_epochs=2 evaluator=none callbacks.checkpoints.every_n_batches=3"
    overrides = toy_overrides(toy_bitext(tmp_path / "data"), *LABSE, *options.split())
    with pytest.raises(FloatingPointError, match=r"the loss is nan at step 9 .*rows of the training data"):
        train(config("train", tmp_path, *overrides))
    assert torch.isfinite(state_of(tmp_path / "run/checkpoints/last.ckpt")["encoder.vectors"]).all()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["recipe=oracle", "recipe.host=drem"], "recipe.host=drem: expected one of dream, meat"),
        (["recipe=oracle", "recipe.oracle.variant=oracle_nwe"], "oracle variant 'oracle_nwe': expected one of paper"),
        (["recipe=oracle", "~recipe.weights.oracle.intra_class"], "weights name .*the loss has"),
        (["recipe=oracle", "+recipe.weights.dreem={meaning: 1.0}"], "recipe.weights names .*dreem"),
        (["recipe=oracle", "+recipe.optimizer.lrate=1"], "lrate"),
        (["recipe=labse", "+recipe.scheduler.warm=1"], "warm"),
        (["recipe=oracle", "final=first"], "final=first: expected one of best, last"),
        (["recipe=oracle", "save_encoder=there"], "trains no encoder"),
        (["recipe=oracle", "pictures.languages=[xx]", "pictures.pairs_per_language=5"], "unknown language 'xx'"),
        (["recipe=oracle", "data.global_batch_size=100000"], "larger than the training split"),
        (["recipe=oracle", "data.languages=[xx]"], "unknown language 'xx'"),
        (["recipe=oracle", "data.languages=[rus]"], "data.languages has rus, the data have deu, "),
        (["recipe=labse", "+trainer.limit_train_batches=2"], "breaks exact resuming"),
        (["recipe=labse", "evaluator=tatoeba", "evaluator.root=/nowhere"], "/nowhere"),
        (["recipe=labse", "data.root=/nowhere"], "/nowhere"),
        (["recipe=labse", "recipe.loss._target_=torch.load"], r"recipe\.loss\._target_: torch\.load may not be built"),
        (["recipe=labse", "data.reader._target_=xsent.data.stores.array_cache.shutil.rmtree"], "may not be built"),
    ],
)
def test_bad_options_get_a_named_error_before_any_long_work(tmp_path: Path, overrides: list[str], message: str) -> None:
    root = toy_bitext(tmp_path / "data")
    with pytest.raises((ValueError, OSError, TypeError), match=message):
        train(config("train", tmp_path, *toy_overrides(root), "encoder=micro", "trainer.max_epochs=1", *overrides))
    assert not (tmp_path / "run/checkpoints").exists()
    assert not (tmp_path / "cache").exists(), "data were tokenised or embedded before the option was refused"


def test_a_language_with_one_pair_is_named_and_rejected_lines_are_written_to_the_run_folder(tmp_path: Path) -> None:
    root = toy_bitext(tmp_path / "data")
    (root / "en-it.tsv").write_text("dog\tcane\n")
    with pytest.raises(ValueError, match=r"ita has .*single pair"):
        train(config("train", tmp_path, *toy_overrides(root), "recipe=oracle", "trainer.max_epochs=1"))
    (root / "en-it.tsv").write_text("dog\tcane\ncat\tgatto\nbroken line\n\tvuoto\n")
    options = "recipe=oracle encoder=micro trainer.max_epochs=1 evaluator=none"
    train(config("train", tmp_path, *toy_overrides(root, *options.split())))
    rows = (tmp_path / "run/rejects.tsv").read_text().splitlines()
    assert len(rows) == 3
    assert "en-it.tsv\t3\t" in rows[1]


def test_heads_refuse_an_encoder_they_were_not_trained_on(oracle_run: Path, tmp_path: Path) -> None:
    checkpoint = load_checkpoint(oracle_run / "run/checkpoints/best.ckpt")
    checkpoint["xsent"]["frozen_encoder"] = "0" * 64
    save_checkpoint(checkpoint, tmp_path / "other.ckpt")
    with pytest.raises(ValueError, match="the heads were trained on an encoder with digest 0000"):
        xsent.load_encoder(tmp_path / "other.ckpt")


def test_a_target_below_a_module_of_xsent_is_refused() -> None:
    with pytest.raises(ValueError, match="may not be built from a config"):
        build({"_target_": "xsent.checkpoint.torch.load", "f": "x"}, "encoder")


def test_language_vectors_that_do_better_than_meaning_vectors_are_warned_of() -> None:
    metrics = {"tatoeba/meaning/mean/accuracy": 23.0, "tatoeba/language/mean/accuracy": 91.4}
    metrics |= {"heldout/meaning/mean/accuracy": 90.0, "heldout/language/mean/accuracy": 12.0}
    metrics |= {"xsim/meaning/mean/error": 5.0, "xsim/language/mean/error": 80.0}  # lower is better
    metrics |= {"sts/original/mean/spearman": 70.0}
    (warning,) = swapped_parts(metrics)
    assert warning.startswith("tatoeba/meaning/mean/accuracy is 23.00 and tatoeba/language/mean/accuracy 91.40")
