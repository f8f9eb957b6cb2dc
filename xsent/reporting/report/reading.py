"""What a run left in its folder, read back: the figures on a page are those on disk."""

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
from xsent.reporting.pictures import POINTS
from xsent.reporting.secrets import MASK, redact

METRICS, CONFIG, ENVIRONMENT, CURVES, DETAILS = (
    "metrics.json", "config.yaml", "environment.json", "metrics.csv", "details.csv",
)  # fmt: skip

LONGEST_CELL = 2**31 - 1  # characters; the csv module reads 131,072, and a table may have a document in a cell
PARTS = ("recipe", "encoder", "data", "evaluator")  # of a config: mappings, or none
NUMBERS = ("epochs", "batches", "seconds", "best")  # of what a run found out
DOUBTFUL = re.compile(r"(?<!\$)\{")  # begins a mapping that YAML took for text, unless it is an interpolation


class Logged(NamedTuple):
    """What was logged under one name, in the order of the file."""

    steps: list[int]
    epochs: list[int]
    values: list[float]  # NaN and infinities among them


class Points(NamedTuple):
    """Sentences in the plane."""

    sentences: list[str]  # N
    languages: list[str]  # N
    methods: dict[str, dict[str, Any]]  # by method and space: "points", N places or none, and their "note"

    @property
    def spaces(self) -> list[str]:
        """Of all methods, in order."""
        return list(dict.fromkeys(space for panels in self.methods.values() for space in panels))


class RunFiles(NamedTuple):
    """A run as its folder tells it."""

    folder: Path
    finished: bool  # whether there is a metrics.json, which is written last
    config: dict[str, Any]
    about: dict[str, Any]  # environment, digests, seed; of a finished run epochs, seconds and the like
    metrics: dict[str, float]  # NaN where the file has null
    expected: dict[str, float]  # the paper's figures, named as ours
    logged: dict[str, Logged]
    details: list[list[str]]  # header and rows; [] where there are none
    charts: list[Path]
    tables: list[Path]
    points: Points | None
    command: str | None  # the line that started it, as far as the folder knows

    @property
    def trains(self) -> bool:
        """Whether it is a run of train.py, and not of evaluate.py."""
        return "recipe" in self.config


def read_run(folder: Path) -> RunFiles:
    """Everything that a report shows of a run; one that was killed has no figures yet.

    Raises:
        ValueError: there is no run in the folder, or one of its files is damaged; it names the file, what was
            expected and what was found.
    """
    if not folder.is_dir():
        raise ValueError(f"{folder}: expected the folder of a run, found {'a file' if folder.exists() else 'nothing'}")
    metrics, config_file = folder / METRICS, folder / CONFIG
    if not metrics.is_file() and not config_file.is_file():
        raise ValueError(
            f"{folder}: expected the folder of a run, found neither {METRICS} (of a finished run) nor {CONFIG} in it"
        )
    finished = metrics.is_file()
    about_file = metrics if finished else folder / ENVIRONMENT
    content: dict[str, Any] = _object(about_file) if about_file.is_file() else {}
    if finished and "metrics" not in content:
        raise ValueError(f"{metrics}: expected an entry `metrics` of figures by name")
    figures, expected = content.pop("metrics", {}), content.pop("expected", {})
    files = content.pop("files", None)
    config = content.pop("config", None)
    _check_config(config or {}, about_file)
    _check_about(content, about_file)
    if not config:
        config = _yaml(config_file)
        _check_config(config, config_file)
    return RunFiles(
        folder=folder,
        finished=finished,
        config=redact(config),
        about=content,
        metrics=_figures(figures, metrics, "metrics"),
        expected=_figures(expected, metrics, "expected"),
        # An evaluation logs nothing: what lies beside a config.yaml is of a training run that was there before.
        logged={} if finished and "recipe" not in config and config_file.is_file() else _logged(folder / CURVES),
        details=list(csv_rows(folder / DETAILS)),
        charts=_left(folder, "charts", ".png", files),
        tables=_left(folder, "tables", ".csv", files),
        points=_points(folder / "pictures" / POINTS),
        command=_command(folder, trains="recipe" in config),
    )


def _check_config(config: object, path: Path) -> None:
    if not isinstance(config, Mapping):
        raise ValueError(f"{path}: expected the config as a mapping, found {type(config).__name__}")
    for part in PARTS:
        if not isinstance(config.get(part), Mapping | None):
            raise ValueError(f"{path}: expected {part} of the config as a mapping, found {config[part]!r}")


def _check_about(about: Mapping[str, Any], path: Path) -> None:
    for name in NUMBERS:
        if not isinstance(about.get(name), int | float | None):
            raise ValueError(f"{path}: expected a number as {name}, found {about[name]!r}")
    if not isinstance(about.get("packages"), Mapping | None):
        raise ValueError(f"{path}: expected packages by name, found {about['packages']!r}")


def _figures(found: object, path: Path, entry: str) -> dict[str, float]:
    """Numbers by name; null is NaN."""
    if not isinstance(found, Mapping):
        raise ValueError(f"{path}: expected figures by name in `{entry}`, found {type(found).__name__}")
    for name, value in found.items():
        if len(name.split("/")) not in (4, 5):
            raise ValueError(f"{path}: {entry}: expected test/<evaluator>[/<space>]/<item>/<metric>, found {name!r}")
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{path}: {entry}: expected a number or null as {name}, found {value!r}")
    return {name: math.nan if value is None else float(value) for name, value in found.items()}


def _left(folder: Path, kind: str, ending: str, files: object) -> list[Path]:
    """Charts or tables: those that the run says it wrote; of a run that says nothing, all that are there."""
    there = sorted((folder / kind).glob(f"*{ending}"))
    return there if not isinstance(files, list) else [path for path in there if f"{kind}/{path.name}" in files]


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


def _yaml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    value = _yaml_value(path)
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a mapping, found {type(value).__name__}")
    return value


def _yaml_value(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected YAML: {' '.join(str(error).split())}") from error


def csv_rows(path: Path) -> Iterator[list[str]]:
    """Of a file that a run wrote with the csv module; none if there is no such file.

    Raises:
        ValueError: it is no UTF-8 or no CSV.
    """
    if not path.is_file():
        return
    usual = csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            yield from csv.reader(file)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: expected CSV in UTF-8: {error}") from error
    finally:
        csv.field_size_limit(usual)


def _logged(path: Path) -> dict[str, Logged]:
    found: dict[str, Logged] = {}
    for number, row in enumerate(csv_rows(path), start=1):
        if number == 1:
            if row != HEADER:
                raise ValueError(f"{path}:1: expected the header {','.join(HEADER)}, found {','.join(row)}")
            continue
        try:
            step, epoch, name, text = row
            one, at = (int(step), int(epoch)), float(text)
        except ValueError:
            if _is_last(path, number):
                break  # a kill tore it
            raise ValueError(f"{path}:{number}: expected {','.join(HEADER)}, found {','.join(row)}") from None
        steps, epochs, values = found.setdefault(name, Logged([], [], []))
        steps.append(one[0])
        epochs.append(one[1])
        values.append(at)
    return found


def _is_last(path: Path, number: int) -> bool:
    return sum(1 for _ in csv_rows(path)) == number


def _points(path: Path) -> Points | None:
    if not path.is_file():
        return None
    content = _object(path)
    texts = all(_are_texts(content.get(name)) for name in ("sentences", "languages"))
    if not (texts and _are_panels(content.get("methods"))):
        raise ValueError(f"{path}: expected sentences, languages, and by method and space a note and finite points")
    found = Points(content["sentences"], content["languages"], content["methods"])
    sizes = {len(panel["points"]) for panels in found.methods.values() for panel in panels.values() if panel["points"]}
    if sizes | {len(found.languages)} > {len(found.sentences)}:
        raise ValueError(
            f"{path}: expected as many languages and points as sentences ({len(found.sentences)}), found"
            f" {len(found.languages)} languages and {', '.join(map(str, sorted(sizes)))} points"
        )
    return found


def _are_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(text, str) for text in found)


def _are_panels(methods: object) -> bool:
    if not isinstance(methods, dict) or not all(isinstance(panels, dict) for panels in methods.values()):
        return False
    return all(_is_panel(panel) for panels in methods.values() for panel in panels.values())


def _is_panel(panel: object) -> bool:
    if (
        not isinstance(panel, dict)
        or not isinstance(panel.get("note"), str)
        or not isinstance(panel.get("points"), list)
    ):
        return False
    return all(
        isinstance(point, list) and len(point) == 2 and all(isinstance(one, int | float) for one in point)
        and all(map(math.isfinite, point))
        for point in panel["points"]
    )  # fmt: skip


def _command(folder: Path, *, trains: bool) -> str | None:
    """What was typed, from Hydra's own record of it; what looks secret is masked."""
    path = folder / ".hydra" / "overrides.yaml"
    if not path.is_file():
        return None
    overrides = _yaml_value(path) or []
    if not isinstance(overrides, list):
        raise ValueError(f"{path}: expected a list of overrides, found {type(overrides).__name__}")
    program = "train.py" if trains else "evaluate.py"
    return shlex.join(["python", program, *(_masked(str(override)) for override in overrides)])


def _masked(override: str) -> str:
    """``name=value``: its secrets masked, those within a mapping or list, too; as a whole if it cannot be read."""
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
    if _is_doubtful(value):
        return f"{name}={MASK}"
    if isinstance(value, dict | list) and (known := redact(value)) != value:
        text = yaml.safe_dump(known, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6).strip()
    return f"{name}={redact(text)}"


def _is_doubtful(value: object) -> bool:
    """Whether a mapping may hide in it that YAML does not see: Hydra also reads ``{a:b}`` and ``choice({a:b})``."""
    if isinstance(value, dict):
        return any(re.search("[:{(]", str(name)) or _is_doubtful(item) for name, item in value.items())
    if isinstance(value, list):
        return any(map(_is_doubtful, value))
    return isinstance(value, str) and bool(DOUBTFUL.search(value))
