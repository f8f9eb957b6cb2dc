"""Checks of a resolved config before any work: types of values, packages, devices, the recipe's data."""

import math
import sys
import types
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hydra.utils import get_object

from xsent.config_checks import UsageError, check_device
from xsent.run.config.build import targets

# The package that a target imports when it is built or reads, and the extra with it.
PACKAGES = {
    "pytorch_lightning.loggers.WandbLogger": ("wandb", "wandb"),
    "pytorch_lightning.loggers.TensorBoardLogger": ("tensorboard", "tensorboard"),
    "xsent.data.readers.parallel.read_parquet": ("pyarrow", "parquet"),
    "xsent.data.readers.parallel.read_hub": ("datasets", "hub"),
    "xsent.evaluation.mteb.evaluator.MtebEvaluator": ("mteb", "mteb"),
    "xsent.models.lora.Lora": ("peft", "lora"),
}
NAMES = {int: "an integer", float: "a number", str: "a string", bool: "true or false", type(None): "null"}


def check_types(config: Mapping[str, Any]) -> None:
    """Raise ``UsageError`` at the first value that does not fit the type hint of its target's parameter.

    Values of nested objects are not checked here, nor those of parameters without a hint.
    """
    for key_path, node in targets(config):
        hints = _hints(get_object(str(node["_target_"])))
        for key, value in node.items():
            hint = hints.get(str(key), Any)
            if not _fits(value, hint):
                path = f"{key_path}.{key}"
                if value is None:
                    raise UsageError(f"{path}: expected a value, {path}=...")
                raise UsageError(f"{path}={value}: expected {_describe(hint)}")


def _hints(target: Any) -> dict[str, Any]:
    function = vars(target).get("__init__", target) if isinstance(target, type) else target
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError, AttributeError):  # a name of TYPE_CHECKING
        hints = {}
        scope = vars(sys.modules[function.__module__]) if getattr(function, "__module__", "") in sys.modules else {}
        for name, hint in getattr(function, "__annotations__", {}).items():
            try:
                hints[name] = eval(hint, scope) if isinstance(hint, str) else hint
            except (NameError, TypeError, AttributeError):
                continue
    defaults = getattr(function, "__kwdefaults__", None) or {}
    return {name: hint | None if name in defaults and defaults[name] is None else hint for name, hint in hints.items()}


def _fits(value: object, hint: Any) -> bool:
    """Whether a plain value fits; True if that cannot be told."""
    if isinstance(value, float) and math.isnan(value):
        return False
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, argument) for argument in arguments)
    if origin is Literal:
        return value in arguments
    if hint is Any or isinstance(value, Mapping) or origin is type:
        return True
    if hint in (int, float, str, bool, type(None)) or hint is None:
        return _is_plain(value, type(None) if hint is None else hint)
    kind = origin or hint
    if not isinstance(kind, type):
        return True
    if issubclass(kind, str | Path):
        return isinstance(value, str)
    if issubclass(kind, Sequence | tuple | list | set):
        inner = [argument for argument in arguments if argument is not Ellipsis]
        return isinstance(value, list) and (len(inner) != 1 or all(_fits(item, inner[0]) for item in value))
    return not isinstance(value, str | int | float) if value is not None else False


def _is_plain(value: object, hint: type) -> bool:
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))


def _describe(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        texts = dict.fromkeys(map(_describe, arguments))
        return " or ".join([text for text in texts if "_target_" not in text] or texts)
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if hint in NAMES:
        return NAMES[hint]
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, Path):
        return "a path"
    if isinstance(kind, type) and issubclass(kind, Sequence | tuple | list | set) and kind is not str:
        return "a list, such as [a,b]"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "names with their values, {name: value}"
    return f"a {getattr(kind, '__name__', kind)} (_target_: ...)"


def check_machine(config: Mapping[str, Any]) -> None:
    """Check that this machine has the packages and devices that a config needs.

    Raises:
        ModuleNotFoundError: a package is missing; names the extra to install.
        UsageError: no such device.
    """
    for key_path, node in targets(config):
        package, extra = PACKAGES.get(str(node["_target_"]), ("", ""))
        if package == "peft" and node.get("rank") is None:  # no adapters
            continue
        if package and find_spec(package) is None:
            raise ModuleNotFoundError(f"{key_path} needs {package}: pip install 'xsent[{extra}]'")
    if isinstance(config.get("device"), str):
        check_device(config["device"])
    trainer = config.get("trainer") or {}
    if str(trainer.get("accelerator")) in ("gpu", "cuda"):
        import torch

        gpus, devices = torch.cuda.device_count(), trainer.get("devices")
        if gpus == 0:
            raise UsageError("trainer.accelerator=gpu: torch finds no GPU on this machine; use trainer=cpu or ddp_cpu")
        if isinstance(devices, int) and devices > gpus:
            raise UsageError(f"trainer.devices={devices}: expected at most {gpus}, the GPUs of this machine")
