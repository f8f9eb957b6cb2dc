"""Readings of a study's cells as rows of its table, and figures of the test sets' config beside them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean, pvariance
from typing import Any

from xsent.reporting.tables.comparability import ALL, Details, incomparable_columns, incomparable_note
from xsent.reporting.tables.published import printed_number

Cell = Mapping[str, Any]  # encoder, objective, seed, metrics or an error
CALIBRATED = "calibrated_"  # prefix of metrics at the threshold of dev pairs


def table_rows(cells: Sequence[Cell], study: Mapping[str, Any]) -> list[Cell]:
    """The cells as the table has them: a row has the name ``objective``.

    Args:
        cells: of the study.
        study: options, each may be missing: ``readings``, prefixes of metrics by the name of a row, in which
            ``{objective}`` is that of the cell (``{"{objective}": "", "a fair coin": "random_"}`` adds a row with
            ``random_f1`` for ``f1``); ``untrained``, the name of a row with the figures of each encoder before
            training, at the calibrated threshold if there is one; ``summary``, the metric that is averaged over the
            values of ``setting`` (``over_settings``).
    """
    rows = list(cells)
    if study.get("paper", {}).get("spaces") == [""]:
        rows = [_without_space(cell) for cell in rows]
    if study.get("summary") is not None:
        return over_settings(rows, study["summary"])
    if study.get("readings"):
        readings = [row for cell in rows for row in _readings(cell, study["readings"])]
        # A row without the objective in its name is the same for all objectives.
        rows = list({(row["encoder"], row["objective"], row["seed"]): row for row in readings}.values())
    if study.get("untrained") is not None:
        rows += _untrained(map(_without_space, cells), study["untrained"])
    return rows


def _readings(cell: Cell, readings: Mapping[str, str]) -> Iterator[Cell]:
    for name, prefix in readings.items():
        row = {**cell, "objective": name.format(objective=cell["objective"])}
        if "error" not in cell:
            yield {**row, "metrics": _with_prefix(cell["metrics"], prefix)}
        elif "{" in name:  # another row may have figures of other cells
            yield row


def _with_prefix(metrics: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Metrics whose last part begins with the prefix, without it, over the others."""
    named = {name: name.rpartition("/") for name in metrics}
    chosen = {
        f"{item}/{last.removeprefix(prefix)}": metrics[name]
        for name, (item, _, last) in named.items()
        if last.startswith(prefix)
    }
    return {**metrics, **chosen}


def _without_space(cell: Cell) -> Cell:
    """The cell with metrics of an encoder without heads named as those of a judge, which is in no space."""
    named = {
        part: {name.replace("/original/", "/", 1): value for name, value in cell[part].items()}
        for part in ("metrics", "untrained")
        if part in cell
    }
    return {**cell, **named}


def _untrained(cells: Iterable[Cell], label: str) -> list[Cell]:
    """A row for each encoder before training."""
    first: dict[str, Cell] = {}
    for cell in cells:
        if "untrained" in cell:
            first.setdefault(cell["encoder"], cell)
    rows: list[Cell] = []
    for encoder, cell in first.items():
        metrics = _with_prefix(cell["untrained"], CALIBRATED)
        rows.append({"encoder": encoder, "objective": label, "seed": cell["seed"], "metrics": metrics})
    return rows


def over_settings(cells: Sequence[Cell], metric: str) -> list[Cell]:
    """A row for all values of ``setting`` of an encoder, objective and seed.

    Its metrics are mean and population variance of the monitored metric, ``settings/dev/mean`` and
    ``settings/dev/variance``, and of the metric, ``settings/test/mean`` and ``settings/test/variance``; the setting of
    the best monitored value (of equals the first), ``settings/best/setting``, and this value, ``settings/best/dev``.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        if "error" not in cell:
            groups.setdefault((cell["encoder"], cell["objective"], cell["seed"]), []).append(cell)
    rows: list[Cell] = []
    for (encoder, objective, seed), group in groups.items():
        best = max(group, key=lambda cell: cell["best"])
        metrics = {"settings/best/setting": best["setting"], "settings/best/dev": best["best"]}
        for item, values in (
            ("dev", [cell["best"] for cell in group]),
            ("test", [cell["metrics"][metric] for cell in group]),
        ):
            metrics |= {f"settings/{item}/mean": fmean(values), f"settings/{item}/variance": pvariance(values)}
        rows.append({"encoder": encoder, "objective": objective, "seed": seed, "metrics": metrics})
    return rows


def printed_table(paper: Mapping[str, Any], published: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The paper with ``metrics`` and ``values`` of its table as the config of the test sets has it.

    Args:
        paper: of the study; without ``table`` it has them itself. ``table`` is text of the titles of the tables,
            ``rows`` the paper's row by the name of ours, ``unmeasured`` that of rows without any of ours (it may be
            missing), ``added`` metrics that the paper has not.
        published: tables with ``title``, ``columns``, ``rows`` and maybe ``ours``, as in ``published_tables``. If the
            paper's rows are readings of one model, ``study.readings`` has their prefixes.

    Raises:
        ValueError: no table has such a title, or the tables have no such row.
    """
    if paper.get("table") is None:
        return dict(paper)
    tables = [table for table in published if paper["table"] in table["title"]]
    columns = [(table, header) for table in tables for header, metric in table["columns"].items() if metric]
    rows = {**paper["rows"], **paper.get("unmeasured", {})}
    if not tables or not all(any(row in table["rows"] for table in tables) for row in rows.values()):
        raise ValueError(f"study.paper: no tables with title {paper['table']!r} and rows {list(rows.values())}")
    values = {}
    for name, row in rows.items():
        texts = [str(table["rows"].get(row, {}).get(header, "")) for table, header in columns]
        values[name] = {"": [*map(printed_number, texts), *(None for _ in paper["added"])]}
    metrics = [*(table["columns"][header] for table, header in columns), *paper["added"]]
    conditions = [(table["columns"][header], table.get("comparable") or {}, header) for table, header in columns]
    comparable = {
        metric: required.get(header, required.get(ALL)) for metric, required, header in conditions if required
    }
    comparable = {metric: required for metric, required in comparable.items() if required is not None}
    return {**paper, "metrics": metrics, "values": {paper["other_encoders"]: values}, "comparable": comparable}


def compared(paper: Mapping[str, Any], cells: Sequence[Cell], details: Details) -> tuple[dict[str, Any], list[str]]:
    """The paper without the figures that ours must not stand beside, and a line that says what differs.

    Args:
        paper: of ``printed_table``; ``comparable`` as in ``published``, with metrics as headers.
        cells: of the study; the metrics of those that finished were measured.
        details: rows of ``details.csv`` of one of them.
    """
    measured = {_metric_in(name, paper["spaces"]) for cell in cells for name in cell.get("metrics", {})}
    metrics = [metric for metric in paper["metrics"] if metric in measured]
    table = {"columns": {metric: metric for metric in metrics}, "comparable": paper.get("comparable")}
    reasons = incomparable_columns(table, metrics, details)
    values = {
        encoder: {
            objective: {
                space: [
                    None if metric in reasons else value for metric, value in zip(paper["metrics"], row, strict=True)
                ]
                for space, row in spaces.items()
            }
            for objective, spaces in rows.items()
        }
        for encoder, rows in paper["values"].items()
    }
    return {**paper, "values": values}, [incomparable_note("the paper's", reasons)] if reasons else []


def _metric_in(metric: str, spaces: Sequence[str]) -> str:
    """A metric without the name of its space."""
    evaluator, *rest = metric.split("/")
    return "/".join([evaluator, *rest[rest[0] in spaces :]])
