"""Configs, overrides and YAML files by strangers: only what is registered for its place is built, no tag runs code."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from omegaconf import OmegaConf

import xsent
from tests.helpers import ROOT
from xsent.config_checks import UsageError
from xsent.reporting.pages.run_report import write_report
from xsent.run import build, load_config
from xsent.run.config import registry
from xsent.run.config.compose import plain
from xsent.run.config.registry import KINDS, check_targets
from xsent.run.errors import format_error
from xsent.run.main import run_command
from xsent.run.start import read_command, read_record

REGISTERED = {target for kind in KINDS.values() for target in kind.targets}
BUILT = sorted(kind for kind, known in KINDS.items() if known.targets)  # kinds that have objects


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A file that nothing may change, beside which nothing may leave the file ``marker``."""
    file = tmp_path / "canary" / "thesis.txt"
    file.parent.mkdir()
    file.write_text("all of it")
    yield file
    assert file.read_text() == "all of it"
    assert not (tmp_path / "marker").exists()


# ---- every name that a config could write


def names_of(module: ModuleType) -> Iterator[str]:
    """Dotted names below a module: its attributes, those of its classes, and those of modules that it imports."""
    for name, value in vars(module).items():
        yield f"{module.__name__}.{name}"
        if inspect.isclass(value) or (inspect.ismodule(value) and not value.__name__.startswith("xsent")):
            yield from (f"{module.__name__}.{name}.{attribute}" for attribute in dir(value))


MODULES = sorted(
    module.name for module in pkgutil.walk_packages(xsent.__path__, "xsent.") if not module.name.endswith("__main__")
)


def is_refused(target: str, kind: str) -> bool:
    try:
        check_targets({"_target_": target}, kind)
    except UsageError as error:
        return "may not be built from a config here" in str(error)
    return False


@pytest.mark.parametrize("package", sorted({name.split(".")[1] for name in MODULES}))
def test_no_other_name_of_the_package_is_built(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some 390,000 names over all packages, each at two places; counted as one injection for each package.
    monkeypatch.setattr(registry, "suggestion", lambda name, choices: "")  # takes most of the time
    modules = [importlib.import_module(name) for name in MODULES if name.split(".")[1] == package]
    names = sorted({name for module in modules for name in names_of(module)} - REGISTERED)
    built = [
        (name, kind)
        for number, name in enumerate(names)
        for kind in ("encoder", BUILT[number % len(BUILT)])
        if not is_refused(name, kind)
    ]
    assert names
    assert built == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_registered_for_another_place_is_refused(kind: str) -> None:
    others = sorted(REGISTERED - set(KINDS[kind].targets))
    assert [target for target in others if not is_refused(target, kind)] == []


# ---- overrides and config files

TARGETS = ["os.system", "xsent.files.atomic.write_text", "torch.load", "xsent.models.encoders.tiny.TinyEncoder.save"]
RUN = ["recipe=rolaser", "data=ugc", "data.root=FOLDER", "run_dir=run", "callbacks=default", "evaluator=ugc_heldout"]
PLACES = [
    *("encoder", "recipe", "recipe.optimizer", "recipe.loss", "recipe.teacher", "recipe.scheduler", "recipe.weights"),
    *("data", "data.reader", "data.noise", "data.root", "evaluator", "evaluator.read", "evaluator.teacher", "trainer"),
    *("trainer.plugins", "logger", "callbacks.checkpoints", "callbacks.new", "pictures", "name", "study", "expected"),
]


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    return load_config("train", RUN)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place", PLACES)
def test_a_config_with_a_strange_target_is_refused_before_anything_is_built(
    composed: dict[str, Any], tmp_path: Path, canary: Path, place: str, target: str
) -> None:
    cfg = OmegaConf.create(composed)
    node = {"_target_": target, "command": f"touch {tmp_path}/marker", "path": str(canary), "text": ""}
    OmegaConf.update(cfg, place, node, merge=False, force_add=True)
    with pytest.raises(UsageError) as caught:
        plain(cfg)
    assert str(caught.value).startswith(f"{place}._target_: {target} may not be built from a config here")


STRANGE = "may not be built from a config here"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("recipe.loss._target_=os.system", f"recipe.loss._target_: os.system {STRANGE}"),
        (
            "encoder._target_=xsent.files.atomic.write_text",
            f"encoder._target_: xsent.files.atomic.write_text {STRANGE}",
        ),
        ("+encoder.x={_target_: os.system}", f"encoder.x._target_: os.system {STRANGE}"),
        ("++recipe.optimizer={_target_: os.system, command: id}", f"recipe.optimizer._target_: os.system {STRANGE}"),
        ("+callbacks.x={_target_: subprocess.Popen, args: id}", f"callbacks.x._target_: subprocess.Popen {STRANGE}"),
        ("logger={_target_: builtins.eval}", f"logger._target_: builtins.eval {STRANGE}"),
        ("trainer._target_=xsent.run.train", f"trainer._target_: xsent.run.train {STRANGE}"),
        ("+recipe.optimizer._args_=[1]", "recipe.optimizer._args_: not read"),
        ("+recipe.optimizer._recursive_=false", "recipe.optimizer._recursive_: not read"),
        ("+encoder._convert_=none", "encoder._convert_: not read"),
        ("+recipe.optimizer._mode_=x", "recipe.optimizer._mode_: not read"),
        ("recipe.optimizer._partial_=maybe", "recipe.optimizer._partial_=maybe: expected true or false"),
        ("+search={_target_: os.system}", f"search._target_: os.system {STRANGE}"),
        ("+pictures.x={_target_: os.system}", f"pictures.x._target_: os.system {STRANGE}"),
        ("++expected={x: {_target_: os.system}}", f"expected.x._target_: os.system {STRANGE}"),
        ("published=[{_target_: os.system}]", f"published[0]._target_: os.system {STRANGE}"),
        ("trust_remote_code=maybe", "trust_remote_code=maybe: expected true or false"),
        ("trust_remote_code=1", "trust_remote_code=1: expected true or false"),
    ],
)
def test_an_override_with_a_strange_target_or_key_ends_with_status_2(
    override: str, message: str, tmp_path: Path, canary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = ["recipe=labse", "encoder=tiny", "data=cldr", "evaluator=none", f"runs_dir={tmp_path}/runs", override]
    assert run_command("train", arguments, lambda command: plain(command.cfg)) == 2
    (error,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert error.startswith(message)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "override",
    [
        "+hydra.callbacks.x={_target_: os.system, command: id}",
        "hydra.callbacks.grid._target_=os.system",
        "hydra.launcher._target_=subprocess.Popen",
        "hydra.sweeper._target_=builtins.eval",
        "hydra.sweeper._target_=xsent.sweeps.grid.GridReport",
        "+hydra.job_logging.handlers={x: {class: os.system}}",
        "+hydra.job_logging.formatters={x: {class: os.system}}",
        "+hydra.hydra_logging.handlers={x: {class: os.system}}",
        "hydra/job_logging=default",
    ],
)
@pytest.mark.parametrize("is_grid", [True, False])
def test_hydra_itself_builds_nothing_else_either(
    override: str, is_grid: bool, tmp_path: Path, canary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = ["recipe=labse", "encoder=tiny", "data=cldr", "evaluator=none", f"runs_dir={tmp_path}/runs", override]
    status = run_command("train", [*arguments, *(["-m", "seed=1,2"] if is_grid else [])], lambda command: None)
    (message,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert status == 2
    assert message.startswith("hydra.")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("text", ["${oc.env:HOME}", "${seed}", "${hydra:runtime.cwd}", "${oc.decode:1}"])
def test_values_are_not_interpolated_when_an_object_is_built(text: str) -> None:
    config = load_config("train", ["recipe=labse", "encoder=tiny", "data=cldr", "run_dir=run"])["encoder"]
    assert build({**config, "name": text}, "encoder").name == text


# ---- YAML

TAGS = [
    "!!python/object/apply:os.system ['touch {marker}']",
    "!!python/object/apply:subprocess.Popen [['touch', '{marker}']]",
    "!!python/object/new:os.system ['touch {marker}']",
    "!!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.PosixPath ['{marker}']]",
    "!!python/object:xsent.run.config.registry.Kind {{}}",
    "!!python/name:os.system ''",
    "!!python/module:os ''",
    '!!python/object/apply:builtins.eval [\'open("{marker}", "w")\']',
    "!!python/tuple [1, 2]",
    "!!python/bytes 'x'",
    "!unknown x",
    "!!binary [",
    "!include /etc/passwd",
    "&a [*a, *b]",
]


def as_config_file(folder: Path, text: str) -> None:
    (folder / "experiment").mkdir()
    (folder / "experiment/strange.yaml").write_text(f"# @package _global_\nname: {text}\n")
    options = ["recipe=labse", "encoder=tiny", "data=cldr", f"runs_dir={folder}/runs", "experiment=strange"]
    read_command("train", [*options, f"hydra.searchpath=[file://{folder}]"])


def as_command(folder: Path, text: str) -> None:
    (folder / "command.yaml").write_text(f"choices: {{recipe: labse}}\noverrides: [{text}]\n")
    read_record(folder)


def as_report(folder: Path, text: str) -> None:
    (folder / "metrics.json").write_text(json.dumps({"metrics": {"test/x/original/mean/accuracy": 1.0}}))
    (folder / "config.yaml").write_text(f"recipe: {{_target_: a.Recipe}}\nencoder: {{name: {text}}}\n")
    write_report(folder)


@pytest.mark.parametrize("read", [as_config_file, as_command, as_report])
@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_in_yaml_runs_nothing_and_names_the_file(
    tmp_path: Path, canary: Path, tag: str, read: Callable[[Path, str], None]
) -> None:
    folder = tmp_path / "strange"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"strange/(experiment/strange|command|config)\.yaml") as caught:
        read(folder, tag.format(marker=tmp_path / "marker"))
    assert "\n" not in format_error(caught.value)
    assert not (folder / "report.html").exists()
    assert not (folder / "runs").exists()


def test_the_files_of_the_package_have_no_tags() -> None:
    assert [path for path in (ROOT / "conf").rglob("*.yaml") if "!!" in path.read_text(encoding="utf-8")] == []
