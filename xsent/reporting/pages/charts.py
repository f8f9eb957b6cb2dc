"""Vega-Lite specifications (Altair) of the charts on a page, with CSS variables as colours for dark mode.

A specification names its data ``rows``; a page holds the columns of each chart apart from it (``chart``), so that
many charts share one. A row with a ``key`` is a mark that can be pointed at; ``line`` tells which marks the arrow keys
connect, and ``partner`` is the key of a mark that is ringed along.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import altair as alt

# Okabe and Ito's colours without their yellow (``page.css``), nine shapes and five dashes: colour never tells alone.
COLOURS = [f"var(--c{number})" for number in range(8)]
SHAPES = [
    "M1,0A1,1 0 1 1 -1,0A1,1 0 1 1 1,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.1L1.1,.9H-1.1Z",
    "M0,-1.2L1.2,0L0,1.2L-1.2,0Z",
    "M0,1.1L1.1,-.9H-1.1Z",
    "M-.35,-1.2H.35V-.35H1.2V.35H.35V1.2H-.35V.35H-1.2V-.35H-.35Z",
    "M-1.1,-.7L-.7,-1.1L0,-.4L.7,-1.1L1.1,-.7L.4,0L1.1,.7L.7,1.1L0,.4L-.7,1.1L-1.1,.7L-.4,0Z",
    "M0,-1.3L.3,-.4L1.24,-.4L.48,.16L.76,1.06L0,.5L-.76,1.06L-.48,.16L-1.24,-.4L-.3,-.4Z",
    "M-1.1,0L.9,-1.1V1.1Z",
]
DASHES: list[list[int]] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [14, 4]]
PLANE = 9_999  # coordinates of a picture are integers from -PLANE to PLANE

ROWS = alt.Chart(alt.NamedData("rows"))
Spec = dict[str, Any]
THEME: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": "var(--edge)"},
    "axis": {
        "labelColor": "var(--quiet)",
        "titleColor": "var(--quiet)",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": "var(--line)",
        "domainColor": "var(--edge)",
        "tickColor": "var(--edge)",
    },
    "text": {"color": "var(--quiet)", "fontSize": 12},
}


class Look(NamedTuple):
    """How a series is told from the others; None: it has no line or no mark."""

    colour: str
    dash: Sequence[int] | None = None
    shape: str | None = None


class Text(NamedTuple):
    """Line of a tooltip: ``{column}`` stands for a value, ``lang`` names a column of language tags."""

    text: str
    lang: str = ""
    small: bool = False


def mark_look(number: int) -> Look:
    """Look of the mark of a series."""
    return Look(COLOURS[number % len(COLOURS)], shape=SHAPES[number % len(SHAPES)])


def chart(spec: str, rows: Sequence[Mapping[str, object]], **options: object) -> dict[str, object]:
    """Data of a chart: the name of its specification, and its rows as columns; None for what a row lacks."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {"spec": spec, "columns": {name: [row.get(name) for row in rows] for name in names}, **options}


def curve_specs() -> dict[str, Spec]:
    """Lines by step, ``marked`` with marks on some steps, and both as ``..._log`` with a logarithmic axis of values.

    Columns: key, line, series, run, variant, step, epoch, value (None: a gap), colour, dash, shape (None: no mark).
    ``run`` is "" where there is one run, and ``variant`` is "" or the choice that shows it, as ``<chart>=<item>``.
    """
    return {
        f"{name}{suffix}": _curves(marked=name == "marked", log=bool(suffix))
        for name, suffix in product(("lines", "marked"), ("", "_log"))
    }


@cache
def _curves(*, marked: bool, log: bool) -> Spec:
    y = alt.Y("value:Q").title("value, logarithmic" if log else None)
    y = y.scale(type="log", nice=False) if log else y.scale(zero=False, nice=False)
    base = ROWS.transform_filter(
        "(datum.run == '' || indexof(chosen, 'run=' + datum.run) >= 0)"
        " && (datum.variant == '' || indexof(chosen, datum.variant) >= 0)"
    ).encode(
        x=alt.X("step:Q").title("step").scale(zero=False, nice=False).axis(tickCount=5, format="~s"),
        y=y.axis(tickCount=5, format="~r"),
        color=_numbered("colour", COLOURS),
    )
    lines = base.mark_line(strokeWidth=1.8, invalid="break-paths-filter-domains", clip=True)
    marks = base.transform_filter("isValid(datum.shape)").mark_point(filled=True, size=70, opacity=1)
    layers = [lines.encode(strokeDash=_numbered("dash", DASHES, alt.StrokeDash), detail="line:N")]
    if marked:  # Vega warns of a layer without data
        layers.append(marks.encode(shape=_numbered("shape", SHAPES, alt.Shape)))
    tip = [Text("{series}", small=True), Text("{value}"), Text("step {step}, epoch {epoch}", small=True)]
    return _finish(alt.layer(*layers), height=260, reach=60, tip=tip)


def plane_spec(looks: Sequence[Look], *, zoom: bool, tip: Sequence[Text]) -> Spec:
    """Points in the plane, both axes to one scale. Columns: key, partner, x, y, look, series and those of ``tip``."""
    scale = alt.Scale(domain=[-1.06 * PLANE, 1.06 * PLANE], nice=False, zero=False)
    points = (
        ROWS.transform_filter("indexof(chosen, 'series=' + datum.series) >= 0")
        .mark_point(filled=True, size=45, opacity=0.8, clip=True)
        .encode(
            x=alt.X("x:Q").scale(scale).axis(None),
            y=alt.Y("y:Q").scale(scale).axis(None),
            color=_numbered("look", [look.colour for look in looks]),
            shape=_numbered("look", [look.shape for look in looks], alt.Shape),
        )
    )
    if zoom:
        points = points.add_params(
            alt.selection_interval(name="zoom", bind="scales", zoom="wheel![event.ctrlKey]", clear="dblclick")
        )
    return _finish(points, height="container", reach=20, tip=tip)


def history_spec(*, has_best: bool) -> Spec:
    """Values by trial, and the best so far. Columns: key, trial, value, best (None: none yet), look, tooltip texts."""
    base = ROWS.encode(x=alt.X("trial:Q").title("trial").axis(tickMinStep=1, format="d"))
    scale = alt.Scale(zero=False)
    best = base.transform_calculate(key="null").transform_filter("isValid(datum.best)")
    best = best.mark_line(interpolate="step-after", strokeDash=DASHES[1], color=COLOURS[4])
    marks = base.mark_point(filled=True, size=90, opacity=1).encode(
        y=alt.Y("value:Q").scale(scale).title(None),
        color=_numbered("look", COLOURS),
        shape=_numbered("look", SHAPES, alt.Shape),
    )
    layers = [best.encode(y=alt.Y("best:Q").scale(scale).title(None))] if has_best else []
    return _finish(alt.layer(*layers, marks), height=280, reach=40, tip=TRIAL_TIP)


TRIAL_TIP = [Text("{title}"), Text("{ending}", small=True), Text("{tried}", small=True)]


def importance_spec(count: int) -> Spec:
    """Bars of shares. Columns: key, name, value, percent."""
    base = ROWS.encode(x=alt.X("value:Q").scale(domain=[0, 1.15]).axis(None), y=alt.Y("name:N").sort(None).title(None))
    bars = base.mark_bar(color=COLOURS[0])
    texts = base.mark_text(align="left", dx=5).encode(text="percent:N")
    return _finish(alt.layer(bars, texts), height=36 * count, reach=60, tip=[Text("{name}: {percent}")])


def parallel_spec(axes: Sequence[str]) -> Spec:
    """Parallel coordinates, an axis below the other.

    Columns: key, line, step (number of the axis), axis, place (0 to 1), look, width; label or name of a row of text.
    """
    x = alt.X("place:Q").scale(domain=[-0.05, 1.05], nice=False).axis(None)
    y = alt.Y("axis:N").sort(list(axes)).scale(type="point", padding=0.5).title(None)
    y = y.axis(labels=False, grid=True, domain=False, ticks=False)
    base = ROWS.encode(x=x, y=y)
    lines = (
        base.transform_filter("datum.width > 0")
        .mark_line(opacity=0.75)
        .encode(
            detail="line:N",
            order="step:Q",
            color=_numbered("look", COLOURS),
            # Solid for finished trials (0), dashed for all others.
            strokeDash=_numbered("look", [[], *[[7, 4]] * 7], alt.StrokeDash),
            strokeWidth=alt.StrokeWidth("width:Q").scale(None).legend(None),
        )
    )
    labels = base.transform_filter("isValid(datum.label)").mark_text(dy=14).encode(text="label:N")
    names = base.transform_filter("isValid(datum.name)").mark_text(dy=-14, align="left", fontWeight="bold")
    layers = alt.layer(lines, labels, names.encode(text="name:N"))
    return _finish(layers, height=70 * len(axes), reach=60, tip=TRIAL_TIP)


def histogram_spec(threshold: float, *, step: float, position: int) -> Spec:
    """Bars of two classes and a rule between them. Columns: key, low, high, count, text.

    The choice ``threshold=<number>`` moves the rule from ``position`` by edges of bars, ``step`` apart.
    """
    # Hollow against filled: the classes differ without colour, too.
    classes = ["equivalent", "divergent"]
    bars = ROWS.transform_calculate(verdict=f"(datum.low + datum.high) / 2 > cut ? '{classes[0]}' : '{classes[1]}'")
    bars = bars.mark_bar(orient="vertical", strokeWidth=1).encode(
        x=alt.X("low:Q")
        .title("score of a pair")
        .scale(zero=False, nice=False)
        .axis(labelOverlap=True, labelSeparation=12),
        x2="high:Q",
        y=alt.Y("count:Q").title("pairs"),
        y2=alt.datum(0),
        color=alt.Color("verdict:N").scale(domain=classes, range=["var(--c0)", "var(--c6)"]).legend(None),
        fillOpacity=alt.FillOpacity("verdict:O").scale(domain=classes, range=[1, 0.25]).legend(None),
        stroke=alt.Stroke("verdict:N").scale(domain=classes, range=["var(--c0)", "var(--c6)"]).legend(None),
    )
    rule = alt.Chart(alt.InlineData(values=[{"low": threshold}])).transform_calculate(low="cut")
    rule = rule.mark_rule(color="var(--ink)", strokeDash=[6, 4], strokeWidth=2).encode(x="low:Q")
    spec = _finish(alt.layer(bars, rule), height=180, reach=60, tip=[Text("{text}")])
    cut = f"{threshold} + {step} * (toNumber(split(chosen[0], '=')[1]) - {position})"
    return {**spec, "params": [{"name": "cut", "expr": cut}]}


def _numbered(field: str, values: Sequence[object], channel: type[Any] = alt.Color) -> Any:
    """Encoding of a column of numbers, each of which stands for a colour or shape."""
    return channel(f"{field}:N").scale(domain=list(range(len(values))), range=list(values)).legend(None)


def _finish(chart: Any, *, height: int | str, reach: int, tip: Sequence[Text]) -> Spec:
    usermeta = {"reach": reach, "lines": [text._asdict() for text in tip]}
    spec: Spec = chart.properties(width="container", height=height, usermeta=usermeta).to_dict()
    return {**spec, "config": THEME, "autosize": {"type": "fit", "contains": "padding"}, "padding": 6}
