"""Several evaluators as one: their sentences are encoded once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice

from torch import Tensor

from xsent.batch import Judgement, WordPair
from xsent.evaluation.charts import Chart
from xsent.evaluation.evaluator import Encode, Evaluation, Evaluator, pairs_of


class Suite:
    """Scores what each of its members scores.

    Args:
        name: of the whole.
        members: by any key; each has its own ``name``, which begins its metrics.

    Raises:
        ValueError: two members have one name.
    """

    def __init__(self, *, name: str, members: Mapping[str, Evaluator]) -> None:
        names = [member.name for member in members.values()]
        if len(set(names)) < len(names):
            raise ValueError(
                f"evaluator {name}: its members are named {', '.join(names)}; each needs a name of its own"
            )
        self.name = name
        self.members = list(members.values())

    def check(self) -> None:
        """Read what each member scores."""
        for member in self.members:
            member.check()

    def digest(self) -> str:
        """Of all members."""
        return " ".join(member.digest() for member in self.members)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        distinct = dict.fromkeys(text for member in self.members for text in member.sentences())
        return {text: row for row, text in enumerate(distinct)}

    def sentences(self) -> list[str]:
        """The N distinct sentences that any member needs."""
        return list(self._row_of)

    def __call__(self, encode: Encode) -> dict[str, float]:
        """Figures of whatever ``encode`` makes of the sentences."""
        return self.score(encode(self.sentences())).metrics

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures of all members from the vectors (N, D) of ``sentences()``."""
        return _together(
            member.score(vectors[[self._row_of[text] for text in member.sentences()]]) for member in self.members
        )

    def pairs(self) -> list[WordPair]:
        """The pairs of all members, whose figures may be of judgements of pairs."""
        return [pair for member in self.members for pair in pairs_of(member).pairs()]

    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        """Figures of all members from the judgements of ``pairs()``."""
        left = iter(judgements)
        found = []
        for member in map(pairs_of, self.members):
            found.append(member.score_pairs(list(islice(left, len(member.pairs()))), threshold=threshold))
        return _together(found)


def _together(evaluations: Iterable[Evaluation]) -> Evaluation:
    metrics: dict[str, float] = {}
    details: list[dict[str, object]] = []
    charts: list[Chart] = []
    tables: dict[str, Sequence[Mapping[str, object]]] = {}
    for scored in evaluations:
        metrics |= scored.metrics
        details += scored.details
        charts += scored.charts
        tables |= scored.tables
    return Evaluation(metrics, details, charts, tables)
