"""Build objects from config nodes: checks of keys, recipe, evaluator."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from hydra.utils import get_object

from xsent.config_checks import UsageError, suggestion
from xsent.paths import conf_folder
from xsent.reporting.secrets import redact
from xsent.run.config.registry import ENCODERS, LANGUAGE_MARKED, check_targets

if TYPE_CHECKING:
    from xsent.data.modules.base import TrainingData
    from xsent.evaluation.evaluator import Evaluator
    from xsent.recipes.base import Recipe

RESERVED = {"_target_", "_partial_"}  # keys of a node that are no arguments

# Keyword-only parameters that no config sets: the code that calls a partial passes them.
PASSED_BY_CALLERS = {
    "base",
    "columns",
    "encoder",
    "language",
    "part",
    "source_lang",
    "tags_words",
    "target_lang",
    "threshold",
    "total_steps",
}


def build(config: Mapping[str, Any], kind: str) -> Any:
    """Build the object of a config node, those of its nested nodes included.

    Args:
        config: plain values; nothing in them is interpolated.
        kind: of ``xsent.run.config.registry``, such as ``encoder``, ``data`` or ``evaluator``.

    Raises:
        UsageError: a ``_target_`` is not registered for its place, or an object refused its arguments.
    """
    check_targets(config, kind, kind)
    try:
        return _construct(config)
    except ValueError as error:
        raise (UsageError(str(error)) if type(error) is ValueError else error) from None


def _construct(node: Any) -> Any:
    if isinstance(node, list | tuple):
        return [_construct(value) for value in node]
    if not isinstance(node, Mapping):
        return node
    values = {key: _construct(value) for key, value in node.items() if key not in RESERVED}
    if "_target_" not in node:
        return values
    target = get_object(node["_target_"])
    if node.get("_partial_"):
        return partial(target, **values)
    dim = values.pop("dim") if truncates(node) else None
    built = target(**values)
    if dim is not None:
        built.truncate_dim(dim)
    return built


def truncates(node: Mapping[str, Any]) -> bool:
    """Whether the config of an encoder has a ``dim`` to truncate its vectors to.

    ``dim`` of an encoder to train is an option of its class: the size of its new vectors.
    """
    if "dim" not in node or node.get("_target_") not in ENCODERS or node.get("_partial_"):
        return False
    return "dim" not in inspect.signature(get_object(node["_target_"])).parameters


def check_keys(config: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` when a node with ``_target_`` has a key that its target lacks, or lacks one it needs.

    Of a partial only keyword-only parameters are required: its caller passes the others.
    """
    for key_path, node in targets(config):
        target = str(node["_target_"])
        parameters = inspect.signature(get_object(target)).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            continue
        keys = {str(key) for key in node} - RESERVED
        keyword_only = {name: value for name, value in parameters.items() if value.kind is value.KEYWORD_ONLY}
        settable = keyword_only if node.get("_partial_") else parameters
        required = {name for name, value in settable.items() if value.default is value.empty}
        missing = sorted(required - keys - PASSED_BY_CALLERS)
        if surplus := sorted(keys - parameters.keys() - ({"dim"} if truncates(node) else set())):
            expected = f", expected one of {', '.join(sorted(keyword_only or parameters))}"
            message = f"{key_path}.{surplus[0]}: {target} has no option {surplus[0]}"
            message += suggestion(surplus[0], parameters) or expected
        elif missing:
            message = f"{key_path}: {target} needs {', '.join(missing)}"
        else:
            continue
        group = _group_of(key_path, config)
        raise UsageError(f"{message}; choose a file of conf/{group} that fits, or set the keys")


def targets(node: object, key_path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every node with a ``_target_``, and its key path."""
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield key_path, node
        for key, value in node.items():
            yield from targets(value, f"{key_path}.{key}" if key_path else str(key))
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            yield from targets(value, f"{key_path}[{index}]")


def _group_of(key_path: str, config: Mapping[str, Any]) -> str:
    """The config group whose files set the node at ``key_path``."""
    group = key_path.split(".")[0]
    if group != "recipe":
        return group
    module = str(config["recipe"]["_target_"]).split(".")[-2]
    for file in sorted((conf_folder() / group / module).glob("*/*.yaml")):
        if f"# @package {key_path}\n" in file.read_text(encoding="utf-8"):
            return f"{group}/{module}/{file.parent.name}"
    return group


def build_recipe(config: dict[str, Any], encoder: Any) -> Recipe[Any]:
    """Build the recipe of a resolved config; its checkpoints store the config, secrets masked."""
    make = build({**config["recipe"], "_partial_": True}, "recipe")
    try:
        recipe: Recipe[Any] = make(encoder=encoder)
    except ValueError as error:
        raise UsageError(str(error)) from None
    recipe.config = redact(config)
    return recipe


def check_fits(config: Mapping[str, Any], data: TrainingData) -> None:
    """Raise ``ValueError`` if the recipe cannot train on the data, or a monitored metric is not measured."""
    recipe = get_object(config["recipe"]["_target_"])
    if config["encoder"]["_target_"] == LANGUAGE_MARKED and recipe.trained_space is not None:
        raise UsageError(
            f"encoder.language_marking={config['encoder']['alpha']}: {recipe.__name__} trains the encoder, and only the"
            " vectors of a frozen one can be marked: recipe=oracle, dream or meat"
        )
    recipe.check_data(data)
    if lora := config["recipe"].get("lora"):
        load = get_object(config["encoder"]["_target_"])
        build(lora, "adapters").check_encoder(getattr(load, "__self__", load), config["encoder"]["name"])
    trainer, optimizer = config["trainer"], config["recipe"].get("optimizer", {})
    if trainer.get("gradient_clip_val") and str(trainer["precision"]).endswith("mixed") and optimizer.get("fused"):
        raise UsageError(
            f"trainer.gradient_clip_val with trainer.precision={trainer['precision']} needs"
            " recipe.optimizer.fused=false: Lightning does not clip before a fused optimizer"
        )
    evaluator = config["evaluator"] or {}
    names = [member["name"] for member in evaluator.get("members", {"": evaluator}).values() if member]
    for callback, monitor in _evaluator_monitors(config["callbacks"]).items():
        name = monitor.split("/")[1]
        if name not in names:
            raise UsageError(
                f"callbacks.{callback}.monitor={monitor}: no evaluator of this run is named {name}"
                f" (there is {', '.join(names) or 'none'}); choose evaluator=... or monitor val/loss"
            )
        if config["evaluate_every_n_epochs"] != 1:
            raise UsageError(
                f"callbacks.{callback}.monitor={monitor} is measured by the evaluator, so"
                f" evaluate_every_n_epochs={config['evaluate_every_n_epochs']} must be 1; or monitor val/loss"
            )


def check_monitors(callbacks: Mapping[str, Any], evaluator: Evaluator | None, recipe: Recipe[Any]) -> None:
    """Raise ``ValueError`` if a callback monitors a metric that the evaluator does not compute for this recipe.

    The files of the evaluator have to be read before.
    """
    monitors = _evaluator_monitors(callbacks)
    if evaluator is None or not monitors:
        return
    metrics = sorted(f"val/{name}" for name in recipe.metric_names(evaluator))
    for callback, monitor in monitors.items():
        if monitor not in metrics:
            raise UsageError(f"callbacks.{callback}.monitor={monitor}: expected one of {', '.join(metrics)}")


def _evaluator_monitors(callbacks: Mapping[str, Any]) -> dict[str, str]:
    """Metrics of evaluators that callbacks monitor; ``val/loss`` and others are the recipe's."""
    monitors = {name: str(options.get("monitor", "")) for name, options in callbacks.items()}
    return {name: monitor for name, monitor in monitors.items() if monitor.count("/") > 1}


def build_evaluator(
    config: dict[str, Any] | None, data: TrainingData | None, *, split: str, device: str = "cpu"
) -> Evaluator | None:
    """Build the evaluator and read its test sets, unless they are held-out data of a training run.

    Raises:
        ValueError: it scores the data of a training run and there are none.
    """
    if not config:
        return None
    evaluator: Evaluator = build(config, "evaluator")
    evaluator.bind(data, split=split, device=device)
    if not evaluator.reads_training_data:
        evaluator.check()
    return evaluator


def build_both_evaluators(
    config: dict[str, Any] | None, data: TrainingData, *, device: str
) -> tuple[Evaluator | None, Evaluator | None]:
    """Evaluators for validation and for the test; the same one for both where they would score the same data."""
    evaluator = build_evaluator(config, data, split="test", device=device)
    if evaluator is None or not evaluator.depends_on_split:
        return evaluator, evaluator
    return build_evaluator(config, data, split="valid", device=device), evaluator
