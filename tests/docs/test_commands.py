"""Every command that a page prints is one that works: executed, or said to need the hub or a GPU."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest
from hydra.errors import HydraException

from tests.docs.appended import compose_command
from tests.docs.commands import ELSEWHERE, Command, all_commands, blocks, commands_of, pages, spans
from tests.docs.covered import COVERED, covered_by, inside
from tests.docs.execute import execute, names_in, placeholder, unknown_names
from tests.docs.placeholders import PLACEHOLDERS, Store
from tests.helpers import ROOT

COMMANDS = all_commands()
# It answers with the list that its comment promises, and does nothing.
REFUSED = {"python train.py": "You must specify 'recipe'"}
KINDS = ("python train.py", "python evaluate.py", "xsent")
IDS = [command.where for command in COMMANDS]
EXECUTED = [command for command in COMMANDS if command.needs is None and covered_by(command) is None]


def parsed_by_xsent(words: list[str]) -> argparse.Namespace:
    """The options of a command of ``xsent``; its own message is raised where they are wrong."""

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> None:  # type: ignore[override]
            raise ValueError(message)

    parser = Parser(prog="xsent")
    _add_commands(parser)
    return parser.parse_args(words)


def options_of_xsent() -> dict[str, set[str]]:
    """By command, the options that its help names."""
    found = _add_commands(argparse.ArgumentParser(prog="xsent")).choices
    return {name: set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", one.format_help())) for name, one in found.items()}


def _add_commands(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    from xsent.cli.command import COMMANDS as MODULES

    commands = parser.add_subparsers(dest="command", required=True)
    for module in MODULES:
        module.add(commands)
    return commands


def check(command: Command) -> None:
    """Raise what is wrong with a command, unless only running it would tell."""
    if (look := covered_by(command)) is not None:
        wrong = look(command)
        assert wrong is None, f"{command.where}: {command.text}\n{wrong}"
        if (own := inside(command)) is not None:
            check(own)
    elif command.is_python:
        compile(command.text, command.where, "exec")
    else:
        assert command.text.startswith(KINDS), (
            f"{command.where}: nobody knows how to execute this: {command.text}\nCall a block that is shown ```text."
        )
        if command.words[0] == "xsent":
            parsed_by_xsent(command.words[1:])
        elif " ".join(command.words) not in REFUSED and "--help" not in command.words:
            compose_command(command.words)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_block_holds_commands_or_python_or_says_what_it_shows(page: Path) -> None:
    list(commands_of(page))


@pytest.mark.parametrize("command", COMMANDS, ids=IDS)
def test_a_printed_command_is_one_that_its_program_understands(command: Command) -> None:
    check(command)
    if command.needs is None and covered_by(command) is None:
        unknown = unknown_names(command)
        assert not unknown, f"{command.where}: tests/docs/placeholders.py has no {', '.join(unknown)}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_in_a_line_of_prose_exists(page: Path) -> None:
    known = options_of_xsent()
    for where, text in spans(page):
        words = text.split()
        if words[0] == "xsent":
            assert words[1] in known, f"{where}: there is no `xsent {words[1]}`, only {', '.join(known)}"
            unknown = [word for word in words if word.startswith("-") and word not in known[words[1]]]
            assert not unknown, f"{where}: `xsent {words[1]}` has no {', '.join(unknown)}"
        else:
            assert text.startswith(KINDS) or covered_by(_span(where, text)), f"{where}: {text}"
            check(_span(where, text))


@pytest.mark.slow
@pytest.mark.parametrize("command", EXECUTED, ids=[command.where for command in EXECUTED])
def test_a_printed_command_runs(
    command: Command, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = REFUSED.get(" ".join(command.words))
    if refused is not None:
        with pytest.raises(Exception, match=refused):
            execute(command, tmp_path, store, monkeypatch)
        return
    status = execute(command, tmp_path, store, monkeypatch)
    said = capfd.readouterr()
    assert status == 0, f"{command.where}: {command.text}\n{said.out[-2000:]}{said.err[-4000:]}"


@pytest.mark.parametrize("page", ["docs/sweeps.md", "docs/howto/sweep.md"])
def test_a_search_that_a_page_shows_composes_and_looks_for_a_figure_that_does_not_fall_by_itself(
    page: str, tmp_path: Path
) -> None:
    shown = [one for one in blocks(page, (ROOT / page).read_text(encoding="utf-8")) if one.language == "yaml"]
    assert shown
    for block in shown:
        (tmp_path / "hparams_search").mkdir(exist_ok=True)
        (tmp_path / "hparams_search" / "shown.yaml").write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        words = ["python", "train.py", f"hydra.searchpath=[{tmp_path}]", "hparams_search=shown"]
        found = compose_command(words)
        space = found.config.hparams_search.space
        assert space
        for name in (name for name in space if "." in name):
            assert found.value(name) is not None, name
        # As xsent/recipes name their losses: val/loss is lowest where margin and scale are.
        assert {found.value(f"callbacks.{one}.monitor") for one in ("checkpoints", "early_stopping")} == {
            "val/heldout/original/mean/accuracy"
        }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("make mini BITEX=x", "no variable BITEX in the Makefile"),
        ("docker build -f docker/Dockerfile --target tpu -t xsent .", "no stage tpu"),
        ("docker build -f docker/Dockerfile --target cpu --build-arg EXTRA=st -t xsent .", "no ARG EXTRA=st"),
        ("docker run --rm xsentt train.py", "no image 'xsentt'"),
        ("docker run --rm --gpus all xsent train.py", "go together"),
        ("docker run --rm xsent train.py recipe=orakle", "orakle"),
        ("docker run --rm xsent xsent mine a.de b.en -o c --no-such-option", "unrecognized arguments"),
        ("python -m benchmarks.clsd speed --itemz 3", "no option --itemz"),
        ("python -m pytest tests/test_nothing.py", "there is no tests/test_nothing.py"),
        ("DATA=1 python train.py recipe=labse", "nobody knows how to execute this"),
    ],
)
def test_a_command_that_is_not_executed_is_looked_at(line: str, said: str) -> None:
    with pytest.raises((AssertionError, ValueError, HydraException), match=said):
        check(_span("page.md:1", line))


def test_each_table_has_only_what_a_page_needs() -> None:
    used = {placeholder(name) for command in COMMANDS for name in names_in(command)}
    idle_names = sorted(PLACEHOLDERS.keys() - used)
    assert not idle_names, "placeholders that no page names"
    texts = [command.text for command in COMMANDS] + [text for page in pages() for _, text in spans(page)]
    idle = [kind for kind in COVERED if not any(re.match(kind, text) for text in texts)]
    assert not idle, "kinds of commands that no page prints"


# ---- the collector itself


def collected(tmp_path: Path, *lines: str) -> list[Command]:
    page = tmp_path / "page.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(commands_of(page))


def test_lines_are_joined_filled_in_and_split_as_a_shell_does(tmp_path: Path) -> None:
    first, second = collected(
        tmp_path, "Text.", "", "```", 'D="a=1 b=2"', "python train.py $D \\", "  'c=x y'   # prose", "```"
    )
    assert first.words == ["D=a=1 b=2"]
    assert (second.where, second.words) == ("page.md:5", ["python", "train.py", "a=1", "b=2", "c=x y"])


def test_with_prompts_all_else_is_output(tmp_path: Path) -> None:
    one, other = collected(tmp_path, "```console", "$ xsent mine a b -o c", "12:00 'done", "$ cat c", "```")
    assert [one.text, other.text] == ["xsent mine a b -o c", "cat c"]
    assert other.before == [["xsent", "mine", "a", "b", "-o", "c"]]


def test_a_mark_is_read_beside_the_command_or_above_it(tmp_path: Path) -> None:
    found = collected(
        tmp_path,
        "```bash",
        "xsent a  # needs the hub: a model",
        "# needs a GPU",
        "xsent b",
        "xsent c # needs care",
        "```",
    )
    assert [command.needs for command in found] == ["the hub", "a GPU", None]


def test_what_is_shown_is_no_command_and_an_unknown_language_is_an_error(tmp_path: Path) -> None:
    assert collected(tmp_path, "```text", "rm -rf it's", "```", "  ```yaml", "  a: 1", "  ```") == []
    with pytest.raises(ValueError, match=r"page.md:2: a block of 'fortran'; expected commands"):
        collected(tmp_path, "", "```fortran", "END", "```")


def test_a_command_among_what_is_shown_is_refused_unless_a_test_is_known_to_run_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"page.md:2: a command in a block of what is shown"):
        collected(tmp_path, "```text", "$ xsent mine a b -o c", "```")
    assert collected(tmp_path, "```text", "$ cat a", f"$ {ELSEWHERE[0]}", "```") == []


def test_a_command_of_prose_may_span_two_lines() -> None:
    page = ROOT / "docs/mteb.md"
    assert [text for _, text in spans(page) if text.startswith("hf download") and "--local-dir" in text]


def test_an_unknown_name_is_one(tmp_path: Path) -> None:
    (command,) = collected(
        tmp_path, "```", "python train.py data.root=NOWHERE recipe=dream roots.x=BITEXT seed=1,2", "```"
    )
    assert unknown_names(command) == ["NOWHERE"]
    (command,) = collected(tmp_path, "```", "xsent mine text.de other.xy -o mined.tsv", "```")
    assert unknown_names(command) == ["other.xy"]


def _span(where: str, text: str) -> Command:
    return Command(where, text, shlex.split(text), None, [])
