"""Where a model's files are: a local folder, or the hub's files in the local cache."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

# Weights as safetensors where there are any: a pickle is fetched only when nothing else exists.
PATTERNS = ["*.json", "*.txt", "*.model", "*.spm", "*.safetensors", "*_Dense/pytorch_model.bin"]
OTHER_FORMATS = ["onnx/*", "openvino/*", "coreml/*", "tf_model*", "flax_model*"]


def model_folder(
    name: str,
    *,
    path: str | None,
    revision: str | None,
    trust_remote_code: bool | None,
    knows_architecture: bool = False,
    option: str = "encoder",
    path_option: str | None = None,
) -> Path:
    """The folder of a model's files, from the hub unless ``path`` names a local one.

    Args:
        name: hub id, e.g. ``sentence-transformers/LaBSE``.
        path: local folder, beats ``name``.
        revision: commit, tag or branch of the hub; plays no part for a local folder.
        trust_remote_code: whether the model may bring Python code that runs in this process; None: it may not, and
            there is no option to allow it.
        knows_architecture: the caller builds the model itself and needs the weights alone: code that lies beside
            them is no reason to refuse, and is neither fetched nor run.
        option: what the model is chosen by, for messages: ``encoder``, ``aligner``, ``ranker``, ``translator``.
        path_option: by which a local folder is given, for messages; None: ``<option>.path``.

    Raises:
        FileNotFoundError: ``path`` is no folder with a model.
        OSError: the hub cannot be reached, or has no such model or revision.
        ValueError: the model needs code of its own and ``trust_remote_code`` is false.
    """
    path_option = path_option or f"{option}.path"
    if path is not None:
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(f"{path_option}={path}: expected a folder with a model, found none")
        if not knows_architecture:
            _refuse_foreign_code(folder, f"{option} {name}", trust_remote_code)
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    patterns = [*PATTERNS, "*.py"] if trust_remote_code else PATTERNS
    try:
        # The settings alone first: nobody waits for gigabytes to be refused.
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=["*.json"]))
        if not knows_architecture:
            _refuse_foreign_code(folder, f"{option} {name}", trust_remote_code)
        snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=OTHER_FORMATS)
        if not list(folder.glob("*.safetensors")):
            log.info("%s has no safetensors: its pickle is read with weights_only=True", name)
            snapshot_download(name, revision=revision, allow_patterns=["pytorch_model*.bin"])
    except (OSError, HfHubHTTPError) as error:
        raise OSError(
            f"{option} {name} (revision {revision}) is not in the local cache and could not be fetched from"
            " the hub. With a connection: is HF_HUB_OFFLINE unset, does HF_ENDPOINT name your mirror (if any), is"
            " the name right? Without: point HF_HOME to a cache that has it, or give a local folder with"
            f" {path_option}=/a/local/folder. The hub said: {type(error).__name__}: {_first_line(error)}"
        ) from error
    return folder


def read_json(path: Path) -> Any:
    """Content of a JSON file, or None if there is no such file.

    Raises:
        ValueError: it is not JSON.
    """
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON: {error}") from error


def _refuse_foreign_code(folder: Path, model: str, trusted: bool | None) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = read_json(folder / "config.json") or {}
    # Where transformers knows the architecture itself, the code beside the weights is never run.
    if "auto_map" not in config or config.get("model_type") in CONFIG_MAPPING or trusted:
        return
    classes = ", ".join(sorted(str(value) for value in config["auto_map"].values()))
    how_to_allow = (
        " Read it there first; if you trust it, allow it on the command line with encoder.trust_remote_code=true"
        if trusted is not None
        else " It may not here: choose another"
    )
    raise ValueError(
        f"{model} does not run without Python code of its own ({classes}), fetched from the hub and executed with all"
        f" your rights.{how_to_allow}"
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]
