"""Search space and options: what is accepted, and how Hydra reads the values."""

from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

from xsent.sweeps.search.options import read_options
from xsent.sweeps.search.space import Value, grid_points, overrides_of, probe_points, read_space


def test_a_grid_is_every_combination_once_in_order() -> None:
    space = read_space({"recipe.margin": {"choices": [3, 4]}, "objective": {"choices": ["a", "b", "c"]}})
    points = [(point["recipe.margin"], point["objective"]) for point in grid_points(space)]
    assert points == [(3, "a"), (3, "b"), (3, "c"), (4, "a"), (4, "b"), (4, "c")]


def test_a_range_with_a_step_is_a_grid_of_round_numbers() -> None:
    space = {"a": {"low": 0.0, "high": 0.3, "step": 0.1}, "b": {"low": 1, "high": 3, "kind": "int"}}
    points = grid_points(read_space(space))
    assert [point["a"] for point in points[::3]] == [0.0, 0.1, 0.2, 0.3]
    assert [point["b"] for point in points[:3]] == [1, 2, 3]
    with pytest.raises(ValueError, match=r"space\[a\]: a grid needs choices or a step"):
        grid_points(read_space({"a": {"low": 0.0, "high": 1.0}}))


def test_probes_contain_every_choice_and_both_ends_of_a_range() -> None:
    space = read_space({"a": {"choices": ["x", "y", "z"]}, "b": {"low": 0.5, "high": 2.0, "log": True}})
    assert [tuple(point.values()) for point in probe_points(space)] == [
        ("x", 0.5),
        ("y", 0.5),
        ("z", 0.5),
        ("x", 2.0),
    ]


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, 1e-05, 1 / 3, "mini", "oracle/table3", "a b", "it's", "null", "3", ""]
)
def test_hydra_reads_a_value_as_it_was_meant(value: Value) -> None:
    (override,) = overrides_of({"recipe.margin": value})
    parsed = OverridesParser.create().parse_override(override).value()
    assert (parsed, type(parsed)) == (value, type(value)) or str(parsed) == value  # quoted strings have their own type


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"choices": []}, "a list of different values"),
        ({"choices": [1, 1]}, "a list of different values"),
        ({"choices": [[1]]}, "strings, numbers"),
        ({"low": 1}, "choices alone, or low and high"),
        ({"low": 1, "high": 2, "stepp": 1}, "stepp"),
        ({"low": 2, "high": 1}, "low < high"),
        ({"low": 0, "high": 1, "log": True}, "low > 0"),
        ({"low": 1, "high": 2, "log": True, "step": 0.1}, "step"),
        ({"low": 1, "high": 2, "step": -0.1}, "step > 0"),
        ({"low": "a", "high": 1}, "expected numbers"),
        ({"low": float("nan"), "high": 1}, "expected numbers"),
        ({"low": True, "high": 2}, "expected numbers"),
        ({"low": 0.5, "high": 2, "kind": "int"}, "kind int"),
        ({"low": 0, "high": 2, "kind": "whole"}, "expected float or int"),
        (None, "found nothing"),
    ],
)
def test_a_wrong_parameter_is_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"space\[recipe\.margin\].*" + message):
        read_space({"recipe.margin": options})


def node(**changes: Any) -> dict[str, Any]:
    """The ``search`` config of a search over a margin."""
    return {
        "name": "test",
        "folder": "f",
        "storage": "sqlite:///f/study.db",
        "n_trials": 5,
        "timeout": None,
        "workers": 1,
        "retries": 2,
        "engine": "local",
        "seed": 1,
        "space": {"a": {"choices": [1, 2, 3]}},
        "trial": None,
        "sampler": "random",
        "samplers": {"random": None, "grid": None},
        "pruner": "none",
        "pruners": {"none": None},
        "heartbeat": 1,
        "grace_period": 2,
        **changes,
    }


@pytest.mark.parametrize(("n_trials", "expected"), [(None, 3), (2, 2), (9, 3)])
def test_a_grid_has_at_most_as_many_trials_as_points(n_trials: int | None, expected: int) -> None:
    assert read_options(node(sampler="grid", n_trials=n_trials)).n_trials == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": "slurm"}, "engine=slurm: expected one of local, submitit, ray"),
        ({"sampler": "annealing"}, "sampler=annealing: expected one of tpe, random, grid"),
        ({"pruner": "all"}, "pruner=all: expected one of none, median, asha"),
        ({"sampler": "tpe", "samplers": {"tpe": {"n_startup": 3}}}, r"samplers\.tpe: .*n_startup"),
        ({"pruner": "median", "pruners": {"median": {"warmup": 3}}}, r"pruners\.median: .*warmup"),
        ({"workers": 0}, "workers=0: expected an integer of at least 1"),
        ({"n_trials": 2.5}, "n_trials=2.5"),
        ({"n_trials": None}, "n_trials=null: expected an integer, unless there is a timeout"),
        ({"space": {}}, "at least one parameter"),
        ({"worker": 2}, "worker: no such option"),
        ({"timeout": "1h"}, "timeout=1h: expected a number of seconds"),
        ({"timeout": -1}, "timeout=-1: expected a number of seconds"),
        ({"name": 3}, "name=3: expected a string"),
        ({"name": "a/b"}, "name=a/b: expected a name without /"),
        ({"retries": None}, "retries=None: expected an integer of at least 0"),
        ({"heartbeat": 60}, "grace_period=2: expected more seconds than heartbeat=60"),
        ({"submitit": {"cluster": "local", "partition": "gpu"}}, "submitit: expected cluster, parameters"),
        ({"ray": {"address": None}}, "ray: expected address, cpus_per_trial, gpus_per_trial"),
    ],
)
def test_a_wrong_option_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_options(node(**changes))
