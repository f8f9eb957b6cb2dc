"""Cells of studies: scores of a model on an evaluator, stored in the folder of the cell and reused."""

from __future__ import annotations

import csv
import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xsent
from xsent.files.strict_json import read_json_object
from xsent.run.config.compose import NO_EFFECT, without_keys
from xsent.run.evaluation import embed_spaces, report, score_model

if TYPE_CHECKING:
    from xsent.batch import Embedder
    from xsent.evaluation.evaluator import Evaluation, Evaluator

log = logging.getLogger(__name__)

CELL = "cell.json"  # in the folder of a Hydra job: result of the cell
METRICS_FILE = "metrics.json"  # in the folder of a finished run or evaluation
# Config keys with paths; a digest of the content counts instead.
PATH_KEYS = NO_EFFECT | {"root", "reader", "folder", "out", "dictionaries", "augmented", "error_types"}


def content_digest(content: Any) -> str:
    """Hex digest of plain values."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def score_cell(evaluator: Evaluator, config: dict[str, Any], folder: Path, load: Callable[[], Any]) -> dict[str, Any]:
    """``metrics`` of the model that ``load`` returns and the folder of their ``evaluation``, which is reused."""
    from xsent.reporting.environment import environment

    start = time.perf_counter()
    key = content_digest([xsent.__version__, without_keys(config["evaluator"], PATH_KEYS), evaluator.digest()])
    evaluation = folder / "evaluations" / f"{evaluator.name}-{key[:12]}"
    if not (evaluation / METRICS_FILE).is_file():
        model = load()
        scored = _scored(evaluator, model, Path(config["cache_dir"]))
        about = environment() | {"encoder": model.digest(), "data": evaluator.digest(), "seed": config["seed"]}
        report(scored, model, config=config, about=about, folder=evaluation, start=start, show=False)
    metrics: dict[str, float | None] = read_json_object(evaluation / METRICS_FILE)["metrics"]
    log.info("metrics: %s", evaluation)
    named = {name.removeprefix("test/"): float("nan") if value is None else value for name, value in metrics.items()}
    return {"metrics": named, "evaluation": str(evaluation)}


def _scored(evaluator: Evaluator, model: Any, cache_dir: Path) -> Evaluation:
    """As ``score_model``, with vectors of a frozen encoder from the store."""
    from xsent.evaluation.evaluator import score_spaces

    if hasattr(model, "judge"):
        return score_model(model, evaluator)
    evaluator.bind_encoder(model)
    return score_spaces(evaluator, embed_cell(model, evaluator.sentences(), cache_dir))


def embed_cell(embedder: Embedder, sentences: list[str], cache_dir: Path) -> dict[str, Any]:
    """As ``embed_spaces``; the vectors below the heads are stored, because all cells of an encoder share them."""
    import numpy as np
    import torch

    from xsent.data.stores.embeddings import EmbeddingStore
    from xsent.models.encoders.disentangled import DisentangledEncoder, split_spaces

    if not isinstance(embedder, DisentangledEncoder):
        return embed_spaces(embedder, sentences)
    vectors = EmbeddingStore(cache_dir).vectors(sentences, embedder.encoder)
    return split_spaces(torch.from_numpy(np.array(vectors)), embedder.heads, embedder.encoder.name, sentences)


def conditions(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Conditions of the first cell that was scored."""
    folder = next((Path(cell["evaluation"]) for cell in cells if "evaluation" in cell), None)
    if folder is None:
        return []
    with (folder / "details.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
