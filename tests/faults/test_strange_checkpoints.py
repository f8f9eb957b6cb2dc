"""Checkpoints and run folders by strangers: a load builds encoder and heads, runs no code and writes no file."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

import xsent
from tests.faults.inject import Pickled
from tests.helpers import toy_bert
from tests.reporting.test_model_card import CHECKED, EXPORTED, run_folder
from xsent.checkpoint import save_checkpoint
from xsent.cli.command_config import load_embedder
from xsent.models.encoders.disentangled import DisentanglingHeads
from xsent.reporting.model_card import about_run, model_card
from xsent.run import load_config, load_judge
from xsent.run.config import build
from xsent.run.config.compose import check_same_config
from xsent.run.config.registry import KINDS, LANGUAGE_MARKED
from xsent.run.errors import format_error

SENTENCE = "A dog sleeps."


# Subclasses, because transformers marks the classes that it loads.
OWN_CODE = """
from transformers import BertConfig, BertModel
open({marker!r}, "w").close()

class Settings(BertConfig):
    model_type = "own"

class Model(BertModel):
    config_class = Settings
"""


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    """A checkpoint of ``recipe=oracle`` on ``micro``."""
    options = ["recipe=oracle", "encoder=micro", "data=cldr", "run_dir=run"]
    encoder = xsent.load_encoder("micro")
    heads = {f"heads.{name}": value for name, value in DisentanglingHeads(256, []).state_dict().items()}
    state = {"config": load_config("train", options), "frozen_encoder": encoder.digest()}
    return {"state_dict": heads, "xsent": state}


@pytest.fixture
def checkpoint(honest: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(honest)


def saved(checkpoint: dict[str, Any], folder: Path) -> Path:
    save_checkpoint(checkpoint, folder / "run/checkpoints/best.ckpt")
    return folder / "run"


def own_code(folder: Path) -> Path:
    """A transformer with Python code of its own, which leaves the file ``marker`` beside it."""
    toy_bert(folder)
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Settings", "AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(settings))
    marker = folder.parent / "marker"
    (folder / "own.py").write_text(OWN_CODE.format(marker=str(marker)))
    return folder


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Path]:
    """A folder that no load may change, beside which no load may leave the file ``marker``."""
    folder = tmp_path / "canary/folder"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("all of it")
    yield folder
    assert [path.name for path in folder.parent.rglob("*")] == ["folder", "thesis.txt"]
    assert (folder / "thesis.txt").read_text() == "all of it"
    assert not (tmp_path / "marker").exists()


def transformer_config(folder: Path, **options: Any) -> dict[str, Any]:
    config = load_config("train", ["recipe=labse", "encoder=mbert", "data=cldr", "run_dir=run"])["encoder"]
    return {**config, "name": "own", "path": str(folder), "revision": None, "max_length": 32, **options}


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("trusts", [True, False])
def test_what_a_run_says_never_allows_code_of_its_own(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path, trusts: bool, marked: bool
) -> None:
    encoder = transformer_config(own_code(tmp_path / "own"), trust_remote_code=trusts)
    if marked:
        encoder = {"_target_": LANGUAGE_MARKED, "name": "marked", "base": encoder, "alpha": 0.5, "seed": 0}
    checkpoint["xsent"]["config"]["encoder"] = encoder
    checkpoint["xsent"]["config"]["trust_remote_code"] = trusts
    with pytest.raises(ValueError, match=r"encoder own needs Python code of its own .* allow it: trust_remote_code=tr"):
        xsent.load_encoder(saved(checkpoint, tmp_path))


def test_the_caller_may_allow_it(checkpoint: dict[str, Any], tmp_path: Path) -> None:
    checkpoint["xsent"]["config"]["encoder"] = transformer_config(own_code(tmp_path / "own"), trust_remote_code=False)
    with pytest.raises(ValueError, match="the heads were trained on an encoder with"):
        xsent.load_encoder(saved(checkpoint, tmp_path), trust_remote_code=True)
    assert (tmp_path / "marker").exists()


def test_a_function_that_empties_a_folder_is_no_encoder(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path
) -> None:
    path: dict[str, Any] = {"_target_": "xsent.models.model_files.model_folder", "name": "x", "path": str(tmp_path)}
    path |= {"revision": None, "trust_remote_code": None, "own_architecture": True}
    target = {"_target_": "xsent.data.stores.array_cache.cached_arrays", "cache_dir": path, "make": None}
    checkpoint["xsent"]["config"]["encoder"] = target | {"kind": "canary", "key": "folder"}
    with pytest.raises(ValueError, match=r"encoder\._target_: .*cached_arrays may not be built from a config here"):
        xsent.load_encoder(saved(checkpoint, tmp_path))


# ---- what a config names

TARGETS: list[Any] = [
    *("os.system", "subprocess.Popen", "builtins.eval", "builtins.exec", "pathlib.Path.write_text", "shutil.rmtree"),
    *(
        "urllib.request.urlretrieve",
        "importlib.import_module",
        "torch.load",
        "torch.hub.load",
        "hydra.utils.instantiate",
    ),
    *(
        "hydra.utils.call",
        "xsent.checkpoint.torch.load",
        "xsent.checkpoint.save_checkpoint",
        "xsent.files.atomic.write_text",
    ),
    *("xsent.reporting.metrics.write_text", "xsent.data.stores.array_cache.shutil.rmtree", "xsent.run.build"),
    *("xsent.run.loading.load_encoder", "xsent.models.model_files.model_folder", "xsent.callbacks.Checkpoints"),
    *("xsent.models.encoders.static.StaticEncoder.save", "xsent.models.encoders.static.StaticEncoder.load.__func__"),
    *("${oc.env:HOME}", "", " xsent.models.encoders.static.StaticEncoder.load", None, 5, ["os.system"]),
    {"_target_": "os.system"},
]
PLACES = [
    *("encoder", "encoder.name", "encoder.path", "recipe", "recipe.optimizer", "recipe.scheduler", "recipe.loss"),
    *("recipe.teacher", "recipe.mining", "recipe.hidden", "recipe.oracle.variant", "recipe.encoder"),
]
UNUSED = (
    "data",
    "data.reader",
    "evaluator",
    "trainer",
    "logger",
    "callbacks",
    "callbacks.x",
    "search",
    "study",
    "hydra",
)


def put(config: dict[str, Any], place: str, value: Any) -> None:
    *parents, key = place.split(".")
    for parent in parents:
        config = config[parent]
    config[key] = value


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("place", PLACES)
def test_a_target_that_is_not_registered_for_its_place_is_refused(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path, place: str, target: Any
) -> None:
    options = {"path": str(canary / "thesis.txt"), "text": "", "source": "micro", "args": [f"touch {tmp_path}/marker"]}
    put(checkpoint["xsent"]["config"], place, {"_target_": target, **options})
    run = saved(checkpoint, tmp_path)
    with pytest.raises(ValueError, match=r"best\.ckpt: its config cannot be used: ") as caught:
        xsent.load_encoder(run)
    assert f"{place}._target_: {target} may not be built from a config here" in str(caught.value)


@pytest.mark.parametrize("target", TARGETS[:7], ids=str)
@pytest.mark.parametrize("place", UNUSED)
def test_parts_that_only_training_needs_are_not_built(
    checkpoint: dict[str, Any], honest: dict[str, Any], tmp_path: Path, canary: Path, place: str, target: Any
) -> None:
    expected = xsent.load_encoder(saved(honest, tmp_path / "honest")).encode(SENTENCE)
    put(checkpoint["xsent"]["config"], place, {"_target_": target, "args": [f"touch {tmp_path}/marker"]})
    assert torch.equal(xsent.load_encoder(saved(checkpoint, tmp_path)).encode(SENTENCE), expected)


@pytest.mark.parametrize("part", ["optimizer", "loss", "teacher", "scheduler", "mining"])
def test_registered_parts_of_the_recipe_are_not_built(
    checkpoint: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    built: list[Any] = []
    construct = build._construct

    def recorded(node: Any) -> Any:
        built.append(node)
        return construct(node)

    monkeypatch.setattr(build, "_construct", recorded)
    kind = KINDS["recipe"].parts[part]
    checkpoint["xsent"]["config"]["recipe"][part] = {"_target_": KINDS[kind].targets[0], "_partial_": True}
    xsent.load_encoder(saved(checkpoint, tmp_path))
    targets = [node["_target_"] for node in built if isinstance(node, dict)]
    assert targets == ["xsent.models.encoders.static.StaticEncoder.load"]


@pytest.mark.parametrize("key", ["_args_", "_recursive_", "_convert_", "_partial_", "_mode_", "__class__"])
@pytest.mark.parametrize("place", ["encoder", "recipe", "recipe.optimizer"])
def test_other_keys_of_hydra_are_refused(checkpoint: dict[str, Any], tmp_path: Path, place: str, key: str) -> None:
    put(checkpoint["xsent"]["config"], f"{place}.{key}", ["micro"])
    with pytest.raises(ValueError, match=rf"its config cannot be used: {place}\.{key}[:=]"):
        xsent.load_encoder(saved(checkpoint, tmp_path))


@pytest.mark.parametrize(
    "text", ["${oc.env:HOME}", "${run_dir}", "${oc.decode:1}", "${hydra:runtime.cwd}", "${xsent.x:1}"]
)
def test_nothing_is_interpolated(checkpoint: dict[str, Any], tmp_path: Path, text: str) -> None:
    checkpoint["xsent"]["config"]["encoder"]["name"] = text
    with pytest.raises(ValueError, match=re.escape(f"encoder.name={text}: expected one of micro, mini")):
        xsent.load_encoder(saved(checkpoint, tmp_path))


def nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {}
    for _ in range(depth):
        node = {"x": node}
    return node


UNUSABLE = r"its config cannot be used: "
OPTIONS = [
    *(("encoder", value, UNUSABLE + "encoder: expected a _target_") for value in (None, "micro", [], nested(100))),
    ("encoder", {}, UNUSABLE + "encoder: expected a _target_"),
    ("encoder.name", 5, UNUSABLE + "encoder.name=5: expected a string"),
    ("encoder.name", None, UNUSABLE + "encoder.name: expected a value"),
    ("encoder.name", "../mini", r"encoder\.name=\.\./mini: expected one of micro, mini"),
    ("encoder.path", ["x"], UNUSABLE + "encoder.path="),
    ("encoder.path", "nowhere", "expected a static encoder"),
    ("encoder.path", "/dev/null", "expected a static encoder"),
    ("encoder.path", "/etc", "expected a static encoder"),
    ("encoder.trust_remote_code", True, UNUSABLE + "encoder.trust_remote_code: .* has no option"),
    ("encoder.device", "cuda", UNUSABLE + "encoder.device: .* has no option"),
    *(("recipe", value, UNUSABLE + "recipe: expected a _target_") for value in (None, "oracle")),
    ("recipe", {}, UNUSABLE + "recipe: expected a _target_"),
    ("recipe.hidden", 5, UNUSABLE + "recipe.hidden=5: expected a list"),
    ("recipe.hidden", [10**9], "do not fit"),
    ("recipe.hidden", [10**18], "do not fit"),
    ("recipe.hidden", [-1], "do not fit"),
    ("recipe.hidden", [0], "do not fit"),
    ("recipe.hidden", ["x"], UNUSABLE),
    ("recipe.hidden", [4] * 500, "do not fit"),
    ("recipe._target_", "xsent.recipes.labse.LabseRecipe", "do not fit"),
    ("recipe._target_", "xsent.recipes.divergence.DivergenceRecipe", "do not fit"),
    ("recipe._target_", "xsent.recipes.rolaser.RolaserRecipe", "do not fit"),
    ("final", "../../canary/folder/thesis.txt", UNUSABLE + "final=.* expected one of best, last"),
    ("final", None, UNUSABLE + "final=None: expected one of"),
    ("final", ["best"], UNUSABLE + "final="),
    ("final", "last", "no such checkpoint"),
]


@pytest.mark.parametrize(
    ("place", "value", "message"), OPTIONS, ids=[f"{number}-{row[0]}" for number, row in enumerate(OPTIONS)]
)
def test_an_option_that_does_not_fit_is_named(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path, place: str, value: Any, message: str
) -> None:
    put(checkpoint["xsent"]["config"], place, value)
    with pytest.raises((ValueError, FileNotFoundError), match=message) as caught:
        xsent.load_encoder(saved(checkpoint, tmp_path))
    assert "\n" not in format_error(caught.value)


WEIGHT = "heads.meaning.weight"


def other_weights(state: dict[str, Any]) -> list[tuple[str, Any]]:
    value = state[WEIGHT]
    return [
        ("no weights", {}),
        ("one missing", {name: tensor for name, tensor in state.items() if name != WEIGHT}),
        ("one more", state | {"heads.other": value}),
        ("transposed shape", state | {WEIGHT: value[:, :-1]}),
        ("a number", state | {WEIGHT: torch.tensor(1.0)}),
        ("a string", state | {WEIGHT: "x"}),
        ("none", state | {WEIGHT: None}),
        ("a list", [value]),
        ("null", None),
        ("no tensors", dict.fromkeys(state, 5)),
    ]


@pytest.mark.parametrize("number", range(10))
def test_weights_that_do_not_fit_are_refused(checkpoint: dict[str, Any], tmp_path: Path, number: int) -> None:
    checkpoint["state_dict"] = other_weights(checkpoint["state_dict"])[number][1]
    with pytest.raises(
        ValueError, match=r"best\.ckpt: its recipe or weights do not fit this version of xsent"
    ) as caught:
        xsent.load_encoder(saved(checkpoint, tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool])
def test_weights_of_any_type_give_float32_vectors(
    checkpoint: dict[str, Any], tmp_path: Path, dtype: torch.dtype
) -> None:
    checkpoint["state_dict"] = {name: value.to(dtype) for name, value in checkpoint["state_dict"].items()}
    vector = xsent.load_encoder(saved(checkpoint, tmp_path)).encode(SENTENCE)
    assert vector.dtype == torch.float32


STATES: list[Any] = [
    *({}, [], None, 5, "x", {"xsent": None}, {"xsent": {}}, {"xsent": {"config": None}}, {"xsent": {"config": []}}),
    *({"xsent": {"config": {}}}, {"xsent": {"config": {"encoder": {}, "recipe": {}}}}, torch.zeros(3), {"xsent": "x"}),
]


@pytest.mark.parametrize("content", STATES, ids=lambda content: str(content)[:50])
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_file_that_is_no_checkpoint_is_named(tmp_path: Path, content: Any, is_folder: bool) -> None:
    run = saved(content, tmp_path)
    with pytest.raises(ValueError, match=r"best\.ckpt: its config cannot be used: "):
        xsent.load_encoder(run if is_folder else run / "checkpoints/best.ckpt")


@pytest.mark.parametrize("place", ["xsent", "state_dict", "xsent.config", "xsent.config.encoder", "callbacks", "loops"])
def test_pickled_code_is_not_run(checkpoint: dict[str, Any], tmp_path: Path, canary: Path, place: str) -> None:
    put(checkpoint, place, Pickled(tmp_path / "marker"))
    with pytest.raises(ValueError, match="not a readable checkpoint of tensors and plain values"):
        xsent.load_encoder(saved(checkpoint, tmp_path))


CALLS: dict[str, Callable[[Path], object]] = {
    "load_encoder": xsent.load_encoder,
    "load_judge": load_judge,
    "evaluate": lambda run: xsent.evaluate(run, "stsb", root=run),
    "score": lambda run: xsent.score([("a", "b")], encoder=run),
    "mine": lambda run: xsent.mine(["a"], ["b"], encoder=run),
    "job": lambda run: load_embedder(load_config("mine", [], encoder=str(run))),
}


@pytest.mark.parametrize("allows", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_every_way_to_load_a_run_takes_trust_from_its_caller(
    checkpoint: dict[str, Any], tmp_path: Path, canary: Path, name: str, allows: bool
) -> None:
    target = {"_target_": "os.system", "command": f"touch {tmp_path}/marker"}
    own = transformer_config(own_code(tmp_path / "own"), trust_remote_code=True)
    checkpoint["xsent"]["config"]["encoder"] = own if allows else target
    message = "needs Python code of its own" if allows else r"encoder\._target_: os\.system may not be built"
    with pytest.raises(ValueError, match=message):
        CALLS[name](saved(checkpoint, tmp_path))


def test_a_resumed_run_asks_for_trust_again(checkpoint: dict[str, Any], tmp_path: Path) -> None:
    config = checkpoint["xsent"]["config"]
    before = {**config, "encoder": transformer_config(tmp_path, trust_remote_code=True)}
    now = {**config, "encoder": transformer_config(tmp_path, trust_remote_code=False)}
    check_same_config(before, now)  # neither refuses nor changes what the command says
    assert now["encoder"]["trust_remote_code"] is False


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("mine", []),
        ("mine", ["trust_remote_code=true"]),
        ("encode", ["trust_remote_code=true"]),
        ("filter", ["trust_remote_code=true"]),
        ("mteb", ["trust_remote_code=true"]),
        ("export", ["trust_remote_code=true"]),
        ("diverge", ["trust_remote_code=true"]),
        ("diverge", []),
    ],
)
def test_a_command_allows_it_by_one_option(command: str, allowed: list[str]) -> None:
    assert load_config(command, allowed, encoder="run")["encoder"]["trust_remote_code"] is bool(allowed)
    hub = load_config(command, [*allowed, "encoder=minilm"])["encoder"]
    assert hub["trust_remote_code"] is bool(allowed)


STRANGE_TEXTS = [
    *(
        "x\n---\nlicense: mit\n",
        "!!python/object/apply:os.system ['id']",
        "| a | b |\n| - | - |",
        "a: b",
        "'",
        '"',
        "{{ 7 * 7 }}",
    ),
    *(
        "{% include '/etc/passwd' %}",
        "*a",
        "&a",
        "[x](javascript:alert(1))",
        "\u202e",
        "# x\n",
        "`",
        "-",
        "x\r\ny",
        "@x",
    ),
]


@pytest.mark.parametrize("text", STRANGE_TEXTS)
def test_strange_text_changes_no_field_of_a_card(tmp_path: Path, text: str) -> None:
    honest = model_card(EXPORTED, about_run(run_folder(tmp_path / "honest")), CHECKED)
    card = model_card(EXPORTED, about_run(run_folder(tmp_path, name=text)), CHECKED)
    before, fields, *_ = re.split(r"^---\n", card, flags=re.MULTILINE)
    assert before == ""
    expected = yaml.safe_load(re.split(r"^---\n", honest, flags=re.MULTILINE)[1])
    front = yaml.safe_load(fields)
    assert front.keys() - {"base_model"} == expected.keys() - {"base_model"}
    assert front["license"] == expected["license"]
    assert "{" not in text or text in card  # the template does not read it
