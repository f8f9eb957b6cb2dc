"""CLSD as a retrieval task of MTEB, scored by ``mteb`` and by our evaluator from the same embeddings."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.clsd.base import ClsdSet, ClsdSetsEvaluator, candidates_of, item_name
from xsent.evaluation.clsd.candidate_scores import CandidateScores, percent, score_candidates
from xsent.evaluation.evaluator import Evaluation, number_texts
from xsent.evaluation.mteb.evaluator import run_task
from xsent.evaluation.mteb.task_data import TEST, quiet_mteb
from xsent.similarity import cos_sim

log = logging.getLogger(__name__)

FIGURE = "recall_at_1"  # main score of mteb's own CLSD tasks
METRICS = ("mteb_pool_recall_at_1", "pool_recall_at_1", "mteb_p_at_1", "p_at_1")
CLOSE = 1e-6  # float32 rounding may exchange cosines that differ by less
ROWS = 1024  # sources whose cosines with the pool are in memory at a time
# Number of nearest texts of a pool that are compared again one by one: in a matrix product, equal vectors may have
# cosines that differ in the last bit.
RIVALS = 8


class Tasks(NamedTuple):
    """The two tasks of a direction."""

    pool: Any  # against all candidates of the direction
    own_pool: Any  # against each item's own candidates


class ClsdMtebEvaluator(ClsdSetsEvaluator):
    """Share of the sources whose translation is ranked first, among all candidates and among its own distractors.

    As in mteb's own tasks (``CrossLingualSemanticDiscriminationWMT19`` and ``...WMT21``) the pool of a direction
    consists of all its translations and distractors, and a source has one right answer. Among an item's own candidates
    the share is P@1 of the paper.

    ``mteb`` and our evaluator differ in three cases, which the details count. Ties: ``mteb`` ranks equal cosines by
    document id, we count them as errors, as in the paper (``pool_ties``, ``ties``). Rounding: ``mteb`` computes cosines
    in another order, which may exchange cosines closer than 1e-6 (``pool_close``, ``close``, ties included). Repeated
    texts: they are several documents for ``mteb``, one of which is right, and one text for us (``pool_repeated``). All
    other sources have the same result.

    Metrics:
        ``<name>/<set>_<deu-fra>/mteb_pool_recall_at_1``, ``pool_recall_at_1``, ``mteb_p_at_1`` and ``p_at_1``, percent.

    Source:
        Michail et al. 2025 (arXiv:2502.08638); Muennighoff et al. 2023 (arXiv:2210.07316).
    """

    def check(self) -> None:
        """Read the sets and make tasks of them.

        Raises:
            ImportError: ``mteb`` is not installed.
        """
        super().check()
        assert self._tasks is not None

    @cached_property
    def _tasks(self) -> list[Tasks]:
        with quiet_mteb():
            return [self._make_tasks(items) for items in self.test_sets]

    def _make_tasks(self, items: ClsdSet) -> Tasks:
        languages = [items.source_lang, items.target_lang]
        # Row numbers replace the sentences: mteb strips the texts of documents, which may make two texts equal.
        row_of = {text: str(row) for text, row in self._row_of.items()}
        sources = [row_of[text] for text in items.source]
        candidates = [[row_of[text] for text in row] for row in candidates_of(items)]
        name = item_name(items)
        pool = _task(f"{name}-pool", languages, sources, candidates, is_own=False)
        return Tasks(pool, _task(f"{name}-own", languages, sources, candidates, is_own=True))

    def metric_names(self) -> list[str]:
        return [f"{self.name}/{item_name(items)}/{metric}" for items in self.test_sets for metric in METRICS]

    def score(self, vectors: Tensor) -> Evaluation:
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        vectors = vectors.float()
        by_row = vectors.numpy(force=True)
        for items, tasks in tqdm(list(zip(self.test_sets, self._tasks, strict=True)), desc=self.name, leave=False):
            with hide_datasets_bars():
                shares = [run_task(task, lambda texts: by_row[[int(text) for text in texts]])[FIGURE] for task in tasks]
            # mteb rounds shares to five digits, which is exact for fewer than 100,000 sources.
            mteb_pool, mteb_own = (100 * round(share * len(items.source)) / len(items.source) for share in shares)
            pool, own_pool = self._score_pool(items, vectors), self._score_own(items, vectors)
            values = (mteb_pool, percent(pool.right), mteb_own, percent(own_pool.right))
            figures = dict(zip(METRICS, values, strict=True))
            metrics |= {f"{self.name}/{item_name(items)}/{name}": value for name, value in figures.items()}
            details.append(self._detail(items, figures, pool, own_pool, vectors))
        return Evaluation(metrics, details)

    def _score_own(self, items: ClsdSet, vectors: Tensor) -> CandidateScores:
        columns = map(list, zip(*candidates_of(items), strict=True))
        return score_candidates(self.rows(vectors, items.source), [self.rows(vectors, column) for column in columns])

    def _score_pool(self, items: ClsdSet, vectors: Tensor) -> CandidateScores:
        """Scores of each translation and of the nearest other texts of the pool."""
        column_of = number_texts(text for row in candidates_of(items) for text in row)
        pool = self.rows(vectors, list(column_of))  # (P, D)
        translations = torch.tensor([column_of[text] for text in items.target], device=vectors.device)  # (N,)
        parts = []
        sources = self.rows(vectors, items.source)  # (N, D)
        for start in range(0, len(sources), ROWS):
            source, translation = sources[start : start + ROWS], translations[start : start + ROWS]  # (n, D), (n,)
            cosines = cos_sim(source, pool).scatter(1, translation[:, None], -torch.inf)  # (n, P)
            rivals = cosines.topk(min(RIVALS, len(pool) - 1), dim=1).indices  # (n, K)
            parts.append(score_candidates(source, [pool[column] for column in (translation, *rivals.T)]))
        return CandidateScores(*map(np.concatenate, zip(*parts, strict=True)))

    def _detail(
        self,
        items: ClsdSet,
        figures: Mapping[str, float],
        pool: CandidateScores,
        own_pool: CandidateScores,
        vectors: Tensor,
    ) -> dict[str, object]:
        candidates = [text for row in candidates_of(items) for text in row]
        counts = Counter(candidates)
        detail: dict[str, object] = {
            **figures,
            "comparison": "strict",
            "queries": len(items.source),
            "pool": len(candidates),
            "pool_ties": int(pool.tied.sum()),
            "ties": int(own_pool.tied.sum()),
            "pool_close": int((np.abs(pool.margins) < CLOSE).sum()),
            "close": int((np.abs(own_pool.margins) < CLOSE).sum()),
            "pool_repeated": sum(counts[text] > 1 for text in items.target),
        }
        detail = self.detail(item_name(items), self.rows(vectors, [*items.source, *counts]), **detail)
        log.info(
            "%s: among all %d candidates %.2f (mteb %.2f), %d ties, %d repeated translations; among the own candidates"
            " %.2f (mteb %.2f), %d ties",
            *(detail[column] for column in ("direction", "pool", METRICS[1], METRICS[0], "pool_ties", "pool_repeated")),
            *(detail[column] for column in (METRICS[3], METRICS[2], "ties")),
        )
        return detail


@contextmanager
def hide_datasets_bars() -> Iterator[None]:
    """Suppress the progress bars of ``datasets``, one for each step of each task."""
    import datasets

    if datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _task(
    name: str, languages: Sequence[str], sources: Sequence[str], candidates: Sequence[Sequence[str]], *, is_own: bool
) -> Any:
    """A retrieval task with the data of ``retrieval_split``; ``languages``: ISO 639-3, of sources and candidates."""
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    metadata = TaskMetadata(
        name=name,
        dataset={"path": "local", "revision": "local"},
        type="Retrieval",
        category="t2t",
        description="Is a translation ranked above similar sentences with another meaning?",
        eval_splits=[TEST],
        eval_langs=list(languages),
        main_score=FIGURE,
    )
    task: Any = type("ClsdTask", (AbsTaskRetrieval,), {"metadata": metadata})()
    task.dataset = {"default": {TEST: retrieval_split(sources, candidates, is_own=is_own)}}
    task.data_loaded = True
    return task


def retrieval_split(sources: Sequence[str], candidates: Sequence[Sequence[str]], *, is_own: bool) -> dict[str, object]:
    """A split of a retrieval task in mteb's format, document ids in the order of its own CLSD tasks.

    Args:
        sources: N queries.
        candidates: of each query the right answer, then wrong ones.
        is_own: compare a query with its own candidates only.
    """
    from datasets import Dataset

    queries = {f"Q{number}": text for number, text in enumerate(sources, start=1)}
    documents = {
        f"D{number}": text for number, text in enumerate((text for row in candidates for text in row), start=1)
    }
    ids = iter(documents)
    ids_of = {query: [next(ids) for _ in row] for query, row in zip(queries, candidates, strict=True)}
    return {
        "queries": Dataset.from_dict({"id": list(queries), "text": list(queries.values())}),
        "corpus": Dataset.from_dict({"id": list(documents), "text": list(documents.values())}),
        "relevant_docs": {query: {first: 1} for query, (first, *_) in ids_of.items()},
        "top_ranked": ids_of if is_own else None,
    }
