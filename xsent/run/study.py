"""Studies: a grid of runs as one command, each trained once, and a table beside the paper's at the end.

A study is a Hydra sweep whose config has ``study``. Each of its jobs is a cell: one encoder, one objective, one seed.
What a cell trains lies under a digest of all that decides it, so a cell that an earlier study has trained is not
trained again, whatever that study measured, and a killed one goes on from its last checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

import xsent
from xsent.run.building import build, build_evaluator
from xsent.run.config import plain
from xsent.run.evaluating import load_encoder, report, spaces_of

if TYPE_CHECKING:
    from xsent.batch import Embedder
    from xsent.data.training_data import TrainingData
    from xsent.evaluation.evaluator import Evaluator

log = logging.getLogger(__name__)

CELL = "cell.json"  # in the folder of a Hydra job: what became of the cell
DONE = "metrics.json"  # a run or an evaluation is finished when it has written this
# Names of settings that say where something lies: a digest of what was read there stands for them.
PLACES = {"root", "reader", "folder", "out", "cache_dir", "num_workers", "dictionaries", "augmented", "error_types"}


def run_cell(cfg: DictConfig) -> float | None:
    """Train and score one cell, or find that done; an error is noted, so that the other cells go on.

    Returns:
        The best value of the monitored validation metric; None if the cell failed.
    """
    from xsent.reporting.files import write_text

    path = cfg.study.encoder_paths.get(cfg.study.encoder)
    if path is not None:
        OmegaConf.update(cfg, "encoder.path", path)
    config = plain(cfg)
    study = config["study"]
    cell: dict[str, Any] = {"encoder": study["encoder"], "objective": study["objective"], "seed": config["seed"]}
    try:
        cell |= _finished_cell(cfg, config)
    except Exception as error:
        log.exception("cell %s %s %s failed", *cell.values())
        cell["error"] = f"{type(error).__name__}: {error}"
    write_text(Path(config["run_dir"]) / CELL, json.dumps(cell, indent=1))
    best: float | None = cell.get("best")
    return best


def _finished_cell(cfg: DictConfig, config: dict[str, Any]) -> dict[str, Any]:
    from xsent.run.frozen import train_apart
    from xsent.run.training import encoder_device, train_run

    data = _data(json.dumps(config["data"], sort_keys=True))
    evaluator = build_evaluator(config["evaluator"], data, split="test")
    encoder = build(config["encoder"]).to(encoder_device(config["trainer"]))
    data.read()
    if evaluator is not None:
        evaluator.check()
    study = config["study"]
    label = f"{study['encoder']}-{study['objective']}-{config['seed']}"
    folder = Path(study["cells_dir"]) / f"{label}-{training_key(config, data.digest(), encoder.digest())[:12]}"
    if (folder / DONE).is_file():
        log.info("%s was trained before: %s", label, folder)
    else:
        last = (folder / "checkpoints" / "last.ckpt").is_file()
        log.info("%s is trained%s in %s", label, ", from where it was interrupted," if last else "", folder)
        own = training_config(cfg, folder, resume=last)
        if own["trainer"]["strategy"] == "auto":
            train_run(own, data)
        else:
            train_apart(own)
    trained = json.loads((folder / DONE).read_text(encoding="utf-8"))
    metrics = {} if evaluator is None else _scores(evaluator, config, folder, encoder_device(config["trainer"]))
    members = getattr(evaluator, "members", [evaluator])
    missing = {one.name: absent for one in members if (absent := getattr(one, "absent", []))}
    return {"folder": str(folder), "best": trained["best"], "metrics": metrics, "missing": missing}


def training_config(cfg: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
    """The resolved config of a plain run that trains the cell in its own folder and evaluates nothing."""
    own: DictConfig = OmegaConf.create(OmegaConf.to_container(cfg, resolve=False))  # type: ignore[assignment]
    changes = {"run_dir": str(folder), "ckpt_path": "last" if resume else None, "evaluator": None, "study": None}
    for key, value in changes.items():
        OmegaConf.update(own, key, value, merge=False)
    return plain(own)


def training_key(config: Mapping[str, Any], data_digest: str, encoder_digest: str) -> str:
    """Hex digest of all that decides what a cell learns: settings, data, frozen encoder, version of this package.

    Where things lie plays no part, nor do logging and evaluation; all of the trainer's settings do.
    """
    parts = ("recipe", "data", "trainer", "callbacks", "seed", "final")
    content = [xsent.__version__, {part: _without_places(config[part]) for part in parts}, data_digest, encoder_digest]
    return _digest(content)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _without_places(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_places(item) for key, item in value.items() if key not in PLACES}
    return value


@lru_cache(maxsize=1)
def _data(config: str) -> TrainingData:
    # The cells of a sweep run in one process, mostly on the same data: they are read once.
    data: TrainingData = build(json.loads(config))
    return data


def _scores(evaluator: Evaluator, config: dict[str, Any], folder: Path, device: str) -> dict[str, float]:
    """Metrics of the cell's encoder, from an earlier evaluation of the same test sets or from now."""
    from xsent.evaluation.evaluator import score_spaces, tell_cuts
    from xsent.reporting.environment import environment

    start = time.perf_counter()
    key = _digest([xsent.__version__, _without_places(config["evaluator"]), evaluator.digest()])
    own = folder / "evaluations" / f"{evaluator.name}-{key[:12]}"
    if not (own / DONE).is_file():
        embedder = load_encoder(folder, device=device)
        tell_cuts(evaluator, embedder)
        scored = score_spaces(evaluator, _spaces(embedder, evaluator.sentences(), Path(config["cache_dir"])))
        about = environment() | {"encoder": embedder.digest(), "data": evaluator.digest(), "seed": config["seed"]}
        report(scored, embedder, config=config, about=about, folder=own, start=start, show=False)
    metrics: dict[str, float | None] = json.loads((own / DONE).read_text(encoding="utf-8"))["metrics"]
    log.info("figures: %s", own)
    return {name.removeprefix("test/"): float("nan") if value is None else value for name, value in metrics.items()}


def _spaces(embedder: Embedder, sentences: list[str], cache_dir: Path) -> dict[str, Any]:
    """As ``spaces_of``; the vectors below the heads are kept, as all cells of an encoder share them."""
    import numpy as np
    import torch

    from xsent.data.embedding_store import EmbeddingStore
    from xsent.models.disentangled import DisentangledEncoder, split

    if not isinstance(embedder, DisentangledEncoder):
        return spaces_of(embedder, sentences)
    vectors = EmbeddingStore(cache_dir).vectors(sentences, embedder.encoder)
    return split(torch.from_numpy(np.array(vectors)), embedder.heads)


class StudyReport(Callback):
    """At the end of a study: the table beside the paper's, on screen and on disk, and figures if the study has any."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        from xsent.reporting.study import report_study

        folder = Path(config.hydra.sweep.dir)
        found = sorted(folder.glob(f"*/{CELL}"), key=lambda path: int(path.parent.name))
        cells = [json.loads(path.read_text(encoding="utf-8")) for path in found]
        report_study(cells, OmegaConf.to_container(config.study, resolve=False), folder=folder)  # type: ignore[arg-type]
        if config.study.figures is not None:
            _draw([cell for cell in cells if "error" not in cell], config, folder)
        if failed := [cell for cell in cells if "error" in cell]:
            names = ", ".join(f"{cell['encoder']} {cell['objective']} {cell['seed']}" for cell in failed)
            # Hydra turns an exception of a callback into a warning; a study with holes is no success.
            raise SystemExit(f"{len(failed)} of {len(cells)} cells failed: {names}; the log above says why")


def _draw(cells: list[dict[str, Any]], config: DictConfig, folder: Path) -> None:
    """The figures of each encoder and seed: a panel per objective, in every one the same held-out pairs."""
    from xsent.data.bitext import BitextData
    from xsent.data.heldout import HeldOut
    from xsent.reporting.figures import study_figures

    wanted: dict[str, Any] = OmegaConf.to_container(config.study.figures)  # type: ignore[assignment]
    data = _data(json.dumps(OmegaConf.to_container(config.data, resolve=True), sort_keys=True))
    data.read()
    if not isinstance(data, BitextData):
        raise ValueError(f"a study's figures are of translation pairs, data={data.name} holds {data.holds}")
    if absent := [language for language in wanted["languages"] if language not in data.languages]:
        log.warning("no figures of %s: the data have %s", ", ".join(absent), ", ".join(data.languages))
    held_out = HeldOut(pairs_per_language=wanted["pairs"])
    held_out.use(data, "test")
    pairs = held_out(None, [language for language in wanted["languages"] if language in data.languages])
    for encoder, seed in dict.fromkeys((cell["encoder"], cell["seed"]) for cell in cells):
        chosen = [cell for cell in cells if (cell["encoder"], cell["seed"]) == (encoder, seed)]
        panels = {cell["objective"]: _embed(cell["folder"], Path(config.cache_dir)) for cell in chosen}
        study_figures(
            panels,
            pairs,
            title=f"{encoder}, seed {seed}",
            spaces=("meaning", "language"),
            folder=folder / "figures" / f"{encoder}-{seed}",
            cache_dir=Path(config.cache_dir),
            seed=seed,
            perplexity=wanted["perplexity"],
        )


def _embed(folder: str, cache_dir: Path) -> Callable[[list[str]], dict[str, Any]]:
    return lambda sentences: _spaces(load_encoder(folder), sentences, cache_dir)
