"""From a composed config to a finished run: the one module that knows Hydra."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf

if TYPE_CHECKING:
    import pytorch_lightning as pl

    from xsent.batch import Embedder
    from xsent.data.bitext import BitextData
    from xsent.evaluation.evaluator import Evaluation, Evaluator
    from xsent.recipes.base import SentenceRecipe

log = logging.getLogger(__name__)

# What a config may build. Hydra's own block-list still lets a config call torch.load or write files.
ROOMS = ("losses", "models", "data", "text", "evaluation", "recipes", "reporting", "callbacks")
FOREIGN = {
    *(f"torch.optim.{name}" for name in ("Adagrad", "Adam", "AdamW", "NAdam", "RMSprop", "SGD")),
    *(f"torch.optim.lr_scheduler.{name}" for name in ("ConstantLR", "CosineAnnealingLR", "OneCycleLR")),
    *(f"torch.nn.{name}" for name in ("GELU", "Identity", "ReLU", "SiLU", "Tanh")),
    "pytorch_lightning.Trainer",
    "pytorch_lightning.callbacks.LearningRateMonitor",
    "pytorch_lightning.callbacks.TQDMProgressBar",
    "pytorch_lightning.loggers.TensorBoardLogger",
    "pytorch_lightning.loggers.WandbLogger",
}


def newest_run_folder(runs_dir: str, recipe: str | None, ckpt_path: str | None, now: str) -> str:
    """Folder of this run: a new one, or that of the run that is resumed.

    Raises:
        FileNotFoundError: ``ckpt_path=last`` and there is no run of this recipe with a checkpoint.
    """
    recipe_dir = Path(runs_dir) / (recipe or "none")
    if ckpt_path is None:
        return str(recipe_dir / now)
    if ckpt_path == "last":
        found = sorted(recipe_dir.glob("*/checkpoints/last.ckpt"), key=lambda path: path.stat().st_mtime)
        if not found:
            raise FileNotFoundError(f"ckpt_path=last: no {recipe_dir}/*/checkpoints/last.ckpt to resume")
        return str(found[-1].parent.parent)
    return str(Path(ckpt_path).parent.parent)


def started() -> str:
    """When this run or sweep began, to the microsecond: runs that start side by side never share a folder.

    The other processes of a distributed run inherit it, so that they do share one.
    """
    return os.environ.setdefault("XSENT_STARTED", datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f"))


def register_resolvers() -> None:
    """Make ``${xsent.*:...}`` known to the config files; called before Hydra composes."""
    OmegaConf.register_new_resolver("xsent.run_dir", newest_run_folder, replace=True)
    OmegaConf.register_new_resolver("xsent.started", started, replace=True)
    OmegaConf.register_new_resolver("xsent.offline", _wandb_is_offline, replace=True)


def train(cfg: DictConfig) -> float | None:
    """Train a recipe, evaluate what it learned, and leave everything in the run folder.

    Returns:
        The best value of the monitored validation metric, for sweeps.
    """
    import pytorch_lightning as pl

    from xsent.callbacks import Checkpoints, EvaluateOnValidation
    from xsent.checkpoint import HashedCheckpointIO, load_checkpoint
    from xsent.data.embedding_store import EmbeddingStore
    from xsent.data.heldout import sample_pairs
    from xsent.distributed import rank
    from xsent.reporting.environment import environment
    from xsent.reporting.files import write_text
    from xsent.reporting.secrets import redact

    _quiet_libraries()
    start = time.perf_counter()
    config = _plain(cfg)
    run_dir = Path(config["run_dir"])
    pl.seed_everything(config["seed"], verbose=False)

    ckpt_path = run_dir / "checkpoints" / "last.ckpt" if config["ckpt_path"] == "last" else config["ckpt_path"]
    state = load_checkpoint(Path(ckpt_path)) if ckpt_path else None

    # Everything that can be wrong is looked at before any long work.
    data: BitextData = build(config["data"])
    validation_evaluator = _build_evaluator(config["evaluator"], data, split="valid")
    evaluator = _build_evaluator(config["evaluator"], data, split="test")
    _say_default_data()
    data.read()
    for one in (validation_evaluator, evaluator):
        if one is not None:
            one.check()
    if data.ledger.rejects:
        data.ledger.write(run_dir / "rejects.tsv")

    encoder = build(config["encoder"])
    encoder.to(_encoder_device(config["trainer"]))
    recipe = _build_recipe(config, encoder)
    if config["save_encoder"] is not None and not recipe.saves_encoder:
        raise ValueError("save_encoder: this recipe trains no encoder with files of its own; use xsent.load_encoder")
    pictures = config["pictures"]
    to_draw = sample_pairs(
        data, "test", languages=pictures["languages"], pairs_per_language=pictures["pairs_per_language"]
    )
    if state is not None:
        _check_same_config(state["xsent"]["config"], config)
        recipe.load_encoder(state["state_dict"])
    callbacks: dict[str, pl.Callback] = {name: build(value) for name, value in config["callbacks"].items()}
    if validation_evaluator is not None:
        callbacks["evaluation"] = EvaluateOnValidation(
            evaluator=validation_evaluator, every_n_epochs=config["evaluate_every_n_epochs"]
        )
    trainer: pl.Trainer = build({**config["trainer"], "_partial_": True})(
        callbacks=list(callbacks.values()),
        logger=build(config["logger"]) if config["logger"] else False,
        plugins=[HashedCheckpointIO()],
        default_root_dir=run_dir,
    )
    recipe.prepare(data, EmbeddingStore(Path(config["cache_dir"])))

    if _is_main_process():
        write_text(run_dir / "config.yaml", OmegaConf.to_yaml(redact(config)))
    about = environment() | {"data": data.digest(), "encoder": encoder.digest(), "seed": config["seed"]}
    if _is_main_process():
        write_text(run_dir / "environment.json", json.dumps(about, indent=1))
    if trainer.logger is not None:
        trainer.logger.log_hyperparams(redact(config))

    trainer.fit(recipe, datamodule=data, ckpt_path=ckpt_path)

    checkpoints = callbacks.get("checkpoints")
    best = checkpoints.best if isinstance(checkpoints, Checkpoints) else None
    if rank() == 0:
        if isinstance(checkpoints, Checkpoints):
            final = checkpoints.folder / f"{config['final']}.ckpt"
            recipe.load_state_dict(load_checkpoint(final)["state_dict"])
        recipe.to(_encoder_device(config["trainer"]))
        about |= {"epochs": trainer.current_epoch, "batches": recipe.batches_seen, "val/loss": best}
        _finish(recipe, evaluator, to_draw, config, about, start)
    return best


def evaluate(cfg: DictConfig) -> dict[str, float]:
    """Score an encoder as it is, or what a run learned; returns the metrics."""
    from xsent.evaluation.evaluator import score_spaces
    from xsent.reporting.environment import environment

    _quiet_libraries()
    start = time.perf_counter()
    config = _plain(cfg)
    if config["evaluator"] is None:
        raise ValueError("evaluator=none leaves nothing to do; choose one, e.g. evaluator=tatoeba")
    evaluator = _build_evaluator(config["evaluator"], None, split="test")
    assert evaluator is not None
    evaluator.check()
    if config["ckpt"] is not None:
        embedder = load_encoder(config["ckpt"], device=config["device"])
    else:
        embedder = build(config["encoder"]).to(config["device"])
    sentences = evaluator.sentences()
    vectors = _spaces_of(embedder, sentences)
    about = environment() | {"encoder": embedder.digest(), "seed": config["seed"]}
    scored = score_spaces(evaluator, vectors)
    _report(scored, config, about, start)
    _say_done(Path(config["run_dir"]), start)
    return {f"test/{name}": value for name, value in scored.metrics.items()}


def load_encoder(path: str | os.PathLike[str], *, device: str = "cpu") -> Embedder:
    """The encoder that a run trained, with its heads where it has some.

    Args:
        path: a run folder (then the checkpoint that the run's own table is about: that of its ``final``)
            or a checkpoint file.
        device: where the encoder computes.

    Raises:
        FileNotFoundError: no such run or checkpoint.
        ValueError: the checkpoint is damaged, or its frozen encoder is not the one it was trained on.
    """
    from xsent.checkpoint import load_checkpoint

    path = Path(path)
    checkpoint = load_checkpoint(path / "checkpoints" / "best.ckpt" if path.is_dir() else path)
    config = checkpoint["xsent"]["config"]
    if path.is_dir() and config["final"] != "best":
        checkpoint = load_checkpoint(path / "checkpoints" / f"{config['final']}.ckpt")
    encoder = build(config["encoder"]).to(device)
    recipe = _build_recipe(config, encoder)
    trained: Embedder = recipe.trained_encoder(checkpoint)
    return trained


# ---- building, with an allow-list


def build(config: Mapping[str, Any]) -> Any:
    """Instantiate a config node, its nested nodes included.

    Raises:
        ValueError: a ``_target_`` is outside this project and not on the list of allowed classes.
    """
    check_targets(config)
    try:
        return instantiate(dict(config), _convert_="all")
    except InstantiationException as error:
        # What went wrong is said by the class that refused its arguments.
        raise (error.__cause__ or error) from None


def check_targets(config: object, where: str = "config") -> None:
    """Raise ``ValueError`` at the first ``_target_`` that a config may not build."""
    if isinstance(config, Mapping):
        if "_target_" in config:
            _check_target(str(config["_target_"]), where)
        for key, value in config.items():
            check_targets(value, f"{where}.{key}")
    elif isinstance(config, list | tuple):
        for index, value in enumerate(config):
            check_targets(value, f"{where}[{index}]")


def _check_target(target: str, where: str) -> None:
    if target in FOREIGN:
        return
    parts = target.split(".")
    if parts[0] == "xsent" and len(parts) > 2 and parts[1] in ROOMS:
        # `xsent.checkpoint.torch.load` begins like ours but is not: ask the object where it lives.
        found = get_object(target)
        if str(getattr(found, "__module__", "")).startswith(tuple(f"xsent.{room}" for room in ROOMS)):
            return
    raise ValueError(
        f"{where}._target_: {target} may not be built from a config; allowed are objects of"
        f" xsent.{{{','.join(ROOMS)}}} and {', '.join(sorted(FOREIGN))}"
    )


def _build_recipe(config: dict[str, Any], encoder: Any) -> SentenceRecipe:
    recipe: SentenceRecipe = build({**config["recipe"], "_partial_": True})(encoder=encoder)
    recipe.config = config
    return recipe


def _build_evaluator(config: dict[str, Any] | None, data: BitextData | None, *, split: str) -> Evaluator | None:
    if not config:
        return None
    from xsent.data.heldout import HeldOut

    evaluator: Evaluator = build(config)
    read = getattr(evaluator, "read", None)
    if isinstance(read, HeldOut):
        if data is None:
            raise ValueError("evaluator=heldout scores the data of a training run; choose another, e.g. tatoeba")
        read.data, read.split = data, split  # to be read once the data are
    else:
        evaluator.check()
    return evaluator


def _plain(cfg: DictConfig) -> dict[str, Any]:
    """The resolved config; also refuses what would only be noticed late."""
    config: dict[str, Any] = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
    check_targets(config)
    if config.get("final", "best") not in ("best", "last"):
        raise ValueError(f"final={config['final']}: expected best or last")
    trainer = config.get("trainer", {})
    if trainer.get("limit_train_batches") is not None:
        raise ValueError("trainer.limit_train_batches breaks exact resuming; use data.max_pairs or trainer.max_steps")
    return config


def _check_same_config(before: dict[str, Any], now: dict[str, Any]) -> None:
    """A resumed run must train the same thing: recipe, encoder, data and seed may not differ."""
    for part in ("recipe", "encoder", "data", "seed"):
        if before[part] != now[part]:
            raise ValueError(
                f"the run to resume had another {part}: {_first_difference(before[part], now[part], part)};"
                " start a new run, or give the same options"
            )


def _first_difference(before: object, now: object, where: str) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in before.keys() | now.keys():
            if before.get(key) != now.get(key):
                return _first_difference(before.get(key), now.get(key), f"{where}.{key}")
    return f"{where} was {before!r}, is {now!r}"


# ---- the end of a run


def _finish(
    recipe: SentenceRecipe,
    evaluator: Evaluator | None,
    to_draw: tuple[list[str], list[str]],
    config: dict[str, Any],
    about: dict[str, Any],
    start: float,
) -> None:
    from xsent.evaluation.evaluator import Evaluation, score_spaces
    from xsent.reporting.pictures import projection_pictures

    run_dir = Path(config["run_dir"])
    scored = Evaluation({}, [])
    if config["save_encoder"] is not None:
        recipe.save_encoder(Path(config["save_encoder"]))
    if evaluator is not None:
        scored = score_spaces(evaluator, recipe.embed(evaluator.sentences(), progress=True))
    _report(scored, config, about, start)
    sentences, languages = to_draw
    perplexity = config["pictures"]["perplexity"]
    if len(sentences) > perplexity:
        vectors = recipe.embed(sentences, progress=False)
        paths = projection_pictures(
            vectors, languages, folder=run_dir / "pictures", seed=config["seed"], perplexity=perplexity
        )
        log.info("pictures: %s", ", ".join(str(path) for path in paths))
    elif sentences:
        log.warning("no pictures: %d held-out sentences are too few", len(sentences))
    _say_done(run_dir, start)


def _report(scored: Evaluation, config: dict[str, Any], about: dict[str, Any], start: float) -> None:
    from xsent.reporting.results import report_results

    about = about | {"seconds": time.perf_counter() - start}
    report_results(scored, config=config, about=about, folder=Path(config["run_dir"]))


def _spaces_of(embedder: Any, sentences: Sequence[str]) -> dict[str, Any]:
    embed = getattr(embedder, "embed", None)
    if embed is not None:
        return dict(embed(sentences, progress=True))
    return {"original": embedder.encode(sentences, progress=True)}


# ---- small things


def _say_done(run_dir: Path, start: float) -> None:
    log.info("done in %.0f s; everything is in %s", time.perf_counter() - start, run_dir)


def _say_default_data() -> None:
    if HydraConfig.initialized():
        given = [override.split("=")[0].lstrip("+") for override in HydraConfig.get().overrides.task]
        if not {"data", "experiment", "debug"} & set(given):
            choice = HydraConfig.get().runtime.choices.get("data")
            log.info("no data= was given: training on data=%s (emoji names in 14 languages)", choice)


def _is_main_process() -> bool:
    # Before Lightning has started the other processes, and in them, this alone tells.
    return os.environ.get("LOCAL_RANK", "0") == "0"


def _encoder_device(trainer: Mapping[str, Any]) -> str:
    import torch

    if trainer["accelerator"] == "cpu" or not torch.cuda.is_available():
        return "cpu"
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"


def _wandb_is_offline() -> bool:
    """Weights & Biases gets nothing over the network unless the user has logged in."""
    netrc = Path.home() / ".netrc"
    return "WANDB_API_KEY" not in os.environ and not (netrc.is_file() and "wandb" in netrc.read_text())


def _quiet_libraries() -> None:
    import warnings

    # Subnormal numbers make the clustering terms tens of times slower on a CPU late in training.
    import torch

    torch.set_flush_denormal(True)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    warnings.filterwarnings("ignore", ".*does not have many workers.*")
    warnings.filterwarnings("ignore", ".*dataloader is not resumable.*")
    # Every rank holds the figures of the whole already; there is nothing to accumulate.
    warnings.filterwarnings("ignore", ".*sync_dist=True.*")
    warnings.filterwarnings("ignore", ".*LeafSpec.*")  # Lightning's own business with torch
    for name in (
        "pytorch_lightning.utilities.rank_zero",
        "pytorch_lightning.trainer.connectors.checkpoint_connector",
        "faiss.loader",
    ):
        logging.getLogger(name).setLevel(logging.WARNING)
