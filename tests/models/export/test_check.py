"""The export check finds wrong vectors, and the ONNX graph gives the vectors of torch."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.small import small_encoder
from xsent.models.encoders.disentangled import DisentangledEncoder, DisentanglingHeads
from xsent.models.encoders.static import StaticEncoder
from xsent.models.export.check import OPTIONS, TEXTS, VECTORS, CheckedExport, CheckResult, check_folder, main
from xsent.models.export.hard_inputs import HARD_INPUTS
from xsent.models.export.onnx_graph import MODEL, write_onnx
from xsent.models.export.pipeline import Pipeline, build_pipeline, expected_vectors, write_pipeline
from xsent.reporting.model_card import About, Exported, model_card

pytest.importorskip("sentence_transformers")

TEXT_SAMPLE = ["w1 w2", "", "w3 w4 w5 w6", "nothing known", "w1 " * 100, "w9"]


def small_pipeline(*, prompt: str = "") -> Pipeline:
    encoder = small_encoder().eval()
    encoder.prompt = prompt
    torch.manual_seed(5)
    return build_pipeline(DisentangledEncoder(encoder, DisentanglingHeads(encoder.dim, [6]).eval()), space="meaning")


def write(pipeline: Pipeline, folder: Path, *, onnx: bool) -> Path:
    folder.mkdir()
    write_pipeline(pipeline, folder)
    if onnx:
        pytest.importorskip("onnxscript")
        pytest.importorskip("onnxruntime")
        write_onnx(pipeline, folder, opset=18)
    return folder


def run_check(
    folder: Path, work: Path, pipeline: Pipeline, texts: list[str], *, onnx: bool, error: float = 0.0
) -> dict[str, object]:
    """Output of the fresh process, without the process; ``error`` is added to a number of the third vector."""
    work.mkdir()
    (work / TEXTS).write_text(json.dumps(texts), encoding="utf-8")
    vectors = expected_vectors(pipeline, texts).vectors.numpy().copy()
    vectors[2, 3] += error * np.linalg.norm(vectors[2])
    np.save(work / VECTORS, vectors)
    prompt = getattr(pipeline.encoder, "prompt", "")
    (work / OPTIONS).write_text(json.dumps({"prompt": prompt, "onnx": onnx}))
    return main(folder, work)


@pytest.mark.slow
def test_a_transformer_with_prompt_and_head_is_the_same_in_onnxruntime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = small_pipeline(prompt="w7 ")
    folder = write(pipeline, tmp_path / "out", onnx=True)
    answer = run_check(folder, tmp_path / "work", pipeline, [*TEXT_SAMPLE, *HARD_INPUTS], onnx=True)
    assert 0 < answer["worst"]["difference"] < 1e-5  # type: ignore[index]
    assert 0 < answer["onnx_worst"]["difference"] < 1e-5  # type: ignore[index]
    assert {path.name for path in (folder / "onnx").iterdir()} == {MODEL.name}
    check_code_of_card(pipeline, folder, monkeypatch)


def check_code_of_card(pipeline: Pipeline, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = CheckResult({"sentence-transformers": "6", "onnxruntime": "1"}, 1, 0.0, 0.0, 1.0, 1.0)
    exported = Exported(folder.name, "meaning", 6, 32, "0", [], getattr(pipeline.encoder, "prompt", ""))
    card = model_card(exported, About("e", None, None, "", [], {}, {}, {}), CheckedExport(result, 0, 0, 1e-5, 1e-5))
    monkeypatch.chdir(folder.parent)
    (text,) = re.findall(r'encode\("(.*)"\)\.ids', card)
    theirs, ours = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    names: dict[str, Any] = {}
    exec(ours, names)
    prompt = getattr(pipeline.encoder, "prompt", "")
    assert text.startswith(prompt)
    expected = expected_vectors(pipeline, [text.removeprefix(prompt)]).vectors.numpy()
    np.testing.assert_allclose(names["vector"], expected, atol=1e-5)
    exec(theirs, names)
    assert names["vectors"].shape == (2, expected.shape[1])


@pytest.mark.slow
def test_the_static_encoder_is_the_same_in_onnxruntime(tmp_path: Path) -> None:
    pipeline = build_pipeline(StaticEncoder.load(name="micro", path=None), space="original")
    folder = write(pipeline, tmp_path / "out", onnx=True)
    answer = run_check(folder, tmp_path / "work", pipeline, list(HARD_INPUTS), onnx=True)
    assert answer["worst"]["difference"] < 1e-5  # type: ignore[index]
    assert answer["onnx_worst"]["difference"] < 1e-5  # type: ignore[index]


@pytest.mark.slow
def test_projected_tokens_are_the_same_in_onnxruntime(tmp_path: Path) -> None:
    encoder = small_encoder().eval()
    encoder.project_tokens(6, pooling="max", seed=3)
    pipeline = build_pipeline(encoder, space="original")
    folder = write(pipeline, tmp_path / "out", onnx=True)
    answer = run_check(folder, tmp_path / "work", pipeline, TEXT_SAMPLE, onnx=True)
    assert answer["onnx_worst"]["difference"] < 1e-5  # type: ignore[index]


def test_one_wrong_vector_among_many_is_found(tmp_path: Path) -> None:
    pipeline = small_pipeline()
    folder = write(pipeline, tmp_path / "out", onnx=False)
    worst = run_check(folder, tmp_path / "work", pipeline, TEXT_SAMPLE, onnx=False, error=1e-3)["worst"]
    assert worst["row"] == 2  # type: ignore[index]
    assert worst["difference"] == pytest.approx(1e-3, rel=0.01)  # type: ignore[index]


@pytest.mark.slow
def test_the_fresh_process_finds_a_wrong_vector_and_a_broken_folder(tmp_path: Path) -> None:
    pipeline = small_pipeline()
    folder = write(pipeline, tmp_path / "out", onnx=False)
    vectors = expected_vectors(pipeline, TEXT_SAMPLE).vectors.numpy().copy()
    options = {"undefined": [], "prompt": "", "tolerance": 1e-5, "onnx_tolerance": None}
    result = check_folder(folder, TEXT_SAMPLE, vectors, **options)  # type: ignore[arg-type]
    assert result.texts == len(TEXT_SAMPLE)
    assert result.difference < 1e-5
    vectors[2, 3] += 1e-3 * np.linalg.norm(vectors[2])
    with pytest.raises(ValueError, match=r"sentence-transformers gives another vector.*'w3 w4 w5 w6'"):
        check_folder(folder, TEXT_SAMPLE, vectors, **options)  # type: ignore[arg-type]
    (folder / "modules.json").write_text("[")
    with pytest.raises(ValueError, match="cannot be used in a fresh process"):
        check_folder(folder, TEXT_SAMPLE, vectors, **options)  # type: ignore[arg-type]


def test_a_nan_is_an_infinite_difference(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    pipeline = small_pipeline()
    folder = write(pipeline, tmp_path / "out", onnx=False)
    (dense,) = [path for path in folder.glob("*_Dense/model.safetensors") if path.parent.name.startswith("3")]
    weights = load_file(dense)
    weights["linear.bias"][0] = float("nan")
    save_file(weights, dense)
    answer = run_check(folder, tmp_path / "work", pipeline, TEXT_SAMPLE, onnx=False)
    assert answer["worst"]["difference"] == float("inf")  # type: ignore[index]
