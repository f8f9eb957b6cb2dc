"""CLSD examples with the scores of several encoders: Tables 1, 4 and 5 and Figures 2 and 3 of Michail et al. 2025."""

import csv
import logging
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xsent.evaluation.charts import BoxPlot
from xsent.evaluation.clsd.base import ClsdSet
from xsent.evaluation.clsd.swap_statistics import Changes, compare_encoders
from xsent.lexical_overlap import intra_jaccard
from xsent.reporting.tables.table import Table, text_row

Rows = list[dict[str, str]]  # of a CSV file

log = logging.getLogger(__name__)


def rows_by_encoder(cells: Sequence[Mapping[str, Any]], table: str) -> dict[str, Rows]:
    """Rows of a table of the cells' evaluations by encoder; a trained run with heads has one for each space."""
    rows: dict[str, Rows] = {}
    for cell in cells:
        if "evaluation" not in cell:
            continue
        path = Path(cell["evaluation"]) / "tables" / f"{table}.csv"
        if not path.is_file():
            log.warning("%s with %s is not shown, it has no table %s", cell["encoder"], cell["evaluator"], table)
            continue
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                space = "" if row["space"] == "original" else f" ({row['space']})"
                rows.setdefault(cell["encoder"] + space, []).append(row)
    return rows


def example_tables(sets: Sequence[ClsdSet], beginnings: Sequence[str], items: Mapping[str, Rows]) -> list[Table]:
    """Table 1: cosines of the source with chosen translations and with their distractors, by encoder.

    Args:
        sets: with the texts.
        beginnings: of the translations to show.
        items: rows of ``clsd_items`` by encoder.
    """
    scores = {
        encoder: {(row["set"], row["direction"], row["id"]): row for row in rows} for encoder, rows in items.items()
    }
    tables = []
    for clsd, number in _chosen(sets, beginnings):
        key = clsd.name, f"{clsd.source_lang}-{clsd.target_lang}", clsd.ids[number]
        by_encoder = {encoder: rows[key] for encoder, rows in scores.items() if key in rows}
        columns = [[row["cosine"], *row["distractor_cosines"].split()] for row in by_encoder.values()]
        texts = [clsd.target[number], *clsd.distractors[number]]
        names = ["translation", *(f"distractor {index}" for index in range(1, len(texts)))]
        lines = [
            text_row([name, *(f"{float(column[index]):.3f}" for column in columns), texts[index]])
            for index, name in enumerate(names)
        ]
        label = f"{' '.join(key)}: {clsd.source[number]}"
        measured = [False, *(True for _ in by_encoder), False]
        tables.append(Table(label, ["", *by_encoder, "text"], lines, len(lines), "clsd_items.csv", measured))
    return tables


def difficulty_tables(
    sets: Sequence[ClsdSet], beginnings: Sequence[str], printed: Mapping[str, Sequence[float]], *, source: str
) -> tuple[list[Table], list[list[object]]]:
    """Table 4: the mean Jaccard similarity of each distractor to the others, of chosen items; and of all as rows.

    Args:
        sets: with the texts; an item of several directions counts once.
        beginnings: of the originals to show; the first items of each set if there are none.
        printed: the paper's figures by beginning of the original.
        source: name of the file with all rows.
    """
    every: list[list[object]] = [["set", "language", "id", "distractor", "intra_jaccard", "original", "text"]]
    for clsd in sets:
        for id_, original, texts in zip(clsd.ids, clsd.target, clsd.distractors, strict=True):
            for number, (value, text) in enumerate(zip(intra_jaccard(texts), texts, strict=True), start=1):
                every.append([clsd.name, clsd.target_lang, id_, number, value, original, text])
    tables = []
    for clsd, item in _chosen(sets, beginnings) or [(clsd, item) for clsd in sets for item in range(3)]:
        texts, original = clsd.distractors[item], clsd.target[item]
        paper = next((values for beginning, values in printed.items() if original.startswith(beginning)), [])
        values = intra_jaccard(texts)
        header = ["", *(["paper", "ours", "diff."] if paper else ["ours"]), "text"]
        lines = []
        for number, (value, text) in enumerate(zip(values, texts, strict=True)):
            beside = [f"{paper[number]:.3f}"] if paper else []
            difference = [f"{value - paper[number]:+.3f}"] if paper else []
            shown = "-" if math.isnan(value) else f"{value:.3f}"
            lines.append(text_row([f"Adv{number + 1}", *beside, shown, *difference, text]))
        label = f"{clsd.name} {clsd.target_lang} {clsd.ids[item]}: {original}"
        measured = [False, *(True for _ in header[1:-1]), False]
        tables.append(Table(label, header, lines, len(every) - 1, source, measured))
    return tables, every


def _chosen(sets: Sequence[ClsdSet], beginnings: Sequence[str]) -> list[tuple[ClsdSet, int]]:
    """Set and row of each item whose translation has one of the beginnings."""
    return [
        (clsd, row)
        for beginning in beginnings
        for clsd in sets
        for row, text in enumerate(clsd.target)
        if text.startswith(beginning)
    ]


def tricked_tables(
    items: Mapping[str, Rows], *, examples: int, seed: int, source: str
) -> tuple[list[Table], list[list[object]]]:
    """Table 5: distractors that are nearer than the translation, and the encoders that they trick.

    Args:
        items: rows of ``clsd_items`` by encoder.
        examples: so many of each direction, drawn.
        seed: of the draw.
        source: name of the file with all rows.

    Returns:
        Numbers of items by the encoders that fail on them, and examples; and a row for each distractor.
    """
    tricked: dict[tuple[str, ...], list[str]] = {}
    failed: dict[tuple[str, str], dict[str, list[str]]] = {}
    for encoder, rows in items.items():
        for row in rows:
            of_direction = failed.setdefault((row["set"], row["direction"]), {})
            by_item = of_direction.setdefault(row["id"], [])
            if row["right"] == "0":
                by_item.append(encoder)
                key = row["set"], row["direction"], row["id"], row["translation"], row["nearest_distractor"]
                tricked.setdefault(key, []).append(encoder)
    every: list[list[object]] = [["set", "direction", "id", "translation", "distractor", "tricked"]]
    every += [[*key, ", ".join(encoders)] for key, encoders in tricked.items()]
    tables = []
    for (name, direction), of_items in failed.items():
        counts = Counter(", ".join(encoders) or "none" for encoders in of_items.values())
        lines = [text_row([encoders, f"{count:,}"]) for encoders, count in counts.most_common()]
        label = f"{name} {direction}: items by the encoders that fail on them"
        tables.append(Table(label, ["encoders", "items"], lines, len(lines), source, [False, True]))
        keys = [key for key in tricked if key[:2] == (name, direction)]
        drawn = sorted(random.Random(seed).sample(keys, min(examples, len(keys))), key=keys.index)
        lines = [text_row([key[3], key[4], ", ".join(tricked[key])]) for key in drawn]
        header = ["original", "distractor", "tricked"]
        label = f"{name} {direction}: examples of distractors"
        tables.append(Table(label, header, lines, len(keys), source, [False] * len(header)))
    return tables, every


def swap_charts(swaps: Mapping[str, Rows], classes: Sequence[str], kind: str) -> list[BoxPlot]:
    """Figure 2 (``kind`` cross) or 3 (mono): changes by part of speech, encoders side by side, a chart per language.

    Args:
        swaps: rows of ``clsd_swaps`` by encoder.
        classes: parts of speech.
        kind: ``cross`` or ``mono``.
    """
    changes = {
        encoder: [
            Changes(
                language,
                [row["tag"] for row in rows if row["target_lang"] == language],
                *(
                    np.array([float(row[name]) for row in rows if row["target_lang"] == language])
                    for name in ("cross", "mono")
                ),
            )
            for language in dict.fromkeys(row["target_lang"] for row in rows)
        ]
        for encoder, rows in swaps.items()
    }
    ending = {"cross": "cross_lingual", "mono": "monolingual"}[kind]
    return [chart for chart in compare_encoders("clsd_swaps", changes, classes) if ending in chart.name]


def mean_tables(charts: Sequence[BoxPlot]) -> list[Table]:
    """A table per chart: number of swaps and mean change of each encoder, by part of speech."""
    tables = []
    for chart in charts:
        encoders = list(dict.fromkeys(encoder for boxes in chart.groups.values() for encoder in boxes))
        lines = []
        for group, boxes in chart.groups.items():
            swaps = max((len(values) for values in boxes.values()), default=0)
            means = [f"{float(np.mean(boxes[encoder])):.3f}" if encoder in boxes else "-" for encoder in encoders]
            lines.append(text_row([group, str(swaps), *means]))
        tables.append(Table(f"{chart.title}, mean", ["", "swaps", *encoders], lines, len(lines), f"{chart.name}.csv"))
    return tables
