"""BUCC: how much of the hidden parallel pairs bitext mining finds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.margin import MARGINS, best_targets
from xsent.evaluation.mining import STRATEGIES, at_threshold, best_threshold, select_pairs
from xsent.evaluation.test_sets import TestSetEvaluator, TwoSided, check_choice, zero_vectors

log = logging.getLogger(__name__)

SAME = "same"


class MiningTask(TwoSided, Protocol):
    """Two collections of distinct sentences and the pairs of rows to be found."""

    @property
    def name(self) -> str: ...
    @property
    def gold(self) -> Sequence[tuple[int, int]]: ...
    @property
    def source_lines(self) -> int: ...
    @property
    def target_lines(self) -> int: ...


class ReadTasks(Protocol):
    """``(root, languages, part=...)`` -> tasks."""

    def __call__(self, root: Any, languages: Sequence[str] | None, *, part: str) -> Sequence[MiningTask]: ...


class Mined(NamedTuple):
    """The pairs found in one task, before a threshold leaves any out."""

    scores: Tensor  # (P,)
    is_gold: Tensor  # (P,) bool
    tied: float  # share of the sentences whose best partner is tied
    zeros: int  # sentences whose vector is zero


class BuccEvaluator(TestSetEvaluator[MiningTask]):
    """Mines both collections by margin score and compares what is above a threshold with the gold pairs.

    Texts are de-duplicated first (the reader), so all counts are of pairs of texts.

    Args:
        name: prefix of the metrics.
        root: folder of the files, for ``read``.
        languages: whose pairs with English, for ``read``; None is all.
        read: ``(root, languages, part=...)`` -> tasks.
        missing: a language without files is an ``error``, or left out with a ``note``.
        part: which part of the data is scored.
        tune: ``same``: the threshold of the best F1 on the very gold that is scored, as XTREME and ORACLE do
            (optimistic); else the part it is tuned on, for the same languages, as LASER does.
        margin, k: as in ``best_targets``.
        strategy: as in ``select_pairs``.

    Metrics:
        ``<name>/<zho-eng>/f1``, ``precision`` and ``recall`` in percent, ``<name>/<zho-eng>/threshold`` in units
        of the margin, ``<name>/mean/f1`` over the languages. What the threshold was tuned on is in the
        details and in the log.

    Source:
        Zweigenbaum et al. 2018 (BUCC shared task); Artetxe and Schwenk 2019 (arXiv:1811.01136).
    """

    def __init__(
        self,
        *,
        name: str,
        root: str,
        languages: Sequence[str] | None,
        read: ReadTasks,
        missing: str,
        part: str,
        tune: str,
        margin: str,
        k: int,
        strategy: str,
    ) -> None:
        check_choice("margin", margin, MARGINS)
        check_choice("strategy", strategy, STRATEGIES)
        if k < 1:
            raise ValueError(f"evaluator.k={k}: expected at least 1 neighbour")
        if tune == part:
            raise ValueError(f"evaluator.tune={tune}: expected {SAME}, or a part other than the scored evaluator.part")
        super().__init__(
            name=name,
            root=root,
            wanted=languages,
            read=partial(read, part=part),
            missing=missing,
        )
        self.read_part = read
        self.part = part
        self.tune = tune
        self.margin = margin
        self.k = k
        self.strategy = strategy

    @cached_property
    def tuning(self) -> Sequence[MiningTask]:
        """For each task the one its threshold is tuned on."""
        if self.tune == SAME:
            return self.test_sets
        languages = [task.name.split("-")[0] for task in self.test_sets]
        return self.read_part(self.root, languages, part=self.tune)

    def check(self) -> None:
        """Read the tasks and those the thresholds are tuned on."""
        super().check()
        assert self.tuning is not None

    def everything_read(self) -> Sequence[MiningTask]:
        """The tasks, and those the thresholds are tuned on."""
        return self.test_sets if self.tune == SAME else [*self.test_sets, *self.tuning]

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        for task, tuning in zip(self.test_sets, self.tuning, strict=True):
            mined = self._mine(task, vectors)
            tuned = mined if tuning is task else self._mine(tuning, vectors)
            threshold = best_threshold(tuned.scores, tuned.is_gold, len(tuning.gold)).threshold
            found = at_threshold(mined.scores, mined.is_gold, len(task.gold), threshold)
            shares = {"f1": found.f1, "precision": found.precision, "recall": found.recall}
            figures = {metric: 100 * share for metric, share in shares.items()} | {"threshold": threshold}
            metrics |= {f"{self.name}/{task.name}/{metric}": value for metric, value in figures.items()}
            details.append(self._detail(task, figures, mined))
        f1 = [metrics[f"{self.name}/{task.name}/f1"] for task in self.test_sets]
        metrics[f"{self.name}/mean/f1"] = sum(f1) / len(f1)
        log.info("%s: %s scored, thresholds tuned on %s", self.name, self.part, self._tuned_on)
        return Evaluation(metrics, details)

    def _mine(self, task: MiningTask, vectors: Tensor) -> Mined:
        x, y = self.rows(vectors, task.source), self.rows(vectors, task.target)
        forward, backward = best_targets(x, y, margin=self.margin, k=self.k, candidates="knn")
        pairs = select_pairs(forward, backward, strategy=self.strategy, threshold=None)
        gold = torch.tensor([row * len(y) + column for row, column in task.gold])
        tied = torch.cat([forward.tied, backward.tied]).float().mean().item()
        return Mined(pairs.scores, torch.isin(pairs.source * len(y) + pairs.target, gold), tied, zero_vectors(x, y))

    @property
    def _tuned_on(self) -> str:
        return "the gold pairs that are scored (optimistic)" if self.tune == SAME else self.tune

    def _detail(self, task: MiningTask, figures: dict[str, float], mined: Mined) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": task.name, **figures, "tuned_on": self._tuned_on, "part": self.part,
            "margin": self.margin, "k": self.k, "k_used": min(self.k, len(task.source), len(task.target)),
            "candidates": "knn", "strategy": self.strategy, "queries": len(task.source), "pool": len(task.target),
            "queries_repeated": task.source_lines - len(task.source),
            "pool_repeated": task.target_lines - len(task.target),
            "gold": len(task.gold), "extracted": int((mined.scores >= figures["threshold"]).sum()),
            "tied": mined.tied, "zero_vectors": mined.zeros, "missing_languages": " ".join(self.absent),
        }  # fmt: skip
