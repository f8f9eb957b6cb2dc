"""All pages: text stays text, a strict content security policy, equal bytes, size limit, readable colours."""

import math
import re
from pathlib import Path

import pytest
from markupsafe import Markup

from tests.reporting.pages.helpers import HOSTILE, blocks_of, check_hostile_is_text, contrast
from xsent.reporting.pages import page as pages
from xsent.reporting.pages.charts import COLOURS, SHAPES
from xsent.reporting.pages.page import SEARCH, Section, write_page
from xsent.reporting.tables.table import Table, text_row

TEMPLATES = Path(pages.__file__).parent / "templates"


def write(path: Path, *sections: Section, title: str = "t") -> Path:
    return write_page(path, title=title, kind=SEARCH, summary=Markup(""), sections=sections)


def table(text: str, rows: int = 1) -> Section:
    return Section("table", text, "details", {"tables": [Table(text, [text], [text_row([text])] * rows, rows, text)]})


def test_text_and_data_stay_text_and_only_known_scripts_run(tmp_path: Path) -> None:
    page = write(tmp_path / "p.html", table(HOSTILE)._replace(charts={"one": {"text": HOSTILE}}), title=HOSTILE)
    text = page.read_text()
    check_hostile_is_text(text)
    assert blocks_of(page) == {"one": {"text": HOSTILE}}
    assert "default-src 'none'" in text
    assert re.search(r"script-src 'sha256-[^']+' 'sha256-[^']+';", text)
    assert "unsafe-eval" not in text


def test_a_section_that_is_too_large_is_replaced_by_a_note(tmp_path: Path) -> None:
    page = write(tmp_path / "p.html", table("small"), table("x" * 300, rows=20_000)._replace(key="large", title="L"))
    assert page.stat().st_size < 5_000_000
    assert "<summary>small (1)</summary>" in page.read_text()
    assert "This section is too large for the page" in page.read_text()


def test_the_same_content_gives_the_same_bytes_which_load_nothing_from_the_network(tmp_path: Path) -> None:
    section = table("a")._replace(charts={"one": [1, 2]})
    page = write(tmp_path / "a.html", section)
    assert page.read_bytes() == write(tmp_path / "b.html", section).read_bytes()
    text = re.sub(r'<script type="text/plain".*?</script>', "", page.read_text())
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", text)
    assert not re.search(r"https?://|@import|url\(|fetch\(", text)


def test_the_chart_library_is_bundled_once_and_then_read_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def bundle(snippet: str, vl_version: str) -> str:
        calls.append(vl_version)
        return "library"

    monkeypatch.setattr(pages, "CACHE", tmp_path / "cache")
    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    for _ in range(2):
        assert pages.vega.__wrapped__() == "library"
    assert len(calls) == 1
    monkeypatch.setattr(pages, "CACHE", Path("/dev/null/cache"))  # cannot be written
    assert pages.vega.__wrapped__() == "library"


# ---- colours and shapes


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_marks_have_enough_contrast_in_both_schemes(scheme: int) -> None:
    block = re.findall(r":root \{(.*?)\}", (TEMPLATES / "page.css").read_text(), flags=re.DOTALL)[scheme]
    colours = {}
    for name, digits in re.findall(r"--([\w-]+): #([0-9a-f]+);", block):
        colours[name] = bytes.fromhex(digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    marks = dict.fromkeys((f"c{number}" for number in range(len(COLOURS))), 3.0)
    least = {**marks, **dict.fromkeys(("ink", "quiet", "link", "equivalent", "divergent"), 4.5)}
    for ground in ("paper", "card"):
        assert all(contrast(list(colours[name]), list(colours[ground])) >= value for name, value in least.items())
    assert contrast(list(colours["warn"]), list(colours["warn-card"])) >= 4.5
    assert contrast(list(colours["ink"]), list(colours["mark"])) >= 4.5


def test_colours_and_shapes_make_72_different_pairs() -> None:
    assert len(set(COLOURS)) == 8
    assert len(set(SHAPES)) == 9
    assert math.gcd(8, 9) == 1


def test_own_javascript_stays_small() -> None:
    assert len((TEMPLATES / "page.js").read_text().splitlines()) <= 150
