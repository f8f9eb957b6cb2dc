"""Evaluator interface: sentences or sentence pairs in, named metrics out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from xsent.batch import Judgement, MarksLanguages, WordPair
from xsent.evaluation.charts import Chart
from xsent.evaluation.statistics.items import Items
from xsent.similarity import check_finite, encoder_name

SPLITS = ("valid", "test")
Encode = Callable[[Sequence[str]], Tensor]  # N sentences -> (N, D)


class Evaluation(NamedTuple):
    """Metrics, the conditions of each measurement, and data for charts and tables."""

    metrics: dict[str, float]  # "<evaluator>/<item>/<metric>"
    details: list[dict[str, object]]  # conditions: k, margin, candidates, direction, pool, ties
    charts: Sequence[Chart] = ()
    tables: Mapping[str, Sequence[Mapping[str, object]]] = MappingProxyType({})  # rows by table name
    outcomes: Mapping[str, Items] = MappingProxyType({})  # by metric, the test items that it is computed from

    @classmethod
    def merge(cls, evaluations: Iterable[Evaluation]) -> Evaluation:
        """All metrics, details and charts; tables of one name are appended to each other."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        charts: list[Chart] = []
        tables: dict[str, list[Mapping[str, object]]] = {}
        outcomes: dict[str, Items] = {}
        for evaluation in evaluations:
            metrics |= evaluation.metrics
            details += evaluation.details
            charts += evaluation.charts
            outcomes |= evaluation.outcomes
            for name, rows in evaluation.tables.items():
                tables.setdefault(name, []).extend(rows)
        return cls(metrics, details, charts, tables, outcomes)


class TwoSided(Protocol):
    """Test set with sentences on two sides, aligned or not."""

    @property
    def source(self) -> list[str]: ...

    @property
    def target(self) -> list[str]: ...


@runtime_checkable
class Bitext(TwoSided, Protocol):
    """Test set where ``target[i]`` translates ``source[i]``."""

    @property
    def source_lang(self) -> str: ...

    @property
    def target_lang(self) -> str: ...


def direction(bitext: Bitext) -> str:
    """``deu-eng``."""
    return f"{bitext.source_lang}-{bitext.target_lang}"


class Evaluator(ABC):
    """Scores the embeddings of any encoder.

    Encoding and scoring are separate (``sentences``, then ``score``), so that sentences are encoded once and scored in
    several spaces.
    """

    name: str  # prefix of the metrics

    @property
    def reads_training_data(self) -> bool:
        """Whether the test sets are held-out data of a training run; ``check`` then needs these data read."""
        return False

    @property
    def depends_on_split(self) -> bool:
        """Whether validation and test score different data."""
        return False

    @property
    def members(self) -> Sequence[Evaluator]:
        """The evaluators that a suite consists of."""
        return [self]

    @property
    def absent(self) -> Sequence[str]:
        """Requested test sets without files."""
        return []

    @property
    def translation_sets(self) -> Sequence[Bitext]:
        """Test sets of translation pairs."""
        return []

    @property
    def language_sets(self) -> Sequence[Bitext]:
        """Test sets with a language for each side, translations or not."""
        return self.translation_sets

    def bind(self, data: object | None, *, split: str, device: str) -> None:
        """Receive what a run provides; called once, before ``check``.

        Args:
            data: the data module of a training run; None outside training, a ``ValueError`` if its data are scored.
            split: ``valid`` or ``test``.
            device: where encoders and translators of the evaluator compute.
        """
        assert split in SPLITS, split

    def bind_encoder(self, encoder: object) -> None:
        """Receive the encoder to score; raise ``ValueError`` if the size of its embeddings prevents that."""
        tell_languages(encoder, self.language_sets)

    @abstractmethod
    def check(self) -> None:
        """Read the test sets, so that errors appear before any long computation."""

    @abstractmethod
    def metric_names(self) -> list[str]:
        """Names of the metrics of ``score``, known once the test sets are read."""

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of everything that is scored: sentences, pairs, gold scores."""

    @abstractmethod
    def sentences(self) -> list[str]:
        """The N distinct sentences to encode."""

    @abstractmethod
    def score(self, vectors: Tensor) -> Evaluation:
        """Metrics from the embeddings (N, D) of ``sentences()``."""

    def metric_names_between(self, spaces: Sequence[str]) -> list[str]:
        """Names of the metrics of ``score_between``."""
        return []

    def score_between(self, spaces: Mapping[str, Tensor]) -> Evaluation:
        """Metrics that compare the spaces of an encoder with heads; ``<evaluator>/<space>/...``, as of one space.

        Args:
            spaces: embeddings (N, D) of ``sentences()`` in each.
        """
        return Evaluation({}, [])

    def __call__(self, encode: Encode) -> dict[str, float]:
        """Metrics of the embeddings that ``encode`` returns."""
        sentences = self.sentences()
        vectors = encode(sentences)
        check_finite(vectors, encoder_name(encode), texts=sentences)
        return self.score(vectors).metrics


class PairEvaluator(Evaluator):
    """Scores judgements of a model that reads both sentences of a pair at once and has no sentence embeddings."""

    @abstractmethod
    def pairs(self) -> list[WordPair]:
        """The pairs to judge."""

    @abstractmethod
    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        """Metrics from the judgements of ``pairs()``, in their order, and the model's calibrated threshold."""

    @abstractmethod
    def pair_metric_names(self, *, tags_words: bool) -> list[str]:
        """Names of the metrics of ``score_pairs``, with those of words if the model tags words."""


def as_pair_evaluator(evaluator: Evaluator) -> PairEvaluator:
    """The same evaluator; ``ValueError`` if it, or one of its members, scores only sentence embeddings."""
    for member in evaluator.members:
        if not isinstance(member, PairEvaluator):
            raise ValueError(
                f"evaluator {member.name} scores vectors of sentences, which a model of sentence pairs does not have:"
                " choose evaluator=refresd, semdiverge, swissgov, divergence or divergence_heldout"
            )
    assert isinstance(evaluator, PairEvaluator)
    return evaluator


def number_texts(texts: Iterable[str]) -> dict[str, int]:
    """Row of each distinct text, in the order of their first occurrence."""
    return {text: row for row, text in enumerate(dict.fromkeys(texts))}


def base_encoder(embedder: Any) -> Any:
    """The encoder below the heads, or of a recipe; otherwise ``embedder`` itself."""
    return getattr(embedder, "encoder", embedder)


def tell_languages(embedder: object, bitexts: Iterable[Bitext]) -> None:
    """Tell an encoder that marks languages those of the sentences of test sets; other encoders do not need them."""
    encoder = base_encoder(embedder)
    if isinstance(encoder, MarksLanguages):
        encoder.set_languages(languages_of(bitexts))


def languages_of(bitexts: Iterable[Bitext]) -> dict[str, set[str]]:
    """Languages (ISO 639-3) that each sentence of test sets occurs in."""
    languages: dict[str, set[str]] = {}
    for bitext in bitexts:
        for texts, language in ((bitext.source, bitext.source_lang), (bitext.target, bitext.target_lang)):
            for text in texts:
                languages.setdefault(text, set()).add(language)
    return languages


def add_space(name: str, space: str) -> str:
    """``tatoeba/deu/accuracy`` in ``meaning`` becomes ``tatoeba/meaning/deu/accuracy``."""
    prefix, rest = name.split("/", maxsplit=1)
    return f"{prefix}/{space}/{rest}"


def score_spaces(evaluator: Evaluator, vectors: Mapping[str, Tensor]) -> Evaluation:
    """Score the embeddings (N, D) of ``evaluator.sentences()`` in every space, and between spaces.

    ``add_space`` names the metrics of a space.
    A chart gets the space as suffix of its name and title, a table row as its first field.

    Raises:
        NotFiniteError: a vector is not finite.
    """
    for space, rows in vectors.items():
        check_finite(rows, f"space {space}", texts=evaluator.sentences())
    each = [_in_space(evaluator.score(rows), space) for space, rows in vectors.items()]
    return Evaluation.merge([*each, evaluator.score_between(vectors)])


def _in_space(scored: Evaluation, space: str) -> Evaluation:
    return Evaluation(
        {add_space(name, space): value for name, value in scored.metrics.items()},
        [{"space": space, **row} for row in scored.details],
        [chart._replace(name=f"{chart.name}_{space}", title=f"{chart.title}, {space}") for chart in scored.charts],
        {name: [{"space": space, **row} for row in rows] for name, rows in scored.tables.items()},
        {add_space(name, space): outcomes for name, outcomes in scored.outcomes.items()},
    )
