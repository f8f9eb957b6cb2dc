"""Load encoders: a name of ``conf/encoder``, a run, a checkpoint, or the folder of a model."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml

from xsent.catalogue import encoder_names, unknown_encoder
from xsent.config_checks import check_device
from xsent.paths import conf_folder
from xsent.run.config.build import build, build_recipe
from xsent.run.config.compose import RANDOM, encoder_config

if TYPE_CHECKING:
    from xsent.batch import Embedder, PairJudge

log = logging.getLogger(__name__)

FORMATS = (
    "checkpoints/ (a run), modules.json (sentence-transformers, or an export), config.json (transformers),"
    " vectors.safetensors (static) or *.spm (LASER2)"
)


def load_encoder(source: str | os.PathLike[str], *, device: str = "cpu") -> Embedder:
    """Load an encoder.

    Args:
        source: one of

            - a name of ``xsent.encoders()``, such as ``mini`` or ``labse``;
            - a run folder (its ``final`` checkpoint, the one of its result table) or a checkpoint file, with the heads
              of the run if it has some;
            - a folder of sentence-transformers, such as ``xsent export`` writes, of transformers (mean pooling), of
              a static encoder, of LASER2, or of CharacterBERT.

            A folder with the name of an encoder is given as ``./mini``.
        device: of the encoder.

    Raises:
        FileNotFoundError: no such encoder, run or checkpoint.
        ValueError: the checkpoint is damaged, its frozen encoder is not that of the training, the run trained none, or
            the folder holds no model that xsent reads.
        OSError: the model is neither on this machine nor to be had from the hub.
    """
    model, config = load_model(source, device=device)
    if not hasattr(model, "encode"):
        assert config is not None
        raise ValueError(
            f"{source}: a run of {_recipe(config)}, which judges pairs and has no sentence vectors; score pairs with"
            " xsent.score or `xsent filter --ckpt`"
        )
    return cast("Embedder", model)


def load_judge(path: str | os.PathLike[str], *, device: str = "cpu") -> PairJudge:
    """Load the pair judge of a run of ``recipe=divergence``: its folder or a checkpoint.

    Raises:
        FileNotFoundError: no such run or checkpoint.
        ValueError: the checkpoint is damaged, or the run has another recipe.
    """
    model, config = _load_run(Path(path), device=device)
    if not hasattr(model, "judge"):
        raise ValueError(f"{path}: expected a run of recipe=divergence, found one of {_recipe(config)}")
    check_judge(path, config)
    return cast("PairJudge", model)


def check_judge(path: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a run of ``recipe=divergence`` did not train pair scores."""
    if config["recipe"]["sentence_loss"] == "none":
        raise ValueError(f"{path}: trained with recipe.sentence_loss=none, so its pair scores are untrained")


def load_model(source: str | os.PathLike[str], *, device: str) -> tuple[Embedder | PairJudge, dict[str, Any] | None]:
    """The encoder or pair judge of a source of ``load_encoder``, and the config of its run; None without a run."""
    check_device(device)
    if isinstance(source, str) and source in encoder_names():
        if source in RANDOM:
            log.warning("%s: its vectors are random before training", source)
        return build(encoder_config(source)).to(device), None
    check_source(source)
    path = Path(source).expanduser()
    if is_run(path):
        return _load_run(path, device=device)
    return build(_folder_config(path)).to(device), None


def check_source(source: str | os.PathLike[str]) -> None:
    """Raise ``FileNotFoundError`` if there is no such encoder, file or folder."""
    if source not in encoder_names() and not Path(source).expanduser().exists():
        raise FileNotFoundError(unknown_encoder(os.fspath(source)))


def is_run(path: Path) -> bool:
    """Whether it is a run folder or a checkpoint file, not the folder of a model."""
    path = path.expanduser()
    return path.is_file() or any((path / name).exists() for name in ("checkpoints", "config.yaml"))


def _folder_config(path: Path) -> dict[str, Any]:
    """Config of the encoder that a folder holds, by its files."""
    from xsent.models.encoders.sentence_transformers_folder import is_static
    from xsent.models.model_files import read_json

    options: dict[str, Any] = {"name": path.resolve().name, "path": str(path)}
    if (path / "modules.json").is_file():
        if is_static(path):
            target = "xsent.models.encoders.static_embedding.StaticEmbeddingEncoder.load"
            return {"_target_": target, **options}
        of_folder = dict.fromkeys(["pooling", "prompt", "max_length", "normalize"])  # None: as in modules.json
        return _transformer_config() | options | of_folder
    if (path / "vectors.safetensors").is_file():
        return encoder_config("mini" if (path / "tokenizer.json").is_file() else "static_characters") | options
    model_type = (read_json(path / "config.json") or {}).get("model_type")
    if model_type == "character_bert":
        return encoder_config("character_bert") | options
    if model_type is not None:
        config = _transformer_config() | options | {"max_length": None}  # None: the model's limit
        log.warning("%s: no modules.json, so its vectors are made by %s pooling", path, config["pooling"])
        return config
    if next(path.glob("*.spm"), None) is not None:
        return encoder_config("laser2") | options
    files = ", ".join(sorted(file.name for file in path.iterdir())[:8]) or "nothing"
    raise ValueError(f"{path}: expected {FORMATS}, found {files}")


def _transformer_config() -> dict[str, Any]:
    """Values of a transformer that the hub's encoders share; none may run code of its own, whatever its folder says."""
    config: dict[str, Any] = yaml.safe_load((conf_folder() / "encoder" / "base" / "hub.yaml").read_text("utf-8"))
    return config | {"revision": None, "trust_remote_code": False}


def _recipe(config: Mapping[str, Any]) -> str:
    return str(config["recipe"]["_target_"]).rpartition(".")[2]


def _load_run(path: Path, *, device: str) -> tuple[Embedder | PairJudge, dict[str, Any]]:
    """The trained model of a run and the run's config."""
    from xsent.checkpoint import load_checkpoint

    checkpoint = load_checkpoint(path / "checkpoints" / "best.ckpt" if path.is_dir() else path)
    config = checkpoint["xsent"]["config"]
    if path.is_dir() and config["final"] != "best":
        checkpoint = load_checkpoint(path / "checkpoints" / f"{config['final']}.ckpt")
    encoder = build(config["encoder"]).to(device)
    try:
        recipe = build_recipe(config, encoder)
    except TypeError as error:  # missing or unknown option
        raise ValueError(f"{path}: its recipe does not fit this version of xsent: {error}") from None
    return recipe.trained_encoder(checkpoint), config
