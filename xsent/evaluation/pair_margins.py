"""Margin scores of given pairs: how much nearer the sides are to each other than to their neighbourhoods."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.evaluation.margin import margin_scores, mean_cosines
from xsent.evaluation.search import knn
from xsent.evaluation.thresholds import Floats
from xsent.similarity import unit


class Neighbourhood(NamedTuple):
    """Distinct sentences of both sides among which neighbours are sought."""

    source: Tensor  # (M, D)
    target: Tensor  # (N, D)


def pair_margins(source: Tensor, target: Tensor, around: Neighbourhood, *, margin: str, k: int) -> Floats:
    """Margin score (P,) of each pair.

    Args:
        source: (P, D), row i belongs to row i of ``target`` (P, D).
        target: likewise.
        around: the neighbours of a source are sought among its targets, and the other way round; where a side of a
            pair is in it, it is a neighbour, too.
        margin: as in ``best_targets``.
        k: neighbours that are averaged, or as many as there are.

    Source:
        Artetxe & Schwenk 2019 (arXiv:1811.01136), equation 2.
    """
    cosines = torch.linalg.vecdot(unit(source.double()), unit(target.double()))
    own, other = mean_cosines(knn(source, around.target, k), k), mean_cosines(knn(target, around.source, k), k)
    found: Floats = margin_scores(cosines, own, other, margin).numpy(force=True)
    return found
