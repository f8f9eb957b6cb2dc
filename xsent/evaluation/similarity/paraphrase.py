"""Paraphrase identification by a threshold on the cosine of two sentences."""

import hashlib
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from xsent.config_checks import check_choice, check_integer, check_positive
from xsent.distributed import rank
from xsent.evaluation.dataset_evaluator import LanguagesEvaluator
from xsent.evaluation.evaluator import Evaluation
from xsent.evaluation.similarity.alignment_uniformity import pair_distances, uniform
from xsent.evaluation.similarity.paraphrase_metrics import (
    ClassifiedPairs,
    LabelledPairs,
    by_kind,
    charts,
    decision_items,
    kind_metrics,
    mean_percent_right,
    percent_right,
)
from xsent.evaluation.statistics.items import Items, mean_over, pooled
from xsent.evaluation.statistics.thresholds import CRITERIA, Floats, best_threshold, roc_curve
from xsent.languages import to_iso639_3
from xsent.similarity import unit

log = logging.getLogger(__name__)

THRESHOLDS = ("one", "per_kind")
DEV, TEST = "valid", "test"


@dataclass(kw_only=True, eq=False, repr=False)
class ParaphraseEvaluator(LanguagesEvaluator[LabelledPairs]):
    """Accuracy and F1 of labelled pairs: paraphrases have a cosine of at least a threshold, chosen on the dev part.

    Args:
        read: ``(root, languages)`` -> pairs of the parts ``valid`` (dev) and ``test``. Without test pairs, as in
            validation during training, the dev pairs are scored with their own threshold, which is optimistic; log and
            details say so.
        criterion: of the best threshold, as in ``best_threshold``.
        thresholds: ``one`` for all kinds and languages, or one ``per_kind``; chosen on all their dev pairs pooled.
        dev_languages: only dev pairs of these languages choose the threshold, in any code; None is all.
        zero_shot: languages that were not trained on, in any code; None if unknown.
        alpha: as in ``align``.
        t: as in ``uniform``.
        uniform_sentences: maximum number of sentences for ``uniform``, those of lowest hash.

    Metrics:
        Percent, except ``threshold``, ``align`` and ``uniform``. Of each kind of pairs, languages pooled:
        ``<name>/<kind>/accuracy``, ``f1`` of the paraphrases, ``majority`` (accuracy of always giving the more frequent
        answer), ``roc_auc`` and ``eer``, which need no threshold, ``threshold``, ``align`` of the paraphrases and
        ``uniform`` of the distinct first sentences. Of several languages ``<name>/<kind>_<deu>/accuracy`` of the pairs
        with a sentence in that language. With ``zero_shot`` ``<name>/zero_shot/accuracy`` of the pairs with a sentence
        in such a language and ``<name>/trained/accuracy`` of the others. Of several kinds ``<name>/mean/accuracy`` and
        ``<name>/mean/f1``. The last four are unweighted means over the kinds. ``<name>/overall/accuracy`` and
        ``<name>/overall/f1`` are of all pairs of any kind; if there is one kind, all its metrics are named ``overall``.

        If all pairs of a kind have one label, its ``roc_auc`` and ``eer`` are NaN; without paraphrases ``align``, too.

    Source:
        Fedorova and Musatow 2024: kinds as in Table II, whose mean is in Table I. The paper does not say whether one
        threshold was used for all languages and kinds.
    """

    criterion: str
    thresholds: str
    dev_languages: Sequence[str] | None
    zero_shot: Sequence[str] | None
    alpha: float
    t: float
    uniform_sentences: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("evaluator.criterion", self.criterion, CRITERIA)
        check_choice("evaluator.thresholds", self.thresholds, THRESHOLDS)
        check_positive("evaluator.alpha", self.alpha)
        check_positive("evaluator.t", self.t)
        check_integer("evaluator.uniform_sentences", self.uniform_sentences, minimum=2)
        dev = self.dev_languages
        self._dev_codes = None if dev is None else _parse_languages("dev_languages", dev)
        self._zero_shot_codes = _parse_languages("zero_shot", self.zero_shot or [])

    # ---- reading

    @cached_property
    def _loaded(self) -> tuple[Sequence[LabelledPairs], list[str]]:
        requested = [] if self.missing == "error" else self.requested or []
        absent = [language for language in requested if self.read_present([language]) is None]
        if len(absent) in (0, len(requested)):
            return self.read_sets(self.requested), []  # where all are absent, raises the reader's error
        log.warning("%s: no pairs in %s of %s; they are left out", self.name, self.root, ", ".join(absent))
        # Read together: separately, languages have no pairs with each other.
        return self.read_sets([language for language in requested if language not in absent]), absent

    @property
    def has_test(self) -> bool:
        """Whether there are test pairs."""
        return any(pairs.part == TEST for pairs in self.test_sets)

    @cached_property
    def scored(self) -> list[LabelledPairs]:
        """The test pairs, or all dev pairs if there are none."""
        part = TEST if self.has_test else DEV
        return [pairs for pairs in self.test_sets if pairs.part == part]

    @cached_property
    def dev(self) -> list[LabelledPairs]:
        """The pairs that thresholds are chosen on."""
        allowed = self._dev_codes
        pairs_of_dev = [pairs for pairs in self.test_sets if pairs.part == DEV]
        return [pairs for pairs in pairs_of_dev if allowed is None or {*_languages(pairs)} <= allowed]

    def all_sets(self) -> Sequence[LabelledPairs]:
        return [*self.dev, *self.scored] if self.has_test else self.scored

    @property
    def _threshold_kinds(self) -> list[list[str]]:
        """Groups of kinds that share a threshold."""
        kinds = list(dict.fromkeys(pairs.kind for pairs in self.scored))
        return [kinds] if self.thresholds == "one" else [[kind] for kind in kinds]

    def check(self) -> None:
        """Read the pairs; raise ``ValueError`` unless the dev pairs of each threshold have both labels."""
        super().check()
        for kinds in self._threshold_kinds:
            labels = [label for pairs in self.dev if pairs.kind in kinds for label in pairs.label]
            if len(set(labels)) < 2:
                in_languages = "" if self._dev_codes is None else f" in {', '.join(sorted(self._dev_codes))}"
                raise ValueError(
                    f"{self.name}: the threshold of {', '.join(kinds)} needs dev pairs of both labels{in_languages},"
                    f" found {sum(labels)} paraphrases and {len(labels) - sum(labels)} others"
                )
        if not self.has_test:
            log.info("%s: no test pairs; the dev pairs are scored with their own threshold (optimistic)", self.name)
        elif absent := self._zero_shot_codes.difference(*map(_languages, self.scored)):
            log.warning("%s: no pairs in zero-shot languages %s", self.name, ", ".join(sorted(absent)))

    # ---- scoring

    def metric_names(self) -> list[str]:
        sets = [
            ClassifiedPairs(pairs, np.zeros(len(pairs.label)), np.array(pairs.label) == 1, 0.0) for pairs in self.scored
        ]
        return list(self._metrics(sets, {kind: {"align": 0.0, "uniform": 0.0} for kind in by_kind(sets)}))

    def score(self, vectors: Tensor) -> Evaluation:
        points = unit(vectors.double())  # once: a sentence is in dozens of pairs
        is_zero = (points == 0).all(dim=1)
        thresholds = {kind: self._threshold(kinds, points) for kinds in self._threshold_kinds for kind in kinds}
        sets = [
            ClassifiedPairs(pairs, cosines, np.array(pairs.label) == 1, thresholds[pairs.kind])
            for pairs, cosines in zip(self.scored, self._cosines(self.scored, points), strict=True)
        ]
        spreads = {kind: self._spread([row.pairs for row in rows], points) for kind, rows in by_kind(sets).items()}
        details = [self._detail(classified, is_zero) for classified in sets]
        outcomes = self._outcomes(sets, points)
        return Evaluation(self._metrics(sets, spreads), details, charts(self.name, sets), outcomes=outcomes)

    def _outcomes(self, sets: Sequence[ClassifiedPairs], points: Tensor) -> dict[str, Items]:
        """Items of the metrics of pairs; those of ``align`` are the paraphrases."""
        items = [decision_items(classified) for classified in sets]
        kinds = list(by_kind(sets))

        def pooled_items(metric: str, chosen: Sequence[bool]) -> Items:
            return pooled(of_set[metric] for of_set, is_chosen in zip(items, chosen, strict=True) if is_chosen)

        def mean_of_kinds(metric: str, chosen: Sequence[bool]) -> Items:
            rows = [[row.pairs.kind == kind and keep for row, keep in zip(sets, chosen, strict=True)] for kind in kinds]
            return mean_over(pooled_items(metric, row) for row in rows if any(row))

        outcomes: dict[str, Items] = {}
        for kind in kinds:
            of_kind = [row.pairs.kind == kind for row in sets]
            for metric in items[0]:
                outcomes[f"{self._item(kind)}/{metric}"] = pooled_items(metric, of_kind)
            if distances := [self._distances(row.pairs, points) for row in sets if row.pairs.kind == kind]:
                known = [Items.of("mean", of_set.numpy(force=True)) for of_set in distances if len(of_set)]
                outcomes |= {f"{self._item(kind)}/align": pooled(known)} if known else {}
            for language in self._all_languages(sets):
                chosen = [row.pairs.kind == kind and language in _languages(row.pairs) for row in sets]
                if any(chosen):
                    outcomes[f"{self._item(kind)}_{language}/accuracy"] = pooled_items("accuracy", chosen)
        unseen = [not self._zero_shot_codes.isdisjoint(_languages(row.pairs)) for row in sets]
        groups = {"trained": [not is_unseen for is_unseen in unseen], "zero_shot": unseen} if any(unseen) else {}
        for name, chosen in groups.items():
            outcomes |= {f"{name}/accuracy": mean_of_kinds("accuracy", chosen)} if any(chosen) else {}
        for metric in ("accuracy", "f1"):
            outcomes[f"overall/{metric}"] = pooled_items(metric, [True] * len(sets))
            if len(kinds) > 1:
                outcomes[f"mean/{metric}"] = mean_of_kinds(metric, [True] * len(sets))
        return {f"{self.name}/{item}": of_item for item, of_item in outcomes.items()}

    def _metrics(self, sets: Sequence[ClassifiedPairs], spreads: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for kind, of_kind in by_kind(sets).items():
            figures = {**kind_metrics(of_kind), **spreads[kind]}
            metrics |= {f"{self._item(kind)}/{metric}": value for metric, value in figures.items()}
        metrics |= self._language_metrics(sets)
        trained = [row for row in sets if self._zero_shot_codes.isdisjoint(_languages(row.pairs))]
        unseen = [row for row in sets if not self._zero_shot_codes.isdisjoint(_languages(row.pairs))]
        groups = {"trained": trained, "zero_shot": unseen} if unseen else {}
        metrics |= {f"{name}/accuracy": mean_percent_right(group).accuracy for name, group in groups.items() if group}
        metrics |= {f"overall/{metric}": value for metric, value in percent_right(sets)._asdict().items()}
        if len(by_kind(sets)) > 1:
            metrics |= {f"mean/{metric}": value for metric, value in mean_percent_right(sets)._asdict().items()}
        return {f"{self.name}/{item}": value for item, value in metrics.items()}

    def _item(self, kind: str) -> str:
        return kind if sum(map(len, self._threshold_kinds)) > 1 else "overall"

    def _threshold(self, kinds: Sequence[str], points: Tensor) -> float:
        dev = [pairs for pairs in self.dev if pairs.kind in kinds]
        cosines = np.concatenate(self._cosines(dev, points))
        return best_threshold(roc_curve(cosines, [label for pairs in dev for label in pairs.label]), self.criterion)

    def _cosines(self, sets: Sequence[LabelledPairs], points: Tensor) -> list[Floats]:
        bar = tqdm(sets, desc=f"{self.name}: cosines", unit=" sets", delay=2, leave=False, disable=rank() > 0)
        sides = ((self.rows(points, pairs.source), self.rows(points, pairs.target)) for pairs in bar)
        return [torch.linalg.vecdot(x, y).numpy(force=True) for x, y in sides]

    def _spread(self, of_kind: Sequence[LabelledPairs], points: Tensor) -> dict[str, float]:
        sampled = lowest_hashes((text for pairs in of_kind for text in pairs.source), self.uniform_sentences)
        total, count = 0.0, 0
        for pairs in of_kind:  # set by set: all at once would need gigabytes
            distances = self._distances(pairs, points)
            if len(distances):
                total += len(distances) * float(distances.mean())
                count += len(distances)
        spread = uniform(self.rows(points, sampled), t=self.t)
        return {"align": total / count if count else math.nan, "uniform": spread}

    def _distances(self, pairs: LabelledPairs, points: Tensor) -> Tensor:
        """The distances of the paraphrases that ``align`` averages."""
        rows = zip(pairs.source, pairs.target, pairs.label, strict=True)
        paraphrases = [(source, target) for source, target, label in rows if label == 1]
        if not paraphrases:
            return points.new_empty(0)
        source, target = (self.rows(points, side) for side in zip(*paraphrases, strict=True))
        return pair_distances(source, target, alpha=self.alpha)

    @staticmethod
    def _all_languages(sets: Sequence[ClassifiedPairs]) -> list[str]:
        """The languages of the pairs, if there are several."""
        languages = list(dict.fromkeys(language for classified in sets for language in _languages(classified.pairs)))
        return languages if len(languages) > 1 else []

    def _language_metrics(self, sets: Sequence[ClassifiedPairs]) -> dict[str, float]:
        languages = self._all_languages(sets)
        return {
            f"{self._item(kind)}_{language}/accuracy": percent_right(selected).accuracy
            for kind, of_kind in by_kind(sets).items()
            for language in languages
            if (selected := [classified for classified in of_kind if language in _languages(classified.pairs)])
        }

    def _detail(self, classified: ClassifiedPairs, is_zero: Tensor) -> dict[str, object]:
        pairs, labels = classified.pairs, classified.labels
        kinds = next(kinds for kinds in self._threshold_kinds if pairs.kind in kinds)
        return {
            "evaluator": self.name,
            "direction": "-".join(_languages(pairs)),
            "kind": pairs.kind,
            "part": pairs.part,
            **percent_right([classified])._asdict(),
            "pairs": len(labels),
            "positives": int(labels.sum()),
            "negatives": int((~labels).sum()),
            "threshold": classified.threshold,
            "criterion": self.criterion,
            "tuned_on": "dev" if self.has_test else "the pairs that are scored (optimistic)",
            "dev_kinds": " ".join(kinds),
            "dev_pairs": sum(len(dev_pairs.label) for dev_pairs in self.dev if dev_pairs.kind in kinds),
            "alpha": self.alpha,
            "t": self.t,
            "uniform_sentences": self.uniform_sentences,
            "similarity": "cosine",
            "zero_vectors": sum(int(self.rows(is_zero, side).sum()) for side in (pairs.source, pairs.target)),
            "missing_languages": " ".join(self.absent),
        }


def lowest_hashes(texts: Iterable[str], limit: int) -> list[str]:
    """At most ``limit`` distinct texts, those of lowest SHA-256: a sample that does not depend on order or seed."""
    distinct = set(texts)
    return sorted(distinct, key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())[:limit]


def _languages(pairs: LabelledPairs) -> tuple[str, str]:
    return pairs.source_lang, pairs.target_lang


def _parse_languages(option: str, languages: Sequence[str]) -> set[str]:
    try:
        return {to_iso639_3(language) for language in languages}
    except ValueError as error:
        raise ValueError(f"evaluator.{option}: {error}") from error
