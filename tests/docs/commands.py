"""Commands and Python blocks in the documentation.

A block without a language, or with one of ``SHELLS``, holds only commands. If it has prompts (``$ command``), its other
lines are output. A trailing comment, or a comment on the line above, may say ``needs the hub`` or ``needs a GPU``: only
such commands are not executed.
"""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.helpers import ROOT

SHELLS = ("", "bash", "sh", "console")
# Languages of blocks that are displayed and not executed.
DISPLAYED = ("text", "json", "yaml", "toml", "ini", "dockerfile", "html", "csv", "tsv", "latex", "mermaid")
# Commands in displayed blocks that need files from their page; test_site.py runs them.
ELSEWHERE = (
    "python train.py recipe=alignment encoder=micro data=cldr data.languages=[deu,fra,spa]",
    "python train.py recipe=labse encoder=static data=pipes data.root=talks.de.txt trainer.max_epochs=1",
)
MARK = re.compile(r"\bneeds (the hub|a GPU)\b")
COMMENT = re.compile(r"(?:^|\s)# (.*)$")
SPAN = re.compile(r"(?<!`)`((?:python|xsent|make|pip|docker|hf) (?:[^`\n]|\n(?!\n))+)`(?!`)")
PROMPT = re.compile(r"\$ (?=python |xsent |make )")
OPENING = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<language>[\w-]*)")


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str  # "docs/mining.md"
    line: int  # of its first line of content
    language: str
    lines: list[str]


class Command(NamedTuple):
    """A command, or a block of Python."""

    location: str  # "docs/mining.md:8"
    text: str
    words: list[str]  # as a shell would split it; of a block of Python: ["python", "-c", text]
    needs: str | None  # "the hub" or "a GPU"
    before: list[list[str]]  # words of the commands above it in its block

    @property
    def is_python(self) -> bool:
        """Whether it is a block of Python."""
        return self.words[:2] == ["python", "-c"]


def pages() -> list[Path]:
    """README and all pages of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def all_commands() -> list[Command]:
    """The commands of all pages in order; a page with a malformed block gives those above it."""
    commands = []
    for page in pages():
        with suppress(ValueError):  # one page should not keep the others from their tests; it has one of its own
            commands.extend(commands_of(page))
    return commands


def commands_of(page: Path) -> Iterator[Command]:
    """The commands of the blocks of a page.

    Raises:
        ValueError: a block whose language says neither commands, nor Python, nor something to look at; a command in one
            to look at.
    """
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    for block in blocks(name, page.read_text(encoding="utf-8")):
        if block.language == "python":
            yield _python(block)
        elif block.language in SHELLS:
            yield from _shell(block)
        elif block.language in DISPLAYED:
            _check_shown(block)
        else:
            raise ValueError(
                f"{block.page}:{block.line - 1}: a block of {block.language!r}; expected commands"
                f" ({', '.join(filter(None, SHELLS))} or nothing), python, or one of {', '.join(DISPLAYED)}"
            )


def spans(page: Path) -> Iterator[tuple[str, str]]:
    """The commands in the running text of a page, each with its location."""
    name = page.relative_to(ROOT).as_posix()
    inside = {
        block.line + n for block in blocks(name, page.read_text(encoding="utf-8")) for n in range(len(block.lines))
    }
    lines = page.read_text(encoding="utf-8").split("\n")
    prose = "\n".join("" if number in inside else line for number, line in enumerate(lines, start=1))
    for match in SPAN.finditer(prose):
        yield f"{name}:{prose.count(chr(10), 0, match.start()) + 1}", " ".join(match[1].split())


def blocks(page: str, text: str) -> Iterator[Block]:
    """The fenced blocks of a page, unindented."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        opening = OPENING.match(lines[number])
        number += 1
        if opening is None:
            continue
        start, content = number, []
        while number < len(lines) and not lines[number].strip().startswith(opening["fence"]):
            content.append(lines[number].removeprefix(opening["indent"]))
            number += 1
        number += 1
        yield Block(page, start + 1, opening["language"], content)


def _check_shown(block: Block) -> None:
    for number, line in enumerate(block.lines, start=block.line):
        if PROMPT.match(line) and PROMPT.sub("", line) not in ELSEWHERE:
            raise ValueError(
                f"{block.page}:{number}: a command in a block of what is shown, which no test executes; call the block"
                f" ```console: {line}"
            )


def _python(block: Block) -> Command:
    text = "\n".join(block.lines) + "\n"
    return Command(f"{block.page}:{block.line}", text, ["python", "-c", text], _needs(text), [])


def _shell(block: Block) -> Iterator[Command]:
    has_prompts = any(line.startswith("$ ") for line in block.lines)
    variables: dict[str, str] = {}
    before: list[list[str]] = []
    above = ""  # the comments on lines of their own, above the command
    for number, line in _joined(block):
        if has_prompts and not line.startswith("$ "):
            continue
        line = line.removeprefix("$ ").strip()
        if not line or line.startswith("#"):
            above = f"{above} {line}" if line else ""
            continue
        location = f"{block.page}:{number}"
        try:
            words = shlex.split(_filled(line, variables), comments=True)
        except ValueError as error:
            raise ValueError(
                f"{location}: not a command of a shell ({error}); call what is shown ```text: {line}"
            ) from None
        if words[:2] in (["xsent", "train"], ["xsent", "evaluate"]):
            words = ["python", f"{words[1]}.py", *words[2:]]
        if assignment := re.fullmatch(r"(?:export )?([A-Z_]+)=(.*)", " ".join(words)):
            variables[assignment[1]] = assignment[2]
        comment = COMMENT.search(line)
        yield Command(location, line, words, _needs(f"{above} {comment[1] if comment else ''}"), list(before))
        before.append(words)
        above = ""


def _joined(block: Block) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first line; a trailing backslash joins the next."""
    start, held = 0, ""
    for number, line in enumerate(block.lines, start=block.line):
        start = start or number
        held += line.rstrip()
        if held.endswith("\\"):
            held = held[:-1]
            continue
        yield start, held
        start, held = 0, ""


def _filled(line: str, variables: dict[str, str]) -> str:
    return re.sub(r"\$\{?([A-Z_]+)\}?", lambda match: variables.get(match[1], match[0]), line)


def _needs(comment: str) -> str | None:
    commands = MARK.search(comment)
    return commands[1] if commands else None
