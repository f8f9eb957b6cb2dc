"""Translation ranking with in-batch negatives: LaBSE, Feng et al. 2022 (arXiv:2007.01852)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from xsent.batch import ParallelBatch
from xsent.data.modules.bitext import BitextData
from xsent.distributed import gather_rows, gather_uneven_rows, rank
from xsent.recipes.encoder_recipe import EncoderRecipe


@dataclass(kw_only=True, eq=False, repr=False)
class LabseRecipe(EncoderRecipe[BitextData]):
    """Trains the encoder so that a sentence ranks its translation above all others of the batch."""

    data_class = BitextData

    loss: Callable[..., Tensor]  # of anchors and candidates with their groups, such as ``additive_margin_softmax``

    def training_step(self, batch: ParallelBatch, batch_idx: int) -> Tensor:
        source, target = self.embed_sides(batch.source, batch.target)  # (B, D) each
        groups, offset = batch.pairs.group, rank() * len(source)
        all_groups = gather_rows(groups)  # (W * B,)
        forward = self.loss(source, gather_rows(target), offset=offset, groups=groups, candidate_groups=all_groups)
        backward = self.loss(target, gather_rows(source), offset=offset, groups=groups, candidate_groups=all_groups)
        return self.finish_step(forward + backward, {"forward": forward, "backward": backward}, batch.pairs)

    @torch.no_grad()
    def validation_step(self, batch: ParallelBatch, batch_idx: int) -> None:
        source, target = map(gather_uneven_rows, self.embed_sides(batch.source, batch.target))
        groups = gather_uneven_rows(batch.pairs.group)
        forward = self.loss(source, target, offset=0, groups=groups, candidate_groups=groups)
        backward = self.loss(target, source, offset=0, groups=groups, candidate_groups=groups)
        terms = {"loss": forward + backward, "forward": forward, "backward": backward}
        self.log_terms("val", terms, len(source))
