"""What an objective adds to another, such as ORACLE to its host, tested over the seeds that both ran with."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from xsent.evaluation.statistics.paired_test import MIN_SEEDS, paired_p
from xsent.reporting.tables.study_rows import derived_metrics, is_average, measured_row
from xsent.reporting.tables.table import Cell, Table, column_tables, figure_columns


class Change(NamedTuple):
    """Difference of two objectives in one metric; a row of ``changes.csv``."""

    encoder: str
    objective: str
    baseline: str
    space: str
    metric: str
    seeds: int  # that both ran with
    change: float  # mean over the seeds
    p: float | None  # two-sided, paired by seed; None for fewer than three seeds


def changes(cells: Sequence[Mapping[str, Any]], paper: Mapping[str, Any]) -> list[Change]:
    """Changes of the averages of a table for each objective that has a baseline among the cells.

    Args:
        cells: as in ``figures``.
        paper: with ``baselines``, by objective.
    """
    finished = [cell for cell in cells if "error" not in cell]
    metrics = {(cell["encoder"], cell["objective"], cell["seed"]): cell["metrics"] for cell in finished}
    results = []
    for encoder, objective in dict.fromkeys((cell["encoder"], cell["objective"]) for cell in finished):
        baseline = paper["baselines"].get(objective)
        seeds = [
            seed for *name, seed in metrics if name == [encoder, objective] and (encoder, baseline, seed) in metrics
        ]
        derived = derived_metrics(paper, paper["encoders"].get(encoder, paper["other_encoders"]))
        averages = [name for name in [*paper["metrics"], *derived.names] if is_average(name, paper)]
        for space in (space for space in paper["spaces"] if space != "original"):
            before, after = (
                [derived.add_to(measured_row(metrics[encoder, name, seed], space, paper)) for seed in seeds]
                for name in (baseline, objective)
            )
            for metric in averages:
                pairs = [
                    (a[metric], b[metric]) for a, b in zip(before, after, strict=True) if a.keys() & b.keys() & {metric}
                ]
                if pairs:
                    p = paired_p(*zip(*pairs, strict=True))
                    change = mean(b - a for a, b in pairs)
                    results.append(Change(encoder, objective, baseline, space, metric, len(pairs), change, p))
    return results


def change_tables(results: Sequence[Change], labels: Mapping[str, str]) -> list[Table]:
    """A table per encoder: a row per objective and space, and for each average the change and its p-value.

    Args:
        results: of ``changes``.
        labels: headers of the metrics.
    """
    tables = []
    for encoder in dict.fromkeys(change.encoder for change in results):
        chosen = {
            (", ".join(filter(None, (f"{change.objective} - {change.baseline}", change.space))), change.metric): change
            for change in results
            if change.encoder == encoder
        }
        names = list(dict.fromkeys(name for name, _ in chosen))
        groups = []
        for metric in dict.fromkeys(metric for _, metric in chosen):
            row = [chosen.get((name, metric)) for name in names]
            columns = {
                "change": [Cell("" if change is None else f"{change.change:+.2f}") for change in row],
                "p": [Cell("" if change is None else p_text(change.p)) for change in row],
            }
            groups.append(figure_columns(labels[metric], columns))
        tables += column_tables(f"{encoder}, change by objective", names, groups, source="changes.csv")
    return tables


def p_text(p: float | None) -> str:
    """A p-value to three digits, or how many seeds it needs."""
    if p is None:
        return f"needs {MIN_SEEDS} seeds"
    return "<0.001" if p < 0.001 else f"{p:.3f}"
