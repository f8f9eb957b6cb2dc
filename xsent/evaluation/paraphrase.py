"""Paraphrase identification: does a threshold on the cosine tell the same meaning from similar words?"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import Any

import langcodes
import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from xsent.distributed import rank
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.test_sets import TestSetEvaluator, check_choice
from xsent.evaluation.thresholds import CRITERIA, Floats, best_threshold, roc_curve
from xsent.evaluation.uniformity import align, uniform
from xsent.evaluation.verdicts import Judged, LabelledPairs, by_kind, charts, figures, mean_percent_right, percent_right
from xsent.similarity import unit

log = logging.getLogger(__name__)

THRESHOLDS = ("one", "per_kind")
DEV, TEST = "valid", "test"


class ParaphraseEvaluator(TestSetEvaluator[LabelledPairs]):
    """Accuracy of "a paraphrase, if the cosine is at least the threshold", which is chosen on the dev part.

    Args:
        name: prefix of the metrics.
        root: folder of the files, for ``read``.
        languages: for ``read``; None is all.
        read: ``(root, languages)`` -> pairs of the parts ``valid`` (dev) and ``test``. Where there are no test
            pairs, as in validation during training, the dev pairs are scored with their own threshold, which is
            optimistic; log and details say so.
        missing: a language without files is an ``error``, or left out with a ``note``.
        criterion: what the threshold is best in, as in ``best_threshold``.
        thresholds: ``one`` for all kinds and languages, or one ``per_kind``; chosen on all their dev pairs pooled.
        dev_languages: it is chosen on pairs of these alone, in any code; None is all.
        zero_shot: languages that were not trained on, in any code; None where the question does not arise.
        alpha: as in ``align``.
        t: as in ``uniform``.
        uniform_sentences: ``uniform`` is that of at most so many sentences; of more, those of lowest hash.

    Metrics:
        Percent, but for ``threshold``, ``align`` and ``uniform``. Of each kind of pairs, its languages pooled:
        ``<name>/<kind>/accuracy``, ``f1`` of the paraphrases, ``majority`` (the accuracy of always giving the
        more frequent answer), ``roc_auc`` and ``eer``, which no threshold decides, ``threshold``, ``align`` of
        the paraphrases and ``uniform`` of the distinct first sentences. Of several languages
        ``<name>/<kind>_<deu>/accuracy`` of the pairs with a sentence in that language. With ``zero_shot``
        ``<name>/zero_shot/accuracy`` of the pairs with a sentence in such a language and
        ``<name>/trained/accuracy`` of the others. Of several kinds ``<name>/mean/accuracy`` and
        ``<name>/mean/f1``. The last four are averages over the kinds, unweighted. ``<name>/overall/accuracy`` and
        ``<name>/overall/f1`` are of all pairs, whatever their kind; where there is one kind, all its figures are
        named ``overall``.

        A kind whose pairs have all one label has NaN for ``roc_auc`` and ``eer``; one without paraphrases also
        for ``align``.

    Source:
        Fedorova and Musatow 2024: kinds as in Table II, whose mean is the figure of Table I. Whether their
        threshold was one for all languages and kinds is not stated.
    """

    def __init__(
        self,
        *,
        name: str,
        root: str | None,
        languages: Sequence[str] | None,
        read: Callable[[Any, Sequence[str] | None], Sequence[LabelledPairs]],
        missing: str,
        criterion: str,
        thresholds: str,
        dev_languages: Sequence[str] | None,
        zero_shot: Sequence[str] | None,
        alpha: float,
        t: float,
        uniform_sentences: int,
    ) -> None:
        check_choice("criterion", criterion, CRITERIA)
        check_choice("thresholds", thresholds, THRESHOLDS)
        for option, value in [("alpha", alpha), ("t", t)]:
            if not value > 0:
                raise ValueError(f"evaluator.{option}={value}: expected a number above 0")
        if uniform_sentences < 2:
            raise ValueError(f"evaluator.uniform_sentences={uniform_sentences}: expected at least 2")
        super().__init__(name=name, root=root, wanted=languages, read=read, missing=missing)
        self.criterion = criterion
        self.thresholds = thresholds
        self.dev_languages = None if dev_languages is None else _known("dev_languages", dev_languages)
        self.zero_shot = _known("zero_shot", zero_shot or [])
        self.alpha = alpha
        self.t = t
        self.uniform_sentences = uniform_sentences

    # ---- what is read

    @cached_property
    def _found(self) -> tuple[Sequence[LabelledPairs], list[str]]:
        if self.missing == "error" or self.wanted is None or self._is_there(self.wanted):
            return self.read(self.root, self.wanted), []
        # All that are there are read at once: one at a time, languages have no pairs with each other.
        there = [one for one in self.wanted if self._is_there([one])]
        if not there:
            return self.read(self.root, self.wanted), []  # says what is wrong
        absent = [one for one in self.wanted if one not in there]
        log.warning("%s: no pairs in %s of %s; they are left out", self.name, self.root, ", ".join(absent))
        return self.read(self.root, there), absent

    def _is_there(self, languages: Sequence[str]) -> bool:
        try:
            self.read(self.root, languages)
        except FileNotFoundError:
            return False
        return True

    @property
    def has_test(self) -> bool:
        """Whether there are test pairs."""
        return any(pairs.part == TEST for pairs in self.test_sets)

    @cached_property
    def scored(self) -> list[LabelledPairs]:
        """The test pairs, or all dev pairs where there are none."""
        part = TEST if self.has_test else DEV
        return [pairs for pairs in self.test_sets if pairs.part == part]

    @cached_property
    def dev(self) -> list[LabelledPairs]:
        """The pairs that thresholds are chosen on."""
        allowed = self.dev_languages
        found = [pairs for pairs in self.test_sets if pairs.part == DEV]
        return found if allowed is None else [pairs for pairs in found if _codes(pairs) <= allowed]

    def everything_read(self) -> Sequence[LabelledPairs]:
        """The scored pairs, and the dev pairs where these are others."""
        return [*self.dev, *self.scored] if self.has_test else self.scored

    @property
    def _pools(self) -> list[list[str]]:
        """Kinds that share a threshold."""
        kinds = list(dict.fromkeys(pairs.kind for pairs in self.scored))
        return [kinds] if self.thresholds == "one" else [[kind] for kind in kinds]

    def check(self) -> None:
        """Read the pairs.

        Raises:
            ValueError: a threshold has no dev pairs to be chosen on, or all of them have one label.
        """
        super().check()
        for kinds in self._pools:
            labels = [label for pairs in self.dev if pairs.kind in kinds for label in pairs.label]
            if len(set(labels)) < 2:
                where = "" if self.dev_languages is None else f" in {', '.join(sorted(self.dev_languages))}"
                raise ValueError(
                    f"{self.name}: the threshold of {', '.join(kinds)} needs dev pairs of both labels{where},"
                    f" found {sum(labels)} paraphrases and {len(labels) - sum(labels)} others"
                )
        if not self.has_test:
            log.info("%s: no test pairs; the dev pairs are scored with their own threshold (optimistic)", self.name)
        elif absent := self.zero_shot.difference(*map(_codes, self.scored)):
            log.warning("%s: no pairs in zero-shot languages %s", self.name, ", ".join(sorted(absent)))

    # ---- what is scored

    def score(self, vectors: Tensor) -> Evaluation:
        """Figures from the vectors (N, D) of ``sentences()``."""
        points = unit(vectors.double())  # once: a sentence is in dozens of pairs
        is_zero = (points == 0).all(dim=1)
        thresholds = {kind: self._threshold(kinds, points) for kinds in self._pools for kind in kinds}
        judged = [
            Judged(pairs, cosines, np.array(pairs.label) == 1, thresholds[pairs.kind])
            for pairs, cosines in zip(self.scored, self._cosines(self.scored, points), strict=True)
        ]
        metrics: dict[str, float] = {}
        for kind, of_kind in by_kind(judged).items():
            found = figures(of_kind) | self._spread([one.pairs for one in of_kind], points)
            metrics |= {f"{self._item(kind)}/{metric}": value for metric, value in found.items()}
        metrics |= self._of_languages(judged) | self._of_training(judged)
        metrics |= {f"overall/{metric}": value for metric, value in percent_right(judged)._asdict().items()}
        if len(thresholds) > 1:
            metrics |= {f"mean/{metric}": value for metric, value in mean_percent_right(judged)._asdict().items()}
        metrics = {f"{self.name}/{item}": value for item, value in metrics.items()}
        return Evaluation(metrics, [self._detail(one, is_zero) for one in judged], charts(self.name, judged))

    def _item(self, kind: str) -> str:
        return kind if sum(map(len, self._pools)) > 1 else "overall"

    def _threshold(self, kinds: Sequence[str], points: Tensor) -> float:
        pool = [pairs for pairs in self.dev if pairs.kind in kinds]
        cosines = np.concatenate(self._cosines(pool, points))
        return best_threshold(roc_curve(cosines, [label for pairs in pool for label in pairs.label]), self.criterion)

    def _cosines(self, sets: Sequence[LabelledPairs], points: Tensor) -> list[Floats]:
        bar = tqdm(sets, desc=f"{self.name}: cosines", unit=" sets", delay=2, leave=False, disable=rank() > 0)
        sides = ((self.rows(points, pairs.source), self.rows(points, pairs.target)) for pairs in bar)
        return [torch.linalg.vecdot(x, y).numpy(force=True) for x, y in sides]

    def _spread(self, of_kind: Sequence[LabelledPairs], points: Tensor) -> dict[str, float]:
        first = lowest_hashes((text for pairs in of_kind for text in pairs.source), self.uniform_sentences)
        total, count = 0.0, 0
        for pairs in of_kind:  # one set after the other: all at once would need gigabytes
            rows = zip(pairs.source, pairs.target, pairs.label, strict=True)
            if same := [(source, target) for source, target, label in rows if label == 1]:
                source, target = (self.rows(points, side) for side in zip(*same, strict=True))
                total += len(same) * align(source, target, alpha=self.alpha)
                count += len(same)
        return {
            "align": total / count if count else math.nan,
            "uniform": uniform(self.rows(points, first), t=self.t),
        }

    def _of_languages(self, judged: Sequence[Judged]) -> dict[str, float]:
        languages = list(dict.fromkeys(language for one in judged for language in _languages(one.pairs)))
        if len(languages) < 2:
            return {}
        return {
            f"{self._item(kind)}_{language}/accuracy": percent_right(chosen).accuracy
            for kind, of_kind in by_kind(judged).items()
            for language in languages
            if (chosen := [one for one in of_kind if language in _languages(one.pairs)])
        }

    def _of_training(self, judged: Sequence[Judged]) -> dict[str, float]:
        unseen = [one for one in judged if _codes(one.pairs) & self.zero_shot]
        seen = [one for one in judged if not _codes(one.pairs) & self.zero_shot]
        groups = {"trained": seen, "zero_shot": unseen} if unseen else {}
        return {f"{group}/accuracy": mean_percent_right(chosen).accuracy for group, chosen in groups.items() if chosen}

    def _detail(self, one: Judged, is_zero: Tensor) -> dict[str, object]:
        pairs = one.pairs
        zeros = sum(int(self.rows(is_zero, side).sum()) for side in (pairs.source, pairs.target))
        accuracy, f1 = percent_right([one])
        kinds = next(kinds for kinds in self._pools if pairs.kind in kinds)
        dev = [len(found.label) for found in self.dev if found.kind in kinds]
        return {
            "evaluator": self.name, "direction": "-".join(_languages(pairs)), "kind": pairs.kind,
            "part": pairs.part, "accuracy": accuracy, "f1": f1, "positives": int(one.labels.sum()),
            "negatives": int((~one.labels).sum()), "threshold": one.threshold, "criterion": self.criterion,
            "tuned_on": "dev" if self.has_test else "the pairs that are scored (optimistic)",
            "dev_kinds": " ".join(kinds), "dev_pairs": sum(dev), "alpha": self.alpha, "t": self.t,
            "uniform_sentences": self.uniform_sentences, "similarity": "cosine", "zero_vectors": zeros,
            "missing_languages": " ".join(self.absent),
        }  # fmt: skip


def lowest_hashes(texts: Iterable[str], most: int) -> list[str]:
    """At most ``most`` distinct texts, those of lowest SHA-256: neither order nor chance has a say."""
    distinct = set(texts)
    return sorted(distinct, key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())[:most]


def _languages(pairs: LabelledPairs) -> tuple[str, str]:
    return pairs.source_lang, pairs.target_lang


def _codes(pairs: LabelledPairs) -> set[str]:
    return {_code(language) for language in _languages(pairs)}


def _known(option: str, languages: Sequence[str]) -> set[str]:
    """Codes of a config's languages."""
    if unknown := [language for language in languages if not langcodes.tag_is_valid(language)]:
        raise ValueError(f"evaluator.{option}: unknown language {', '.join(unknown)}; expected codes such as fra or fr")
    return {_code(language) for language in languages}


@cache
def _code(language: str) -> str:
    """One code for one language, whichever of its codes is given: ``fra`` and ``fr``, ``zho`` and ``cmn``."""
    return str(langcodes.get(language).prefer_macrolanguage().language)
