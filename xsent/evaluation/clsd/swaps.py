"""CLSD swaps: similarity changes caused by single-word swaps, by part of speech, cross-lingual and monolingual."""

import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from torch import Tensor

from xsent.config_checks import check_choice
from xsent.evaluation.clsd.base import Corpus
from xsent.evaluation.clsd.swap_statistics import (
    KINDS,
    Changes,
    Normaliser,
    Swaps,
    box_plot,
    concatenate,
    count_unrelated,
    normaliser,
    similarity_change,
    swap_items,
    swap_metrics,
)
from xsent.evaluation.dataset_evaluator import DatasetEvaluator, zero_vectors
from xsent.evaluation.evaluator import Bitext, Evaluation, direction

log = logging.getLogger(__name__)

EQUIVALENT = ("keep", "drop")
ALL = "all"  # the languages together


class Parallel(NamedTuple):
    """Parallel sentences of one corpus with distractors in either language."""

    name: str
    source: list[str]  # in the alphabetically first language
    target: list[str]


@dataclass(kw_only=True, eq=False, repr=False)
class ClsdSwapsEvaluator(DatasetEvaluator[Swaps]):
    """Change of the cosine when one word of a sentence is swapped.

    The change is divided by the difference between parallel and unrelated sentences (the normaliser, one for each pair
    of languages). Below 0 the distractor is farther away than its original, at 0 the encoder does not distinguish them,
    above 0 it prefers the distractor.

    Args:
        directions: requested directions of the corpora, for ``read``.
        annotations: human swap annotations, for ``swaps``; None: swaps are found by rule in the corpora.
        classes: universal parts of speech with metrics of their own; together they are ``any``.
        semantically_equivalent: ``keep`` or ``drop`` swaps that annotators found to have the same meaning.
        n_unrelated, seed: of a normaliser, as in ``normaliser``.
        read: ``(root, directions)`` -> corpora with distractors, not swaps.
        swaps: ``(corpora, annotations, keep_equivalent=...)`` -> swaps, a set for each direction that has some.

    Metrics:
        ``<name>/<deu>/<metric>`` by language of original and distractor, and ``<name>/all/<metric>``. For each class
        and for ``any``: ``<NOUN>_n``, number of swaps; ``<NOUN>_cross`` and ``<NOUN>_mono``, mean change compared with
        the translation and with the original (never above 0); ``pearson_<NOUN>`` and ``spearman_<NOUN>`` of the two
        changes, -1 to 1. ``<name>/<deu-fra>/mean_parallel``, ``mean_unrelated``, cosines, and ``normaliser``, their
        difference. If unrelated sentences are as near as parallel ones, it is NaN, and so are all changes.

    Tables:
        ``<name>``: a row for each swap.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638), section 3.3, Figures 2 and 3.
    """

    requested_by = "directions"
    directions: Sequence[str] | None
    annotations: str | Sequence[str] | None
    classes: Sequence[str]
    semantically_equivalent: str
    n_unrelated: int | None
    seed: int
    swaps: Callable[..., Sequence[Swaps]]
    missing: str = field(default="error", init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("evaluator.semantically_equivalent", self.semantically_equivalent, EQUIVALENT)
        if not self.classes or len(set(self.classes)) < len(self.classes):
            raise ValueError(f"evaluator.classes={list(self.classes)}: expected at least one part of speech, each once")
        if self.n_unrelated is not None and self.n_unrelated < 1:
            raise ValueError(f"evaluator.n_unrelated={self.n_unrelated}: expected at least 1, or null for all")

    # ---- reading

    @cached_property
    def _corpora(self) -> Sequence[Corpus]:
        corpora: Sequence[Corpus] = self.read(self.root, self.directions)
        return corpora

    def read_sets(self, requested: Sequence[str] | None) -> Sequence[Swaps]:
        keep = self.semantically_equivalent == "keep"
        swaps = self.swaps(self._corpora, self.annotations, keep_equivalent=keep)
        # Annotated tables have all directions.
        available = {(corpus.source_lang, corpus.target_lang) for corpus in self._corpora}
        selected = [row for row in swaps if requested is None or (row.source_lang, row.target_lang) in available]
        if not selected:
            names = ", ".join(map(direction, swaps))
            raise ValueError(f"evaluator.directions: expected swaps of {', '.join(requested or [])}, found {names}")
        return selected

    @cached_property
    def parallel(self) -> dict[str, list[Parallel]]:
        """Corpora of the normaliser by pair of languages, ``deu-fra``.

        Each has the sentences of both directions, so that the normaliser does not depend on the requested directions.
        """
        corpora = self._corpora if self.directions is None else self.read(self.root, None)
        by_pair: dict[str, dict[str, dict[str, tuple[str, str]]]] = {}  # by languages, corpus, id
        for corpus in sorted(corpora, key=lambda corpus: (corpus.name, corpus.source_lang, corpus.target_lang)):
            languages = _languages(corpus)
            sides = (corpus.source, corpus.target)
            first, second = sides if languages.startswith(f"{corpus.source_lang}-") else sides[::-1]
            by_id = by_pair.setdefault(languages, {}).setdefault(corpus.name, {})
            for index, *texts in zip(corpus.ids, first, second, strict=True):
                by_id.setdefault(index, (texts[0], texts[1]))
        return {
            languages: [
                Parallel(name, [source for source, _ in by_id.values()], [target for _, target in by_id.values()])
                for name, by_id in by_pair.get(languages, {}).items()
            ]
            for languages in dict.fromkeys(map(_languages, self.test_sets))
        }

    def check(self) -> None:
        """Read corpora and swaps; without annotations, tag the swaps.

        Raise ``ValueError`` for a class without swaps, and for too few parallel sentences of a pair of languages.
        """
        super().check()
        tags = Counter(tag for swaps in self.test_sets for tag in swaps.tags)
        if unknown := [tag for tag in self.classes if tag not in tags]:
            counts = ", ".join(f"{tag} {count}" for tag, count in tags.most_common())
            raise ValueError(f"evaluator.classes: no swap is tagged {', '.join(unknown)}; found {counts}")
        for pair, corpora in self.parallel.items():
            pairs = count_unrelated([len(corpus.source) for corpus in corpora])
            if pairs < (self.n_unrelated or 1):
                raise ValueError(
                    f"{self.name}: the normaliser of {pair} needs {self.n_unrelated or 1} unrelated pairs, and"
                    f" {self.root} has {pairs} of {sum(len(corpus.source) for corpus in corpora)} parallel ones"
                )
        swap_corpora = {index.rsplit("/", 2)[0].lower() for swaps in self.test_sets for index in swaps.ids}
        available = {corpus.name.lower() for corpora in self.parallel.values() for corpus in corpora}
        if absent := swap_corpora - available:
            log.warning(
                "%s: the normaliser is of the corpora in %s, without %s, which swaps are from; the paper's is of both"
                " its corpora",
                *(self.name, self.root, ", ".join(sorted(absent))),
            )

    def texts(self) -> list[str]:
        corpora = [corpus for of_pair in self.parallel.values() for corpus in of_pair]
        parallel = [side for corpus in corpora for side in (corpus.source, corpus.target)]
        columns = [*(swaps.swapped for swaps in self.test_sets), *parallel]
        return super().texts() + [text for column in columns for text in column]

    def digest(self) -> str:
        return hashlib.sha256(json.dumps([super().digest(), self.parallel], sort_keys=True).encode()).hexdigest()

    # ---- scoring

    def normalisers(self, vectors: Tensor) -> dict[str, Normaliser]:
        """Normalisers by pair of languages, from the embeddings (N, D) of ``sentences()``."""
        normalisers = {}
        for pair, corpora in self.parallel.items():
            sides = [(self.rows(vectors, corpus.source), self.rows(vectors, corpus.target)) for corpus in corpora]
            normalisers[pair] = result = normaliser(sides, n_unrelated=self.n_unrelated, seed=self.seed)
            if math.isnan(result.value):
                log.warning(
                    "%s: parallel sentences of %s have a mean cosine of %.6f, unrelated ones of %.6f: the encoder does"
                    " not distinguish them, and there are no figures of changes",
                    *(self.name, pair, result.mean_parallel, result.mean_unrelated),
                )
        return normalisers

    def changes(self, vectors: Tensor, normalisers: Mapping[str, Normaliser] | None = None) -> list[Changes]:
        """Changes of each language's swaps, from the embeddings (N, D) of ``sentences()`` and their normalisers."""
        normalisers = self.normalisers(vectors) if normalisers is None else normalisers
        changes = []
        for swaps in self.test_sets:
            unit = normalisers[_languages(swaps)].value
            source, target, swapped = (self.rows(vectors, side) for side in (swaps.source, swaps.target, swaps.swapped))
            cross = similarity_change(source, target, swapped, normaliser=unit)
            mono = similarity_change(target, target, swapped, normaliser=unit)
            changes.append(Changes(swaps.name, swaps.tags, cross.numpy(force=True), mono.numpy(force=True)))
        return changes

    def metric_names(self) -> list[str]:
        zeros = [np.zeros(len(swaps.tags)) for swaps in self.test_sets]
        changes = [Changes(swaps.name, swaps.tags, x, x) for swaps, x in zip(self.test_sets, zeros, strict=True)]
        return list(self._metrics(changes, dict.fromkeys(self.parallel, Normaliser(1.0, 0.0, 1))))

    def score(self, vectors: Tensor) -> Evaluation:
        normalisers = self.normalisers(vectors)
        changes = self.changes(vectors, normalisers)
        details = [self._detail(swaps, normalisers[_languages(swaps)], vectors) for swaps in self.test_sets]
        rows = [row for swaps, change in zip(self.test_sets, changes, strict=True) for row in _rows(swaps, change)]
        by_language = {change.name: change for change in changes}
        charts = [box_plot(self.name, "One word swapped", by_language, self.classes, kind) for kind in KINDS]
        outcomes = {
            f"{self.name}/{of_language.name}/{metric}": items
            for of_language in [*changes, concatenate(changes, ALL)]
            for metric, items in swap_items(of_language, self.classes).items()
        }
        return Evaluation(self._metrics(changes, normalisers), details, charts, {self.name: rows}, outcomes)

    def _metrics(self, changes: Sequence[Changes], normalisers: Mapping[str, Normaliser]) -> dict[str, float]:
        languages = [*changes, concatenate(changes, ALL)]
        figures = {of_language.name: swap_metrics(of_language, self.classes) for of_language in languages}
        figures |= {pair: result.metrics() for pair, result in normalisers.items()}
        return {f"{self.name}/{item}/{metric}": value for item, row in figures.items() for metric, value in row.items()}

    def _detail(self, swaps: Swaps, unit: Normaliser, vectors: Tensor) -> dict[str, object]:
        sides = [self.rows(vectors, side) for side in (swaps.source, swaps.target, swaps.swapped)]
        return {
            "evaluator": self.name,
            "direction": direction(swaps),
            **unit.metrics(),
            "unrelated_pairs": unit.unrelated_pairs,
            "unrelated": "all" if self.n_unrelated is None else "drawn",
            "corpora": " ".join(corpus.name for corpus in self.parallel[_languages(swaps)]),
            "swaps": len(swaps.ids),
            "swaps_of_classes": sum(tag in self.classes for tag in swaps.tags),
            "additions": swaps.additions,
            "classes": " ".join(self.classes),
            "tags": "by rule" if self.annotations is None else "annotated",
            "equivalent": swaps.equivalent.count(1),
            "semantically_equivalent": self.semantically_equivalent,
            "undefined": "collapsed" if math.isnan(unit.value) else "",
            "zero_vectors": zero_vectors(*sides),
        }


def _languages(bitext: Bitext) -> str:
    """Both languages in alphabetical order: a normaliser has no direction."""
    return "-".join(sorted((bitext.source_lang, bitext.target_lang)))


def _rows(swaps: Swaps, changes: Changes) -> Iterator[dict[str, object]]:
    for row, (before, after) in enumerate(swaps.words):
        yield {
            "id": swaps.ids[row],
            "source_lang": swaps.source_lang,
            "target_lang": swaps.target_lang,
            "before": before,
            "after": after,
            "tag": swaps.tags[row],
            "equivalent": "" if swaps.equivalent[row] < 0 else swaps.equivalent[row],
            "cross": float(changes.cross[row]),
            "mono": float(changes.mono[row]),
            "source": swaps.source[row],
            "target": swaps.target[row],
            "swapped": swaps.swapped[row],
        }
