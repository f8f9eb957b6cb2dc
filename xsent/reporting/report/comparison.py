"""The page of several runs, and its table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from xsent.reporting.report.comparing import (
    Compared,
    Row,
    check_distinct,
    compared_rows,
    condition_differences,
    config_differences,
    delta_text,
    short_names,
)
from xsent.reporting.report.curves import curves_section
from xsent.reporting.report.markup import Entry, escape, fitting, folded, left_out, row, shortened, table
from xsent.reporting.report.overview import headline, overview_section
from xsent.reporting.report.pictures import pictures_section
from xsent.reporting.report.reading import RunFiles, read_run
from xsent.reporting.report.results import FILTER, measured, shown
from xsent.reporting.report.shell import COMPARISON, Section, generator, write_shell

MOST_RUNS = 20  # columns that a person can still compare
FIGURES, CURVES, PICTURES, DIFFERENCES, RUNS = 1_200_000, 1_300_000, 1_000_000, 400_000, 800_000  # bytes, at most
LONGEST_VALUE = 200  # characters of a config's value
BEGINNING = 4096  # bytes of a file, in which a page of ours says that it is one
OTHER_DATA = (
    '<p class="warning">Deltas marked <b>other data</b> or <b>other settings</b> are to a figure of other test data or'
    " of other settings of the evaluator: they may tell of those and not of the runs.</p>"
)


def write_comparison(folders: Sequence[Path], out: Path) -> Path:
    """Write one page of several runs; deltas are to the first. Returns ``out``.

    Args:
        folders: of runs of train.py or evaluate.py, finished or not.
        out: the page; an earlier comparison that was there is replaced.

    Raises:
        ValueError: fewer than two runs, the same run twice, a folder without a run, ``out`` is something else than an
            earlier comparison, or an asset of the page was altered. Nothing is written then.
    """
    return write_compared(read_runs(folders), out)


def write_compared(runs: Mapping[str, RunFiles], out: Path) -> Path:
    """``write_comparison`` of runs that have been read, by name.

    Raises:
        ValueError: ``out`` is something else than an earlier comparison, or an asset of the page was altered.
    """
    check_output(out)
    rows = compared_rows(list(runs.values()))
    found = [
        _figures(rows, list(runs)),
        curves_section(runs, room=CURVES),
        pictures_section(runs, room=PICTURES),
        _differences(runs),
        _overviews(runs),
    ]
    sections = [section for section in found if section is not None]
    title = f"{len(runs)} runs compared"
    return write_shell(out, title=title, summary=_summary(runs), sections=sections, kind=COMPARISON)


def read_runs(folders: Sequence[Path]) -> dict[str, RunFiles]:
    """The runs by the shortest names that tell them apart.

    Raises:
        ValueError: as ``write_comparison``.
    """
    check_distinct(folders)
    if len(folders) > MOST_RUNS:
        raise ValueError(f"expected at most {MOST_RUNS} runs to compare, found {len(folders)}")
    return dict(zip(short_names(folders), map(read_run, folders), strict=True))


def check_output(out: Path) -> None:
    """Raise ``ValueError`` if there is something else than an earlier comparison under the name."""
    if not out.exists():
        return
    if not out.is_file():
        raise ValueError(f"{out}: expected a page to write, found a folder or device")
    with out.open("rb") as file:
        if generator(COMPARISON).encode() not in file.read(BEGINNING):
            raise ValueError(f"{out}: there is a file that is no page of `xsent compare`; it is left as it is")


def comparison_table(runs: Mapping[str, RunFiles]) -> Table:
    """The figures for a terminal: a row per metric, a column per run, and the delta to the first."""
    found = Table("metric")
    names = list(runs)
    for number, name in enumerate(names):
        found.add_column(Text(name), justify="right")
        if number:
            found.add_column("delta", justify="right")
    for one in compared_rows(list(runs.values())):
        if one.on_screen:
            texts = [Text(_label(one.metric)), *(Text(text) for text in _texts(one))]
            found.add_row(*texts, style="bold" if "/mean/" in one.metric else None)
    return found


def _label(metric: str) -> str:
    return metric.partition("/")[2].replace("/", " ")


def _texts(one: Row) -> list[str]:
    """Value and delta of each run; of the first the value alone."""
    found = []
    for number, cell in enumerate(one.runs):
        found.append("" if cell.value is None else shown(cell.value, one.metric))
        if number:
            found.append(delta_text(one.metric, cell))
    return found


def _summary(runs: Mapping[str, RunFiles]) -> str:
    lines = [(name, escape(headline(run)) + ("" if run.finished else ", not finished")) for name, run in runs.items()]
    listed = "".join(f"<li><b>{escape(name)}</b>: {said}</li>" for name, said in lines)
    return f"<ol>{listed}</ol><p>Deltas are to the first, <b>{escape(next(iter(runs)))}</b>.</p>"


def _figures(rows: Sequence[Row], names: Sequence[str]) -> Section:
    if not rows:
        return Section("comparison", "Figures", "<p>None of the runs has figures.</p>", None, None)
    header = ["", names[0], *(text for name in names[1:] for text in (name, "delta"))]
    first = [one for one in rows if one.on_screen]
    html = OTHER_DATA if any(cell.mark for one in rows for cell in one.runs) else ""
    html += FILTER + _table(header, first, "figures")
    if len(first) < len(rows):
        html += folded(f"Every figure ({len(rows):,})", _table(header, rows, "every figure"))
    return Section("comparison", "Figures", html, None, "results.js")


def _table(header: Sequence[str], rows: Sequence[Row], label: str) -> str:
    lines = (
        row(
            [_label(one.metric), *_entries(one, header)],
            style="mean" if "/mean/" in one.metric else "",
            key=_label(one.metric).lower(),
        )
        for one in rows
    )
    kept = fitting(lines, FIGURES // 2)
    return table(header, kept, label=label, tall=True) + left_out(
        len(kept), len(rows), "rows", "each run's results.csv"
    )


def _entries(one: Row, header: Sequence[str]) -> list[str | Entry]:
    names = [header[1], *header[2::2]]
    found: list[str | Entry] = []
    for number, (name, cell) in enumerate(zip(names, one.runs, strict=True)):
        found.append(_value(one.metric, name, cell))
        if number:
            exact = {} if cell.delta is None else {"data-delta": repr(cell.delta)}
            found.append(Entry(delta_text(one.metric, cell), {"class": "delta", **exact}))
    return found


def _value(metric: str, run: str, cell: Compared) -> str | Entry:
    if cell.value is None:
        return ""
    text, attributes = measured(cell.value, metric)
    return Entry(text, {**attributes, "data-run": run})


def _differences(runs: Mapping[str, RunFiles]) -> Section:
    found = list(runs.values())
    html = ""
    for title, rows, same in (
        ("Config", config_differences(found), "The configs are the same."),
        ("Versions, machine and digests", condition_differences(found), "Versions, machine and digests are the same."),
    ):
        html += f"<h3>{title}</h3>" + (_differing(rows, list(runs), title) if rows else f"<p>{same}</p>")
    return Section("differences", "What differs", html, None, None)


def _differing(rows: Sequence[Sequence[str]], names: Sequence[str], title: str) -> str:
    lines = [
        row([line[0], *(Entry(shortened(text, LONGEST_VALUE), {"class": "long"}) for text in line[1:])])
        for line in rows
    ]
    kept = fitting(lines, DIFFERENCES // 2)
    return table(["", *names], kept, label=title) + left_out(len(kept), len(lines), "keys", "each run's config")


def _overviews(runs: Mapping[str, RunFiles]) -> Section:
    parts = [folded(name, overview_section(run, room=RUNS // len(runs)).html) for name, run in runs.items()]
    return Section("runs", "The runs", "".join(parts), None, None)
