"""Site pages for files outside ``docs/`` that pages link to, so that one link works on GitHub and on the site."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# `](target)` and `](target#anchor)`, without absolute addresses and anchors of the same page.
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
# A block under "`xsent/losses/mine.py`:", which the site highlights as Python.
SHOWN_FILE = re.compile(r"(`[\w./-]+\.py`:\n\n```)text$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```[^\S\n]*$", re.MULTILINE | re.DOTALL)
ALWAYS = ("README.md", "CHANGELOG.md")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".sh": "bash"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each linked file outside ``docs/``."""
    root = root_of(config)
    notebooks = sorted(path.relative_to(root).as_posix() for path in (root / "notebooks").glob("*.ipynb"))
    waiting = [*ALWAYS, *notebooks]
    for file in files.documentation_pages():
        waiting += _outside(file.content_string, f"docs/{file.src_uri}", root)
    visited: set[str] = set()
    while waiting:
        origin = waiting.pop()
        uri = place(origin)
        if origin in visited or not uri.startswith("repository/"):
            continue
        visited.add(origin)
        text = _as_markdown(root / origin)
        waiting += _outside(text, origin, root)
        files.append(File.generated(config, uri, content=text))
    if notebooks:
        pages = [{_title(root / path): place(path)} for path in notebooks]
        config.nav = [  # behind the how-tos
            {**part, "How to": part["How to"] + [{"Notebooks": pages}]} if "How to" in part else part
            for part in config.nav or []
        ]
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links that leave ``docs/`` to the pages made of their targets."""
    uri = page.file.src_uri
    origin = _origin(uri)

    def rewritten(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), match[1]))
        if origin.startswith("docs/") and target.startswith("docs/"):
            return match[0]
        address = posixpath.relpath(place(target).partition("#")[0], posixpath.dirname(uri) or ".")
        anchor = match[2] or "".join(place(target).partition("#")[1:])
        return f"]({address}{anchor})"

    return SHOWN_FILE.sub(r"\1python", _outside_fences(markdown, lambda text: LINK.sub(rewritten, text)))


def root_of(config: MkDocsConfig) -> Path:
    """The repository root, two folders above ``docs/site``."""
    return Path(config.config_file_path).resolve().parents[2]


def place(path: str) -> str:
    """The page address of a repository file; files of ``conf`` have an anchor."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path == "conf":
        return "reference/conf/index.md"
    if path.startswith("conf/"):
        group, name = posixpath.split(path.removeprefix("conf/"))
        if not name.endswith(".yaml"):  # a folder
            return f"reference/conf/{posixpath.join(group, name).replace('/', '-')}.md"
        return f"reference/conf/{group.replace('/', '-') or 'commands'}.md#{name.removesuffix('.yaml')}"
    return f"repository/{path}" + ("" if path.endswith(".md") else ".md")


def _origin(uri: str) -> str:
    if not uri.startswith("repository/"):
        return f"docs/{uri}"
    path = uri.removeprefix("repository/")
    stem = path.removesuffix(".md")
    return stem if posixpath.splitext(stem)[1] else path


def _outside(text: str, origin: str, root: Path) -> list[str]:
    """Repository paths of the linked files outside ``docs/``."""
    targets = []
    for link in LINK.finditer(FENCE.sub("", text)):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link[1]))
        if not target.startswith("docs/"):
            if target.startswith("..") or not (root / target).exists():
                raise PluginError(f"{origin}: the link {link[1]} leads to no file of the repository")
            targets.append(target)
    return targets


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def _as_markdown(path: Path) -> str:
    if path.is_dir():
        raise PluginError(f"{path}: a link to a folder outside conf/ has no page to lead to; link to a file")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    if path.suffix == ".ipynb":
        return "\n\n".join(_cell(cell) for cell in json.loads(text)["cells"])
    return f"# {path.name}\n\n```{LANGUAGES.get(path.suffix, 'text')}\n{text}```\n"


def _cell(cell: dict[str, object]) -> str:
    lines = cell["source"]
    text = "".join(lines) if isinstance(lines, list) else str(lines)
    return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"


def _title(path: Path) -> str:
    """The first heading of a notebook."""
    heading = re.search(r"^# (.+)$", _as_markdown(path), re.MULTILINE)
    return heading[1] if heading else path.stem
