"""Robustness to user-generated content: how near noisy sentences stay to what they stand for."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from torch import Tensor
from tqdm import tqdm

from xsent.batch import Embedder
from xsent.distributed import rank
from xsent.evaluation.charts import Chart
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.generations import STUDENT, TEACHER, ratio_summary, summary
from xsent.evaluation.margin import CANDIDATES, MARGINS
from xsent.evaluation.noise_charts import distance_boxes, error_boxes, places, sentence_map
from xsent.evaluation.noisy_sets import Embedded, NoisySet, Scored, Search, cosine_distances, scored
from xsent.evaluation.teacher import Teacher
from xsent.evaluation.test_sets import TestSetEvaluator, check_choice
from xsent.evaluation.type_token import TypeTokenRatio

BySet = dict[str, list[Scored]]  # a Scored for each generation of a set


class UgcEvaluator(TestSetEvaluator[NoisySet]):
    """Compares the vectors of noisy sentences with those of their standard forms, and both with a teacher's.

    Args:
        name: prefix of the metrics.
        read: called as ``(None, None)``, gives the sets. Sets of one name are generations of one noise.
        teacher: makes the encoder that the scored one is compared with; it also embeds the translations. It is called
            when the sets are read, encodes when first needed, and only its vectors are kept. None: no comparison, and
            the scored encoder embeds the translations.
        margin, k, candidates: as in ``best_targets``.
        drift: whether standard sentences are compared with the teacher's vectors of them.
        bitexts: whether translations search the noisy and the standard sentences, and are searched by them.
        pieces, lower_case: as in ``TypeTokenRatio``.
        picture_set: name of the set that the picture of one sentence is from; None or a set that was not read: no
            picture.
        picture_line: which of its pairs, from 1.

    Metrics:
        Of each set: ``<name>/<set>/cosine_distance`` of noisy and standard sentences (0 to 2, mean over the pairs);
        ``xsim``, percent of the noisy sentences whose best standard sentence by margin has another text, and
        ``xsimpp``, the same with the hard negatives of the standard side in the pool; ``ttr`` and ``ttr_standard``,
        percent, and ``ttr_ratio``, which is noisy over standard. Of translations ``<name>/<set>_fra-eng/noisy_xsim``
        and ``standard_xsim``, and ``<name>/<set>_eng-fra/...`` with the translations in the pool.

        With a teacher: the same of its own vectors, ``teacher_cosine_distance`` and so on, and ``drift``, the cosine
        distance of the standard sentences' vectors from the teacher's.

        Of several generations each figure is their mean, ``sd_<metric>`` their standard deviation,
        ``p_<metric>`` the p-value of a t-test of the encoder's scores against the teacher's, and ``p_ttr`` of the
        noisy texts' type-token ratios against the standard text's.

    Source:
        Nishimwe et al. 2024, sections 4 and 6.
    """

    def __init__(
        self,
        *,
        name: str,
        read: Callable[[Any, Sequence[str] | None], Sequence[NoisySet]],
        teacher: Callable[[], Embedder] | None,
        margin: str,
        k: int,
        candidates: str,
        drift: bool,
        bitexts: bool,
        pieces: str | None,
        lower_case: bool,
        picture_set: str | None,
        picture_line: int,
    ) -> None:
        super().__init__(name=name, root=None, wanted=None, read=read, missing="error")
        check_choice("margin", margin, MARGINS)
        check_choice("candidates", candidates, CANDIDATES)
        for option, value in [("k", k), ("picture_line", picture_line)]:
            if value < 1:
                raise ValueError(f"evaluator.{option}={value}: expected at least 1")
        self.teacher = None if teacher is None else Teacher(teacher, name=name)
        self.search = Search(margin, k, candidates)
        self.drift = drift
        self.bitexts = bitexts
        self.ratio = TypeTokenRatio(pieces=pieces, lower_case=lower_case)
        self.picture_set = picture_set
        self.picture_line = picture_line
        self._teacher_scored: BySet | None = None
        self._known_ratios: dict[int, float] = {}  # generations share their standard side

    # ---- what is read

    def check(self) -> None:
        """Read the sets, the teacher and the pieces.

        Raises:
            ValueError: the set of the picture has no such line, or what the readers raise.
        """
        super().check()
        self.ratio.check()
        if self._pictured is not None and self.picture_line > len(self._pictured.source):
            raise ValueError(
                f"evaluator.picture_line={self.picture_line}: {self.picture_set} has {len(self._pictured.source)} pairs"
            )
        if self.teacher is not None:
            self.teacher.check()

    def check_size(self, dim: int) -> None:
        """Raise ``ValueError`` when vectors of this size would be compared with a teacher's of another."""
        if self.teacher is not None and self._compares_both:
            self.teacher.check_size(dim)

    @property
    def _compares_both(self) -> bool:
        """Whether vectors of the scored encoder meet those of the teacher."""
        return self.drift or (self.bitexts and any(one.translations for one in self.test_sets))

    @property
    def trial_size(self) -> int:
        """Size of vectors that can be scored for a trial: with a teacher, the size of its."""
        return (self.teacher and self.teacher.dim) or 2

    @cached_property
    def _by_name(self) -> dict[str, list[NoisySet]]:
        found: dict[str, list[NoisySet]] = defaultdict(list)
        for one in self.test_sets:
            found[one.name].append(one)
        return dict(found)

    @property
    def _pictured(self) -> NoisySet | None:
        return next(iter(self._by_name.get(self.picture_set or "", [])), None)

    def digest(self) -> str:
        """Hex digest of all sentences, and of how they belong together."""
        known: dict[int, str] = {}  # generations share their standard side and their negatives

        def of(content: object) -> str:
            if id(content) not in known:
                known[id(content)] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
            return known[id(content)]

        sets = [
            [one.name, one.seed, one.language, *map(of, (one.source, one.target, one.augmented, one.made_from))]
            + [[language, of(lines)] for language, lines in one.translations.items()]
            for one in self.test_sets
        ]
        return hashlib.sha256(json.dumps(sets).encode()).hexdigest()

    def texts(self) -> list[str]:
        """All sentences that the scored encoder embeds: the translations, too, where no teacher does."""
        columns = [column for one in self.test_sets for column in (one.source, one.target, one.augmented)]
        return flat(columns if self.teacher is not None else columns + self._translations())

    def _translations(self) -> list[list[str]]:
        return [lines for one in self.test_sets for lines in one.translations.values()] if self.bitexts else []

    # ---- what is scored

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``.

        Raises:
            ValueError: the teacher's vectors have another size, and drift or bitexts need both.
        """
        student = Embedded(self._row_of, vectors)
        teacher = self._teachers(vectors)
        found = {STUDENT: self._scored(student, teacher or student)}
        if teacher is not None:
            if self._teacher_scored is None:  # once, however often an encoder is scored in training
                self._teacher_scored = self._scored(teacher, teacher)
            found[TEACHER] = self._teacher_scored
        metrics: dict[str, float] = {}
        for name, sets in self._by_name.items():
            figures = summary({whose: by_set[name] for whose, by_set in found.items()})
            figures[name] |= self._ratios[name]
            if teacher is not None and self.drift:
                standard = sets[0].target  # that of every generation
                figures[name]["drift"] = float(cosine_distances(student.of(standard), teacher.of(standard)).mean())
            for item, values in figures.items():
                metrics |= {f"{self.name}/{item}/{metric}": value for metric, value in values.items()}
        details = [row for whose, by_set in found.items() for row in self._details(whose, by_set)]
        return Evaluation(metrics, details, self._charts(found, student, teacher))

    def _teachers(self, vectors: Tensor) -> Embedded | None:
        if self.teacher is None:
            return None
        texts = [*self.sentences(), *flat(self._translations())]
        return self.teacher.embedded(texts, vectors, compared=self._compares_both)

    def _scored(self, english: Embedded, others: Embedded) -> BySet:
        found: BySet = {name: [] for name in self._by_name}
        # Noise without chance in it is the same in every generation: it is scored once.
        known: dict[tuple[str, ...], Scored] = {}
        bar = tqdm(self.test_sets, desc=f"{self.name}: scoring", unit=" sets", delay=2, leave=False, disable=rank() > 0)
        for one in bar:
            key = (one.name, *one.source, *one.target)
            if key not in known:
                known[key] = scored(one, english, others if self.bitexts else None, self.search)
            found[one.name].append(known[key])
        return found

    @cached_property
    def _ratios(self) -> dict[str, dict[str, float]]:
        """Figures of the texts alone, by set."""
        return {
            name: ratio_summary(
                [self._ratio_of(one.source) for one in sets], [self._ratio_of(one.target) for one in sets]
            )
            for name, sets in self._by_name.items()
        }

    def _ratio_of(self, sentences: list[str]) -> float:
        if id(sentences) not in self._known_ratios:
            self._known_ratios[id(sentences)] = self.ratio(sentences)
        return self._known_ratios[id(sentences)]

    def _details(self, whose: str, by_set: BySet) -> list[dict[str, object]]:
        """A row for each generation of each set, with its figures before they were averaged."""
        return [
            {
                "evaluator": self.name, "set": one.name, "seed": one.seed, "vectors_of": whose,
                **_flat_figures(found), "ttr": self._ratio_of(one.source), "ttr_standard": self._ratio_of(one.target),
                "ttr_of": self.ratio.unit,
                "margin": self.search.margin, "k": self.search.k, "k_used": min(self.search.k, len(one.target)),
                "candidates": self.search.candidates, "comparison": "textual", "queries": len(one.source),
                "pool": len(one.target), "xsimpp_pool": found.pool, "tied": found.tied,
                "unchanged": sum(a == b for a, b in zip(one.source, one.target, strict=True)),
                "zero_vectors": found.zero_vectors, "translations_by": STUDENT if self.teacher is None else TEACHER,
            }
            for name, generations in self._by_name.items()
            for one, found in zip(generations, by_set[name], strict=True)
        ]  # fmt: skip

    # ---- pictures

    def _charts(self, found: Mapping[str, BySet], student: Embedded, teacher: Embedded | None) -> list[Chart]:
        by_name = {name: {whose: by_set[name] for whose, by_set in found.items()} for name in self._by_name}
        errors = error_boxes(self.name, by_name)
        charts: list[Chart] = [distance_boxes(self.name, by_name), *([] if errors is None else [errors])]
        if self._pictured is not None:
            shown = places(self._pictured, self.picture_line, student, teacher, translations=self.bitexts)
            title = f"Pair {self.picture_line} of {self._pictured.name}: {self.name}"
            text = self._pictured.target[self.picture_line - 1]
            charts.append(sentence_map(f"{self.name}_sentence", title, text, shown))
        return charts


def flat(columns: Sequence[list[str]]) -> list[str]:
    """Texts of all columns; a column that generations share is taken once."""
    return [text for column in {id(column): column for column in columns}.values() for text in column]


def _flat_figures(found: Scored) -> dict[str, float]:
    """``xsim`` of a set, ``fra-eng_noisy_xsim`` of a bitext."""
    figures: dict[str, float] = {}
    for item, row in found.figures.items():
        _, _, direction = item.rpartition("_")
        figures |= {f"{direction}_{metric}" if "-" in direction else metric: value for metric, value in row.items()}
    return figures
