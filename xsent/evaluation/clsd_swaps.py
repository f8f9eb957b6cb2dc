"""What an encoder makes of a single swapped word, by its part of speech, across languages and within one."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.similarity_change import Normaliser, count_unrelated, normaliser, similarity_change
from xsent.evaluation.swap_changes import Changes, Swaps, change_charts, figures, together
from xsent.evaluation.test_sets import Bitext, TestSetEvaluator, check_choice, zero_vectors

log = logging.getLogger(__name__)

EQUIVALENT = ("keep", "drop")
ALL = "all"  # the languages together


class Corpus(Bitext, Protocol):
    """Parallel sentences of one corpus, those that have distractors in the target's language."""

    @property
    def name(self) -> str: ...
    @property
    def ids(self) -> list[str]: ...


class Parallel(NamedTuple):
    """Parallel sentences of one corpus in two languages, those that have distractors in either."""

    name: str
    source: list[str]  # in the language that the alphabet has first
    target: list[str]


class FindSwaps(Protocol):
    """Finds swaps, in tables of people's or by rule."""

    def __call__(
        self, corpora: Sequence[Any], annotations: str | Sequence[str] | None, /, *, keep_equivalent: bool
    ) -> Sequence[Swaps]:
        """Swaps, a set for each direction that has any."""
        ...


class ClsdSwapsEvaluator(TestSetEvaluator[Swaps]):
    """How much nearer or farther a distractor is than its original, when one word makes the difference.

    The change is that of the cosine, divided by what tells parallel from unrelated sentences (the normaliser, one for
    each pair of languages). Below 0 the distractor is farther away, at 0 the encoder does not notice, above 0 it is
    fooled.

    Args:
        name: prefix of the metrics.
        root, directions: corpora and which directions of them, for ``read``.
        annotations: where people's swaps are, for ``swaps``; None: they are found by rule in the corpora.
        classes: universal parts of speech that have figures of their own and together are ``any``.
        semantically_equivalent: ``keep`` swaps that people found to mean the same, or ``drop`` them.
        n_unrelated: of the pairs of a normaliser, as in ``similarity_change.normaliser``.
        seed: the same.
        read: ``(root, directions)`` -> corpora with distractors.
        swaps: ``(corpora, annotations)`` -> swaps by language, without equivalent ones if that is said.

    Metrics:
        ``<name>/<deu>/<metric>``, where the language is that of original and distractor, and ``<name>/all/<metric>`` of
        all languages together. For each class, and for ``any`` of them: ``<NOUN>_n``, how many; ``<NOUN>_cross`` and
        ``<NOUN>_mono``, the mean change beside the translation and beside the original, which is never above 0;
        ``pearson_<NOUN>`` and ``spearman_<NOUN>`` of the two changes of each swap, -1 to 1.
        ``<name>/<deu-fra>/mean_parallel``, ``mean_unrelated``, cosines, and ``normaliser``, their difference. An
        encoder for which unrelated sentences are as near as parallel ones has NaN for it and for all changes.

    Tables:
        ``<name>``: a row for each swap.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638), section 3.3, Figures 2 and 3.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str,
        directions: Sequence[str] | None,
        annotations: str | Sequence[str] | None,
        classes: Sequence[str],
        semantically_equivalent: str,
        n_unrelated: int | None,
        seed: int,
        read: Callable[[Any, Sequence[str] | None], Sequence[Corpus]],
        swaps: FindSwaps,
    ) -> None:
        check_choice("semantically_equivalent", semantically_equivalent, EQUIVALENT)
        if not classes or len(set(classes)) < len(classes):
            raise ValueError(f"evaluator.classes={list(classes)}: expected at least one part of speech, each once")
        if n_unrelated is not None and n_unrelated < 1:
            raise ValueError(f"evaluator.n_unrelated={n_unrelated}: expected at least 1, or null for all")
        super().__init__(name=name, root=root, wanted=directions, read=self._read_swaps, missing="error")
        self.annotations = annotations
        self.classes = list(classes)
        self.semantically_equivalent = semantically_equivalent
        self.n_unrelated = n_unrelated
        self.seed = seed
        self.read_corpora = read
        self.find_swaps = swaps

    # ---- what is read

    @cached_property
    def _corpora(self) -> Sequence[Corpus]:
        return self.read_corpora(self.root, self.wanted)

    def _read_swaps(self, root: str, directions: Sequence[str] | None) -> Sequence[Swaps]:
        keep = self.semantically_equivalent == "keep"
        found = self.find_swaps(self._corpora, self.annotations, keep_equivalent=keep)
        # Tables have all directions.
        ways = {(corpus.source_lang, corpus.target_lang) for corpus in self._corpora}
        chosen = [one for one in found if directions is None or (one.source_lang, one.target_lang) in ways]
        if not chosen:
            there = ", ".join(f"{one.source_lang}-{one.target_lang}" for one in found)
            raise ValueError(f"evaluator.directions: expected swaps of {', '.join(directions or [])}, found {there}")
        return chosen

    @cached_property
    def parallel(self) -> dict[str, list[Parallel]]:
        """By pair of languages, ``deu-fra``, the corpora that its normaliser is of.

        Each has the sentences of both its directions, whichever are asked for: what a change is divided by depends on
        the corpora alone.
        """
        everything = self._corpora if self.wanted is None else self.read_corpora(self.root, None)
        found: dict[str, dict[str, dict[str, tuple[str, str]]]] = {}  # by languages, corpus, id
        for corpus in sorted(everything, key=lambda one: (one.name, one.source_lang, one.target_lang)):
            languages = _languages(corpus)
            sides = (corpus.source, corpus.target)
            first, second = sides if languages.startswith(f"{corpus.source_lang}-") else sides[::-1]
            texts = found.setdefault(languages, {}).setdefault(corpus.name, {})
            for index, one, other in zip(corpus.ids, first, second, strict=True):
                texts.setdefault(index, (one, other))
        return {
            languages: [_parallel(name, list(texts.values())) for name, texts in found.get(languages, {}).items()]
            for languages in dict.fromkeys(map(_languages, self.test_sets))
        }

    def check(self) -> None:
        """Read corpora and swaps; without annotations this tags the swaps.

        Raises:
            ValueError: a class that no swap has, languages without parallel sentences, or too few of them.
        """
        super().check()
        tags = Counter(tag for one in self.test_sets for tag in one.tags)
        if unknown := [tag for tag in self.classes if tag not in tags]:
            there = ", ".join(f"{tag} {count}" for tag, count in tags.most_common())
            raise ValueError(f"evaluator.classes: no swap is tagged {', '.join(unknown)}; found {there}")
        for pair, corpora in self.parallel.items():
            pairs = count_unrelated([len(corpus.source) for corpus in corpora])
            if pairs < (self.n_unrelated or 1):
                raise ValueError(
                    f"{self.name}: the normaliser of {pair} needs {self.n_unrelated or 1} unrelated pairs, and"
                    f" {self.root} has {pairs} of {sum(len(corpus.source) for corpus in corpora)} parallel ones"
                )
        absent = {one.rsplit("/", 2)[0].lower() for swaps in self.test_sets for one in swaps.ids}.difference(
            corpus.name.lower() for corpora in self.parallel.values() for corpus in corpora
        )
        if absent:
            log.warning(
                "%s: the normaliser is of the corpora in %s, without %s, which swaps are from; the paper's is of both"
                " its corpora", self.name, self.root, ", ".join(sorted(absent)),
            )  # fmt: skip

    def texts(self) -> list[str]:
        """All sentences: swaps, their originals and translations, and the parallel ones of the normaliser."""
        swapped = [text for one in self.test_sets for text in one.swapped]
        corpora = (one for several in self.parallel.values() for one in several)
        parallel = [text for one in corpora for side in (one.source, one.target) for text in side]
        return [*super().texts(), *swapped, *parallel]

    def digest(self) -> str:
        """Hex digest of the swaps and of the sentences of the normaliser."""
        return hashlib.sha256(json.dumps([super().digest(), self.parallel], sort_keys=True).encode()).hexdigest()

    # ---- what is scored

    def normalisers(self, vectors: Tensor) -> dict[str, Normaliser]:
        """By pair of languages, from the vectors (N, D) of ``sentences()``."""
        found = {
            pair: normaliser(
                [(self.rows(vectors, corpus.source), self.rows(vectors, corpus.target)) for corpus in corpora],
                n_unrelated=self.n_unrelated, seed=self.seed,
            )
            for pair, corpora in self.parallel.items()
        }  # fmt: skip
        for pair, one in found.items():
            if math.isnan(one.value):
                log.warning(
                    "%s: parallel sentences of %s have a mean cosine of %.6f, unrelated ones of %.6f: the encoder does"
                    " not tell them apart, and there are no figures of changes",
                    self.name, pair, one.mean_parallel, one.mean_unrelated,
                )  # fmt: skip
        return found

    def changes(self, vectors: Tensor) -> list[Changes]:
        """Changes of each language's swaps, from the vectors (N, D) of ``sentences()``."""
        return self._changes(vectors, self.normalisers(vectors))

    def _changes(self, vectors: Tensor, normalisers: Mapping[str, Normaliser]) -> list[Changes]:
        found = []
        for swaps in self.test_sets:
            by = normalisers[_languages(swaps)].value
            source, target, swapped = (self.rows(vectors, side) for side in (swaps.source, swaps.target, swaps.swapped))
            cross = similarity_change(source, target, swapped, normaliser=by)
            mono = similarity_change(target, target, swapped, normaliser=by)
            found.append(Changes(swaps.name, swaps.tags, cross.numpy(force=True), mono.numpy(force=True)))
        return found

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        normalisers = self.normalisers(vectors)
        changes = self._changes(vectors, normalisers)
        found = {one.name: figures(one, self.classes) for one in [*changes, together(changes, ALL)]}
        found |= {pair: _figures(one) for pair, one in normalisers.items()}
        metrics = {
            f"{self.name}/{item}/{metric}": value for item, values in found.items() for metric, value in values.items()
        }
        details = [self._detail(swaps, normalisers[_languages(swaps)], vectors) for swaps in self.test_sets]
        rows = [row for swaps, one in zip(self.test_sets, changes, strict=True) for row in _rows(swaps, one)]
        return Evaluation(metrics, details, change_charts(self.name, changes, self.classes), {self.name: rows})

    def _detail(self, swaps: Swaps, by: Normaliser, vectors: Tensor) -> dict[str, object]:
        sides = [self.rows(vectors, side) for side in (swaps.source, swaps.target, swaps.swapped)]
        return {
            "evaluator": self.name, "direction": f"{swaps.source_lang}-{swaps.target_lang}", **_figures(by),
            "unrelated_pairs": by.unrelated_pairs, "unrelated": "all" if self.n_unrelated is None else "drawn",
            "corpora": " ".join(corpus.name for corpus in self.parallel[_languages(swaps)]),
            "swaps": len(swaps.ids), "swaps_of_classes": sum(tag in self.classes for tag in swaps.tags),
            "additions": swaps.additions, "classes": " ".join(self.classes),
            "tags": "by rule" if self.annotations is None else "annotated",
            "equivalent": swaps.equivalent.count(1), "semantically_equivalent": self.semantically_equivalent,
            "undefined": "collapsed" if math.isnan(by.value) else "", "zero_vectors": zero_vectors(*sides),
        }  # fmt: skip


def _parallel(name: str, pairs: Sequence[tuple[str, str]]) -> Parallel:
    return Parallel(name, [source for source, _ in pairs], [target for _, target in pairs])


def _languages(one: Bitext) -> str:
    """Both languages in the order of the alphabet: a normaliser has no direction."""
    return "-".join(sorted((one.source_lang, one.target_lang)))


def _figures(one: Normaliser) -> dict[str, float]:
    return {"mean_parallel": one.mean_parallel, "mean_unrelated": one.mean_unrelated, "normaliser": one.value}


def _rows(swaps: Swaps, changes: Changes) -> Iterator[dict[str, object]]:
    columns = zip(
        swaps.ids, swaps.words, swaps.tags, swaps.equivalent, changes.cross.tolist(), changes.mono.tolist(),
        swaps.source, swaps.target, swaps.swapped, strict=True,
    )  # fmt: skip
    for index, (before, after), tag, equivalent, cross, mono, source, target, swapped in columns:
        yield {
            "id": index, "source_lang": swaps.source_lang, "target_lang": swaps.target_lang, "before": before,
            "after": after, "tag": tag, "equivalent": "" if equivalent < 0 else equivalent, "cross": cross,
            "mono": mono, "source": source, "target": target, "swapped": swapped,
        }  # fmt: skip
