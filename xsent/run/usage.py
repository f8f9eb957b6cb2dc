"""Help of ``train.py`` and ``evaluate.py``, from the files of ``conf`` and their comments."""

import re
import textwrap
from pathlib import Path

from xsent.paths import conf_folder
from xsent.run.config.override_errors import choices_of

WIDTH = 100
ABOUT = {
    "train": "Train a sentence encoder, or what the recipe trains, and evaluate it.",
    "evaluate": "Score an encoder, or what a run trained, on test sets.",
}
FIRST = {"train": "recipe=NAME", "evaluate": "(encoder=NAME | ckpt=RUN) evaluator=NAME"}
GROUPS = {
    "train": ("encoder", "data", "evaluator", "trainer", "logger", "experiment", "search", "study"),
    "evaluate": ("encoder", "evaluator"),
}
# Options below a group; all others are keys of train.yaml, evaluate.yaml and common.yaml.
BELOW = {
    "train": {
        "data.root=PATH": "the file or folder of the training data",
        "data.languages=[deu,fra]": "train on these languages only",
        "data.global_batch_size=N": "rows per training step, over all devices",
        "encoder.path=FOLDER": "a local model instead of the hub's",
        "evaluator.root=PATH": "the file or folder of the test set",
        "recipe.optimizer.lr=X": "learning rate (default: the recipe's)",
        "trainer.max_epochs=N": "passes over the data (default: the recipe's)",
    },
    "evaluate": {
        "evaluator.root=PATH": "the file or folder of the test set",
        "evaluator.languages=[deu,fra]": "these languages only",
        "encoder.path=FOLDER": "a local model instead of the hub's",
    },
}
FLAGS = {
    "-m": "a grid: one run for each combination of a,b,c",
    "--cfg job": "print all values and run nothing",
    "--help": "print this",
}
EXAMPLES = {
    "train": (
        "train recipe=oracle",
        "train recipe=oracle encoder=mini data=bitext data.root=BITEXT trainer.max_epochs=4 name=first",
        "train recipe=oracle encoder=mini data=bitext data.root=BITEXT ckpt_path=last name=first",
        "train -m recipe=oracle recipe.host=dream,meat seed=1,2,3",
    ),
    "evaluate": (
        "evaluate encoder=mini evaluator=tatoeba evaluator.root=TATOEBA",
        "evaluate ckpt=runs/first evaluator=sts evaluator.root=STS17",
    ),
}


def usage(program: str) -> str:
    """Text of ``--help``."""
    lines = [f"usage: xsent {program} {FIRST[program]} [KEY=VALUE ...]   (the same: python {program}.py ...)"]
    lines += ["", ABOUT[program], ""]
    if program == "train":
        lines += [*recipes(), ""]
    for group in GROUPS[program]:
        if group != "study":  # an experiment sets it
            lines += _wrapped(f"{group}=", ", ".join(choices_of(group)))
    lines += ["", "options:", *_table(BELOW[program]), *_table(_keys(program)), *_table(FLAGS)]
    lines += ["", "Every value of conf/ can be set: KEY=VALUE replaces it, +KEY=VALUE adds it.", "", "examples:"]
    lines += [f"  xsent {example}" for example in EXAMPLES[program]]
    return "\n".join(lines) + "\n"


def recipes() -> list[str]:
    """The recipes, one line each."""
    names = choices_of("recipe")
    return ["recipes:", *(f"  recipe={name:<12}{_about(conf_folder() / 'recipe' / f'{name}.yaml')}" for name in names)]


def _about(file: Path) -> str:
    """The first sentence of the comment at the head of a config file."""
    comments = [line[2:] for line in file.read_text(encoding="utf-8").splitlines()[:3] if line.startswith("# ")]
    text = next(line for line in comments if not line.startswith("@package"))
    return re.split(r"; docs/|\.$|\. (?=[A-Z])", text)[0]


def _keys(program: str) -> dict[str, str]:
    """Keys at the top of the program's config files, with their comments and defaults."""
    options = {}
    for file in ("common", program):
        for line in (conf_folder() / f"{file}.yaml").read_text(encoding="utf-8").splitlines():
            if (match := re.match(r"(\w+): +([\w.]+) +# (.+)", line)) and match[1] not in GROUPS[program]:
                key, value, about = match.groups()
                options[f"{key}="] = about if value == "null" else f"{about} (default: {value})"
    return options


def _table(rows: dict[str, str]) -> list[str]:
    return [line for name, about in rows.items() for line in _wrapped(name, about, indent=2)]


def _wrapped(name: str, text: str, *, indent: int = 0) -> list[str]:
    start = f"{'':{indent}}{name:<{28 - indent}}" if indent else f"{name:<14}"
    return textwrap.wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False)
