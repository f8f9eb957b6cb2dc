"""The study of a search: where its trials are kept, and what the next one tries."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from xsent.reporting.secrets import redact
from xsent.run.search.folders import check_trials_of
from xsent.run.search.space import Value, grid_points

if TYPE_CHECKING:
    from optuna import Study
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import RDBStorage
    from optuna.trial import Trial

    from xsent.run.search.options import Options

PRUNED = "pruned_after"  # attribute of a trial: the epoch, from 1, after which its pruning was decided
KEPT = "search"  # attribute of a study: its id, the folder of its trials, and all that may not change
SECONDS_FOR_A_LOCKED_FILE = 120  # how long SQLite waits for another process that writes


def check_optuna() -> None:
    """See that Optuna is there, and have it say nothing that the search says itself.

    Raises:
        ModuleNotFoundError: it is not installed, or too old.
    """
    try:
        import optuna
    except ModuleNotFoundError:
        raise ModuleNotFoundError("hparams_search needs Optuna: pip install 'xsent[search]'") from None
    if int(optuna.__version__.split(".")[0]) < 5:
        raise ModuleNotFoundError(f"hparams_search needs Optuna 5, found {optuna.__version__}")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def open_study(options: Options, identity: Mapping[str, Any], *, is_max: bool) -> Study:
    """The study of that name; a new one if there is none.

    Args:
        options: of the search.
        identity: nested plain values, all that may not change between two commands on one study.
        is_max: whether the best value is the highest.

    Raises:
        ValueError: there is one, of another search or with another folder, or the folder holds trials of another
            study; all stays as it is. Or nothing can be kept at the address.
    """
    import optuna

    own = json.loads(json.dumps(redact(identity)))
    storage = _storage(options.storage)
    study = _load(options, storage)
    if study is None:
        check_trials_of(options.folder, None)
        study = optuna.create_study(
            study_name=options.name, storage=storage, direction="maximize" if is_max else "minimize"
        )
        # A name may come again, with an older study's trials still in the folder.
        study.set_user_attr(KEPT, {"id": token_hex(8), "folder": _place(options), "identity": own})
        return study
    _check_kept(study, options)
    different = differences(study.user_attrs[KEPT]["identity"], own)
    if different:
        raise ValueError(
            f"{redact(options.storage)}: the study {options.name} is of another search: {_listed(different)}."
            " Give this one another hparams_search.name; the old study is as it was"
        )
    check_trials_of(options.folder, study_id(study))
    return study


def known_study(options: Options) -> Study:
    """The study of that name, to read from; nothing is made.

    Args:
        options: of a search.

    Raises:
        FileNotFoundError: there is no such study.
        ValueError: it is none of xsent's, or lies with another folder.
    """
    path = _database(options.storage)
    study = None if path is not None and not path.is_file() else _load(options, _storage(options.storage))
    if study is None:
        raise FileNotFoundError(f"{redact(options.storage)}: there is no study {options.name}")
    _check_kept(study, options)
    return study


def study_id(study: Study) -> str:
    """What tells a study from an older one of the same name."""
    return str(study.user_attrs[KEPT]["id"])


def check_same(study: Study, identity: Mapping[str, Any]) -> None:
    """See that the files of configs still say what they said when the study was made.

    Args:
        study: of the search.
        identity: as of ``open_study``, of what is composed now; of the chosen files it may have a part.

    Raises:
        ValueError: they do not.
    """
    different = changes(study, identity)
    if different:
        raise ValueError(f"conf/ has changed since the study {study.study_name} began: {_listed(different)}")


def changes(study: Study, identity: Mapping[str, Any]) -> list[str]:
    """Where a search differs from that of the study; of the chosen files it may have a part."""
    own = json.loads(json.dumps(redact(identity)))
    before = study.user_attrs[KEPT]["identity"]
    files = {said: digest for said, digest in before["files"].items() if said in own["files"]}
    return differences(before | {"files": files}, own)


def _load(options: Options, storage: RDBStorage) -> Study | None:
    import optuna

    try:
        return optuna.load_study(study_name=options.name, storage=storage)
    except KeyError:
        return None


def _check_kept(study: Study, options: Options) -> None:
    if KEPT not in study.user_attrs:
        raise ValueError(f"{redact(options.storage)}: the study {options.name} there is none of xsent's")
    folder = study.user_attrs[KEPT]["folder"]
    if folder != _place(options):
        # With two folders, two commands would not see each other's locks, and train a trial twice.
        raise ValueError(
            f"{redact(options.storage)}: the study {options.name} has its trials in {folder}, not in"
            f" {options.folder.resolve()}: expected the same hparams_search.folder (and runs_dir), or another name"
        )


def _place(options: Options) -> str:
    """Where the trials are: beside the study's file, so that both may move together, or in that very folder."""
    path, folder = _database(options.storage), options.folder.resolve()
    return "the folder of its file" if path is not None and path.parent == folder else str(folder)


def _database(address: str) -> Path | None:
    """The file of an SQLite address."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(address)
    except ArgumentError:  # named where it is opened
        return None
    return Path(url.database).resolve() if url.get_backend_name() == "sqlite" and url.database else None


def _listed(different: Sequence[str]) -> str:
    return "; ".join(different[:5]) + (f"; and {len(different) - 5} more" if len(different) > 5 else "")


def differences(before: Any, now: Any, at: str = "") -> list[str]:
    """Every place where two nested plain values differ, as ``place was x, is y``."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        found = []
        for key in sorted(before.keys() | now.keys()):
            inner = f"{at}.{key}" if at else key
            if key not in before or key not in now:
                found.append(f"{inner} was {_shown(before, key)}, is {_shown(now, key)}")
            else:
                found += differences(before[key], now[key], inner)
        return found
    return [] if before == now else [f"{at} was {before!r}, is {now!r}"]


def _shown(values: Mapping[str, Any], key: str) -> str:
    return repr(values[key]) if key in values else "not there"


def _storage(address: str) -> RDBStorage:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    options = {"connect_args": {"timeout": SECONDS_FOR_A_LOCKED_FILE}} if address.startswith("sqlite:") else None
    try:
        return optuna.storages.RDBStorage(address, engine_kwargs=options)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        # The message of a driver may repeat the address, and with it a password.
        reason = str(error).splitlines()[0].replace(address, str(redact(address)))
        raise ValueError(f"hparams_search.storage={redact(address)}: {type(error).__name__}: {reason}") from None


def trial_of(address: str, name: str, number: int, pruner: Mapping[str, Any]) -> Trial:
    """A trial of a study, for the process that trains it: to report to, and to ask whether to go on."""
    import optuna

    check_optuna()
    # The sampler has chosen already; this one only keeps Optuna from making another.
    study = optuna.load_study(
        study_name=name,
        storage=_storage(address),
        sampler=optuna.samplers.RandomSampler(),
        pruner=build_pruner(pruner),
    )
    return optuna.trial.Trial(study, study.get_trials(deepcopy=False)[number]._trial_id)


def build_sampler(options: Options, number: int) -> BaseSampler:
    """What chooses the values of a trial: a function of the study, the seed and the trial's number.

    Args:
        options: of the search.
        number: of the trial, from 0. A sampler that went on from trial to trial could not be had back after a kill.

    Raises:
        ValueError: an option that the sampler does not have.
    """
    from optuna.samplers import PartialFixedSampler, RandomSampler, TPESampler

    name, own = options.sampler["name"], {key: value for key, value in options.sampler.items() if key != "name"}
    seed = options.seed + number
    try:
        if name == "tpe":
            return TPESampler(seed=seed, **own)
        random = RandomSampler(seed=seed, **own)
    except TypeError as error:
        raise ValueError(f"hparams_search.samplers.{name}: {error}") from None
    if name == "random":
        return random
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the class may change in a later version of Optuna
        return PartialFixedSampler(dict(grid_points(options.space)[number]), random)


def build_pruner(options: Mapping[str, Any]) -> BasePruner:
    """What ends trials early.

    Args:
        options: ``name``: none, median or asha; and the options of Optuna's class.

    Raises:
        ValueError: an option that the pruner does not have.
    """
    from optuna.pruners import MedianPruner, NopPruner, SuccessiveHalvingPruner

    classes: dict[str, Callable[..., BasePruner]] = {
        "none": NopPruner,
        "median": MedianPruner,
        "asha": SuccessiveHalvingPruner,
    }
    name, own = options["name"], {key: value for key, value in options.items() if key != "name"}
    if name not in classes:
        raise ValueError(f"hparams_search.pruner={name}: expected one of {', '.join(classes)}")
    try:
        return classes[name](**own)
    except (TypeError, ValueError) as error:
        raise ValueError(f"hparams_search.pruners.{name}: {error}") from None


def add_trial(study: Study, options: Options) -> int:
    """Choose the values of the next trial, and have it in the study as one that runs; returns its number.

    The values are chosen beside the study and come into it in one piece: killed at any moment, a study has no trial
    that lacks a value. The caller sees to it that nobody adds another one meanwhile.
    """
    import optuna
    from optuna.trial import TrialState, create_trial

    before = study.get_trials(deepcopy=False)
    number = len(before)
    beside = optuna.create_study(direction=study.direction, sampler=build_sampler(options, number))
    beside.add_trials(before)
    distributions = {one.name: one.distribution() for one in options.space}
    asked = beside.ask(distributions)
    study.add_trial(create_trial(state=TrialState.RUNNING, params=asked.params, distributions=distributions))
    return number


def values_of(study: Study, number: int) -> dict[str, Value]:
    """What a trial tries, in the order of the space's parameters."""
    return dict(study.get_trials(deepcopy=False)[number].params)
