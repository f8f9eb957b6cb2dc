"""Model card (``README.md``) of an exported folder: use, training, scores, limits, licence, check, digests."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from huggingface_hub import EvalResult, ModelCard, ModelCardData, try_to_load_from_cache
from jinja2 import Environment, FileSystemLoader, StrictUndefined

import xsent
from xsent.files.strict_json import read_json_object
from xsent.languages import to_iso639_1, to_iso639_3
from xsent.models.export.check import CheckedExport
from xsent.paths import sha256
from xsent.reporting.environment import environment
from xsent.reporting.secrets import redact

# Method and source of each recipe, by its class.
RECIPES = {
    "LabseRecipe": "Translation ranking (Feng et al. 2022, arXiv:2007.01852; Yang et al. 2019, arXiv:1902.08564)",
    "DisentanglingRecipe": "Meaning and language separated by heads on a frozen encoder (Ki, Park, Kim 2024)",
    "ParaphraseRecipe": "Paraphrase identification with hard negatives (Fedorova and Musatow 2024)",
    "TransferRecipe": "Multilingual distillation (Reimers and Gurevych 2020, arXiv:2004.09813)",
    "RolaserRecipe": "Robustness to user-generated text by distillation (Nishimwe, Sagot, Bawden 2024)",
}
LANGUAGE_PAIR = re.compile(r"([a-z]{3})-([a-z]{3})")  # in the name of a metric
SAME_RUN = ("run_dir", "recipe", "encoder", "data", "seed")  # two configs that agree on these are of one run
MAX_SCORES = 40  # rows of the table
MAX_FILES = 20  # names in a row

templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
# Line breaks and bars of a value would end the row of its table.
templates.filters["cell"] = lambda value: " ".join(str(value).split()).replace("|", r"\|")
templates.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)


class Exported(NamedTuple):
    """Contents of the folder."""

    name: str  # of the folder
    space: str  # original | meaning | language
    dim: int
    max_length: int
    digest: str  # of the encoder, its heads included
    limits: Sequence[str]
    prompt: str  # which the folder puts before every text, but onnxruntime does not


class About(NamedTuple):
    """Origin of the encoder."""

    encoder: str
    base_model: str | None  # its name on the hub
    licence: str | None  # identifier of the licence of the weights; None: unknown
    licence_source: str  # where the licence is from
    languages: Sequence[str]  # of the training, ISO 639-3
    training: Mapping[str, str]  # rows of a table; empty: not trained here
    scores: Mapping[str, float | None]  # by metric, all spaces; None: undefined
    digests: Mapping[str, str]
    scored_checkpoint: str = ""  # file name of the checkpoint that the run scored instead of this one


def about_encoder(config: Mapping[str, Any]) -> About:
    """Describe an untrained encoder of ``conf/encoder``."""
    name = str(config["name"])
    return About(name, _base_model(name), *_licence(config), [], {}, {}, {})


def about_run(path: Path) -> About:
    """Describe a checkpoint, with the scores of ``metrics.json`` if the run scored this checkpoint.

    Args:
        path: as of ``load_encoder``: a run folder, or a checkpoint file anywhere.

    Raises:
        FileNotFoundError: no such checkpoint.
    """
    folder = path if path.is_dir() else path.resolve().parent.parent
    checkpoint = folder / "checkpoints" / "best.ckpt" if path.is_dir() else path.resolve()
    state = _read_state(checkpoint)
    final = f"{state['config']['final']}.ckpt"
    if path.is_dir() and checkpoint.name != final:
        checkpoint = checkpoint.with_name(final)
        state = _read_state(checkpoint)
    config: dict[str, Any] = redact(state["config"])
    results = _results(folder / "metrics.json", config)
    is_scored = checkpoint.name == final
    labels = {"data": "data", "encoder": "encoder, as trained on or trained", "git": "trained with git"}
    packages: Mapping[str, str] = results.get("packages", {})
    name = str(config["encoder"]["name"])
    return About(
        encoder=name,
        base_model=_base_model(name),
        licence=None,  # the training data may have terms that no file of the run says
        licence_source=_licence(config["encoder"])[1],
        languages=_languages(config["data"], state),
        training=_training(config, state),
        scores=results.get("metrics", {}) if is_scored else {},
        digests={
            "checkpoint": sha256(checkpoint),
            **{label: str(results[name]) for name, label in labels.items() if results.get(name)},
            **{f"trained with {name}": packages[name] for name in ("torch", "transformers") if name in packages},
        },
        scored_checkpoint=final if results and not is_scored else "",
    )


def model_card(exported: Exported, about: About, checked: CheckedExport) -> str:
    """Text of the ``README.md`` of an exported folder."""
    scores = {name: value for name, value in about.scores.items() if exported.space in name.split("/")}
    shown_scores = dict(scores)
    if len(scores) > MAX_SCORES:  # those over all languages, or else the first
        averages = {name: value for name, value in scores.items() if {"mean", "all"} & set(name.split("/"))}
        shown_scores = averages or dict(list(scores.items())[:MAX_SCORES])
    directions = [LANGUAGE_PAIR.fullmatch(part) for name in scores for part in name.split("/")]
    scored_languages = {language for direction in directions if direction for language in direction.groups()}
    current = environment()
    versions = {**checked.result.versions, "xsent": current["xsent"], "git": current["git"]}
    body = templates.get_template("model_card.jinja").render(
        exported=exported,
        about=about,
        checked=checked,
        xsent=xsent.__version__,
        scores={name: "undefined" if value is None else f"{value:.4g}" for name, value in shown_scores.items()},
        omitted=len(scores) - len(shown_scores),
        scored_languages=sorted(scored_languages - set(about.languages)),
        provenance=[
            ("encoder and heads", exported.digest),
            *about.digests.items(),
            *((f"exported with {name}", value) for name, value in versions.items()),
        ],
    )
    body = re.sub(r"\n{3,}", "\n\n", body).strip()
    return str(ModelCard(f"---\n{_metadata(exported, about, shown_scores).to_yaml()}\n---\n\n{body}\n"))


def _metadata(exported: Exported, about: About, scores: Mapping[str, float | None]) -> ModelCardData:
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction", "xsent"]
    # test/<evaluator>/<space>/<item>/<metric>
    parts = {name: name.split("/") for name, value in scores.items() if value is not None and name.count("/") == 4}
    results = [
        EvalResult(
            task_type="sentence-similarity",
            dataset_type=evaluator,
            dataset_name=f"{evaluator} {item}",
            dataset_config=item,
            metric_type=metric,
            metric_name=name,
            metric_value=scores[name],
        )
        for name, (_, evaluator, _, item, metric) in parts.items()
    ]
    return ModelCardData(
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=tags if exported.space == "original" else [*tags, f"{exported.space}-head"],
        language=[to_iso639_1(language) for language in about.languages] or None,
        base_model=about.base_model,
        model_name=exported.name if results else None,
        eval_results=results or None,
        license=about.licence or "other",
        license_name=None if about.licence else "unknown-ask",
    )


def _read_state(checkpoint: Path) -> dict[str, Any]:
    """Entry ``xsent`` of a checkpoint; weights stay on disk."""
    if not checkpoint.is_file():
        raise FileNotFoundError(f"{checkpoint}: no such checkpoint")
    state: dict[str, Any] = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)["xsent"]
    return state


def _results(file: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Contents of ``metrics.json``; empty unless the run that made the checkpoint wrote it."""
    if not file.is_file():
        return {}
    results: dict[str, Any] = redact(read_json_object(file))
    scored_config = results.get("config", {})
    return results if all(scored_config.get(part) == config.get(part) for part in SAME_RUN) else {}


def _training(config: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, str]:
    recipe, data = config["recipe"], config["data"]
    kind = str(recipe["_target_"]).rpartition(".")[2]
    rows = {"recipe": RECIPES.get(kind, kind)}
    if "host" in recipe:
        has_terms = recipe["oracle"] is not None and any(recipe["weights"]["oracle"].values())
        rows["variant"] = str(recipe["host"]) + (" with the ORACLE terms" if has_terms else "")
    rows["encoder"] = str(config["encoder"]["name"])
    if recipe.get("teacher"):
        rows["teacher"] = f"{recipe['teacher']['name']}: the vectors are in its space; compare them with its own"
    rows["data"] = str(data.get("name") or str(data.get("_target_", "unknown")).rpartition(".")[2])
    if languages := _languages(data, state):
        rows["languages"] = ", ".join(languages)
    if summary := state.get("training_data"):
        files = summary["files"]
        if files:
            more = f" and {len(files) - MAX_FILES} more" if len(files) > MAX_FILES else ""
            rows["files"] = (
                f"{', '.join(files[:MAX_FILES])}{more}: {summary['lines']:,} lines, {summary['rejected']:,} rejected"
            )
        rows["examples"] = f"{summary['train']:,} to train on, {summary['valid']:,} to validate"
    size = data.get("global_batch_size")
    rows["seen"] = f"{state['batches_seen']:,} batches{f' of {size}' if size else ''}"
    rows["seed"] = str(config["seed"])
    return rows


def _languages(data: Mapping[str, Any], state: Mapping[str, Any]) -> list[str]:
    """Languages of the training data; for checkpoints of earlier versions, those that the config lists."""
    if "training_data" in state:
        return list(state["training_data"]["languages"])
    listed = data.get("languages")
    return sorted({to_iso639_3(language) for language in listed}) if isinstance(listed, list) else []


def _base_model(name: str) -> str | None:
    return name if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else None


def _licence(encoder: Mapping[str, Any]) -> tuple[str | None, str]:
    """Identifier and source of the licence of the base model: its own card on disk or in the Hub's cache."""
    name, path = str(encoder["name"]), encoder.get("path")
    if str(encoder.get("_target_", "")).endswith("StaticEncoder.load") and path is None:
        pages = "docs/mini.md and docs/micro.md"
        return "apache-2.0", f"Apache-2.0, as xsent, which the encoder is a part of; {pages} there name the data."
    card: object = None
    if path:
        card = Path(path).expanduser() / "README.md"
    elif _base_model(name):
        card = try_to_load_from_cache(name, "README.md", revision=encoder.get("revision"))
    if not isinstance(card, str | Path) or not Path(card).is_file():
        return None, ""
    licence = ModelCard(Path(card).read_text(encoding="utf-8"), ignore_metadata_errors=True).data.get("license")
    if not isinstance(licence, str):
        return None, ""
    return licence, f"{licence}, as the card of the base model {name} says."
