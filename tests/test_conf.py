"""Every recipe composes with every encoder and data set, and every key of a config fits its target."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import get_object
from omegaconf import MissingMandatoryValue, OmegaConf

from tests.helpers import ROOT, config
from xsent.run import check_targets, load_config
from xsent.run.config import name_models

CONF = ROOT / "conf"
# Given by `xsent.run`, which alone knows them.
GIVEN_BY_RUN = {
    "xsent.recipes.": {"encoder"},
    "pytorch_lightning.Trainer": {"callbacks", "logger", "plugins", "default_root_dir"},
    "xsent.data.readers.": {"ledger", "root"},
    "xsent.data.cldr.": {"ledger", "root"},
    "xsent.data.labelled.": {"ledger", "root"},
    "xsent.data.msrp.": {"ledger", "root"},
    "xsent.data.pawsx.": {"ledger", "root"},
    "xsent.data.monolingual.": {"ledger", "root"},
    "xsent.data.clsd.": {"root", "directions"},
    "xsent.data.tatoeba.": {"root", "languages"},
    "xsent.data.bucc.": {"root", "languages", "part"},
    "xsent.data.divergence_files.": {"root", "sets", "path", "seeds"},
    "xsent.data.divergence_sets.": {"root", "sets"},
    "xsent.data.sts.": {"root", "pairs"},
    "xsent.text.annotation.": {"language"},
    "xsent.text.alignment.": {"source", "target", "source_words", "target_words"},
    "xsent.text.moses.": {"sentence", "language"},
    "xsent.losses.": {"anchor", "candidates", "offset", "groups", "candidate_groups"},
    "xsent.recipes.schedules.": {"optimizer", "total_steps"},
    "torch.optim.": {"params"},
}


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def targets(node: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield where, node
        for key, value in node.items():
            yield from targets(value, f"{where}.{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from targets(value, f"{where}[{number}]")


def composed(tmp_path: Path, name: str, *overrides: str) -> dict[str, Any]:
    plain: dict[str, Any] = OmegaConf.to_container(config(name, tmp_path, *overrides), resolve=True)  # type: ignore[assignment]
    name_models(plain)
    return plain


def check_signatures(plain: dict[str, Any]) -> None:
    check_targets(plain)
    for where, node in targets(plain):
        target = str(node["_target_"])
        built = get_object(target)
        signature = inspect.signature(built)
        keys = {key for key in node if key not in ("_target_", "_partial_", "_convert_", "_recursive_")}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        unknown = keys - signature.parameters.keys()
        assert not unknown or open_ended, f"{where}: {target} has no parameters {sorted(unknown)}"
        constructor = built.__init__ if inspect.isclass(built) else built
        if not constructor.__module__.startswith("xsent."):  # also what a class of ours inherits
            continue
        for name, parameter in signature.parameters.items():
            if name in keys:
                assert parameter.default is parameter.empty, f"{where}.{name} has a second default in {target}"
            elif parameter.default is parameter.empty:
                given = set().union(*(names for start, names in GIVEN_BY_RUN.items() if target.startswith(start)))
                assert name in given, f"{where}: {target} needs {name}, no config gives it"


@pytest.mark.parametrize("recipe", options("recipe"))
@pytest.mark.parametrize("encoder", options("encoder"))
def test_every_recipe_composes_with_every_encoder(tmp_path: Path, recipe: str, encoder: str) -> None:
    check_signatures(composed(tmp_path, "train", f"recipe={recipe}", f"encoder={encoder}"))


@pytest.mark.parametrize("group", ["data", "evaluator", "trainer", "logger", "pictures", "debug"])
def test_every_option_of_a_group_composes(tmp_path: Path, group: str) -> None:
    for option in options(group):
        check_signatures(composed(tmp_path, "train", "recipe=labse", f"{group}={option}"))


@pytest.mark.parametrize("group", ["loss", "mining", "data"])
def test_every_option_of_a_paraphrase_run_composes(tmp_path: Path, group: str) -> None:
    for option in options(group):
        check_signatures(composed(tmp_path, "train", "recipe=paraphrase", f"{group}={option}"))


@pytest.mark.parametrize("group", ["distillation", "data", "evaluator"])
def test_every_option_of_a_rolaser_run_composes(tmp_path: Path, group: str) -> None:
    for option in options(group):
        check_signatures(composed(tmp_path, "train", "recipe=rolaser", f"{group}={option}"))


DIVERGENCE_OPTIONS = [
    *(f"objective={name}" for name in options("objective") if name.startswith("divergence_")),
    *(f"sampling={name}" for name in options("sampling")),
    "data=divergences",
    *(f"evaluator={name}" for name in ("refresd", "semdiverge", "divergence", "divergence_heldout")),
]


@pytest.mark.parametrize("option", DIVERGENCE_OPTIONS)
def test_every_option_of_a_divergence_run_composes(tmp_path: Path, option: str) -> None:
    check_signatures(composed(tmp_path, "train", "recipe=divergence", option))


@pytest.mark.parametrize("group", ["ranker", "aligner", "divergences"])
def test_every_option_of_xsent_diverge_composes(group: str) -> None:
    for option in options(group):
        check_signatures(load_config("diverge", [f"{group}={option}"]))


@pytest.mark.parametrize("maker", options("maker"))
def test_every_maker_of_xsent_distract_composes(maker: str) -> None:
    check_signatures(load_config("distract", [f"maker={maker}"]))


@pytest.mark.parametrize("command", ["distract", "diverge", "filter", "mine", "noise"])
def test_the_config_of_a_command_composes(command: str) -> None:
    check_signatures(load_config(command, []))


def test_the_evaluator_makes_the_negatives_that_xsent_augment_makes(tmp_path: Path) -> None:
    of_command = OmegaConf.to_container(OmegaConf.load(CONF / "augment.yaml"))
    made = composed(tmp_path, "evaluate", "evaluator=ugc")["evaluator"]["read"]["negatives"]
    assert {key: value for key, value in made.items() if key != "_target_"} == of_command


@pytest.mark.parametrize("translator", [name for name in options("translator") if name != "seq2seq"])
def test_a_pivot_has_the_translator_that_is_named(tmp_path: Path, translator: str) -> None:
    chosen = ["evaluator=clsd", f"evaluator.pivot.translator={translator}", "evaluator.pivot.translator_path=HERE"]
    plain = composed(tmp_path, "evaluate", *chosen)
    assert plain["evaluator"]["pivot"]["translator"]["path"] == "HERE"
    check_signatures(plain)


def test_a_translator_of_the_group_itself_takes_values_of_ones_own(tmp_path: Path) -> None:
    chosen = ["+translator@evaluator.pivot.translator=m2m100", "evaluator.pivot.translator.beams=1"]
    plain = composed(tmp_path, "evaluate", "evaluator=clsd", *chosen, "evaluator.pivot.translator_path=HERE")
    translator = plain["evaluator"]["pivot"]["translator"]
    assert (translator["beams"], translator["path"], translator["_partial_"]) == (1, "HERE", True)
    check_signatures(plain)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("evaluator.pivot.translator=m2m", r"translator=m2m: expected one of m2m100, m2m100_418m"),
        ("evaluator.pivot.translator_path=HERE", r"translator=null: expected the name of a file of conf/translator"),
        ("evaluator.pivot.translator=seq2seq", r"name"),  # which only says how a file of one's own looks
    ],
)
def test_a_translator_that_is_not_there_is_an_error(tmp_path: Path, chosen: str, message: str) -> None:
    with pytest.raises((ValueError, MissingMandatoryValue), match=message):
        composed(tmp_path, "evaluate", "evaluator=clsd", chosen)


def test_encoders_have_the_prompts_and_lengths_of_the_clsd_notebook(tmp_path: Path) -> None:
    found = {name: composed(tmp_path, "evaluate", f"encoder={name}")["encoder"] for name in CLSD_ENCODERS}
    assert {name: (node["prompt"] or "", node["max_length"]) for name, node in found.items()} == CLSD_ENCODERS


CLSD_ENCODERS = {
    "e5_base": ("query: ", 512),
    "e5_large": ("query: ", 512),
    "gte": ("", 8192),
    "mpnet": ("", 128),
    "labse": ("", 256),
}


def test_mining_can_be_left_out(tmp_path: Path) -> None:
    assert composed(tmp_path, "train", "recipe=paraphrase", "mining=none")["recipe"]["mining"] is None


EXPERIMENTS = sorted(
    str(path.relative_to(CONF / "experiment").with_suffix("")) for path in (CONF / "experiment").rglob("*.yaml")
)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_composes(tmp_path: Path, name: str) -> None:
    roots = ["data.root=FOLDER", *(f"++roots.{name}=FOLDER" for name in ("tatoeba", "sts", "muse"))]
    check_signatures(composed(tmp_path, "train", f"experiment={name}", *roots))


@pytest.mark.parametrize(("name", "group"), [("evaluate", "evaluator"), ("train", "data")])
def test_a_root_that_has_to_be_named_is_missing_until_it_is(tmp_path: Path, name: str, group: str) -> None:
    # A value that a file only inherits is not taken back by ``???``.
    files = [path for path in (ROOT / "conf" / group).glob("*.yaml") if "  root: ???" in "  " + path.read_text()]
    others = ["recipe=labse"] if name == "train" else []
    known = [
        path.stem
        for path in files
        if OmegaConf.is_missing(config(name, tmp_path, *others, f"{group}={path.stem}")[group], "root")
    ]
    assert known == [path.stem for path in files]


@pytest.mark.parametrize("evaluator", [name for name in options("evaluator") if name not in ("none", "heldout")])
def test_evaluation_composes(tmp_path: Path, evaluator: str) -> None:
    check_signatures(composed(tmp_path, "evaluate", f"evaluator={evaluator}"))


@pytest.mark.parametrize(
    ("evaluator", "alone"),
    [
        ("msrp", [0.15, 0.0, None]),
        ("pawsx", [0.1, 0.1, ["fr", "ko"]]),
        ("pawsx_dev", [0.1, 0.2, ["fr", "ko"]]),
        ("labelled", [0.1, 0.1, None]),
    ],
)
def test_an_evaluator_holds_out_what_the_data_of_its_run_hold_out(
    tmp_path: Path, evaluator: str, alone: list[Any]
) -> None:
    def shares(name: str, *overrides: str) -> list[Any]:
        node = composed(tmp_path, name, f"evaluator={evaluator}", *overrides)["evaluator"]
        return [node["read"]["valid_share"], node["read"]["test_share"], node["zero_shot"]]

    run = ["data.valid_share=0.3", "data.test_share=0.4", "data.zero_shot=[ko]"]
    assert shares("train", "recipe=paraphrase", "data=pawsx_dev", *run) == [0.3, 0.4, ["ko"]]
    assert shares("evaluate") == alone


def test_an_option_on_the_command_line_beats_the_recipe_and_the_experiment(tmp_path: Path) -> None:
    plain = composed(tmp_path, "train", "experiment=mini", "data=cldr", "trainer.max_epochs=7")
    assert plain["data"]["name"] == "cldr"
    assert plain["trainer"]["max_epochs"] == 7
    assert plain["recipe"]["loss"]["margin"] == 0.1


def test_dream_and_meat_are_oracle_without_its_terms(tmp_path: Path) -> None:
    for host in ("dream", "meat"):
        recipe = composed(tmp_path, "train", f"recipe={host}")["recipe"]
        assert recipe["host"] == host
        assert set(recipe["weights"]["oracle"].values()) == {0.0}
        assert set(recipe["weights"][host].values()) == {1.0}
