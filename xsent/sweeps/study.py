"""Studies: Hydra sweeps that reproduce a table of a paper; each cell is trained once, whichever study needs it.

The config of a study has ``study``. Each job of the sweep is a cell: one encoder, one objective, one seed,
and maybe one value of a setting that the table averages over. The folder
of a cell is named by a digest of all that decides its training. A cell that an earlier study trained is therefore not
trained again, and a killed one resumes from its last checkpoint.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

import xsent
from xsent import sigterm
from xsent.files.atomic import write_text
from xsent.files.strict_json import read_json_object
from xsent.run.config.build import build, build_evaluator
from xsent.run.config.compose import marked_name, plain, without_keys
from xsent.run.errors import format_error
from xsent.run.loading import load_encoder, load_model
from xsent.sweeps.cells import CELL, METRICS_FILE, PATH_KEYS, conditions, content_digest, embed_cell, score_cell

if TYPE_CHECKING:
    from xsent.data.modules.base import TrainingData
    from xsent.evaluation.evaluator import Bitext

log = logging.getLogger(__name__)


def run_cell(cfg: DictConfig) -> float | None:
    """Train and score one cell unless that was done; an error is stored in ``cell.json`` and the sweep continues.

    Returns:
        The best value of the monitored validation metric; None if the cell failed or the table has no such row.
    """
    if cfg.study.objective in cfg.study.skip:
        log.info("no row for %s in %s", cfg.study.objective, cfg.study.name)
        return None
    path = cfg.study.encoder_paths.get(cfg.study.encoder)
    if path is not None:
        OmegaConf.update(cfg, "encoder.path", path)
    config = plain(cfg)
    study, alpha = config["study"], config["encoder"].get("alpha", 0)
    study["encoder"] = marked_name(study["encoder"], alpha)
    cell: dict[str, Any] = {"encoder": study["encoder"], "objective": study["objective"], "seed": config["seed"]}
    cell["language_marking"] = alpha
    try:
        cell |= _train_and_score(cfg, config)
    except Exception as error:
        if sigterm.received():  # Hydra would go on with the next cell
            raise sigterm.Terminated from error
        log.warning("cell %s %s %s with marks of length %g failed: %s", *cell.values(), format_error(error))
        cell["error"] = format_error(error)
    write_text(Path(config["run_dir"]) / CELL, json.dumps(cell, indent=1))
    best: float | None = cell.get("best")
    return best


def _train_and_score(cfg: DictConfig, config: dict[str, Any]) -> dict[str, Any]:
    from xsent.reporting.pages.study import check_picture
    from xsent.run.single_run import train_in_subprocess
    from xsent.run.training import encoder_device, train_run

    check_picture(config["study"]["picture"])
    data = _data(json.dumps(config["data"], sort_keys=True))
    evaluator = build_evaluator(config["evaluator"], data, split="test")
    encoder = build(config["encoder"], "encoder").to(encoder_device(config["trainer"]))
    data.read()
    if evaluator is not None:
        evaluator.check()
    study = config["study"]
    label = f"{study['encoder']}-{study['objective']}-{config['seed']}"
    # An evaluator that selects the epoch decides what is learned.
    test_sets = evaluator.digest() if evaluator is not None and selects_epoch(config) else None
    key = training_key(config, data.digest(), encoder.digest(), test_sets)
    folder = Path(study["cells_dir"]) / f"{label}-{key[:12]}"
    if (folder / METRICS_FILE).is_file():
        log.info("%s was trained before: %s", label, folder)
    else:
        last = (folder / "checkpoints" / "last.ckpt").is_file()
        log.info("%s %s in %s", "resume" if last else "train", label, folder)
        run_config = training_config(cfg, folder, resume=last)
        if run_config["trainer"]["strategy"] == "auto":
            train_run(run_config, data)
        else:
            train_in_subprocess(run_config)
    best = read_json_object(folder / METRICS_FILE)["best"]
    cell: dict[str, Any] = {"folder": str(folder), "best": best, "setting": study["setting"], "metrics": {}}
    if evaluator is not None:
        device, trust = encoder_device(config["trainer"]), config["trust_remote_code"]
        load = partial(load_model, folder, device=device, trust_remote_code=trust)
        cell |= score_cell(evaluator, config, folder, lambda: load()[0])
        cell["missing"] = {member.name: member.absent for member in evaluator.members if member.absent}
        if study["untrained"] is not None:
            untrained = Path(study["cells_dir"]) / f"{study['encoder']}-untrained-{encoder.digest()[:12]}"
            cell["untrained"] = score_cell(evaluator, config, untrained, lambda: encoder)["metrics"]
    return cell


def training_config(cfg: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
    """Resolved config of a run that trains the cell in its folder; it evaluates only what selects its best epoch."""
    config: DictConfig = OmegaConf.create(OmegaConf.to_container(cfg, resolve=False))  # type: ignore[assignment]
    changes = {"run_dir": str(folder), "ckpt_path": "last" if resume else None, "study": None, "score_before": False}
    if not selects_epoch(plain(cfg)):
        changes["evaluator"] = None
    for key, value in changes.items():
        OmegaConf.update(config, key, value, merge=False)
    return plain(config)


def selects_epoch(config: Mapping[str, Any]) -> bool:
    """Whether a callback monitors a figure of the evaluator."""
    prefix = f"val/{(config['evaluator'] or {}).get('name')}/"
    return any(str(callback.get("monitor")).startswith(prefix) for callback in config["callbacks"].values())


def training_key(
    config: Mapping[str, Any], data_digest: str, encoder_digest: str, test_sets_digest: str | None = None
) -> str:
    """Hex digest of all that decides what a cell learns: config, data, frozen encoder, version of xsent.

    All settings of the trainer count; paths and logging do not, nor does an evaluator, unless the digest of its test
    sets is given because it selects the best epoch.
    """
    parts = ("recipe", "data", "trainer", "callbacks", "seed", "final")
    content = [
        xsent.__version__,
        {part: without_keys(config[part], PATH_KEYS) for part in parts},
        data_digest,
        encoder_digest,
    ]
    if test_sets_digest is not None:
        content += [without_keys(config["evaluator"], PATH_KEYS), test_sets_digest]
    return content_digest(content)


@lru_cache(maxsize=1)
def _data(config: str) -> TrainingData:
    # The cells of a sweep run in one process, mostly on the same data, so these are read once.
    data: TrainingData = build(json.loads(config), "data")
    return data


class StudyReport(Callback):
    """Hydra callback that writes the table of a study beside the paper's, and its plots, when all cells have ended."""

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        from xsent.reporting.pages.markings import report_markings
        from xsent.reporting.pages.study import write_study
        from xsent.reporting.tables.study import report_study

        folder = Path(config.hydra.sweep.dir)
        paths = sorted(folder.glob(f"*/{CELL}"), key=lambda path: int(path.parent.name))
        cells = [read_json_object(path, allow_nan=True) for path in paths]
        study: dict[str, Any] = OmegaConf.to_container(config.study, resolve=False)  # type: ignore[assignment]
        if study.get("markings") is None:
            published: Any = OmegaConf.to_container(config.published, resolve=True)
            study["paper"] = OmegaConf.to_container(config.study.paper, resolve=True)
            results = report_study(cells, study, folder=folder, published=published, details=conditions(cells))
            if results.figures:
                write_study(results, study, folder=folder)
        else:
            report_markings(cells, study, folder=folder)
        if config.study.figures is not None:
            _draw([cell for cell in cells if "error" not in cell], config, folder)
        if failed := [cell for cell in cells if "error" in cell]:
            names = ", ".join(f"{cell['encoder']} {cell['objective']} {cell['seed']}" for cell in failed)
            # Hydra turns other exceptions of a callback into a warning.
            raise SystemExit(f"{len(failed)} of {len(cells)} cells failed: {names}; see the log above")


def _draw(cells: list[dict[str, Any]], config: DictConfig, folder: Path) -> None:
    """Plot the same held-out pairs for each encoder and seed, with one panel per objective."""
    from xsent.data.modules.bitext import BitextData
    from xsent.data.test_sets.heldout import HeldOut
    from xsent.reporting.pages.oracle_figures import study_figures

    options: dict[str, Any] = OmegaConf.to_container(config.study.figures)  # type: ignore[assignment]
    data = _data(json.dumps(OmegaConf.to_container(config.data, resolve=True), sort_keys=True))
    data.read()
    if not isinstance(data, BitextData):
        raise ValueError(f"the plots of a study need translation pairs, data={data.name} holds {data.description}")
    if absent := [language for language in options["languages"] if language not in data.language_codes]:
        log.warning("no plots of %s: the data have %s", ", ".join(absent), ", ".join(data.language_codes))
    held_out = HeldOut(pairs_per_language=options["pairs"])
    held_out.bind(data, "test")
    pairs = held_out(None, [language for language in options["languages"] if language in data.language_codes])
    for encoder, seed in dict.fromkeys((cell["encoder"], cell["seed"]) for cell in cells):
        panels = {
            cell["objective"]: _embed(
                cell["folder"], pairs, Path(config.cache_dir), trust_remote_code=config.trust_remote_code
            )
            for cell in cells
            if (cell["encoder"], cell["seed"]) == (encoder, seed)
        }
        study_figures(
            panels,
            pairs,
            title=f"{encoder}, seed {seed}",
            spaces=("meaning", "language"),
            folder=folder / "figures" / f"{encoder}-{seed}",
            cache_dir=Path(config.cache_dir),
            seed=seed,
            perplexity=options["perplexity"],
        )


def _embed(
    folder: str, pairs: Sequence[Bitext], cache_dir: Path, *, trust_remote_code: bool
) -> Callable[[list[str]], dict[str, Any]]:
    from xsent.evaluation.evaluator import tell_languages

    def embed(sentences: list[str]) -> dict[str, Any]:
        embedder = load_encoder(folder, trust_remote_code=trust_remote_code)
        tell_languages(embedder, pairs)
        return embed_cell(embedder, sentences, cache_dir)

    return embed
