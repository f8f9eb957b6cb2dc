"""Document evaluator: rank correlation of word divergence in whole documents with labels of annotators."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from xsent.batch import Judgement, WordPair
from xsent.evaluation.dataset_evaluator import LanguagesEvaluator, zero_vectors
from xsent.evaluation.evaluator import Bitext, Evaluation, PairEvaluator, direction
from xsent.evaluation.similarity.sts import spearman
from xsent.similarity import unit

Numbers = NDArray[np.float32]

DIGITS = 6  # of a cosine, so that equal words tie
SPEARMAN, BASELINE = "spearman", "best_cosine_spearman"


class AlignedWords(Protocol):
    """The words of one document."""

    @property
    def unmatched(self) -> Numbers: ...


class Aligner(Protocol):
    """Aligns the words of two documents by their vectors of length one, or 0."""

    def align(self, source: Numbers, target: Numbers) -> Sequence[AlignedWords]: ...


class DocumentPairs(Bitext, Protocol):
    """N pairs of documents; a word has a label from 0 (same meaning) to 1, or a negative one: it is not scored."""

    name: str
    pairs: list[WordPair]
    labels: list[tuple[tuple[float, ...], tuple[float, ...]]]


@dataclass(kw_only=True, eq=False, repr=False)
class DocumentEvaluator(LanguagesEvaluator[DocumentPairs], PairEvaluator):
    """Spearman's correlation of the divergence of words in whole documents with human labels.

    All scored words of both sides of all documents of a language are ranked together. A pair judge gives the
    divergence of each word. Of an encoder, whose vectors are of words without context, it is the probability that the
    other document has no counterpart of the word, by an alignment of both documents; and as a baseline 1 - the best
    cosine with a word of the other document, as in DiffAlign.

    Args:
        aligner: aligns the words of two documents.

    Metrics:
        ``<name>/<deu>/spearman``, Spearman's correlation x 100, and ``<name>/mean/spearman`` over the languages; NaN
        where all divergences (or all labels) are equal. Of encoders also ``best_cosine_spearman``, the baseline.

    Source:
        Wastl et al. 2026 (arXiv:2512.07538); DiffAlign: Vamvas and Sennrich 2023 (arXiv:2305.13303).
    """

    aligner: Aligner

    def texts(self) -> list[str]:
        """All words with repetitions: the sentences to encode."""
        return [word for documents in self.test_sets for pair in documents.pairs for side in pair for word in side]

    def pairs(self) -> list[WordPair]:
        return [pair for documents in self.test_sets for pair in documents.pairs]

    def metric_names(self) -> list[str]:
        return self._metric_names((SPEARMAN, BASELINE))

    def pair_metric_names(self, *, tags_words: bool) -> list[str]:
        if not tags_words:
            raise ValueError(f"evaluator {self.name} scores words, which this model does not tag")
        return self._metric_names((SPEARMAN,))

    def _metric_names(self, kinds: Sequence[str]) -> list[str]:
        zeros = dict.fromkeys((documents.name for documents in self.test_sets), 0.0)
        return list(self._metrics(dict.fromkeys(kinds, zeros)))

    def score(self, vectors: Tensor) -> Evaluation:
        """Metrics of the alignment and of the baseline, from the embeddings (N, D) of the words in ``sentences()``."""
        aligned: list[Numbers] = []
        baseline: list[Numbers] = []
        for pair in tqdm(self.pairs(), desc="aligning documents", unit=" pairs", delay=2, leave=False):
            source, target = (unit(self.rows(vectors, side).float()).numpy(force=True) for side in pair)
            aligned += [side.unmatched for side in self.aligner.align(source, target)]
            cosines = source @ target.T  # (source words, target words)
            baseline += [np.round(1 - cosines.max(axis=axis), DIGITS) for axis in (1, 0)]
        return self._evaluate({SPEARMAN: aligned, BASELINE: baseline}, zero_vectors=zero_vectors(vectors))

    def score_pairs(self, judgements: Sequence[Judgement], *, threshold: float) -> Evaluation:
        """Metrics of the tagged words of ``pairs()``; the threshold of pairs has no effect.

        Raises:
            ValueError: a wrong number of judgements or of words, or words are not tagged.
        """
        divergences: list[Numbers] = []
        for pair, judgement in zip(self.pairs(), judgements, strict=True):
            for words, tags in zip(pair, judgement[1:], strict=True):
                if tags is None:
                    raise ValueError(f"evaluator {self.name} scores words, which this model does not tag")
                if len(tags) != len(words):
                    raise ValueError(
                        f"{self.name}: expected a probability for each of {len(words)} words, found {len(tags)}"
                    )
                divergences.append(tags)
        return self._evaluate({SPEARMAN: divergences})

    def _evaluate(self, divergences: Mapping[str, Sequence[Numbers]], **conditions: object) -> Evaluation:
        """Metrics of the divergences of the words of each side of each document, by the name of the metric."""
        correlations: dict[str, dict[str, float]] = {}
        details: list[dict[str, object]] = []
        for kind, of_sides in divergences.items():
            sides = iter(of_sides)
            correlations[kind] = {}
            for documents in self.test_sets:
                labels = np.concatenate([side for pair in documents.labels for side in pair])
                values = np.concatenate([next(sides) for _ in range(2 * len(documents.pairs))])
                is_scored = labels >= 0
                rho = 100 * spearman(values[is_scored], labels[is_scored])
                correlations[kind][documents.name] = rho
                row: dict[str, object] = {"evaluator": self.name, "direction": direction(documents), "metric": kind}
                row |= {"documents": len(documents.pairs), "words": len(labels), "scored_words": int(is_scored.sum())}
                row |= {"differing_words": int((labels > 0).sum()), "missing_languages": " ".join(self.absent)}
                details.append({**row, **conditions, "undefined": "constant input" if math.isnan(rho) else ""})
        return Evaluation(self._metrics(correlations), details)

    def _metrics(self, correlations: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        return {
            f"{self.name}/{item}/{kind}": value
            for kind, by_set in correlations.items()
            for item, value in {**by_set, "mean": sum(by_set.values()) / len(by_set)}.items()
        }
