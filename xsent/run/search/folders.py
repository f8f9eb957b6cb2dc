"""What a trial's folder says about whose it is: a study believes no outcome that is not of its own trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xsent.reporting.files import write_text
from xsent.run.frozen import ABOUT, OUTCOME
from xsent.run.search.space import Value

LAST = Path("checkpoints") / "last.ckpt"


def write_about(folder: Path, *, study: str, number: int, params: Mapping[str, Value], data: str) -> None:
    """Say in a trial's folder whose it is, before its process starts.

    Args:
        folder: of the trial.
        study: random id of the study; a name may come a second time.
        number: of the trial, from 0.
        params: what it tries.
        data: key of the config of its data; equal ones have to read equal data.
    """
    about = {"study": study, "number": number, "params": dict(params), "data": data}
    write_text(folder / ABOUT, json.dumps(about, indent=1))


def read_about(folder: Path) -> dict[str, Any] | None:
    """What ``write_about`` wrote; None where it wrote nothing."""
    return _read(folder / ABOUT)


def read_outcome(folder: Path) -> dict[str, Any] | None:
    """What the trial's process left; None where it has not come to its end."""
    return _read(folder / OUTCOME)


def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def check_trial(folder: Path, study: str | None, params: Mapping[str, Value] | None = None) -> None:
    """Refuse what another study, or another trial, has left in a trial's folder.

    Args:
        folder: of the trial; its name is the trial's number.
        study: id of the study; None: of one that is not there yet.
        params: what the trial tries; None: not looked at.

    Raises:
        ValueError: it holds results that are not of this trial; nothing is changed.
    """
    about, outcome = read_about(folder), read_outcome(folder)
    if about is None and outcome is None and not (folder / LAST).is_file():
        return
    advice = "move it away, or give another hparams_search.name or folder"
    if about is None:
        raise ValueError(f"{folder} holds results, but no {ABOUT} that says whose: {advice}")
    if about["study"] != study or (outcome is not None and outcome.get("study") != study):
        raise ValueError(f"{folder} holds a trial of another study (id {about['study']}, not {study}): {advice}")
    if str(about["number"]) != folder.name or (params is not None and about["params"] != dict(params)):
        raise ValueError(f"{folder} holds trial {about['number']} with {about['params']}, expected {params}: {advice}")


def check_trials_of(folder: Path, study: str | None) -> None:
    """``check_trial`` of every trial in a search's folder."""
    for one in sorted((folder / "trials").glob("*")):
        check_trial(one, study)
