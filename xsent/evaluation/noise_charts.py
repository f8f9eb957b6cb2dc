"""Pictures of what noise does to vectors: box plots per phenomenon, one sentence in the plane."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from xsent.evaluation.charts import BoxPlot, Point, Scatter, Series
from xsent.evaluation.generations import STUDENT, TEACHER
from xsent.evaluation.noisy_sets import Embedded, NoisySet, Scored
from xsent.evaluation.sts import spearman

NOTE_CHARACTERS = 90  # of a sentence below its picture


class Place(NamedTuple):
    """A text as one encoder embeds it."""

    kind: str  # "noisy, student"
    label: str  # the language of a translation
    vector: Series  # (D,)


def distance_boxes(name: str, found: Mapping[str, Mapping[str, Sequence[Scored]]]) -> BoxPlot:
    """Cosine distances of single sentences, all generations of a set together.

    Args:
        name: of the evaluator.
        found: generations by set and by whose vectors they were scored with.
    """
    groups = {
        group: {whose: np.concatenate([one.distances for one in several]) for whose, several in by_encoder.items()}
        for group, by_encoder in found.items()
    }
    return BoxPlot(f"{name}_cosine_distance", f"Noisy and standard sentences: {name}", "cosine distance", groups)


def error_boxes(name: str, found: Mapping[str, Mapping[str, Sequence[Scored]]]) -> BoxPlot | None:
    """xSIM++ of each generation, a box per set; None where no set has several generations and negatives."""
    groups = {
        group: {
            whose: np.array([one.figures[group]["xsimpp"] for one in several]) for whose, several in by_encoder.items()
        }
        for group, by_encoder in found.items()
        if all(len(several) > 1 and "xsimpp" in several[0].figures[group] for several in by_encoder.values())
    }
    if not groups:
        return None
    return BoxPlot(f"{name}_xsimpp", f"xSIM++ of generations of noise: {name}", "xSIM++ error (percent)", groups)


def places(one: NoisySet, line: int, student: Embedded, teacher: Embedded | None, *, translations: bool) -> list[Place]:
    """A pair of a set as both encoders embed it, and its translations as the teacher does, or without one the student.

    Vectors of two sizes have no plane in common: then the student's two are all.

    Args:
        one: the set.
        line: which pair, from 1.
        student, teacher: vectors of its texts.
        translations: whether they have vectors.
    """
    if teacher is not None and teacher.vectors.size(1) != student.vectors.size(1):
        teacher, translations = None, False
    by_encoder = {STUDENT: student} | ({} if teacher is None else {TEACHER: teacher})
    found = [
        Place(f"{version}, {whose}", "", _vector(vectors, side[line - 1]))
        for whose, vectors in by_encoder.items()
        for version, side in [("noisy", one.source), ("standard", one.target)]
    ]
    whose, vectors = list(by_encoder.items())[-1]
    for language, lines in one.translations.items() if translations else ():
        found.append(Place(f"translation, {whose}", language, _vector(vectors, lines[line - 1])))
    return found


def _vector(embedded: Embedded, text: str) -> Series:
    vector: Series = embedded.of([text])[0].double().numpy(force=True)
    return vector


def sentence_map(name: str, title: str, text: str, places: Sequence[Place]) -> Scatter:
    """The first two principal components of some texts' unit vectors.

    The note says the text, how much of their variance is shown, and of three or more how well distances are kept:
    Spearman's correlation of those in the plane with those of the vectors.

    Args:
        name: begins the name of the file.
        title: says which texts these are.
        text: what they say.
        places: M texts with vectors of one size.

    Source:
        Nishimwe et al. 2024, Figure 2. Theirs are the components of LASER's vectors; of which, and whether these
        had length one, is not said. Ours: of the vectors shown, of length one, since all figures are cosines.
    """
    vectors = np.stack([place.vector for place in places]).astype(np.float64)  # (M, D)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centred = vectors - vectors.mean(axis=0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    axes = directions[:2] if len(directions) > 1 else np.vstack([directions, np.zeros_like(directions)])
    # A component has no sign of its own: its largest number is made positive, so that a picture does not flip.
    signs = np.sign(axes[range(2), np.abs(axes).argmax(axis=1)])
    plane = centred @ (axes * signs[:, None]).T  # (M, 2)
    total = float((singular**2).sum())
    note = f"{100 * float((singular[:2] ** 2).sum()) / total:.0f} % of the variance" if total else "one point"
    if len(places) > 2:
        note += f"; Spearman of the distances {spearman(pdist(plane), pdist(vectors)):.2f}"
    points = [Point(float(x), float(y), place.label, place.kind) for (x, y), place in zip(plane, places, strict=True)]
    return Scatter(name, title, points, f"{textwrap.shorten(text, NOTE_CHARACTERS, placeholder=' ...')}\n{note}")
