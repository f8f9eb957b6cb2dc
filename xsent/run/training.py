"""``train.py``: from a composed config to a finished run."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from xsent.run.building import build, build_both_evaluators, build_recipe, check_fits, check_monitors, check_sizes
from xsent.run.config import check_same_config, plain
from xsent.run.evaluating import check_pictures, draw, quiet_libraries, report, say_done, write_page
from xsent.run.masking import mask_hydra_files

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from xsent.data.training_data import TrainingData
    from xsent.evaluation.evaluator import Evaluator
    from xsent.models.encoder import Encoder
    from xsent.recipes.base import Recipe
    from xsent.run.search.pruning import Pruning

log = logging.getLogger(__name__)


def train(cfg: DictConfig) -> float | None:
    """Train a recipe, evaluate what it learned, and leave everything in the run folder.

    As a cell of a study (``study`` in the config) it trains only what no earlier cell has trained. A search
    (``hparams_search``) trains many runs, each in a process of its own.

    Returns:
        The best value of the monitored validation metric, for sweeps.
    """
    from xsent.run.study import run_cell

    mask_hydra_files()
    quiet_libraries()
    if cfg.get("hparams_search") is not None:
        from xsent.run.search import run_search

        return run_search(cfg)
    config = plain(cfg)
    if config["study"] is not None:
        return run_cell(cfg)
    return train_run(config, build(config["data"]))


def train_run(config: dict[str, Any], data: TrainingData, *, pruning: Pruning | None = None) -> float | None:
    """``train`` of a resolved config, on data that may have been read before.

    As a trial of a search it has a ``pruning``; given up by that, it is not evaluated.
    """
    import pytorch_lightning as pl

    from xsent.callbacks import Checkpoints, EvaluateOnValidation
    from xsent.checkpoint import HashedCheckpointIO, load_checkpoint
    from xsent.data.embedding_store import EmbeddingStore
    from xsent.distributed import rank
    from xsent.reporting.earlier import remove_outputs
    from xsent.reporting.environment import environment
    from xsent.reporting.files import write_text
    from xsent.reporting.report.shell import check_assets
    from xsent.reporting.secrets import redact

    quiet_libraries()
    start = time.perf_counter()
    run_dir = Path(config["run_dir"])
    pl.seed_everything(config["seed"], verbose=False)

    ckpt_path = run_dir / "checkpoints" / "last.ckpt" if config["ckpt_path"] == "last" else config["ckpt_path"]
    state = load_checkpoint(Path(ckpt_path)) if ckpt_path else None

    # Everything that can be wrong is looked at before any long work.
    check_assets()
    pictures = config["pictures"]
    check_pictures(pictures)
    check_fits(config, data)
    device = encoder_device(config["trainer"])
    validation_evaluator, evaluator = build_both_evaluators(config["evaluator"], data, device=device)
    _say_default_data()
    data.read()
    for one in (validation_evaluator, evaluator):
        if one is not None:
            get_object(config["recipe"]["_target_"]).check_evaluator(one)
            one.check()
    if data.ledger.rejects:
        data.ledger.write(run_dir / "rejects.tsv")

    encoder: Encoder = build(config["encoder"])
    encoder.to(device)
    recipe = build_recipe(config, encoder)
    check_monitors(config["callbacks"], validation_evaluator, recipe)
    if config["save_encoder"] is not None and not recipe.saves_encoder:
        raise ValueError("save_encoder: this recipe trains no encoder with files of its own; use xsent.load_encoder")
    to_draw = data.sample_sentences(
        "test", languages=pictures["languages"], per_language=pictures["pairs_per_language"]
    )
    if state is not None:
        check_same_config(state["xsent"]["config"], config)
        recipe.load_encoder(state["state_dict"])
        recipe.expect(state["xsent"])
    callbacks: dict[str, pl.Callback] = {name: build(value) for name, value in config["callbacks"].items()}
    if validation_evaluator is not None:
        callbacks["evaluation"] = EvaluateOnValidation(
            evaluator=validation_evaluator, every_n_epochs=config["evaluate_every_n_epochs"]
        )
    if pruning is not None:
        callbacks = {"pruning": pruning, **callbacks}  # before the checkpoints of the epoch that it decides on
    trainer: pl.Trainer = build({**config["trainer"], "_partial_": True})(
        callbacks=list(callbacks.values()),
        logger=build(config["logger"]) if config["logger"] else False,
        plugins=[HashedCheckpointIO()],
        default_root_dir=run_dir,
    )
    recipe.prepare(data, EmbeddingStore(Path(config["cache_dir"])))
    check_sizes(evaluator, encoder)

    if _is_main_process():
        remove_outputs(run_dir, with_curves=state is None)
        write_text(run_dir / "config.yaml", OmegaConf.to_yaml(redact(config)))
    test_sets = None if evaluator is None else evaluator.digest()
    digests = {"data": data.digest(), "encoder": encoder.digest(), "test_sets": test_sets}
    about = environment() | digests | {"seed": config["seed"]}
    if _is_main_process():
        write_text(run_dir / "environment.json", json.dumps(about, indent=1))
    if trainer.logger is not None:
        trainer.logger.log_hyperparams(redact(config))

    trainer.fit(recipe, datamodule=data, ckpt_path=ckpt_path)

    checkpoints = callbacks.get("checkpoints")
    best = checkpoints.best if isinstance(checkpoints, Checkpoints) else None
    if pruning is not None and pruning.pruned_after is not None:
        return best
    if rank() == 0:
        if isinstance(checkpoints, Checkpoints):
            final = checkpoints.folder / f"{config['final']}.ckpt"
            recipe.load_state_dict(load_checkpoint(final)["state_dict"])
        recipe.to(device)
        monitor = checkpoints.monitor if isinstance(checkpoints, Checkpoints) else None
        about |= {"epochs": trainer.current_epoch, "batches": recipe.batches_seen, "monitor": monitor, "best": best}
        _finish(recipe, evaluator, to_draw, config, about, start)
    return best


def encoder_device(trainer: Mapping[str, Any]) -> str:
    """Where this process's encoder computes, given the trainer's config."""
    import torch

    if trainer["accelerator"] == "cpu" or not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"


def _finish(
    recipe: Recipe[Any],
    evaluator: Evaluator | None,
    to_draw: tuple[list[str], list[str]],
    config: dict[str, Any],
    about: dict[str, Any],
    start: float,
) -> None:
    from xsent.evaluation.evaluator import Evaluation

    run_dir = Path(config["run_dir"])
    scored = Evaluation({}, [])
    if config["save_encoder"] is not None:
        recipe.save_encoder(Path(config["save_encoder"]))
    if evaluator is not None:
        scored = recipe.evaluation(evaluator, sharded=False)
    report(scored, recipe, config=config, about=about, folder=run_dir, start=start)
    if to_draw[0]:
        draw(recipe.vectors(to_draw[0]), to_draw, config=config, folder=run_dir)
    write_page(run_dir)
    say_done(run_dir, start)


def _say_default_data() -> None:
    if HydraConfig.initialized():
        given = [override.split("=")[0].lstrip("+") for override in HydraConfig.get().overrides.task]
        if not {"data", "experiment", "debug"} & set(given):
            choice = HydraConfig.get().runtime.choices.get("data")
            if choice == "cldr":
                log.info("no data= was given: training on data=cldr (emoji names in 14 languages)")


def _is_main_process() -> bool:
    # Before Lightning has started the other processes, and in them, this alone tells.
    return os.environ.get("LOCAL_RANK", "0") == "0"
