"""Command-line options generated from the config files of a job.

A comment ``METAVAR: text`` behind a key of ``conf/job/<job>.yaml``, or of a file in a group below ``conf/job/<job>/``,
makes the key an option::

    margin: ratio      # NAME: ratio | distance | absolute [Artetxe & Schwenk 2019, section 3]
    top: null          # N: write only the best N of these pairs
    keep_work: false   # FLAG: keep the shards
    seeds:
      count: 6_000     # --seeds N: most pairs to use

The flag is the key, unless the comment names another one; ``FLAG`` is an option without a value. The text is the help,
without what stands in brackets; it may continue in the comments of the next lines. The value is the default and gives
the type; for null the metavar does (``TYPES``).
"""

import argparse
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from operator import methodcaller
from typing import Any, NamedTuple

import yaml

from xsent.paths import conf_folder

COMMENT = re.compile(r"(?:(--[\w-]+) )?([A-Z]+): (.+)")
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
        about = self.help if values is None else f"{self.help} (default: {values})"
        parser.add_argument(self.flag, dest=self.key, metavar=self.metavar, type=self._type(), help=about)

    def _type(self) -> Callable[[str], object]:
        if isinstance(self.default, list):
            return TYPES["CODES"]
        return TYPES.get(self.metavar, str) if self.default is None else type(self.default)


def job_options(job: str) -> list[Option]:
    """Options of ``conf/job/<job>.yaml`` and of the groups in ``conf/job/<job>/``; of equal flags the first."""
    folder = conf_folder() / "job"
    files = [(folder / f"{job}.yaml", "")]
    for file in sorted((folder / job).rglob("*.yaml")):
        group = file.relative_to(folder / job).parts[0]
        files.append((file, f"{job if file.parent == folder / job else group}."))
    options: dict[str, Option] = {}
    for file, prefix in files:
        for option in _file_options(file.read_text(encoding="utf-8"), prefix):
            options.setdefault(option.flag, option)
    return list(options.values())


def _file_options(text: str, prefix: str) -> Iterator[Option]:
    loader = yaml.SafeLoader(text)
    lines = text.splitlines()
    root = loader.get_single_node()
    assert root is not None, "a config file of a job is not empty"
    for path, number, node in _keys(root):
        before, mark, comment = lines[number].partition(" # ")
        match = COMMENT.match(comment)
        if mark and match:
            flag, metavar, about = match.groups()
            start = f"{'':{len(before)}}{mark}"  # of the next lines of the comment
            following = takewhile(methodcaller("startswith", start), lines[number + 1 :])
            about = " ".join([about, *(line.removeprefix(start) for line in following)])
            yield Option(
                key=prefix + ".".join(path),
                flag=flag or f"--{path[-1].replace('_', '-')}",
                metavar=metavar,
                help=re.sub(r" *\[.*\]", "", about).replace("%", "%%"),
                default=loader.construct_object(node, deep=True),
            )


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
