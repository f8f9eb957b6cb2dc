"""Verdict on a run or a comparison: which of the main figures improved, by how much, with its confidence interval."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xsent.evaluation.statistics.bootstrap import CONFIDENCE, Interval, paired_bootstrap
from xsent.evaluation.statistics.items import Items
from xsent.evaluation.statistics.paired_test import mcnemar
from xsent.reporting.pages.run_folder import RunFiles
from xsent.reporting.tables.results import HIGHER_IS_BETTER, LOWER_IS_BETTER, decimals
from xsent.reporting.tables.table import Table, text_row

# The main figure of an evaluator is the first of these that it has.
MAIN_KINDS = ("accuracy", "p_at_1", "error", "xsim", "spearman", "cosine_spearman", "f1", "roc_auc", "cosine_ap")
# Language vectors are not meant to find translations, and the probe's accuracy is bad news for meaning vectors.
NOT_JUDGED = {"language", "language_probe"}
MAX_SENTENCES = 2
METHOD = f"The {CONFIDENCE} % interval is a paired bootstrap over the test items."
NO_METHOD = "No interval is known where a run folder has no outcomes.json, with the result of each test item."


class Figures(NamedTuple):
    """Figures of a run, before or after training, and what they are percentages of."""

    label: str  # "meaning vectors"
    metrics: Mapping[str, float]
    outcomes: Mapping[str, Items]


class Change(NamedTuple):
    """Difference between two values of a metric."""

    metric: str
    before: float
    after: float
    labels: tuple[str, str]  # of both values
    interval: Interval | None  # of the difference; None: not known
    p: float | None  # of McNemar's test; None: items are not right or wrong, or not known
    items: str  # number of test items: "16 × 104"
    reason: str = ""  # why the difference is not judged: "other data"

    @property
    def name(self) -> str:
        """``metric_label`` of the metric."""
        return metric_label(self.metric)

    @property
    def judgement(self) -> str:
        """``Better``, ``Worse``, or why neither can be said."""
        if self.reason:
            return f"Not comparable ({self.reason})"
        word = direction_word(self.metric, self.after - self.before).capitalize()
        if not word or (self.interval is not None and self.interval.includes_zero):
            return "No clear difference"
        return word

    @property
    def difference(self) -> str:
        """``+0.90``."""
        return signed(self.metric, self.after - self.before)

    @property
    def interval_text(self) -> str:
        """``+0.12 to +1.68``; empty where it is not known."""
        return "" if self.interval is None else " to ".join(signed(self.metric, bound) for bound in self.interval)

    @property
    def sentence(self) -> str:
        """All of it in one sentence, after the judgement."""
        digits = decimals(self.metric)
        values = f"{self.labels[1]} {self.after:.{digits}f}, {self.labels[0]} {self.before:.{digits}f}"
        interval = f"{CONFIDENCE} % interval {self.interval_text}" if self.interval_text else "interval not known"
        return f"{self.name}: {values}; difference {self.difference} ({interval})."


def metric_label(metric: str) -> str:
    """``test heldout accuracy``, with the item unless it is the mean."""
    split, evaluator, *_, item, kind = metric.split("/")
    return f"{split} {evaluator} {kind}" + ("" if item == "mean" else f" ({item})")


def signed(metric: str, value: float) -> str:
    """``+0.90``, with the decimals of the metric."""
    return f"{value:+.{decimals(metric)}f}"


def direction_word(metric: str, delta: float) -> str:
    """``better``, ``worse``, or "" where neither or not known; a delta that is shown as zero has none."""
    *names, kind = metric.split("/")
    rounded = round(delta, decimals(metric))
    is_higher, is_lower = HIGHER_IS_BETTER.fullmatch(kind), LOWER_IS_BETTER.fullmatch(kind)
    if NOT_JUDGED & set(names) or rounded == 0 or not (is_higher or is_lower):
        return ""
    return "better" if (rounded > 0) == bool(is_higher) else "worse"


def main_metrics(names: Iterable[str]) -> list[str]:
    """A metric per evaluator, named ``test/<evaluator>[/<space>]/<item>/<metric>``: its mean, or else its first."""
    by_evaluator: dict[str, list[list[str]]] = {}
    for name in names:
        words = name.split("/")
        if not NOT_JUDGED & set(words):
            by_evaluator.setdefault(words[1], []).append(words)
    chosen = []
    for rows in by_evaluator.values():
        kind = next((kind for kind in MAIN_KINDS if any(words[-1] == kind for words in rows)), None)
        of_kind = [words for words in rows if words[-1] == kind]
        # "meaning" where there is such a space, else "original" or the one without a name.
        in_space = [words for words in of_kind if words[2] == "meaning" and len(words) == 5] or of_kind
        means = [words for words in in_space if words[-2] == "mean"]
        chosen += ["/".join(words) for words in (means or in_space)[:1]]
    return chosen


def change_between(
    metric: str, first: Figures, second: Figures, *, baseline: str | None = None, items: str = "", reason: str = ""
) -> Change | None:
    """Change of a metric from ``first`` to ``second``, where both have it; ``baseline`` is its name in ``first``."""
    baseline = baseline or metric
    before, after = first.metrics.get(baseline, math.nan), second.metrics.get(metric, math.nan)
    if not (math.isfinite(before) and math.isfinite(after)):
        return None
    old, new = first.outcomes.get(baseline), second.outcomes.get(metric)
    interval, p = None, None
    if not reason and old is not None and new is not None and old.sizes == new.sizes:
        values = (old.value(), before), (new.value(), after)
        # Items are rounded; another definition of the figure differs by more.
        if all(math.isclose(ours, figure, rel_tol=1e-4, abs_tol=1e-4) for ours, figure in values):
            interval = paired_bootstrap(old, new)
            p = mcnemar(old, new) if old.is_binary and new.is_binary else None
    return Change(metric, before, after, (first.label, second.label), interval, p, items, reason)


def run_changes(run: RunFiles) -> list[Change]:
    """Changes of a run's main figures: of the meaning vectors from the original ones, or else from before training."""
    changes = []
    for metric in main_metrics(run.metrics):
        original = metric.replace("/meaning/", "/original/")
        if original != metric:
            first, second = Figures("original vectors", run.metrics, run.outcomes), "meaning vectors"
        else:
            first, second = Figures("before training", run.before, run.outcomes_before), "after training"
        after = Figures(second, run.metrics, run.outcomes)
        change = change_between(metric, first, after, baseline=original, items=test_items(run, metric))
        changes += [] if change is None else [change]
    return changes


def test_items(run: RunFiles, metric: str) -> str:
    """Number of test items behind a metric, ``16 × 104`` for 16 test sets of one size; empty where it is not known."""
    if metric not in run.outcomes:
        return ""
    sizes = [size for group in run.outcomes[metric].sizes for size in group]
    if len(sizes) == 1:
        return f"{sizes[0]:,}"
    return f"{len(sizes)} × {sizes[0]:,}" if len(set(sizes)) == 1 else f"{sum(sizes):,} in {len(sizes)} sets"


def verdict_table(changes: Sequence[Change]) -> Table:
    """A row per main figure: both values, difference, interval, number of test items."""
    labels = list(dict.fromkeys(change.labels for change in changes))
    header = [
        "figure",
        *(labels[0] if len(labels) == 1 else ("from", "to")),
        "diff.",
        f"{CONFIDENCE} % interval",
        "items",
    ]
    rows = []
    for change in changes:
        name = change.name if len(labels) == 1 else f"{change.name}, {change.labels[1]}"
        values = (f"{value:.{decimals(change.metric)}f}" for value in (change.before, change.after))
        rows.append(text_row([name, *values, change.difference, change.interval_text or "not known", change.items]))
    return Table("Verdict", header, rows, len(rows), "results.csv")


def main_figures(run: RunFiles) -> list[str]:
    """``test heldout accuracy 62.80, 64.10 in the paper``: of a run that has nothing to compare with."""
    texts = []
    for metric in main_metrics(run.metrics):
        value, paper = run.metrics[metric], run.expected.get(metric)
        if math.isfinite(value):
            digits, beside = decimals(metric), "" if paper is None else f", {paper:.{decimals(metric)}f} in the paper"
            texts.append(f"{metric_label(metric)} {value:.{digits}f}{beside}")
    return texts


def verdict(changes: Sequence[Change], figures: Sequence[str] = ()) -> dict[str, object]:
    """Context of the macro ``verdict``; ``figures`` are those of a run without changes."""
    has_interval = [change.interval is not None for change in changes]
    notes = [METHOD] if any(has_interval) else []
    return {
        "changes": changes[:MAX_SENTENCES],
        "table": verdict_table(changes) if changes else None,
        "note": " ".join([*notes, *([] if all(has_interval) else [NO_METHOD])]),
        "figures": figures,
    }
