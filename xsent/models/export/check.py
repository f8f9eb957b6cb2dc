"""Whether a folder gives the vectors that it should: run as a program, in a fresh process that knows nothing else."""

from __future__ import annotations

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

TEXTS, VECTORS, ASKED = "texts.json", "vectors.npy", "asked.json"
# The oldest releases that an export is tested with, as pyproject.toml has them, by the extra that brings them.
OLDEST = {
    "st": {"sentence-transformers": (5, 4)},
    "onnx": {"onnx": (1, 20), "onnxruntime": (1, 24), "onnxscript": (0, 7)},
}
# How many texts are encoded at a time: alone, a few of different length, all.
BATCHES = (1, 7, 64)


class Found(NamedTuple):
    """What the fresh process found."""

    versions: dict[str, str]
    texts: int  # that were compared
    difference: float  # the largest, of sentence-transformers
    onnx_difference: float | None  # the largest, of onnxruntime
    sentences_per_second: float  # of sentence-transformers
    onnx_per_second: float | None


class Checked(NamedTuple):
    """A folder that was written and gives the right vectors, and what a card says of the check."""

    found: Found
    empty: int  # texts without a token among those that were compared
    undefined: int  # texts that sentence-transformers has no vector for, left out
    tolerance: float
    onnx_tolerance: float | None


def check_packages(*, onnx: bool) -> None:
    """Raise ``ImportError`` when a package that the export or its check needs is missing or too old; imports none."""
    for extra in ["st", *(["onnx"] if onnx else [])]:
        for package, oldest in OLDEST[extra].items():
            try:
                found = version(package)
            except PackageNotFoundError:
                found = "none"
            if found == "none" or tuple(map(int, re.findall(r"\d+", found)[:2])) < oldest:
                wanted = ".".join(map(str, oldest))
                raise ImportError(
                    f"the export needs {package} {wanted} or later, found {found}: pip install -U 'xsent[{extra}]'"
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
) -> Found:
    """Load a folder in a fresh process without a network, encode, and compare.

    The difference of two vectors is that of their most different numbers, divided by the length of the expected
    vector: of vectors of length one it is the plain difference.

    Args:
        folder: that sentence-transformers loads.
        texts: N of them.
        vectors: (N, D) that they should have.
        undefined: rows that sentence-transformers has no vector for, which are left out.
        prompt: that the folder puts before every text; onnxruntime knows nothing of it.
        tolerance: the largest difference of sentence-transformers.
        onnx_tolerance: that of onnxruntime on ``onnx/model.onnx``; None: there is no such file.

    Raises:
        ValueError: a vector differs by more or is not finite, or the folder cannot be loaded.
    """
    with tempfile.TemporaryDirectory(prefix="xsent-check-") as name:
        work = Path(name)
        left = [row for row in range(len(texts)) if row not in set(undefined)]
        (work / TEXTS).write_text(json.dumps([texts[row] for row in left]), encoding="utf-8")
        np.save(work / VECTORS, vectors[left])
        (work / ASKED).write_text(json.dumps({"prompt": prompt, "onnx": onnx_tolerance is not None}))
        command = [sys.executable, "-m", "xsent.models.export.check", str(folder.resolve()), str(work)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=work, env=_environment())
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        log.debug("%s", done.stderr)
        raise ValueError(f"the exported folder cannot be used in a fresh process: {last}")
    answer = json.loads(done.stdout.splitlines()[-1])
    for tool, worst, limit in (
        ("sentence-transformers", answer["worst"], tolerance),
        ("onnxruntime", answer["onnx_worst"], onnx_tolerance),
    ):
        if worst is not None and limit is not None and not worst["difference"] <= limit:
            raise ValueError(
                f"{tool} gives another vector: expected a difference of {limit:g} at most, found"
                f" {worst['difference']:g} for {texts[left[worst['row']]][:60]!r}, {worst['at_a_time']} texts at a time"
            )
    of_onnx = answer["onnx_worst"]
    return Found(
        versions=answer["versions"],
        texts=len(left),
        difference=answer["worst"]["difference"],
        onnx_difference=None if of_onnx is None else of_onnx["difference"],
        sentences_per_second=answer["per_second"],
        onnx_per_second=answer["onnx_per_second"],
    )


def _environment() -> dict[str, str]:
    # Where this xsent is imported from, be it installed or not.
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
    """Encode the texts in ``work`` with what is in the folder; the largest differences, and where they are."""
    from sentence_transformers import SentenceTransformer

    texts: list[str] = json.loads((work / TEXTS).read_text(encoding="utf-8"))
    expected: NDArray[np.float32] = np.load(work / VECTORS)
    asked = json.loads((work / ASKED).read_text())
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)

    def encode(texts: Sequence[str], size: int) -> NDArray[np.float32]:
        return np.asarray(model.encode(texts, batch_size=size, show_progress_bar=False), dtype=np.float32)

    versions = {name: version(name) for name in ("sentence-transformers", "transformers", "torch")}
    worst, per_second = _compare(encode, texts, expected)
    answer: dict[str, Any] = {"worst": worst, "per_second": per_second, "onnx_worst": None, "onnx_per_second": None}
    if asked["onnx"]:
        versions["onnxruntime"] = version("onnxruntime")
        prompted = [asked["prompt"] + text for text in texts]
        answer["onnx_worst"], answer["onnx_per_second"] = _compare(_OnnxModel(folder), prompted, expected)
    return answer | {"versions": versions}


class _OnnxModel:
    """What somebody without torch would write: tokenizers and onnxruntime."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.session = onnxruntime.InferenceSession(
            str(folder / "onnx" / "model.onnx"), providers=["CPUExecutionProvider"]
        )

    def __call__(self, texts: Sequence[str], size: int) -> NDArray[np.float32]:
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))  # little to pad
        rows = [order[start : start + size] for start in range(0, len(order), size)]
        vectors = np.concatenate([self._batch([texts[row] for row in batch]) for batch in rows])
        result = np.empty_like(vectors)
        result[order] = vectors
        return result

    def _batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        # A graph takes one token at least: one that the mask hides stands for none.
        longest = max(1, *map(len, ids)) if ids else 1
        input_ids = np.zeros((len(ids), longest), dtype=np.int64)
        mask = np.zeros_like(input_ids)
        for row, tokens in enumerate(ids):
            input_ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        vectors: NDArray[np.float32] = self.session.run(None, {"input_ids": input_ids, "attention_mask": mask})[0]
        return vectors


def _compare(
    encode: Callable[[Sequence[str], int], NDArray[np.float32]], texts: Sequence[str], expected: NDArray[np.float32]
) -> tuple[dict[str, Any], float]:
    """The largest difference with where it is, and sentences a second."""
    length = np.linalg.norm(expected.astype(np.float64), axis=1)
    length[length == 0] = 1.0  # a zero vector is to be met as it is
    worst = {"difference": -1.0, "row": 0, "at_a_time": 0}
    start = time.perf_counter()
    for size in BATCHES:
        vectors = encode(texts, size)
        if vectors.shape != expected.shape:
            raise ValueError(f"expected vectors of shape {expected.shape}, found {vectors.shape}")
        differences = np.abs(vectors.astype(np.float64) - expected).max(axis=1) / length
        differences[~np.isfinite(differences)] = np.inf
        row = int(differences.argmax())
        if differences[row] > worst["difference"]:
            worst = {"difference": float(differences[row]), "row": row, "at_a_time": size}
    return worst, len(BATCHES) * len(texts) / (time.perf_counter() - start)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))) + "\n")
