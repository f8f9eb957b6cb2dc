"""Generated reference pages: docstrings, help of the commands, config files."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

MARK = re.compile(r"([\\`*_{}\[\]|#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference pages and their navigation."""
    root = Path(config.config_file_path).resolve().parents[2]
    python, values = _python(root / "xsent"), _config(root / "conf")
    pages = {**python, **values, "reference/commands.md": _commands()}
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    section = [
        "reference/index.md",
        {"Commands": "reference/commands.md"},
        {"Config": [{_name(uri): uri} for uri in values]},
        {"Python": [{_name(uri): uri} for uri in python]},
    ]
    config.nav = [{"Reference": section} if "Reference" in part else part for part in config.nav or []]
    return files


def _python(package: Path) -> dict[str, str]:
    """One page per package, one section per module."""
    pages = {}
    for folder in sorted(path.parent for path in package.rglob("__init__.py")):
        name = ".".join(folder.relative_to(package.parent).parts)
        modules = sorted(path.stem for path in folder.glob("*.py") if not path.name.startswith("_"))
        text = [f"# {name}", f"::: {name}\n    options: {{show_root_heading: false, members: false}}"]
        if folder == package:
            text.append("::: xsent.run.loading.load_encoder\n    options: {show_root_full_path: false}")
        text += [f"::: {name}.{module}" for module in modules]
        pages[f"reference/python/{name}.md"] = "\n\n".join(text)
    return pages


def _commands() -> str:
    """``--help`` of ``xsent`` and of each of its commands."""
    from xsent.cli import COMMANDS, build_parsers

    os.environ["COLUMNS"] = "100"  # what argparse takes for the width of the screen
    _, parsers = build_parsers(COMMANDS)
    text = [
        "# Commands",
        "`xsent COMMAND --help` prints what stands here. `train.py` and `evaluate.py` take"
        " `key=value` instead: [config](conf/index.md).",
    ]
    for name, parser in parsers.items():
        text += [f"## xsent {name}", f"```text\n{parser.format_help()}```"]
    return "\n\n".join(text)


def _config(conf: Path) -> dict[str, str]:
    """One page per config group with its files in full, and an index."""
    pages = {}
    listing = [
        "# Config",
        "Every tunable value lies in one of these files, with its source. `group=option` on the"
        " command line chooses a file, `key=value` changes one of its values.",
    ]
    for folder in sorted({path.parent for path in conf.rglob("*.yaml")}):
        group = folder.relative_to(conf).as_posix().replace(".", "")
        page, title = f"{group.replace('/', '-') or 'commands'}.md", group or "commands"
        text, rows = [f"# {title}"], ["| option | |", "| --- | --- |"]
        for path in sorted(folder.glob("*.yaml")):
            summary, body = _leading_comment(path.read_text(encoding="utf-8"))
            text += [f"## {path.stem}", _escaped(summary), f"```yaml\n{body}\n```"]
            rows.append(f"| [`{path.stem}`]({page}#{path.stem}) | {_escaped(summary)} |")
        pages[f"reference/conf/{page}"] = "\n\n".join(text)
        listing += [f"## {title}", "\n".join(rows)]
    return {"reference/conf/index.md": "\n\n".join(listing), **pages}


def _leading_comment(text: str) -> tuple[str, str]:
    """The leading comment of a file, and the rest; the `@package` line is not a comment."""
    lines = text.splitlines()
    start = 1 if lines and lines[0].startswith("# @package") else 0
    end = start
    while end < len(lines) and lines[end].startswith("#"):
        end += 1
    summary = " ".join(line.lstrip("# ") for line in lines[start:end])
    return summary, "\n".join(lines[:start] + lines[end:]).strip("\n")


def _escaped(text: str) -> str:
    return MARK.sub(r"\\\1", html.escape(text, quote=False))


def _name(uri: str) -> str:
    stem = Path(uri).stem
    return "All files" if stem == "index" else stem
