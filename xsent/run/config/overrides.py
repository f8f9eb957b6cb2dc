"""Checks of the overrides on a command line before Hydra composes them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException

from xsent.config_checks import UsageError, suggestion
from xsent.paths import conf_folder

# What a user of Hydra may try to set, and the option to use.
REPLACED = {"hydra.run.dir": "name=... or run_dir=..."}


def hydra_context() -> AbstractContextManager[Any]:
    """Let ``compose`` find ``conf``, unless Hydra is initialised already."""
    if GlobalHydra.instance().is_initialized():
        return nullcontext()
    return initialize_config_dir(str(conf_folder()), version_base="1.3")


def check_overrides(name: str, overrides: Sequence[str]) -> None:
    """Check that the groups on the command line of ``train`` or ``evaluate`` belong to the chosen recipe.

    Raises:
        UsageError: a group of another recipe, or a group without its recipe in front; names the right one.
    """
    below = [folder for folder in (conf_folder() / "recipe").glob("*/*") if folder.is_dir()]
    chosen = [text.removeprefix("recipe=") for text in overrides if text.startswith("recipe=")]
    owners = {folder.name: folder.parent.name for folder in sorted(below, key=lambda path: path.parent.name in chosen)}
    groups = {override: override.lstrip("+~").partition("=")[0].partition("@")[0] for override in overrides}
    for override, group in groups.items():
        if group in owners:
            raise UsageError(f"{override}: this group is below its recipe, write recipe/{owners[group]}/{group}=...")
        if group in REPLACED:
            raise UsageError(f"{override}: expected {REPLACED[group]}")
        if not group:
            raise UsageError(f"{override}: expected NAME=VALUE")
    of_recipes = [override for override in overrides if groups[override].startswith("recipe/")]
    if not of_recipes:
        return
    remaining = [override for override in overrides if override not in of_recipes]
    try:
        with hydra_context():
            choices = compose(name, remaining, return_hydra_config=True).hydra.runtime.choices
    except HydraException:  # a sweep over recipes, or an error that the real composition reports
        return
    for override in of_recipes:
        if groups[override] not in choices:
            available = sorted(str(group) for group in choices if str(group).startswith("recipe/"))
            if groups[override].startswith(f"recipe/{choices.get('recipe')}/"):
                raise UsageError(
                    f"{override}: no such group, expected one of {', '.join(available)}"
                    f"{suggestion(groups[override], available)}"
                )
            raise UsageError(
                f"{override}: this group belongs to recipe={groups[override].split('/')[1]}, but recipe="
                f"{choices.get('recipe')} was chosen, whose groups are: {', '.join(available) or 'none'}"
            )
