"""What all pages share: assets that are what they were, text that stays text, the same bytes for the same content."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.reporting.report.helpers import HOSTILE
from xsent.reporting.report import shell
from xsent.reporting.report.shell import SEARCH, Section, check_assets, write_shell

ASSETS = ROOT / "xsent" / "assets" / "report"


def test_the_assets_are_those_that_their_digests_were_taken_of_and_none_has_no_digest() -> None:
    check_assets()
    listed = {line.split("  ")[1] for line in (ASSETS / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in ASSETS.iterdir()} - {"SHA256SUMS"}


@pytest.mark.parametrize("kind", ["altered", "missing"])
def test_an_altered_asset_is_named_with_both_digests_and_no_page_is_overwritten(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "assets"
    shutil.copytree(ASSETS, copy)
    if kind == "altered":
        (copy / "base.js").write_text("alert(1)")
    else:
        (copy / "base.js").unlink()
    monkeypatch.setattr(shell, "_folder", lambda: copy)
    page = tmp_path / "page.html"
    page.write_text("the page of before")
    for attempt in (check_assets, lambda: write_shell(page, title="", summary="", sections=[], kind=SEARCH)):
        with pytest.raises(ValueError, match=r"base\.js: .*expected .*sha256 [0-9a-f]{64}") as caught:
            attempt()
    if kind == "altered":
        assert re.search(r"found [0-9a-f]{64}", str(caught.value))
    assert page.read_text() == "the page of before"


def test_digests_that_were_altered_are_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "assets"
    shutil.copytree(ASSETS, copy)
    monkeypatch.setattr(shell, "_folder", lambda: copy)
    sums = (copy / "SHA256SUMS").read_text()
    (copy / "SHA256SUMS").write_text("".join(line for line in sums.splitlines(True) if "curves.js" not in line))
    (copy / "curves.js").unlink()  # with its line: the code still asks for it
    with pytest.raises(ValueError, match=r"curves\.js: expected a line for it in SHA256SUMS, found none"):
        check_assets()
    (copy / "SHA256SUMS").write_text(sums + "nonsense\n")
    with pytest.raises(ValueError, match=r"SHA256SUMS:7: expected a sha256, two spaces and .*, found b'nonsense'"):
        check_assets()
    shutil.copy(ASSETS / "curves.js", copy)
    (copy / "SHA256SUMS").write_text(sums)
    (copy / "more.js").write_text("alert(1)")
    with pytest.raises(ValueError, match=r"more\.js: expected a line for it"):
        check_assets()


def test_all_assets_that_the_code_asks_for_are_checked() -> None:
    package = Path(shell.__file__).parent
    asked = {name for file in package.glob("*.py") for name in re.findall(r'"(\w+\.(?:js|css))"', file.read_text())}
    assert asked == set(shell.ASSETS)


def test_a_section_that_is_too_large_for_any_page_is_left_out_and_says_so(tmp_path: Path) -> None:
    sections = [Section("small", "Small", "<p>kept</p>", None, None), Section("large", "L", "x" * 6_000_000, [1], None)]
    page = write_shell(tmp_path / "p.html", title="t", summary="", sections=sections, kind=SEARCH)
    assert page.stat().st_size < 5_000_000
    assert "<p>kept</p>" in page.read_text()
    assert shell.NO_ROOM in page.read_text()


def test_text_and_data_stay_text_and_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    section = Section("one", HOSTILE, "", {"said": HOSTILE}, None)
    text = write_shell(tmp_path / "p.html", title=HOSTILE, summary="", sections=[section], kind=SEARCH).read_text()
    assert "<script>document" not in text
    assert "<img" not in text
    (data,) = re.findall(r'<script type="application/json" id="data-one">(.*?)</script>', text)
    assert json.loads(data) == {"said": HOSTILE}
    assert "default-src 'none'" in text
    # Only scripts of these digests run, whatever else gets into a page.
    assert "script-src 'sha256-" in text
    assert "script-src 'unsafe-inline'" not in text
    outside = re.sub(r"<script.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", outside)
    for asset in ASSETS.iterdir():
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|fetch\(", asset.read_text()), asset


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    pages = [
        write_shell(tmp_path / name, title="t", summary="", sections=[Section("a", "A", "", [1, 2], None)], kind=SEARCH)
        for name in ("a.html", "b.html")
    ]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    digits = colour.lstrip("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colours: dict[str, str], one: str, other: str) -> float:
    bright, dark = sorted((luminance(colours[one]), luminance(colours[other])), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def colours_of(scheme: int) -> dict[str, str]:
    block = re.findall(r":root \{(.*?)\}", (ASSETS / "base.css").read_text(), flags=re.DOTALL)[scheme]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_marks_and_lines_can_be_seen_in_both_schemes(scheme: int) -> None:
    colours = colours_of(scheme)
    for number in range(8):
        for ground in ("paper", "card"):
            assert contrast(colours, f"c{number}", ground) >= 3, (number, ground)


def test_nine_languages_and_more_have_a_colour_and_shape_of_their_own_and_nine_a_shape() -> None:
    block = re.findall(r"const MARKERS = \[(.*?)\];", (ASSETS / "base.js").read_text(), flags=re.DOTALL)[0]
    markers = re.findall(r'"(M[^"]+Z)"', block)
    assert len(set(markers)) == len(markers) == 9
    assert math.gcd(len(markers), 8) == 1  # so that pairs of them repeat after 72


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_in_both_schemes(scheme: int) -> None:
    colours = colours_of(scheme)
    pairs = [(text, ground) for text in ("ink", "quiet", "link") for ground in ("paper", "card")]
    for text, ground in [*pairs, ("warn", "warn-card")]:
        assert contrast(colours, text, ground) >= 4.5, (text, ground)
