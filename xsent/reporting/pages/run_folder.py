"""Run folder reader: metrics, config, logged values, tables and points of a run, checked and with secrets masked."""

from __future__ import annotations

import csv
import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from xsent.reporting.metrics import HEADER
from xsent.reporting.plots.embeddings import POINTS
from xsent.reporting.secrets import MASK, redact

METRICS, CONFIG, ENVIRONMENT, CURVES, DETAILS = (
    "metrics.json",
    "config.yaml",
    "environment.json",
    "metrics.csv",
    "details.csv",
)
MAX_CELL = 2**31 - 1  # characters; the csv module's own limit of 131,072 is less than a document
CONFIG_GROUPS = ("recipe", "encoder", "data", "evaluator")  # mappings or absent
NUMBERS = ("epochs", "batches", "seconds", "best")
UNREAD_MAPPING = re.compile(r"(?<!\$)\{")  # a mapping that YAML read as text; ``${`` begins an interpolation


class Logged(NamedTuple):
    """Values logged under one name, in the order of the file."""

    steps: list[int]
    epochs: list[int]
    values: list[float]  # may be NaN or infinite


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
    logged: dict[str, Logged]
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
    if not folder.is_dir():
        raise ValueError(f"{folder}: expected the folder of a run, found {'a file' if folder.exists() else 'nothing'}")
    metrics, config_file = folder / METRICS, folder / CONFIG
    finished = metrics.is_file()
    if not finished and not config_file.is_file():
        raise ValueError(
            f"{folder}: expected the folder of a run, found neither {METRICS} (of a finished run) nor {CONFIG} in it"
        )
    about_file = metrics if finished else folder / ENVIRONMENT
    content: dict[str, Any] = _read_object(about_file) if about_file.is_file() else {}
    if finished and "metrics" not in content:
        raise ValueError(f"{metrics}: expected an entry `metrics` of figures by name")
    figures, expected = content.pop("metrics", {}), content.pop("expected", {})
    files = content.pop("files", None)
    config = content.pop("config", None)
    _check_config(config or {}, about_file)
    _check_about(content, about_file)
    if not config:
        config = _read_mapping(config_file)
        _check_config(config, config_file)
    is_evaluation = finished and "recipe" not in config
    return RunFiles(
        folder=folder,
        finished=finished,
        config=redact(config),
        about=content,
        metrics=_figures(figures, metrics, "metrics"),
        expected=_figures(expected, metrics, "expected"),
        # An evaluation logs nothing: a metrics.csv beside a config.yaml belongs to an earlier training run.
        logged={} if is_evaluation and config_file.is_file() else _read_logged(folder / CURVES),
        details=list(csv_rows(folder / DETAILS)),
        charts=_listed(folder, "charts", ".png", files),
        tables=_listed(folder, "tables", ".csv", files),
        points=_read_points(folder / "pictures" / POINTS),
        command=_command(folder, trains="recipe" in config),
    )


def _check_config(config: object, path: Path) -> None:
    if not isinstance(config, Mapping):
        raise ValueError(f"{path}: expected the config as a mapping, found {type(config).__name__}")
    for group in CONFIG_GROUPS:
        if not isinstance(config.get(group), Mapping | None):
            raise ValueError(f"{path}: expected {group} of the config as a mapping, found {config[group]!r}")


def _check_about(about: Mapping[str, Any], path: Path) -> None:
    for name in NUMBERS:
        if not isinstance(about.get(name), int | float | None):
            raise ValueError(f"{path}: expected a number as {name}, found {about[name]!r}")
    if not isinstance(about.get("packages"), Mapping | None):
        raise ValueError(f"{path}: expected packages by name, found {about['packages']!r}")


def _figures(figures: object, path: Path, entry: str) -> dict[str, float]:
    """Figures by name, null as NaN."""
    if not isinstance(figures, Mapping):
        raise ValueError(f"{path}: expected figures by name in `{entry}`, found {type(figures).__name__}")
    for name, value in figures.items():
        if len(name.split("/")) not in (4, 5):
            raise ValueError(f"{path}: {entry}: expected test/<evaluator>[/<space>]/<item>/<metric>, found {name!r}")
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{path}: {entry}: expected a number or null as {name}, found {value!r}")
    return {name: math.nan if value is None else float(value) for name, value in figures.items()}


def _listed(folder: Path, kind: str, ending: str, files: object) -> list[Path]:
    """Charts or tables that the run lists; all in the folder for a run without a list."""
    paths = sorted((folder / kind).glob(f"*{ending}"))
    return paths if not isinstance(files, list) else [path for path in paths if f"{kind}/{path.name}" in files]


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _read_mapping(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    value = _read_yaml(path)
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a mapping, found {type(value).__name__}")
    return value


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


def _read_logged(path: Path) -> dict[str, Logged]:
    logged: dict[str, Logged] = {}
    bad: tuple[int, list[str]] | None = None
    for number, row in enumerate(csv_rows(path), start=1):
        if number == 1:
            if row != HEADER:
                raise ValueError(f"{path}:1: expected the header {','.join(HEADER)}, found {','.join(row)}")
            continue
        if bad is not None:  # only the last line may be torn, by a kill
            raise ValueError(f"{path}:{bad[0]}: expected {','.join(HEADER)}, found {','.join(bad[1])}")
        try:
            step_text, epoch_text, name, value_text = row
            step, epoch, value = int(step_text), int(epoch_text), float(value_text)
        except ValueError:
            bad = number, row
            continue
        steps, epochs, values = logged.setdefault(name, Logged([], [], []))
        steps.append(step)
        epochs.append(epoch)
        values.append(value)
    return logged


def _read_points(path: Path) -> Points | None:
    if not path.is_file():
        return None
    content = _read_object(path)
    are_texts = all(_are_texts(content.get(name)) for name in ("sentences", "languages"))
    if not (are_texts and _are_panels(content.get("methods"))):
        raise ValueError(f"{path}: expected sentences, languages, and by method and space a note and finite points")
    points = Points(content["sentences"], content["languages"], content["methods"])
    panels = [panel["points"] for by_space in points.methods.values() for panel in by_space.values()]
    sizes = {len(panel) for panel in panels if panel}
    if sizes | {len(points.languages)} > {len(points.sentences)}:
        raise ValueError(
            f"{path}: expected as many languages and points as sentences ({len(points.sentences)}), found"
            f" {len(points.languages)} languages and {', '.join(map(str, sorted(sizes)))} points"
        )
    return points


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _are_panels(methods: object) -> bool:
    if not isinstance(methods, dict) or not all(isinstance(panels, dict) for panels in methods.values()):
        return False
    return all(_is_panel(panel) for panels in methods.values() for panel in panels.values())


def _is_panel(panel: object) -> bool:
    if not isinstance(panel, dict) or not isinstance(panel.get("note"), str):
        return False
    points = panel.get("points")
    return isinstance(points, list) and all(map(_is_point, points))


def _is_point(point: object) -> bool:
    if not isinstance(point, list) or len(point) != 2:
        return False
    return all(isinstance(value, int | float) and math.isfinite(value) for value in point)


def _command(folder: Path, *, trains: bool) -> str | None:
    """Command line from Hydra's record of the overrides, secrets masked."""
    path = folder / ".hydra" / "overrides.yaml"
    if not path.is_file():
        return None
    overrides = _read_yaml(path) or []
    if not isinstance(overrides, list):
        raise ValueError(f"{path}: expected a list of overrides, found {type(overrides).__name__}")
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
