"""CLSD as a retrieval task of MTEB, scored by ``mteb`` and by our evaluator from the same embeddings."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from xsent.evaluation.clsd.base import (
    CandidateScores,
    ClsdSet,
    ClsdSetsEvaluator,
    candidates_of,
    item_name,
    percent,
    score_candidates,
)
from xsent.evaluation.evaluator import Evaluation, number_texts
from xsent.evaluation.mteb.evaluator import run_task
from xsent.evaluation.mteb.local_tasks import DISCRIMINATION, FIGURE, make_task, retrieval_split
from xsent.evaluation.mteb.task_data import TEST, quiet_mteb
from xsent.similarity import cos_sim

log = logging.getLogger(__name__)

METRICS = ("mteb_pool_recall_at_1", "pool_recall_at_1", "mteb_p_at_1", "p_at_1")
CLOSE = 1e-6  # float32 rounding may exchange cosines that differ by less
ROWS = 1024  # sources whose cosines with the pool are in memory at a time
# Number of nearest texts of a pool that are compared again one by one: in a matrix product, equal vectors may have
# cosines that differ in the last bit.
RIVALS = 8


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
        """Read the sets and make tasks of them; raise ``ImportError`` if ``mteb`` is not installed."""
        super().check()
        assert self._tasks is not None

    @cached_property
    def _tasks(self) -> list[list[Any]]:
        """The two tasks of each direction: against all candidates, and against each item's own candidates."""
        with quiet_mteb():
            return [self._make_tasks(items) for items in self.test_sets]

    def _make_tasks(self, items: ClsdSet) -> list[Any]:
        # Row numbers replace the sentences: mteb strips the texts of documents, which may make two texts equal.
        row_of = {text: str(row) for text, row in self._row_of.items()}
        sources = [row_of[text] for text in items.source]
        candidates = [[row_of[text] for text in row] for row in candidates_of(items)]
        return [
            make_task(
                f"{item_name(items)}-{pool}",
                DISCRIMINATION,
                {"default": {TEST: retrieval_split(sources, candidates, is_own=pool == "own")}},
                languages=[items.source_lang, items.target_lang],
                about="Is a translation ranked above similar sentences with another meaning?",
            )
            for pool in ("pool", "own")
        ]

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
            pool, own_pool = self._score_pool(items, vectors), self.score_own(items, vectors)
            values = (mteb_pool, percent(pool.right), mteb_own, percent(own_pool.right))
            figures = dict(zip(METRICS, values, strict=True))
            metrics |= {f"{self.name}/{item_name(items)}/{name}": value for name, value in figures.items()}
            details.append(self._detail(items, figures, pool, own_pool, vectors))
        return Evaluation(metrics, details)

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
        self, items: ClsdSet, figures: Mapping[str, float], pool: CandidateScores, own: CandidateScores, vectors: Tensor
    ) -> dict[str, object]:
        candidates = [text for row in candidates_of(items) for text in row]
        counts = Counter(candidates)
        detail = self.detail(
            item_name(items),
            self.rows(vectors, [*items.source, *counts]),
            **figures,
            comparison="strict",
            queries=len(items.source),
            pool=len(candidates),
            pool_ties=int(pool.tied.sum()),
            ties=int(own.tied.sum()),
            pool_close=int((np.abs(pool.margins) < CLOSE).sum()),
            close=int((np.abs(own.margins) < CLOSE).sum()),
            pool_repeated=sum(counts[text] > 1 for text in items.target),
        )
        log.info(
            "%(direction)s: among all %(pool)d candidates %(pool_recall_at_1).2f (mteb %(mteb_pool_recall_at_1).2f),"
            " %(pool_ties)d ties, %(pool_repeated)d repeated translations; among the own candidates %(p_at_1).2f (mteb"
            " %(mteb_p_at_1).2f), %(ties)d ties",
            detail,
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
