"""Load encoders: a name of ``conf/encoder``, a run, a checkpoint, or the folder of a model."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, cast

import yaml
from hydra.utils import get_object

from xsent.catalogue import encoder_names, unknown_encoder
from xsent.config_checks import UsageError, check_boolean, check_choice, check_device
from xsent.paths import conf_folder
from xsent.run.config.build import build, check_keys
from xsent.run.config.checks import check_types
from xsent.run.config.compose import RANDOM, encoder_config
from xsent.run.config.registry import check_targets

if TYPE_CHECKING:
    from xsent.batch import Embedder, PairJudge

log = logging.getLogger(__name__)

MAX_REASON = 300  # characters of an error of a library

FORMATS = (
    "checkpoints/ (a run), modules.json (sentence-transformers, or an export), config.json (transformers),"
    " vectors.safetensors (static) or *.spm (LASER2)"
)


def load_encoder(
    source: str | os.PathLike[str], *, device: str = "cpu", dim: int | None = None, trust_remote_code: bool = False
) -> Embedder:
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
        dim: truncates the vectors to their first numbers, in all spaces of a run with heads; of length one again if
            the encoder normalises. Trained with ``recipe.matryoshka``, they lose least. None: all numbers.
        trust_remote_code: whether the model may run Python code of its own, with all your rights; read it first.
            Nothing that a run, a checkpoint or a folder says allows it.

    Raises:
        FileNotFoundError: no such encoder, run or checkpoint.
        ValueError: the checkpoint is damaged, its frozen encoder is not that of the training, the run trained none,
            the vectors have fewer numbers than ``dim``, the folder holds no model that xsent reads, or the model needs
            code of its own.
        OSError: the model is neither on this machine nor to be had from the hub.
    """
    model, config = load_model(source, device=device, dim=dim, trust_remote_code=trust_remote_code)
    if not hasattr(model, "encode"):
        kind = "an alignment judge" if config is None else f"a run of {_recipe(config)}"
        raise ValueError(
            f"{source}: {kind}, which judges pairs and has no sentence vectors; score pairs with"
            " xsent.score or `xsent filter --ckpt`"
        )
    return cast("Embedder", model)


def load_judge(
    path: str | os.PathLike[str] | None = None, *, device: str = "cpu", trust_remote_code: bool = False
) -> PairJudge:
    """Load a pair judge that ``recipe=divergence`` trained.

    Args:
        path: a run folder, a checkpoint, or the folder of a saved alignment judge; None: the judge bundled with this
            package, an alignment judge on ``mini`` (docs/recipes/divergence.md).
        device, trust_remote_code: as of ``load_encoder``.

    Raises:
        FileNotFoundError: no such run, checkpoint or folder.
        ValueError: the files are damaged, or the run has another recipe.
    """
    path = Path(bundled_judge() if path is None else path).expanduser()
    if is_judge(path):
        return _load_saved_judge(path, device, trust_remote_code)
    model, config = _load_run(path, device=device, trust_remote_code=trust_remote_code)
    if not hasattr(model, "judge"):
        raise ValueError(f"{path}: expected a run of recipe=divergence, found one of {_recipe(config)}")
    check_judge(path, config)
    return cast("PairJudge", model)


def bundled_judge() -> Path:
    """Folder of the alignment judge inside this package."""
    return Path(str(resources.files("xsent"))) / "assets" / "divergence"


def is_judge(path: Path) -> bool:
    """Whether it is the folder of a saved alignment judge."""
    return (path / "judge.json").is_file()


def _load_saved_judge(path: Path, device: str, trust_remote_code: bool) -> PairJudge:
    from xsent.models.pairs.alignment_judge import AlignmentJudge

    check_device(device)

    def load_named(name: object) -> Embedder:
        if name not in encoder_names():  # a folder named in a file is not opened
            raise ValueError(f"encoder {name!r}: expected a name of xsent.encoders()")
        return load_encoder(str(name), device=device, trust_remote_code=trust_remote_code)

    return AlignmentJudge.load(path, load_named)


def check_judge(path: str | os.PathLike[str], config: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a run of ``recipe=divergence`` did not train pair scores."""
    if config["recipe"]["sentence_loss"] == "none":
        raise ValueError(f"{path}: trained with recipe.sentence_loss=none, so its pair scores are untrained")


def load_model(
    source: str | os.PathLike[str], *, device: str, dim: int | None = None, trust_remote_code: bool = False
) -> tuple[Embedder | PairJudge, dict[str, Any] | None]:
    """The encoder or pair judge of a source of ``load_encoder``, and the config of its run; None without a run.

    Raises:
        UsageError: ``dim`` for a judge, or more than the vectors have.
    """
    model, config = _load_model(source, device, trust_remote_code)
    if dim is not None:
        if not hasattr(model, "truncate_dim"):
            raise UsageError(f"dim={dim}: {source} judges pairs and has no vectors to truncate")
        model.truncate_dim(dim)
    return model, config


def _load_model(
    source: str | os.PathLike[str], device: str, trust_remote_code: bool
) -> tuple[Embedder | PairJudge, dict[str, Any] | None]:
    check_device(device)
    check_boolean("trust_remote_code", trust_remote_code)
    if isinstance(source, str) and source in encoder_names():
        if source in RANDOM:
            log.warning("%s: its vectors are random before training", source)
        return _build_encoder(encoder_config(source), trust_remote_code).to(device), None
    check_source(source)
    path = Path(source).expanduser()
    if is_judge(path):
        return _load_saved_judge(path, device, trust_remote_code), None
    if is_run(path):
        return _load_run(path, device=device, trust_remote_code=trust_remote_code)
    with _readable(path):
        return _build_encoder(_folder_config(path), trust_remote_code).to(device), None


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
    from xsent.models.model_files import read_json_or_none

    options: dict[str, Any] = {"name": path.resolve().name, "path": str(path)}
    if (path / "modules.json").is_file():
        if is_static(path):
            target = "xsent.models.encoders.static_embedding.StaticEmbeddingEncoder.load"
            return {"_target_": target, **options}
        of_folder = dict.fromkeys(["pooling", "prompt", "max_length", "normalize"])  # None: as in modules.json
        return _transformer_config() | options | of_folder
    if (path / "vectors.safetensors").is_file():
        return encoder_config("mini" if (path / "tokenizer.json").is_file() else "static_characters") | options
    model_type = (read_json_or_none(path / "config.json") or {}).get("model_type")
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
    """Values of a transformer that the hub's encoders share."""
    config: dict[str, Any] = yaml.safe_load((conf_folder() / "encoder" / "base" / "hub.yaml").read_text("utf-8"))
    return config | {"revision": None}


def _recipe(config: Mapping[str, Any]) -> str:
    return str(config["recipe"]["_target_"]).rpartition(".")[2]


def _build_encoder(config: Mapping[str, Any], trust_remote_code: bool) -> Any:
    """Build an encoder; the caller decides whether it may run code of its own, whatever its config says."""
    return build(_with_trust(config, trust_remote_code), "encoder")


def _with_trust(config: Mapping[str, Any], trust_remote_code: bool) -> dict[str, Any]:
    trust = {"trust_remote_code": trust_remote_code} if "trust_remote_code" in config else {}
    base = {"base": _with_trust(config["base"], trust_remote_code)} if isinstance(config.get("base"), Mapping) else {}
    return {**config, **trust, **base}


@contextmanager
def _readable(source: Path) -> Iterator[None]:
    """Name the source in an error of a library that reads its files, whose type differs with file and version."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        if not isinstance(error, ValueError) or str(source) in str(error):
            raise
        raise ValueError(f"{source}: {' '.join(str(error).split())}") from error
    except UnpicklingError as error:  # torch's own message advises to run the file's code
        raise ValueError(f"{source}: a file holds more than tensors and plain values, which is not read") from error
    except Exception as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:MAX_REASON]
        raise ValueError(f"{source}: its files cannot be read as a model ({reason})") from error


def _load_run(path: Path, *, device: str, trust_remote_code: bool) -> tuple[Embedder | PairJudge, dict[str, Any]]:
    """The trained model of a run, and the run's config: its encoder and plain options of its recipe are used."""
    from xsent.checkpoint import load_checkpoint

    path = path.expanduser()
    file = path / "checkpoints" / "best.ckpt" if path.is_dir() else path
    checkpoint = load_checkpoint(file)
    config = _stored_config(file, checkpoint)
    if path.is_dir() and config["final"] != "best":
        file = path / "checkpoints" / f"{config['final']}.ckpt"
        checkpoint = load_checkpoint(file)
        config = _stored_config(file, checkpoint)
    with _readable(file):
        encoder = _build_encoder(config["encoder"], trust_remote_code).to(device)
    try:
        model = get_object(config["recipe"]["_target_"]).trained_model(encoder, checkpoint)
    except (AttributeError, LookupError, RuntimeError, TypeError) as error:  # options or weights that do not fit
        reason = " ".join(str(error).split())
        raise ValueError(f"{file}: its recipe or weights do not fit this version of xsent: {reason}") from None
    return model, config


def _stored_config(file: Path, checkpoint: Any) -> dict[str, Any]:
    """The config in a checkpoint, after a check of what is used of it.

    Raises:
        ValueError: its encoder or recipe is none, or has an option of the wrong type.
    """
    try:
        config: dict[str, Any] = checkpoint["xsent"]["config"]
        used = {part: config[part] for part in ("encoder", "recipe")}
        for part, node in used.items():
            check_targets(node, part, part)
            if not isinstance(node, Mapping) or "_target_" not in node or "_partial_" in node:
                raise ValueError(f"{part}: expected a _target_ and its options")
        check_keys({"encoder": used["encoder"]})
        check_types(used)
        check_choice("final", config["final"], ("best", "last"))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{file}: its config cannot be used: {reason}") from None
    return config
