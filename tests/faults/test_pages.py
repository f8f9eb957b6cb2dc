"""Hostile text on the pages: it stays text, whatever carries it, and only the pages' own scripts run."""

import json
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

from tests.reporting.conftest import browser as browser
from tests.reporting.conftest import open_page as open_page
from tests.reporting.pages.helpers import blocks_of, find, focus, run_folder
from xsent.evaluation.score_report import Histogram, ScoredPair, ScoreReport
from xsent.reporting.pages import write_comparison, write_report
from xsent.reporting.pages.filter import write_divergence_page
from xsent.reporting.pages.oracle_figures import write_figures_page
from xsent.reporting.pages.search import StudyTrial, write_study
from xsent.reporting.plots.embeddings import PairFigure, Sides
from xsent.reporting.plots.projections import Projection

CANARY = "globalThis.canary=1"
HOSTILE = {
    "script": f"</script><script>{CANARY}</script>",
    "end of a block": f"</script></section></main><script>{CANARY}</script><!--",
    "image": f"<img src=x onerror={CANARY}>",
    "vector image": f"<svg/onload={CANARY}>",
    "frame": f"<iframe srcdoc='<script>parent.{CANARY}</script>'></iframe>",
    "attribute": f'" onmouseover="{CANARY}" autofocus onfocus="{CANARY}" x="',
    "attribute in single quotes": f"' onmouseover='{CANARY}' x='",
    "attribute without quotes": f"x onmouseover={CANARY} y",
    "end of the title": f"</title></style><base href=//evil.invalid><script>{CANARY}</script>",
    "policy": '<meta http-equiv="Content-Security-Policy" content="script-src *">',
    "redirect": '<meta http-equiv="refresh" content="0;url=http://evil.invalid">',
    "address": f"javascript:{CANARY}",
    "data address": f"data:text/html,<script>{CANARY}</script>",
    "template": "{{7*7}}",
    "statement of a template": "{% for x in ().__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
    "template literal": "${7*7}`${" + CANARY + "}`",
    "entities": "&lt;script&gt;&#60;script&#x3e;&quot;&amp;amp;",
    "comment": "--><!--><script>--!>",
    "character data": "]]><![CDATA[<script>",
    "expression": f"datum['x'] + ({CANARY})",
    "end of an expression": f"x'] + ({CANARY}) + datum['x",
    "expression in brackets": f"a[0].b\\'{CANARY}",
    "signal": "{signal: 'chosen'} {expr: 'warn(1)'}",
    "prototype": "__proto__",
    "constructor": "constructor",
    "right to left": "\u202egnp.exe\u202c\u2066\u200f",
    "line separators": "a\u2028b\u2029c\x85d",
    "NUL": "a\0b",
    "control characters": "\x1b[31m\x07\x08\x7f\x9b",
    "byte-order mark": "\ufeff\ufffe",
    "formula": '=HYPERLINK("http://evil.invalid","x")',
    "percent": "%3Cscript%3E%s%n{0}{x.__class__}",
    "many combining marks": "a" + "\u0301" * 500,
}

HALF = "a\udcffb"  # a byte of a file name that is not UTF-8
PLAIN = ["plain text", "p" * 200, "plain/text", "plain/" * 40, "p", "plain text of several words " * 20]


class Element(NamedTuple):
    """Start of an element; values of attributes that hold text of the data are left out."""

    tag: str
    attributes: tuple[tuple[str, str], ...]


# Attributes whose values are text, never addresses, code or names of styles.
TEXTS = ("data-", "aria-label", "title", "alt", "content", "value", "lang", "placeholder")


class Page(HTMLParser):
    """Elements, texts and the policy of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.texts: list[str] = []
        self.policies: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        shown = tuple((name, "" if name.startswith(TEXTS) else str(value)) for name, value in attrs)
        self.elements.append(Element(tag, shown))
        self.texts += [value or "" for _, value in attrs]
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policies.append(dict(attrs)["content"] or "")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def strings(value: Any) -> list[str]:
    """All texts in a value of JSON, keys included."""
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


# ---- the pages, with a text in every place that data reach


def run_with(folder: Path, text: str) -> Path:
    name = text if "/" not in text else "name"
    run = run_folder(
        folder,
        logged=f"1,0,train/loss,1\n2,0,{csv_cell(f'train/{name}')},2\n1,0,{csv_cell(f'val/a/b/{name}')},3\n",
        metrics={f"test/tatoeba/original/{name}/accuracy": 50.0, "test/tatoeba/original/mean/accuracy": 61.0},
        config={
            "encoder": {"name": text},
            "seed": text,
            "recipe": {text: text, "host": text},
            "logger": {"x": [text]},
        },
        about={"python": text, "packages": {text: text}, "git": text, "columns": {"original": text}},
        sentences=[text, "zwei", f"three {text}", "vier"],
    )
    (run / "details.csv").write_text(f"{csv_cell(text)},y\n{csv_cell(text)},2\n", encoding="utf-8")
    overrides = {"overrides": ["recipe=oracle", f"+note={text}", f"{text}=1"], "choices": {"recipe": text, text: text}}
    (run / "command.yaml").write_text(yaml.safe_dump(overrides, allow_unicode=False), encoding="utf-8")
    return run


def csv_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def report_page(folder: Path, text: str) -> Path:
    return write_report(run_with(folder / file_name(text), text))


def comparison_page(folder: Path, text: str) -> Path:
    runs = [run_with(folder / "first", "first text"), run_with(folder / file_name(text), text)]
    return write_comparison(runs, folder / "compare.html")


def file_name(text: str) -> str:
    """The text as a name of a folder."""
    return (text.replace("/", "\u2215").replace("\0", "")[:60] or "run") + " run"


def search_page(folder: Path, text: str) -> Path:
    trials = [
        StudyTrial(0, "complete", 61.0, {text: 0.5, "host": text, "dim": 3}, 10, 12.5, None, "trials/0/report.html"),
        StudyTrial(1, "pruned", 40.0, {text: 0.1, "host": "meat", "dim": 5}, 3, 4.0, None, None),
        StudyTrial(2, "fail", None, {text: 0.2, "host": text, "dim": 4}, None, None, text, None),
        StudyTrial(3, "complete", 63.0, {text: 0.3, "host": "meat", "dim": 4}, 10, 12.0, text, None),
    ]
    return write_study(
        folder / "search.html",
        name=text,
        what=text,
        monitor=f"val/heldout/meaning/{text}/accuracy",
        is_max=True,
        trials=trials,
        importance={text: 0.75, "host": 0.25},
        why_no_importance=None,
        logarithmic=[text],
        commands={"search": text, "best": text},
        defaults={text: 0.5, "host": text, "dim": 3},
    )


def filter_page(folder: Path, text: str) -> Path:
    words = tuple(text.split()) or ("a",)
    parts = ("lowest", "near", "highest", "random")
    pairs = [ScoredPair(line, float(line), (text, text), words, words, (0,), (0,), parts) for line in (1, 2)]
    histogram = Histogram(-2.5, 1.0, (1, 0, 1, 4, 0))
    report = ScoreReport(text, text, ("eng", "ara"), 0.5, True, True, 2, 0, histogram, pairs)
    return write_divergence_page(folder / "filter.html", report, rows=25, words=50)


def figures_page(folder: Path, text: str) -> Path:
    sides = Sides("deu", ("deu", "eng"), ([text, "zwei", "drei"], ["one", text, "three"]))
    points = np.arange(24.0).reshape(12, 2)
    figure = PairFigure(
        sides, ["meaning", "language"], {text: dict.fromkeys(("t-SNE", "PCA"), Projection(points, text))}
    )
    return write_figures_page(folder / "figures.html", [figure], title=text)


PAGES = {
    "run": report_page,
    "compare": comparison_page,
    "search": search_page,
    "filter": filter_page,
    "study": figures_page,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Page]]:
    """The page with each of the harmless texts."""

    @cache
    def pages(kind: str) -> list[Page]:
        return [Page(PAGES[kind](tmp_path_factory.mktemp("plain"), text)) for text in PLAIN]

    return pages


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("fault", HOSTILE)
def test_text_is_no_element_no_attribute_and_no_address(
    fault: str, kind: str, tmp_path: Path, plain: Callable[[str], list[Page]]
) -> None:
    text = HOSTILE[fault]
    path = PAGES[kind](tmp_path, text)
    page = Page(path)
    own = {element for harmless in plain(kind) for element in harmless.elements}
    assert [element for element in page.elements if element not in own] == []
    for tag in ("script", "img", "iframe", "meta", "style", "svg", "base", "form", "link"):
        count = sum(element.tag == tag for element in page.elements)
        assert count in {sum(element.tag == tag for element in harmless.elements) for harmless in plain(kind)}, tag
    assert page.policies == plain(kind)[0].policies
    assert len(page.policies) == 1
    # The data are there, as they are: in the texts of the page, and in its blocks, which are JSON.
    shown = [*page.texts, *strings(list(blocks_of(path).values()))]
    assert any(text[:50] in value for value in shown)


def sentences_page(folder: Path, text: str) -> Path:
    return write_report(run_folder(folder / "run", sentences=[text, "zwei", "three", "vier"]))


@pytest.mark.parametrize("kind", ["run", "filter", "study"])
def test_a_sentence_of_a_megabyte_is_text_on_a_page(kind: str, tmp_path: Path) -> None:
    write = {**PAGES, "run": sentences_page}[kind]
    path = write(tmp_path, "<blink>" + "word " * 200_000)
    assert path.stat().st_size < (1_000_000 if kind == "run" else 5_000_000)  # a run's page has the beginning alone
    page = Page(path)
    assert "blink" not in {element.tag for element in page.elements}
    assert len(page.policies) == 1
    assert any(text.startswith("<blink>word word") for text in [*page.texts, *strings(list(blocks_of(path).values()))])


@pytest.mark.parametrize("kind", ["search", "filter", "study"])
def test_half_a_character_becomes_a_question_mark(kind: str, tmp_path: Path) -> None:
    path = PAGES[kind](tmp_path, HALF)
    assert any("a?b" in text for text in Page(path).texts)
    blocks_of(path)


@pytest.mark.parametrize("file", ["metrics.json", "pictures/points.json"])
def test_half_a_character_in_a_file_of_a_run_is_named(file: str, tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", PLAIN[0])
    path = run / file
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sentences": [HALF], "python": HALF}))
    with pytest.raises(ValueError, match=rf"{path.name}: expected JSON, found half a surrogate pair"):
        write_report(run)


# ---- in a browser

# One text of all those that HTML, JavaScript and Vega could take for their own.
EVERYTHING = " ".join(text for name, text in HOSTILE.items() if name not in ("NUL", "many combining marks"))


ALONE = [
    pytest.param(HOSTILE[name], id=name, marks=pytest.mark.exhaustive) for name in ("prototype", "signal", "script")
]


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("text", [pytest.param(EVERYTHING, id="all texts"), *ALONE])
def test_a_browser_runs_nothing_of_the_text(
    text: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = request.getfixturevalue("open_page")(PAGES[kind](tmp_path, text))
    for number in range(len(find(page, ".chart"))):
        chart = find(page, ".chart")[number]
        if chart.is_displayed():
            page.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
            wait_for(page, chart)
            focus(page, chart)  # shows the text of a mark
    assert page.execute_script("return globalThis.canary ?? null") is None
    assert page.execute_script("return [...document.scripts].every((script) => !script.src)")
    assert page.execute_script("return ({}).polluted ?? null") is None


def wait_for(page: Any, chart: Any) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 20).until(lambda _: chart.find_elements("css selector", ".over"))
