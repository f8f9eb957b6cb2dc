"""What a folder in the format of sentence-transformers asks for: ``modules.json`` and what it names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

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
# What a Dense module maps, by their names.
TOKENS, SENTENCES = "token_embeddings", "sentence_embedding"
# Re-created without arguments; the file says no more than the class.
ACTIVATIONS = ("Tanh", "Identity", "ReLU", "GELU", "SiLU", "Sigmoid")


@dataclass(frozen=True)
class FolderSettings:
    """What the modules of the folder do, in our words."""

    transformer: Path
    token_projection: nn.Linear | None  # the Dense module before the Pooling, if there is one
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
    at = 2 if kinds[:3] == ["Transformer", "Dense", "Pooling"] else 1  # of the Pooling
    dense = kinds[at + 1 : len(kinds) - (kinds[-1] == "Normalize")]
    if kinds[0] != "Transformer" or kinds[at : at + 1] != ["Pooling"] or any(kind != "Dense" for kind in dense):
        raise ValueError(
            f"{folder / 'modules.json'}: expected Transformer, perhaps Dense, Pooling, any Dense, perhaps Normalize,"
            f" found {', '.join(kinds)}"
        )
    max_length, lowercase = _transformer_options(paths[0])
    layers = [layer for path in paths[at + 1 : at + 1 + len(dense)] for layer in _dense(path, of=SENTENCES)]
    return FolderSettings(
        transformer=paths[0],
        token_projection=_token_projection(paths[1]) if at == 2 else None,
        pooling=_pooling(paths[at] / "config.json"),
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
    token_projection: nn.Linear | None,
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
        token_projection: maps token embeddings before they are pooled; None for none.
        pooling: our names.
        size: of a token embedding, as it comes to be pooled.
        projection: linear layers, an activation behind each or not (``fits_folder``); empty for none.
        normalize: whether vectors get length one.
        prompt: put before every sentence.
        max_length: tokens, special ones included.
    """
    modules = ModuleFolders(folder)
    modules.add_transformer(max_length)
    if token_projection is not None:
        modules.add_dense(token_projection, nn.Identity(), of=TOKENS)
    modules.add_pooling(pooling, size)
    modules.add_layers(projection)
    if normalize:
        modules.add_normalize()
    modules.finish(prompt)


class ModuleFolders:
    """Writes the modules of a folder one after the other, then ``modules.json``.

    Args:
        folder: exists; the first module lies in it, each of the others in a folder of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[tuple[str, str]] = []  # path and kind

    def add_transformer(self, max_length: int) -> None:
        """A transformer, whose files transformers writes; sentences are cut after so many tokens."""
        self.modules.append(("", "Transformer"))
        _write(self.folder / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})

    def add_static(self, vectors: Tensor, tokenizer: Tokenizer) -> None:
        """A table of vectors (V, D) and the tokenizer that gives its rows."""
        self.modules.append(("", "StaticEmbedding"))
        save_file({"embedding.weight": vectors.detach().float().cpu().contiguous()}, self.folder / "model.safetensors")
        (self.folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")

    def add_pooling(self, ways: Sequence[str], size: int) -> None:
        """Token embeddings of this size to a vector, by our names of ways; several are concatenated."""
        theirs = {ours: name for name, ours in POOLINGS.items()}
        names = [theirs[way] for way in ways]
        _write(
            self._next("Pooling") / "config.json",
            {
                "word_embedding_dimension": size,
                "pooling_mode": names[0] if len(names) == 1 else names,
                "include_prompt": True,
            },
        )

    def add_layers(self, layers: nn.Sequential) -> None:
        """Linear layers, an activation behind each or not (``fits_folder``)."""
        assert fits_folder(layers)
        remaining = list(layers)
        while remaining:
            linear = remaining.pop(0)
            assert isinstance(linear, nn.Linear)
            ends = not remaining or isinstance(remaining[0], nn.Linear)
            self.add_dense(linear, nn.Identity() if ends else remaining.pop(0), of=SENTENCES)

    def add_dense(self, linear: nn.Linear, activation: nn.Module, *, of: str) -> None:
        """One linear layer, of ``TOKENS`` or of ``SENTENCES``, and what is applied to its result."""
        own = self._next("Dense")
        options = {
            "in_features": linear.in_features,
            "out_features": linear.out_features,
            "bias": linear.bias is not None,
            "activation_function": f"{type(activation).__module__}.{type(activation).__qualname__}",
        }
        # Releases before 5.4 know sentences alone, and refuse a name that they do not know.
        named = {} if of == SENTENCES else {"module_input_name": of, "module_output_name": of}
        _write(own / "config.json", options | named)
        save_file(
            {f"linear.{name}": value.detach().float().cpu().contiguous() for name, value in linear.named_parameters()},
            own / "model.safetensors",
        )

    def add_normalize(self) -> None:
        """Vectors of length one."""
        _write(self._next("Normalize") / "config.json", {})  # an empty folder would be lost on the hub or in git

    def finish(self, prompt: str) -> None:
        """``modules.json``, and the prompt that stands before every sentence, if there is one."""
        _write(
            self.folder / "modules.json",
            [
                {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
                for index, (path, kind) in enumerate(self.modules)
            ],
        )
        if prompt:
            options = {"prompts": {"default": prompt}, "default_prompt_name": "default"}
            _write(self.folder / "config_sentence_transformers.json", options)

    def _next(self, kind: str) -> Path:
        path = f"{len(self.modules)}_{kind}"
        self.modules.append((path, kind))
        (self.folder / path).mkdir(exist_ok=True)
        return self.folder / path


def _write(path: Path, content: object) -> None:
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


def _token_projection(folder: Path) -> nn.Linear:
    linear, activation = _dense(folder, of=TOKENS)
    if not isinstance(linear, nn.Linear) or not isinstance(activation, nn.Identity) or linear.bias is not None:
        raise ValueError(
            f"{folder / 'config.json'}: before the Pooling expected a linear map without bias and activation,"
            f" found {linear}, {activation}"
        )
    return linear


def _dense(folder: Path, *, of: str) -> list[nn.Module]:
    path = folder / "config.json"
    options: dict[str, Any] = read_json(path) or {}
    taken = options.get("module_input_name", SENTENCES)
    given = options.get("module_output_name") or taken
    if {taken, given} != {of} or options.get("use_residual", False):
        raise ValueError(f"{path}: expected a plain Dense of {of}, found {options}")
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
