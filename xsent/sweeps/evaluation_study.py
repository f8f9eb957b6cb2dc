"""Studies of ``evaluate.py``: Hydra sweeps over encoders and trained runs that reproduce a table without training.

Each job of the sweep is a cell: an encoder of ``encoder=A,B`` or a run of ``ckpt=null,RUN``, where null is the encoder,
and one evaluator. A cell is scored once: its folder is named by the digest of the model, and its scores by those of the
evaluator's config and test sets.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from xsent import sigterm
from xsent.files.atomic import write_text
from xsent.files.strict_json import read_json_object
from xsent.run.config.build import build, build_evaluator
from xsent.run.config.compose import marked_name, plain, without_hydra
from xsent.run.errors import format_error
from xsent.run.evaluation import silence_libraries
from xsent.run.loading import check_source, load_model
from xsent.sweeps.cells import CELL, conditions, score_cell

if TYPE_CHECKING:
    from xsent.evaluation.evaluator import Evaluator

log = logging.getLogger(__name__)


def run_evaluation_cell(cfg: DictConfig) -> dict[str, float]:
    """Score one cell unless that was done; an error is stored in ``cell.json`` and the sweep continues.

    Returns:
        The metrics; none if the cell failed, or if an earlier job has the same model and evaluator.
    """
    path = cfg.study.encoder_paths.get(cfg.study.encoder)
    if path is not None:
        OmegaConf.update(cfg, "encoder.path", path)
    config = plain(cfg)
    folder, ckpt = Path(config["run_dir"]), config["ckpt"]
    name = marked_name(config["study"]["encoder"], config["encoder"].get("alpha", 0))
    if ckpt is not None:
        name = Path(ckpt).name
    cell: dict[str, Any] = {"encoder": name, "ckpt": ckpt, "evaluator": config["evaluator"]["name"]}
    cell["dim"] = config["encoder"].get("dim") if ckpt is None else None
    if any(_is_same(cell, read_json_object(path, allow_nan=True)) for path in folder.parent.glob(f"*/{CELL}")):
        log.info("%s is in an earlier job of this study", name)
        return {}
    try:
        if config["study"]["view"] != "difficulty":  # which needs no encoder
            cell |= _score(config, name)
    except Exception as error:
        if sigterm.received():  # Hydra would go on with the next cell
            raise sigterm.Terminated from error
        log.warning("cell %s failed: %s", name, format_error(error))
        cell["error"] = format_error(error)
    write_text(folder / CELL, json.dumps(cell, indent=1))
    metrics: dict[str, float] = cell.get("metrics", {})
    return metrics


def _is_same(cell: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    return all(earlier[key] == value for key, value in cell.items())


def _score(config: dict[str, Any], name: str) -> dict[str, Any]:
    silence_libraries()
    if config["ckpt"] is not None:
        check_source(config["ckpt"])
    evaluator = _evaluator(_json(config["evaluator"]), config["device"])
    if config["ckpt"] is None:
        model = build(config["encoder"], "encoder").to(config["device"])
    else:
        model, _ = load_model(config["ckpt"], device=config["device"], trust_remote_code=config["trust_remote_code"])
    folder = Path(config["study"]["cells_dir"]) / f"{name}-{model.digest()[:12]}"
    return score_cell(evaluator, config, folder, lambda: model)


def _json(config: Any) -> str:
    return json.dumps(config, sort_keys=True)


@lru_cache(maxsize=1)
def _evaluator(config: str, device: str) -> Evaluator:
    # The cells of a sweep run in one process, mostly on the same test sets, so these are read once.
    evaluator = build_evaluator(json.loads(config), None, split="test", device=device)
    if evaluator is None:
        raise ValueError("evaluator=none: a study of evaluate.py needs an evaluator")
    return evaluator


class EvaluationStudyReport(Callback):
    """Hydra callback that writes the tables and the page of a study of ``evaluate.py``, when all cells have ended."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        from xsent.reporting.evaluation_study import report_evaluations

        folder = Path(config.hydra.sweep.dir)
        paths = sorted(folder.glob(f"*/{CELL}"), key=lambda path: int(path.parent.name))
        cells = [read_json_object(path, allow_nan=True) for path in paths]
        for cell in cells:
            cell["details"] = conditions([cell])
        study: dict[str, Any] = OmegaConf.to_container(config.study, resolve=True)  # type: ignore[assignment]
        published: Any = OmegaConf.to_container(config.published, resolve=True)

        def sets() -> Any:
            evaluator: Any = _evaluator(_json(plain(without_hydra(config.copy()))["evaluator"]), config.device)
            return evaluator.test_sets

        report_evaluations(cells, study, folder=folder, published=published, sets=sets, seed=config.seed)
        if failed := [f"{cell['encoder']} with {cell['evaluator']}" for cell in cells if "error" in cell]:
            # Hydra turns other exceptions of a callback into a warning.
            raise SystemExit(f"{len(failed)} of {len(cells)} cells failed: {', '.join(failed)}; see the log above")
