"""Folders of models by strangers, or damaged: no code runs, nothing is written, the error names the folder."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers

import xsent
from tests.faults.inject import Pickled, contents
from tests.helpers import toy_bert
from tests.models.encoders.characters.test_character_bert import CONFIG, FILTERS, published_weights, write
from tests.models.small import load_encoder as load_transformer
from xsent.models.encoders.characters import character_cnn
from xsent.models.encoders.characters.static_characters import StaticCharacterEncoder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.export.pipeline import build_pipeline, write_pipeline
from xsent.models.masked_lm import MaskedLM
from xsent.run.errors import format_error

Change = Callable[[Path], object]
MARKER = "marker"
TEXTS = ["a b", "ea ek dl"]
CODE = "import pathlib\npathlib.Path({marker!r}).touch()\nraise SystemExit\n"


def word_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture(scope="module")
def originals(_small_network: None, tmp_path_factory: pytest.TempPathFactory, fixtures_dir: Path) -> Path:
    """One small folder of each format."""
    root = tmp_path_factory.mktemp("models")
    toy_bert(root / "transformers")
    (root / "sentence_transformers").mkdir()
    bert = load_transformer(root / "transformers", pooling="mean", normalize=True, projection=4)
    write_pipeline(build_pipeline(bert, space="original"), root / "sentence_transformers")
    weights = published_weights(FILTERS)
    (positions,) = (name for name in weights if "position_embeddings" in name)
    weights[positions] = torch.zeros(512, 16)
    write(root / "character_bert", weights, CONFIG | {"max_position_embeddings": 512})
    StaticCharacterEncoder(name="c", dim=4, sizes=[3], buckets=50, max_length=64, std=1.0, seed=1).save(
        root / "characters"
    )
    static = StaticEncoder(name="s", dim=4, vocab_size=3, coverage=1.0, lowercase=True, max_length=8, std=1.0, seed=1)
    static._set_tokenizer(word_tokenizer())
    static.save(root / "static")
    (root / "tokens").mkdir()
    word_tokenizer().save(str(root / "tokens/tokenizer.json"))
    save_file({"embedding.weight": torch.eye(3)}, root / "tokens/model.safetensors")
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (root / "tokens/modules.json").write_text(json.dumps([module]))
    (root / "laser").mkdir()
    for ending in ("pt", "spm"):
        shutil.copy(fixtures_dir / f"laser2/laser2_tiny.{ending}", root / f"laser/laser2.{ending}")
    return root


# ---- changes of a folder


def edit(file: str, change: Callable[[Any], Any]) -> Change:
    """Change the content of a JSON file."""

    def apply(folder: Path) -> None:
        content = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(change(content)))

    return apply


def put(file: str, **values: Any) -> Change:
    return edit(file, lambda content: content | values)


def drop(file: str, *keys: str) -> Change:
    return edit(file, lambda content: {key: value for key, value in content.items() if key not in keys})


def text(file: str, content: str) -> Change:
    return lambda folder: (folder / file).write_text(content)


def missing(file: str) -> Change:
    return lambda folder: (folder / file).unlink()


def weights(file: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Change:
    def apply(folder: Path) -> None:
        path = folder / file
        if path.suffix == ".safetensors":
            save_file({name: value.contiguous() for name, value in change(load_file(path)).items()}, path)
        else:
            torch.save(change(torch.load(path, weights_only=True)), path)

    return apply


def largest_tensor(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Change the largest tensor of a file."""

    def apply(stored: dict[str, Any]) -> dict[str, Any]:
        tensors = stored.get("model", stored)
        name = max(tensors, key=lambda name: tensors[name].numel())
        changed = tensors | {name: change(tensors[name])}
        return stored | {"model": changed} if "model" in stored else changed

    return apply


def pickle(file: str, beside: str | None = None) -> Change:
    """Replace a weights file by a pickle that runs code."""

    def apply(folder: Path) -> None:
        if beside is not None:
            (folder / beside).unlink()
        torch.save({"x": Pickled(folder.parent / MARKER)}, folder / file)

    return apply


def own_code(*, model_type: str = "own", file: str = "config.json", **auto_map: Any) -> Change:
    def apply(folder: Path) -> None:
        for name in ("own.py", "modeling.py", "__init__.py", "configuration.py"):
            (folder / name).write_text(CODE.format(marker=str(folder.parent / MARKER)))
        put(file, model_type=model_type, auto_map=auto_map or {"AutoModel": "own.Model", "AutoConfig": "own.C"})(folder)

    return apply


def module(index: int, **values: Any) -> Change:
    def change(modules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        modules[index] |= values
        return modules

    return edit("modules.json", change)


def nested(folder: Path) -> None:
    """Move the transformer into a folder of a folder, with a kernel of the hub in its config."""
    inner = folder / "a" / "b"
    shutil.copytree(folder, inner, ignore=shutil.ignore_patterns("modules.json"))
    put("config.json", attn_implementation="kernels-community/x")(inner)
    module(0, path="a/b")(folder)


def without(index: int, key: str) -> Change:
    def change(modules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        del modules[index][key]
        return modules

    return edit("modules.json", change)


def link(file: str, target: str) -> Change:
    def apply(folder: Path) -> None:
        (folder / file).unlink()
        (folder / file).symlink_to(target.format(here=folder))

    return apply


JSON_FILES = {
    "transformers": ["config.json", "tokenizer.json", "tokenizer_config.json"],
    "sentence_transformers": [
        *("config.json", "modules.json", "tokenizer.json", "1_Pooling/config.json", "2_Dense/config.json")
    ],
    "character_bert": ["config.json"],
    "characters": ["config.json"],
    "static": ["config.json", "tokenizer.json"],
    "tokens": ["modules.json", "tokenizer.json"],
}
WEIGHTS = {
    "transformers": "model.safetensors",
    "sentence_transformers": "model.safetensors",
    "character_bert": "pytorch_model.bin",
    "characters": "vectors.safetensors",
    "static": "vectors.safetensors",
    "tokens": "model.safetensors",
    "laser": "laser2.pt",
}
BROKEN_JSON = {
    "empty": "",
    "cut": '{"a": ',
    "a list": "[]",
    "a number": "3",
    "null": "null",
    "a string": '"x"',
    "too deep": "[" * 50_000 + "]" * 50_000,
    "a long number": '{"model_type": "bert", "dim": ' + "9" * 5_000 + "}",
    "bytes": "\x00\x01",
    "a list of null": "[null]",
}
OTHER_SHAPES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "one row less": lambda value: value[:-1].contiguous(),
    "no rows": lambda value: value[:0].contiguous(),
    "a number": lambda value: value.flatten()[0].clone(),
    "three dimensions": lambda value: value[None].contiguous(),
}
HUGE_OR_WRONG = {
    "hidden_size": 10**9,
    "num_hidden_layers": 10**9,
    "vocab_size": 10**12,
    "num_attention_heads": 0,
    "max_position_embeddings": 10**12,
    "intermediate_size": -1,
    "hidden_act": "os.system",
    "quantization_config": {"quant_method": "gptq"},
    "model_type": "../x",
}
PATHS = ("../../x", "..", "/etc", "a/../../b", "/", "~/x", "\x00", 5, None, ["x"], {"a": 1}, "x" * 5_000, "nowhere")
TYPES = (
    *("own.Model", "os.system", "builtins.eval", "", 5, None),
    *(f"sentence_transformers.models.{name}" for name in ("CLIPModel", "os.system", "WordEmbeddings", "BoW", "Router")),
)
OWN = "needs Python code of its own"


def rows() -> Iterator[tuple[str, str, Change, str]]:
    """Label, format of the folder, change, and a pattern of the message after the folder."""
    for kind, files in JSON_FILES.items():
        for file in files:
            for name, content in BROKEN_JSON.items():
                yield f"{file} is {name}", kind, text(file, content), ""
            if (kind, file) not in REPLACEABLE:
                yield f"no {file}", kind, missing(file), ""
    for kind, file in WEIGHTS.items():
        yield f"no {file}", kind, missing(file), ""
        yield f"{file} is text", kind, text(file, "x" * 100), ""
        yield f"{file} is empty", kind, text(file, ""), ""
        yield f"{file} without tensors", kind, weights(file, lambda stored: {}), ""
        for name, reshape in OTHER_SHAPES.items():
            yield f"the largest tensor is {name}", kind, weights(file, largest_tensor(reshape)), ""
        for target in ("/dev/null", "{here}", "nowhere", "/dev/zero"):
            yield f"{file} is a link to {target}", kind, link(file, target), ""
    for kind in ("transformers", "sentence_transformers"):
        for number, code in enumerate(OWN_CODE):
            yield f"code of its own {number}", kind, code, OWN
        for key in ("attn_implementation", "_attn_implementation", "experts_implementation"):
            yield f"{key} of the hub", kind, put("config.json", **{key: "kernels-community/x"}), f"{OWN} .kernels"
        yield "a pickle", kind, pickle("pytorch_model.bin", "model.safetensors"), "more than tensors and plain values"
        for key, value in HUGE_OR_WRONG.items():
            yield f"{key}={value}", kind, put("config.json", **{key: value}), ""
    yield "a nested module", "sentence_transformers", nested, "/modules.json: a/b: expected a folder directly in"
    for index in range(3):
        for path in PATHS:
            pattern = r"/modules.json: .* is outside the model's folder" if path in PATHS[:5] else ""
            yield f"path {index} is {str(path)[:20]!r}", "sentence_transformers", module(index, path=path), pattern
        for class_name in TYPES:
            label = f"type {index} is {class_name!r}"
            yield label, "sentence_transformers", module(index, type=class_name), "/modules.json: "
        for key in ("path", "type"):
            yield (
                f"module {index} has no {key}",
                "sentence_transformers",
                without(index, key),
                "/modules.json: expected a",
            )
    for path in ("../static", "/etc", "nowhere", 7):
        yield f"path is {path!r}", "tokens", module(0, path=path), ""
    for kind in ("characters", "static"):
        for value in (10**12, -1, 0, "4", None, 4.5, [4], True):
            yield f"dim={value!r}", kind, put("config.json", dim=value), ""
            if value not in (10**12, True):
                yield f"max_length={value!r}", kind, put("config.json", max_length=value), ".*expected"
        yield "no dim", kind, drop("config.json", "dim"), ""
    for value in (10**12, -1, 0, "4", None):
        yield f"buckets={value!r}", "characters", put("config.json", buckets=value), ""
        yield f"sizes=[{value!r}]", "characters", put("config.json", sizes=[value]), ".*expected sizes of n-grams"
    for key in ("num_embeddings", "embed_dim", "hidden_size", "num_layers"):
        for value in (10**12, -1, 0, "x", None):
            yield f"{key}={value!r}", "laser", weights("laser2.pt", with_params({key: value})), ""
    for key, value in {"dictionary": [1], "params": None, "model": None}.items():
        yield f"{key}={value!r}", "laser", weights("laser2.pt", with_values({key: value})), ""
    yield "laser2.pt is a list", "laser", weights("laser2.pt", lambda stored: [1]), ""  # type: ignore[arg-type, return-value]
    yield "laser2.spm is text", "laser", text("laser2.spm", "x"), ""
    yield "a pickle", "laser", pickle("laser2.pt"), "more than tensors and plain values"
    for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings"):
        for value in (10**9, -1, 0, "x", None):
            yield f"{key}={value!r}", "character_bert", put("config.json", **{key: value}), f"/config.json: {key} ?[i=]"
    yield "a pickle", "character_bert", pickle("pytorch_model.bin"), "more than tensors and plain values"


# Files that a folder may lack: the rest of it says the same, or it is a folder of another format.
REPLACEABLE = {
    ("transformers", "tokenizer.json"),
    ("transformers", "tokenizer_config.json"),
    ("sentence_transformers", "modules.json"),
}
OWN_CODE = (
    own_code(),
    own_code(AutoModel="other/repo--own.Model"),
    own_code(AutoTokenizer=["own.T", None]),
    own_code(AutoModel=["own.Model"]),
    own_code(model_type="x/../y"),
    put("config.json", model_type=["bert"], auto_map=["own.Model"]),
)


def with_values(values: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda stored: stored | values


def with_params(values: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda stored: stored | {"params": stored["params"] | values}


@pytest.fixture(scope="module", autouse=True)
def _small_network() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(character_cnn, "FILTERS", FILTERS)
        yield


@pytest.fixture
def folder_of(originals: Path, tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A copy of the folder of a format; nothing else may appear or change beside it."""
    (tmp_path / "thesis.txt").write_text("all of it")
    copies: list[str] = []

    def copy(kind: str) -> Path:
        copies.append(kind)
        return Path(shutil.copytree(originals / kind, tmp_path / kind, symlinks=True))

    yield copy
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*copies, "thesis.txt"])  # no MARKER
    assert (tmp_path / "thesis.txt").read_text() == "all of it"


@pytest.mark.parametrize(
    ("kind", "change", "pattern"),
    [pytest.param(kind, change, pattern, id=f"{kind}: {label}") for label, kind, change, pattern in rows()],
)
def test_a_folder_that_is_no_model_is_refused_in_one_line_that_names_it(
    folder_of: Callable[[str], Path], kind: str, change: Change, pattern: str
) -> None:
    folder = folder_of(kind)
    change(folder)
    before = contents(folder)
    with pytest.raises((ValueError, OSError)) as caught:
        xsent.load_encoder(folder)
    message = format_error(caught.value).replace(repr(str(folder)), str(folder))
    assert re.search(re.escape(str(folder)) + ".*" + pattern, message), message
    assert "weights_only" not in message
    assert "\n" not in message
    assert contents(folder) == before


@pytest.mark.parametrize(
    "change",
    [
        own_code(model_type="bert"),  # an architecture of transformers, which needs no such code
        own_code(model_type="bert", file="tokenizer_config.json", AutoTokenizer=["own.T", "own.T"]),
        put("config.json", architectures=["os.system"]),
        put("config.json", trust_remote_code=True),
        put("tokenizer_config.json", trust_remote_code=True),
        text("own.py", "raise SystemExit"),
        text("__init__.py", "raise SystemExit"),
        text("conftest.py", "raise SystemExit"),
        text("sitecustomize.py", "raise SystemExit"),
        text("requirements.txt", "malware"),
    ],
)
@pytest.mark.parametrize("kind", ["transformers", "sentence_transformers"])
def test_code_that_a_known_model_does_not_need_is_not_run(
    folder_of: Callable[[str], Path], originals: Path, kind: str, change: Change
) -> None:
    folder = folder_of(kind)
    change(folder)
    expected = xsent.load_encoder(originals / kind).encode(TEXTS)
    assert torch.equal(xsent.load_encoder(folder).encode(TEXTS), expected)


@pytest.mark.parametrize("kind", [kind for kind in WEIGHTS if kind not in ("characters", "static")])
def test_weights_that_are_not_finite_give_no_vectors(folder_of: Callable[[str], Path], kind: str) -> None:
    folder = folder_of(kind)
    weights(WEIGHTS[kind], largest_tensor(lambda value: torch.full_like(value, float("nan"))))(folder)
    with pytest.raises(FloatingPointError, match=rf"^{kind}: the vector of row \d+ .* is not finite"):
        xsent.load_encoder(folder).encode(TEXTS)


def test_a_model_of_too_many_layers_is_not_built_where_it_is_no_encoder(folder_of: Callable[[str], Path]) -> None:
    folder = folder_of("transformers")
    put("config.json", num_hidden_layers=10**9)(folder)
    with pytest.raises(ValueError, match=r"config\.json: num_hidden_layers is 1000000000, expected at most 1,000"):
        MaskedLM.load(name="x", path=str(folder), revision=None, top=1, max_length=8)


@pytest.mark.parametrize("kind", WEIGHTS)
def test_the_undamaged_folder_loads(folder_of: Callable[[str], Path], kind: str) -> None:
    assert xsent.load_encoder(folder_of(kind)).encode(TEXTS).isfinite().all()
