"""Execute the steps of a Dockerfile without an engine, each stage in a folder tree of its own.

A step sees its tree at the place it has in the image (``/srv``), in a mount namespace of its own, and an environment of
what ENV and ARG say. The machine's Python stands in for that of the base image, its package index for the one that
pip asks. What changes a system (``apt-get``, ``useradd``) is simulated or left out, and that is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.docker.dockerfile import Stage, Step, lineage

PLACE = "/srv"  # all that the image has of its own is below it
SYSTEM = ("apt-get", "groupadd", "useradd")
# What the machine needs to reach its package index; nothing else of its environment comes in.
FROM_MACHINE = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy", "LANG", "TMPDIR")


def namespaces(*, network: bool) -> list[str]:
    """The command that gives another one its own mounts and, with ``network=False``, nothing to reach.

    Raises:
        OSError: this machine allows no namespaces.
    """
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", *user, "--mount", *([] if network else ["--net"])]
    probe = subprocess.run([*command, "mount", "--bind", PLACE, PLACE], capture_output=True, text=True, check=False)
    if probe.returncode:
        raise OSError(f"no namespaces on this machine: {probe.stderr.strip()}")
    return command


@dataclass
class Built:
    """What a stage is after its steps."""

    tree: Path  # stands for the root of the image's file system
    environment: dict[str, str]
    workdir: str
    skipped: list[str] = field(default_factory=list)  # steps that were not executed, and why

    def run(self, command: Sequence[str], *, network: bool, uid: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command at the image's place; ``uid`` is another user, for whom the tree must be readable."""
        at_place = 'mount --bind "$1" "$2" && cd "$3" && shift 3 && exec "$@"'
        user = [] if uid is None else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        shell = ["sh", "-c", at_place, "sh", f"{self.tree}{PLACE}", PLACE, self.workdir]
        return subprocess.run(
            [*namespaces(network=network), *shell, *user, *command],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


def build(
    stages: Mapping[str, Stage],
    target: str,
    *,
    context: Path,
    files: Sequence[Path],
    root: Path,
    args: Mapping[str, str],
) -> Built:
    """Execute the steps of a stage and of all that it takes from, once each.

    Args:
        stages: as read from the Dockerfile.
        target: the stage.
        context, files: the folder that is sent to an engine, and which files of it.
        root: empty folder for the trees.
        args: values of ARG in place of those in the Dockerfile.

    Raises:
        ValueError: a step outside ``/srv``.
        RuntimeError: a step failed; its output is said.
    """
    done: dict[str, Built] = {}
    for name in _order(stages, target):
        stage = stages[name]
        tree = root / name
        built = Built(tree, _machine(), PLACE)
        if stage.base in done:
            before = done[stage.base]
            shutil.copytree(before.tree, tree, symlinks=True)
            built = Built(tree, dict(before.environment), before.workdir, list(before.skipped))
        (tree / PLACE.strip("/")).mkdir(parents=True, exist_ok=True)
        for step in stage.steps:
            _execute(step, built, done, context=context, files=files, args=args)
        done[name] = built
    return done[target]


def _order(stages: Mapping[str, Stage], target: str) -> Iterator[str]:
    """The stages that a target needs, each after those it needs itself."""
    seen: set[str] = set()

    def walk(name: str) -> Iterator[str]:
        for stage in lineage(dict(stages), name):
            for step in stage.steps:
                for word in step.words() if step.name == "COPY" else ():
                    if word.startswith("--from="):
                        yield from walk(word.removeprefix("--from="))
            if stage.name not in seen:
                seen.add(stage.name)
                yield stage.name

    return walk(target)


def _machine() -> dict[str, str]:
    """The environment that a base image would have: this Python first on the path, and the package index."""
    found = {name: value for name, value in os.environ.items() if name.startswith(FROM_MACHINE)}
    return found | {"PATH": f"{sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def _execute(
    step: Step,
    built: Built,
    done: Mapping[str, Built],
    *,
    context: Path,
    files: Sequence[Path],
    args: Mapping[str, str],
) -> None:
    if step.name == "ENV":
        for name, value in step.pairs().items():
            built.environment[name] = value.replace("$PATH", built.environment["PATH"])
    elif step.name == "ARG":
        # To the end of the stage, of which nothing but files is used, an ARG is a variable like any other.
        built.environment |= {name: args.get(name, value) for name, value in step.pairs().items()}
    elif step.name == "WORKDIR":
        built.workdir = step.value
        _inside(built, step.value, step).mkdir(parents=True, exist_ok=True)
    elif step.name == "COPY":
        _copy(step, built, done, context=context, files=files)
    elif step.name == "RUN":
        _run(step, built)


def _copy(step: Step, built: Built, done: Mapping[str, Built], *, context: Path, files: Sequence[Path]) -> None:
    *sources, target = step.words()
    into = _inside(built, os.path.normpath(f"{built.workdir}/{target}" if target[0] != "/" else target), step)
    if sources[0].startswith("--from="):
        other = done[sources[0].removeprefix("--from=")]
        shutil.copytree(_inside(other, sources[1], step), into, symlinks=True, dirs_exist_ok=True)
        return
    for source in sources:
        named = [path for path in files if source == "." or path == Path(source) or Path(source) in path.parents]
        if not named:
            raise RuntimeError(f"line {step.line}: COPY {source}: nothing of that name is sent")
        for path in named:
            # A file goes into the folder by its own name, a folder by what is in it.
            place = into / (path.name if path == Path(source) else path.relative_to(source))
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(context / path, place)


def _run(step: Step, built: Built) -> None:
    program = step.value.split()[0]
    if program in SYSTEM:
        if program == "apt-get" and shutil.which("apt-get"):
            _simulate(step)
        built.skipped.append(f"line {step.line}, changes the system: RUN {step.value}")
        return
    done = built.run(["sh", "-euc", step.value], network=True)
    if done.returncode:
        said = (done.stdout + done.stderr)[-3000:]
        raise RuntimeError(f"line {step.line}: RUN {step.value}: exit status {done.returncode}\n{said}")


def _simulate(step: Step) -> None:
    """Ask apt whether it has the packages in these versions, where this is the image's release of Debian."""
    if "bookworm" not in Path("/etc/os-release").read_text(encoding="utf-8"):
        return
    packages = [word for word in step.value.split("&&")[1].split() if "=" in word]
    done = subprocess.run(["apt-get", "--simulate", "install", *packages], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"line {step.line}: apt-get has not {' '.join(packages)}: {done.stderr.strip()}")


def _inside(built: Built, path: str, step: Step) -> Path:
    if not f"{path}/".startswith(f"{PLACE}/"):
        raise ValueError(f"line {step.line}: expected a path below {PLACE}, found {path}")
    return built.tree / path.strip("/")
