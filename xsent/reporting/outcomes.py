"""Files of per-item outcomes: ``outcomes.json`` of a run, written compactly and read with checks."""

import json
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from xsent.evaluation.statistics.items import Columns, Floats, Items
from xsent.evaluation.statistics.measures import STATISTICS
from xsent.files.strict_json import read_json_object

OUTCOMES = "outcomes.json"
FORM = "a statistic, a scale and groups of columns, or 0 or 1 for each test item"
# Values that are averaged need fewer digits than scores that are ranked.
DIGITS = {"mean": 5, "percentile_5": 5}
SCORE_DIGITS = 9


def encode_outcomes(outcomes: Mapping[str, Items]) -> dict[str, Any]:
    """Outcomes as JSON: ``columns``, each once, and ``metrics`` with the numbers of their columns.

    A column is a text: a digit for each item where all values are 0 to 9 (``0110``), else numbers with spaces between
    them (``0.12 -0.5``).
    """
    columns: dict[str, int] = {}
    metrics = {}
    for name, items in outcomes.items():
        digits = DIGITS.get(items.statistic, SCORE_DIGITS)
        groups = [
            [[columns.setdefault(_text(column, digits), len(columns)) for column in test_set] for test_set in group]
            for group in items.groups
        ]
        metrics[f"test/{name}"] = {"statistic": items.statistic, "scale": items.scale, "groups": groups}
    return {"columns": list(columns), "metrics": metrics}


def _text(values: Floats, digits: int) -> str:
    if ((values >= 0) & (values <= 9) & (values == np.floor(values))).all():
        return "".join(map(str, values.astype(np.int64).tolist()))
    # Always with a point or letters, so that no text of numbers reads as digits.
    return " ".join(f"{value:#.{digits}g}".rstrip("0") for value in values.tolist())


def outcomes_text(before: Mapping[str, Any], after: Mapping[str, Items]) -> str:
    """Content of ``outcomes.json``; ``before`` is encoded."""
    return json.dumps({"before": before, "after": encode_outcomes(after)}, separators=(",", ":")) + "\n"


def read_outcomes(folder: Path, moment: str = "after") -> dict[str, Items]:
    """Outcomes of the test items of a run by metric, ``before`` or ``after`` training; empty where there are none.

    Raises:
        ValueError: a damaged file.
    """
    path = folder / OUTCOMES
    if not path.is_file():
        return {}
    content = read_json_object(path).get(moment, {})
    if not isinstance(content, Mapping):
        raise ValueError(f"{path}: expected outcomes by metric in `{moment}`, found {content!r:.200}")
    is_old = "columns" not in content  # digits by metric
    outcomes = {}
    for name, entry in (content if is_old else content.get("metrics", {})).items():
        try:
            if len(name.split("/")) not in (4, 5):
                raise ValueError(name)
            outcomes[name] = Items.percentage(_digits(entry)) if is_old else _decode(entry, content["columns"])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise ValueError(f"{path}: expected {FORM} of {name} in `{moment}`, found {entry!r:.200}") from None
    return outcomes


def _decode(entry: Mapping[str, Any], texts: Sequence[str]) -> Items:
    columns: dict[int, Floats] = {}
    groups: list[list[Columns]] = []
    needed = len(signature(STATISTICS[entry["statistic"]]).parameters) - 1
    for group in entry["groups"]:
        groups.append([])
        for numbers in group:
            for number in numbers:
                if number not in columns:
                    columns[number] = _column(texts[number])
            test_set = tuple(columns[number] for number in numbers)
            if len(test_set) != needed or len({*map(len, test_set)}) != 1:
                raise ValueError(numbers)
            groups[-1].append(test_set)
    return Items(entry["statistic"], groups, float(entry["scale"]))


def _column(text: str) -> Floats:
    return _digits(text) if text.isdigit() else np.array(text.split(), dtype=np.float64)


def _digits(text: str) -> Floats:
    if not set(text) <= set("0123456789"):
        raise ValueError(text)
    return np.array(list(text), dtype=np.float64)
