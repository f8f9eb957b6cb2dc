"""What a search may choose, and how it is said to Hydra."""

from __future__ import annotations

from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from xsent.run.search.options import read_options
from xsent.run.search.space import Value, grid_points, overrides_of, probes, read_space


def test_a_grid_is_every_combination_once_in_order() -> None:
    space = read_space({"recipe.margin": {"choices": [3, 4]}, "objective": {"choices": ["a", "b", "c"]}})
    points = [(one["recipe.margin"], one["objective"]) for one in grid_points(space)]
    assert points == [(3, "a"), (3, "b"), (3, "c"), (4, "a"), (4, "b"), (4, "c")]


def test_a_range_with_a_step_is_a_grid_of_round_numbers() -> None:
    tenths, whole = read_space({"a": {"low": 0.0, "high": 0.3, "step": 0.1}, "b": {"low": 1, "high": 3, "kind": "int"}})
    assert tenths.values() == [0.0, 0.1, 0.2, 0.3]
    assert whole.values() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"space\[a\]: a grid needs choices, or a step"):
        read_space({"a": {"low": 0.0, "high": 1.0}})[0].values()


def test_every_choice_and_both_ends_of_a_range_are_looked_at() -> None:
    space = read_space({"a": {"choices": ["x", "y", "z"]}, "b": {"low": 0.5, "high": 2.0, "log": True}})
    assert probes(space) == [
        {"a": "x", "b": 0.5},
        {"a": "y", "b": 0.5},
        {"a": "z", "b": 0.5},
        {"a": "x", "b": 2.0},
    ]


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, 1e-05, 1 / 3, "mini", "oracle/table3", "a b", "it's", "null", "3", ""]
)
def test_hydra_reads_a_value_as_it_was_meant(value: Value) -> None:
    (override,) = overrides_of({"recipe.margin": value})
    found = OverridesParser.create().parse_override(override).value()
    assert (found, type(found)) == (value, type(value)) or str(found) == value  # a quoted text has a type of its own


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"choices": []}, "a list of different values"),
        ({"choices": [1, 1]}, "a list of different values"),
        ({"choices": [[1]]}, "texts, numbers"),
        ({"low": 1}, "choices alone, or low and high"),
        ({"low": 1, "high": 2, "stepp": 1}, "stepp"),
        ({"low": 2, "high": 1}, "low < high"),
        ({"low": 0, "high": 1, "log": True}, "low > 0"),
        ({"low": "a", "high": 1}, "expected numbers"),
        ({"low": 0.5, "high": 2, "kind": "int"}, "kind=int"),
        ({"low": 0, "high": 2, "kind": "whole"}, "expected float or int"),
        (None, "found nothing"),
    ],
)
def test_a_wrong_parameter_is_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"space\[recipe\.margin\].*" + message):
        read_space({"recipe.margin": options})


def node(**changes: Any) -> dict[str, Any]:
    """``hparams_search`` of a search over a margin."""
    return {
        "name": "test", "folder": "f", "storage": "sqlite:///f/study.db", "n_trials": 5, "timeout": None, "workers": 1,
        "retries": 2, "engine": "local", "seed": 1, "space": {"a": {"choices": [1, 2, 3]}}, "trial": None,
        "sampler": "random", "samplers": {"random": None, "grid": None}, "pruner": "none", "pruners": {"none": None},
        **changes,
    }  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), [(None, 3), (2, 2), (9, 3)])
def test_a_grid_has_as_many_trials_as_points(given: int | None, expected: int) -> None:
    assert read_options(node(sampler="grid", n_trials=given)).trials == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "slurm"}, "engine=slurm: expected one of local, submitit, ray"),
        ({"sampler": "annealing"}, "sampler=annealing: expected one of random, grid"),
        ({"pruner": "all"}, "pruner=all: expected one of none"),
        ({"workers": 0}, "workers=0: expected a whole number from 1 on"),
        ({"n_trials": 2.5}, "n_trials=2.5"),
        ({"n_trials": None}, "n_trials=null: expected a number, or a timeout"),
        ({"space": {}}, "at least one parameter"),
        ({"worker": 2}, "worker: no such option"),
        ({"timeout": "1h"}, "timeout=1h: expected a number of seconds"),
        ({"timeout": -1}, "timeout=-1: expected a number of seconds"),
        ({"name": 3}, "name=3: expected a text"),
        ({"name": "a/b"}, "name=a/b: expected a name without /"),
        ({"retries": None}, "retries=None: expected a whole number from 0 on"),
        ({"submitit": {"cluster": "local", "partition": "gpu"}}, "submitit: expected cluster, parameters"),
        ({"ray": {"address": None}}, "ray: expected address, cpus_per_trial, gpus_per_trial"),
    ],
)
def test_a_wrong_option_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_options(node(**changes))
