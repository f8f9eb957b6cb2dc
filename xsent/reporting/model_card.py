"""The model card of an exported folder: what it is, what it learned from, how good it is, what it cannot do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml

import xsent
from xsent.languages import to_iso639_3
from xsent.models.export.check import Checked
from xsent.paths import sha256
from xsent.reporting.environment import environment
from xsent.reporting.secrets import redact

# What a recipe is, and whose, by its class.
RECIPES = {
    "LabseRecipe": "Translation ranking (Feng et al. 2022, arXiv:2007.01852; Yang et al. 2019, arXiv:1902.08564)",
    "DisentanglingRecipe": "Meaning and language parted by heads on a frozen encoder (Ki, Park, Kim 2024)",
    "ParaphraseRecipe": "Paraphrase identification with hard negatives (Fedorova and Musatow 2024)",
    "RolaserRecipe": "Robustness to user-generated text by distillation (Nishimwe, Sagot, Bawden 2024)",
}
UNKNOWN_LICENCE = (
    "Unknown: neither the base model's files nor this run say it. Ask whoever published the base model and the data"
    " before you pass this on."
)
OTHER_TERMS = (
    "The data that it was trained on may have terms of their own, which no file of the run says, so no licence is given"
    " for the trained vectors: ask whoever published the data before you pass this on."
)
ANOTHER_CHECKPOINT = (
    "None: the run scored another checkpoint, {final}.ckpt, and not the one that was exported. Score this one with"
    " evaluate.py or `xsent mteb`."
)
PAIR = re.compile(r"([a-z]{3})-([a-z]{3})")  # in the name of a metric
FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
SAME_RUN = ("run_dir", "recipe", "encoder", "data", "seed")  # where configs agree on them, they are of one run
MOST_SCORES = 40  # rows of a table that is still read


class Exported(NamedTuple):
    """What the folder holds."""

    name: str  # of the folder
    space: str  # original | meaning | language
    dim: int
    max_length: int
    digest: str  # of the encoder, its heads included
    limits: Sequence[str]
    prompt: str  # that the folder puts before every text; onnxruntime knows nothing of it


class About(NamedTuple):
    """Where it comes from."""

    encoder: str
    base_model: str | None  # its name on the hub
    licence: str | None  # of the weights, where that is known
    licence_said: str
    languages: Sequence[str]  # ISO 639-3, that it was trained on
    training: Mapping[str, str]  # rows of a table; empty: it was not trained here
    scores: Mapping[str, float | None]  # by metric, all spaces; None: undefined
    digests: Mapping[str, str]
    no_scores: str = "None: the run has no evaluation of these vectors."  # said where there are none


def about_encoder(config: Mapping[str, Any]) -> About:
    """What is known of an encoder of ``conf/encoder`` that is exported as it is."""
    licence, said = _licence(config)
    name = str(config["name"])
    return About(name, _base_model(name), licence, said, [], {}, {}, {})


def about_run(path: Path) -> About:
    """What a run says: its checkpoint, and ``metrics.json`` where that is about this checkpoint.

    Args:
        path: as of ``load_encoder``: a run folder or a checkpoint file, in its run or elsewhere.

    Raises:
        FileNotFoundError: no such checkpoint.
    """
    checkpoint, state = _checkpoint(path)
    config: dict[str, Any] = redact(state["config"])
    folder = path if path.is_dir() else path.resolve().parent.parent
    results = _results(folder / "metrics.json", config)
    is_scored = path.is_dir() or checkpoint.name == f"{config['final']}.ckpt"
    encoder, data = config["encoder"], config["data"]
    name = str(encoder["name"])
    _, said = _licence(encoder)
    return About(
        encoder=name,
        base_model=_base_model(name),
        licence=None,
        licence_said=f"Of the base model: {said} {OTHER_TERMS}",
        languages=_languages(data),
        training=_training(config, state),
        scores=results.get("metrics", {}) if is_scored else {},
        digests=_digests(checkpoint, results),
        **({} if is_scored or not results else {"no_scores": ANOTHER_CHECKPOINT.format(final=config["final"])}),
    )


def _checkpoint(path: Path) -> tuple[Path, dict[str, Any]]:
    """The checkpoint that ``load_encoder`` would take, and what xsent wrote into it; no weights are read."""

    def read(file: Path) -> dict[str, Any]:
        if not file.is_file():
            raise FileNotFoundError(f"{file}: no such checkpoint")
        found: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True, mmap=True)["xsent"]
        return found

    if not path.is_dir():
        return path.resolve(), read(path)
    best = path / "checkpoints" / "best.ckpt"
    state = read(best)
    final = best.with_name(f"{state['config']['final']}.ckpt")
    return (best, state) if final == best else (final, read(final))


def _results(file: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """What ``metrics.json`` says, if it is of the run that made the checkpoint."""
    if not file.is_file():
        return {}
    results: dict[str, Any] = redact(json.loads(file.read_text(encoding="utf-8")))
    own = results.get("config", {})
    return results if all(own.get(part) == config.get(part) for part in SAME_RUN) else {}


def model_card(exported: Exported, about: About, checked: Checked) -> str:
    """The whole ``README.md`` of an exported folder."""
    return (
        "\n\n".join(
            [
                _front_matter(exported, about),
                f"# {exported.name}",
                _what(exported, about),
                "## Use\n\n" + _use(exported, checked),
                "## Training\n\n" + _trained(about),
                "## Scores\n\n" + _scores(exported, about),
                "## Limits\n\n" + _bullets([*exported.limits, _languages_said(about)]),
                f"## Licence\n\n{about.licence_said}",
                "## Check\n\n" + _check(exported, checked),
                "## Digests and versions\n\n" + _table(("what", "value"), _provenance(exported, about, checked)),
            ]
        )
        + "\n"
    )


# ---- parts of the card


def _front_matter(exported: Exported, about: About) -> str:
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction", "xsent"]
    if exported.space != "original":
        tags.append(f"{exported.space}-head")
    fields: dict[str, Any] = {
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": tags,
    }
    if about.languages:
        fields["language"] = list(about.languages)
    fields |= {"license": about.licence} if about.licence else {"license": "other", "license_name": "unknown-ask"}
    if about.base_model:
        fields["base_model"] = about.base_model
    return f"---\n{yaml.safe_dump(fields, sort_keys=False).strip()}\n---"


def _what(exported: Exported, about: About) -> str:
    of = {
        "original": "",
        "meaning": " of what sentences mean (the *meaning* head)",
        "language": " of the language of sentences, not of what they say (the *language* head)",
    }
    by = "after training with" if about.training else "as it is, written by"
    return (
        f"Vectors of {exported.dim} numbers{of[exported.space]}, made by {about.encoder} {by} xsent"
        f" {xsent.__version__}."
    )


def _use(exported: Exported, checked: Checked) -> str:
    said = (
        "```python\nfrom sentence_transformers import SentenceTransformer\n\n"
        f'model = SentenceTransformer("{exported.name}")\n'
        'vectors = model.encode(["A cat sits on the mat.", "Eine Katze sitzt auf der Matte."])\n'
        "print(model.similarity(vectors, vectors))\n```\n\n"
        "The modules are sentence-transformers' own: no `trust_remote_code`. With xsent the run itself is loaded, in"
        ' all its spaces: `xsent.load_encoder("RUN")`.'
    )
    if checked.found.onnx_difference is None:
        return said
    text = json.dumps(f"{exported.prompt}A cat sits on the mat.", ensure_ascii=False)
    behind = f" (behind the prompt {exported.prompt!r})" if exported.prompt else ""
    return said + (
        f"\n\nWithout torch, from tokens to the sentence vector{behind}:\n\n"
        "```python\nimport numpy as np\nimport onnxruntime\nfrom tokenizers import Tokenizer\n\n"
        f'tokenizer = Tokenizer.from_file("{exported.name}/tokenizer.json")\n'
        f'session = onnxruntime.InferenceSession("{exported.name}/onnx/model.onnx")\n'
        f"ids = np.array([tokenizer.encode({text}).ids])\n"
        'inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}\n'
        'vector = session.run(["sentence_embedding"], inputs)[0]\n```'
    )


def _trained(about: About) -> str:
    if not about.training:
        return "Not trained here: the encoder is as it was published."
    return _table(("what", "value"), about.training.items())


def _scores(exported: Exported, about: About) -> str:
    """The figures of this space; where there are many, those over all languages."""
    mine = {name: value for name, value in about.scores.items() if exported.space in name.split("/")}
    if not mine:
        return about.no_scores if about.training else "None were measured here."
    shown = mine
    if len(mine) > MOST_SCORES:
        shown = {name: value for name, value in mine.items() if {"mean", "all"} & set(name.split("/"))} or dict(
            list(mine.items())[:MOST_SCORES]
        )
    rows = [(name, "undefined" if value is None else f"{value:.4g}") for name, value in shown.items()]
    said = [_table(("metric", "value"), rows)]
    if left := len(mine) - len(shown):
        said.append(f"{left} more are in the run's `metrics.json`.")
    if also := sorted(_scored_languages(mine) - set(about.languages)):
        said.append(f"Scored on, {'too' if about.languages else 'trained on or not'}: {', '.join(also)} (ISO 639-3).")
    return "\n\n".join(said)


def _languages_said(about: About) -> str:
    if not about.languages:
        return "Which languages it was trained on is not known here."
    return f"Trained on {', '.join(about.languages)} (ISO 639-3); nothing is known of other languages but by scores."


def _check(exported: Exported, checked: Checked) -> str:
    found = checked.found
    lines = [
        f"{found.texts} hard texts (scripts, white space, control characters, emoji, combining marks, texts that are"
        " cut) were encoded in a fresh process without a network, alone and in batches. A difference is that of the two"
        " vectors' most different numbers, divided by the vector's length.",
        f"sentence-transformers {found.versions['sentence-transformers']}: largest difference {found.difference:.1e},"
        f" allowed {checked.tolerance:.0e}.",
    ]
    if found.onnx_difference is not None:
        lines.append(
            f"onnxruntime {found.versions['onnxruntime']}: largest difference {found.onnx_difference:.1e}, allowed"
            f" {checked.onnx_tolerance:.0e}."
        )
    if checked.empty:
        lines.append(f"{checked.empty} of these texts have no token; see Limits for what they are given.")
    if checked.undefined:
        lines.append(f"{checked.undefined} texts without a token were left out: no module gives them a vector.")
    return _bullets(lines)


def _provenance(exported: Exported, about: About, checked: Checked) -> list[tuple[str, str]]:
    here = environment()
    versions = [*checked.found.versions.items(), ("xsent", str(here["xsent"])), ("git", str(here["git"]))]
    rows = [("encoder and heads", exported.digest), *about.digests.items()]
    return [*rows, *[(f"exported with {name}", value) for name, value in versions]]


# ---- what is known of a run


def _training(config: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, str]:
    recipe, data = config["recipe"], config["data"]
    kind = str(recipe["_target_"]).rpartition(".")[2]
    rows = {"recipe": RECIPES.get(kind, kind)}
    if "host" in recipe:
        has_terms = recipe["oracle"] is not None and any(recipe["weights"]["oracle"].values())
        rows["variant"] = str(recipe["host"]) + (" with the ORACLE terms" if has_terms else "")
    rows["encoder"] = str(config["encoder"]["name"])
    if recipe.get("teacher"):
        rows["teacher"] = f"{recipe['teacher']['name']}: the vectors are of its space, to be compared with its own"
    rows["data"] = str(data.get("name") or str(data.get("_target_", "unknown")).rpartition(".")[2])
    if languages := _languages(data):
        rows["languages"] = ", ".join(languages)
    size = data.get("global_batch_size")
    rows["seen"] = f"{state['batches_seen']:,} batches{f' of {size}' if size else ''}"
    rows["seed"] = str(config["seed"])
    return rows


def _digests(checkpoint: Path, results: Mapping[str, Any]) -> dict[str, str]:
    rows = {"checkpoint": sha256(checkpoint)}
    for name, said in (("data", "data"), ("encoder", "encoder, as trained on or trained"), ("git", "trained with git")):
        if results.get(name):
            rows[said] = str(results[name])
    packages: Mapping[str, str] = results.get("packages", {})
    return rows | {f"trained with {name}": packages[name] for name in ("torch", "transformers") if name in packages}


def _languages(data: Mapping[str, Any]) -> list[str]:
    """Those that the config names; what stands for "all that the files have" is not known here."""
    named = data.get("languages")
    return sorted({to_iso639_3(one) for one in named}) if isinstance(named, list) else []


def _scored_languages(scores: Iterable[str]) -> set[str]:
    pairs = [PAIR.fullmatch(part) for name in scores for part in name.split("/")]
    return {language for pair in pairs if pair for language in pair.groups()}


def _base_model(name: str) -> str | None:
    return name if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else None


def _licence(encoder: Mapping[str, Any]) -> tuple[str | None, str]:
    """The identifier, and a sentence: as the card beside the base model's files has it."""
    name, path = str(encoder["name"]), encoder.get("path")
    if str(encoder.get("_target_", "")).endswith("StaticEncoder.load") and path is None:
        return "apache-2.0", "Apache-2.0, as xsent, which the encoder is a part of; docs/mini.md there names its data."
    card = Path(path).expanduser() / "README.md" if path else _cached_card(name, encoder.get("revision"))
    front = FRONT_MATTER.match(card.read_text(encoding="utf-8")) if card and card.is_file() else None
    licence = (yaml.safe_load(front.group(1)) or {}).get("license") if front else None
    if not isinstance(licence, str):
        return None, UNKNOWN_LICENCE
    return licence, f"{licence}, as the card of the base model {name} says."


def _cached_card(name: str, revision: str | None) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    if _base_model(name) is None:
        return None
    found = try_to_load_from_cache(name, "README.md", revision=revision)
    return Path(found) if isinstance(found, str) else None


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(header: tuple[str, str], rows: Any) -> str:
    lines = [f"| {header[0]} | {header[1]} |", "| --- | --- |"]
    return "\n".join(lines + [f"| {name} | {str(value).replace('|', chr(92) + '|')} |" for name, value in rows])
