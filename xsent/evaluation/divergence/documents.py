"""Document evaluator: rank correlation of word divergence in whole documents with labels of annotators."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import Judgement, WordPair
from xsent.evaluation.dataset_evaluator import LanguagesEvaluator, zero_vectors
from xsent.evaluation.evaluator import Bitext, Evaluation, PairEvaluator, direction
from xsent.evaluation.similarity.sts import spearman

Numbers = NDArray[np.float32]


class DocumentPairs(Bitext, Protocol):
    """N pairs of documents; a word has a label from 0 (same meaning) to 1, or a negative one: it is not scored."""

    name: str
    pairs: list[WordPair]
    labels: list[tuple[tuple[float, ...], tuple[float, ...]]]


@dataclass(kw_only=True, eq=False, repr=False)
class DocumentEvaluator(LanguagesEvaluator[DocumentPairs], PairEvaluator):
    """Spearman's correlation of the divergence of words in whole documents with human labels.

    All scored words of both sides of all documents of a language are ranked together. A pair judge gives the
    divergence of each word. Of an encoder it is 1 - the best cosine of the word with a word of the other document, each
    word encoded without context, as in DiffAlign.

    Metrics:
        ``<name>/<deu>/spearman``, Spearman's correlation x 100, and ``<name>/mean/spearman`` over the languages; NaN
        where all divergences (or all labels) are equal.

    Source:
        Wastl et al. 2026 (arXiv:2512.07538); DiffAlign: Vamvas and Sennrich 2023 (arXiv:2305.13303).
    """

    def texts(self) -> list[str]:
        """All words with repetitions: the sentences to encode."""
        return [word for documents in self.test_sets for pair in documents.pairs for side in pair for word in side]

    def pairs(self) -> list[WordPair]:
        return [pair for documents in self.test_sets for pair in documents.pairs]

    def metric_names(self) -> list[str]:
        return list(self._metrics({documents.name: 0.0 for documents in self.test_sets}))

    def pair_metric_names(self, *, tags_words: bool) -> list[str]:
        if not tags_words:
            raise ValueError(f"evaluator {self.name} scores words, which this model does not tag")
        return self.metric_names()

    def score(self, vectors: Tensor) -> Evaluation:
        """Metrics of the best cosines, from the embeddings (N, D) of the words in ``sentences()``."""
        divergences: list[Numbers] = []
        for pair in self.pairs():
            source, target = (F.normalize(self.rows(vectors, side).float(), dim=1) for side in pair)
            cosines = source @ target.T  # (source words, target words)
            divergences += [1 - cosines.amax(dim=1).numpy(force=True), 1 - cosines.amax(dim=0).numpy(force=True)]
        return self._evaluate(divergences, {"divergence": "1 - best cosine", "zero_vectors": zero_vectors(vectors)})

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
        return self._evaluate(divergences, {"divergence": "probability"})

    def _evaluate(self, divergences: Sequence[Numbers], conditions: Mapping[str, object]) -> Evaluation:
        """Metrics of the divergences of the words of each side of each document."""
        correlations: dict[str, float] = {}
        details: list[dict[str, object]] = []
        sides = iter(divergences)
        for documents in self.test_sets:
            labels = np.concatenate([side for pair in documents.labels for side in pair])
            values = np.concatenate([next(sides) for _ in range(2 * len(documents.pairs))])
            is_scored = labels >= 0
            rho = 100 * spearman(values[is_scored], labels[is_scored])
            correlations[documents.name] = rho
            row = {"evaluator": self.name, "direction": direction(documents), "documents": len(documents.pairs)}
            row |= {"words": len(labels), "scored_words": int(is_scored.sum())}
            row |= {"differing_words": int((labels > 0).sum()), "missing_languages": " ".join(self.absent)}
            details.append({**row, **conditions, "undefined": "constant input" if math.isnan(rho) else ""})
        return Evaluation(self._metrics(correlations), details)

    def _metrics(self, correlations: Mapping[str, float]) -> dict[str, float]:
        figures = {**correlations, "mean": sum(correlations.values()) / len(correlations)}
        return {f"{self.name}/{item}/spearman": value for item, value in figures.items()}
