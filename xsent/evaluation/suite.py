"""Suite of evaluators: encodes the sentences of all members once."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice

from torch import Tensor

from xsent.batch import Judgement, WordPair
from xsent.evaluation.evaluator import Bitext, Evaluation, Evaluator, PairEvaluator, as_pair_evaluator, number_texts


class Suite(PairEvaluator):
    """Scores with each member.

    Args:
        name: of the suite.
        members: evaluators by any key; the name of each begins its metrics.

    Raises:
        ValueError: two members have the same name.
    """

    def __init__(self, *, name: str, members: Mapping[str, Evaluator]) -> None:
        names = [member.name for member in members.values()]
        if len(set(names)) < len(names):
            raise ValueError(
                f"evaluator {name}: its members are named {', '.join(names)}; each needs a name of its own"
            )
        self.name = name
        self._members = list(members.values())

    @property
    def members(self) -> Sequence[Evaluator]:
        return self._members

    @property
    def reads_training_data(self) -> bool:
        return any(member.reads_training_data for member in self.members)

    @property
    def depends_on_split(self) -> bool:
        return any(member.depends_on_split for member in self.members)

    @property
    def translation_sets(self) -> Sequence[Bitext]:
        return [bitext for member in self.members for bitext in member.translation_sets]

    @property
    def language_sets(self) -> Sequence[Bitext]:
        return [bitext for member in self.members for bitext in member.language_sets]

    def bind(self, data: object | None, *, split: str, device: str) -> None:
        for member in self.members:
            member.bind(data, split=split, device=device)

    def bind_encoder(self, encoder: object) -> None:
        for member in self.members:
            member.bind_encoder(encoder)
        super().bind_encoder(encoder)  # the languages of all members' sentences

    def check(self) -> None:
        for member in self.members:
            member.check()

    def digest(self) -> str:
        return " ".join(member.digest() for member in self.members)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return number_texts(text for member in self.members for text in member.sentences())

    def sentences(self) -> list[str]:
        return list(self._row_of)

    def metric_names(self) -> list[str]:
        return [name for member in self.members for name in member.metric_names()]

    def score(self, vectors: Tensor) -> Evaluation:
        return Evaluation.merge(
            member.score(vectors[[self._row_of[text] for text in member.sentences()]]) for member in self.members
        )

    def metric_names_between(self, spaces: Sequence[str]) -> list[str]:
        return [name for member in self.members for name in member.metric_names_between(spaces)]

    def score_between(self, spaces: Mapping[str, Tensor]) -> Evaluation:
        rows_of = [(member, [self._row_of[text] for text in member.sentences()]) for member in self.members]
        return Evaluation.merge(
            member.score_between({space: vectors[rows] for space, vectors in spaces.items()})
            for member, rows in rows_of
        )

    def pairs(self) -> list[WordPair]:
        return [pair for member in map(as_pair_evaluator, self.members) for pair in member.pairs()]

    def pair_metric_names(self, *, tags_words: bool) -> list[str]:
        members = map(as_pair_evaluator, self.members)
        return [name for member in members for name in member.pair_metric_names(tags_words=tags_words)]

    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        remaining = iter(judgements)
        return Evaluation.merge(
            member.score_pairs(list(islice(remaining, len(member.pairs()))), threshold=threshold)
            for member in map(as_pair_evaluator, self.members)
        )
