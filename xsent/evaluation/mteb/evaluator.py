"""MTEB tasks (Muennighoff et al. 2023, arXiv:2210.07316), scored by ``mteb`` from our embeddings."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.dataset_evaluator import zero_vectors
from xsent.evaluation.evaluator import Evaluation, Evaluator, number_texts
from xsent.evaluation.mteb.model import MtebModel, Vectors
from xsent.evaluation.mteb.task_data import TEST, data_digest, quiet_mteb, read_task


@dataclass(kw_only=True, eq=False, repr=False)
class MtebEvaluator(Evaluator):
    """Classification, pair classification and similarity tasks of MTEB in one language.

    Args:
        name: prefix of the metrics.
        root: folder with a folder per task, named like the task, that has the task's files as on the hub
            (``train.jsonl``, ``test.jsonl``, also compressed or Parquet) or as ``save_to_disk`` of ``datasets`` writes
            them; None: the local cache of the hub.
        download: download files that are not in the cache.
        tasks: the metric of ``mteb`` to report, by name of the task.
        cache_dir: cache of ``datasets``.

    Metrics:
        ``<name>/<task>/<metric>`` x 100, of the task's test split.
    """

    name: str
    root: str | None
    download: bool
    tasks: Mapping[str, str]
    cache_dir: str

    def __post_init__(self) -> None:
        if self.root is not None and self.download:
            raise ValueError("evaluator.download=true is for evaluator.root=null: a folder is read as it is")
        if not self.tasks:
            raise ValueError("evaluator.tasks: expected at least one task of MTEB, found none")

    @cached_property
    def _tasks(self) -> list[Any]:
        with quiet_mteb() as mteb:
            return [
                read_task(mteb, name, root=self.root, download=self.download, cache_dir=self.cache_dir)
                for name in self.tasks
            ]

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """The distinct texts that ``mteb`` encodes, by task; a classification trains on few of its sentences."""
        texts = {}
        for task in tqdm(self._tasks, desc=f"{self.name}: texts of the tasks", leave=False):
            name = task.metadata.name
            texts[name], figures = _trial_run(task)
            if self.tasks[name] not in figures:
                raise ValueError(
                    f"evaluator.tasks.{name}={self.tasks[name]}: expected one of {', '.join(sorted(figures))}"
                )
        return texts

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return number_texts(text for texts in self._texts.values() for text in texts)

    def check(self) -> None:
        """Read the tasks' data, and run the tasks on random vectors to learn which texts they encode.

        Raises:
            ImportError: ``mteb`` is not installed.
            FileNotFoundError: data are missing; the message says how to get them.
            ValueError: there is no such task or metric, or the data have another format.
        """
        assert self._row_of

    def digest(self) -> str:
        return hashlib.sha256(" ".join(data_digest(task) for task in self._tasks).encode()).hexdigest()

    def sentences(self) -> list[str]:
        return list(self._row_of)

    def metric_names(self) -> list[str]:
        return [f"{self.name}/{task}/{figure}" for task, figure in self.tasks.items()]

    def score(self, vectors: Tensor) -> Evaluation:
        by_row = vectors.float().numpy(force=True)  # (N, D)
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        for task in tqdm(self._tasks, desc=self.name, leave=False):
            name = task.metadata.name
            figure = self.tasks[name]
            value = 100 * run_task(task, lambda texts: by_row[[self._row_of[text] for text in texts]])[figure]
            metrics[f"{self.name}/{name}/{figure}"] = value
            zeros = zero_vectors(vectors[[self._row_of[text] for text in self._texts[name]]])
            row = {"evaluator": self.name, "direction": name, figure: value, "zero_vectors": zeros}
            row |= {"queries": len(task.dataset[TEST]), "revision": task.metadata.dataset["revision"]}
            details.append(row)
        return Evaluation(metrics, details)


def _trial_run(task: Any) -> tuple[list[str], dict[str, float]]:
    """The distinct texts that ``mteb`` encodes for a task, and its metrics of random vectors."""
    encoded: dict[str, None] = {}
    random = np.random.default_rng(0)

    def encode(texts: Sequence[str]) -> Vectors:
        encoded.update(dict.fromkeys(texts))
        return random.standard_normal((len(texts), 2), dtype=np.float32)

    figures = run_task(task, encode)
    return list(encoded), figures


def run_task(task: Any, vectors: Callable[[Sequence[str]], Vectors]) -> dict[str, float]:
    """Metrics that ``mteb`` computes for a task, by name."""
    with quiet_mteb() as mteb:
        from mteb.models import ModelMeta

        result = mteb.evaluate(
            MtebModel(vectors, ModelMeta.create_empty()), task, cache=None, co2_tracker=False, show_progress_bar=False
        )
    (task_result,) = result.task_results
    (scores,) = task_result.scores[TEST]
    return {name: value for name, value in scores.items() if isinstance(value, float)}
