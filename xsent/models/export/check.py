"""Check an exported folder: compare its vectors in a fresh process, with sentence-transformers and onnxruntime."""

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import xsent

log = logging.getLogger(__name__)

TEXTS, VECTORS, OPTIONS = "texts.json", "vectors.npy", "options.json"
# The oldest supported releases, as in pyproject.toml, by extra.
OLDEST = {
    "st": {"sentence-transformers": (5, 4)},
    "onnx": {"onnx": (1, 20), "onnxruntime": (1, 24), "onnxscript": (0, 7)},
}
BATCH_SIZES = (1, 7, 64)  # alone, a few of different length, all


class CheckResult(NamedTuple):
    """Measurements of the fresh process."""

    versions: dict[str, str]
    texts: int  # number of compared texts
    difference: float  # the largest, of sentence-transformers
    onnx_difference: float | None  # the largest, of onnxruntime
    sentences_per_second: float  # of sentence-transformers
    onnx_per_second: float | None


class CheckedExport(NamedTuple):
    """A folder that passed its check, for the model card."""

    result: CheckResult
    empty: int  # texts without a token among the compared ones
    undefined: int  # texts left out because sentence-transformers has no vector for them
    tolerance: float
    onnx_tolerance: float | None


def check_packages(*, onnx: bool) -> None:
    """Raise ``ImportError`` when a package for the export or its check is missing or too old; imports none."""
    for extra in ["st", *(["onnx"] if onnx else [])]:
        for package, oldest in OLDEST[extra].items():
            try:
                installed = version(package)
            except PackageNotFoundError:
                installed = "none"
            if installed == "none" or tuple(map(int, re.findall(r"\d+", installed)[:2])) < oldest:
                raise ImportError(
                    f"the export needs {package} {'.'.join(map(str, oldest))} or later, found {installed}:"
                    f" pip install -U 'xsent[{extra}]'"
                )


def check_folder(
    folder: Path,
    texts: Sequence[str],
    vectors: NDArray[np.float32],
    *,
    undefined: Sequence[int],
    prompt: str,
    tolerance: float,
    onnx_tolerance: float | None,
) -> CheckResult:
    """Load a folder in a fresh process without network access, encode texts, and compare.

    The difference of two vectors is the largest absolute difference of their numbers, divided by the length of the
    expected vector.

    Args:
        vectors: (N, D), the expected vectors of N texts.
        undefined: rows to leave out, for which sentence-transformers has no vector.
        prompt: that the folder puts before every text; onnxruntime needs it as part of the text.
        tolerance: largest difference of sentence-transformers.
        onnx_tolerance: largest difference of onnxruntime on ``onnx/model.onnx``; None: there is no such file.

    Raises:
        ValueError: a vector differs by more or is not finite, or the folder cannot be loaded.
    """
    with tempfile.TemporaryDirectory(prefix="xsent-check-") as name:
        work = Path(name)
        rows = [row for row in range(len(texts)) if row not in set(undefined)]
        (work / TEXTS).write_text(json.dumps([texts[row] for row in rows]), encoding="utf-8")
        np.save(work / VECTORS, vectors[rows])
        (work / OPTIONS).write_text(json.dumps({"prompt": prompt, "onnx": onnx_tolerance is not None}))
        command = [sys.executable, "-m", "xsent.models.export.check", str(folder.resolve()), str(work)]
        process = subprocess.run(command, capture_output=True, text=True, cwd=work, env=_environment())
    if process.returncode:
        log.debug("%s", process.stderr)
        last_line = (process.stderr.strip().splitlines() or ["no error message"])[-1]
        raise ValueError(f"the exported folder cannot be used in a fresh process: {last_line}")
    tools = {"sentence-transformers": ("worst", tolerance)}
    if onnx_tolerance is not None:
        tools["onnxruntime"] = ("onnx_worst", onnx_tolerance)
    try:
        answer = json.loads(process.stdout.splitlines()[-1])
        worst_rows = {tool: (dict(answer[key]), limit) for tool, (key, limit) in tools.items()}
    except (IndexError, KeyError, TypeError, ValueError):
        printed = process.stdout[-80:]
        raise ValueError(f"the exported folder cannot be used in a fresh process: it printed {printed!r}") from None
    for tool, (worst, limit) in worst_rows.items():
        if not worst["difference"] <= limit:
            raise ValueError(
                f"{tool} gives another vector: expected a difference of at most {limit:g}, found"
                f" {worst['difference']:g} for {texts[rows[worst['row']]][:60]!r}, batch size {worst['batch_size']}"
            )
    difference, onnx = answer["worst"]["difference"], answer["onnx_worst"]
    onnx_difference = None if onnx is None else onnx["difference"]
    speeds = answer["per_second"], answer["onnx_per_second"]
    return CheckResult(answer["versions"], len(rows), difference, onnx_difference, *speeds)


def _environment() -> dict[str, str]:
    # The root of this xsent, which need not be installed.
    roots = [os.environ.get("PYTHONPATH", ""), str(Path(xsent.__file__).parent.parent)]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(root for root in roots if root),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_VERBOSITY": "error",
    }


# ---- the fresh process


def main(folder: Path, work: Path) -> dict[str, Any]:
    """Encode the texts in ``work`` with the model in ``folder``; return the largest differences and their rows."""
    from sentence_transformers import SentenceTransformer

    texts: list[str] = json.loads((work / TEXTS).read_text(encoding="utf-8"))
    expected: NDArray[np.float32] = np.load(work / VECTORS)
    options = json.loads((work / OPTIONS).read_text())
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)

    def encode(texts: Sequence[str], size: int) -> NDArray[np.float32]:
        return np.asarray(model.encode(texts, batch_size=size, show_progress_bar=False), dtype=np.float32)

    versions = {name: version(name) for name in ("sentence-transformers", "transformers", "torch")}
    worst, per_second = _compare(encode, texts, expected)
    answer: dict[str, Any] = {"worst": worst, "per_second": per_second, "onnx_worst": None, "onnx_per_second": None}
    if options["onnx"]:
        versions["onnxruntime"] = version("onnxruntime")
        prompted = [options["prompt"] + text for text in texts]
        answer["onnx_worst"], answer["onnx_per_second"] = _compare(_OnnxModel(folder), prompted, expected)
    return answer | {"versions": versions}


class _OnnxModel:
    """A user's code without torch: tokenizers and onnxruntime only."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        model = str(folder / "onnx" / "model.onnx")
        self.session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    def __call__(self, texts: Sequence[str], size: int) -> NDArray[np.float32]:
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))  # less padding
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        vectors = np.concatenate([self._encode_batch([texts[row] for row in batch]) for batch in batches])
        result = np.empty_like(vectors)
        result[order] = vectors
        return result

    def _encode_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        longest = max(1, *map(len, ids))  # the graph needs one token, even if the mask hides it
        input_ids = np.array([row + [0] * (longest - len(row)) for row in ids], dtype=np.int64)
        mask = (np.arange(longest) < np.array([[len(row)] for row in ids])).astype(np.int64)
        vectors: NDArray[np.float32] = self.session.run(None, {"input_ids": input_ids, "attention_mask": mask})[0]
        return vectors


def _compare(
    encode: Callable[[Sequence[str], int], NDArray[np.float32]], texts: Sequence[str], expected: NDArray[np.float32]
) -> tuple[dict[str, Any], float]:
    """The largest difference with its row and batch size, and sentences per second."""
    length = np.linalg.norm(expected.astype(np.float64), axis=1)
    length[length == 0] = 1.0  # absolute difference from a zero vector
    worst = {"difference": -1.0, "row": 0, "batch_size": 0}
    start = time.perf_counter()
    for size in BATCH_SIZES:
        vectors = encode(texts, size)
        if vectors.shape != expected.shape:
            raise ValueError(f"expected vectors of shape {expected.shape}, found {vectors.shape}")
        differences = np.abs(vectors.astype(np.float64) - expected).max(axis=1) / length
        differences[~np.isfinite(differences)] = np.inf
        row = int(differences.argmax())
        if differences[row] > worst["difference"]:
            worst = {"difference": float(differences[row]), "row": row, "batch_size": size}
    return worst, len(BATCH_SIZES) * len(texts) / (time.perf_counter() - start)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))) + "\n")
