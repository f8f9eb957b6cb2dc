"""Mega-batches: several batches that are searched together for hard negatives of each anchor."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.similarity import unit

MODES = ("threshold", "top_n", "both")
CANDIDATES = ("all", "positives")
TILE = 1024  # anchors whose cosines with all candidates are in memory at a time


class MinedNegatives(NamedTuple):
    """K negatives of A anchors, grouped by anchor, nearest first; ties are ordered by candidate."""

    owner: Tensor  # (K,) int64, row of the anchor
    candidate: Tensor  # (K,) int64, row of the candidate
    similarity: Tensor  # (K,) float32, cosine
    suspected: Tensor  # (K,) bool, nearer to the anchor than its positive: may be a paraphrase
    highest: float  # cosine of the nearest candidate of another group, selected or not; -inf if there is none


@dataclass(frozen=True)
class MegaBatchMining:
    """Mining of hard negatives among the sentences of several batches.

    Raises:
        ValueError: an option is unknown or out of range.

    Source:
        Fedorova and Musatow 2024, Algorithms 1 and 2; Wieting and Gimpel 2018 (arXiv:1711.05732) and their released
        code for ``grow_every``, ``positives`` and ``both_sides``.
    """

    mini_batches: int  # number of batches in a mega-batch
    # Start with one batch and add one every so many batches, up to `mini_batches`; None starts with all of them.
    grow_every: int | None
    # Negatives of an anchor: `threshold` all sentences nearer than the threshold, `top_n` the n nearest, `both` all
    # sentences nearer than the threshold and at least the n nearest.
    mode: str
    threshold: float  # cosine, for `threshold` and `both`
    n: int  # for `top_n` and `both`
    cap: int  # maximum number of negatives per anchor, the nearest ones; each is encoded again with gradient
    candidates: str  # `all` sentences of the mega-batch, or only the `positives`
    both_sides: bool  # mine negatives of each positive, too; with `positives` among the anchors

    def __post_init__(self) -> None:
        for option, value, allowed in (("mode", self.mode, MODES), ("candidates", self.candidates, CANDIDATES)):
            if value not in allowed:
                raise ValueError(f"recipe.mining.{option}={value}: expected one of {', '.join(allowed)}")
        for option in ("mini_batches", "grow_every", "n", "cap"):
            number = getattr(self, option)
            if number is not None and number < 1:
                raise ValueError(f"recipe.mining.{option}={number}: expected at least 1")
        if self.n > self.cap:
            raise ValueError(f"recipe.mining.n={self.n}: expected at most recipe.mining.cap={self.cap}")
        if not -1 <= self.threshold < 1:
            raise ValueError(f"recipe.mining.threshold={self.threshold}: expected at least -1 and less than 1")

    def span(self, position: int, steps_per_epoch: int) -> tuple[int, int]:
        """First batch and number of batches of the mega-batch that contains a batch (counted from 0 over all epochs).

        The last mega-batch of an epoch may be shorter. The span depends only on the arguments, so a resumed run gets
        the same mega-batches.
        """
        first = position - position % steps_per_epoch
        end = first + steps_per_epoch
        while True:
            grown = self.mini_batches if self.grow_every is None else 1 + first // self.grow_every
            length = min(self.mini_batches, grown, end - first)
            if position < first + length:
                return first, length
            first += length

    def search(
        self,
        anchors: Tensor,
        candidates: Tensor,
        *,
        anchor_group: Tensor,
        candidate_group: Tensor,
        positive_similarity: Tensor,
    ) -> MinedNegatives:
        """Mine the hard negatives of each anchor among the candidates, by exact search.

        Args:
            anchors: (A, D) embeddings.
            candidates: (C, D), all of the mega-batch, in the same order on every device.
            anchor_group: (A,) int64.
            candidate_group: (C,) int64; a candidate of the anchor's group is never a negative: it is the anchor, its
                paraphrase, a translation of one of them, or a sentence that the data pair with them.
            positive_similarity: (A,) cosine of each anchor with its positive.
        """
        tiles = []
        # In bfloat16 many cosines would tie, so the search is in float32, also under autocast.
        with torch.autocast(anchors.device.type, enabled=False):
            anchors, candidates = unit(anchors.float()), unit(candidates.float())
            for start in range(0, len(anchors), TILE):
                tile = slice(start, start + TILE)
                cosines = anchors[tile] @ candidates.T  # (TILE, C)
                cosines.masked_fill_(anchor_group[tile, None] == candidate_group[None, :], float("-inf"))
                owner, candidate = self._nearest(cosines)
                tiles.append((owner + start, candidate, cosines[owner, candidate], cosines.amax()))
        owner, candidate, similarity = (torch.cat(column) for column in list(zip(*tiles, strict=True))[:3])
        highest = max(float(tile[3]) for tile in tiles)
        return MinedNegatives(owner, candidate, similarity, similarity > positive_similarity[owner], highest)

    def _nearest(self, cosines: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and columns of the selected entries of (A, C) cosines, in the order of ``MinedNegatives``."""
        least, limit = {"threshold": (0, self.cap), "top_n": (self.n, self.n), "both": (self.n, self.cap)}[self.mode]
        sizes = (cosines > self.threshold).sum(dim=1).clamp(least, limit)  # (A,)
        # `topk` selects arbitrarily among ties: take every column that ties with the last one, then the lowest.
        last = cosines.topk(min(limit, cosines.size(1)), dim=1).values[:, -1:]  # (A, 1)
        row, column = ((cosines >= last) & cosines.isfinite()).nonzero(as_tuple=True)
        nearest_first = cosines[row, column].argsort(descending=True, stable=True)
        order = nearest_first[row[nearest_first].argsort(stable=True)]
        row, column = row[order], column[order]
        position = torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)  # 0, 1, ... per anchor
        selected = position < sizes[row]
        return row[selected], column[selected]

    def check_mined(self, mined: MinedNegatives) -> None:
        """Raise ``ValueError`` if a search found no negative for any anchor.

        In the first mega-batch this means that the options do not fit the data or the encoder. Later it may mean
        that the encoder has learned to separate all sentences.
        """
        if len(mined.owner):
            return
        if mined.highest == -math.inf:
            raise ValueError("recipe.mining: all sentences of the mega-batch are of one group, none is a negative")
        raise ValueError(
            f"recipe.mining.threshold={self.threshold}: expected some sentence of the mega-batch to be nearer to an"
            f" anchor, found none above {mined.highest:.4f}; lower it, or use recipe.mining.mode=both"
        )
