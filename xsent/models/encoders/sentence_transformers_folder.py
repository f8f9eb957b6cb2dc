"""Read and write folders in the format of sentence-transformers: ``modules.json`` and its modules."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from xsent.models.model_files import read_json_or_none, read_weights
from xsent.similarity import unit

# Supported poolings, by the names of sentence-transformers and of ``POOLING`` alike, in the order of a concatenation.
POOLINGS = ("cls", "max", "mean")
OLD_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# Inputs of a Dense module, by their names.
TOKENS, SENTENCES = "token_embeddings", "sentence_embedding"
# Built without arguments; the file has no more than the class.
ACTIVATIONS = ("Tanh", "Identity", "ReLU", "GELU", "SiLU", "Sigmoid")


@dataclass(frozen=True)
class FolderSettings:
    """The modules of a folder as arguments of an encoder."""

    transformer: Path
    token_projection: nn.Linear | None  # a Dense module before the Pooling
    pooling: tuple[str, ...]
    projection: nn.Sequential  # Dense modules after the Pooling; may be empty
    normalize: bool
    prompt: str
    max_length: int | None
    lowercase: bool


def read_folder(folder: Path) -> FolderSettings | None:
    """Read the settings of a sentence-transformers folder; None without a ``modules.json``.

    Raises:
        ValueError: an unsupported module, pooling or option; names the file.
        FileNotFoundError: weights of a Dense module are missing.
    """
    modules = _read_modules(folder)
    if modules is None:
        return None
    kinds = [kind for kind, _ in modules]
    paths = [path for _, path in modules]
    if not re.fullmatch("Transformer( Dense)? Pooling( Dense| Normalize)*", " ".join(kinds)):
        raise ValueError(
            f"{folder / 'modules.json'}: expected Transformer, optional Dense, Pooling, then any Dense and Normalize,"
            f" found {', '.join(kinds)}"
        )
    pooling = kinds.index("Pooling")
    normalize = kinds[-1] == "Normalize"
    max_length, lowercase = _transformer_options(paths[0])
    return FolderSettings(
        transformer=paths[0],
        token_projection=_read_token_projection(paths[1]) if pooling == 2 else None,
        pooling=_read_pooling(paths[pooling] / "config.json"),
        projection=_read_layers(modules[pooling + 1 : len(modules) - normalize]),
        normalize=normalize,
        prompt=_read_prompt(folder / "config_sentence_transformers.json"),
        max_length=max_length,
        lowercase=lowercase,
    )


def read_static_modules(folder: Path) -> tuple[Path, nn.Sequential]:
    """The folder of a ``StaticEmbedding`` and the layers after it.

    Raises:
        ValueError: an unsupported module.
    """
    modules = _read_modules(folder) or []
    kinds = [kind for kind, _ in modules]
    if not re.fullmatch("StaticEmbedding( Dense| Normalize)*", " ".join(kinds)):
        raise ValueError(
            f"{folder / 'modules.json'}: expected StaticEmbedding, then any Dense and Normalize,"
            f" found {', '.join(kinds) or 'none'}"
        )
    return modules[0][1], _read_layers(modules[1:])


def is_static(folder: Path) -> bool:
    """Whether the first module is a ``StaticEmbedding``."""
    modules = _read_modules(folder) or []
    return [kind for kind, _ in modules[:1]] == ["StaticEmbedding"]


class Normalize(nn.Module):
    """Vectors of length one."""

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, D) -> (B, D)."""
        return unit(vectors)


class Truncate(nn.Module):
    """The first ``dim`` of ``size`` numbers; in a folder a Dense module, as the format has no such one."""

    def __init__(self, size: int, dim: int) -> None:
        super().__init__()
        self.size, self.dim = size, dim

    def forward(self, vectors: Tensor) -> Tensor:
        """(B, size) -> (B, dim)."""
        return vectors[:, : self.dim]

    def extra_repr(self) -> str:
        """Both sizes, for the digest of an encoder."""
        return f"{self.size}, {self.dim}"

    def dense(self) -> nn.Linear:
        """The linear layer that does the same."""
        linear = nn.Linear(self.size, self.dim, bias=False, device="meta")
        linear.weight = nn.Parameter(torch.eye(self.dim, self.size))
        return linear


def fits_folder(projection: nn.Sequential) -> bool:
    """Whether ``FolderWriter`` can write a projection so that ``read_folder`` builds the same one.

    Each layer must be a ``Normalize``, a ``Truncate`` or a linear map, alone or followed by one of ``ACTIVATIONS``
    without options.
    """
    previous: nn.Module | None = None
    for layer in projection:
        plain = type(layer).__name__ in ACTIVATIONS and repr(layer) == repr(type(layer)())
        if not isinstance(layer, nn.Linear | Normalize | Truncate) and not (plain and isinstance(previous, nn.Linear)):
            return False
        previous = layer
    return True


@dataclass
class FolderWriter:
    """Writes the modules of a folder one after the other, then ``modules.json``."""

    folder: Path  # exists; holds the first module itself, and the others in subfolders
    modules: list[tuple[str, str]] = field(default_factory=list)  # path and kind

    def add_transformer(self, max_length: int, *, without_pooler: bool) -> None:
        """Add a transformer, whose own files transformers writes, truncating after ``max_length`` tokens.

        ``without_pooler``: transformers is not to make one up, with random weights and a warning.
        """
        self.modules.append(("", "Transformer"))
        options: dict[str, object] = {"max_seq_length": max_length, "do_lower_case": False}
        if without_pooler:
            options["model_args"] = {"add_pooling_layer": False}
        _write_json(self.folder / "sentence_bert_config.json", options)

    def add_static(self, vectors: Tensor, tokenizer: Tokenizer) -> None:
        """Add a table of vectors (V, D) and the tokenizer that gives its rows."""
        self.modules.append(("", "StaticEmbedding"))
        save_file({"embedding.weight": vectors.detach().float().cpu().contiguous()}, self.folder / "model.safetensors")
        (self.folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")

    def add_pooling(self, poolings: Sequence[str], size: int) -> None:
        """Add the pooling of token embeddings of a size; several poolings are concatenated."""
        mode = poolings[0] if len(poolings) == 1 else list(poolings)
        options = {"word_embedding_dimension": size, "pooling_mode": mode, "include_prompt": True}
        _write_json(self._next_folder("Pooling") / "config.json", options)

    def add_layers(self, layers: nn.Sequential) -> None:
        """Add normalisations, truncations and linear layers, each with or without an activation (``fits_folder``)."""
        assert fits_folder(layers)
        remaining = list(layers)
        while remaining:
            linear = remaining.pop(0)
            if isinstance(linear, Normalize):
                self.add_normalize()
                continue
            if isinstance(linear, Truncate):
                self.add_dense(linear.dense(), nn.Identity(), SENTENCES)
                continue
            assert isinstance(linear, nn.Linear)
            is_last = not remaining or isinstance(remaining[0], nn.Linear | Normalize | Truncate)
            self.add_dense(linear, nn.Identity() if is_last else remaining.pop(0), SENTENCES)

    def add_dense(self, linear: nn.Linear, activation: nn.Module, feature: str) -> None:
        """Add one linear layer of ``TOKENS`` or ``SENTENCES`` with its activation."""
        folder = self._next_folder("Dense")
        options = {
            "in_features": linear.in_features,
            "out_features": linear.out_features,
            "bias": linear.bias is not None,
            "activation_function": f"{type(activation).__module__}.{type(activation).__qualname__}",
        }
        # Releases before 5.4 support sentence embeddings only, and refuse the option.
        names = {} if feature == SENTENCES else {"module_input_name": feature, "module_output_name": feature}
        _write_json(folder / "config.json", options | names)
        save_file(
            {f"linear.{name}": value.detach().float().cpu().contiguous() for name, value in linear.named_parameters()},
            folder / "model.safetensors",
        )

    def add_normalize(self) -> None:
        _write_json(self._next_folder("Normalize") / "config.json", {})  # git and the hub drop empty folders

    def finish(self, prompt: str) -> None:
        """Write ``modules.json``, and the prompt before every sentence unless it is empty."""
        _write_json(
            self.folder / "modules.json",
            [
                {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
                for index, (path, kind) in enumerate(self.modules)
            ],
        )
        if prompt:
            options = {"prompts": {"default": prompt}, "default_prompt_name": "default"}
            _write_json(self.folder / "config_sentence_transformers.json", options)

    def _next_folder(self, kind: str) -> Path:
        path = f"{len(self.modules)}_{kind}"
        self.modules.append((path, kind))
        (self.folder / path).mkdir(exist_ok=True)
        return self.folder / path


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read_modules(folder: Path) -> list[tuple[str, Path]] | None:
    """Kind and folder of each module; None without a ``modules.json``."""
    modules = read_json_or_none(folder / "modules.json")
    if modules is None:
        return None
    try:
        return [(_module_kind(module["type"], folder), _inside(folder, module["path"])) for module in modules]
    except (AttributeError, KeyError, TypeError):
        raise ValueError(f"{folder / 'modules.json'}: expected a list of modules with type and path") from None


def _inside(folder: Path, path: str) -> Path:
    """The folder of a module: the model's or one in it, whose config ``model_folder`` has checked; may be a link."""
    parts = PurePosixPath(path).parts
    if PurePosixPath(path).is_absolute() or ".." in parts:
        raise ValueError(f"{folder / 'modules.json'}: {path} is outside the model's folder")
    if len(parts) > 1:
        raise ValueError(f"{folder / 'modules.json'}: {path}: expected a folder directly in the model's folder")
    return folder / path


def _read_layers(modules: Sequence[tuple[str, Path]]) -> nn.Sequential:
    """Layers of Dense and Normalize modules."""
    layers = [[Normalize()] if kind == "Normalize" else _read_dense(path, SENTENCES) for kind, path in modules]
    return nn.Sequential(*[layer for part in layers for layer in part])


def _module_kind(type_name: str, folder: Path) -> str:
    if not type_name.startswith("sentence_transformers."):
        raise ValueError(f"{folder / 'modules.json'}: {type_name} is the model's own code, which is not run")
    return type_name.rsplit(".", maxsplit=1)[-1]


def _transformer_options(folder: Path) -> tuple[int | None, bool]:
    # The file name contains the architecture: sentence_bert_config.json, sentence_roberta_config.json, ...
    for path in sorted(folder.glob("sentence_*_config.json")):
        options = read_json_or_none(path)
        return options.get("max_seq_length"), bool(options.get("do_lower_case", False))
    return None, False


def _read_pooling(path: Path) -> tuple[str, ...]:
    options = read_json_or_none(path)
    if options is None:
        raise FileNotFoundError(f"{path}: modules.json names a Pooling module, but there is no such file")
    modes = options.get("pooling_mode")
    if modes is None:
        modes = [mode for flag, mode in OLD_FLAGS.items() if options.get(flag)]
    modes = [modes] if isinstance(modes, str) else list(modes)
    if not modes or not set(modes) <= set(POOLINGS):
        raise ValueError(f"{path}: pooling {modes or 'none'} is not supported, only {', '.join(POOLINGS)}")
    if not options.get("include_prompt", True):
        raise ValueError(f"{path}: include_prompt=false is not supported")
    return tuple(modes)


def _read_token_projection(folder: Path) -> nn.Linear:
    linear, activation = _read_dense(folder, TOKENS)
    if not isinstance(linear, nn.Linear) or not isinstance(activation, nn.Identity) or linear.bias is not None:
        raise ValueError(
            f"{folder / 'config.json'}: before the Pooling expected a linear map without bias and activation,"
            f" found {linear}, {activation}"
        )
    return linear


def _read_dense(folder: Path, feature: str) -> list[nn.Module]:
    path = folder / "config.json"
    options: Any = read_json_or_none(path)
    if options is None:
        raise FileNotFoundError(f"{path}: modules.json names a Dense module, but there is no such file")
    if not isinstance(options, dict):
        raise ValueError(f"{path}: expected the options of a Dense module, found {options}")
    source = options.get("module_input_name", SENTENCES)
    target = options.get("module_output_name") or source
    if {source, target} != {feature} or options.get("use_residual", False):
        raise ValueError(f"{path}: expected a plain Dense of {feature}, found {options}")
    weights = read_weights(folder)
    out_features, in_features = weights["linear.weight"].shape
    linear = nn.Linear(in_features, out_features, bias="linear.bias" in weights)
    linear.load_state_dict({name.removeprefix("linear."): value.float() for name, value in weights.items()})
    return [linear, _activation(options.get("activation_function", "torch.nn.modules.activation.Tanh"), path)]


def _activation(name: str, path: Path) -> nn.Module:
    class_name = name.rsplit(".", maxsplit=1)[-1]
    if not name.startswith("torch.nn.") or class_name not in ACTIVATIONS:
        raise ValueError(f"{path}: expected an activation of torch.nn, {', '.join(ACTIVATIONS)}; found {name}")
    module: nn.Module = getattr(nn, class_name)()
    return module


def _read_prompt(path: Path) -> str:
    options = read_json_or_none(path) or {}
    name = options.get("default_prompt_name")
    if name is None:
        return ""
    prompts = options.get("prompts") or {}
    if name not in prompts:
        raise ValueError(f"{path}: default_prompt_name {name!r} is not among its prompts {sorted(prompts)}")
    return str(prompts[name])
