"""Verdict on a run or a comparison: which of the main figures improved, by how much, with its confidence interval."""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from xsent.evaluation.statistics.bootstrap import CONFIDENCE, Interval, paired_bootstrap
from xsent.evaluation.statistics.items import Items
from xsent.evaluation.statistics.paired_test import mcnemar, paired_p
from xsent.reporting.pages.run_folder import RunFiles
from xsent.reporting.pages.seeds import Figures
from xsent.reporting.tables.results import HIGHER_IS_BETTER, LOWER_IS_BETTER, decimals, gap_name
from xsent.reporting.tables.table import Table, text_row

# The main figure of an evaluator is the first of these that it has.
MAIN_KINDS = ("accuracy", "p_at_1", "error", "xsim", "spearman", "cosine_spearman", "f1", "roc_auc", "cosine_ap")
# Language vectors are not meant to find translations, and the probe's accuracy is bad news for meaning vectors.
NOT_JUDGED = {"language", "language_probe"}
MAX_SENTENCES = 2
METHOD = (
    f"The {CONFIDENCE} % interval is a paired bootstrap over the test items; where it includes zero, the difference is"
    " within noise."
)
MCNEMAR = "p is that of the exact McNemar test of the items that are right in one of the two only."
OF_SEEDS = "p is that of a paired t-test over the seeds that both have; the interval is of their mean."
NO_METHOD = "No interval is known where a run folder has no outcomes.json with the items of the figure."
WITHIN_NOISE = "Within noise"


class Change(NamedTuple):
    """Difference between two values of a metric."""

    metric: str
    first: Figures
    second: Figures
    baseline: str  # the metric's name in ``first``
    interval: Interval | None  # of the difference; None: not known
    p: float | None  # of McNemar's test or, of several seeds, of the paired t-test; None: not known
    items: str  # number of test items: "16 × 104"
    reason: str = ""  # why the difference is not judged: "other data"

    @property
    def name(self) -> str:
        """``metric_label`` of the metric."""
        return metric_label(self.metric)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values: ``62.80``, or ``62.80 ± 0.41`` of several seeds."""
        return self.first.text(self.baseline), self.second.text(self.metric)

    @property
    def labels(self) -> tuple[str, str]:
        """Of both values."""
        return self.first.heading, self.second.heading

    @property
    def judgement(self) -> str:
        """``Better``, ``Worse``, or why neither can be said."""
        if self.reason:
            return f"Not comparable ({self.reason})"
        if self.interval is not None and self.interval.includes_zero:
            return WITHIN_NOISE
        return direction_word(self.metric, self._difference).capitalize() or "No difference"

    @property
    def _difference(self) -> float:
        return self.second.metrics[self.metric] - self.first.metrics[self.baseline]

    @property
    def difference(self) -> str:
        """``+0.90``."""
        return signed(self.metric, self._difference)

    @property
    def p_text(self) -> str:
        """``0.031`` or ``<0.001``; empty where it is not known."""
        return "" if self.p is None else "<0.001" if self.p < 0.001 else f"{self.p:.3f}"

    @property
    def interval_text(self) -> str:
        """``+0.12 to +1.68``; empty where it is not known."""
        return "" if self.interval is None else " to ".join(signed(self.metric, bound) for bound in self.interval)

    @property
    def sentence(self) -> str:
        """All of it in one sentence, after the judgement."""
        values = f"{self.labels[1]} {self.texts[1]}, {self.labels[0]} {self.texts[0]}"
        interval = f"{CONFIDENCE} % interval {self.interval_text}" if self.interval_text else "interval not known"
        p = f", p {self.p_text.replace('<', '< ')}" if self.p_text else ""
        return f"{self.name}: {values}; difference {self.difference} ({interval}{p})."


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


def with_gaps(chosen: Iterable[str], names: Collection[str]) -> list[str]:
    """The metrics, each followed by the margin gap of its items where there is one."""
    gaps = {metric: gap for metric in chosen if (gap := gap_name(metric)) in names}
    return [name for metric in chosen for name in (metric, gaps.get(metric)) if name is not None]


def change_between(
    metric: str, first: Figures, second: Figures, *, baseline: str | None = None, reason: str = ""
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
    if first.by_seed or second.by_seed:
        seeds = [seed for seed in first.by_seed if seed in second.by_seed]
        scores = ([side.by_seed[seed][name] for seed in seeds] for side, name in ((first, baseline), (second, metric)))
        p = None if reason else paired_p(*scores)
    return Change(metric, first, second, baseline, interval, p, item_count(new or old), reason)


def run_changes(run: RunFiles) -> list[Change]:
    """Changes of a run's main figures: of the meaning vectors from the original ones, or else from before training, or
    else of a student from its teacher."""
    changes = []
    for metric in with_gaps(main_metrics(run.metrics), run.metrics):
        original = metric.replace("/meaning/", "/original/")
        start, _, kind = metric.rpartition("/")
        if original != metric:
            first, second = Figures("original vectors", run.metrics, run.outcomes), "meaning vectors"
        elif metric not in run.before and f"{start}/teacher_{kind}" in run.metrics:
            original = f"{start}/teacher_{kind}"
            first, second = Figures("teacher", run.metrics, run.outcomes), "student"
        else:
            first, second = Figures("before training", run.before, run.outcomes_before), "after training"
        after = Figures(second, run.metrics, run.outcomes)
        change = change_between(metric, first, after, baseline=original)
        changes += [] if change is None else [change]
    return changes


def item_count(items: Items | None) -> str:
    """Number of test items, ``16 × 104`` for 16 test sets of one size; empty where it is not known."""
    if items is None:
        return ""
    sizes = [size for group in items.sizes for size in group]
    if len(sizes) == 1:
        return f"{sizes[0]:,}"
    return f"{len(sizes)} × {sizes[0]:,}" if len(set(sizes)) == 1 else f"{sum(sizes):,} in {len(sizes)} sets"


def verdict_table(changes: Sequence[Change]) -> Table:
    """A row per main figure: both values, difference, interval, p, number of test items, judgement."""
    has_p = any(change.p is not None for change in changes)
    labels = list(dict.fromkeys(change.labels for change in changes))
    header = [
        "figure",
        *(labels[0] if len(labels) == 1 else ("from", "to")),
        "diff.",
        f"{CONFIDENCE} % interval",
        *(["p"] if has_p else []),
        "items",
        "verdict",
    ]
    rows = []
    for change in changes:
        name = change.name if len(labels) == 1 else f"{change.name}, {change.labels[1]}"
        p = [change.p_text] if has_p else []
        texts = [name, *change.texts, change.difference, change.interval_text or "not known", *p, change.items]
        rows.append(text_row([*texts, change.judgement.lower()]))
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
    return {
        "changes": [change for change in changes if not change.metric.endswith("margin_gap")][:MAX_SENTENCES],
        "table": verdict_table(changes) if changes else None,
        "note": verdict_note(changes),
        "figures": figures,
    }


def verdict_note(changes: Sequence[Change]) -> str:
    """How intervals and p-values were computed."""
    has_interval = [change.interval is not None for change in changes]
    has_seeds = any(change.first.by_seed or change.second.by_seed for change in changes)
    notes = {
        METHOD: any(has_interval),
        OF_SEEDS if has_seeds else MCNEMAR: any(change.p is not None for change in changes),
        NO_METHOD: not all(has_interval),
    }
    return " ".join(note for note, applies in notes.items() if applies)
