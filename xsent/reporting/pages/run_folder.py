"""Run folder reader: metrics, config, logged values, tables and points of a run, checked and with secrets masked."""

import csv
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from xsent.evaluation.statistics.items import Items
from xsent.files.strict_json import read_json_object
from xsent.reporting.metrics import HEADER
from xsent.reporting.outcomes import read_outcomes
from xsent.reporting.plots.embeddings import POINTS
from xsent.reporting.secrets import MASK, redact

METRICS, CONFIG, ENVIRONMENT = "metrics.json", "config.yaml", "environment.json"
CURVES, DETAILS = "metrics.csv", "details.csv"
MAX_CELL = 2**31 - 1  # characters; the csv module's own limit of 131,072 is less than a document
CONFIG_GROUPS = ("recipe", "encoder", "data", "evaluator")  # mappings or absent
NUMBERS = ("epochs", "batches", "seconds", "best")
UNREAD_MAPPING = re.compile(r"(?<!\$)\{")  # a mapping that YAML read as text; ``${`` begins an interpolation


class LoggedValue(NamedTuple):
    """Value of one step."""

    step: int
    epoch: int
    value: float  # may be NaN or infinite


class Points(NamedTuple):
    """N sentences in the plane."""

    sentences: list[str]
    languages: list[str]
    methods: dict[str, dict[str, Any]]  # by method and space: "points", N of them or none, and their "note"

    @property
    def spaces(self) -> list[str]:
        """Spaces of all methods, in order."""
        return list(dict.fromkeys(space for panels in self.methods.values() for space in panels))


class RunFiles(NamedTuple):
    """Content of a run folder."""

    folder: Path
    finished: bool  # there is a metrics.json, which is written last
    config: dict[str, Any]
    about: dict[str, Any]  # environment, digests and seed; of a finished run epochs, seconds and the like
    metrics: dict[str, float]  # NaN where the file has null
    expected: dict[str, float]  # the paper's figures, named as ours
    before: dict[str, float]  # figures before training
    outcomes: dict[str, Items]  # by metric, the test items that it is computed from
    outcomes_before: dict[str, Items]  # of the figures before training
    choices: dict[str, str]  # names of the chosen config files by group, as Hydra recorded them
    logged: dict[str, list[LoggedValue]]  # by name, in the order of the file
    details: list[list[str]]  # header and rows; [] without details.csv
    charts: list[Path]
    tables: list[Path]
    points: Points | None
    command: str | None  # command line, from Hydra's record of the overrides

    @property
    def trains(self) -> bool:
        """Whether the run is one of train.py, not of evaluate.py."""
        return "recipe" in self.config


def read_run(folder: Path) -> RunFiles:
    """Read a run folder; a run that was killed has no figures.

    Raises:
        ValueError: no run in the folder, or a damaged file; names the file, what was expected and what was found.
    """
    kind = "a file" if folder.exists() else "nothing"
    _check(folder, folder.is_dir(), f"the folder of a run, found {kind}")
    metrics, config_file = folder / METRICS, folder / CONFIG
    finished = metrics.is_file()
    missing = f"found neither {METRICS} (of a finished run) nor {CONFIG} in it"
    _check(folder, finished or config_file.is_file(), f"the folder of a run, {missing}")
    about_file = metrics if finished else folder / ENVIRONMENT
    content: dict[str, Any] = read_json_object(about_file) if about_file.is_file() else {}
    _check(metrics, not finished or "metrics" in content, "an entry `metrics` of figures by name")
    figures, expected = content.pop("metrics", {}), content.pop("expected", {})
    files = content.pop("files", None)
    config = content.pop("config", None)
    _check_config(config or {}, about_file)
    _check_about(content, about_file)
    if not config:
        config = _read_yaml(config_file) if config_file.is_file() else {}
        _check_config(config, config_file)
    is_evaluation = finished and "recipe" not in config
    return RunFiles(
        folder=folder,
        finished=finished,
        config=redact(config),
        about=content,
        metrics=_figures(figures, metrics, "metrics"),
        expected=_figures(expected, metrics, "expected"),
        before=_figures(content.get("before") or {}, metrics, "before"),
        outcomes=read_outcomes(folder, "after") if finished else {},
        outcomes_before=read_outcomes(folder, "before") if finished else {},
        choices=_read_choices(folder),
        # An evaluation logs nothing: a metrics.csv beside a config.yaml belongs to an earlier training run.
        logged={} if is_evaluation and config_file.is_file() else _read_logged(folder / CURVES),
        details=list(csv_rows(folder / DETAILS)),
        charts=_listed(folder, "charts", ".png", files),
        tables=_listed(folder, "tables", ".csv", files),
        points=_read_points(folder / "pictures" / POINTS),
        command=_command(folder, trains="recipe" in config),
    )


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, object]:
    """``{"a": {"b": 1}}`` as ``{"a.b": 1}``; lists and empty mappings stay as they are."""
    flat: dict[str, object] = {}
    for name, item in value.items():
        flat |= flatten(item, f"{prefix}{name}.") if isinstance(item, Mapping) and item else {f"{prefix}{name}": item}
    return flat


def _check(place: object, is_valid: bool, expected: str, *values: object) -> None:
    if not is_valid:
        raise ValueError(f"{place}: expected {expected}" + "".join(f", found {value!r:.200}" for value in values))


def _check_config(config: Any, path: Path) -> None:
    _check(path, isinstance(config, Mapping), "the config as a mapping", config)
    for group in CONFIG_GROUPS:
        value = config.get(group)
        _check(path, isinstance(value, Mapping | None), f"{group} of the config as a mapping", value)


def _check_about(about: Mapping[str, Any], path: Path) -> None:
    for name in NUMBERS:
        _check(path, isinstance(about.get(name), int | float | None), f"a number as {name}", about.get(name))
    packages = about.get("packages")
    _check(path, isinstance(packages, Mapping | None), "packages by name", packages)


def _figures(figures: Any, path: Path, entry: str) -> dict[str, float]:
    """Figures by name, null as NaN."""
    _check(path, isinstance(figures, Mapping), f"figures by name in `{entry}`", figures)
    for name, value in figures.items():
        has_form = len(name.split("/")) in (4, 5)
        _check(path, has_form, f"test/<evaluator>[/<space>]/<item>/<metric> in `{entry}`", name)
        is_number = isinstance(value, int | float | None) and not isinstance(value, bool)
        _check(path, is_number, f"a number or null as {name} in `{entry}`", value)
    return {name: math.nan if value is None else float(value) for name, value in figures.items()}


def _read_record(folder: Path, key: str, kind: type) -> Any:
    """An entry of ``command.yaml``, which records the command of a run; None without one."""
    path = folder / "command.yaml"
    if not path.is_file():
        return None
    record = _read_yaml(path)
    _check(path, isinstance(record, Mapping), "the record of a command", record)
    _check(path, isinstance(record.get(key), kind), f"a {kind.__name__} of {key}", record.get(key))
    return record[key]


def _read_choices(folder: Path) -> dict[str, str]:
    """Names of the chosen config files by group; empty without a record."""
    choices = _read_record(folder, "choices", dict) or {}
    return {str(group): name for group, name in choices.items() if isinstance(name, str)}


def _listed(folder: Path, kind: str, ending: str, files: object) -> list[Path]:
    """Charts or tables that the run lists; all in the folder for a run without a list."""
    paths = sorted((folder / kind).glob(f"*{ending}"))
    return paths if not isinstance(files, list) else [path for path in paths if f"{kind}/{path.name}" in files]


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected YAML: {' '.join(str(error).split())}") from error


def csv_rows(path: Path) -> Iterator[list[str]]:
    """Rows of a CSV file; none if there is no such file. Raises ``ValueError`` for a file that is not UTF-8 or CSV."""
    if not path.is_file():
        return
    default_limit = csv.field_size_limit(MAX_CELL)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            yield from csv.reader(file)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected CSV in UTF-8: {error}") from error
    finally:
        csv.field_size_limit(default_limit)


def _read_logged(path: Path) -> dict[str, list[LoggedValue]]:
    logged: dict[str, list[LoggedValue]] = {}
    columns = ",".join(HEADER)
    torn: tuple[int, list[str]] | None = None
    for number, row in enumerate(csv_rows(path), start=1):
        if number == 1:
            _check(f"{path}:1", row == HEADER, f"the header {columns}, found {','.join(row)}")
            continue
        if torn is not None:  # only the last line may be torn, by a kill
            raise ValueError(f"{path}:{torn[0]}: expected {columns}, found {','.join(torn[1])}")
        try:
            step, epoch, name, value = row
            logged_value = LoggedValue(int(step), int(epoch), float(value))
        except ValueError:
            torn = number, row
            continue
        logged.setdefault(name, []).append(logged_value)
    return logged


def _read_points(path: Path) -> Points | None:
    if not path.is_file():
        return None
    content = read_json_object(path)
    try:
        points = Points(content["sentences"], content["languages"], content["methods"])
        panels = [panel for by_space in points.methods.values() for panel in by_space.values()]
        texts = [*points.sentences, *points.languages, *(panel["note"] for panel in panels)]
        arrays = [np.array(panel["points"]) for panel in panels if panel["points"] != []]
        are_lists = isinstance(points.sentences, list) and isinstance(points.languages, list)
        is_valid = are_lists and all(isinstance(text, str) for text in texts) and all(map(_are_points, arrays))
    except (AttributeError, KeyError, TypeError, ValueError):
        is_valid = False
    _check(path, is_valid, "sentences, languages, and by method and space a note and finite points")
    sizes = {len(points.languages), *map(len, arrays)}
    counts = f"{len(points.languages)} languages and {', '.join(str(len(array)) for array in arrays)} points"
    expected = f"as many languages and points as sentences ({len(points.sentences)}), found {counts}"
    _check(path, sizes == {len(points.sentences)}, expected)
    return points


def _are_points(array: NDArray[Any]) -> bool:
    return array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "if" and bool(np.isfinite(array).all())


def _command(folder: Path, *, trains: bool) -> str | None:
    """Command line from the record of the overrides, secrets masked."""
    overrides = _read_record(folder, "overrides", list)
    if overrides is None:
        return None
    program = "train.py" if trains else "evaluate.py"
    return shlex.join(["python", program, *(_mask_override(str(override)) for override in overrides)])


def _mask_override(override: str) -> str:
    """``name=value`` with its secrets masked, also within a mapping or list; masked as a whole if it cannot be read."""
    name, equals, text = override.partition("=")
    if not equals:
        return override
    last = name.lstrip("+~").rpartition(".")[2]
    if redact({last: text})[last] == MASK:
        return f"{name}={MASK}"
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return f"{name}={MASK}"
    if _may_hide_mapping(value):
        return f"{name}={MASK}"
    if isinstance(value, dict | list) and (masked := redact(value)) != value:
        text = yaml.safe_dump(masked, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6).strip()
    return f"{name}={redact(text)}"


def _may_hide_mapping(value: object) -> bool:
    """Whether the value may hold a mapping that YAML does not see: Hydra also reads ``{a:b}`` and ``choice({a:b})``."""
    if isinstance(value, dict):
        return any(re.search("[:{(]", str(name)) or _may_hide_mapping(item) for name, item in value.items())
    if isinstance(value, list):
        return any(map(_may_hide_mapping, value))
    return isinstance(value, str) and bool(UNREAD_MAPPING.search(value))
