"""Translation ranking with in-batch negatives: LaBSE, Feng et al. 2022 (arXiv:2007.01852)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from xsent.batch import ParallelBatch
from xsent.data.modules.bitext import BitextData
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.losses import check_prefixes, matryoshka
from xsent.recipes.encoder_recipe import EncoderRecipe


@dataclass(kw_only=True, eq=False, repr=False)
class LabseRecipe(EncoderRecipe[BitextData]):
    """Trains the encoder so that a sentence ranks its translation above all others of the batch."""

    data_class = BitextData

    loss: Callable[..., Tensor]  # of anchors and candidates with their groups, such as ``additive_margin_softmax``

    matryoshka: Sequence[int] | None  # sizes of the prefixes that the loss compares; None: the vectors alone

    def __post_init__(self, freeze: Mapping[str, Any]) -> None:
        check_prefixes(self.matryoshka, self.encoder.dim)
        super().__post_init__(freeze)

    def training_step(self, batch: ParallelBatch, batch_idx: int) -> Tensor:
        source, target = self.embed_sides(batch.source, batch.target)  # (B, D) each
        groups, offset = batch.pairs.group, rank() * len(source)
        all_groups = gather_rows(groups)  # (W * B,)
        loss = partial(self.loss, offset=offset, groups=groups, candidate_groups=all_groups)
        forward = matryoshka(loss, source, gather_rows(target), dims=self.matryoshka)
        backward = matryoshka(loss, target, gather_rows(source), dims=self.matryoshka)
        return self.finish_step(forward + backward, {"forward": forward, "backward": backward}, batch.pairs)

    @torch.no_grad()
    def validation_step(self, batch: ParallelBatch, batch_idx: int) -> None:
        source, target = map(gather_uneven_rows, self.embed_sides(batch.source, batch.target))
        groups = gather_uneven_rows(batch.pairs.group)
        loss = partial(self.loss, offset=0, groups=groups, candidate_groups=groups)
        forward = matryoshka(loss, source, target, dims=self.matryoshka)
        backward = matryoshka(loss, target, source, dims=self.matryoshka)
        terms = {"loss": forward + backward, "forward": forward, "backward": backward}
        self.log_terms("val", terms, len(source))
