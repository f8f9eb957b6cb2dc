"""Every documented command works: it is executed, or it needs the hub or a GPU."""

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
from xsent import cli

COMMANDS = all_commands()
# Prints the list of recipes and exits.
REFUSED = {"python train.py": "recipe: expected recipe=NAME, found none"}
KINDS = ("python train.py", "python evaluate.py", "xsent")
# Each distinct command once, from the first page that prints it.
EXECUTED = list(
    {
        tuple(command.words): command
        for command in reversed(COMMANDS)
        if command.needs is None and covered_by(command) is None
    }.values()
)[::-1]


def parsed_by_xsent(words: list[str]) -> argparse.Namespace:
    """Parse the options of an ``xsent`` command; a wrong option raises its own message."""

    def fail(message: str) -> None:
        raise ValueError(message)

    parser, parsers = cli.build_parsers(cli.COMMANDS)
    for each in (parser, *parsers.values()):
        each.error = fail  # type: ignore[method-assign, assignment]
    return parser.parse_args(words)


def options_of_xsent() -> dict[str, set[str]]:
    """The options in the help of each command."""
    _, parsers = cli.build_parsers(cli.COMMANDS)
    return {name: set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", each.format_help())) for name, each in parsers.items()}


def check(command: Command) -> None:
    """Raise what is wrong with a command, as far as it can be known without running it."""
    if (look := covered_by(command)) is not None:
        wrong = look(command)
        assert wrong is None, f"{command.location}: {command.text}\n{wrong}"
        if (nested := inside(command)) is not None:
            check(nested)
    elif command.is_python:
        compile(command.text, command.location, "exec")
    else:
        assert command.text.startswith(KINDS), (
            f"{command.location}: nobody knows how to execute this: {command.text}\nCall a block that is shown ```text."
        )
        if command.words[0] == "xsent":
            parsed_by_xsent(command.words[1:])
        elif " ".join(command.words) not in REFUSED and "--help" not in command.words:
            compose_command(command.words)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_block_holds_commands_or_python_or_says_what_it_shows(page: Path) -> None:
    list(commands_of(page))


NOT_EXECUTED = [command for command in COMMANDS if command.needs is not None or covered_by(command) is not None]


@pytest.mark.parametrize("command", NOT_EXECUTED, ids=[command.location for command in NOT_EXECUTED])
def test_a_printed_command_that_is_not_executed_is_one_that_its_program_understands(command: Command) -> None:
    check(command)


@pytest.mark.parametrize("command", EXECUTED, ids=[command.location for command in EXECUTED])
def test_the_files_that_an_executed_command_names_can_be_made(command: Command) -> None:
    unknown = unknown_names(command)
    assert not unknown, f"{command.location}: tests/docs/placeholders.py has no {', '.join(unknown)}"


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_in_a_line_of_prose_exists(page: Path) -> None:
    options = options_of_xsent()
    for location, text in spans(page):
        words = text.split()
        if words[0] == "xsent":
            assert words[1] in options, f"{location}: there is no `xsent {words[1]}`, only {', '.join(options)}"
            unknown = [word for word in words if word.startswith("-") and word not in options[words[1]]]
            assert not unknown, f"{location}: `xsent {words[1]}` has no {', '.join(unknown)}"
        else:
            assert text.startswith(KINDS) or covered_by(_span(location, text)), f"{location}: {text}"
            check(_span(location, text))


@pytest.mark.slow
@pytest.mark.parametrize("command", EXECUTED, ids=[command.location for command in EXECUTED])
def test_a_printed_command_runs(
    command: Command,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = REFUSED.get(" ".join(command.words))
    if refused is not None:
        assert execute(command, tmp_path, store, monkeypatch) == 2
        assert refused in caplog.text
        return
    status = execute(command, tmp_path, store, monkeypatch)
    output = capfd.readouterr()
    assert status == 0, f"{command.location}: {command.text}\n{output.out[-2000:]}{output.err[-4000:]}"


def test_a_search_that_a_page_shows_composes_and_looks_for_a_figure_that_does_not_fall_by_itself(
    tmp_path: Path,
) -> None:
    page = "docs/sweeps.md"
    examples = [
        command for command in blocks(page, (ROOT / page).read_text(encoding="utf-8")) if command.language == "yaml"
    ]
    assert examples
    for block in examples:
        (tmp_path / "search").mkdir(exist_ok=True)
        (tmp_path / "search" / "shown.yaml").write_text("\n".join(block.lines) + "\n", encoding="utf-8")
        words = ["python", "train.py", f"hydra.searchpath=[{tmp_path}]", "search=shown"]
        parsed = compose_command(words)
        space = parsed.config.search.space
        assert space
        for name in (name for name in space if "." in name):
            assert parsed.value(name) is not None, name
        # val/loss is lowest for the smallest margin and scale, so a search may not monitor it.
        assert {parsed.value(f"callbacks.{command}.monitor") for command in ("checkpoints", "early_stopping")} == {
            "val/heldout/original/mean/accuracy"
        }


@pytest.mark.parametrize(
    ("line", "message"),
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
def test_a_command_that_is_not_executed_is_checked(line: str, message: str) -> None:
    with pytest.raises((AssertionError, ValueError, HydraException), match=message):
        check(_span("page.md:1", line))


def test_each_table_has_only_what_a_page_needs() -> None:
    used = {placeholder(name) for command in COMMANDS for name in names_in(command)}
    idle_names = sorted(PLACEHOLDERS.keys() - used)
    assert not idle_names, "placeholders that no page names"
    texts = [command.text for command in COMMANDS] + [text for page in pages() for _, text in spans(page)]
    idle = [kind for kind in COVERED if not any(re.match(kind, text) for text in texts)]
    assert not idle, "kinds of commands that no page prints"


# ---- the parser of pages


def collected(tmp_path: Path, *lines: str) -> list[Command]:
    page = tmp_path / "page.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(commands_of(page))


def test_lines_are_joined_filled_in_and_split_as_a_shell_does(tmp_path: Path) -> None:
    first, second = collected(
        tmp_path, "Text.", "", "```", 'D="a=1 b=2"', "python train.py $D \\", "  'c=x y'   # prose", "```"
    )
    assert first.words == ["D=a=1 b=2"]
    assert (second.location, second.words) == ("page.md:5", ["python", "train.py", "a=1", "b=2", "c=x y"])


def test_with_prompts_all_else_is_output(tmp_path: Path) -> None:
    command, second = collected(tmp_path, "```console", "$ xsent mine a b -o c", "12:00 'done", "$ cat c", "```")
    assert [command.text, second.text] == ["xsent mine a b -o c", "cat c"]
    assert second.before == [["xsent", "mine", "a", "b", "-o", "c"]]


def test_a_mark_is_read_beside_the_command_or_above_it(tmp_path: Path) -> None:
    parsed = collected(
        tmp_path,
        "```bash",
        "xsent a  # needs the hub: a model",
        "# needs a GPU",
        "xsent b",
        "xsent c # needs care",
        "```",
    )
    assert [command.needs for command in parsed] == ["the hub", "a GPU", None]


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


def _span(location: str, text: str) -> Command:
    return Command(location, text, shlex.split(text), None, [])
