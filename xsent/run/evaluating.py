"""``evaluate.py``, and encoders read back from runs."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from omegaconf import DictConfig

from xsent.run.building import build, build_evaluator, build_recipe, check_sizes
from xsent.run.config import plain
from xsent.run.masking import mask_hydra_files

if TYPE_CHECKING:
    from xsent.batch import Embedder, PairJudge
    from xsent.evaluation.evaluator import Evaluation, Evaluator

log = logging.getLogger(__name__)


def evaluate(cfg: DictConfig) -> dict[str, float]:
    """Score an encoder as it is, or what a run learned; returns the metrics."""
    from xsent.evaluation.sample import sample_of
    from xsent.reporting.earlier import remove_outputs
    from xsent.reporting.environment import environment
    from xsent.reporting.report.shell import check_assets

    mask_hydra_files()
    quiet_libraries()
    check_assets()
    start = time.perf_counter()
    config = plain(cfg)
    if not config["evaluator"]:
        raise ValueError("evaluator=none leaves nothing to do; choose one, e.g. evaluator=tatoeba")
    pictures = config["pictures"]
    check_pictures(pictures)
    evaluator = build_evaluator(config["evaluator"], None, split="test", device=config["device"])
    assert evaluator is not None
    if config["ckpt"] is not None:
        embedder, trained_with = _load_run(config["ckpt"], device=config["device"])
        _check_same_split(config["evaluator"], trained_with["data"])
    else:
        embedder = build(config["encoder"]).to(config["device"])
    check_sizes(evaluator, embedder)
    to_draw: tuple[list[str], list[str]] = ([], [])
    if hasattr(embedder, "encode"):
        to_draw = sample_of(evaluator, languages=pictures["languages"], per_language=pictures["pairs_per_language"])
    run_dir = Path(config["run_dir"])
    digest = evaluator.digest()
    about = environment() | {"encoder": embedder.digest(), "data": digest, "test_sets": digest, "seed": config["seed"]}
    remove_outputs(run_dir, with_curves=not (run_dir / "config.yaml").is_file())  # a training's are not ours to remove
    scored = evaluation_of(embedder, evaluator)
    report(scored, embedder, config=config, about=about, folder=run_dir, start=start)
    if to_draw[0]:
        draw(spaces_of(embedder, to_draw[0]), to_draw, config=config, folder=run_dir)
    write_page(run_dir)
    say_done(run_dir, start)
    return {f"test/{name}": value for name, value in scored.metrics.items()}


def load_encoder(path: str | os.PathLike[str], *, device: str = "cpu") -> Embedder:
    """The encoder that a run trained, with its heads where it has some.

    Args:
        path: a run folder (then the checkpoint that the run's own table is about: that of its ``final``)
            or a checkpoint file.
        device: where the encoder computes.

    Raises:
        FileNotFoundError: no such run or checkpoint.
        ValueError: the checkpoint is damaged, or its frozen encoder is not the one it was trained on; or the run
            trained no encoder.
    """
    found, config = _load_run(path, device=device)
    if not hasattr(found, "encode"):
        raise ValueError(f"{path}: a run of {_recipe(config)}, which judges pairs; a sentence has no vector there")
    return cast("Embedder", found)


def load_judge(path: str | os.PathLike[str], *, device: str = "cpu") -> PairJudge:
    """What a run of ``recipe=divergence`` trained: it reads both sentences of a pair at once.

    Args:
        path, device: as in ``load_encoder``.

    Raises:
        FileNotFoundError: no such run or checkpoint.
        ValueError: the checkpoint is damaged, or the run trained something else.
    """
    found, config = _load_run(path, device=device)
    if not hasattr(found, "judge"):
        raise ValueError(f"{path}: expected a run of recipe=divergence, found one of {_recipe(config)}")
    if config["recipe"]["sentence_loss"] == "none":
        raise ValueError(f"{path}: trained with recipe.sentence_loss=none, so its scores of pairs mean nothing")
    return cast("PairJudge", found)


def _recipe(config: Mapping[str, Any]) -> str:
    return str(config["recipe"]["_target_"]).rpartition(".")[2]


def _load_run(path: str | os.PathLike[str], *, device: str) -> tuple[Embedder | PairJudge, dict[str, Any]]:
    """What a run trained, and the run's config."""
    from xsent.checkpoint import load_checkpoint

    path = Path(path)
    checkpoint = load_checkpoint(path / "checkpoints" / "best.ckpt" if path.is_dir() else path)
    config = checkpoint["xsent"]["config"]
    if path.is_dir() and config["final"] != "best":
        checkpoint = load_checkpoint(path / "checkpoints" / f"{config['final']}.ckpt")
    encoder = build(config["encoder"]).to(device)
    recipe = build_recipe(config, encoder)
    return recipe.trained_encoder(checkpoint), config


def _check_same_split(evaluator: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` when an evaluator cuts from the files of a run another part than the run held out."""
    members = evaluator.get("members", {"": evaluator}).values()
    for read in (member["read"] for member in members if isinstance(member.get("read"), Mapping)):
        if "source" not in read or read["source"] != data.get("source"):
            continue
        for share in ("valid_share", "test_share"):
            if read[share] != data[share]:
                raise ValueError(
                    f"evaluator.read.{share}={read[share]}: the run held out data.{share}={data[share]}; with"
                    " another share its training pairs would be scored as held out"
                )


def evaluation_of(found: Any, evaluator: Evaluator) -> Evaluation:
    """What an evaluator says of an encoder, in all its spaces, or of what judges pairs.

    Raises:
        ValueError: the evaluator wants vectors, and there are none.
    """
    from xsent.evaluation.evaluator import pairs_of, score_spaces, tell_cuts

    if not hasattr(found, "judge"):
        tell_cuts(evaluator, found)
        return score_spaces(evaluator, spaces_of(found, evaluator.sentences()))
    of_pairs = pairs_of(evaluator)
    return of_pairs.score_pairs(found.judge(of_pairs.pairs(), progress=True), threshold=found.threshold)


def spaces_of(embedder: Any, sentences: Sequence[str]) -> dict[str, Any]:
    """Vectors (N, D) by space: those of the heads, or ``original`` alone."""
    embed = getattr(embedder, "embed", None)
    if embed is not None:
        return dict(embed(sentences, progress=True))
    return {"original": embedder.encode(sentences, progress=True)}


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
    """Write the figures, and show them; each row of details begins with the encoder and its pooling."""
    from xsent.reporting.results import report_results

    encoder = getattr(embedder, "encoder", embedder)  # below the heads, or of a recipe
    pooling = encoder.settings()["pooling"]
    conditions = {"encoder": encoder.name, "pooling": pooling if isinstance(pooling, str) else "+".join(pooling)}
    scored = scored._replace(details=[{**conditions, **row} for row in scored.details])
    seconds = {"seconds": time.perf_counter() - start}
    report_results(scored, config=config, about={**about, **seconds}, folder=folder, show=show)


def check_pictures(pictures: Mapping[str, Any]) -> None:
    """See that pictures can be drawn as they are asked for.

    Raises:
        ValueError: something is of another kind than expected.
    """
    languages, pairs, perplexity = (pictures[name] for name in ("languages", "pairs_per_language", "perplexity"))
    if languages is not None and not (isinstance(languages, list) and all(isinstance(one, str) for one in languages)):
        raise ValueError(f"pictures.languages: expected a list of languages or null, found {languages!r}")
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 0:
        raise ValueError(f"pictures.pairs_per_language: expected a whole number, 0 or more, found {pairs!r}")
    if isinstance(perplexity, bool) or not isinstance(perplexity, int | float) or not 0 < perplexity < math.inf:
        raise ValueError(f"pictures.perplexity: expected a number above 0, found {perplexity!r}")


def draw(
    vectors: Mapping[str, Any], to_draw: tuple[list[str], list[str]], *, config: Mapping[str, Any], folder: Path
) -> None:
    """Pictures of sentences in every space, if there are enough of them; if they cannot be drawn, the log says why.

    Args:
        vectors: (N, D) by space.
        to_draw: the N sentences and their languages.
        config: whose ``pictures`` and ``seed`` say how.
        folder: of the run.
    """
    from xsent.reporting.pictures import projection_pictures

    sentences, languages = to_draw
    perplexity = config["pictures"]["perplexity"]
    if len(sentences) <= perplexity:
        log.warning("no pictures: %d sentences are too few", len(sentences))
        return
    if strange := sum(int((~x.isfinite().all(dim=1)).sum()) for x in vectors.values()):
        log.warning("no pictures: %d vectors are not finite", strange)
        return
    try:
        paths = projection_pictures(
            vectors, sentences, languages, folder=folder / "pictures", seed=config["seed"], perplexity=perplexity
        )
    except Exception:  # whatever it is, it must not cost the page and the exit status of a finished run
        log.exception("no pictures; everything else of the run is there")
        return
    log.info("pictures: %s", ", ".join(str(path) for path in paths))


def write_page(folder: Path) -> None:
    """``report.html``, written last; if it cannot be written, the log says why, for all figures are on disk."""
    from xsent.reporting.report import write_report

    try:
        write_report(folder)
    except Exception:
        log.exception("%s: no report.html; everything else of the run is there", folder)


def say_done(folder: Path, start: float) -> None:
    """The last line of a run: how long it took and where everything is."""
    log.info("done in %.0f s; everything is in %s", time.perf_counter() - start, folder)


def quiet_libraries() -> None:
    """Silence what other packages say about things that are as they should be."""
    import warnings

    # Subnormal numbers make the clustering terms tens of times slower on a CPU late in training.
    import torch

    torch.set_flush_denormal(True)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    warnings.filterwarnings("ignore", ".*does not have many workers.*")
    warnings.filterwarnings("ignore", ".*dataloader is not resumable.*")
    # Every rank holds the figures of the whole already; there is nothing to accumulate.
    warnings.filterwarnings("ignore", ".*sync_dist=True.*")
    warnings.filterwarnings("ignore", ".*LeafSpec.*")  # Lightning's own business with torch
    for name in (
        "pytorch_lightning.utilities.rank_zero",
        "pytorch_lightning.trainer.connectors.checkpoint_connector",
        "faiss.loader",
    ):
        logging.getLogger(name).setLevel(logging.WARNING)
