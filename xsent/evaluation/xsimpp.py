"""xSIM++: is the translation still found among hard negatives that were made from it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.margin import CANDIDATES, MARGINS, Best, best_targets
from xsent.evaluation.test_sets import Bitext, TestSetEvaluator, check_choice, zero_vectors

MISALIGNED = "misaligned"  # any wrong sentence but a negative of this very one


class AugmentedBitext(Bitext, Protocol):
    """A test set with hard negatives of the target side."""

    @property
    def augmented(self) -> list[str]: ...
    @property
    def made_from(self) -> Mapping[str, tuple[str, str]]:
        """The target sentence that an augmented one was made from, and how (the error type)."""
        ...


class Counted(NamedTuple):
    """What was found for the sources of a test set."""

    errors: Counter[str]  # by type
    n: int  # sources


class XsimppEvaluator(TestSetEvaluator[AugmentedBitext]):
    """Share of sources whose best target, among the translations and all hard negatives, has another text.

    Args:
        name: prefix of the metrics.
        root: file or folder of the test sets, for ``read``.
        languages: which test sets, for ``read``; None is all.
        read: ``(root, languages)`` -> test sets; the same negatives for each language.
        missing: a language without files is an ``error``, or left out with a ``note``.
        margin, k, candidates: as in ``best_targets``. Neighbours of a source are searched among the targets
            with their negatives, those of a target among the sources.

    Metrics:
        ``<name>/<deu>/error`` in percent of the sources, and what it consists of: ``<name>/<deu>/<error type>``,
        a negative of the right sentence was found, and ``<name>/<deu>/misaligned``, anything else was.
        ``<name>/mean/...`` pool the languages' sources: errors over sentences, as LASER does.

    Source:
        Chen et al. 2023 (arXiv:2306.12907); LASER's xsim.py, with textual comparison.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        languages: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[AugmentedBitext]],
        missing: str,
        margin: str,
        k: int,
        candidates: str,
    ) -> None:
        super().__init__(name=name, root=root, wanted=languages, read=read, missing=missing)
        check_choice("margin", margin, MARGINS)
        check_choice("candidates", candidates, CANDIDATES)
        if k < 1:
            raise ValueError(f"evaluator.k={k}: expected at least 1 neighbour")
        self.margin = margin
        self.k = k
        self.candidates = candidates

    def texts(self) -> list[str]:
        """All sentences, the augmented ones too."""
        return super().texts() + [text for test_set in self.test_sets for text in test_set.augmented]

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        metrics: dict[str, float] = {}
        details: list[dict[str, object]] = []
        whole = Counted(Counter(), 0)
        types = sorted({kind for test_set in self.test_sets for _, kind in test_set.made_from.values()})
        for test_set in self.test_sets:
            pool = test_set.target + test_set.augmented
            x, y = self.rows(vectors, test_set.source), self.rows(vectors, pool)
            best, _ = best_targets(x, y, margin=self.margin, k=self.k, candidates=self.candidates)
            counted = Counted(_errors(test_set, [pool[row] for row in best.rows.tolist()]), len(best.rows))
            whole = Counted(whole.errors + counted.errors, whole.n + counted.n)
            figures = _figures(counted, types)
            metrics |= {f"{self.name}/{test_set.source_lang}/{kind}": value for kind, value in figures.items()}
            direction = f"{test_set.source_lang}-{test_set.target_lang}"
            details.append(self._detail(direction, figures, best, len(pool), zero_vectors(x, y)))
        metrics |= {f"{self.name}/mean/{kind}": value for kind, value in _figures(whole, types).items()}
        return Evaluation(metrics, details)

    def _detail(
        self, direction: str, figures: Mapping[str, float], best: Best, pool: int, zeros: int
    ) -> dict[str, object]:
        return {
            "evaluator": self.name, "direction": direction, **figures, "margin": self.margin, "k": self.k,
            "k_used": min(self.k, pool), "candidates": self.candidates, "comparison": "textual",
            "queries": len(best.rows), "pool": pool, "tied": best.tied.float().mean().item(), "zero_vectors": zeros,
            "missing_languages": " ".join(self.absent),
        }  # fmt: skip


def _errors(test_set: AugmentedBitext, found: Sequence[str]) -> Counter[str]:
    errors: Counter[str] = Counter()
    for text, expected in zip(found, test_set.target, strict=True):
        if text != expected:
            made_from, kind = test_set.made_from.get(text, ("", MISALIGNED))
            errors[kind if made_from == expected else MISALIGNED] += 1
    return errors


def _figures(counted: Counted, types: Sequence[str]) -> dict[str, float]:
    parts = {kind: counted.errors[kind] for kind in (*types, MISALIGNED)}
    return {kind: 100 * n / counted.n for kind, n in {"error": counted.errors.total(), **parts}.items()}
