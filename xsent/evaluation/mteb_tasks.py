"""Tasks of MTEB (Muennighoff et al. 2023, arXiv:2210.07316), scored by ``mteb`` itself from vectors that we give it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.evaluator import Encode, Evaluation
from xsent.evaluation.mteb_data import TEST, data_digest, quiet_mteb, read_task
from xsent.evaluation.mteb_model import MtebModel, Vectors
from xsent.evaluation.test_sets import zero_vectors


class MtebEvaluator:
    """What ``mteb`` measures: classification, pair classification and similarity in one language.

    Args:
        name: prefix of the metrics.
        root: a folder with a folder per task, called as the task is, that holds the task's files as the hub has
            them (``train.jsonl``, ``test.jsonl``, also compressed or as Parquet) or as ``save_to_disk`` of
            ``datasets`` writes them; None: the hub's files in the local cache.
        download: whether files that the cache has not may be fetched from the hub.
        tasks: by name of a task the figure to report, one of those that ``mteb`` computes for it.
        cache_dir: where ``datasets`` keeps what it reads in a form of its own.

    Metrics:
        ``<name>/<task>/<figure>`` x 100, of the task's test split.
    """

    def __init__(
        self, *, name: str, root: str | None, download: bool, tasks: Mapping[str, str], cache_dir: str
    ) -> None:
        if root is not None and download:
            raise ValueError("evaluator.download=true is for evaluator.root=null: a folder is read as it is")
        if not tasks:
            raise ValueError("evaluator.tasks: expected at least one task of MTEB, found none")
        self.name = name
        self.root = root
        self.download = download
        self.figures = dict(tasks)
        self.cache_dir = cache_dir

    @cached_property
    def _tasks(self) -> list[Any]:
        with quiet_mteb() as mteb:
            return [
                read_task(mteb, name, root=self.root, download=self.download, cache_dir=self.cache_dir)
                for name in self.figures
            ]

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """By task the distinct texts that ``mteb`` asks for; a classification trains on few of its sentences."""
        found = {}
        for task in tqdm(self._tasks, desc=f"{self.name}: what is asked for", leave=False):
            name = task.metadata.name
            found[name], figures = _ask(task)
            if self.figures[name] not in figures:
                raise ValueError(
                    f"evaluator.tasks.{name}={self.figures[name]}: expected one of {', '.join(sorted(figures))}"
                )
        return found

    @cached_property
    def _row_of(self) -> dict[str, int]:
        distinct = dict.fromkeys(text for texts in self._texts.values() for text in texts)
        return {text: row for row, text in enumerate(distinct)}

    def check(self) -> None:
        """Read the tasks' data, and try what is asked of them on random vectors.

        Raises:
            ImportError: ``mteb`` is not installed.
            FileNotFoundError: data that are not there; says how to get them.
            ValueError: there is no such task or figure, or the data have another form.
        """
        assert self._row_of

    def digest(self) -> str:
        """Of the data of all tasks."""
        return hashlib.sha256(" ".join(data_digest(task) for task in self._tasks).encode()).hexdigest()

    def sentences(self) -> list[str]:
        """The N distinct sentences that ``mteb`` asks for."""
        return list(self._row_of)

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        known = vectors.float().numpy(force=True)  # (N, D)
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        for task in tqdm(self._tasks, desc=self.name, leave=False):
            name = task.metadata.name
            figure = self.figures[name]
            value = 100 * run_task(task, lambda texts: known[[self._row_of[text] for text in texts]])[figure]
            metrics[f"{self.name}/{name}/{figure}"] = value
            zeros = zero_vectors(vectors[[self._row_of[text] for text in self._texts[name]]])
            details.append(self._detail(task, {figure: value, "zero_vectors": zeros}))
        return Evaluation(metrics, details)

    def _detail(self, task: Any, figures: Mapping[str, object]) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": task.metadata.name, **figures,
            "queries": len(task.dataset[TEST]), "revision": task.metadata.dataset["revision"],
        }  # fmt: skip

    def __call__(self, encode: Encode) -> dict[str, float]:
        """Figures of whatever ``encode`` makes of the sentences."""
        return self.score(encode(self.sentences())).metrics


def _ask(task: Any) -> tuple[list[str], dict[str, float]]:
    """The distinct texts that ``mteb`` asks for in a task, and what it makes of random vectors."""
    asked: dict[str, None] = {}
    random = np.random.default_rng(0)

    def note(texts: Sequence[str]) -> Vectors:
        asked.update(dict.fromkeys(texts))
        return random.standard_normal((len(texts), 2), dtype=np.float32)

    figures = run_task(task, note)
    return list(asked), figures


def run_task(task: Any, vectors: Callable[[Sequence[str]], Vectors]) -> dict[str, float]:
    """What ``mteb`` computes of a task, by name."""
    with quiet_mteb() as mteb:
        from mteb.models import ModelMeta

        result = mteb.evaluate(
            MtebModel(vectors, ModelMeta.create_empty()), task, cache=None, co2_tracker=False, show_progress_bar=False
        )
    (found,) = result.task_results
    (scores,) = found.scores[TEST]
    return {name: value for name, value in scores.items() if isinstance(value, float)}
