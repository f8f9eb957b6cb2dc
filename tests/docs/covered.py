"""Commands that the docs tests check without executing them, and what executes them instead."""

import argparse
import re
import subprocess
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tests.docker.dockerfile import read_dockerfile
from tests.docs.commands import Command
from tests.helpers import ROOT

IMAGES = ("xsent", "xsent:gpu")
WITH_VALUE = ("-v", "--user", "--network", "--gpus", "-e", "--shm-size", "--ipc")  # options of docker run
DOWNLOADS = {"hf download": "huggingface_hub", "nltk": "nltk", "stanza": "stanza"}


def make(command: Command) -> str | None:
    """``.ci/run`` makes demo, test, lint, types, slow, oldest and docs; the other targets take hours.

    ``make -n`` checks the target. Make accepts any variable name, so the names are checked here.
    """
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    names = [word.partition("=")[0] for word in command.words[1:] if "=" in word]
    unknown = [name for name in names if not re.search(rf"^{re.escape(name)}\s*\??=", text, re.MULTILINE)]
    if unknown:
        return f"no variable {', '.join(unknown)} in the Makefile"
    process = subprocess.run(["make", "-n", *command.words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    return process.stderr if process.returncode else None


def pip(command: Command) -> str | None:
    """Would change this installation. The extras that it names must exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [name for group in re.findall(r"(?:xsent|\.)\[([\w,-]+)\]", command.text) for name in group.split(",")]
    unknown = [name for name in named if name not in project["optional-dependencies"]]
    return f"no extra {', '.join(unknown)} in pyproject.toml" if unknown else None


def docker(command: Command) -> str | None:
    """Needs an engine; tests/test_docker.py executes the steps of the image. Files and names must exist."""
    words = _docker_words(command)
    if words[1] == "build":
        return _wrong_build(words[2:])
    if words[1] == "run":
        arguments, image, _ = _run_words(words)
        if image not in IMAGES:
            return f"no image {image!r}; docs/docker.md builds {', '.join(IMAGES)}"
        if ("--gpus" in arguments) != (command.needs == "a GPU"):
            return "--gpus and the mark `needs a GPU` go together"
    return None


def inside(command: Command) -> Command | None:
    """The command that a container runs."""
    if covered_by(command) is not docker or _docker_words(command)[1] != "run":
        return None
    _, _, words = _run_words(_docker_words(command))
    if not words or words == ["bash"]:
        return None
    # docker/entrypoint passes Python files to python.
    words = ["python", *words] if words[0].endswith(".py") else words
    return Command(command.location, " ".join(words), words, command.needs, [])


def _docker_words(command: Command) -> list[str]:
    """The words from ``docker`` on."""
    return command.words[command.words.index("docker") :]


def _wrong_build(words: list[str]) -> str | None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    for option in ("-f", "--target", "-t"):
        parser.add_argument(option)
    parser.add_argument("--build-arg", action="append", default=[])
    parser.add_argument("folder")
    arguments = parser.parse_args(words)
    if not (ROOT / arguments.f).is_file() or arguments.t not in IMAGES:
        return f"expected -f docker/Dockerfile and -t with one of {', '.join(IMAGES)}"
    stages = read_dockerfile(ROOT / arguments.f)
    if arguments.target not in stages:
        return f"no stage {arguments.target}, only {', '.join(stages)}"
    declared = {
        name for stage in stages.values() for step in stage.steps if step.name == "ARG" for name in step.pairs()
    }
    unknown = [name for name in arguments.build_arg if name.partition("=")[0] not in declared]
    return f"no ARG {', '.join(unknown)}, only {', '.join(sorted(declared))}" if unknown else None


def _run_words(words: list[str]) -> tuple[list[str], str, list[str]]:
    """Options, image and command of ``docker run``."""
    at = 2
    while words[at].startswith("-"):
        at += 2 if words[at] in WITH_VALUE else 1
    return words[2:at], words[at], words[at + 1 :]


def benchmark(command: Command) -> str | None:
    """Takes minutes to hours. Module and options must exist."""
    module = find_spec(command.words[2])
    if module is None or module.origin is None:
        return f"there is no module {command.words[2]}"
    text = Path(module.origin).read_text(encoding="utf-8")
    unknown = [word for word in command.words if word.startswith("--") and f'"{word}"' not in text]
    return f"no option {', '.join(unknown)} in {module.origin}" if unknown else None


def tests(command: Command) -> str | None:
    """Runs with the other tests. The files must exist."""
    missing = [word for word in command.words if word.startswith("tests/") and not (ROOT / word).is_file()]
    return f"there is no {', '.join(missing)}" if missing else None


def download(command: Command) -> str | None:
    """Downloads files. The package must be installed."""
    package = next(name for kind, name in DOWNLOADS.items() if kind in command.text)
    return None if find_spec(package) is not None else f"there is no package {package}"


def ray(command: Command) -> str | None:
    """Starts servers that outlive it; tests/jobs/mining/test_mine.py mines on its own cluster."""
    return (
        None if "ray" in (ROOT / "tests/jobs/mining/test_mine.py").read_text(encoding="utf-8") else "nobody tests Ray"
    )


def cat(command: Command) -> str | None:
    """Prints a file that an earlier command of the block must write."""
    above = [word for words in command.before for word in words]
    missing = [name for name in command.words[1:] if name not in above]
    return f"no command above it names {', '.join(missing)}" if missing else None


def variable(command: Command) -> str | None:
    """Is substituted into the commands that use it."""
    return None


COVERED: dict[str, Callable[[Command], str | None]] = {
    r"make\b": make,
    r"pip install\b": pip,
    r"(mkdir -p [\w/]+ && )?docker (build|run|stop)\b": docker,
    r"python -m benchmarks\b": benchmark,
    r"python -m pytest\b": tests,
    r"python -m nltk\.downloader\b|python -c .import stanza; stanza\.download\(|hf download\b": download,
    r"ray start\b": ray,
    r"cat\b": cat,
    r"(export )?[A-Z_]+=(\"[^\"]*\"|'[^']*'|[^\s\"']*)(\s+#.*)?$": variable,
}


def covered_by(command: Command) -> Callable[[Command], str | None] | None:
    """The check for a command that is not executed, or None."""
    return next((look for kind, look in COVERED.items() if re.match(kind, command.text)), None)
