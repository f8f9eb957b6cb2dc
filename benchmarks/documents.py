"""Differing words in whole documents: choose the settings of the alignment without labels, and what labels would add.

    python -m benchmarks.documents [--pages 30] [--rounds 1]
    python -m benchmarks.documents --judge
    python -m benchmarks.documents --labels

The first command makes pages of consecutive sentences of FLORES-200 dev (English with German, French and Italian) under
``XSENT_DATA``, with sentences dropped, added and replaced, words inserted and replaced, numbers changed and sections
moved. It prints Spearman x 100 of the divergence and the made labels for the settings of the alignment
(``conf/evaluator/parts/documents.yaml``) and with each of them changed, and takes over a change that is better. Nothing
of SwissGov-RSD is read.

The second command reads the sentences of these pages, each with the aligned part of the other document, by the bundled
judge of sentence pairs, and prints the figures of its words alone and added to those of the alignment.

The third command fits regression trees to the labels of SwissGov-RSD dev, in five folds by page (the languages share
their English pages), with the divergence of the aligned words and their surroundings as features.
"""

import argparse
import logging
import os
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from xsent.batch import PairJudge, WordPair
from xsent.data.test_sets.swissgov import UNSCORED, read_swissgov
from xsent.evaluation.divergence.metrics import rates
from xsent.evaluation.similarity.sts import spearman
from xsent.models.alignment.document_aligner import AlignedSide, DocumentAligner
from xsent.run import build, load_encoder, load_judge

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("XSENT_DATA", ROOT / "../shared/data"))
LANGUAGES = ("deu_Latn", "fra_Latn", "ita_Latn")
WORD = re.compile(r"\w+(?:’\w+)?|[^\w\s]")
RATES = (0, 0.03, 0.06, 0.12, 0.2, 0.35)  # of changes per sentence; a page has one of them
CHANGES = ("drop", "drop", "insert", "insert", "substitute", "substitute", "replace", "add", "number")
PLATEAU = 0.1  # smaller differences do not decide
FOLDS = 5
SENTENCE_ENDS = (".", "!", "?", ":")
MATCHED = 0.6  # words below this probability of no counterpart place a sentence in the other document
MARGIN = 5  # words around this place
VALUES: dict[str, Sequence[float]] = {
    "null_cosine": (0.2, 0.25, 0.3, 0.35),
    "temperature": (0.15, 0.2, 0.25, 0.3),
    "leave": (0.01, 0.02, 0.03, 0.05, 0.1),
    "stay": (0.4, 0.5, 0.6, 0.7, 0.8),
    "jump": (0.003, 0.01, 0.02, 0.03, 0.05),
    "spread": (0.7, 1.0, 1.5, 2.5),
    "window": (2, 3, 5, 8),
}

Numbers = NDArray[np.float32]
Labelled = list[tuple[str, float]]  # words with labels


class Page(NamedTuple):
    """A pair of documents with labels."""

    words: tuple[list[str], list[str]]
    labels: tuple[NDArray[np.float64], NDArray[np.float64]]


# ---- pages with made differences


def make_pages(language: str, count: int, seed: int) -> list[Page]:
    """Pages of 6 to 30 consecutive sentences in English and the language."""
    rng = random.Random(seed)
    texts = [(DATA / "flores200/dev" / f"{name}.dev").read_text(encoding="utf-8") for name in ("eng_Latn", language)]
    sides = [[WORD.findall(line) for line in text.strip().split("\n")] for text in texts]
    return [_make_page(sides, rng) for _ in range(count)]


def _make_page(sides: list[list[list[str]]], rng: random.Random) -> Page:
    length = rng.randint(6, 30)
    start = rng.randrange(len(sides[0]) - length)
    rate = rng.choice(RATES)
    units = []
    for row in range(start, start + length):
        unit: list[Labelled] = [[(word, 0.0) for word in side[row]] for side in sides]
        while rng.random() < rate and all(unit):
            _change(unit, sides, rng)
        units.append(unit)
    order = list(range(length))
    if rng.random() < 0.3:  # a section moves in the other language
        first, last = sorted(rng.sample(order, 2))
        moved, rest = order[first:last], order[:first] + order[last:]
        place = min(rng.randrange(length), len(rest))
        order = rest[:place] + moved + rest[place:]
    words, labels = [], []
    for side, rows in enumerate((range(length), order)):
        flat = [pair for row in rows for pair in units[row][side]] or [(".", UNSCORED)]
        words.append([word for word, _ in flat])
        has_letters = (any(map(str.isalnum, word)) for word, _ in flat)
        labels.append(np.array([label if has else UNSCORED for (_, label), has in zip(flat, has_letters, strict=True)]))
    return Page((words[0], words[1]), (labels[0], labels[1]))


def _change(unit: list[Labelled], sides: list[list[list[str]]], rng: random.Random) -> None:
    """Change a sentence pair; what differs has label 1, what may be the counterpart of replaced words none."""
    kind, side = rng.choice(CHANGES), rng.randrange(2)
    here, there = unit[side], unit[1 - side]
    foreign = [(word, 1.0) for word in rng.choice(sides[side])]
    if kind == "drop":
        unit[side], unit[1 - side] = [(word, 1.0) for word, _ in here], []
    elif kind == "replace":
        unit[side], unit[1 - side] = foreign, [(word, 1.0) for word, _ in there]
    elif kind == "add":
        unit[side] = here + foreign
    elif kind == "number":
        numbers = [word for word, _ in here if word.isdecimal() and word.isascii()]
        if numbers:
            old, new = (number := rng.choice(numbers)), str(int(number) + rng.randint(1, 9))
            unit[side] = [(new, 1.0) if word == old else (word, label) for word, label in here]
            unit[1 - side] = [(word, 1.0 if word == old else label) for word, label in there]
    else:
        size = min(len(foreign), rng.randint(1, 8 if kind == "insert" else 4))
        begin, place = rng.randrange(len(foreign) - size + 1), rng.randrange(len(here))
        replaced = size if kind == "substitute" else 0
        unit[side] = here[:place] + foreign[begin : begin + size] + here[place + replaced :]
        if replaced:
            middle, reach = int((place + size / 2) / len(here) * len(there)), size + 1
            unit[1 - side] = [
                (word, UNSCORED if not label and abs(position - middle) <= reach else label)
                for position, (word, label) in enumerate(there)
            ]


# ---- scores


class Encoded(NamedTuple):
    """A page with the vectors of its words."""

    page: Page
    vectors: tuple[Numbers, Numbers]


def encode(pages: Sequence[Page]) -> list[Encoded]:
    encoder = load_encoder("micro")
    words = list(dict.fromkeys(word for page in pages for side in page.words for word in side))
    rows = encoder.encode(words, normalize=True).numpy()
    row_of = {word: row for row, word in enumerate(words)}
    return [
        Encoded(page, (rows[[row_of[w] for w in page.words[0]]], rows[[row_of[w] for w in page.words[1]]]))
        for page in pages
    ]


def correlation(divergences: Sequence[Numbers], pages: Sequence[Page]) -> float:
    """Spearman x 100 over all scored words of both sides."""
    labels = np.concatenate([side for page in pages for side in page.labels])
    return 100 * spearman(np.concatenate(divergences)[labels >= 0], labels[labels >= 0])


def mean_correlation(aligner: DocumentAligner, sets: Sequence[Sequence[Encoded]]) -> float:
    figures = []
    for encoded in sets:
        divergences = [side.unmatched for item in encoded for side in aligner.align(*item.vectors)]
        figures.append(correlation(divergences, [item.page for item in encoded]))
    return float(np.mean(figures))


def choose(aligner: DocumentAligner, *, pages: int, rounds: int) -> None:
    """Print the figures of one changed setting at a time, and keep what is better."""
    sets = [encode(make_pages(language, pages, seed=1)) for language in LANGUAGES]
    best = mean_correlation(aligner, sets)
    print(f"made pages, Spearman x 100, mean of {', '.join(LANGUAGES)}: {best:.2f} with {aligner}", flush=True)
    print_thresholds(aligner, sets)
    for _ in range(rounds):
        for name, values in VALUES.items():
            start = getattr(aligner, name)
            changed: dict[float, Any] = {value: {name: value} for value in values if value != start}
            figures = {value: mean_correlation(replace(aligner, **change), sets) for value, change in changed.items()}
            print(
                f"{name:12} {start} {best:.2f}; " + ", ".join(f"{v}: {f:.2f}" for v, f in figures.items()), flush=True
            )
            value, figure = max(figures.items(), key=lambda item: item[1])
            if figure > best + PLATEAU:
                aligner, best = replace(aligner, **changed[value]), figure
    print(f"best: {best:.2f} with {aligner}")


def print_thresholds(aligner: DocumentAligner, sets: Sequence[Sequence[Encoded]]) -> None:
    """Print what the thresholds of ``xsent filter --documents`` tell apart, as means over the languages."""
    words: dict[float, list[float]] = {threshold: [] for threshold in (0.5, 0.6, 0.7, 0.8, 0.9)}
    pages: dict[float, list[float]] = {threshold: [] for threshold in (0.6, 0.65, 0.7, 0.75, 0.8)}
    for encoded in sets:
        of_pages = [np.concatenate([side.unmatched for side in aligner.align(*item.vectors)]) for item in encoded]
        labels = [np.concatenate(item.page.labels) for item in encoded]
        unmatched = [values[of >= 0] for values, of in zip(of_pages, labels, strict=True)]
        differs = [of[of >= 0] > 0 for of in labels]
        for threshold, figures in words.items():
            figures.append(rates(np.concatenate(unmatched) > threshold, np.concatenate(differs)).f1)
        shares, scores = (np.array([of.mean() for of in column]) for column in (differs, unmatched))
        clear = (shares < 0.01) | (shares > 0.05)
        for threshold, figures in pages.items():
            figures.append(100 * float(((1 - scores > threshold) == (shares < 0.01))[clear].mean()))
    print("F1 of the words above:", {threshold: round(float(np.mean(of)), 1) for threshold, of in words.items()})
    print(
        "accuracy on pages, below 1 or above 5 percent of whose words differ, at the score:",
        {threshold: round(float(np.mean(of)), 1) for threshold, of in pages.items()},
        flush=True,
    )


# ---- with a judge of sentences


def judge_windows(judge: PairJudge, item: Encoded, sides: Sequence[AlignedSide], side: int) -> Numbers:
    """Divergence (L,) of the words of a side: each sentence is judged with the aligned part of the other document."""
    words, others = item.page.words[side], item.page.words[1 - side]
    ends = [end for end, word in enumerate(words, start=1) if word in SENTENCE_ENDS or end == len(words)]
    pairs = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        counterparts = sides[side].counterpart[start:end]
        matched = sides[side].unmatched[start:end] < MATCHED
        low, high = np.percentile(counterparts[matched] if matched.any() else counterparts, [10, 90]).astype(int)
        pair = tuple(words[start:end]), tuple(others[max(0, low - MARGIN) : high + MARGIN + 1])
        pairs.append(WordPair(*(pair if side == 0 else pair[::-1])))
    tags = [judgement[1 + side] for judgement in judge.judge(pairs)]
    return np.concatenate([tag for tag in tags if tag is not None])


def blend(aligner: DocumentAligner, *, pages: int) -> None:
    """Print the correlation of a judge's words, and of their sums with those of the alignment."""
    judge = load_judge()
    for language in LANGUAGES:
        encoded = encode(make_pages(language, pages, seed=1))
        aligned: list[Numbers] = []
        judged: list[Numbers] = []
        for item in encoded:
            sides = aligner.align(*item.vectors)
            aligned += [side.unmatched for side in sides]
            judged += [judge_windows(judge, item, sides, side) for side in (0, 1)]
        figures = {"judge alone": correlation(judged, [item.page for item in encoded])}
        for weight in (0.0, 0.2, 0.5, 1.0):
            total = [first + weight * second for first, second in zip(aligned, judged, strict=True)]
            figures[f"alignment + {weight} judge"] = correlation(total, [item.page for item in encoded])
        print(language, {name: round(value, 2) for name, value in figures.items()}, flush=True)


# ---- with labels


def features(item: Encoded, divergences: tuple[Numbers, Numbers], side: int) -> Numbers:
    """(L, F) of the words of a side."""
    words, others = item.page.words[side], item.page.words[1 - side]
    unmatched, size = divergences[side], len(words)
    best = 1 - (item.vectors[side] @ item.vectors[1 - side].T).max(axis=1)
    lower = {word.lower() for word in others}
    page = (unmatched.mean(), divergences[1 - side].mean(), np.log(size / len(others)), np.log(size))
    columns = [unmatched, *(_smooth(unmatched, reach) for reach in (2, 8, 32)), best, _smooth(best, 4)]
    columns += [np.full(size, value) for value in page]
    columns += [np.array([any(map(str.isdigit, word)) for word in words]), np.arange(size) / size]
    columns += [np.array([word[:1].isupper() for word in words]), np.array([word.lower() in lower for word in words])]
    columns += [np.array([len(word) for word in words]), np.minimum(np.arange(size), size - 1 - np.arange(size))]
    return np.stack(columns, axis=1).astype(np.float32)


def _smooth(values: Numbers, reach: int) -> Numbers:
    padded = np.pad(values, reach, mode="edge")
    return np.convolve(padded, np.full(2 * reach + 1, 1 / (2 * reach + 1)), "valid").astype(np.float32)


def learn(aligner: DocumentAligner, threshold: float) -> None:
    """Print the correlation of the alignment, and of regression trees on pages that they were not fitted to."""
    rows, labels, folds = {}, {}, {}
    for documents in read_swissgov(str(DATA / "swissgov"), None, part="dev"):
        pages = [
            Page((list(pair.source), list(pair.target)), (np.array(of[0]), np.array(of[1])))
            for pair, of in zip(documents.pairs, documents.labels, strict=True)
        ]
        order = np.random.default_rng(0).permutation(len(pages)) % FOLDS
        of_pages = []
        for item in encode(pages):
            source, target = (side.unmatched for side in aligner.align(*item.vectors))
            of_pages += [features(item, (source, target), side) for side in (0, 1)]
        name = documents.name
        labels[name] = np.concatenate([side for page in pages for side in page.labels])
        rows[name] = np.concatenate(of_pages)[labels[name] >= 0]
        sizes = [sum(map(len, page.words)) for page in pages]
        folds[name] = np.repeat(order, sizes)[labels[name] >= 0]
        labels[name] = labels[name][labels[name] >= 0]
        marked = rates(rows[name][:, 0] > threshold, labels[name] > 0)
        print(
            f"{name}: not trained {100 * spearman(rows[name][:, 0], labels[name]):.2f}; words above {threshold}:"
            f" precision {marked.precision:.1f}, recall {marked.recall:.1f}",
            flush=True,
        )
    predicted = {name: np.zeros(len(values)) for name, values in labels.items()}
    for fold in range(FOLDS):
        trees = HistGradientBoostingRegressor(
            max_iter=60,
            max_leaf_nodes=8,
            learning_rate=0.08,
            l2_regularization=1.0,
            min_samples_leaf=200,
            random_state=0,
        )
        fitted = [np.concatenate([of[name][folds[name] != fold] for name in rows]) for of in (rows, labels)]
        trees.fit(*fitted)
        for name in rows:
            predicted[name][folds[name] == fold] = trees.predict(rows[name][folds[name] == fold])
    figures = {name: 100 * spearman(predicted[name], labels[name]) for name in rows}
    print(f"trained on labels, {FOLDS} folds by page:", {name: round(value, 2) for name, value in figures.items()})
    print(f"mean {np.mean(list(figures.values())):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=30, help="made pages per language")
    parser.add_argument("--rounds", type=int, default=1, help="passes over the settings")
    parser.add_argument("--judge", action="store_true", help="add the bundled judge of sentence pairs")
    parser.add_argument("--labels", action="store_true", help="fit to the labels of SwissGov-RSD dev instead")
    options = parser.parse_args()
    logging.getLogger("xsent.models.encoders.base").setLevel(logging.ERROR)  # unknown words
    config = yaml.safe_load((ROOT / "conf" / "evaluator" / "parts" / "documents.yaml").read_text(encoding="utf-8"))
    aligner: DocumentAligner = build(config, "document aligner")
    if options.labels:
        filter_config = yaml.safe_load((ROOT / "conf" / "job" / "filter.yaml").read_text(encoding="utf-8"))
        learn(aligner, filter_config["documents"]["word_threshold"])
    elif options.judge:
        blend(aligner, pages=options.pages)
    else:
        choose(aligner, pages=options.pages, rounds=options.rounds)


if __name__ == "__main__":
    main()
