"""Model card: origin, scores and licence of a model, and nothing of the machine that made it."""

import json
from pathlib import Path

import pytest
import torch
import yaml

from xsent.models.export.check import CheckedExport, CheckResult
from xsent.reporting.model_card import About, Exported, about_encoder, about_run, model_card

RESULT = CheckResult({"sentence-transformers": "6.0", "onnxruntime": "1.0"}, 40, 2e-7, 3e-6, 100.0, 50.0)
CHECKED = CheckedExport(RESULT, empty=4, undefined=0, tolerance=1e-5, onnx_tolerance=1e-5)
EXPORTED = Exported("my-model", "meaning", 8, 64, "abc123", ["Text is cut after 64 tokens."], "")

MEAT = {"host": "meat", "oracle": {"variant": "paper"}, "weights": {"oracle": {"intra_class": 0.0, "inter_class": 0.0}}}


def run_folder(tmp_path: Path, *, recipe: dict[str, object] | None = None, **encoder: object) -> Path:
    """As ``train.py`` leaves it: of its best checkpoint are the figures."""
    folder = tmp_path / "home" / "jane" / "run"
    (folder / "checkpoints").mkdir(parents=True)
    data = {"name": "bitext", "root": str(folder / "private"), "languages": None, "global_batch_size": 32}
    trained_on = {"languages": ["deu", "eng", "tgl"], "files": ["en-de.tsv", "en-tl.tsv"], "lines": 1234, "rejected": 5}
    config = {
        "seed": 7,
        "run_dir": str(folder),
        "final": "best",
        "encoder": {"_target_": "xsent.models.encoders.transformer.SentenceEncoder.load", "name": "org/base"} | encoder,
        "data": data,
        "recipe": recipe or {"_target_": "xsent.recipes.disentangling.DisentanglingRecipe", **MEAT},
        "logger": {"api_key": "secret-of-jane"},
    }
    metrics = {"test/x/meaning/deu-swa/accuracy": 91.25, "test/x/language/deu-eng/accuracy": 3.5}
    results = {"metrics": metrics, "data": "d1g357", "git": "c0ffee", "batches": 9999, "epochs": 3, "config": config}
    (folder / "metrics.json").write_text(json.dumps(results))
    for name, batches in (("best", 1500), ("last", 9999)):
        state = {"config": config, "batches_seen": batches}
        state["training_data"] = trained_on | {"train": 1000, "valid": 70}
        torch.save({"xsent": state}, folder / "checkpoints" / f"{name}.ckpt")
    return folder


def front_matter(card: str) -> dict[str, object]:
    fields: dict[str, object] = yaml.safe_load(card.split("---\n")[1])
    return fields


def test_a_run_is_described_by_its_own_files_without_secrets_and_paths_of_the_machine(tmp_path: Path) -> None:
    card = model_card(EXPORTED, about_run(run_folder(tmp_path)), CHECKED)
    front = front_matter(card)
    assert front["library_name"] == "sentence-transformers"
    # Those of the data, not what it was scored on besides, as the hub writes them.
    assert front["language"] == ["de", "en", "tl"]
    assert "| languages | deu, eng, tgl |" in card
    assert "| files | en-de.tsv, en-tl.tsv: 1,234 lines, 5 rejected |" in card
    assert "| examples | 1,000 to train on, 70 to validate |" in card
    assert front["base_model"] == "org/base"
    assert (front["license"], front["license_name"]) == ("other", "unknown-ask")
    assert "Ask whoever published the base model" in card
    for text in ("Ki, Park, Kim 2024", "| variant | meat |", "1,500 batches of 32", "d1g357", "c0ffee"):
        assert text in card
    assert "| test/x/meaning/deu-swa/accuracy | 91.25 |" in card
    assert "Scored on, too: swa" in card
    (entry,) = yaml.safe_load(yaml.safe_dump(front["model-index"]))
    (result,) = entry["results"]
    assert (result["dataset"]["name"], result["metrics"][0]["value"]) == ("x deu-swa", 91.25)
    assert "test/x/language" not in card  # scores of the other head
    assert "largest difference 2.0e-07" in card
    assert "Text is cut after 64 tokens." in card
    for private in ("secret-of-jane", str(tmp_path), "jane"):  # a secret, and paths of the machine
        assert private not in card


def test_a_licence_is_taken_from_the_card_beside_the_base_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "README.md").write_text("---\nlicense: mit\nlanguage: en\n---\n# base\n")
    encoder = {"_target_": "SentenceEncoder.load", "name": "org/base", "path": str(base)}
    about = about_encoder(encoder)
    assert about.licence == "mit"
    assert "mit, as the card of the base model org/base says" in model_card(EXPORTED, about, CHECKED)


def test_what_was_trained_does_not_have_the_licence_of_its_base_alone(tmp_path: Path) -> None:
    micro = {"_target_": "xsent.models.encoders.static.StaticEncoder.load", "name": "micro", "path": None}
    card = model_card(EXPORTED, about_run(run_folder(tmp_path, **micro)), CHECKED)
    assert (front_matter(card)["license"], front_matter(card)["license_name"]) == ("other", "unknown-ask")
    assert "Of the base model: Apache-2.0" in card
    assert "The training data may have terms" in card


def test_the_checkpoint_that_the_run_scored_has_its_figures_and_another_has_not(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    assert about_run(folder / "checkpoints" / "best.ckpt") == about_run(folder)
    about = about_run(folder / "checkpoints" / "last.ckpt")
    assert about.scores == {}
    card = model_card(EXPORTED, about, CHECKED)
    assert "the run scored another checkpoint, best.ckpt" in card
    assert "91.25" not in card
    assert "| seen | 9,999 batches of 32 |" in card


def test_a_checkpoint_elsewhere_is_described_by_itself_and_not_by_what_lies_beside_it(tmp_path: Path) -> None:
    mine = run_folder(tmp_path / "mine", name="org/mine") / "checkpoints" / "best.ckpt"
    checkpoints = run_folder(tmp_path / "other", name="org/other") / "checkpoints"
    for copy in (checkpoints / "copied.ckpt", checkpoints / "best.ckpt", tmp_path / "moved.ckpt"):
        copy.write_bytes(mine.read_bytes())
        card = model_card(EXPORTED, about_run(copy), CHECKED)
        assert front_matter(card)["base_model"] == "org/mine"
        assert "| seen | 1,500 batches of 32 |" in card
        assert "None: the run has no evaluation" in card
        assert "91.25" not in card


def test_no_value_of_a_run_changes_the_structure_of_its_card_and_a_student_names_its_teacher(tmp_path: Path) -> None:
    recipe = {"_target_": "xsent.recipes.rolaser.RolaserRecipe", "teacher": {"_target_": "x", "name": "LASER2"}}
    hostile = "x |\n---\n## Licence {{ 7 * 7 }}"
    card = model_card(EXPORTED, about_run(run_folder(tmp_path, recipe=recipe, name=hostile)), CHECKED)
    assert card.count("\n## Licence") == 1
    assert r"| encoder | x \| --- ## Licence {{ 7 * 7 }} |" in card
    assert "| teacher | LASER2: the vectors are in its space" in card


def test_no_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"best\.ckpt: no such checkpoint"):
        about_run(tmp_path)


ABOUT = About("e", None, None, "Unknown.", [], {"recipe": "r"}, {"test/x/meaning/eng-eng/spearman": None}, {})


def test_a_score_that_is_not_a_number_is_undefined_and_many_are_shown_by_their_means() -> None:
    assert "| test/x/meaning/eng-eng/spearman | undefined |" in model_card(EXPORTED, ABOUT, CHECKED)
    items = [*(f"l{number}" for number in range(60)), "mean"]
    scores: dict[str, float | None] = {f"test/x/meaning/{item}/accuracy": 1.0 for item in items}
    card = model_card(EXPORTED, ABOUT._replace(scores=scores), CHECKED)
    assert "test/x/meaning/mean/accuracy" in card
    assert "l17" not in card
    assert "60 more are in the run's `metrics.json`" in card


def test_an_encoder_as_it_is_has_no_training_and_no_scores() -> None:
    about = about_encoder(
        {"_target_": "xsent.models.encoders.static.StaticEncoder.load", "name": "micro", "path": None}
    )
    card = model_card(EXPORTED._replace(space="original"), about, CHECKED)
    assert front_matter(card)["license"] == "apache-2.0"
    assert "Not trained here" in card
    assert "None were measured here." in card


def test_the_snippet_for_onnxruntime_is_there_when_the_graph_is() -> None:
    assert "onnxruntime.InferenceSession" in model_card(EXPORTED, ABOUT, CHECKED)
    without = CHECKED._replace(result=RESULT._replace(onnx_difference=None))
    assert "InferenceSession" not in model_card(EXPORTED, ABOUT, without)
