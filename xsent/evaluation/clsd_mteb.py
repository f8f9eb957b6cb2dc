"""CLSD as a retrieval task of MTEB, scored by ``mteb`` itself and by us from the same vectors."""

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

from xsent.evaluation.clsd_sets import ClsdSet, ClsdSetsEvaluator, item_of
from xsent.evaluation.discrimination import Verdicts, percent, verdicts
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.mteb_data import TEST, quiet_mteb
from xsent.evaluation.mteb_tasks import run_task
from xsent.evaluation.test_sets import zero_vectors
from xsent.similarity import cos_sim

log = logging.getLogger(__name__)

FIGURE = "recall_at_1"  # the main score of mteb's own CLSD tasks
CLOSE = 1e-6  # cosines of float32 vectors that differ by less may change places by rounding
ROWS = 1024  # sources whose cosines with the whole pool are in memory at a time
# So many of the nearest texts of a pool are compared again one by one: in a product of matrices equal vectors may have
# cosines that differ in the last bit, so that its nearest one need not be the nearest.
RIVALS = 8


class Tasks(NamedTuple):
    """The two tasks of a direction."""

    pool: Any  # against all candidates of the direction
    own: Any  # against each item's own candidates


class ClsdMtebEvaluator(ClsdSetsEvaluator):
    """Share of the sources whose translation is found first, among all candidates and among its own distractors.

    As in mteb's own tasks (``CrossLingualSemanticDiscriminationWMT19`` and ``...WMT21``) the pool of a direction is
    made of every translation and every distractor of it, and a source has one right answer. Among an item's own
    candidates the share is P@1 of the paper.

    ``mteb`` ranks equal cosines by the ids of the documents, so that a tie may count as right or wrong with it; with us
    a tie is wrong, as in the paper. ``mteb`` computes cosines in another order, so that a lead below the precision of
    float32 may be none with it. A text that stands in the pool twice or more is several documents with ``mteb``, of
    which one is right, and one text with us. How many sources each concerns is in the details: ``pool_ties`` and
    ``ties``, cosines that are equal to the last bit; ``pool_close`` and ``close``, that differ by less than 1e-6, ties
    included; ``pool_repeated``. The others have the same verdict.

    Arguments are those of ``ClsdSetsEvaluator``.

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
            return [self._tasks_of(items) for items in self.test_sets]

    def _tasks_of(self, items: ClsdSet) -> Tasks:
        languages = [items.source_lang, items.target_lang]
        # The numbers of the sentences stand for them: mteb strips the texts of documents, and two might become one.
        row_of = {text: str(row) for text, row in self._row_of.items()}
        sources = [row_of[text] for text in items.source]
        candidates = [[row_of[text] for text in row] for row in candidates_of(items)]
        pool, own = (
            _task(f"{item_of(items)}-{kind}", languages, sources, candidates, is_own=kind == "own")
            for kind in ("pool", "own")
        )
        return Tasks(pool, own)

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        known = vectors.float()
        by_number = known.numpy(force=True)
        both = list(zip(self.test_sets, self._tasks, strict=True))
        for items, tasks in tqdm(both, desc=self.name, leave=False):
            with no_bars_of_datasets():
                shares = [
                    run_task(task, lambda texts: by_number[[int(text) for text in texts]])[FIGURE] for task in tasks
                ]
            # It rounds shares to five digits; of fewer than 100,000 sources that leaves no doubt how many they were.
            theirs = [100 * round(share * len(items.source)) / len(items.source) for share in shares]
            pool, own = self._in_pool(items, known), self._among_own(items, known)
            figures = {
                "mteb_pool_recall_at_1": theirs[0], "pool_recall_at_1": percent(pool.right),
                "mteb_p_at_1": theirs[1], "p_at_1": percent(own.right),
            }  # fmt: skip
            metrics |= {f"{self.name}/{item_of(items)}/{name}": value for name, value in figures.items()}
            details.append(self._detail(items, figures, pool, own, known))
        return Evaluation(metrics, details)

    def _among_own(self, items: ClsdSet, vectors: Tensor) -> Verdicts:
        source, *candidates = (
            self.rows(vectors, column) for column in (items.source, *map(list, zip(*candidates_of(items), strict=True)))
        )
        return verdicts(source, candidates)

    def _in_pool(self, items: ClsdSet, vectors: Tensor) -> Verdicts:
        """Verdicts on each translation and the texts of the pool that are nearest beside it."""
        texts = list(dict.fromkeys(text for row in candidates_of(items) for text in row))
        column_of = {text: column for column, text in enumerate(texts)}
        pool = self.rows(vectors, texts)  # (P, D)
        translations = torch.tensor([column_of[text] for text in items.target], device=vectors.device)  # (N,)
        found = []
        sources = self.rows(vectors, items.source)  # (N, D)
        for start in range(0, len(sources), ROWS):
            source, translation = sources[start : start + ROWS], translations[start : start + ROWS]  # (n, D), (n,)
            others = cos_sim(source, pool).scatter(1, translation[:, None], -torch.inf)  # (n, P)
            rivals = others.topk(min(RIVALS, len(texts) - 1), dim=1).indices  # (n, K)
            found.append(verdicts(source, [pool[column] for column in (translation, *rivals.T)]))
        return Verdicts(*map(np.concatenate, zip(*found, strict=True)))

    def _detail(
        self, items: ClsdSet, figures: Mapping[str, float], pool: Verdicts, own: Verdicts, vectors: Tensor
    ) -> dict[str, object]:
        everything = [text for row in candidates_of(items) for text in row]
        seen = Counter(everything)
        detail: dict[str, object] = {
            "evaluator": self.name, "direction": item_of(items), **figures, "comparison": "strict",
            "queries": len(items.source), "pool": len(everything),
            "pool_ties": int(pool.tied.sum()), "ties": int(own.tied.sum()), "pool_close": _close(pool),
            "close": _close(own), "pool_repeated": sum(seen[text] > 1 for text in items.target),
            "zero_vectors": zero_vectors(self.rows(vectors, [*items.source, *seen])),
            "missing_languages": " ".join(self.absent),
        }  # fmt: skip
        log.info(
            "%s: among all %d candidates %.2f (mteb %.2f), %d ties, %d translations stand there more than once; among"
            " the own ones %.2f (mteb %.2f), %d ties",
            item_of(items), len(everything), figures["pool_recall_at_1"], figures["mteb_pool_recall_at_1"],
            detail["pool_ties"], detail["pool_repeated"], figures["p_at_1"], figures["mteb_p_at_1"], detail["ties"],
        )  # fmt: skip
        return detail


def _close(found: Verdicts) -> int:
    return int((np.abs(found.margins) < CLOSE).sum())


@contextmanager
def no_bars_of_datasets() -> Iterator[None]:
    """Keep ``datasets`` from drawing a bar for each step of each task."""
    import datasets

    if datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def candidates_of(items: ClsdSet) -> list[list[str]]:
    """Of each item the translation, then its distractors."""
    return [[text, *distractors] for text, distractors in zip(items.target, items.distractors, strict=True)]


def _task(
    name: str, languages: Sequence[str], sources: Sequence[str], candidates: Sequence[Sequence[str]], *, is_own: bool
) -> Any:
    """A retrieval task that holds its data, documents and their ids in the order of mteb's own CLSD tasks.

    Args:
        name: of the task.
        languages: ISO 639-3, of sources and candidates.
        sources: N queries.
        candidates: of each the right answer, then wrong ones.
        is_own: whether a query is compared with its own candidates alone.
    """
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    metadata = TaskMetadata(
        name=name, dataset={"path": "local", "revision": "local"}, type="Retrieval", category="t2t",
        description="Does a translation come before near-copies of it that mean something else?",
        eval_splits=[TEST], eval_langs=list(languages), main_score=FIGURE,
    )  # fmt: skip
    task: Any = type("ClsdTask", (AbsTaskRetrieval,), {"metadata": metadata})()
    task.dataset = {"default": {TEST: retrieval_split(sources, candidates, is_own=is_own)}}
    task.data_loaded = True
    return task


def retrieval_split(sources: Sequence[str], candidates: Sequence[Sequence[str]], *, is_own: bool) -> dict[str, object]:
    """A split of a retrieval task as ``mteb`` holds it, documents and their ids in the order of its own CLSD tasks.

    Args:
        sources: N queries.
        candidates: of each the right answer, then wrong ones.
        is_own: whether a query is compared with its own candidates alone.
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
