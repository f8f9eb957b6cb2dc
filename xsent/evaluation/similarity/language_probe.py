"""Language probe: accuracy of a classifier, linear or with a hidden layer, of the language of a sentence embedding."""

import logging
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from xsent.config_checks import check_choice, check_integer
from xsent.evaluation.dataset_evaluator import LanguagesEvaluator
from xsent.evaluation.evaluator import Bitext, Evaluation, languages_of, number_texts
from xsent.evaluation.statistics.items import Items

log = logging.getLogger(__name__)

CLASSIFIERS = {"linear": "logistic regression", "mlp": "multi-layer perceptron"}


class Labelled(NamedTuple):
    """Distinct sentences, each with its language."""

    texts: list[str]
    languages: list[str]  # ISO 639-3


@dataclass(kw_only=True, eq=False, repr=False)
class LanguageProbeEvaluator(LanguagesEvaluator[Bitext]):
    """Held-out accuracy of a classifier from standardised embeddings to languages, and chance.

    High accuracy on embeddings of meaning shows that they leak the language. The probe uses the distinct sentences of
    both sides of the test sets; a text of two languages is left out. Sentences that are linked by translation are all
    in the training part or all in the held-out part. In each part every language has at most as many sentences as the
    median language, so that English, which is in every test set, does not dominate.

    Args:
        test_share: held-out share of the sentences.
        classifier: ``linear`` is a logistic regression, ``mlp`` a perceptron with one hidden layer.
        inverse_regularization: the logistic regression's C.
        hidden: units of the hidden layer.
        max_iter: of L-BFGS, or epochs of Adam; log and details say if it did not converge.
        seed: of the split, of the sentences that represent a large language, and of the perceptron.

    Metrics:
        ``<name>/mean/accuracy``, percent of the held-out sentences; ``<name>/mean/chance``, percent of the largest
        language among them; ``<name>/<deu>/recall``, percent of that language's sentences.
    """

    test_share: float
    classifier: str
    inverse_regularization: float
    hidden: int
    max_iter: int
    seed: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("evaluator.classifier", self.classifier, tuple(CLASSIFIERS))
        check_integer("evaluator.hidden", self.hidden, minimum=1)
        if not 0 < self.test_share < 1:
            raise ValueError(f"evaluator.test_share={self.test_share}: expected a number between 0 and 1")

    def check(self) -> None:
        super().check()
        self._parts()

    def metric_names(self) -> list[str]:
        items = [f"{language}/recall" for language in sorted(set(self._parts()[1].languages))]
        return [f"{self.name}/{item}" for item in (*items, "mean/accuracy", "mean/chance")]

    def score(self, vectors: Tensor) -> Evaluation:
        train, test = self._parts()
        log.info("%s: training a classifier of %d languages", self.name, len(set(train.languages)))
        classifier = make_pipeline(StandardScaler(), self._untrained())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            classifier.fit(self._inputs(vectors, train), train.languages)
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        if not converged:
            log.warning("%s: the classifier did not converge in %d iterations", self.name, self.max_iter)
        right = classifier.predict(self._inputs(vectors, test)) == np.array(test.languages)
        held_out, learned = Counter(test.languages), Counter(train.languages)
        hits = Counter(language for language, hit in zip(test.languages, right.tolist(), strict=True) if hit)
        recalls = {language: 100 * hits[language] / count for language, count in sorted(held_out.items())}
        rows: list[dict[str, object]] = [
            {"direction": language, "recall": recall, "train": learned[language], "queries": held_out[language]}
            for language, recall in recalls.items()
        ]
        total = {"accuracy": 100 * float(right.mean()), "chance": 100 * max(held_out.values()) / len(test.languages)}
        rows.append({"direction": "all", **total, "train": len(train.languages), "queries": len(test.languages)})
        conditions = {
            "classifier": f"{CLASSIFIERS[self.classifier]}, standardised vectors",
            **self._options(),
            "converged": converged,
            "test_share": self.test_share,
            "missing_languages": " ".join(self.absent),
        }
        metrics = {f"{self.name}/{language}/recall": recall for language, recall in recalls.items()}
        metrics |= {f"{self.name}/mean/{metric}": value for metric, value in total.items()}
        details = [{"evaluator": self.name, "direction": row["direction"], **conditions, **row} for row in rows]
        outcomes = {f"{self.name}/mean/accuracy": Items.percentage(right)}
        for language in recalls:
            outcomes[f"{self.name}/{language}/recall"] = Items.percentage(right[np.array(test.languages) == language])
        return Evaluation(metrics, details, outcomes=outcomes)

    def _options(self) -> dict[str, object]:
        if self.classifier == "linear":
            return {"inverse_regularization": self.inverse_regularization}
        return {"hidden": self.hidden}

    def _untrained(self) -> LogisticRegression | MLPClassifier:
        if self.classifier == "linear":
            return LogisticRegression(C=self.inverse_regularization, max_iter=self.max_iter)
        options = {"early_stopping": True, "random_state": self.seed}
        return MLPClassifier(hidden_layer_sizes=(self.hidden,), max_iter=self.max_iter, **options)

    def _inputs(self, vectors: Tensor, part: Labelled) -> NDArray[np.float64]:
        return self.rows(vectors, part.texts).double().numpy(force=True)

    def _parts(self) -> tuple[Labelled, Labelled]:
        train, test = split_by_translation(self.test_sets, test_share=self.test_share, seed=self.seed)
        learned, held_out = set(train.languages), set(test.languages)
        if len(learned) < 2 or learned != held_out:
            raise ValueError(
                f"{self.name}: expected at least 2 languages, each in both parts, found {', '.join(sorted(learned))}"
                f" to learn from and {', '.join(sorted(held_out))} held out; more sentences are needed"
            )
        return train, test


def split_by_translation(bitexts: Sequence[Bitext], *, test_share: float, seed: int) -> tuple[Labelled, Labelled]:
    """Split sentences into a training and a held-out part without separating sentences linked by translation.

    ``test_share`` is the maximum share of held-out sentences, ``seed`` that of the split and of the sentences left out
    of languages above the median size.
    """
    pairs = [pair for bitext in bitexts for pair in zip(bitext.source, bitext.target, strict=True)]
    row_of = number_texts(text for pair in pairs for text in pair)
    links = np.array([[row_of[source], row_of[target]] for source, target in pairs]).reshape(-1, 2).T
    graph = coo_array((np.ones(len(pairs), dtype=bool), tuple(links)), shape=(len(row_of), len(row_of)))
    _, component = connected_components(graph, directed=False)
    language_of = {text: min(languages) for text, languages in languages_of(bitexts).items() if len(languages) == 1}
    groups: dict[int, list[str]] = {}
    for text in language_of:
        groups.setdefault(int(component[row_of[text]]), []).append(text)
    train: list[str] = []
    test: list[str] = []
    components = list(groups.values())
    for position in np.random.default_rng(seed).permutation(len(components)).tolist():
        group = components[position]
        (test if len(test) + len(group) <= test_share * len(language_of) else train).extend(group)
    return _balance(train, language_of), _balance(test, language_of)


def _balance(texts: list[str], language_of: dict[str, str]) -> Labelled:
    """The first sentences of each language, which are in random order, up to the size of the median language."""
    sizes = Counter(language_of[text] for text in texts)
    limit = median(sizes.values()) if sizes else 0
    counts: Counter[str] = Counter()
    balanced = []
    for text in texts:
        counts[language_of[text]] += 1
        if counts[language_of[text]] <= limit:
            balanced.append(text)
    return Labelled(balanced, [language_of[text] for text in balanced])
