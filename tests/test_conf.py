"""Every choice composes, and every key of a config fits its target."""

import inspect
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hydra.utils import get_object
from omegaconf import MissingMandatoryValue, OmegaConf

from tests.helpers import ROOT, config
from xsent.run import check_targets, load_config
from xsent.run.config.build import targets
from xsent.run.config.compose import name_models
from xsent.run.config.registry import KINDS

CONF = ROOT / "conf"
# Arguments that `xsent.run` passes: no config sets them.
PASSED_BY_RUN = {
    "xsent.models.pairs.": {"base", "tags_words"},
    "xsent.recipes.": {"encoder"},
    "pytorch_lightning.Trainer": {"callbacks", "logger", "plugins", "default_root_dir"},
    **{
        f"xsent.data.readers.{name}.": {"ledger", "root", "columns", "threshold", "source_lang", "target_lang"}
        for name in ("parallel", "cldr", "labelled", "msrp", "pawsx", "monolingual")
    },
    "xsent.data.test_sets.clsd.": {"root", "directions"},
    "xsent.data.readers.tatoeba.": {"root", "languages"},
    "xsent.data.readers.bucc.": {"root", "languages", "part"},
    "xsent.data.readers.divergences.": {"root", "sets", "path", "seeds"},
    "xsent.data.test_sets.refresd.": {"root", "sets", "path"},
    "xsent.data.test_sets.semdiverge.": {"root", "sets"},
    "xsent.data.test_sets.swissgov.": {"root", "languages"},
    "xsent.data.readers.sts.": {"root", "pairs"},
    "xsent.text.annotation.annotator.": {"language"},
    "xsent.text.annotation.word_alignment.": {"source", "target", "source_words", "target_words"},
    "xsent.text.annotation.moses_tokenizer.": {"sentence", "language"},
    "xsent.losses.": {"anchor", "candidates", "offset", "groups", "candidate_groups"},
    "xsent.recipes.schedules.": {"optimizer", "total_steps"},
    "torch.optim.": {"params"},
}


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def composed(tmp_path: Path, name: str, *overrides: str) -> dict[str, Any]:
    plain: dict[str, Any] = OmegaConf.to_container(config(name, tmp_path, *overrides), resolve=True)  # type: ignore[assignment]
    name_models(plain)
    return plain


def check_signatures(plain: dict[str, Any]) -> None:
    check_targets(plain)
    for key, node in targets(plain):
        target = str(node["_target_"])
        built = get_object(target)
        signature = inspect.signature(built)
        names = {name for name in node if name not in ("_target_", "_partial_", "_convert_", "_recursive_")}
        open_ended = {name for name, value in signature.parameters.items() if value.kind is value.VAR_KEYWORD}
        unknown = names - signature.parameters.keys()
        assert not unknown or open_ended, f"{key}: {target} has no parameters {sorted(unknown)}"
        constructor = built.__init__ if inspect.isclass(built) else built
        if not constructor.__module__.startswith("xsent."):
            continue
        for name, parameter in signature.parameters.items():
            if name in names:
                assert parameter.default is parameter.empty, f"{key}.{name} has a second default in {target}"
            elif parameter.default is parameter.empty and name not in open_ended:
                passed = set().union(*(value for start, value in PASSED_BY_RUN.items() if target.startswith(start)))
                assert name in passed, f"{key}: {target} needs {name}, no config sets it"


GROUPS = ("encoder", "data", "evaluator", "trainer", "logger", "debug")  # independent: one of each in a composition
RECIPE_GROUPS = sorted(str(path.relative_to(CONF)) for path in (CONF / "recipe").glob("*/*"))
EXPERIMENTS = sorted(
    str(path.relative_to(CONF / "experiment").with_suffix("")) for path in (CONF / "experiment").rglob("*.yaml")
)
EVALUATIONS = {
    "rolaser/tables",
    *(name for name in EXPERIMENTS if name.startswith("clsd/")),
}  # experiments of evaluate.py
ROOTS = "data.root=FOLDER " + " ".join(
    f"++roots.{name}=FOLDER" for name in ("tatoeba", "sts", "muse", "refresd", "semdiverge")
)
CHOICES = [
    *(
        " ".join(["recipe=labse", *(f"{group}={option}" for group, option in zip(GROUPS, row, strict=True) if option)])
        for row in zip_longest(*map(options, GROUPS))
    ),
    *(f"recipe={recipe} debug=smoke" for recipe in options("recipe")),
    *(f"recipe={group.split('/')[1]} {group}={option}" for group in RECIPE_GROUPS for option in options(group)),
    *(f"recipe=paraphrase data={name}" for name in ("labelled", "msrp", "pawsx", "pawsx_dev")),
    *(f"recipe=rolaser evaluator={name}" for name in ("ugc", "ugc_heldout", "ugc_languages", "ugc_mteb")),
    *(
        f"recipe=divergence evaluator={name}"
        for name in ("refresd", "semdiverge", "swissgov", "divergence", "divergence_heldout")
    ),
    *(f"experiment={name} {ROOTS}" for name in EXPERIMENTS if name not in EVALUATIONS),
]


@pytest.mark.parametrize("overrides", CHOICES)
def test_every_choice_of_a_training_composes(tmp_path: Path, overrides: str) -> None:
    check_signatures(composed(tmp_path, "train", *overrides.split()))


@pytest.mark.parametrize("evaluator", [name for name in options("evaluator") if name not in ("none", "heldout")])
def test_every_evaluation_composes(tmp_path: Path, evaluator: str) -> None:
    check_signatures(composed(tmp_path, "evaluate", f"evaluator={evaluator}"))


@pytest.mark.parametrize("experiment", sorted(EVALUATIONS - {"clsd/base"}))
def test_every_experiment_of_an_evaluation_composes(tmp_path: Path, experiment: str) -> None:
    check_signatures(composed(tmp_path, "evaluate", f"experiment={experiment}", "++roots.clsd=FOLDER"))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["recipe=paraphrase", "loss=ams"], r"^loss=ams: .* recipe/paraphrase/loss=\.\.\.$"),
        (["recipe=labse", "recipe/paraphrase/loss=ams"], r"belongs to recipe=paraphrase, but recipe=labse .* none$"),
        (["recipe=dream", "+recipe/rolaser/distillation=mse"], r"are: recipe/oracle/objective, recipe/oracle/weights$"),
        (["experiment=micro", "recipe/divergence/sampling=ranking"], r"recipe=divergence, but recipe=labse was chosen"),
        (["recipe=paraphrase", "+recipe.loss.margn=1"], r"recipe\.loss\.margn: .*/recipe/paraphrase/loss that fits"),
        (["recipe=rolaser", "~recipe.loss.reduction"], r"recipe\.loss: .*needs reduction; .*conf/recipe/rolaser/dis"),
        (["recipe=labse", "~recipe.loss.margin"], r"recipe\.loss: \S+softmax needs margin; .* conf/recipe "),
        (["recipe=labse", "+recipe.optimizer.rate=1"], r"recipe\.optimizer\.rate: .*AdamW has no option rate"),
    ],
)
def test_an_option_that_does_not_fit_the_recipe_is_an_error_that_names_the_group(
    tmp_path: Path, overrides: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load_config("train", [*overrides, "data.root=FOLDER", f"run_dir={tmp_path}"])


def test_an_option_of_the_chosen_recipe_is_accepted_and_the_command_line_beats_it(tmp_path: Path) -> None:
    chosen = "experiment=oracle/micro recipe/oracle/weights=apart pictures=null evaluator=none data.root=FOLDER"
    plain = load_config("train", [*chosen.split(), f"run_dir={tmp_path}"])
    assert plain["recipe"]["weights"]["dream"]["reconstruction"] == 256.0
    assert plain["pictures"]["pairs_per_language"] == 0
    plain = composed(tmp_path, "train", "recipe=divergence", "recipe/divergence/sampling=subtree_deletion")
    assert (plain["recipe"]["margin"], plain["data"]["sampling"]) == (8.0, "single")
    plain = composed(tmp_path, "train", "experiment=micro", "data=cldr", "trainer.max_epochs=7")
    assert (plain["data"]["name"], plain["trainer"]["max_epochs"]) == ("cldr", 7)
    assert plain["recipe"]["loss"]["margin"] == 0.1
    assert composed(tmp_path, "train", "recipe=paraphrase", "recipe/paraphrase/mining=none")["recipe"]["mining"] is None


# Registered, but in no file of conf/: Hydra's, set on the command line, by ``load_encoder`` of a folder or run, or by
# `encoder.language_marking`.
NOT_IN_CONF = {
    *(f"torch.optim.{name}" for name in ("Adagrad", "NAdam", "RMSprop", "SGD")),
    "torch.optim.lr_scheduler.OneCycleLR",
    "pytorch_lightning.callbacks.LearningRateMonitor",
    "pytorch_lightning.callbacks.TQDMProgressBar",
    "xsent.models.encoders.static_embedding.StaticEmbeddingEncoder.load",
    "xsent.models.encoders.language_marking.LanguageMarkedEncoder",
    "xsent.run.loading.load_encoder",
    *KINDS["launcher"].targets,
    *KINDS["sweeper"].targets,
}


def test_the_registry_holds_what_conf_names_and_nothing_else() -> None:
    named = {target for path in CONF.rglob("*.yaml") for target in re.findall(r"_target_: *([\w.]+)", path.read_text())}
    registered = [target for kind in KINDS.values() for target in kind.targets]
    assert named == set(registered) - NOT_IN_CONF
    assert all(get_object(target) for target in registered if not target.startswith("hydra_plugins."))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_parts_of_known_kinds(kind: str) -> None:
    assert set(KINDS[kind].parts.values()) <= KINDS.keys()


def test_at_most_14_groups_are_at_the_top() -> None:
    assert len([path for path in CONF.iterdir() if path.is_dir()]) <= 14


JOBS = [
    *((command, "") for command in ("distract", "diverge", "filter", "mine", "noise")),
    *(("distract", f"maker={maker}") for maker in options("job/distract/maker")),
    *(
        ("diverge", f"{group}={option}")
        for group in ("ranker", "aligner", "divergences")
        for option in options(f"job/diverge/{group}")
    ),
]


@pytest.mark.parametrize(("command", "option"), JOBS)
def test_every_option_of_a_command_composes(command: str, option: str) -> None:
    check_signatures(load_config(command, [option] if option else []))


def test_evaluator_ugc_and_xsent_augment_make_the_same_negatives(tmp_path: Path) -> None:
    of_command = OmegaConf.to_container(OmegaConf.load(CONF / "job" / "augment.yaml"))
    negatives = composed(tmp_path, "evaluate", "evaluator=ugc")["evaluator"]["read"]["negatives"]
    assert {key: value for key, value in negatives.items() if key != "_target_"} == of_command


@pytest.mark.parametrize(
    ("chosen", "beams"),
    [
        *((f"evaluator.pivot.translator={name}", None) for name in options("translator") if name != "seq2seq"),
        ("+translator@evaluator.pivot.translator=m2m100 evaluator.pivot.translator.beams=1", 1),  # takes overrides
    ],
)
def test_a_pivot_has_the_translator_that_is_named(tmp_path: Path, chosen: str, beams: int | None) -> None:
    path = "evaluator.pivot.translator_path=HERE"
    plain = composed(tmp_path, "evaluate", "evaluator=clsd", *chosen.split(), path)
    translator = plain["evaluator"]["pivot"]["translator"]
    assert (translator["path"], translator["_partial_"]) == ("HERE", True)
    assert beams in (None, translator["beams"])
    check_signatures(plain)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("evaluator.pivot.translator=m2m", r"translator=m2m: expected one of m2m100, m2m100_418m"),
        ("evaluator.pivot.translator_path=HERE", r"translator=null: expected the name of a file of conf/translator"),
        ("evaluator.pivot.translator=seq2seq", r"name"),  # a template
    ],
)
def test_an_unknown_translator_is_an_error(tmp_path: Path, chosen: str, message: str) -> None:
    with pytest.raises((ValueError, MissingMandatoryValue), match=message):
        composed(tmp_path, "evaluate", "evaluator=clsd", chosen)


def test_encoders_have_the_prompts_and_lengths_of_the_clsd_notebook(tmp_path: Path) -> None:
    expected = {"e5_base": ("query: ", 512), "e5_large": ("query: ", 512), "gte": ("", 8192), "mpnet": ("", 128)}
    expected["labse"] = ("", 256)
    nodes = {name: composed(tmp_path, "evaluate", f"encoder={name}")["encoder"] for name in expected}
    assert {name: (node["prompt"] or "", node["max_length"]) for name, node in nodes.items()} == expected


@pytest.mark.parametrize(("name", "group"), [("evaluate", "evaluator"), ("train", "data")])
def test_a_mandatory_root_is_missing_until_it_is_set(tmp_path: Path, name: str, group: str) -> None:
    # ``???`` does not override an inherited value.
    files = [path for path in (ROOT / "conf" / group).glob("*.yaml") if "  root: ???" in "  " + path.read_text()]
    recipe = ["recipe=labse"] if name == "train" else []
    missing = [
        path.stem
        for path in files
        if OmegaConf.is_missing(config(name, tmp_path, *recipe, f"{group}={path.stem}")[group], "root")
    ]
    assert missing == [path.stem for path in files]


@pytest.mark.parametrize(
    ("evaluator", "alone"),
    [
        ("msrp", [0.15, 0.0, None]),
        ("pawsx", [0.1, 0.1, ["fr", "ko"]]),
        ("pawsx_dev", [0.1, 0.2, ["fr", "ko"]]),
        ("labelled", [0.1, 0.1, None]),
    ],
)
def test_an_evaluator_holds_out_the_same_shares_as_the_data_of_its_run(
    tmp_path: Path, evaluator: str, alone: list[Any]
) -> None:
    def shares(name: str, *overrides: str) -> list[Any]:
        node = composed(tmp_path, name, f"evaluator={evaluator}", *overrides)["evaluator"]
        return [node["read"]["valid_share"], node["read"]["test_share"], node["zero_shot"]]

    run = ["data.valid_share=0.3", "data.test_share=0.4", "data.zero_shot=[ko]"]
    assert shares("train", "recipe=paraphrase", "data=pawsx_dev", *run) == [0.3, 0.4, ["ko"]]
    assert shares("evaluate") == alone


def test_dream_and_meat_are_oracle_without_its_terms(tmp_path: Path) -> None:
    for host in ("dream", "meat"):
        recipe = composed(tmp_path, "train", f"recipe={host}")["recipe"]
        assert recipe["host"] == host
        assert set(recipe["weights"]["oracle"].values()) == {0.0}
        assert set(recipe["weights"][host].values()) == {1.0}


@pytest.mark.parametrize(
    ("objective", "host", "terms"),
    [
        ("oracle_alone", "dream", {"intra_class", "inter_class"}),
        ("alone1", "dream", {"intra_class", "inter_class"}),
        ("alone2", "dream", {"meaning", "inter_class"}),
        ("alone3", "dream", {"meaning", "language_embedding", "inter_class"}),
        ("alone4", "meat", {"adversarial", "intra_class", "inter_class"}),
    ],
)
def test_oracle_alone_sums_the_terms_of_the_release(tmp_path: Path, objective: str, host: str, terms: set[str]) -> None:
    # dayeonki/oracle, code/loss/dream.py and meat.py: which terms the sum of each class has. Other weights add none.
    recipe = composed(
        tmp_path, "train", "recipe=oracle", f"recipe/oracle/objective={objective}", "recipe/oracle/weights=apart"
    )["recipe"]
    weights = {**recipe["weights"][host], **recipe["weights"]["oracle"]}
    assert recipe["host"] == host
    assert {term: weight for term, weight in weights.items() if weight} == dict.fromkeys(terms, 1.0)
    assert recipe["oracle"]["variant"] == ("paper" if objective == "oracle_alone" else "oracle_old")
