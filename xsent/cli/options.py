"""Command-line options generated from the config files of a job.

A comment ``METAVAR: text`` behind a key of ``conf/job/<job>.yaml``, or of a file in a group below ``conf/job/<job>/``,
makes the key an option::

    margin: ratio      # NAME: ratio | distance | absolute [Artetxe & Schwenk 2019, section 3]
    top: null          # N: write only the best N of these pairs
    keep_work: false   # FLAG: keep the shards
    seeds:
      count: 6_000     # --seeds N: most pairs to use

The flag is the key, unless the comment names another one; ``FLAG`` is an option without a value. The text is the help,
without what stands in brackets; it may continue in the comments of the next lines, where ``- name: `` starts a new line
of the help. The value is the default and gives the type; for null the metavar does (``TYPES``).

All other keys are values for ``--set``, listed with their comments at the end of the help.
"""

import argparse
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator
from itertools import takewhile
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from xsent.paths import conf_folder

COMMENT = re.compile(r"(?:(--[\w-]+) )?([A-Z]+): (.+)", re.DOTALL)
PROVENANCE = re.compile(r"^(ours|released|the same|as above|the paper's|the script's)\b[:;,]? *")
LONG = 10  # entries of a mapping; of a longer one the help lists the first
TYPES: dict[str, Callable[[str], object]] = {  # of values that are null by default
    "N": int,
    "SCORE": float,
    "AMOUNT": float,
    "CODES": lambda text: text.split(","),
}


class Option(NamedTuple):
    """A config key that is an option of a command."""

    key: str  # in the config of the job, e.g. "seeds.count"
    flag: str  # e.g. "--seeds"
    metavar: str
    help: str
    default: Any

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add the option to a parser, as the attribute ``key``; None there means that it was not given."""
        if self.metavar == "FLAG":
            parser.add_argument(self.flag, dest=self.key, action="store_true", default=None, help=self.help)
            return
        values = ",".join(self.default) if isinstance(self.default, list) else self.default
        first, *lines = self.help.split("\n")
        about = "\n".join([first if values is None else f"{first} (default: {values})", *lines])
        parser.add_argument(self.flag, dest=self.key, metavar=self.metavar, type=self._type(), help=about)

    def _type(self) -> Callable[[str], object]:
        if isinstance(self.default, list):
            return TYPES["CODES"]
        return TYPES.get(self.metavar, str) if self.default is None else type(self.default)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formatter that keeps the line breaks of a help text."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [line for part in text.split("\n") for line in super(HelpFormatter, self)._split_lines(part, width)]


class Key(NamedTuple):
    """A key of the config of a job."""

    path: str  # e.g. "seeds.count"
    node: yaml.Node  # its value
    default: Any
    comment: str  # of its line and the next ones


def job_options(job: str) -> list[Option]:
    """Options of ``conf/job/<job>.yaml`` and of the groups in ``conf/job/<job>/``; of equal flags the first."""
    options: dict[str, Option] = {}
    for key in job_keys(job):
        if match := COMMENT.match(key.comment):
            flag, metavar, about = match.groups()
            flag = flag or f"--{key.path.rpartition('.')[2].replace('_', '-')}"
            option = Option(key.path, flag, metavar, _without_brackets(about).replace("%", "%%"), key.default)
            options.setdefault(flag, option)
    return list(options.values())


def settings_help(job: str) -> str:
    """The keys that are no options, for the help of ``--set``: each with its default and comment."""
    options = {option.key for option in job_options(job)}
    keys = {key.path: key for key in reversed(job_keys(job))}  # of equal keys the first
    width = shutil.get_terminal_size().columns - 2
    groups = {path.rpartition(".")[0] for path in keys}
    lines: list[str] = []
    skipped: list[str] = []
    for path in dict.fromkeys(key.path for key in job_keys(job)):
        _, node, default, comment = keys[path]
        if path in options or path.startswith(tuple(skipped)):
            continue
        if isinstance(node, yaml.MappingNode) and len(default) > LONG:
            first, *others = default
            lines += _setting(f"{path}.{first}", textwrap.shorten(f"likewise {', '.join(others)}", 160), width)
            skipped.append(f"{path}.")
        elif _is_value(node) and path not in groups and not str(default).startswith("${"):
            value = " ".join(yaml.safe_dump(default, default_flow_style=True).split()).removesuffix(" ...")
            about = PROVENANCE.sub("", _without_brackets(comment))
            lines += _setting(f"{path}={textwrap.shorten(value, 50, placeholder='...')}", about, width)
    return "\n".join(["values for --set:", *lines]) if lines else ""


def _setting(value: str, about: str, width: int) -> list[str]:
    start = f"  {value:26}  " if len(value) <= 26 else f"{'':30}"
    about_lines = textwrap.wrap(about, width, initial_indent=start, subsequent_indent=f"{'':30}")
    return [f"  {value}", *about_lines] if len(value) > 26 or not about else about_lines


def _is_value(node: yaml.Node) -> bool:
    is_list = isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.ScalarNode) for item in node.value)
    return isinstance(node, yaml.ScalarNode) or not node.value or is_list


def _without_brackets(text: str) -> str:
    return re.sub(r" *\[.*\]", "", text)


def job_keys(job: str) -> list[Key]:
    """Keys of the files that ``load_config`` may compose for a job.

    These are the file of the job, all groups of the job, and the default files of the groups that other commands share.
    """
    folder = conf_folder()
    main = folder / "job" / f"{job}.yaml"
    files = [(main, "")]
    for file in sorted((folder / "job" / job).rglob("*.yaml")):
        group = file.relative_to(folder / "job" / job).parts[0]
        files.append((file, f"{job if file.parent == folder / 'job' / job else group}."))
    for choice in yaml.safe_load(main.read_text(encoding="utf-8")).get("defaults", []):
        for group, name in choice.items() if isinstance(choice, dict) else []:
            if (file := folder / group / f"{name}.yaml").is_file():
                files.append((file, f"{group}."))
    return [key for file, prefix in files for key in _file_keys(file, prefix)]


def _file_keys(file: Path, prefix: str) -> Iterator[Key]:
    text = file.read_text(encoding="utf-8")
    prefix = "" if text.startswith("# @package _global_") else prefix
    loader = yaml.SafeLoader(text)
    lines = text.splitlines()
    root = loader.get_single_node()
    assert root is not None, "a config file of a job is not empty"
    for path, number, node in _keys(root):
        if path[-1] in ("_target_", "_partial_"):
            continue
        before, mark, comment = lines[number].partition(" # ")
        if mark:
            start = f"{'':{len(before)}}{mark}"  # of the next lines of the comment
            following = takewhile(methodcaller("startswith", start), lines[number + 1 :])
            parts = [comment, *(line.removeprefix(start) for line in following)]
            comment = re.sub(r" - (?=\w+: )", "\n", " ".join(parts))
        yield Key(prefix + ".".join(path), node, loader.construct_object(node, deep=True), comment.strip())


def _keys(node: yaml.Node, *path: str) -> Iterator[tuple[tuple[str, ...], int, yaml.Node]]:
    """All keys of a file with their lines and values; a choice of the defaults list is a key of the file."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if (*path, key.value) == ("defaults",):
                for choice in value.value:
                    yield from _keys(choice)
            else:
                yield (*path, key.value), key.start_mark.line, value
                yield from _keys(value, *path, key.value)
