"""Paraphrase identification: bi-encoder with mega-batch hard negatives, Fedorova and Musatow 2024."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xsent.batch import LabelledBatch, RankingBatch
from xsent.config_checks import UsageError
from xsent.data.modules.paraphrase import ParaphraseData
from xsent.data.sampling.mega_batch import MegaBatchMining
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_by_index, gather_padded_rows, gather_uneven_rows, rank, world_size
from xsent.losses import AdditiveMarginScale, MegaBatchMargin, PairLoss, check_prefixes, matryoshka
from xsent.models.gradient_cache import embed_chunked
from xsent.recipes.encoder_recipe import EncoderRecipe
from xsent.recipes.ranking import Mined, first_row, gather_hard_negatives, hard_negatives, ranking_masks
from xsent.similarity import pairwise_cos_sim


@dataclass(kw_only=True, eq=False, repr=False)
class ParaphraseRecipe(EncoderRecipe[ParaphraseData]):
    """Trains an encoder to rank paraphrases above hard negatives, or on pairs with their labels.

    With a pair loss a batch holds pairs of either label, and nothing is mined. With the others, every
    ``mining.mini_batches`` batches, all their sentences are embedded without gradient, and the nearest ones become
    additional hard negatives of each anchor (the paper's Algorithm 2). Batches do not change; mined negatives are
    encoded again with gradient.

    Logged once per mega-batch, over all devices: ``train/mined_per_anchor``; ``train/mined_similarity``, their mean
    cosine; ``train/suspected_false_negatives``, the share nearer to the anchor than its paraphrase;
    ``train/mining_seconds``.
    """

    data_class = ParaphraseData

    loss: AdditiveMarginScale | MegaBatchMargin | PairLoss
    matryoshka: Sequence[int] | None  # sizes of the prefixes that the loss compares; None: the vectors alone
    mining: MegaBatchMining | None  # of mega-batches; None for in-batch negatives and those of the data
    mined: Mined | None = field(init=False, default=None)
    mining_figures: dict[str, float] = field(init=False, default_factory=dict)  # of the last mega-batch

    def __post_init__(self, freeze: Mapping[str, Any]) -> None:
        check_prefixes(self.matryoshka, self.encoder.dim)
        super().__post_init__(freeze)

    def prepare(self, data: ParaphraseData, store: EmbeddingStore) -> None:
        self._check_loss(data)
        self._data_order = data.order_digest()
        if self.mining is not None:
            data.check_mega_batch(self.mining.mini_batches)
        super().prepare(data, store)

    def _check_loss(self, data: ParaphraseData) -> None:
        """Raise ``UsageError`` unless loss, data and mining fit one another."""
        if not isinstance(self.loss, PairLoss):
            if data.form != "ranking":
                raise UsageError(
                    f"data.form={data.form}: {type(self.loss).__name__} compares anchors with negatives; use"
                    " data.form=ranking, or a loss of labelled pairs, recipe/paraphrase/loss=contrastive or cosent"
                )
            self.loss.check_hard_negatives(present=self.mining is not None or data.own_negatives > 0)
        elif data.form != "pairs":
            raise UsageError(
                f"data.form={data.form}: {type(self.loss).__name__} is a loss of labelled pairs; use data.form=pairs"
                " data.own_negatives=0 data.unpaired=drop, which recipe/paraphrase/loss=contrastive and cosent set"
            )
        elif self.mining is not None:
            raise UsageError(
                f"recipe.mining: {type(self.loss).__name__} is a loss of labelled pairs and uses no mined negatives;"
                " use recipe/paraphrase/mining=none"
            )

    # ---- one step

    def training_step(self, batch: RankingBatch | LabelledBatch, batch_idx: int) -> Tensor:
        if isinstance(batch, LabelledBatch):
            loss, _ = self._compare_labels(batch)
        else:
            loss = self._compare(batch, self.mined, own_pairs=True)
        return self.finish_step(loss, {}, batch.pairs)

    @torch.no_grad()
    def validation_step(self, batch: RankingBatch | LabelledBatch, batch_idx: int) -> None:
        # Every rank compares all pairs of the batch, so all log the same value.
        if isinstance(batch, LabelledBatch):
            loss, pairs = self._compare_labels(batch)
        else:
            loss = self._compare(batch, None, own_pairs=False)
            pairs = len(gather_uneven_rows(batch.anchor))  # of all ranks, which have to agree on the mean
        self.log_terms("val", {"loss": loss}, pairs)

    def _compare_labels(self, batch: LabelledBatch) -> tuple[Tensor, int]:
        """Loss of the pairs of all devices, and their number."""
        vectors = self._vectors(torch.cat([batch.source, batch.target]), self.chunk_sentences)
        source, target = (gather_padded_rows(side) for side in vectors.tensor_split(2))
        label = gather_uneven_rows(batch.label)
        assert isinstance(self.loss, PairLoss)
        return matryoshka(partial(self.loss, label=label), source, target, dims=self.matryoshka), len(label)

    def _compare(self, batch: RankingBatch, mined: Mined | None, *, own_pairs: bool) -> Tensor:
        size = len(batch.anchor)
        negatives = hard_negatives(batch, mined)
        texts = torch.cat([batch.anchor, batch.positive, negatives.text])
        vectors = self._vectors(texts, self.chunk_sentences)
        anchor, positive, hard = torch.split(vectors, [size, size, len(negatives.text)])
        hard_texts = gather_hard_negatives(negatives, size)
        group, hard_group = self._groups(gather_uneven_rows(batch.anchor)), self._groups(hard_texts.text)
        start = first_row(size, batch.anchor) if own_pairs else 0
        rows = slice(start, start + size if own_pairs else len(group))
        masks = ranking_masks(rows, group, hard_texts, hard_group)
        gathered = (gather_padded_rows(side) for side in (anchor, positive, hard))
        assert not isinstance(self.loss, PairLoss)
        return matryoshka(partial(self.loss, masks=masks, rows=rows), *gathered, dims=self.matryoshka)

    def _vectors(self, texts: Tensor, chunk_size: int | None) -> Tensor:
        ids, lengths = (column.to(self.device) for column in self.data.flat_tokens(texts))
        return embed_chunked(self.encoder, ids, lengths, chunk_size=chunk_size)

    def _groups(self, texts: Tensor) -> Tensor:
        return self.data.text_group[texts.cpu()].to(self.device)

    # ---- mega-batches

    def on_train_batch_start(self, batch: RankingBatch | LabelledBatch, batch_idx: int) -> None:
        super().on_train_batch_start(batch, batch_idx)
        if self.mining is None:
            return
        first, length = self.mining.span(self.batches_seen, self.data.steps_per_epoch)
        # A resumed run has the negatives mined with the weights of that time.
        if self.mined is None or (self.mined.first, self.mined.length) != (first, length):
            self.mined = self._mine(self.mining, first, length)

    def _mine(self, mining: MegaBatchMining, first: int, length: int) -> Mined:
        started = time.perf_counter()
        rows = np.concatenate([self.data.global_rows(position) for position in range(first, first + length)])
        batch = self.data.ranking_batch(rows, first // self.data.steps_per_epoch)
        texts = torch.unique(torch.cat([batch.anchor, batch.positive, batch.negative]))
        vectors = self._vectors_in_evaluation(texts)
        sides = [(batch.anchor, batch.positive)]
        if mining.both_sides:
            sides.append((batch.positive, batch.anchor))
        by_side = [self._search(mining, texts, vectors, *side) for side in sides]
        owner, text, similarity, suspected = (torch.cat(column) for column in zip(*by_side, strict=True))
        # Leave out anchors that are their own positive: no candidate is nearer.
        suspected = suspected[(batch.anchor != batch.positive)[owner]]
        self._log_mining(similarity, suspected, len(rows), time.perf_counter() - started)
        of_anchor = torch.arange(len(text)) < len(by_side[0][0])
        return Mined(first, length, batch.pairs.row[owner], text, of_anchor, ~of_anchor | (not mining.both_sides))

    def _search(
        self, mining: MegaBatchMining, texts: Tensor, vectors: Tensor, side: Tensor, opposite: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Owners (K,), texts, similarities, and which are suspected false negatives."""
        near = torch.unique(opposite if mining.candidates == "positives" else texts)
        anchors, positives, candidates = (vectors[torch.searchsorted(texts, x)] for x in (side, opposite, near))
        mined = mining.search(
            anchors,
            candidates,
            anchor_group=self._groups(side),
            candidate_group=self._groups(near),
            positive_similarity=pairwise_cos_sim(anchors.float(), positives.float()),
        )
        if self.mined is None:  # the first mega-batch: before the first step
            mining.check_mined(mined)
        return mined.owner.cpu(), near[mined.candidate.cpu()], mined.similarity.cpu(), mined.suspected.cpu()

    def _vectors_in_evaluation(self, texts: Tensor) -> Tensor:
        """Vectors (N, D) of distinct texts; the work is split over the ranks."""
        shard = torch.arange(rank(), len(texts), world_size())
        precision = self.trainer.precision_plugin.forward_context()
        with torch.inference_mode(), self.encoder.eval_mode(), precision:
            vectors = self._vectors(texts[shard], None)
        return gather_by_index(vectors, shard.to(self.device), len(texts))

    def _log_mining(self, similarity: Tensor, suspected: Tensor, anchors: int, seconds: float) -> None:
        figures = {"mined_per_anchor": len(similarity) / anchors, "mining_seconds": seconds}
        if len(similarity):
            figures["mined_similarity"] = float(similarity.mean())
        if len(suspected):
            figures["suspected_false_negatives"] = float(suspected.float().mean())
        self.mining_figures = figures
        # Passed to the loggers: Lightning would repeat the last values at every logged step.
        metrics = {f"train/{name}": value for name, value in figures.items()} | {"epoch": self.current_epoch}
        for logger in self.trainer.loggers:
            logger.log_metrics(metrics, step=self.trainer.global_step)

    # ---- resuming

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_save_checkpoint(checkpoint)
        checkpoint["xsent"]["mined"] = None if self.mined is None else self.mined._asdict()
        checkpoint["xsent"]["data_order"] = self._data_order

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        super().on_load_checkpoint(checkpoint)
        mined = checkpoint["xsent"]["mined"]
        if mined is not None and checkpoint["xsent"]["data_order"] != self._data_order:
            raise ValueError(
                "the data differ from those of the run to resume, or their order does; mined negatives refer to rows of"
                " the data: start a new run"
            )
        self.mined = None if mined is None else Mined(**mined)
