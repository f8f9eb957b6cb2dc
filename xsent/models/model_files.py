"""Model files from a local folder or the Hugging Face hub: folder, JSON, weights."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from xsent.paths import sha256

log = logging.getLogger(__name__)

SUMS = "SHA256SUMS"  # of an exported folder, in the format of `sha256sum --check`
# A pickle is fetched only where there are no safetensors.
PATTERNS = ["*.json", "*.txt", "*.model", "*.spm", "*.safetensors", "*_Dense/pytorch_model.bin"]
CONSENT = (
    "trust_remote_code=true for train.py and evaluate.py, --trust-remote-code for a command of xsent,"
    " trust_remote_code=True for xsent.load_encoder"
)
MAX_LAYERS = 1_000
OTHER_FORMATS = ["onnx/*", "openvino/*", "coreml/*", "tf_model*", "flax_model*"]


def model_folder(
    name: str,
    *,
    path: str | None,
    revision: str | None,
    trust_remote_code: bool | None,
    own_architecture: bool = False,
    option: str = "encoder",
    path_option: str | None = None,
) -> Path:
    """Return the local folder of a model, fetched from the hub unless ``path`` is given.

    Args:
        name: hub id, e.g. ``sentence-transformers/LaBSE``; also for messages.
        path: local folder, used instead of ``name``.
        revision: commit, tag or branch of the hub; unused for a local folder.
        trust_remote_code: whether the model may run Python code of its own; None: no, and no option allows it.
        own_architecture: the caller implements the architecture and reads the weights only. Code beside the weights
            is then no reason to refuse the model; it is neither fetched nor run.
        option: config key of the model, for messages: ``encoder``, ``aligner``, ``ranker``, ``translator``.
        path_option: config key of a local folder, for messages; None: ``<option>.path``.

    Raises:
        FileNotFoundError: ``path`` is not a folder.
        OSError: the hub cannot be reached, or has no such model or revision.
        ValueError: a file is not as ``SHA256SUMS`` says, the model asks for too many layers, or it needs code of its
            own and ``trust_remote_code`` is false.
    """
    path_option = path_option or f"{option}.path"
    if path is not None:
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise FileNotFoundError(f"{path_option}={path}: expected a folder with a model, found none")
        check_sums(folder)
        configs = _read_configs(folder)
        if not own_architecture:
            _refuse_remote_code(configs, f"{option} {name}", trust_remote_code)
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    patterns = [*PATTERNS, "*.py"] if trust_remote_code else PATTERNS
    try:
        with _retries_once(name):
            # The settings first: a refused model must not cost a download of gigabytes.
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=["*.json"]))
            configs = _read_configs(folder)
            if not own_architecture:
                _refuse_remote_code(configs, f"{option} {name}", trust_remote_code)
            snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=OTHER_FORMATS)
            if not list(folder.glob("*.safetensors")):
                log.info("%s has no safetensors: reading its pickle with weights_only=True", name)
                snapshot_download(name, revision=revision, allow_patterns=["pytorch_model*.bin"])
    except (OSError, HfHubHTTPError) as error:
        also = " (--encoder FOLDER of xsent, xsent.load_encoder(FOLDER))" if option == "encoder" else ""
        message = (str(error).strip().splitlines() or [""])[0]
        raise OSError(
            f"{option} {name} (revision {revision}) is not in the local cache and could not be fetched from the hub:"
            f" without network give a local folder, {path_option}=FOLDER{also}, or a cache that has it, HF_HOME=CACHE"
            " HF_HUB_OFFLINE=1; otherwise check the name, that HF_HUB_OFFLINE is unset, and HF_ENDPOINT (a mirror)."
            f" The hub's error: {type(error).__name__}: {message}"
        ) from error
    return folder


@contextmanager
def _retries_once(name: str) -> Iterator[None]:
    """Replace the hub's messages about retries by one."""
    messages: list[str] = []

    def log_first(record: logging.LogRecord) -> bool:
        if not messages:
            log.warning("%s: the hub does not answer; trying again for half a minute", name)
        messages.append(record.getMessage())
        return False

    logger = logging.getLogger("huggingface_hub.utils._http")
    logger.addFilter(log_first)
    try:
        yield
    finally:
        logger.removeFilter(log_first)


def write_sums(folder: Path) -> None:
    """Write ``SHA256SUMS`` with the digests of all files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def make_readable(folder: Path) -> None:
    """Give weights the permissions of the JSON files; safetensors creates files that only their owner can read."""
    mode = next(folder.rglob("*.json")).stat().st_mode
    for path in folder.rglob("*.safetensors"):
        path.chmod(mode)


def check_sums(folder: Path) -> None:
    """Raise ``ValueError`` if a file of the folder is not as ``SHA256SUMS`` says, if there is such a list."""
    if not (folder / SUMS).is_file():
        return
    advice = f"restore it, or delete {SUMS} if the change is intended"
    for number, line in enumerate((folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64:
            raise ValueError(
                f"{folder / SUMS}:{number}: expected a SHA-256 and the name of a file, found {line[:80]!r}"
            )
        actual = sha256(folder / name) if (folder / name).is_file() else "no file"
        if actual != digest:
            raise ValueError(
                f"{folder / name}: truncated or altered: expected sha256 {digest}, found {actual}; {advice}"
            )


def read_json_or_none(path: Path) -> Any:
    """Return the content of a JSON file; None if there is no such file.

    Raises:
        ValueError: it is not JSON.
    """
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path}: expected JSON, found more levels than can be read") from None
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON: {error}") from error


def check_layers(config: object, path: Path) -> None:
    """Raise ``ValueError`` if the settings of a model ask for more layers than any has: building them would not end."""
    for key, value in _settings(config):
        if key.endswith("layers") and isinstance(value, int) and value > MAX_LAYERS:
            raise ValueError(f"{path}: {key} is {value}, expected at most {MAX_LAYERS:,}")


def _settings(config: object) -> Iterator[tuple[str, object]]:
    """Keys and values of a model's settings, those of its parts included."""
    for key, value in config.items() if isinstance(config, Mapping) else ():
        yield str(key), value
        yield from _settings(value)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return the tensors of ``model.safetensors``, else of ``pytorch_model.bin``, by name; no code is executed.

    Raises:
        FileNotFoundError: there is neither.
        pickle.UnpicklingError: ``pytorch_model.bin`` holds more than plain tensors.
    """
    if (folder / "model.safetensors").is_file():
        return load_file(folder / "model.safetensors")
    pickled = folder / "pytorch_model.bin"
    if not pickled.is_file():
        raise FileNotFoundError(f"{folder}: expected model.safetensors or pytorch_model.bin, found neither")
    weights: dict[str, Tensor] = torch.load(pickled, map_location="cpu", weights_only=True)
    return weights


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Suppress the progress bar of transformers, and its report on missing and unused weights, which callers check."""
    from transformers.utils import logging

    messages: Any = logging

    verbosity, has_bar = messages.get_verbosity(), messages.is_progress_bar_enabled()
    messages.set_verbosity_error()
    messages.disable_progress_bar()
    try:
        yield
    finally:
        messages.set_verbosity(verbosity)
        if has_bar:
            messages.enable_progress_bar()


def _read_configs(folder: Path) -> list[Any]:
    """Settings of a model and of its modules, each in a folder of its own; ``ValueError`` as of ``check_layers``."""
    files = [file for pattern in ("config.json", "*/config.json") for file in sorted(folder.glob(pattern))]
    configs = {file: read_json_or_none(file) for file in files}
    for file, config in configs.items():
        check_layers(config, file)
    return list(configs.values())


def _refuse_remote_code(configs: Sequence[Any], model: str, trusted: bool | None) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    if trusted:
        return
    own: set[str] = set()
    for config in configs:
        # A kernel of the hub is code, too.
        own.update(
            str(value) for key, value in _settings(config) if key.endswith("_implementation") and "/" in str(value)
        )
        # transformers never runs the model's code where it has the architecture itself.
        if isinstance(config, dict) and "auto_map" in config and config.get("model_type") not in list(CONFIG_MAPPING):
            auto_map = config["auto_map"]
            own.update(map(str, auto_map.values() if isinstance(auto_map, dict) else [auto_map]))
    if not own:
        return
    classes = ", ".join(sorted(own))
    advice = (
        " Choose another model." if trusted is None else f" Read that code first; if you trust it, allow it: {CONSENT}"
    )
    raise ValueError(
        f"{model} needs Python code of its own ({classes}), which would be fetched from the hub and executed with all"
        f" your rights.{advice}"
    )
