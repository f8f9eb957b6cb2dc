"""The documentation site: complete, built in strict mode, and without external requests."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.commands import ELSEWHERE
from tests.helpers import ROOT

pytest.importorskip("mkdocs", reason="the site needs the extra docs")

CONFIG = ROOT / "docs/site/mkdocs.yml"
DOCS = ROOT / "docs"
FEW = [
    "trainer.max_epochs=1",
    "trainer.enable_progress_bar=false",
    "pictures=null",
    "data.max_pairs=400",
    "data.valid_share=0.1",
    "data.test_share=0.1",
    "data.global_batch_size=16",
]
# "`xsent/losses/alignment.py`:" followed by a block with the content of the file.
FILE = re.compile(r"`((?:xsent|conf|tests)/[\w/.]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(CONFIG), "-d", str(folder)]
    process = subprocess.run(command, cwd=folder.parent, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return folder


class Addresses(HTMLParser):
    """Collects the addresses that a page makes the browser load; links are excluded."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "link" and attributes.get("rel") in ("canonical", "prev", "next"):
            return
        names = ("src", "srcset", "data", "poster") + (("href",) if tag == "link" else ())
        self.addresses += [value for name in names if (value := attributes.get(name))]


def loaded(page: Path) -> list[str]:
    parser = Addresses()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.addresses


def text_of(site: Path, *parts: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for part in parts for path in sorted(site.glob(part)))


@pytest.mark.slow
def test_every_page_of_docs_is_in_the_navigation(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8") + text_of(site, "*/*.html", "*.html")
    pages = [path.relative_to(DOCS) for path in DOCS.rglob("*.md") if "site" not in path.relative_to(DOCS).parts]
    for page in pages:
        assert (site / page.with_suffix(".html")).is_file(), page
        assert f"{page.with_suffix('.html').name}" in front, page


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere_and_all_it_loads_is_there(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name == "404.html":  # is served under any address, so its own are absolute
            continue
        for address in loaded(page):
            assert not re.match(r"(https?:)?//", address), (page, address)
            if not address.startswith("data:"):
                assert (page.parent / address.partition("#")[0].partition("?")[0]).exists(), (page, address)


@pytest.mark.slow
def test_no_style_sheet_asks_for_anything_from_elsewhere(site: Path) -> None:
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.slow
def test_every_page_forbids_the_browser_to_load_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert 'http-equiv="Content-Security-Policy"' in page.read_text(encoding="utf-8"), page


@pytest.mark.slow
def test_every_command_is_in_the_reference(site: Path) -> None:
    from xsent.cli import COMMANDS

    addresses = set(re.findall(r'<h2 id="xsent-([\w-]+)"', text_of(site, "reference/commands.html")))
    assert len(addresses) == len(COMMANDS)
    assert {"mine", "filter", "noise"} <= addresses


@pytest.mark.slow
def test_every_config_file_is_in_the_reference(site: Path) -> None:
    conf = ROOT / "conf"
    for path in conf.rglob("*.yaml"):
        group = "-".join(path.parent.relative_to(conf).parts) or "commands"
        page = (site / f"reference/conf/{group}.html").read_text(encoding="utf-8")
        assert f'id="{path.stem.lower()}"' in page, path


@pytest.mark.slow
def test_every_public_module_is_in_the_reference(site: Path) -> None:
    pages = text_of(site, "reference/python/*.html")
    package = ROOT / "xsent"
    for path in package.rglob("*.py"):
        if not path.name.startswith("_"):
            name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
            assert f'id="{name}"' in pages, name
    assert 'id="xsent.run.loading.load_encoder"' in pages


@pytest.mark.slow
def test_links_to_files_outside_docs_lead_to_pages(site: Path) -> None:
    train = (site / "howto/train.html").read_text(encoding="utf-8")
    assert 'href="../repository/index.html#train"' in train
    assert 'id="train"' in (site / "repository/index.html").read_text(encoding="utf-8")
    assert 'href="../reference/conf/search.html#oracle_weights"' in text_of(site, "howto/sweep.html")


@pytest.mark.slow
def test_markup_that_github_reads_is_not_left_as_text(site: Path) -> None:
    for page in site.rglob("*.html"):
        if "reference" not in page.parts:
            text = page.read_text(encoding="utf-8")
            assert not re.search(r"<p>[^<]*\n[-*] ", text), page  # a list without an empty line above it
            assert "<p>```" not in text, page


@pytest.mark.slow
def test_the_page_of_a_docstring_shows_types_and_source(site: Path) -> None:
    page = (site / "reference/python/xsent.losses.html").read_text(encoding="utf-8")
    start = page.index('id="xsent.losses.additive_margin.additive_margin_softmax"')
    section = page[start : page.index('<h2 id="xsent.losses.additive_margin_scale"', start)]
    assert "inverse temperature" in section
    assert "arXiv:2007.01852" in section


# Lines of the registry, and the lines that the how-tos add beside them.
REGISTERED = {
    "xsent.recipes.labse.LabseRecipe": "xsent.recipes.alignment.AlignmentRecipe",
    "xsent.losses.additive_margin_softmax": "xsent.losses.alignment.alignment_terms",
    "xsent.data.readers.cldr.read_cldr": "xsent.data.pipes.read_pipes",
}


def shown_files(page: str) -> dict[str, str]:
    return dict(FILE.findall((DOCS / "howto" / page).read_text(encoding="utf-8")))


@pytest.mark.slow
def test_the_files_that_a_how_to_shows_pass_the_tests_it_names(tmp_path: Path) -> None:
    files = shown_files("add-a-recipe.md") | shown_files("add-a-data-set.md")
    assert len(files) == 7
    for name in ("xsent", "conf", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in files.items():
        assert not (tmp_path / name).exists(), name
        (tmp_path / name).write_text(text, encoding="utf-8")
    test_conf = tmp_path / "tests/test_conf.py"
    test_conf.write_text(
        test_conf.read_text(encoding="utf-8").replace(
            "PASSED_BY_RUN = {", 'PASSED_BY_RUN = {\n    "xsent.data.pipes.": {"ledger", "root"},'
        ),
        encoding="utf-8",
    )
    registry = tmp_path / "xsent/run/config/registry.py"
    lines = registry.read_text(encoding="utf-8")
    for neighbour, added in REGISTERED.items():
        assert lines.count(f'"{neighbour}",') == 1, neighbour
        lines = lines.replace(f'"{neighbour}",', f'"{neighbour}", "{added}",')
    registry.write_text(lines, encoding="utf-8")
    chosen = "(alignment and mini) or test_alignment or pipes or layout"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-k",
        chosen,
        "tests/losses/test_alignment.py",
        "tests/data/test_pipes.py",
        "tests/test_layout.py",
        "tests/test_conf.py",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "HF_HUB_OFFLINE": "1",
        "XSENT_CACHE": str(tmp_path / "cache"),
    }
    process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout[-3000:]
    assert "passed" in process.stdout
    shutil.copy(ROOT / "train.py", tmp_path)
    (tmp_path / "talks.de.txt").write_text(
        "".join(f"{number} dogs ||| {number} Hunde\n" for number in range(400)) + "no separator\n", encoding="utf-8"
    )
    for line in ELSEWHERE:
        trained = [sys.executable, *line.split()[1:], *FEW]
        process = subprocess.run(trained, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert process.returncode == 0, f"{line}\n{process.stderr[-3000:]}"
        assert "heldout deu accuracy" in process.stdout
        if "data=pipes" in line:
            assert "1 of 401 lines rejected (1 expected |||)" in process.stderr
