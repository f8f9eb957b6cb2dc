"""Training run: build, train, evaluate, write the run folder."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from xsent.config_checks import UsageError
from xsent.run.announce import is_empty
from xsent.run.config.build import build, build_both_evaluators, build_recipe, check_fits, check_monitors
from xsent.run.config.compose import check_same_config, plain
from xsent.run.evaluation import check_pictures, finish_run, silence_libraries
from xsent.run.start import writing
from xsent.sigterm import raise_terminated

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from xsent.callbacks import RunStopper
    from xsent.data.modules.base import TrainingData
    from xsent.models.encoders.base import Encoder

log = logging.getLogger(__name__)


def train(cfg: DictConfig) -> float | None:
    """Train a recipe and evaluate the result; everything is written to the run folder.

    Returns:
        The best value of the monitored validation metric, for sweeps.
    """
    return train_run(plain(cfg))


def train_run(
    config: dict[str, Any], data: TrainingData | None = None, *, stopper: RunStopper | None = None
) -> float | None:
    """``train`` with a resolved config.

    Args:
        data: of ``config["data"]``, which may be read already; None: built here.
        stopper: callback that can end the run without its final evaluation.
    """
    with writing(Path(config["run_dir"])):
        return _train_run(config, data, stopper)


def _train_run(config: dict[str, Any], data: TrainingData | None, stopper: RunStopper | None) -> float | None:
    start = time.perf_counter()
    import pytorch_lightning as pl

    from xsent.callbacks import Checkpoints, EvaluateOnValidation
    from xsent.checkpoint import HashedCheckpointIO, load_checkpoint
    from xsent.data.stores.embeddings import EmbeddingStore
    from xsent.distributed import is_lost_connection, rank
    from xsent.evaluation.evaluator import Evaluation
    from xsent.files.atomic import write_text
    from xsent.recipes.encoder_folder import check_encoder_folder
    from xsent.reporting.environment import environment
    from xsent.reporting.run_outputs import remove_outputs
    from xsent.reporting.secrets import redact
    from xsent.run.before import score_start
    from xsent.run.progress import progress_callbacks

    silence_libraries()
    data = build(config["data"], "data") if data is None else data
    run_dir = Path(config["run_dir"])
    pl.seed_everything(config["seed"], verbose=False)

    ckpt_path = run_dir / "checkpoints" / "last.ckpt" if config["ckpt_path"] == "last" else config["ckpt_path"]
    state = load_checkpoint(Path(ckpt_path)) if ckpt_path else None

    # All checks come before any long computation.
    pictures = config["pictures"]
    check_pictures(pictures)
    check_fits(config, data)
    device = encoder_device(config["trainer"])
    validation_evaluator, evaluator = build_both_evaluators(config["evaluator"], data, device=device)
    data.read()
    recipe_class = get_object(config["recipe"]["_target_"])
    for each_evaluator in filter(None, (validation_evaluator, evaluator)):
        recipe_class.check_evaluator(each_evaluator)
        each_evaluator.check()
    if data.ledger.rejects:
        data.ledger.write(run_dir / "rejects.tsv")

    encoder: Encoder = build(config["encoder"], "encoder")
    encoder.to(device)
    recipe = build_recipe(config, encoder)
    check_monitors(config["callbacks"], validation_evaluator, recipe)
    if config["save_encoder"] is not None and not recipe.can_save_encoder:
        raise UsageError("save_encoder: this recipe trains no encoder that can be saved alone; use xsent.load_encoder")
    if config["save_encoder"] is not None:
        check_encoder_folder(Path(config["save_encoder"]), source=config["encoder"].get("path"))
    to_draw = data.sample_sentences(
        "test", languages=pictures["languages"], per_language=pictures["pairs_per_language"]
    )
    if state is not None:
        check_same_config(state["xsent"]["config"], config)
        recipe.load_encoder(state["state_dict"])
        recipe.prepare_resume(state["xsent"])
    callbacks: dict[str, pl.Callback] = build(config["callbacks"], "callbacks")
    if validation_evaluator is not None:
        callbacks["evaluation"] = EvaluateOnValidation(
            evaluator=validation_evaluator, every_n_epochs=config["evaluate_every_n_epochs"]
        )
    if stopper is not None:
        callbacks = {"stopper": stopper, **callbacks}  # decides on an epoch before its checkpoint is saved
    progress = progress_callbacks(list(callbacks.values()), shows_bar=config["trainer"]["enable_progress_bar"])
    trainer: pl.Trainer = build({**config["trainer"], "_partial_": True}, "trainer")(
        callbacks=[*callbacks.values(), *progress],
        logger=build(config["logger"], "logger") if config["logger"] else False,
        plugins=[HashedCheckpointIO()],
        default_root_dir=run_dir,
    )
    recipe.prepare(data, EmbeddingStore(Path(config["cache_dir"])))
    if evaluator is not None:
        evaluator.bind_encoder(encoder)

    if _is_main_process():
        remove_outputs(run_dir, with_curves=state is None)
        write_text(run_dir / "config.yaml", OmegaConf.to_yaml(redact(config)))
    test_sets = None if evaluator is None else evaluator.digest()
    recipe.start_digest = recipe.start_digest or encoder.digest()  # a resumed run has the digest of its start
    digests = {"data": data.digest(), "encoder": recipe.start_digest, "test_sets": test_sets}
    about = environment() | digests | {"training_data": data.summary(), "seed": config["seed"]}
    if _is_main_process():
        write_text(run_dir / "environment.json", json.dumps(about, indent=1))
    trains = state is not None or not is_empty(config["trainer"])
    before: dict[str, Any] = {}
    has_start = trains and config["score_before"] and recipe.trained_space is not None
    if has_start and evaluator is not None and _is_main_process():
        before = score_start(recipe, evaluator, config, resumes=state is not None)
    if trainer.logger is not None:
        trainer.logger.log_hyperparams(redact(config))

    if trains:
        try:
            with raise_terminated():
                trainer.fit(recipe, datamodule=data, ckpt_path=ckpt_path)
        except RuntimeError as error:
            if not is_lost_connection(error):
                raise
            raise RuntimeError(
                "the connection to another process of this run is lost; it has probably ended, and its last message"
                " says why; ckpt_path=last resumes the run"
            ) from error

    best = monitor = final = None
    checkpoints = callbacks.get("checkpoints")
    if isinstance(checkpoints, Checkpoints):
        best, monitor, final = checkpoints.best, checkpoints.monitor, checkpoints.folder / f"{config['final']}.ckpt"
    if stopper is not None and stopper.has_stopped:
        return best
    if rank() == 0:
        if final is not None and trains:
            recipe.load_state_dict(load_checkpoint(final)["state_dict"])
        recipe.to(device)
        epochs = math.ceil(recipe.batches_seen / data.steps_per_epoch)
        about |= {"epochs": epochs, "batches": recipe.batches_seen, "monitor": monitor, "best": best}
        space, heading = recipe.trained_space, "trained" if trains else "before training"
        about |= {"parameters": sum(weight.numel() for weight in encoder.parameters())}
        about |= {"before": before, "columns": {} if space is None else {space: heading}}
        if config["save_encoder"] is not None:
            recipe.save_encoder(Path(config["save_encoder"]))
        scored = Evaluation({}, []) if evaluator is None else recipe.evaluation(evaluator, sharded=False)
        finish_run(scored, recipe, recipe.vectors, to_draw, config=config, about=about, start=start)
    return best


def encoder_device(trainer: Mapping[str, Any]) -> str:
    """Device of the encoder in this process, from the trainer's config."""
    import torch

    if trainer["accelerator"] == "cpu" or not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"


def _is_main_process() -> bool:
    # Valid before Lightning starts the other processes, and in them.
    return os.environ.get("LOCAL_RANK", "0") == "0"
