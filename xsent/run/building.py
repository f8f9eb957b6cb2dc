"""From a config node to an object, with an allow-list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate

if TYPE_CHECKING:
    from xsent.data.training_data import TrainingData
    from xsent.evaluation.evaluator import Evaluator
    from xsent.recipes.base import Recipe

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


def build_recipe(config: dict[str, Any], encoder: Any) -> Recipe[Any]:
    """The recipe of a whole config, on an encoder; a checkpoint of it will hold the config."""
    try:
        recipe: Recipe[Any] = build({**config["recipe"], "_partial_": True})(encoder=encoder)
    except TypeError as error:  # an option that is missing or unknown
        raise ValueError(
            f"the recipe does not fit this version of xsent, was its run made by another? {error}"
        ) from None
    recipe.config = config
    return recipe


def check_fits(config: Mapping[str, Any], data: TrainingData) -> None:
    """Raise ``ValueError`` when the recipe cannot train on the data, or nothing measures what a callback monitors."""
    get_object(config["recipe"]["_target_"]).check_data(data)
    _check_clipping(config)
    evaluator = config["evaluator"] or {}
    names = [member["name"] for member in evaluator.get("members", {"": evaluator}).values() if member]
    for callback, options in config["callbacks"].items():
        _, *rest = str(options.get("monitor", "")).split("/")
        if len(rest) > 1 and rest[0] not in names:  # not one of the recipe's own, such as val/loss
            raise ValueError(
                f"callbacks.{callback}.monitor={options['monitor']}: no evaluator of this run is named {rest[0]}"
                f" (there is {', '.join(names) or 'none'}); choose evaluator=... or monitor val/loss"
            )
        if len(rest) > 1 and config["evaluate_every_n_epochs"] != 1:
            raise ValueError(
                f"callbacks.{callback}.monitor={options['monitor']} is measured by the evaluator, so"
                f" evaluate_every_n_epochs={config['evaluate_every_n_epochs']} must be 1; or monitor val/loss"
            )


def check_monitors(callbacks: Mapping[str, Any], evaluator: Evaluator | None, recipe: Recipe[Any]) -> None:
    """Raise ``ValueError`` when a callback monitors a figure that the recipe does not get of the evaluator.

    The evaluator's files are read by now, so that this is known before training and not an epoch later.
    """
    wanted = {
        name: options["monitor"] for name, options in callbacks.items() if options.get("monitor", "").count("/") > 1
    }
    if evaluator is None or not wanted:
        return
    figures = sorted(f"val/{name}" for name in recipe.figures(evaluator))
    for callback, monitor in wanted.items():
        if monitor not in figures:
            raise ValueError(f"callbacks.{callback}.monitor={monitor}: expected one of {', '.join(figures)}")


def _check_clipping(config: Mapping[str, Any]) -> None:
    trainer, optimizer = config["trainer"], config["recipe"].get("optimizer", {})
    if trainer.get("gradient_clip_val") and str(trainer["precision"]).endswith("mixed") and optimizer.get("fused"):
        raise ValueError(
            f"trainer.gradient_clip_val with trainer.precision={trainer['precision']} needs"
            " recipe.optimizer.fused=false: Lightning does not clip before a fused optimizer"
        )


def build_evaluator(
    config: dict[str, Any] | None, data: TrainingData | None, *, split: str, device: str = "cpu"
) -> Evaluator | None:
    """The evaluator, its files read; one of held-out data is given them, and reads when they are read.

    An encoder that it compares with computes on the device.

    Raises:
        ValueError: it needs the data of a training run and there is none.
    """
    if not config:
        return None
    evaluator: Evaluator = build(config)
    members = _members(evaluator)
    for one in members:
        if hasattr(getattr(one, "read", None), "restrict"):  # its files have a part to choose on and one to test on
            one.read.restrict(split)
        for model in ("teacher", "pivot"):
            if getattr(one, model, None) is not None:
                getattr(one, model).device = device
    of_data = [one for one in members if hasattr(getattr(one, "read", None), "use")]
    if of_data and data is None:
        names = ", ".join(one.name for one in of_data)
        raise ValueError(f"evaluator {names} scores the data of a training run; choose another, e.g. tatoeba")
    for one in of_data:
        one.read.use(data, split)
    if not of_data:
        evaluator.check()
    return evaluator


def build_both_evaluators(
    config: dict[str, Any] | None, data: TrainingData, *, device: str
) -> tuple[Evaluator | None, Evaluator | None]:
    """Evaluators for validation and for the test; one for both where they would score the same."""
    evaluator = build_evaluator(config, data, split="test", device=device)
    reads = [getattr(one, "read", None) for one in _members(evaluator)]
    if not any(hasattr(read, "restrict") or hasattr(read, "use") for read in reads):
        return evaluator, evaluator
    return build_evaluator(config, data, split="valid", device=device), evaluator


def check_sizes(evaluator: Evaluator | None, encoder: Any) -> None:
    """Raise ``ValueError`` when an evaluator would compare the encoder's vectors with those of another size."""
    for one in _members(evaluator):
        if hasattr(one, "check_size") and hasattr(encoder, "dim"):
            one.check_size(encoder.dim)


def _members(evaluator: Any) -> Sequence[Any]:
    return [] if evaluator is None else getattr(evaluator, "members", [evaluator])
