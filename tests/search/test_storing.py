"""The study: what the next trial tries is a function of seed and study, and no other search writes into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.search.test_space import node
from xsent.run.search.options import Options, read_options
from xsent.run.search.storing import (
    add_trial,
    build_pruner,
    build_sampler,
    differences,
    known_study,
    open_study,
    values_of,
)

optuna = pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

SPACE = {"a": {"low": 0.0, "high": 1.0}, "b": {"low": 1.0, "high": 100.0, "log": True}, "c": {"choices": ["x", "y"]}}
SAMPLERS = {"random": None, "grid": None, "tpe": {"n_startup_trials": 3}}


def options_in(folder: Path, **changes: Any) -> Options:
    folder.mkdir(exist_ok=True)
    changes = {"space": SPACE, "sampler": "tpe", "samplers": SAMPLERS, "n_trials": 8} | changes
    return read_options(node(folder=str(folder), storage=f"sqlite:///{folder}/study.db", **changes))


def study_in(options: Options, identity: Any = None) -> Any:
    return open_study(options, identity or {"space": 1}, is_max=False)


def worth(values: dict[str, Any]) -> float:
    return float(values["a"] + values["b"] / 100 + (values["c"] == "x"))


def searched(options: Options, trials: int) -> list[tuple[dict[str, Any], float]]:
    """So many more trials, on a study that is opened anew for each."""
    for _ in range(trials):
        study = study_in(options)
        number = add_trial(study, options)
        study.tell(number, worth(values_of(study, number)))
    return [(one.params, one.value) for one in study_in(options).trials]


def test_a_search_that_was_interrupted_tries_what_an_unbroken_one_tries(tmp_path: Path) -> None:
    whole, broken = options_in(tmp_path / "whole"), options_in(tmp_path / "broken")
    unbroken = searched(whole, 8)
    searched(broken, 5)
    assert searched(broken, 3) == unbroken
    assert len({str(params) for params, _ in unbroken}) == 8


def test_another_seed_tries_other_values(tmp_path: Path) -> None:
    one, other = (options_in(tmp_path / str(seed), seed=seed) for seed in (1, 50))
    assert searched(one, 1) != searched(other, 1)


def test_a_grid_tries_every_point_once_in_order(tmp_path: Path) -> None:
    space = {"a": {"choices": [3, 4]}, "c": {"choices": ["x", "y"]}}
    options = options_in(tmp_path / "grid", space=space, sampler="grid")
    study = study_in(options)
    found = [values_of(study, add_trial(study, options)) for _ in range(4)]
    assert found == [{"a": a, "c": c} for a in (3, 4) for c in ("x", "y")]


def test_a_trial_that_runs_is_in_the_study_with_all_its_values(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    study = study_in(options)
    add_trial(study, options)
    (trial,) = study_in(options).trials
    assert (trial.state.name, set(trial.params)) == ("RUNNING", set(SPACE))


def test_a_study_of_another_search_is_refused_and_left_alone(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    identity = {"space": {"a": [1, 2]}, "config": {"data": {"root": "x"}, "seed": 1}}
    study_in(options, identity)
    before = (tmp_path / "s" / "study.db").read_bytes()
    other = {"space": {"a": [1, 3]}, "config": {"data": {"root": "x"}, "seed": 2, "new": 1}}
    expected = r"config.new was not there, is 1; config.seed was 1, is 2; space.a was \[1, 2\], is \[1, 3\]"
    with pytest.raises(ValueError, match=expected):
        study_in(options, other)
    assert (tmp_path / "s" / "study.db").read_bytes() == before
    assert study_in(options, identity).trials == []


def test_a_study_that_somebody_else_made_is_refused(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    optuna.create_study(study_name=options.name, storage=options.storage)
    with pytest.raises(ValueError, match="there is none of xsent's"):
        study_in(options)


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")._replace(storage="nosuch://somebody:hush@example.org/db")
    with pytest.raises(ValueError, match=r"nosuch://\*\*\*@example.org/db") as caught:
        study_in(options)
    assert "hush" not in str(caught.value)


def test_nothing_differs_between_equals() -> None:
    assert differences({"a": {"b": [1, None]}}, {"a": {"b": [1, None]}}) == []


def test_wrong_options_of_optuna_are_named(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s", samplers={"tpe": {"n_startup": 3}})
    with pytest.raises(ValueError, match=r"samplers\.tpe: .*n_startup"):
        build_sampler(options, 0)
    with pytest.raises(ValueError, match=r"pruners\.median: .*warmup"):
        build_pruner({"name": "median", "warmup": 3})


def test_a_study_that_is_not_there_is_not_made_to_be_read(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    with pytest.raises(FileNotFoundError, match="there is no study test"):
        known_study(options)
    assert list((tmp_path / "s").iterdir()) == []
    with pytest.raises(ValueError, match=r"nosuch://\*\*\*@example.org/db"):
        known_study(options._replace(storage="nosuch://somebody:hush@example.org/db"))
