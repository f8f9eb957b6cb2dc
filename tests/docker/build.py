"""Execute the steps of a Dockerfile without an engine, each stage in its own folder tree.

A step runs in its own mount namespace with its tree at ``/srv`` and the environment of ENV and ARG. The machine's
Python replaces that of the base image, and its package index replaces PyPI. Steps that change a system (``apt-get``,
``useradd``) are simulated or skipped, and reported.
"""

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
# Environment variables that reach the package index; no other variable is passed on.
FROM_MACHINE = ("PIP_", "SSL_", "HTTP", "http", "NO_PROXY", "no_proxy", "LANG", "TMPDIR")


def namespaces(*, network: bool) -> list[str]:
    """Command prefix that gives a process its own mounts and, with ``network=False``, no network.

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
    """The result of a stage."""

    tree: Path  # stands for the root of the image's file system
    environment: dict[str, str]
    workdir: str
    skipped: list[str] = field(default_factory=list)  # steps that were not executed, and why

    def run(self, command: Sequence[str], *, network: bool, uid: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command inside the tree; ``uid`` is another user, who must be able to read it."""
        at_place = 'mount --bind "$1" "$2" && cd "$3" && shift 3 && exec "$@"'
        user = [] if uid is None else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        shell = ["sh", "-c", at_place, "sh", f"{self.tree}{PLACE}", PLACE, self.workdir]
        return subprocess.run(
            [*namespaces(network=network), *shell, *user, *command],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


def build(
    stages: Mapping[str, Stage],
    target: str,
    *,
    context: Path,
    files: Sequence[Path],
    root: Path,
    args: Mapping[str, str],
) -> Built:
    """Execute the steps of a stage and of the stages it depends on, each once.

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
    stages_built: dict[str, Built] = {}
    for name in _order(stages, target):
        stage = stages[name]
        tree = root / name
        built = Built(tree, _machine(), PLACE)
        if stage.base in stages_built:
            before = stages_built[stage.base]
            shutil.copytree(before.tree, tree, symlinks=True)
            built = Built(tree, dict(before.environment), before.workdir, list(before.skipped))
        (tree / PLACE.strip("/")).mkdir(parents=True, exist_ok=True)
        for step in stage.steps:
            _execute(step, built, stages_built, context=context, files=files, args=args)
        stages_built[name] = built
    return stages_built[target]


def _order(stages: Mapping[str, Stage], target: str) -> Iterator[str]:
    """The stages that a target depends on, dependencies first."""
    visited: set[str] = set()

    def walk(name: str) -> Iterator[str]:
        for stage in lineage(dict(stages), name):
            for step in stage.steps:
                for word in step.words() if step.name == "COPY" else ():
                    if word.startswith("--from="):
                        yield from walk(word.removeprefix("--from="))
            if stage.name not in visited:
                visited.add(stage.name)
                yield stage.name

    return walk(target)


def _machine() -> dict[str, str]:
    """The environment of a base image: this Python first on the path, and the package index."""
    environment = {name: value for name, value in os.environ.items() if name.startswith(FROM_MACHINE)}
    return environment | {"PATH": f"{sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def _execute(
    step: Step,
    built: Built,
    stages_built: Mapping[str, Built],
    *,
    context: Path,
    files: Sequence[Path],
    args: Mapping[str, str],
) -> None:
    if step.name == "ENV":
        for name, value in step.pairs().items():
            built.environment[name] = value.replace("$PATH", built.environment["PATH"])
    elif step.name == "ARG":
        # Only files of a stage are used later, so an ARG may stay a variable until the end of the stage.
        built.environment |= {name: args.get(name, value) for name, value in step.pairs().items()}
    elif step.name == "WORKDIR":
        built.workdir = step.value
        _inside(built, step.value, step).mkdir(parents=True, exist_ok=True)
    elif step.name == "COPY":
        _copy(step, built, stages_built, context=context, files=files)
    elif step.name == "RUN":
        _run(step, built)


def _copy(step: Step, built: Built, stages_built: Mapping[str, Built], *, context: Path, files: Sequence[Path]) -> None:
    *sources, target = step.words()
    into = _inside(built, os.path.normpath(f"{built.workdir}/{target}" if target[0] != "/" else target), step)
    if sources[0].startswith("--from="):
        source_stage = stages_built[sources[0].removeprefix("--from=")]
        shutil.copytree(_inside(source_stage, sources[1], step), into, symlinks=True, dirs_exist_ok=True)
        return
    for source in sources:
        named = [path for path in files if source == "." or path == Path(source) or Path(source) in path.parents]
        if not named:
            raise RuntimeError(f"line {step.line}: COPY {source}: nothing of that name is sent")
        for path in named:
            # COPY puts a file into the folder under its own name, and the content of a folder.
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
    process = built.run(["sh", "-euc", step.value], network=True)
    if process.returncode:
        output = (process.stdout + process.stderr)[-3000:]
        raise RuntimeError(f"line {step.line}: RUN {step.value}: exit status {process.returncode}\n{output}")


def _simulate(step: Step) -> None:
    """Ask apt for the packages in these versions, if this machine runs the same Debian release as the image."""
    if "bookworm" not in Path("/etc/os-release").read_text(encoding="utf-8"):
        return
    packages = [word for word in step.value.split("&&")[1].split() if "=" in word]
    process = subprocess.run(
        ["apt-get", "--simulate", "install", *packages], capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise RuntimeError(f"line {step.line}: apt-get has not {' '.join(packages)}: {process.stderr.strip()}")


def _inside(built: Built, path: str, step: Step) -> Path:
    if not f"{path}/".startswith(f"{PLACE}/"):
        raise ValueError(f"line {step.line}: expected a path below {PLACE}, found {path}")
    return built.tree / path.strip("/")
