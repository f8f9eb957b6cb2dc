"""Overrides appended to documented commands so that each takes seconds and downloads nothing.

They come last, so they win. They depend on the encoder, data and evaluator of the command, not on its page.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from tests.docs.placeholders import Store
from tests.helpers import ROOT
from xsent.run import register_resolvers

# Encoders that would be downloaded, and the small random model used instead.
STAND_IN = {
    **dict.fromkeys(("minilm", "mpnet"), "sentence_transformer"),  # their folders say how they pool
    **dict.fromkeys(("labse", "labse_raw", "labse_cls", "infoxlm_base", "infoxlm_large"), "bert"),
    **dict.fromkeys(("xlmr", "mbert", "roberta", "e5_base", "e5_large", "gte"), "bert"),
    "laser2": "laser2",
    "character_bert": "character_bert",
}

SEARCHES = (ROOT / "conf" / "search").glob("*.yaml")
# One epoch on little data.
TRAINING = [
    "trainer.max_epochs=1",
    "trainer.enable_progress_bar=false",
    "trainer.precision=32-true",
    "pictures=null",
]
BITEXT = ["data.max_pairs=400", "data.global_batch_size=64", "data.valid_share=0.1", "data.test_share=0.1"]
LABELLED = ["data.max_pairs=64", "data.global_batch_size=8"]
DATA = {  # by data set; all others are bitexts
    "divergences": [
        "data.train_seeds=20",
        "data.valid_seeds=10",
        "data.test_seeds=10",
        "data.global_batch_size=16",
    ],
    "ugc": [
        "data.max_pairs=80",
        "data.global_batch_size=16",
        "data.noise_workers=1",
        "data.valid_share=0.1",
        "data.test_share=0.1",
    ],
    "pawsx": LABELLED,
    "msrp": LABELLED,
    "labelled": LABELLED,
}
CHOICES = {  # by what is chosen of a group
    "encoder=static": ["encoder.dim=32", "encoder.vocab_size=300", "recipe.tokenizer_sentences=500"],
    "encoder=static_characters": ["encoder.buckets=500"],
    "encoder=character_bert": ["encoder.max_length=40"],
    "trainer=ddp": ["trainer=cpu"],
    "trainer=gpu": ["trainer=cpu"],
    "recipe/paraphrase/mining=top_n": ["recipe.mining.mini_batches=2"],
    "evaluator=refresd": ["evaluator.dev_seeds=60"],
    "evaluator=semdiverge": ["evaluator.dev_seeds=60"],
    "evaluator=ugc": ["evaluator.picture_line=3", "evaluator.read.seeds=1", "evaluator.read.transforms=[leet,mix_all]"],
    "study=oracle_figures": [
        "study.figures.pairs=6",
        "study.figures.perplexity=2",
        "study.figures.languages=[deu,zho]",
    ],
    "study=oracle_leakage": [
        "recipe/oracle/objective=meat,meat_oracle",
        "encoder.language_marking=0.5",
        "seed=1",
    ],
    **{f"search={path.stem}": ["search.n_trials=2"] for path in SEARCHES},
}
TEACHER_SIZES = ("encoder.dim=384", "encoder.projection=384")  # that of minilm's vectors; those of its stand-in have 16
STUDY = {  # by recipe, of a study's grid one objective; its encoders stay
    "oracle": ["recipe/oracle/objective=meat_oracle"],
    "paraphrase": ["recipe/paraphrase/loss=ams", "recipe/paraphrase/mining=top_n"],
    "divergence": ["recipe/divergence/sampling=ranking", "recipe/divergence/objective=margin_tags", "seed=1"],
}
COMMANDS = {  # of `xsent`, by their names
    "distill-static": ["--dim", "8"],
    "diverge": ["--set", "divergences.wordnet.folder={wordnet}"],
}
OPTIONS = {  # of `xsent`, by an option and its value
    # A local cluster that ends with the command.
    "--engine ray": ["--address", "local", "-o", "mined.tsv"],
}


class Choice(NamedTuple):
    """A composed command line of train.py or evaluate.py."""

    config: DictConfig
    groups: dict[str, str | None]  # what is chosen of each config group

    def value(self, key: str) -> object:
        """A value of the config, or None."""
        return OmegaConf.select(self.config, key)


def compose_command(words: Sequence[str]) -> Choice:
    """Compose ``python train.py ...`` or ``python evaluate.py ...``; of a grid, its first run.

    Raises:
        HydraException: an option that does not exist.
    """
    register_resolvers()
    overrides = [first if first is not None else word for word, first in _overrides(words)]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose(words[1].removesuffix(".py"), overrides, return_hydra_config=True)
    return Choice(config, dict(config.hydra.runtime.choices))


def appended(words: Sequence[str], store: Store) -> list[str]:
    """Arguments to append to a command."""
    if words[0] == "xsent":
        return _to_command(words, store)
    choice = compose_command(words)
    extra = _to_models(words, choice, store)
    if words[1] == "train.py":
        extra += [*_to_training(choice, store), *_to_grid(words)]
    extra += [value for group, name in choice.groups.items() for value in CHOICES.get(f"{group}={name}", [])]
    return extra + [word.replace("384", "16") for word in words if word in TEACHER_SIZES]


def _overrides(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """Each override, with its first value if it lists several."""
    parser, overrides = OverridesParser.create(), []
    command_words = [word for before, word in pairwise(words[1:]) if before != "--cfg"]
    for word in (word for word in command_words if not word.startswith("-")):
        (override,) = parser.parse_overrides([word])
        is_list = override.is_sweep_override()
        first = f"{override.get_key_element()}={next(override.sweep_string_iterator())}" if is_list else None
        overrides.append((word, first))
    return overrides


def _to_grid(words: Sequence[str]) -> list[str]:
    """Keep two or three runs of a grid: the first value of every list except the first list."""
    lists = [first for _, first in _overrides(words) if first is not None]
    return lists[1:]


def _to_training(choice: Choice, store: Store) -> list[str]:
    data = str(choice.groups["data"]).removesuffix("_dev")
    extra = [*TRAINING, *DATA.get(data, BITEXT)]
    if choice.groups.get("study") is not None:
        paths = choice.config.study.encoder_paths
        extra += [
            *STUDY[str(choice.groups["recipe"])],
            *(f"study.encoder_paths.{name}={store.get(STAND_IN[name])}" for name in paths),
        ]
    return extra


def _to_models(words: Sequence[str], choice: Choice, store: Store) -> list[str]:
    """Paths of small models for encoders that would be downloaded, unless the command gives a path."""
    models = {
        "recipe.teacher_path": choice.value("recipe.teacher"),
        "evaluator.teacher_path": choice.value("evaluator.teacher"),
    }
    study = choice.groups.get("study")
    if (study is None or not choice.config.study.encoder_paths) and not _gives(words, "ckpt"):
        models["encoder.path"] = choice.groups["encoder"]
    overrides = {
        key: STAND_IN[str(name)] for key, name in models.items() if name in STAND_IN and not _gives(words, key)
    }
    if choice.value("evaluator.pivot.translator") == "m2m100":
        overrides["evaluator.pivot.translator_path"] = "m2m100"
    if choice.value("recipe.teacher_path") is not None:  # the student's own
        overrides.pop("recipe.teacher_path", None)
    return [f"{key}={store.get(model)}" for key, model in overrides.items()]


def _gives(words: Sequence[str], key: str) -> bool:
    return any(word.startswith(f"{key}=") for word in words)


def _to_command(words: Sequence[str], store: Store) -> list[str]:
    extra = [value.format_map(_StorePaths(store)) for value in COMMANDS.get(words[1], [])]
    extra += [value for option, values in OPTIONS.items() if option in " ".join(words) for value in values]
    if "--encoder" in words and (model := STAND_IN.get(words[words.index("--encoder") + 1])):
        extra += ["--set", f"encoder.path={store.get(model)}"]
    return extra


class _StorePaths(dict[str, str]):
    """Paths of the stored examples by name."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def __missing__(self, name: str) -> str:
        return str(self.store.get(name))
