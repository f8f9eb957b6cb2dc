"""Figures before training: the start of a run, scored by its test evaluator."""

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from xsent.data.stores.array_cache import cached_arrays
from xsent.evaluation.evaluator import Evaluator
from xsent.files.array_file import save_array
from xsent.files.atomic import write_text
from xsent.files.strict_json import read_json_object
from xsent.recipes.base import Recipe
from xsent.reporting.metrics import metrics_json
from xsent.reporting.outcomes import encode_outcomes
from xsent.version import __version__

log = logging.getLogger(__name__)

OUTCOME_FORMAT = 2  # of the stored outcomes: a column is stored once
BEFORE = "before.json"  # in the run folder, for a run that is resumed


def score_start(
    recipe: Recipe[Any], evaluator: Evaluator, config: Mapping[str, Any], *, resumes: bool
) -> dict[str, dict[str, Any]]:
    """``metrics`` of the recipe before its first step, None for one that is not finite, and ``outcomes`` of test items.

    They are computed once for the same weights and test sets, and stored in ``cache_dir``. The random streams of
    training do not change.

    Args:
        recipe: prepared for training.
        evaluator: of the test.
        config: of the run.
        resumes: whether training already began; the run folder then has the figures, if they were measured.
    """

    def make(folder: Path) -> None:
        log.info("scoring the start with evaluator %s (score_before=false skips this)", evaluator.name)
        with torch.random.fork_rng(), recipe.eval_mode():
            scored = recipe.evaluation(evaluator, sharded=False)
        metrics = {f"test/{name}": value for name, value in scored.metrics.items()}
        text = metrics_json(metrics, {"outcomes": encode_outcomes(scored.outcomes)})
        save_array(folder / "json.npy", np.frombuffer(text.encode(), np.uint8))

    path = Path(config["run_dir"]) / BEFORE
    if not resumes:
        arrays = cached_arrays(Path(config["cache_dir"]), "before", _key(recipe, evaluator, config), make)
        write_text(path, arrays["json"].tobytes().decode())
    return read_json_object(path) if path.is_file() else {}


def _key(recipe: Recipe[Any], evaluator: Evaluator, config: Mapping[str, Any]) -> str:
    """Hex digest of all that decides the figures."""
    encoder: Any = recipe.encoder  # of a judge of pairs, the judge
    options = json.dumps(config["evaluator"], sort_keys=True).replace(config["run_dir"], "")
    digests = [evaluator.digest(), encoder.digest()]
    content = [__version__, OUTCOME_FORMAT, options, *digests, config["trainer"]["precision"]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
