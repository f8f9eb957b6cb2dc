"""Several runs beside one another: their figures, and in what the runs themselves differ."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xsent.reporting.report.reading import RunFiles
from xsent.reporting.tables import cells, decimals

# Of these kinds it is known which way is better, in any space but that of language, which is meant to know no
# translations, and of any evaluator but the probe, whose accuracy is bad news for vectors of meaning.
HIGHER = {
    "accuracy", "p_at_1", "pivot_p_at_1", "f1", "best_f1", "f1_equivalent", "f1_divergent", "precision", "recall",
    "roc_auc", "spearman", "cosine_spearman", "cosine_ap",
}  # fmt: skip
LOWER = {"error", "xsim", "eer"}
NOT_JUDGED = {"language", "language_probe"}  # a space, an evaluator
PLACES = {"run_dir", "runs_dir", "cache_dir"}  # where files lie makes no difference to a run
# Of an evaluator: where it reads, writes and computes. What was read, the digests of the test sets tell.
WHERE = PLACES | {
    "root", "out", "folder", "device", "num_workers", "dictionaries", "augmented", "error_types", "flores",
    "flores_augmented", "flores_error_types", "rocsmt", "lexnorm", "annotations", "pool", "models",
}  # fmt: skip
ABSENT = "(absent)"


class Compared(NamedTuple):
    """A metric in one of the runs."""

    value: float | None  # None: the run has no such figure
    delta: float | None  # to the first run; None where either has no number, and of the first run itself
    verdict: str  # "better", "worse", or "" where it is neither or not known
    mark: str  # why it is not to be compared with the first run's: "other data", "other settings"; else ""


class Row(NamedTuple):
    """A metric in all runs."""

    metric: str
    on_screen: bool  # whether the table of a single run would show it
    runs: list[Compared]  # in the order of the runs


def short_names(folders: Sequence[Path]) -> list[str]:
    """The fewest last parts of the paths that tell the folders apart, without those that all of them end with."""
    parts = [folder.resolve().parts for folder in folders]
    count = 1
    while len({part[-count:] for part in parts}) < len(parts):
        count += 1
    names = [list(part[-count:]) for part in parts]
    while all(len(name) > 1 for name in names) and len({name[-1] for name in names}) == 1:
        names = [name[:-1] for name in names]
    return ["/".join(name) for name in names]


def check_distinct(folders: Sequence[Path]) -> None:
    """Raise ``ValueError`` unless there are two folders or more, and no run among them twice."""
    if len(folders) < 2:
        raise ValueError(f"expected two runs or more to compare, found {len(folders)}")
    seen: dict[Path, Path] = {}
    for folder in folders:
        if (other := seen.setdefault(folder.resolve(), folder)) is not folder:
            raise ValueError(f"{folder}: the same run as {other}; a run is compared with others only")


def compared_rows(runs: Sequence[RunFiles]) -> list[Row]:
    """A row for each metric that any of the runs has, in the order of the first that has it."""
    shown = {cell.metric for run in runs for cell in cells(run.metrics, run.expected)}
    metrics = dict.fromkeys(metric for run in runs for metric in run.metrics)
    return [Row(metric, metric in shown, [_compared(metric, run, runs[0]) for run in runs]) for metric in metrics]


def _compared(metric: str, run: RunFiles, first: RunFiles) -> Compared:
    value, base = run.metrics.get(metric), first.metrics.get(metric)
    if value is None or base is None or run is first:
        return Compared(value, None, "", "")
    mark = measured_otherwise(run, first, metric.split("/")[1])
    delta = value - base
    if not math.isfinite(delta):
        return Compared(value, None, "", mark)
    return Compared(value, delta, "" if mark else _verdict(metric, delta), mark)


def _verdict(metric: str, delta: float) -> str:
    """Judged as it is shown: what rounds to nothing is neither."""
    *names, kind = metric.split("/")
    rounded = round(delta, decimals(metric))
    if NOT_JUDGED & set(names) or rounded == 0:
        return ""
    if kind in HIGHER:
        return "better" if rounded > 0 else "worse"
    return ("better" if rounded < 0 else "worse") if kind in LOWER else ""


def delta_text(metric: str, one: Compared) -> str:
    """``+1.20 better``; "" where there is nothing to compare."""
    if one.delta is None:
        return one.mark
    return " ".join(part for part in (f"{one.delta:+.{decimals(metric)}f}", one.verdict, one.mark) if part)


# ---- were two figures measured in the same way?


def measured_otherwise(run: RunFiles, first: RunFiles, evaluator: str) -> str:
    """Whether an evaluator had other settings or other data in one of two runs, as far as the folders tell.

    A run holds digests of its test sets. Of a training run of an older version it is known that an evaluator without
    a root reads what the training data held out; of others the root is compared.
    """
    ours, theirs = _evaluators(run.config).get(evaluator), _evaluators(first.config).get(evaluator)
    if ours is None or theirs is None:
        return ""
    if _settings(ours, run) != _settings(theirs, first):
        return "other settings"
    digests = [_test_sets(one).get(evaluator) for one in (run, first)]
    if None in digests:
        from_training = run.trains and first.trains and ours.get("root") is None
        digests = [str(one.about.get("data")) if from_training else _root(one, evaluator) for one in (run, first)]
    return "" if digests[0] == digests[1] else "other data"


def _test_sets(run: RunFiles) -> dict[str, str | None]:
    """Digests by evaluator: those of a suite's members stand one after the other. Empty where they are not known."""
    known = run.about.get("test_sets") or ("" if run.trains else run.about.get("data"))
    digests, names = str(known or "").split(), list(_evaluators(run.config))
    return dict(zip(names, digests, strict=True)) if len(names) == len(digests) else {}


def _root(run: RunFiles, evaluator: str) -> str | None:
    root = _evaluators(run.config)[evaluator].get("root")
    return None if root is None else str(Path(root).resolve())


def _evaluators(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The evaluators of a config by the name that begins their metrics."""
    evaluator = config.get("evaluator") or {}
    members = evaluator.get("members")
    found = list(members.values()) if isinstance(members, Mapping) else [evaluator]
    return {str(one["name"]): one for one in found if isinstance(one, Mapping) and "name" in one}


def _settings(evaluator: Mapping[str, Any], run: RunFiles) -> dict[str, object]:
    """Without where the files lie and what it computes on: of those only whether they are given."""
    found = _comparable({"run_dir": run.config.get("run_dir", ""), "evaluator": evaluator})
    return {name: value is not None if _is_where(name) else value for name, value in found.items()}


def _is_where(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last in WHERE or last.endswith("_path")


# ---- in what runs differ


def config_differences(runs: Sequence[RunFiles]) -> list[list[str]]:
    """The keys of the configs that differ, each with its value in every run."""
    return _differing([_comparable(run.config) for run in runs])


def condition_differences(runs: Sequence[RunFiles]) -> list[list[str]]:
    """What differs of versions, machine and digests, each with what every run has."""
    # What a run found out is no condition of it.
    outcomes = {"seconds", "epochs", "batches", "best", "monitor"}
    names = {
        "data": "sha256 of the data", "encoder": "sha256 of the encoder", "test_sets": "sha256 of the test sets",
        "git": "commit",
    }  # fmt: skip
    # The data of an evaluation are its test sets, which have a line of their own.
    left_out = [outcomes if run.trains or "test_sets" not in run.about else outcomes | {"data"} for run in runs]
    found = [
        {name: value for name, value in run.about.items() if name not in out}
        for run, out in zip(runs, left_out, strict=True)
    ]
    return [[names.get(name, name), *values] for name, *values in _differing([flat(one) for one in found])]


def _differing(found: Sequence[Mapping[str, object]]) -> list[list[str]]:
    names = dict.fromkeys(name for one in found for name in one)
    rows = [[name, *(_text(one[name]) if name in one else ABSENT for one in found)] for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def _comparable(config: Mapping[str, Any]) -> dict[str, object]:
    """Flat, and with the run's own folder wherever it is named in place of its path."""
    own = str(config.get("run_dir", ""))
    return {
        name: value.replace(own, "<run_dir>") if own and isinstance(value, str) else value
        for name, value in flat(config).items()
        if name.rpartition(".")[2] not in PLACES
    }


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """``{"a": {"b": 1}}`` as ``{"a.b": 1}``; lists and empty mappings stay whole."""
    found: dict[str, object] = {}
    for name, item in value.items():
        found |= flat(item, f"{prefix}{name}.") if isinstance(item, Mapping) and item else {f"{prefix}{name}": item}
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
