"""Secrets given as options, in the environment and in messages: no file that a command leaves holds them."""

import base64
import gzip
import io
import logging
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.helpers import tiny_static, toy_bitext, toy_overrides
from xsent.cli.main import main
from xsent.run.config.compose import check_same_config
from xsent.run.start import log_to_screen, read_command, started

# By the form of the option: the option and the value that must not be found. Numbers and words occur nowhere else.
PLANTED = {
    "top level": ("+recipe_token=plantedtop", "plantedtop"),
    "nested key": ("+hub.password=plantednested", "plantednested"),
    "deeper key": ("+hub.proxy.settings.client_secret=planteddeep", "planteddeep"),
    "quoted value": ("+hub.passwd='planted, quoted=x'", "planted, quoted=x"),
    "number": ("+hub.access_key=91827364509", "91827364509"),
    "camel case": ("+hub.apiKey=plantedcamel", "plantedcamel"),
    "dash": ("+hub.api-key=planteddash", "planteddash"),
    "map in a list": ("+hub.accounts=[{user: ann, token: plantedlist}]", "plantedlist"),
    "list": ("+hub.secrets=[plantedfirst,plantedsecond]", "plantedsecond"),
    "map": ("+hub.credentials={user: plantedann, id: 7}", "plantedann"),
    "user part of a URL": ("+hub.address='https://ann:plantedpart@example.org/x'", "plantedpart"),
    "password with @ and / in a URL": ("+hub.mirror='https://ann:planted/p@rt@example.org/x'", "planted/p@rt"),
    "user without password in a URL": ("+hub.origin='https://plantedalone@example.org/x'", "plantedalone"),
    "query of a URL": ("+hub.endpoint='https://example.org/x?api_key=plantedquery&n=1'", "plantedquery"),
    "URL in a list": ("+hub.mirrors=['https://a:plantedmember@example.org']", "plantedmember"),
    "token of Hugging Face": ("+hub.note='hf_PlantedPlantedPlanted01'", "hf_PlantedPlantedPlanted01"),
    "key of OpenAI": ("+hub.text='sk-PlantedPlantedPlanted02'", "sk-PlantedPlantedPlanted02"),
    "token of GitHub": ("+hub.comment='see ghp_PlantedPlantedPlanted03'", "ghp_PlantedPlantedPlanted03"),
}
IN_ENVIRONMENT = {"HF_TOKEN": "hf_PlantedPlantedPlanted04", "OPENAI_API_KEY": "planted-in-environment"}
SECRETS = {name: secret for name, (_, secret) in PLANTED.items()} | IN_ENVIRONMENT
OPTIONS = [option for option, _ in PLANTED.values()]
HARMLESS = "+hub.region=plainregion"  # is written, which shows that the others were looked for in the right files


def forms(secret: str) -> list[bytes]:
    """The secret as text files and URLs may hold it."""
    texts = {secret, quote(secret, safe=""), secret.replace("/", "\\/")}
    return [text.encode(encoding) for text in texts for encoding in ("utf-8", "utf-16-le")] + [
        base64.b64encode(secret.encode())[:-2]
    ]


def parts(content: bytes) -> Iterator[bytes]:
    """A file's content, and that of what is packed in it: members of archives, blocks of a page."""
    yield content
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from parts(archive.read(name))
    elif content.startswith(b"\x1f\x8b"):
        yield from parts(gzip.decompress(content))
    for block in re.findall(rb"[A-Za-z0-9+/]{64,}={0,2}", content):
        with suppress(ValueError, zlib.error):
            yield zlib.decompress(base64.b64decode(block), zlib.MAX_WBITS | 32)


@cache
def parts_of(path: Path) -> list[bytes]:
    return list(parts(path.read_bytes()))


def found(text: str, folder: Path) -> list[str]:
    """Files that hold a text in one of its forms."""
    assert folder.exists()
    files = [path for path in [folder, *folder.rglob("*")] if path.is_file()]
    return [str(path) for path in files if any(form in part for part in parts_of(path) for form in forms(text))]


@pytest.mark.parametrize("pack", ["plain", "zip", "gzip", "block of a page"])
def test_the_search_finds_what_is_packed(pack: str, tmp_path: Path) -> None:
    text = b"config: https://ann:plantedpart@example.org " + bytes(range(256))
    if pack == "zip":
        with zipfile.ZipFile(tmp_path / "file", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.pkl", text)
    else:
        packed = {
            "plain": text,
            "gzip": gzip.compress(text),
            "block of a page": b"<script>" + base64.b64encode(gzip.compress(text)) + b"</script>",
        }
        (tmp_path / "file").write_bytes(packed[pack])
    assert found("plantedpart", tmp_path) == [str(tmp_path / "file")]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a training, its cache, its page, an evaluation, an export, a failed run, a grid and a search."""
    folder = tmp_path_factory.mktemp("places")
    root = folder / "data"
    toy_bitext(root, pairs=40)
    with pytest.MonkeyPatch.context() as patch, (folder / "screen.txt").open("w", encoding="utf-8") as screen:
        patch.chdir(folder)
        patch.setenv("XSENT_TRACEBACK", "1")
        patch.setattr("sys.stderr", screen)
        for name, secret in IN_ENVIRONMENT.items():
            patch.setenv(name, secret)
        handlers, logging.root.handlers = logging.root.handlers, []
        log_to_screen()
        try:
            options = [*toy_overrides(root)[:-1], *tiny_static(), "trainer.max_epochs=1", *OPTIONS, HARMLESS]
            train = ["train", "recipe=labse", "trainer.enable_progress_bar=false", *options, "cache_dir=cache"]
            assert main([*train, "run_dir=run"]) == 0
            assert main([*train, "run_dir=run", "ckpt_path=last", "trainer.max_epochs=2"]) == 0
            for language in ("deu", "eng"):
                Path(f"tatoeba.deu-eng.{language}").write_text("".join(f"{language} {row}\n" for row in range(12)))
            tatoeba = ["evaluator=tatoeba", "evaluator.root=.", "evaluator.languages=[deu]"]
            assert main(["evaluate", "ckpt=run", *tatoeba, *OPTIONS, HARMLESS, "run_dir=evaluation"]) == 0
            assert main(["export", "run", "-o", "export"]) == 0
            assert main(["compare", "run", "evaluation", "-o", "compare.html"]) == 0
            patch.setattr("xsent.sweeps.dispatch.train_run", fail)
            assert main([*train, "run_dir=failed"]) == 1
            assert main([*train, "-m", "seed=1,2", "runs_dir=grid"]) == 1
            make_search(folder, patch)
        finally:
            logging.root.handlers = handlers
        yield folder


def fail(config: dict[str, object]) -> None:
    """Fail as a library does that repeats what it was given, after some files were written."""
    path = Path(str(config["run_dir"]), "metrics.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("step\n")
    logging.getLogger("xsent").warning("no connection to %s", " ".join(OPTIONS))
    raise KeyError(f"no connection to {' '.join(OPTIONS)}")


def make_search(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A search whose config has the secrets, with trials that fail and name them."""
    pytest.importorskip("optuna")
    from tests.sweeps.search.stub import InProcess, compose, stub_options, stub_search

    patch.setattr("tests.sweeps.search.stub.train", lambda config, trial: fail(config))
    config = {"hub": dict(started_config(folder))}
    search = stub_search(
        stub_options(folder / "search", n_trials=2), InProcess(), lambda overrides: compose(overrides) | config
    )
    search.results.write = lambda **options: None  # type: ignore[method-assign]
    search.results.finish = lambda: None  # type: ignore[method-assign]
    search.run()


def started_config(folder: Path) -> dict[str, object]:
    """The resolved options with secrets."""
    options = [*OPTIONS, HARMLESS, f"run_dir={folder / 'started'}"]
    with started(read_command("train", ["recipe=labse", *options])) as config:
        return dict(config["hub"]) | {"recipe_token": config["recipe_token"]}


PLACES = (
    *("run/checkpoints", "run/config.yaml", "run/command.yaml", "run/train.log", "run/metrics.json", "run/report.html"),
    *("run", "cache", "evaluation", "export", "compare.html", "failed", "grid", "search", "screen.txt"),
)
SHOWN = ("run/checkpoints", "run/config.yaml", "run/metrics.json", "run/report.html", "run", "failed", "grid", "search")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", SECRETS)
def test_a_secret_is_in_no_byte_of_a_place(form: str, place: str, places: Path) -> None:
    assert found(SECRETS[form], places / place) == []


@pytest.mark.parametrize("place", SHOWN)
def test_other_options_are_in_the_place(place: str, places: Path) -> None:
    assert found("plainregion", places / place)


def test_a_run_with_a_new_secret_is_resumed_and_one_with_another_option_is_not() -> None:
    trainer = {"accumulate_grad_batches": 1, "gradient_clip_val": None, "devices": 1}
    before = {"recipe": {"hub": {"token": "***", "rate": 1}}, "encoder": {}, "data": {"cache_dir": "a"}, "seed": 1}
    before["trainer"] = trainer
    check_same_config(before, before | {"recipe": {"hub": {"token": "new", "rate": 1}}})
    check_same_config(before, before | {"data": {"cache_dir": "b", "num_workers": 2}})
    check_same_config(before, before | {"trainer": {**trainer, "devices": 2}})
    with pytest.raises(ValueError, match=r"another trainer: trainer\.accumulate_grad_batches was 1, is 2"):
        check_same_config(before, before | {"trainer": {**trainer, "accumulate_grad_batches": 2}})
    with pytest.raises(ValueError, match=r"another recipe: recipe\.hub\.rate was 1, is 2"):
        check_same_config(before, before | {"recipe": {"hub": {"token": "***", "rate": 2}}})
