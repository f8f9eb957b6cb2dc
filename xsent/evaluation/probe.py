"""Language probe: how well a linear classifier reads the language of a sentence from its vector."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.test_sets import Bitext, TestSetEvaluator

log = logging.getLogger(__name__)


class Labelled(NamedTuple):
    """Distinct sentences, each with its language."""

    texts: list[str]
    languages: list[str]  # ISO 639-3


class LanguageProbeEvaluator(TestSetEvaluator[Bitext]):
    """Held-out accuracy of a logistic regression from standardised vectors to languages, beside chance.

    Vectors of meaning that tell the language leak it. The sentences are those of both sides of the test sets,
    each text once; a text of two languages is left out. Translations, directly or through others, are in one
    part: in the training or in the held-out one. In each part no language has more sentences than the median
    language, so that English, which is in every test set, does not outweigh the others.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, for ``read``.
        languages: which test sets, for ``read``; None is all.
        read: ``(root, languages)`` -> test sets.
        missing: a language without files is an ``error``, or left out with a ``note``.
        test_share: of the sentences are held out.
        inverse_regularization: the classifier's C, of the squared norm of its weights.
        max_iter: of L-BFGS; not to converge within it is said in the log and in the details.
        seed: decides the parts and which sentences stand for a large language.

    Metrics:
        ``<name>/mean/accuracy``, percent of the held-out sentences; ``<name>/mean/chance``, percent of the
        largest language among them; ``<name>/<deu>/recall``, percent of that language's.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        languages: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[Bitext]],
        missing: str,
        test_share: float,
        inverse_regularization: float,
        max_iter: int,
        seed: int,
    ) -> None:
        if not 0 < test_share < 1:
            raise ValueError(f"evaluator.test_share={test_share}: expected a number between 0 and 1")
        super().__init__(name=name, root=root, wanted=languages, read=read, missing=missing)
        self.test_share = test_share
        self.inverse_regularization = inverse_regularization
        self.max_iter = max_iter
        self.seed = seed

    def check(self) -> None:
        """Read the test sets and see that there is something to tell apart."""
        super().check()
        self._parts()

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        train, test = self._parts()
        log.info("%s: learning to tell %d languages apart", self.name, len(set(train.languages)))
        classifier = make_pipeline(
            StandardScaler(), LogisticRegression(C=self.inverse_regularization, max_iter=self.max_iter)
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            classifier.fit(self._inputs(vectors, train), train.languages)
        converged = not any(issubclass(one.category, ConvergenceWarning) for one in caught)
        if not converged:
            log.warning("%s: the classifier did not converge in %d iterations", self.name, self.max_iter)
        right = classifier.predict(self._inputs(vectors, test)) == np.array(test.languages)
        return self._evaluation(right, train, test, converged)

    def _inputs(self, vectors: Tensor, part: Labelled) -> NDArray[np.float64]:
        return self.rows(vectors, part.texts).double().numpy(force=True)

    def _parts(self) -> tuple[Labelled, Labelled]:
        train, test = split_by_translation(self.test_sets, test_share=self.test_share, seed=self.seed)
        known, asked = set(train.languages), set(test.languages)
        if len(known) < 2 or known != asked:
            raise ValueError(
                f"{self.name}: expected at least 2 languages, each in both parts, found {', '.join(sorted(known))}"
                f" to learn from and {', '.join(sorted(asked))} held out; more sentences are needed"
            )
        return train, test

    def _evaluation(self, right: NDArray[np.bool_], train: Labelled, test: Labelled, converged: bool) -> Evaluation:
        accuracy = 100 * float(right.mean())
        held_out, learned = Counter(test.languages), Counter(train.languages)
        hits = Counter(language for language, hit in zip(test.languages, right.tolist(), strict=True) if hit)
        metrics, details = {}, []
        for language, count in sorted(held_out.items()):
            recall = 100 * hits[language] / count
            metrics[f"{self.name}/{language}/recall"] = recall
            details.append(
                self._detail(language, converged) | {"recall": recall, "train": learned[language], "queries": count}
            )
        chance = 100 * max(held_out.values()) / len(test.languages)
        metrics |= {f"{self.name}/mean/accuracy": accuracy, f"{self.name}/mean/chance": chance}
        total = {"accuracy": accuracy, "chance": chance, "train": len(train.languages), "queries": len(test.languages)}
        return Evaluation(metrics, [*details, self._detail("all", converged) | total])

    def _detail(self, language: str, converged: bool) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": language, "classifier": "logistic regression, standardised vectors",
            "inverse_regularization": self.inverse_regularization, "converged": converged,
            "test_share": self.test_share, "missing_languages": " ".join(self.absent),
        }  # fmt: skip


def split_by_translation(bitexts: Iterable[Bitext], *, test_share: float, seed: int) -> tuple[Labelled, Labelled]:
    """Training and held-out sentences; what translates each other, or one third sentence, is in one part.

    Args:
        bitexts: test sets with any languages.
        test_share: of the sentences, at most, are held out.
        seed: decides which, and which are left out of a language that has more than the median language.
    """
    language_of: dict[str, str | None] = {}  # None: several
    links: dict[str, str] = {}  # a sentence's leader; who leads itself leads a group
    for bitext in bitexts:
        for source, target in zip(bitext.source, bitext.target, strict=True):
            for text, language in ((source, bitext.source_lang), (target, bitext.target_lang)):
                known = language_of.setdefault(text, language)
                language_of[text] = language if known == language else None
                links.setdefault(text, text)
            links[_leader(links, source)] = _leader(links, target)
    languages = {text: language for text, language in language_of.items() if language is not None}
    by_leader: dict[str, list[str]] = {}
    for text in languages:
        by_leader.setdefault(_leader(links, text), []).append(text)
    groups = list(by_leader.values())
    train: list[str] = []
    test: list[str] = []
    room = test_share * len(languages)
    for position in np.random.default_rng(seed).permutation(len(groups)).tolist():
        group = groups[position]
        (test if len(test) + len(group) <= room else train).extend(group)
    return _evened(train, languages), _evened(test, languages)


def _leader(links: dict[str, str], text: str) -> str:
    while links[text] != text:
        links[text] = links[links[text]]  # shortens the way for the next who asks
        text = links[text]
    return text


def _evened(texts: list[str], language_of: dict[str, str]) -> Labelled:
    """At most as many of each language as the median language has; the first, as their order is random."""
    sizes = Counter(language_of[text] for text in texts)
    most = median(sizes.values()) if sizes else 0
    taken: Counter[str] = Counter()
    kept = []
    for text in texts:
        taken[language_of[text]] += 1
        if taken[language_of[text]] <= most:
            kept.append(text)
    return Labelled(kept, [language_of[text] for text in kept])
