"""Run documented commands offline, in a folder with the files that they name."""

import logging
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.appended import appended
from tests.docs.commands import Command
from tests.docs.placeholders import PLACEHOLDERS, Store
from tests.helpers import ROOT
from tests.text.distractors.llm.endpoint import serving

# Options that name an output.
OUTPUTS = ("-o", "--output", "--log", "--html", "--language-head", "--ledger", "--work-dir")
WRITTEN = ("save_encoder", "run_dir", "runs_dir", "cache_dir")
ENDING = re.compile(r"\.(tsv|txt|jsonl?|csv|zip|html|gz|pt|bin|onnx|ckpt|dev|conllu|align|[a-z]{2}|en-[a-z]{2})$")
CAPITALS = re.compile(r"[A-Z][A-Z0-9_]+")
IN_PYTHON = re.compile(r"""["']([\w./-]+)["']""")


def names_in(command: Command) -> Iterator[str]:
    """The input files that a command names.

    A word is one if it ends as files do, begins with a word in capitals or ``runs/``, or ends in a slash.
    """
    if command.is_python:
        values: Sequence[str] = IN_PYTHON.findall(command.text)
    else:
        values = list(_values(command.words))
    for value in values:
        first = value.split("/")[0]
        is_upper = CAPITALS.fullmatch(first.split(".")[0]) is not None
        if is_upper or ENDING.search(value) or value.endswith("/") or first in ("runs", "models"):
            yield value


def placeholder(value: str) -> str | None:
    """The entry of ``PLACEHOLDERS`` for a path: its own or that of a parent folder."""
    parents = [value, f"{value}/", *(str(parent) for parent in Path(value).parents)]
    return next((name for name in parents if name in PLACEHOLDERS), None)


def _values(words: Sequence[str]) -> Iterator[str]:
    for before, word in pairwise(words[1:]):
        key, _, value = word.rpartition("=")
        if before not in OUTPUTS and key not in WRITTEN:
            yield from value.strip("[]").split(",") if value.startswith("[") else [value]


def unknown_names(command: Command) -> list[str]:
    """The input files without an entry in ``PLACEHOLDERS``."""
    return [name for name in names_in(command) if placeholder(name) is None]


def execute(command: Command, folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command or a Python block in ``folder``; returns the exit status."""
    for name in names_in(command):
        entry = placeholder(name)
        assert entry is not None
        store.copy_to(folder, entry)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(ROOT))
    for name, value in _environment(folder, store).items():
        monkeypatch.setenv(name, value)
    with as_in_a_new_process(), _endpoint(command.words) as extra:
        try:
            return _run(command, store, extra)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)


def _environment(folder: Path, store: Store) -> dict[str, str]:
    return {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HOME": str(folder / "home"),
        "XSENT_CACHE": str(store.folder / "cache"),
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "none",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": str(store.folder / "matplotlib"),
    }


def _run(command: Command, store: Store, extra: Sequence[str]) -> int:
    if command.is_python:
        exec(compile(command.text, command.location, "exec"), {"__name__": "__main__"})
        return 0
    words = [*command.words, *appended(command.words, store), *extra]
    if words[0] == "xsent":
        from xsent.cli import main

        return main(words[1:])
    if "ckpt_path=last" in words:  # there has to be a run that it can go on with
        _run_script([word for word in words if word != "ckpt_path=last"])
    return _run_script(words)


def _run_script(words: Sequence[str]) -> int:
    if "trainer=ddp_cpu" in words:  # the processes that it starts begin as the first one did
        return subprocess.run([sys.executable, str(ROOT / words[1]), *words[2:]], check=True).returncode
    from xsent.cli import main

    return main([words[1].removesuffix(".py"), *words[2:]])


@contextmanager
def _endpoint(words: Sequence[str]) -> Iterator[list[str]]:
    """The option that names a local server, for commands that ask a language model."""
    if "llm" not in words or "--dry-run" in words:
        yield []
        return
    for package in ("openai", "py3langid"):
        pytest.importorskip(package, reason="pip install 'xsent[llm]'")
    with serving() as server:
        yield ["--base-url", server.url]


@contextmanager
def as_in_a_new_process() -> Iterator[None]:
    """Restore process state that a command changes: Hydra replaces the loggers."""
    from hydra.core.global_hydra import GlobalHydra

    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    with ExitStack() as after:
        after.callback(GlobalHydra.instance().clear)
        after.callback(root.setLevel, level)
        after.callback(setattr, root, "handlers", handlers)
        yield
