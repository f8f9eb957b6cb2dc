"""Configs of trials: whatever does not fit is known before the first of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hydra import initialize_config_dir

from tests.helpers import ROOT, toy_bitext
from xsent.run import register_resolvers
from xsent.sweeps.search.options import Options, read_options
from xsent.sweeps.search.trial_config import (
    Compose,
    check_trials,
    composer,
    data_key,
    identity_of,
    trial_config,
)

SEARCHES = sorted(path.stem for path in (ROOT / "conf" / "search").glob("*.yaml") if path.stem != "base")
RATES = "search.space={recipe.optimizer.lr: {choices: [0.1, 0.01]}}"
TOY = ["search=base", "search.name=toy", "recipe=dream", "data=bitext", "evaluator=none"]


@pytest.fixture(autouse=True)
def hydra() -> Iterator[None]:
    register_resolvers()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        yield


def command_overrides(tmp_path: Path, *overrides: str) -> list[str]:
    root = toy_bitext(tmp_path / "toy", pairs=20)
    return [*TOY, f"data.root={root}", f"run_dir={tmp_path}", f"runs_dir={tmp_path}", *overrides]


def both(overrides: list[str]) -> tuple[Compose, Options]:
    from hydra import compose
    from omegaconf import OmegaConf

    node: Any = OmegaConf.to_container(compose("train", overrides).search, resolve=True)
    return composer(overrides), read_options(node)


@pytest.mark.parametrize("name", SEARCHES)
def test_every_trial_of_a_search_composes(tmp_path: Path, name: str) -> None:
    roots = {"divergence_margin": ["data.root=nowhere"], "paraphrase_margin_scale": ["data.root=nowhere"]}
    command = [f"search={name}", f"run_dir={tmp_path}", *roots.get(name, [])]
    compose_run, options = both(command)
    check_trials(compose_run, options, command)
    assert options.name == name


def test_a_trial_has_its_values_and_what_refers_to_them(tmp_path: Path) -> None:
    compose_run, _ = both(
        command_overrides(tmp_path, "search.space={seed: {choices: [1, 2]}, encoder: {choices: [micro, tiny]}}")
    )
    config = trial_config(compose_run, {"seed": 2, "encoder": "tiny"}, tmp_path / "trials" / "0")
    assert (config["seed"], config["recipe"]["seed"], config["data"]["seed"]) == (2, 2, 2)
    assert config["encoder"] == compose_run(["encoder=tiny", "seed=2"])["encoder"]
    assert config["encoder"] != compose_run(["encoder=micro", "seed=2"])["encoder"]
    assert config["callbacks"]["checkpoints"]["folder"] == str(tmp_path / "trials" / "0" / "checkpoints")
    assert config["search"] is None


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["search.space={recipe.marginn: {choices: [1, 2]}}"], "recipe.marginn=1"),
        (["search.space={encoder: {choices: [tiny, nosuch]}}"], "encoder='nosuch'"),
        (
            ["search.space={callbacks.checkpoints.monitor: {choices: [val/loss, val/dream]}}"],
            "one metric for all",
        ),
        ([RATES, "recipe.optimizer.lr=0.1"], r"recipe\.optimizer\.lr is given on the command line"),
        ([RATES, "ckpt_path=a.ckpt"], r"ckpt_path=a\.ckpt does not go with search"),
        ([RATES, "save_encoder=folder"], "save_encoder=folder does not go with"),
        ([RATES, "~callbacks.checkpoints"], r"expected callbacks\.checkpoints"),
        ([RATES, "callbacks.checkpoints.monitor=val/nosuch/original/x"], "no evaluator of this run is named nosuch"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, overrides: list[str], message: str) -> None:
    command = command_overrides(tmp_path, *overrides)
    compose_run, options = both(command)
    with pytest.raises(ValueError, match=message):
        check_trials(compose_run, options, command)


def test_where_things_lie_and_how_many_workers_are_no_part_of_a_search(tmp_path: Path) -> None:
    first, second, third = (
        identity_of(compose_run, options)
        for compose_run, options in (
            both(command_overrides(tmp_path, RATES)),
            both(command_overrides(tmp_path, RATES, "search.workers=2", "logger=none", "cache_dir=elsewhere")),
            both(command_overrides(tmp_path, RATES, "recipe.optimizer.lr=0.5")),
        )
    )
    assert first == second
    assert first != third


def test_the_files_that_are_chosen_from_are_part_of_a_search(tmp_path: Path) -> None:
    space = "search.space={encoder: {choices: [tiny, micro]}, seed: {choices: [1, 2]}}"
    compose_run, options = both(command_overrides(tmp_path, space))
    identity = identity_of(compose_run, options)
    assert set(identity["files"]) == {"encoder=tiny", "encoder=micro"}

    def edited(overrides: Sequence[str]) -> dict[str, Any]:
        config = compose_run(overrides)
        return config | ({"encoder": config["encoder"] | {"new": 1}} if "encoder='tiny'" in overrides else {})

    after = identity_of(edited, options)
    assert after["config"] == identity["config"]
    assert after["files"]["encoder=micro"] == identity["files"]["encoder=micro"]
    assert after["files"]["encoder=tiny"] != identity["files"]["encoder=tiny"]


def test_data_that_are_chosen_have_a_key_each(tmp_path: Path) -> None:
    compose_run, _ = both(command_overrides(tmp_path, RATES))
    keys = {data_key(compose_run([override])) for override in ("data.max_pairs=5", "data.max_pairs=6", "seed=3")}
    assert len(keys) == 3
    assert data_key(compose_run(["recipe.optimizer.lr=0.5"])) == data_key(compose_run([]))


def test_a_choice_that_does_not_go_with_its_data_is_known_at_once(tmp_path: Path) -> None:
    compose_run, options = both(command_overrides(tmp_path, "search.space={recipe: {choices: [dream, divergence]}}"))
    with pytest.raises(ValueError, match=r"^recipe='divergence': "):
        check_trials(compose_run, options, command=[])
