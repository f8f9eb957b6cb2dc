"""Robustness to user-generated content: distance between noisy sentences and their standard forms."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from xsent.batch import Embedder
from xsent.config_checks import check_integer
from xsent.distributed import rank
from xsent.evaluation.charts import Chart
from xsent.evaluation.dataset_evaluator import DatasetEvaluator
from xsent.evaluation.evaluator import Evaluation, base_encoder
from xsent.evaluation.noise.aggregation import STUDENT, TEACHER, prefix_of, summary, summary_items
from xsent.evaluation.noise.charts import boxes, sentence_map, sentence_vectors, step_histogram, token_scatter
from xsent.evaluation.noise.scoring import (
    CountsSteps,
    Embedded,
    NoisySet,
    SetScores,
    Teacher,
    cosine_distances,
    metric_items,
    score_set,
)
from xsent.evaluation.noise.token_counts import TextCounts, TokenCounter, TokenCounts, count_summary
from xsent.evaluation.search.margin import MarginSearch
from xsent.evaluation.statistics.items import Items

ScoresBySet = dict[str, list[SetScores]]  # an entry for each generation of a set


@dataclass(kw_only=True, eq=False, repr=False)
class UgcEvaluator(DatasetEvaluator[NoisySet]):
    """Compares the vectors of noisy sentences with those of their standard forms, and both with a teacher's.

    Args:
        read: called as ``(None, None)``, returns the sets. Sets of one name are generations of one noise.
        teacher: builds the encoder to compare with; it also embeds the translations. It is built when the sets are
            read, encodes at first use, and only its vectors are kept. None: no comparison, and the scored encoder
            embeds the translations.
        margin, k, candidates: as in ``best_targets``.
        drift: compare the vectors of standard sentences with the teacher's.
        bitexts: search noisy and standard sentences by their translations, and the other way round.
        pieces, lower_case: as in ``TokenCounter``; without a teacher, the pieces are those of the scored encoder.
        picture_set: name of the set of the chart of one sentence; None or a set that was not read: no chart.
        picture_line: number of its pair, from 1.

    Metrics:
        Of each set: ``<name>/<set>/cosine_distance`` of noisy and standard sentences (0 to 2, mean over the pairs);
        ``xsim``, percent of the noisy sentences whose best standard sentence by margin has another text, and
        ``xsimpp``, the same with hard negatives of the standard side in the pool; ``ttr`` and ``ttr_standard``,
        the type-token ratio in percent, and ``ttr_ratio``, noisy over standard; likewise ``types`` and ``tokens``. Of
        translations ``<name>/<set>_fra-eng/noisy_xsim`` and ``standard_xsim``, and ``<name>/<set>_eng-fra/...`` with
        the translations in the pool. Of each xSIM ``xsim_margin_gap``, the mean of ``Answers.gaps``, and
        ``xsim_margin_gap_p5``, percentile 5.

        With a teacher: the same of its vectors, ``teacher_cosine_distance`` etc., and ``drift``, the cosine distance
        between both encoders' vectors of the standard sentences.

        Of several generations each metric is their mean, ``sd_<metric>`` their standard deviation, ``p_<metric>`` the
        p-value of a t-test of the encoder's scores against the teacher's, and ``p_ttr`` that of the noisy texts'
        type-token ratios against the standard text's.

    Source:
        Nishimwe et al. 2024, sections 4 and 6.
    """

    teacher: Callable[[], Embedder] | None
    margin: str
    k: int
    candidates: str
    drift: bool
    bitexts: bool
    pieces: str
    lower_case: bool
    picture_set: str | None
    picture_line: int
    root: str | None = field(default=None, init=False)
    missing: str = field(default="error", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.search = MarginSearch(self.margin, self.k, self.candidates)
        check_integer("evaluator.picture_line", self.picture_line, minimum=1)
        self._teacher = None if self.teacher is None else Teacher(self.teacher, name=self.name)
        self.count_tokens = TokenCounter(pieces=self.pieces, lower_case=self.lower_case)
        self._training_noise: CountsSteps | None = None
        self._encoder: object = None  # the scored one, if it is known
        self._teacher_scores: ScoresBySet | None = None

    # ---- reading

    def bind(self, data: object | None, *, split: str, device: str) -> None:
        super().bind(data, split=split, device=device)
        if isinstance(data, CountsSteps):
            self._training_noise = data
        if self._teacher is not None:
            self._teacher.device = device

    def bind_encoder(self, encoder: object) -> None:
        super().bind_encoder(encoder)
        if self._teacher is None and self._encoder is not base_encoder(encoder):
            self._encoder = base_encoder(encoder)
            self.__dict__.pop("_text_counts", None)  # pieces of another encoder
        dim = getattr(base_encoder(encoder), "dim", None)
        if dim is not None and self._teacher is not None and self._compares_encoders:
            self._teacher.check_size(dim)

    def check(self) -> None:
        """Read the sets, the teacher and the SentencePiece model; check that the line of the chart exists."""
        super().check()
        self.count_tokens.check()
        if self._pictured is not None and self.picture_line > len(self._pictured.source):
            raise ValueError(
                f"evaluator.picture_line={self.picture_line}: {self.picture_set} has {len(self._pictured.source)} pairs"
            )
        if self._teacher is not None:
            self._teacher.check()

    @property
    def _compares_encoders(self) -> bool:
        """Whether vectors of the scored encoder are compared with vectors of the teacher."""
        return self.drift or (self.bitexts and any(noisy_set.translations for noisy_set in self.test_sets))

    @cached_property
    def _by_name(self) -> dict[str, list[NoisySet]]:
        by_name: dict[str, list[NoisySet]] = defaultdict(list)
        for noisy_set in self.test_sets:
            by_name[noisy_set.name].append(noisy_set)
        return dict(by_name)

    @property
    def _pictured(self) -> NoisySet | None:
        return next(iter(self._by_name.get(self.picture_set or "", [])), None)

    def digest(self) -> str:
        digests: dict[int, str] = {}  # generations share their standard side and their negatives

        def digest_of(content: object) -> str:
            if id(content) not in digests:
                digests[id(content)] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
            return digests[id(content)]

        sets = []
        for noisy_set in self.test_sets:
            columns = (noisy_set.source, noisy_set.target, noisy_set.augmented, noisy_set.made_from)
            translations = [[language, digest_of(lines)] for language, lines in noisy_set.translations.items()]
            fields = [noisy_set.name, noisy_set.seed, noisy_set.language, *map(digest_of, columns)]
            sets.append(fields + translations)
        return hashlib.sha256(json.dumps(sets).encode()).hexdigest()

    def texts(self) -> list[str]:
        """All sentences that the scored encoder embeds, with translations if there is no teacher."""
        sets = self.test_sets
        columns = [column for one_set in sets for column in (one_set.source, one_set.target, one_set.augmented)]
        return concatenate(columns if self._teacher is not None else columns + self._translations())

    def _translations(self) -> list[list[str]]:
        return [lines for noisy_set in self.test_sets for lines in noisy_set.translations.values()] * self.bitexts

    # ---- scoring

    def metric_names(self) -> list[str]:
        def placeholder(noisy_set: NoisySet) -> SetScores:
            items = metric_items(noisy_set, bitexts=self.bitexts)
            metrics = {item: dict.fromkeys(names, 0.0) for item, names in items.items()}
            return SetScores(metrics, np.zeros(len(noisy_set.source)), 0, 0.0, 0)

        scores = {name: list(map(placeholder, sets)) for name, sets in self._by_name.items()}
        has_teacher = self._teacher is not None
        drifts = dict.fromkeys(self._by_name, torch.zeros(1)) if has_teacher and self.drift else {}
        counts = {name: count_summary(*[[TokenCounts(1, 1)] * len(sets)] * 2) for name, sets in self._by_name.items()}
        return list(self._metrics({STUDENT: scores} | ({TEACHER: scores} if has_teacher else {}), drifts, counts))

    def score(self, vectors: Tensor) -> Evaluation:
        """Metrics from the vectors (N, D) of ``sentences()``; ``ValueError`` if they cannot be compared by size."""
        student, teacher = Embedded(self._row_of, vectors), None
        if self._teacher is not None:
            texts = [*self.sentences(), *concatenate(self._translations())]
            teacher = self._teacher.embedded(texts, vectors, compared=self._compares_encoders)
        scores = {STUDENT: self._score_sets(student, teacher or student)}
        drifts: dict[str, Tensor] = {}
        if teacher is not None:
            if self._teacher_scores is None:  # the same in every validation
                self._teacher_scores = self._score_sets(teacher, teacher)
            scores[TEACHER] = self._teacher_scores
            for name, sets in self._by_name.items() if self.drift else ():
                standard = sets[0].target  # shared by all generations
                drifts[name] = cosine_distances(student.of(standard), teacher.of(standard))
        details = [row for encoder, by_set in scores.items() for row in self._details(encoder, by_set)]
        metrics, charts = self._metrics(scores, drifts, self._token_metrics), self._charts(scores, student, teacher)
        return Evaluation(metrics, details, charts, outcomes=self._outcomes(scores, drifts))

    def _outcomes(self, scores: Mapping[str, ScoresBySet], drifts: Mapping[str, Tensor]) -> dict[str, Items]:
        outcomes = {
            f"{self.name}/{name}/drift": Items.of("mean", distances.numpy(force=True))
            for name, distances in drifts.items()
        }
        for encoder, by_set in scores.items():
            for generations in by_set.values():
                for item, row in summary_items(generations, prefix_of(encoder)).items():
                    outcomes |= {f"{self.name}/{item}/{metric}": items for metric, items in row.items()}
        return outcomes

    def _metrics(
        self,
        scores: Mapping[str, ScoresBySet],
        drifts: Mapping[str, Tensor],
        token_metrics: Mapping[str, Mapping[str, float]],
    ) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for name in self._by_name:
            items = summary({encoder: by_set[name] for encoder, by_set in scores.items()})
            items[name] |= {"sentences": len(self._by_name[name][0].source), **token_metrics[name]}
            if name in drifts:
                items[name]["drift"] = float(drifts[name].mean())
            for item, values in items.items():
                metrics |= {f"{self.name}/{item}/{metric}": value for metric, value in values.items()}
        return metrics

    def _score_sets(self, english: Embedded, translations: Embedded) -> ScoresBySet:
        scores: ScoresBySet = {name: [] for name in self._by_name}
        # Deterministic noise is the same in every generation: it is scored once.
        cache: dict[tuple[str, ...], SetScores] = {}
        bar = tqdm(self.test_sets, desc=f"{self.name}: scoring", unit=" sets", delay=2, leave=False, disable=rank() > 0)
        for noisy_set in bar:
            key = (noisy_set.name, *noisy_set.source, *noisy_set.target)
            if key not in cache:
                cache[key] = score_set(noisy_set, english, translations if self.bitexts else None, self.search)
            scores[noisy_set.name].append(cache[key])
        return scores

    @cached_property
    def _text_counts(self) -> TextCounts:
        """Types and tokens of both sides of every set; generations share the standard side."""
        encoder = self._encoder if self._teacher is None else self._teacher.build()
        return self.count_tokens((side for row in self.test_sets for side in (row.source, row.target)), encoder)

    @property
    def _token_metrics(self) -> dict[str, dict[str, float]]:
        count = self._text_counts.of
        return {
            name: count_summary([count(row.source) for row in sets], [count(row.target) for row in sets])
            for name, sets in self._by_name.items()
        }

    def _details(self, encoder: str, by_set: ScoresBySet) -> list[dict[str, object]]:
        """A row for each generation of each set, with its metrics before averaging."""
        return [
            {
                "evaluator": self.name,
                "set": noisy_set.name,
                "seed": noisy_set.seed,
                "vectors_of": encoder,
                # `xsim` of a set, `fra-eng_noisy_xsim` of a bitext
                **{
                    metric if item == name else f"{item.removeprefix(f'{name}_')}_{metric}": value
                    for item, row in scores.metrics.items()
                    for metric, value in row.items()
                },
                "ttr": self._text_counts.of(noisy_set.source).ratio,
                "ttr_standard": self._text_counts.of(noisy_set.target).ratio,
                "ttr_of": self._text_counts.unit,
                **self.search.conditions(len(noisy_set.target)),
                "comparison": "textual",
                **noisy_set.conditions,
                "queries": len(noisy_set.source),
                "pool": len(noisy_set.target),
                "xsimpp_pool": scores.pool,
                "tied": scores.tied,
                "unchanged": sum(a == b for a, b in zip(noisy_set.source, noisy_set.target, strict=True)),
                "zero_vectors": scores.zero_vectors,
                "teacher": "" if self._teacher is None else self._teacher.encoder_name,
                "translations_by": STUDENT if self._teacher is None else TEACHER,
            }
            for name, generations in self._by_name.items()
            for noisy_set, scores in zip(generations, by_set[name], strict=True)
        ]

    def _charts(self, scores: Mapping[str, ScoresBySet], student: Embedded, teacher: Embedded | None) -> list[Chart]:
        by_name = {name: {encoder: by_set[name] for encoder, by_set in scores.items()} for name in self._by_name}
        charts: list[Chart] = [*boxes(self.name, by_name)]
        if step_counts := self._step_counts():
            charts.append(step_histogram(self.name, step_counts))
        charts.append(token_scatter(self.name, self._token_metrics, self._text_counts.unit))
        if self._pictured is not None:
            texts = sentence_vectors(self._pictured, self.picture_line, student, teacher, translations=self.bitexts)
            title = f"Pair {self.picture_line} of {self._pictured.name}: {self.name}"
            sentence = self._pictured.target[self.picture_line - 1]
            charts.append(sentence_map(f"{self.name}_sentence", title, sentence, texts))
        return charts

    def _step_counts(self) -> dict[str, list[int]]:
        """Transformations per sentence, by text: of the training sentences, and of sets of mixed noise."""
        counts = {} if self._training_noise is None else {"training": self._training_noise.step_counts()}
        for name, sets in self._by_name.items():
            counts[name] = [count for noisy_set in sets for count in noisy_set.step_counts]
        return {name: numbers for name, numbers in counts.items() if len(set(numbers)) > 1}


def concatenate(columns: Sequence[list[str]]) -> list[str]:
    """Texts of all columns; a column that generations share is included once."""
    return [text for column in {id(column): column for column in columns}.values() for text in column]
