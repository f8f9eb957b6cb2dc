"""Run folders written by hand, and access to the charts of a page in a file and in a browser."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HOSTILE = "</script><script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'seized'\">"
FIGURES = {"test/tatoeba/original/deu/accuracy": 61.25, "test/tatoeba/original/mean/accuracy": 1 / 3}


def run_folder(
    folder: Path,
    *,
    metrics: Mapping[str, float | None] | None = None,
    logged: str | None = None,
    config: Mapping[str, Any] | None = None,
    data: str = "d1",
    about: Mapping[str, Any] | None = None,
    expected: Mapping[str, float] | None = None,
    sentences: Sequence[str] = (),
) -> Path:
    """An evaluation of ``mini``, or what ``config`` says; sentences lie on a row from left to right."""
    folder.mkdir(parents=True)
    evaluator = {"name": "tatoeba", "root": "/data/tatoeba", "margin": "absolute"}
    defaults = {"seed": 1, "encoder": {"name": "mini"}, "evaluator": evaluator, "run_dir": str(folder)}
    versions = {"xsent": "0.1.0", "git": "abc", "python": "3.11.7", "packages": {"torch": "2.13.0"}}
    content = {
        "metrics": FIGURES if metrics is None else metrics,
        **versions,
        "data": data,
        "seed": 1,
        **(about or {}),
        "expected": expected or {},
        "config": {**defaults, **(config or {})},
    }
    (folder / "metrics.json").write_text(json.dumps(content))
    if logged is not None:
        (folder / "metrics.csv").write_text("step,epoch,name,value\n" + logged)
    if sentences:
        (folder / "pictures").mkdir()
        points = [[float(number), 0.0] for number in range(len(sentences))]
        panel = {"points": points, "note": "on a row"}
        languages = ["deu" if number % 2 else "eng" for number in range(len(sentences))]
        methods = {"PCA": {"meaning": panel, "language": panel}}
        drawn = {"sentences": list(sentences), "languages": languages, "methods": methods}
        (folder / "pictures" / "points.json").write_text(json.dumps(drawn))
    return folder


def blocks_of(page: Path) -> dict[str, Any]:
    """Data blocks of a page by name, without the chart library."""
    blocks = re.findall(r'<script type="text/plain" id="block-([^"]*)">([^<]*)</script>', page.read_text())
    return {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, text in blocks if name != "vega"}


def check_hostile_is_text(html: str) -> None:
    """``HOSTILE`` is on the page and no part of its markup."""
    assert "taken over" in html
    assert "<script>document" not in html
    assert "<img" not in html


# ---- in a browser


def find(page: Any, selector: str) -> list[Any]:
    elements: list[Any] = page.find_elements("css selector", selector)
    return elements


def drawn_chart(page: Any, selector: str) -> Any:
    """A chart, scrolled into view and drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    (chart,) = WebDriverWait(page, 20).until(lambda _: find(page, selector))
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    WebDriverWait(page, 20).until(lambda _: chart.find_elements("css selector", ".over"))
    return chart


def marks(page: Any, chart: Any) -> list[dict[str, Any]]:
    """Data and pixels of the marks of a drawn chart."""
    script = """const figure = arguments[0].closest("figure");
        return Promise.resolve(update(figure)).then(() => marks(live.get(figure).view))"""
    values: list[dict[str, Any]] = page.execute_script(script, chart)
    return values


def tooltip(page: Any) -> list[str]:
    """Lines of the tooltip; [] where it is hidden."""
    (box,) = find(page, ".tooltip")
    return [line.text for line in box.find_elements("css selector", "p")] if box.is_displayed() else []


def point_at(page: Any, chart: Any, mark: Mapping[str, Any]) -> list[str]:
    """Lines of the tooltip when the mouse is at a mark."""
    from selenium.webdriver.common.action_chains import ActionChains

    size = chart.rect
    offsets = round(mark["x"] - size["width"] / 2), round(mark["y"] - size["height"] / 2)
    ActionChains(page).move_to_element_with_offset(chart, *offsets).perform()
    return tooltip(page)


def focus(page: Any, chart: Any) -> None:
    page.execute_script("arguments[0].focus({focusVisible: true})", chart)


def use_phone(page: Any) -> None:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})


def tap(page: Any, chart: Any, mark: Mapping[str, Any]) -> None:
    left, top = page.execute_script(
        "const box = arguments[0].getBoundingClientRect(); return [box.left, box.top]", chart
    )
    touch = {"x": left + mark["x"], "y": top + mark["y"]}
    page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [touch]})
    page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def check_tooltip_fits(page: Any) -> None:
    box = find(page, ".tooltip")[0].rect
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 360


def fits_width(page: Any) -> bool:
    return bool(page.execute_script("return document.documentElement.scrollWidth <= innerWidth"))


# ---- colours


def contrast(first: Sequence[float], second: Sequence[float]) -> float:
    """Contrast ratio of WCAG 2 between two colours, red, green and blue from 0 to 255."""
    channels = np.array([first, second]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return float((bright + 0.05) / (dark + 0.05))
