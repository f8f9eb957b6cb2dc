"""Mega-batches: which batches are looked at together, and which of their sentences are hard negatives of an anchor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from xsent.similarity import unit

MODES = ("threshold", "top_n", "both")
CANDIDATES = ("all", "positives")
TILE = 1024  # anchors whose cosines with all candidates are in memory at a time


class Found(NamedTuple):
    """K negatives of A anchors: by anchor, the nearest first, of equal ones the lower candidate first."""

    owner: Tensor  # (K,) int64, row of the anchor
    candidate: Tensor  # (K,) int64, row of the candidate
    similarity: Tensor  # (K,) float32, their cosine
    suspected: Tensor  # (K,) bool, nearer to the anchor than its own positive: it may be a paraphrase, too
    highest: float  # cosine of the nearest candidate of another group, kept or not; -inf where there is none


@dataclass(frozen=True)
class MegaBatchMining:
    """How hard negatives are found among the sentences of several batches.

    Args:
        mini_batches: M, batches that are looked at together.
        grow_every: a mega-batch begins with one batch and grows by one every so many of them, up to
            ``mini_batches``; None: it has all of them from the start.
        mode: what an anchor gets: ``threshold`` every sentence nearer than the threshold, ``top_n`` the n nearest,
            ``both`` every sentence nearer than the threshold, and in any case the n nearest.
        threshold: cosine; of ``threshold`` and ``both``.
        n: of ``top_n`` and ``both``.
        cap: most sentences an anchor gets, the nearest win: each is encoded again with gradient.
        candidates: ``all`` sentences of the mega-batch, or only the ``positives``.
        both_sides: each positive gets hard negatives, too; with ``positives`` from among the anchors.

    Raises:
        ValueError: an option is unknown or out of its range.

    Source:
        Fedorova and Musatow 2024, Algorithms 1 and 2; Wieting and Gimpel 2018 (arXiv:1711.05732) and their released
        code for ``grow_every``, ``positives`` and ``both_sides``.
    """

    mini_batches: int
    grow_every: int | None
    mode: str
    threshold: float
    n: int
    cap: int
    candidates: str
    both_sides: bool

    def __post_init__(self) -> None:
        for option, value, known in (("mode", self.mode, MODES), ("candidates", self.candidates, CANDIDATES)):
            if value not in known:
                raise ValueError(f"recipe.mining.{option}={value}: expected one of {', '.join(known)}")
        for option in ("mini_batches", "grow_every", "n", "cap"):
            number = getattr(self, option)
            if number is not None and number < 1:
                raise ValueError(f"recipe.mining.{option}={number}: expected at least 1")
        if self.n > self.cap:
            raise ValueError(f"recipe.mining.n={self.n}: expected at most recipe.mining.cap={self.cap}")
        if not -1 <= self.threshold < 1:
            raise ValueError(f"recipe.mining.threshold={self.threshold}: expected at least -1 and less than 1")

    def span(self, position: int, steps_per_epoch: int) -> tuple[int, int]:
        """First batch and number of batches of the mega-batch that a batch lies in.

        The last mega-batch of an epoch may be shorter: the order of the next epoch is another.

        Args:
            position: the batch, counted from 0 over all epochs; nothing else decides, so that a resumed run finds
                the same mega-batches.
            steps_per_epoch: batches of an epoch.
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
    ) -> Found:
        """Hard negatives of each anchor among the candidates, by exact search.

        Args:
            anchors: (A, D) embeddings.
            candidates: (C, D), all of the mega-batch, in the same order on every device.
            anchor_group: (A,) int64.
            candidate_group: (C,) int64; a candidate of the anchor's group is none: it is the anchor, its paraphrase,
                a translation of one of them, or a sentence that the data compare with them.
            positive_similarity: (A,) cosine of each anchor with its own positive.
        """
        tiles = []
        # Cosines in bfloat16 would tie by the dozen: which is nearest takes float32, under autocast too.
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
        return Found(owner, candidate, similarity, similarity > positive_similarity[owner], highest)

    def _nearest(self, cosines: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and columns of (A, C) cosines that are kept, in the order of ``Found``; -inf is never kept."""
        least, most = {"threshold": (0, self.cap), "top_n": (self.n, self.n), "both": (self.n, self.cap)}[self.mode]
        wanted = (cosines > self.threshold).sum(dim=1).clamp(least, most)  # (A,)
        # `topk` takes any of equal columns: all that are as near as the last one, then the lower ones.
        last = cosines.topk(min(most, cosines.size(1)), dim=1).values[:, -1:]  # (A, 1)
        row, column = ((cosines >= last) & cosines.isfinite()).nonzero(as_tuple=True)
        nearest_first = cosines[row, column].argsort(descending=True, stable=True)
        order = nearest_first[row[nearest_first].argsort(stable=True)]
        row, column = row[order], column[order]
        place = torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)  # 0, 1, ... of each anchor
        kept = place < wanted[row]
        return row[kept], column[kept]

    def check_found(self, found: Found) -> None:
        """Raise ``ValueError`` when a search found nothing for any anchor, in whatever way it searched.

        Of the first mega-batch it says that the options do not fit the data or the encoder; later it may mean that
        the encoder has learned what there was to learn.
        """
        if len(found.owner):
            return
        if found.highest == -math.inf:
            raise ValueError("recipe.mining: all sentences of the mega-batch are of one group, none is a negative")
        raise ValueError(
            f"recipe.mining.threshold={self.threshold}: expected some sentence of the mega-batch to be nearer to an"
            f" anchor, found none above {found.highest:.4f}; lower it, or take recipe.mining.mode=both"
        )
