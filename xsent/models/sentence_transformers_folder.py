"""What a folder in the format of sentence-transformers asks for: ``modules.json`` and what it names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from xsent.models.hub import read_json
from xsent.models.weights import read_weights

# sentence-transformers' names of ways to pool -> ours; their order is that of a concatenation.
POOLINGS = {"cls": "cls", "max": "max", "mean": "mean"}
OLD_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# Re-created without arguments; the file says no more than the class.
ACTIVATIONS = ("Tanh", "Identity", "ReLU", "GELU", "SiLU", "Sigmoid")


@dataclass(frozen=True)
class FolderSettings:
    """What the modules of the folder do, in our words."""

    transformer: Path
    pooling: tuple[str, ...]
    projection: nn.Sequential  # the Dense modules, empty if there are none
    normalize: bool
    prompt: str
    max_length: int | None
    lowercase: bool


def read_folder(folder: Path) -> FolderSettings | None:
    """The settings of a sentence-transformers folder; None if it has no ``modules.json``.

    Raises:
        ValueError: a module, pooling or option that is not supported here; names the file.
        FileNotFoundError: weights of a Dense module are missing.
    """
    modules = read_json(folder / "modules.json")
    if modules is None:
        return None
    kinds = [_kind(module["type"], folder) for module in modules]
    paths = [folder / module["path"] for module in modules]
    dense = kinds[2 : len(kinds) - (kinds[-1] == "Normalize")]
    if kinds[:2] != ["Transformer", "Pooling"] or any(kind != "Dense" for kind in dense):
        raise ValueError(
            f"{folder / 'modules.json'}: expected Transformer, Pooling, any Dense, perhaps Normalize,"
            f" found {', '.join(kinds)}"
        )
    max_length, lowercase = _transformer_options(paths[0])
    layers = [layer for path in paths[2 : 2 + len(dense)] for layer in _dense(path)]
    return FolderSettings(
        transformer=paths[0],
        pooling=_pooling(paths[1] / "config.json"),
        projection=nn.Sequential(*layers),
        normalize=kinds[-1] == "Normalize",
        prompt=_prompt(folder / "config_sentence_transformers.json"),
        max_length=max_length,
        lowercase=lowercase,
    )


def fits_folder(projection: nn.Sequential) -> bool:
    """Whether ``write_folder`` has a place for a projection, from which ``read_folder`` makes the same.

    Each layer is a linear map, alone or followed by one of ``ACTIVATIONS`` without options of its own.
    """
    before: nn.Module | None = None
    for layer in projection:
        plain = type(layer).__name__ in ACTIVATIONS and repr(layer) == repr(type(layer)())
        if not isinstance(layer, nn.Linear) and not (plain and isinstance(before, nn.Linear)):
            return False
        before = layer
    return True


def write_folder(
    folder: Path,
    *,
    pooling: Sequence[str],
    size: int,
    projection: nn.Sequential,
    normalize: bool,
    prompt: str,
    max_length: int,
) -> None:
    """Write what ``read_folder`` reads, beside a transformer and its tokenizer in the folder itself.

    Args:
        folder: exists.
        pooling: our names.
        size: of a token embedding.
        projection: linear layers, an activation behind each or not (``fits_folder``); empty for none.
        normalize: whether vectors get length one.
        prompt: put before every sentence.
        max_length: tokens, special ones included.
    """
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    theirs = {ours: name for name, ours in POOLINGS.items()}
    _write(folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    names = [theirs[way] for way in pooling]
    _write(
        folder / "1_Pooling" / "config.json",
        {
            "word_embedding_dimension": size,
            "pooling_mode": names[0] if len(names) == 1 else names,
            "include_prompt": True,
        },
    )
    layers = list(projection)
    assert fits_folder(projection)
    while layers:
        linear = layers.pop(0)
        assert isinstance(linear, nn.Linear)
        activation = nn.Identity() if not layers or isinstance(layers[0], nn.Linear) else layers.pop(0)
        own = f"{len(modules)}_Dense"
        modules.append((own, "Dense"))
        _write(
            folder / own / "config.json",
            {
                "in_features": linear.in_features,
                "out_features": linear.out_features,
                "bias": linear.bias is not None,
                "activation_function": f"{type(activation).__module__}.{type(activation).__qualname__}",
            },
        )
        save_file(
            {f"linear.{name}": value.detach().cpu().contiguous() for name, value in linear.named_parameters()},
            folder / own / "model.safetensors",
        )
    if normalize:
        modules.append((f"{len(modules)}_Normalize", "Normalize"))
    _write(
        folder / "modules.json",
        [
            {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for index, (path, kind) in enumerate(modules)
        ],
    )
    if prompt:
        options = {"prompts": {"default": prompt}, "default_prompt_name": "default"}
        _write(folder / "config_sentence_transformers.json", options)


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _kind(type_name: str, folder: Path) -> str:
    if not type_name.startswith("sentence_transformers."):
        raise ValueError(f"{folder / 'modules.json'}: {type_name} is the model's own code, which is not run")
    return type_name.rsplit(".", maxsplit=1)[-1]


def _transformer_options(folder: Path) -> tuple[int | None, bool]:
    # The file has the name of the first architectures that were supported.
    for path in sorted(folder.glob("sentence_*_config.json")):
        options = read_json(path)
        return options.get("max_seq_length"), bool(options.get("do_lower_case", False))
    return None, False


def _pooling(path: Path) -> tuple[str, ...]:
    options = read_json(path)
    if options is None:
        raise FileNotFoundError(f"{path}: modules.json names a Pooling module, but there is no such file")
    modes = options.get("pooling_mode")
    if modes is None:
        modes = [mode for flag, mode in OLD_FLAGS.items() if options.get(flag)]
    modes = [modes] if isinstance(modes, str) else list(modes)
    unknown = [mode for mode in modes if mode not in POOLINGS]
    if unknown or not modes:
        raise ValueError(f"{path}: pooling {modes or 'none'} is not supported, only {', '.join(POOLINGS)}")
    if not options.get("include_prompt", True):
        raise ValueError(f"{path}: include_prompt=false is not supported")
    return tuple(POOLINGS[mode] for mode in modes)


def _dense(folder: Path) -> list[nn.Module]:
    path = folder / "config.json"
    options: dict[str, Any] = read_json(path) or {}
    plain = options.get("module_input_name", "sentence_embedding") == "sentence_embedding"
    if not plain or options.get("use_residual", False):
        raise ValueError(f"{path}: expected a plain Dense of the sentence embedding, found {options}")
    weights = read_weights(folder)
    has_bias = "linear.bias" in weights
    out_features, in_features = weights["linear.weight"].shape
    linear = nn.Linear(in_features, out_features, bias=has_bias)
    linear.load_state_dict({name.removeprefix("linear."): value.float() for name, value in weights.items()})
    return [linear, _activation(options.get("activation_function", "torch.nn.modules.activation.Tanh"), path)]


def _activation(name: str, path: Path) -> nn.Module:
    short = name.rsplit(".", maxsplit=1)[-1]
    if not name.startswith("torch.nn.") or short not in ACTIVATIONS:
        raise ValueError(f"{path}: expected an activation of torch.nn, {', '.join(ACTIVATIONS)}; found {name}")
    module: nn.Module = getattr(nn, short)()
    return module


def _prompt(path: Path) -> str:
    options = read_json(path) or {}
    name = options.get("default_prompt_name")
    if name is None:
        return ""
    prompts = options.get("prompts") or {}
    if name not in prompts:
        raise ValueError(f"{path}: default_prompt_name {name!r} is not among its prompts {sorted(prompts)}")
    return str(prompts[name])
