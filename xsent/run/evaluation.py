"""Evaluation: ``evaluate.py``, loading of trained models, result files of a run."""

from __future__ import annotations

import logging
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.utils import get_object
from omegaconf import DictConfig

from xsent.config_checks import UsageError
from xsent.run.announce import model_names
from xsent.run.config.build import build, build_evaluator, truncates
from xsent.run.config.compose import plain
from xsent.run.loading import check_source, load_model
from xsent.run.start import Command, read_record, started, writing

if TYPE_CHECKING:
    from xsent.evaluation.charts import Chart
    from xsent.evaluation.evaluator import Evaluation, Evaluator

log = logging.getLogger(__name__)

MAX_FIGURES = 3  # in the last line of the log


def evaluate_command(command: Command) -> dict[str, float]:
    """Score what a command of ``evaluate.py`` asks for; returns the metrics."""
    with started(command) as config:
        return evaluate_run(config)


def evaluate(cfg: DictConfig) -> dict[str, float]:
    """Score an encoder or a trained run; returns the metrics."""
    return evaluate_run(plain(cfg))


def evaluate_run(config: dict[str, Any], model: Any = None, run: Mapping[str, Any] | None = None) -> dict[str, float]:
    """``evaluate`` with a resolved config.

    Args:
        config: of ``evaluate``.
        model: encoder or pair judge; None: that of the config.
        run: config of the run that trained ``model``.
    """
    with writing(Path(config["run_dir"])):
        return _evaluate_run(config, model, run)


def _evaluate_run(config: dict[str, Any], model: Any, run: Mapping[str, Any] | None) -> dict[str, float]:
    from xsent.evaluation.sentence_sample import sample_sentences
    from xsent.reporting.environment import environment
    from xsent.reporting.run_outputs import remove_outputs

    silence_libraries()
    start = time.perf_counter()
    pictures = config["pictures"]
    check_pictures(pictures)
    if model is None and config["ckpt"] is not None:
        check_source(config["ckpt"])
    evaluator = _build_evaluator(config)
    if model is None and config["ckpt"] is not None:
        trust = config["trust_remote_code"]
        dim = config["encoder"]["dim"] if truncates(config["encoder"]) else None
        model, run = load_model(config["ckpt"], device=config["device"], dim=dim, trust_remote_code=trust)
    elif model is None:
        model = build(config["encoder"], "encoder").to(config["device"])
    _check_same_split(config["evaluator"], run)
    trained_space = None if run is None else get_object(run["recipe"]["_target_"]).trained_space
    columns = {} if trained_space is None else {trained_space: "trained"}
    to_draw: tuple[list[str], list[str]] = ([], [])
    if hasattr(model, "encode"):
        to_draw = sample_sentences(
            evaluator, languages=pictures["languages"], per_language=pictures["pairs_per_language"]
        )
    run_dir = Path(config["run_dir"])
    digest = evaluator.digest()
    about = environment() | {"encoder": model.digest(), "data": digest, "test_sets": digest, "seed": config["seed"]}
    about |= {"before": {}, "columns": columns}
    remove_outputs(run_dir, with_curves=not (run_dir / "config.yaml").is_file())  # keep the files of a training
    scored = score_model(model, evaluator)
    finish_run(scored, model, partial(embed_spaces, model), to_draw, config=config, about=about, start=start)
    return {f"test/{name}": value for name, value in scored.metrics.items()}


def score(config: dict[str, Any], model: Any, run: Mapping[str, Any] | None) -> dict[str, float]:
    """Metrics of a model; nothing is written. Arguments as of ``evaluate_run``."""
    silence_libraries()
    _check_same_split(config["evaluator"], run)
    scored = score_model(model, _build_evaluator(config))
    return {f"test/{name}": value for name, value in scored.metrics.items()}


def _build_evaluator(config: Mapping[str, Any]) -> Evaluator:
    evaluator = build_evaluator(config["evaluator"], None, split="test", device=config["device"])
    if evaluator is None:
        raise UsageError("evaluator=none: nothing to evaluate; choose one, such as evaluator=tatoeba")
    return evaluator


def _check_same_split(evaluator: Mapping[str, Any], run: Mapping[str, Any] | None) -> None:
    """Raise ``UsageError`` if an evaluator splits the files of a run differently than the run did."""
    if run is None:
        return
    data = run["data"]
    members = evaluator.get("members", {"": evaluator}).values()
    for read in (member["read"] for member in members if isinstance(member.get("read"), Mapping)):
        # Options of the reader stand beside it in the data.
        options = {**data, **(data.get("source") or {})}
        if "source" not in read or any(options.get(name) != value for name, value in read["source"].items()):
            continue
        for share in ("valid_share", "test_share"):
            if read[share] != data[share]:
                raise UsageError(
                    f"evaluator.read.{share}={read[share]}: the run held out data.{share}={data[share]}; another"
                    " share would score its training pairs as held out"
                )


def score_model(model: Any, evaluator: Evaluator) -> Evaluation:
    """Score an encoder in all its spaces, or a pair judge.

    Raises:
        ValueError: the evaluator needs vectors and the model has none.
    """
    from xsent.evaluation.evaluator import as_pair_evaluator, score_spaces

    if not hasattr(model, "judge"):
        evaluator.bind_encoder(model)
        return score_spaces(evaluator, embed_spaces(model, evaluator.sentences()))
    pair_evaluator = as_pair_evaluator(evaluator)
    judgements = model.judge(pair_evaluator.pairs(), progress=True)
    return pair_evaluator.score_pairs(judgements, threshold=model.threshold)


def embed_spaces(embedder: Any, sentences: Sequence[str]) -> dict[str, Any]:
    """Vectors (N, D) by space: of the heads, or ``original``."""
    embed = getattr(embedder, "embed", None)
    if embed is not None:
        return dict(embed(sentences, show_progress=True))
    return {"original": embedder.encode(sentences, show_progress=True)}


def report(
    scored: Evaluation,
    embedder: Any,
    *,
    config: dict[str, Any],
    about: Mapping[str, Any],
    folder: Path,
    start: float,
    show: bool = True,
) -> None:
    """Write and show the results, and warn of swapped parts; each row of details starts with encoder and pooling."""
    from xsent.reporting.run_outputs import report_results

    encoder = getattr(embedder, "encoder", embedder)  # of the heads or of a recipe
    pooling = encoder.settings()["pooling"]
    conditions = {"encoder": encoder.name, "pooling": pooling if isinstance(pooling, str) else "+".join(pooling)}
    details = [{**conditions, **row} for row in scored.details]
    scored = scored._replace(
        details=details, charts=[_with_heading(chart, about.get("columns", {})) for chart in scored.charts]
    )
    seconds = {"seconds": time.perf_counter() - start}
    report_results(scored, config=config, about={**about, **seconds}, folder=folder, show=show)
    for warning in swapped_parts(scored.metrics):
        log.warning("%s", warning)


def swapped_parts(metrics: Mapping[str, float]) -> list[str]:
    """A warning for each evaluator that language vectors do better at than meaning vectors.

    Args:
        metrics: named ``<evaluator>/<space>/<item>/<metric>``.
    """
    from xsent.reporting.pages.verdict import direction_word, main_metrics

    warnings = []
    for name in main_metrics(f"test/{metric}" for metric in metrics):
        meaning = name.removeprefix("test/")
        language = meaning.replace("/meaning/", "/language/", 1)
        if language not in metrics or language == meaning:
            continue
        if direction_word(name, metrics[language] - metrics[meaning]) == "better":
            warnings.append(
                f"{meaning} is {metrics[meaning]:.2f} and {language} {metrics[language]:.2f}: the parts have swapped"
                " their roles; docs/recipes/oracle.md tells when that happens"
            )
    return warnings


def _with_heading(chart: Chart, columns: Mapping[str, str]) -> Chart:
    """The chart of a space with the heading of its column in the title, which ends with the space."""
    title, comma, space = chart.title.rpartition(", ")
    return chart._replace(title=title + comma + columns.get(space, space))


def check_pictures(pictures: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if an option of ``pictures`` has the wrong type or range."""
    languages, pairs, perplexity = (pictures[name] for name in ("languages", "pairs_per_language", "perplexity"))
    seconds = pictures["min_seconds"]
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds >= 0:
        raise ValueError(f"pictures.min_seconds: expected a number of seconds, 0 or more, found {seconds!r}")
    if languages is not None and not (isinstance(languages, list) and all(isinstance(code, str) for code in languages)):
        raise UsageError(f"pictures.languages: expected a list of languages or null, found {languages!r}")
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 0:
        raise UsageError(f"pictures.pairs_per_language: expected a whole number, 0 or more, found {pairs!r}")
    if isinstance(perplexity, bool) or not isinstance(perplexity, int | float) or not 0 < perplexity < math.inf:
        raise UsageError(f"pictures.perplexity: expected a number above 0, found {perplexity!r}")


def finish_run(
    scored: Evaluation,
    model: Any,
    embed: Callable[[list[str]], Mapping[str, Any]],
    to_draw: tuple[list[str], list[str]],
    *,
    config: dict[str, Any],
    about: Mapping[str, Any],
    start: float,
) -> None:
    """Write results, pictures and page of a run.

    Args:
        scored, model, config, about, start: as in ``report``.
        embed: N sentences to vectors (N, D) by space.
        to_draw: sentences of the pictures and their languages; a failure to draw them is logged.
    """
    from xsent.batch import MarksLanguages
    from xsent.evaluation.evaluator import base_encoder
    from xsent.reporting.pages import try_report

    folder = Path(config["run_dir"])
    report(scored, model, config=config, about=about, folder=folder, start=start)
    sentences, languages = to_draw
    min_seconds = config["pictures"]["min_seconds"]
    if sentences and time.perf_counter() - start < min_seconds:
        log.info("no pictures of a run below %g s; pictures.min_seconds=0 draws them", min_seconds)
    elif sentences:
        columns: Mapping[str, str] = about["columns"]
        if isinstance(encoder := base_encoder(model), MarksLanguages):
            encoder.set_languages({text: [code] for text, code in zip(sentences, languages, strict=True)})
        vectors = {columns.get(space, space): rows for space, rows in embed(sentences).items()}
        _draw(vectors, sentences, languages, config)
    try_report(folder)
    _log_end(folder, scored, about, seconds=time.perf_counter() - start)


def _draw(vectors: Mapping[str, Any], sentences: list[str], languages: list[str], config: Mapping[str, Any]) -> None:
    """Draw the pictures; a failure is logged."""
    from xsent.reporting.plots.embeddings import projection_pictures

    folder = Path(config["run_dir"]) / "pictures"
    options = {"seed": config["seed"], "perplexity": config["pictures"]["perplexity"]}
    try:
        paths = projection_pictures(vectors, sentences, languages, folder=folder, **options)
        log.info("pictures: %s", ", ".join(str(path) for path in paths))
    except ValueError as error:
        log.warning("no pictures: %s", error)
    except Exception:  # must not stop a finished run
        log.exception("no pictures; all other results are written")


def _log_end(folder: Path, scored: Evaluation, about: Mapping[str, Any], *, seconds: float) -> None:
    """Log what ran, its main figures, how long it took and where the results are."""
    from xsent.reporting.pages.verdict import main_metrics
    from xsent.reporting.tables.results import figure_text

    metrics = {f"test/{name}": value for name, value in scored.metrics.items()}
    before = about["before"].get("metrics", {})
    chosen = main_metrics(metrics)[:MAX_FIGURES]
    parts = [figure_text(name, metrics, before=before, columns=about["columns"]) for name in chosen]
    if "epochs" in about:
        names, epochs = model_names(read_record(folder).get("choices", {})), about["epochs"]
        parts.insert(0, f"{names} {epochs:,} epoch{'s' * (epochs != 1)}".strip())
    log.info("done in %.0f s: %s; results are in %s", seconds, "; ".join(parts), folder)


def silence_libraries() -> None:
    """Silence expected warnings of other packages."""
    import torch

    # Subnormal numbers slow down the clustering terms on a CPU tens of times late in training.
    torch.set_flush_denormal(True)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    # sync_dist: every rank already holds the global values.
    for message in (
        "does not have many workers",
        "dataloader is not resumable",
        "sync_dist=True",
        "LeafSpec",
        "logging interval",
    ):
        warnings.filterwarnings("ignore", f".*{message}.*")
    lightning = ("utilities.rank_zero", "trainer.connectors.checkpoint_connector")
    for name in (
        "faiss.loader",
        "lightning_fabric.utilities.distributed",
        *(f"pytorch_lightning.{module}" for module in lightning),
    ):
        logging.getLogger(name).setLevel(logging.WARNING)
