"""Charts of noise robustness: box plots per phenomenon, principal components of one sentence's vectors."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from xsent.evaluation.charts import BoxPlot, Histogram, Panel, Point, Scatter, Series
from xsent.evaluation.noise.aggregation import STUDENT, TEACHER
from xsent.evaluation.noise.scoring import Embedded, NoisySet, SetScores
from xsent.evaluation.similarity.sts import spearman

NOTE_CHARACTERS = 90  # of a sentence below its chart

Generations = Mapping[str, Mapping[str, Sequence[SetScores]]]  # by set and encoder


class LabelledVector(NamedTuple):
    """A text embedded by one encoder."""

    kind: str  # "noisy, student"
    label: str  # language of a translation
    vector: Series  # (D,)


def boxes(name: str, generations: Generations) -> list[BoxPlot]:
    """Box plots of the cosine distances of single sentences, generations of a set pooled, and of xSIM++ over them.

    The second is of the sets with several generations and negatives; it is omitted if there are none.
    """
    distances: dict[str, dict[str, Series]] = {}
    errors: dict[str, dict[str, Series]] = {}
    for group, by_encoder in generations.items():
        distances[group] = {
            encoder: np.concatenate([generation.distances for generation in scores])
            for encoder, scores in by_encoder.items()
        }
        if all(len(scores) > 1 and "xsimpp" in scores[0].metrics[group] for scores in by_encoder.values()):
            errors[group] = {
                encoder: np.array([generation.metrics[group]["xsimpp"] for generation in scores])
                for encoder, scores in by_encoder.items()
            }
    plots = [
        BoxPlot(f"{name}_cosine_distance", f"Noisy and standard sentences: {name}", "cosine distance", distances),
        BoxPlot(f"{name}_xsimpp", f"xSIM++ of generations of noise: {name}", "xSIM++ error (percent)", errors),
    ]
    return plots if errors else plots[:1]


def step_histogram(name: str, step_counts: Mapping[str, Sequence[int]]) -> Histogram:
    """Histogram of the number of transformations per sentence, a panel for each text.

    Source:
        Nishimwe et al. 2024, Figure 3, of the training sentences.
    """
    counts = {text: np.array(numbers, dtype=np.float64) for text, numbers in step_counts.items()}
    panels = [
        Panel(f"{text}, {100 * float((numbers == 0).mean()):.2f} % with none", {"sentences": numbers}, None)
        for text, numbers in counts.items()
    ]
    edges = np.arange(-0.5, max(float(numbers.max()) for numbers in counts.values()) + 1)
    title = f"Transformations per sentence: {name}"
    return Histogram(f"{name}_transformations", title, "transformations", "sentences", "", panels, edges)


def token_scatter(name: str, ratios: Mapping[str, Mapping[str, float]], unit: str) -> Scatter:
    """Scatter plot of types and tokens of noisy texts, each over that of the standard text; the label has the TTR's.

    Args:
        ratios: ``types_ratio``, ``tokens_ratio`` and ``ttr_ratio`` of each text.
        unit: name of the tokens.

    Source:
        Nishimwe et al. 2024, Figure 4: text near (1, 1) is like standard text.
    """
    points = [
        Point(each["types_ratio"], each["tokens_ratio"], f"{text} {each['ttr_ratio']:.2f}", "TTR noisy / standard")
        for text, each in ratios.items()
    ]
    labels = [f"{kind} of the noisy over those of the standard text" for kind in ("types", "tokens")]
    return Scatter(f"{name}_tokens", f"Types, tokens and their ratio: {name}", points, f"Tokens: {unit}.", *labels)


def sentence_vectors(
    noisy_set: NoisySet, line: int, student: Embedded, teacher: Embedded | None, *, translations: bool
) -> list[LabelledVector]:
    """Vectors of a pair by both encoders, and of its translations by the teacher, or by the student without one.

    If the encoders' vectors have different sizes, only the student's vectors of the pair are returned. ``line``: number
    of the pair, from 1.
    """
    if teacher is not None and teacher.vectors.size(1) != student.vectors.size(1):
        teacher, translations = None, False
    encoders = {STUDENT: student} | ({} if teacher is None else {TEACHER: teacher})
    vectors = [
        LabelledVector(f"{version}, {name}", "", embedded.series(side[line - 1]))
        for name, embedded in encoders.items()
        for version, side in [("noisy", noisy_set.source), ("standard", noisy_set.target)]
    ]
    name, embedded = list(encoders.items())[-1]
    for language, lines in noisy_set.translations.items() if translations else ():
        vectors.append(LabelledVector(f"translation, {name}", language, embedded.series(lines[line - 1])))
    return vectors


def sentence_map(name: str, title: str, text: str, texts: Sequence[LabelledVector]) -> Scatter:
    """Scatter plot of the first two principal components of some texts' unit vectors.

    The note has the text, the explained share of the variance, and for three texts or more Spearman's correlation of
    distances in the plane with distances of the vectors.

    Source:
        Nishimwe et al. 2024, Figure 2, with components of LASER's vectors; the paper does not say of which vectors, and
        whether they were normalised. Ours: of the vectors in the chart, normalised, since all metrics use cosines.
    """
    vectors = np.stack([row.vector for row in texts]).astype(np.float64)  # (M, D)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centred = vectors - vectors.mean(axis=0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    axes = directions[:2] if len(directions) > 1 else np.vstack([directions, np.zeros_like(directions)])
    # The sign of a component is arbitrary: its largest number is made positive.
    signs = np.sign(axes[range(2), np.abs(axes).argmax(axis=1)])
    plane = centred @ (axes * signs[:, None]).T  # (M, 2)
    total = float((singular**2).sum())
    note = f"{100 * float((singular[:2] ** 2).sum()) / total:.0f} % of the variance" if total else "one point"
    if len(texts) > 2:
        note += f"; Spearman of the distances {spearman(pdist(plane), pdist(vectors)):.2f}"
    points = [Point(float(x), float(y), row.label, row.kind) for (x, y), row in zip(plane, texts, strict=True)]
    return Scatter(name, title, points, f"{textwrap.shorten(text, NOTE_CHARACTERS, placeholder=' ...')}\n{note}")
