"""Margin scores of known pairs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from xsent.evaluation.search.exact import knn
from xsent.evaluation.search.margin import margin_scores, mean_cosines
from xsent.evaluation.statistics.thresholds import Floats
from xsent.similarity import unit


class Neighbourhood(NamedTuple):
    """Distinct sentences of both sides to search neighbours in."""

    source: Tensor  # (M, D)
    target: Tensor  # (N, D)


def pair_margins(source: Tensor, target: Tensor, around: Neighbourhood, *, margin: str, k: int) -> Floats:
    """Margin score (P,) of each pair.

    Args:
        source, target: (P, D), row i of both is a pair.
        around: neighbours of a source are searched among its targets, those of a target among its sources; a side of a
            pair that is in it counts as a neighbour.
        margin: as in ``best_targets``.
        k: number of neighbours to average, or all if there are fewer.

    Source:
        Artetxe & Schwenk 2019 (arXiv:1811.01136), equation 2.
    """
    cosines = torch.linalg.vecdot(unit(source.double()), unit(target.double()))
    source_mean = mean_cosines(knn(source, around.target, k), k)
    target_mean = mean_cosines(knn(target, around.source, k), k)
    scores: Floats = margin_scores(cosines, source_mean, target_mean, margin).numpy(force=True)
    return scores
