"""Divergent mBERT: rank synthetic divergences of a pair by how far they are from it, and tag the words that diverge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import DivergenceBatch, Judgement, WordPair
from xsent.data.divergences import DivergenceData
from xsent.data.embedding_store import EmbeddingStore
from xsent.distributed import gather_by_index, gather_uneven_rows, rank, world_size
from xsent.evaluation.divergence_scores import calibrate, weighted
from xsent.evaluation.evaluator import Evaluation, Evaluator, pairs_of
from xsent.losses import check_weights, equivalence_cross_entropy, margin_ranking, token_cross_entropy, weighted_sum
from xsent.losses.divergence import AVERAGES
from xsent.models.pair_encoder import PairEncoder
from xsent.models.sentence_encoder import SentenceEncoder
from xsent.recipes.base import OptimizerFactory, Recipe, SchedulerFactory

SENTENCE_LOSSES = ("margin", "cross_entropy", "none")
JUDGE = "judge."  # begins the names of its weights in a checkpoint


class DivergenceTerms(NamedTuple):
    """What the pairs and what their tokens cost."""

    sentence: Tensor
    tokens: Tensor


class DivergenceRecipe(Recipe[DivergenceData]):
    """Trains a cross-encoder on divergences made from clean pairs.

    Args:
        encoder: whose transformer and tokenizer are taken; any of transformers.
        sentence_loss: ``margin``: rank a pair above a more divergent version of it; ``cross_entropy``: equivalent or
            divergent, one pair at a time; ``none``: tag tokens alone.
        margin: of ``sentence_loss=margin``, in units of the score.
        token_loss: ``pairs`` or ``tokens`` (``token_cross_entropy``); ``none``: words are not tagged.
        weights: of ``sentence`` and ``tokens``; a loss that is ``none`` has no part whatever its weight.
        pooling, max_length, segment_ids, dropout: as in ``PairEncoder``.
        seed: of the new layers.
        optimizer, scheduler: as in ``Recipe``.

    Raises:
        ValueError: an unknown option, two losses that are ``none``, or an encoder that is no transformer.

    Logged: ``train/loss``, ``train/sentence``, ``train/tokens``; the same of the validation items, and ``val/f1``,
    percent: F1 of equivalent and divergent at threshold 0, weighted by their numbers, where the finer one of two ranked
    pairs counts as equivalent. ``val/threshold`` is the one that would be best there; a checkpoint keeps it. Without a
    sentence loss there are neither, and ``xsent filter`` refuses the run.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662).
    """

    trains_on = DivergenceData

    def __init__(
        self,
        *,
        encoder: SentenceEncoder,
        sentence_loss: str,
        margin: float,
        token_loss: str,
        weights: Mapping[str, float],
        pooling: str,
        max_length: int,
        segment_ids: str,
        dropout: float,
        seed: int,
        optimizer: OptimizerFactory,
        scheduler: SchedulerFactory | None,
    ) -> None:
        check_weights(DivergenceTerms, weights)
        for option, value, known in [
            ("sentence_loss", sentence_loss, SENTENCE_LOSSES),
            ("token_loss", token_loss, (*AVERAGES, "none")),
        ]:
            if value not in known:
                raise ValueError(f"recipe.{option}={value}: expected one of {', '.join(known)}")
        if sentence_loss == token_loss:
            raise ValueError("recipe.sentence_loss=none recipe.token_loss=none leave nothing to train")
        if margin <= 0:
            raise ValueError(f"recipe.margin={margin}: expected a number above 0")
        super().__init__(optimizer=optimizer, scheduler=scheduler)
        self.sentence_loss = sentence_loss
        self.margin = margin
        self.token_loss = token_loss
        self.weights = weights
        self.judge = PairEncoder(
            base=encoder, pooling=pooling, max_length=max_length, segment_ids=segment_ids, dropout=dropout,
            tags_words=token_loss != "none", seed=seed,
        )  # fmt: skip
        self._seen: list[tuple[Tensor, Tensor]] = []  # scores and labels of validation

    @property
    def encoder(self) -> PairEncoder:
        """What is trained; a table's rows name it."""
        return self.judge

    def prepare(self, data: DivergenceData, store: EmbeddingStore) -> None:
        if (data.items == "pairs") != (self.sentence_loss != "cross_entropy"):
            expected = "contrastive or independent" if data.items == "pairs" else "pairs"
            raise ValueError(
                f"recipe.sentence_loss={self.sentence_loss} needs data.items={expected}, found data.items={data.items}"
                " (objective=divergence_ce and others set both)"
            )
        data.tokenize(self.judge)

    def trainable_parameters(self) -> list[torch.nn.Parameter]:
        unused = set()
        if self.token_loss == "none":
            unused = set(self.judge.token_head.parameters())
        return [parameter for parameter in super().trainable_parameters() if parameter not in unused]

    # ---- one step

    def training_step(self, batch: DivergenceBatch, batch_idx: int) -> Tensor:
        terms, _ = self._terms(batch)
        loss = weighted_sum(terms, self.weights)
        self.check_finite(loss, batch.pairs)
        self.log_terms("train", {"loss": loss, **terms._asdict()}, len(batch.pairs.row))
        self.count_batch()
        return loss

    def _terms(self, batch: DivergenceBatch) -> tuple[DivergenceTerms, Tensor]:
        """The terms, and the scores (N,)."""
        scores, token_logits = self.judge(batch.tokens)
        sentence = tokens = scores.new_zeros(())
        if self.sentence_loss == "margin":
            finer, coarser = scores.tensor_split(2)
            sentence = margin_ranking(finer, coarser, margin=self.margin)
        elif self.sentence_loss == "cross_entropy":
            sentence = equivalence_cross_entropy(scores, batch.divergent)
        if self.token_loss != "none":
            tokens = token_cross_entropy(token_logits, batch.token_labels, average=self.token_loss)
        return DivergenceTerms(sentence, tokens), scores

    @torch.no_grad()
    def validation_step(self, batch: DivergenceBatch, batch_idx: int) -> None:
        terms, scores = self._terms(batch)
        # The sentence's term is a mean of this rank's items, which may be more than another's; the tokens' is already
        # such that the mean over ranks is that of all.
        items = gather_uneven_rows(torch.full_like(scores[:1], len(batch.pairs.row)))  # (W,)
        sentence, tokens = (gather_uneven_rows(value[None]) for value in terms)
        terms = DivergenceTerms((sentence * items).sum() / items.sum(), tokens.mean())
        loss = weighted_sum(terms, self.weights)
        self.log_terms("val", {"loss": loss, **terms._asdict()}, int(items.sum()))
        self._seen.append((gather_uneven_rows(scores), gather_uneven_rows(batch.divergent)))

    def on_validation_epoch_end(self) -> None:
        if self.sentence_loss == "none":
            self._seen = []
            return  # the scores are those of a head that nobody trains
        scores, divergent = (torch.cat(column).cpu().numpy() for column in zip(*self._seen, strict=True))
        self._seen = []
        equivalent = divergent == 0
        threshold = calibrate(scores.astype(np.float64), equivalent).threshold
        self.judge.calibrate(threshold)
        self.log_dict({"val/f1": weighted(scores > 0, equivalent).f1, "val/threshold": threshold})

    # ---- evaluation

    @classmethod
    def check_evaluator(cls, evaluator: Evaluator) -> None:
        pairs_of(evaluator).pairs()  # cuts sentences into words: what that lacks is said now

    def evaluation(self, evaluator: Evaluator, *, sharded: bool) -> Evaluation:
        of_pairs = pairs_of(evaluator)
        pairs = of_pairs.pairs()
        judged = self._judged_by_all(pairs) if sharded else self.judge.judge(pairs, progress=True)
        return of_pairs.score_pairs(judged, threshold=self.judge.threshold)

    def _judged_by_all(self, pairs: Sequence[WordPair]) -> list[Judgement]:
        """As ``judge``, the work shared among the ranks; every pair once, all judgements on every rank."""
        if world_size() == 1:
            return self.judge.judge(pairs)
        mine = range(rank(), len(pairs), world_size())
        longest = max(len(pair.source) + len(pair.target) for pair in pairs)
        rows = np.zeros((len(mine), 1 + longest), dtype=np.float32)
        for row, one in zip(rows, self.judge.judge([pairs[number] for number in mine]), strict=True):
            row[0] = one.score
            if one.source is not None and one.target is not None:
                words = np.concatenate([one.source, one.target])
                row[1 : 1 + len(words)] = words
        index = torch.tensor(mine, device=self.device)
        found = gather_by_index(torch.from_numpy(rows).to(self.device), index, len(pairs)).cpu().numpy()
        return [self._unpacked(pair, row) for pair, row in zip(pairs, found, strict=True)]

    def _unpacked(self, pair: WordPair, row: NDArray[np.float32]) -> Judgement:
        if not self.judge.tags_words:
            return Judgement(float(row[0]), None, None)
        end = 1 + len(pair.source)
        return Judgement(float(row[0]), row[1:end], row[end : end + len(pair.target)])

    # ---- checkpoints

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        self.judge.load_state_dict({name.removeprefix(JUDGE): value for name, value in state_dict.items()})

    def trained_encoder(self, checkpoint: Mapping[str, Any]) -> PairEncoder:
        self.load_encoder(checkpoint["state_dict"])
        return self.judge.eval()

    def on_fit_start(self) -> None:
        super().on_fit_start()
        # A loaded encoder is in evaluation mode, and Lightning leaves it there: it would train without dropout.
        self.judge.train()
