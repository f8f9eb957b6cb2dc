"""BUCC bitext mining: F1 of the parallel pairs hidden in two collections."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from xsent.config_checks import check_choice
from xsent.evaluation.dataset_evaluator import LanguagesEvaluator, zero_vectors
from xsent.evaluation.evaluator import Evaluation, TwoSided
from xsent.evaluation.search.margin import MarginSearch
from xsent.evaluation.search.mining import STRATEGIES, at_threshold, best_threshold, select_pairs
from xsent.evaluation.statistics.items import PERCENT, Items, mean_over

log = logging.getLogger(__name__)

SCORED_GOLD = "same"
METRICS = ("f1", "precision", "recall", "threshold")


class MiningTask(TwoSided, Protocol):
    """Two collections of distinct sentences and the gold pairs of rows."""

    name: str
    gold: Sequence[tuple[int, int]]
    source_lines: int
    target_lines: int


class MinedTask(NamedTuple):
    """All P candidate pairs of a task, before a threshold is applied."""

    sources: Tensor  # (P,) rows
    scores: Tensor  # (P,)
    is_gold: Tensor  # (P,) bool
    tied: float  # share of the sentences with two best partners
    zeros: int  # sentences with a zero vector


@dataclass(kw_only=True, eq=False, repr=False)
class BuccEvaluator(LanguagesEvaluator[MiningTask]):
    """Mines both collections by margin score and compares the pairs above a threshold with the gold pairs.

    The reader removes duplicate texts, so all counts are of distinct texts.

    Args:
        read: ``(root, languages, part=...)`` -> tasks.
        part: the scored part of the data.
        tune: ``same``: the threshold has the best F1 on the scored gold pairs, as in XTREME and ORACLE (optimistic);
            otherwise the part to tune the threshold on, for the same languages, as LASER does.
        margin, k: as in ``best_targets``.
        strategy: as in ``select_pairs``.

    Metrics:
        ``<name>/<zho-eng>/f1``, ``precision`` and ``recall`` in percent, ``<name>/<zho-eng>/threshold`` in units of the
        margin, ``<name>/mean/f1`` over the languages. Details and log say what the threshold was tuned on.

    Source:
        Zweigenbaum et al. 2018 (BUCC shared task); Artetxe and Schwenk 2019 (arXiv:1811.01136).
    """

    part: str
    tune: str
    margin: str
    k: int
    strategy: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search = MarginSearch(self.margin, self.k, "knn")
        check_choice("evaluator.strategy", self.strategy, STRATEGIES)
        if self.tune == self.part:
            raise ValueError(
                f"evaluator.tune={self.tune}: expected {SCORED_GOLD}, or a part other than the scored evaluator.part"
            )

    def read_sets(self, requested: Sequence[str] | None) -> Sequence[MiningTask]:
        tasks: Sequence[MiningTask] = self.read(self.root, requested, part=self.part)
        return tasks

    @cached_property
    def tuning(self) -> Sequence[MiningTask]:
        """The task to tune the threshold on, for each scored task."""
        if self.tune == SCORED_GOLD:
            return self.test_sets
        languages = [task.name.split("-")[0] for task in self.test_sets]
        tasks: Sequence[MiningTask] = self.read(self.root, languages, part=self.tune)
        return tasks

    def check(self) -> None:
        super().check()
        assert self.tuning is not None

    def all_sets(self) -> Sequence[MiningTask]:
        return self.test_sets if self.tune == SCORED_GOLD else [*self.test_sets, *self.tuning]

    def metric_names(self) -> list[str]:
        names = [f"{self.name}/{task.name}/{metric}" for task in self.test_sets for metric in METRICS]
        return [*names, f"{self.name}/mean/f1"]

    def score(self, vectors: Tensor) -> Evaluation:
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        outcomes: dict[str, Items] = {}
        for task, tuning in zip(self.test_sets, self.tuning, strict=True):
            mined = self._mine(task, vectors)
            tuned = mined if tuning is task else self._mine(tuning, vectors)
            threshold = best_threshold(tuned.scores, tuned.is_gold, len(tuning.gold)).threshold
            result = at_threshold(mined.scores, mined.is_gold, len(task.gold), threshold)
            figures = {name: 100 * getattr(result, name) for name in METRICS[:3]} | {"threshold": threshold}
            metrics |= {f"{self.name}/{task.name}/{metric}": value for metric, value in figures.items()}
            outcomes |= {f"{self.name}/{task.name}/{name}": of for name, of in _items(task, mined, threshold).items()}
            queries, pool, extracted = len(task.source), len(task.target), int((mined.scores >= threshold).sum())
            row: dict[str, object] = {**figures, "tuned_on": self._tuned_on, "part": self.part}
            row |= {**self.search.conditions(min(queries, pool)), "strategy": self.strategy}
            row |= {"queries": queries, "pool": pool, "queries_repeated": task.source_lines - queries}
            row |= {"pool_repeated": task.target_lines - pool, "gold": len(task.gold), "extracted": extracted}
            details.append(self.detail(task.name, **row, tied=mined.tied) | {"zero_vectors": mined.zeros})
        f1 = [metrics[f"{self.name}/{task.name}/f1"] for task in self.test_sets]
        metrics[f"{self.name}/mean/f1"] = sum(f1) / len(f1)
        log.info("%s: %s scored, thresholds tuned on %s", self.name, self.part, self._tuned_on)
        outcomes[f"{self.name}/mean/f1"] = mean_over(outcomes[f"{self.name}/{task.name}/f1"] for task in self.test_sets)
        return Evaluation(metrics, details, outcomes=outcomes)

    def _mine(self, task: MiningTask, vectors: Tensor) -> MinedTask:
        x, y = self.rows(vectors, task.source), self.rows(vectors, task.target)
        forward, backward = (answers.best for answers in self.search(x, y))
        pairs = select_pairs(forward, backward, strategy=self.strategy, threshold=None)
        gold = torch.tensor([row * len(y) + column for row, column in task.gold])
        tied = torch.cat([forward.tied, backward.tied]).float().mean().item()
        is_gold = torch.isin(pairs.source * len(y) + pairs.target, gold)
        return MinedTask(pairs.source, pairs.scores, is_gold, tied, zero_vectors(x, y))

    @property
    def _tuned_on(self) -> str:
        return "the gold pairs that are scored (optimistic)" if self.tune == SCORED_GOLD else self.tune


def _items(task: MiningTask, mined: MinedTask, threshold: float) -> dict[str, Items]:
    """Items of F1, precision and recall: source sentences, each with its numbers of found, extracted and gold pairs."""
    is_extracted = mined.scores >= threshold
    rows = mined.sources[is_extracted], mined.sources[is_extracted & mined.is_gold]
    extracted, hits = (torch.bincount(of.cpu(), minlength=len(task.source)).double().numpy() for of in rows)
    gold = torch.bincount(torch.tensor([row for row, _ in task.gold]), minlength=len(task.source)).double().numpy()
    parts = {"f1": (2 * hits, extracted + gold), "precision": (hits, extracted), "recall": (hits, gold)}
    return {name: Items.of("ratio", *part, scale=PERCENT) for name, part in parts.items()}
