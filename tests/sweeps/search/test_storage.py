"""Studies: what the next trial tries is a function of seed and study, and no other search writes into one."""

from pathlib import Path
from typing import Any

import pytest

optuna = pytest.importorskip("optuna", reason="pip install 'xsent[search]'")

from tests.sweeps.search.stub import stub_options  # noqa: E402
from xsent.sweeps.search.options import Options  # noqa: E402
from xsent.sweeps.search.storage import (  # noqa: E402
    SearchStudy,
    load_study,
    open_study,
)

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")

SPACE = {"a": {"low": 0.0, "high": 1.0}, "b": {"low": 1.0, "high": 100.0, "log": True}, "c": {"choices": ["x", "y"]}}
SAMPLERS = {"random": None, "grid": None, "tpe": {"n_startup_trials": 3}}


def options_in(folder: Path, **changes: Any) -> Options:
    folder.mkdir(exist_ok=True)
    return stub_options(folder, **({"space": SPACE, "sampler": "tpe", "samplers": SAMPLERS, "n_trials": 8} | changes))


def study_in(options: Options, identity: Any = None) -> SearchStudy:
    return open_study(options, identity or {"space": 1}, direction="minimize")


def run_trial(study: SearchStudy) -> dict[str, Any]:
    """Values of the next trial, which ends with a value."""
    study.queue_next()
    number = study.start_queued()
    assert number is not None
    params = study.trials()[number].params
    study.study.tell(number, params["a"] + params["b"] / 100 + (params["c"] == "x"))
    return params


def test_an_interrupted_search_tries_what_an_unbroken_one_tries(tmp_path: Path) -> None:
    study = study_in(options_in(tmp_path / "unbroken"))
    unbroken = [run_trial(study) for _ in range(8)]
    broken = options_in(tmp_path / "broken")
    assert [run_trial(study_in(broken)) for _ in range(8)] == unbroken
    assert len(set(map(str, unbroken))) == 8
    first = [run_trial(study_in(options_in(tmp_path / str(seed), seed=seed))) for seed in (1, 50)]
    assert first[0] != first[1]


def test_a_grid_tries_every_point_once_in_order(tmp_path: Path) -> None:
    space = {"a": {"choices": [3, 4]}, "c": {"choices": ["x", "y"]}}
    study = study_in(options_in(tmp_path / "grid", space=space, sampler="grid"))
    for number in range(4):
        study.queue_next()
        assert study.start_queued() == number
    assert [trial.params for trial in study.trials()] == [{"a": a, "c": c} for a in (3, 4) for c in ("x", "y")]
    assert {trial.state.name for trial in study.trials()} == {"RUNNING"}


def test_a_study_of_another_search_is_refused_and_left_alone(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    identity = {"space": {"a": [1, 2]}, "config": {"data": {"root": "x"}, "seed": 1}}
    study_in(options, identity)
    before = (tmp_path / "s" / "study.db").read_bytes()
    changed = {"space": {"a": [1, 3]}, "config": {"data": {"root": "x"}, "seed": 2, "new": 1}}
    expected = r"config.new was absent, is 1; config.seed was 1, is 2; space.a was \[1, 2\], is \[1, 3\]"
    with pytest.raises(ValueError, match=expected):
        study_in(options, changed)
    assert (tmp_path / "s" / "study.db").read_bytes() == before
    assert study_in(options, identity).trials() == []


def test_a_study_of_another_program_is_refused(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    optuna.create_study(study_name=options.name, storage=options.storage).ask()
    with pytest.raises(ValueError, match="was not created by xsent"):
        study_in(options)


def test_a_command_killed_while_it_created_the_study_does_no_harm(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")
    optuna.create_study(study_name=options.name, storage=options.storage)
    (tmp_path / "s" / "study_id").write_text("of a study that did not get it")
    assert study_in(options).trials() == []
    assert study_in(options).changes({"space": 1}) == ""


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    options = options_in(tmp_path / "s")._replace(storage="nosuch://somebody:hush@example.org/db")
    with pytest.raises(ValueError, match=r"nosuch://\*\*\*@example.org/db") as caught:
        study_in(options)
    assert "hush" not in str(caught.value)


def test_a_missing_study_is_not_created_to_read_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no study test"):
        load_study(options_in(tmp_path / "s"))
    assert list((tmp_path / "s").iterdir()) == []
