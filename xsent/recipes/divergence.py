"""Divergent mBERT and its small sibling: a pair judge that ranks synthetic divergences and tags divergent words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent.batch import DivergenceBatch, Judgement, WordPair
from xsent.data.modules.divergences import DivergenceData
from xsent.data.stores.embeddings import EmbeddingStore
from xsent.distributed import gather_by_index, gather_uneven_rows, rank, world_size
from xsent.evaluation.divergence.metrics import calibrate, weighted
from xsent.evaluation.evaluator import Evaluation, Evaluator, as_pair_evaluator
from xsent.losses import check_weights, equivalence_cross_entropy, margin_ranking, token_cross_entropy, weighted_sum
from xsent.losses.divergence import AVERAGES
from xsent.models.encoders.base import Encoder
from xsent.models.pairs.alignment_judge import AlignmentJudge
from xsent.models.pairs.cross_encoder import PairEncoder
from xsent.models.pairs.trainable_judge import TrainableJudge
from xsent.recipes.base import Recipe
from xsent.recipes.encoder_folder import save_encoder

SENTENCE_LOSSES = ("margin", "margin_cross_entropy", "cross_entropy", "none")
JUDGE = "judge."  # begins the names of its weights in a checkpoint
JUDGES = {f"{judge.__module__}.{judge.__qualname__}": judge for judge in (AlignmentJudge, PairEncoder)}


class DivergenceTerms(NamedTuple):
    """Loss of the pairs and loss of their tokens."""

    sentence: Tensor
    tokens: Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class DivergenceRecipe(Recipe[DivergenceData]):
    """Trains a pair judge on synthetic divergences of clean pairs.

    Raises:
        ValueError: unknown option, both losses ``none``, or an encoder that the judge cannot use.

    Logged: ``train/loss``, ``train/sentence``, ``train/tokens``, the same for validation, and ``val/f1`` in percent: F1
    of equivalent and divergent pairs at threshold 0, weighted by their counts; of two ranked pairs the finer one counts
    as equivalent. ``val/threshold`` is the best threshold there; checkpoints store it. Without a sentence loss neither
    is logged, and ``xsent filter`` refuses the run.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662).
    """

    data_class = DivergenceData

    # The judge reads pairs with it; from then on the trained judge, which result tables name.
    encoder: Encoder | TrainableJudge
    judge: TrainableJudge  # given as a function of `base` and `tags_words`, which is called here
    # `margin`: rank a pair above a more divergent version of it; `cross_entropy`: equivalent or divergent, one pair at
    # a time; `margin_cross_entropy`: the sum of both; `none`: tag words alone.
    sentence_loss: str
    margin: float  # of `margin` and `margin_cross_entropy`, in units of the score
    token_loss: str  # `pairs` or `tokens` (`token_cross_entropy`); `none`: words are not tagged
    divergent_weight: float  # of a divergent word in the loss of the tokens; others have 1
    weights: Mapping[str, float]  # of `sentence` and `tokens`; a loss that is `none` is not computed
    _validated: list[tuple[Tensor, ...]] = field(init=False, default_factory=list)  # scores, labels, lengths

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(DivergenceTerms, self.weights)
        for option, value, choices in [
            ("sentence_loss", self.sentence_loss, SENTENCE_LOSSES),
            ("token_loss", self.token_loss, (*AVERAGES, "none")),
        ]:
            if value not in choices:
                raise ValueError(f"recipe.{option}={value}: expected one of {', '.join(choices)}")
        if self.sentence_loss == self.token_loss:
            raise ValueError("recipe.sentence_loss=none recipe.token_loss=none: nothing to train")
        for option in ("margin", "divergent_weight"):
            if getattr(self, option) <= 0:
                raise ValueError(f"recipe.{option}={getattr(self, option)}: expected a number above 0")
        base: Any = self._modules.pop("encoder", self.encoder)
        make: Any = vars(self).pop("judge")
        self.judge = make(base=base, tags_words=self.token_loss != "none")
        vars(self)["encoder"] = self.judge  # a second name of the submodule, which checkpoints hold once

    def prepare(self, data: DivergenceData, store: EmbeddingStore) -> None:
        if (data.items == "pairs") != (self.sentence_loss != "cross_entropy"):
            expected = "contrastive or independent" if data.items == "pairs" else "pairs"
            raise ValueError(
                f"recipe.sentence_loss={self.sentence_loss} needs data.items={expected}, found data.items={data.items}"
                " (a choice of recipe/divergence/objective sets both)"
            )
        data.tokenize(self.judge)
        self.judge.fit_inputs(data.inputs("train"))
        self.judge.keep_clean(data.spare_seeds())
        self.judge.languages = tuple(data.language_codes)

    def trainable_parameters(self) -> list[torch.nn.Parameter]:
        unused = self.judge.unused_weights()
        return [parameter for parameter in super().trainable_parameters() if parameter not in unused]

    # ---- one step

    def training_step(self, batch: DivergenceBatch, batch_idx: int) -> Tensor:
        terms, _ = self._terms(batch)
        return self.finish_step(weighted_sum(terms, self.weights), terms._asdict(), batch.pairs)

    def _terms(self, batch: DivergenceBatch) -> tuple[DivergenceTerms, Tensor]:
        """The terms, and the scores (N,)."""
        scores, token_logits = self.judge(batch.tokens)
        sentence = tokens = scores.new_zeros(())
        if self.sentence_loss.startswith("margin"):
            finer, coarser = scores.tensor_split(2)
            sentence = margin_ranking(finer, coarser, margin=self.margin)
        if self.sentence_loss.endswith("cross_entropy"):
            sentence = sentence + equivalence_cross_entropy(scores, batch.divergent)
        if self.token_loss != "none":
            tokens = token_cross_entropy(
                token_logits, batch.token_labels, average=self.token_loss, divergent_weight=self.divergent_weight
            )
        return DivergenceTerms(sentence, tokens), scores

    @torch.no_grad()
    def validation_step(self, batch: DivergenceBatch, batch_idx: int) -> None:
        terms, scores = self._terms(batch)
        # The sentence term is a mean over this rank's items, whose number may differ between ranks. The mean of the
        # token terms over ranks already is the global mean.
        items = gather_uneven_rows(torch.full_like(scores[:1], len(batch.pairs.row)))  # (W,)
        sentence, tokens = (gather_uneven_rows(value[None]) for value in terms)
        terms = DivergenceTerms((sentence * items).sum() / items.sum(), tokens.mean())
        loss = weighted_sum(terms, self.weights)
        self.log_terms("val", {"loss": loss, **terms._asdict()}, int(items.sum()))
        lengths = batch.tokens.attention_mask.sum(dim=1)
        self._validated.append(tuple(gather_uneven_rows(column) for column in (scores, batch.divergent, lengths)))

    def on_validation_epoch_end(self) -> None:
        if self.sentence_loss == "none":
            self._validated = []
            return  # the sentence head is not trained
        scores, divergent, lengths = (torch.cat(column).cpu().numpy() for column in zip(*self._validated, strict=True))
        self._validated = []
        equivalent = divergent == 0
        threshold = calibrate(scores.astype(np.float64), equivalent).threshold
        self.judge.calibrate(scores.astype(np.float64), equivalent, lengths, threshold)
        self.log_dict({"val/f1": weighted(scores > 0, equivalent).f1, "val/threshold": threshold})

    # ---- evaluation

    @classmethod
    def check_evaluator(cls, evaluator: Evaluator) -> None:
        as_pair_evaluator(evaluator).pairs()  # word segmentation fails now if something is missing

    def evaluation(self, evaluator: Evaluator, *, sharded: bool) -> Evaluation:
        pair_evaluator = as_pair_evaluator(evaluator)
        pairs = pair_evaluator.pairs()
        judgements = self._judge_sharded(pairs) if sharded else self.judge.judge(pairs, progress=True)
        return pair_evaluator.score_pairs(judgements, threshold=self.judge.threshold)

    def _judge_sharded(self, pairs: Sequence[WordPair]) -> list[Judgement]:
        """``judge`` with the work split over the ranks; every rank gets all judgements."""
        if world_size() == 1:
            return self.judge.judge(pairs)
        shard = range(rank(), len(pairs), world_size())
        longest = max(len(pair.source) + len(pair.target) for pair in pairs)
        rows = np.zeros((len(shard), 1 + longest), dtype=np.float32)
        for row, judgement in zip(rows, self.judge.judge([pairs[index] for index in shard]), strict=True):
            row[0] = judgement.score
            if judgement.source is not None and judgement.target is not None:
                words = np.concatenate([judgement.source, judgement.target])
                row[1 : 1 + len(words)] = words
        index = torch.tensor(shard, device=self.device)
        gathered = gather_by_index(torch.from_numpy(rows).to(self.device), index, len(pairs)).cpu().numpy()
        return [self._unpack(pair, row) for pair, row in zip(pairs, gathered, strict=True)]

    def _unpack(self, pair: WordPair, row: NDArray[np.float32]) -> Judgement:
        if not self.judge.tags_words:
            return Judgement(float(row[0]), None, None)
        end = 1 + len(pair.source)
        return Judgement(float(row[0]), row[1:end], row[end : end + len(pair.target)])

    # ---- checkpoints and files

    @property
    def can_save_encoder(self) -> bool:
        return isinstance(self.judge, AlignmentJudge)

    def save_encoder(self, folder: Path) -> None:
        """Write an alignment judge for ``load_judge`` and ``xsent filter --ckpt``; it names the frozen encoder."""
        if not isinstance(self.judge, AlignmentJudge):
            super().save_encoder(folder)
        else:
            save_encoder(self.judge, folder)

    def load_encoder(self, state_dict: Mapping[str, Any]) -> None:
        self.judge.load_state_dict(_judge_weights(state_dict))

    @classmethod
    def trained_model(cls, encoder: Encoder, checkpoint: Mapping[str, Any]) -> TrainableJudge:
        recipe = checkpoint["xsent"]["config"]["recipe"]
        options = {name: value for name, value in recipe["judge"].items() if name not in ("_target_", "_partial_")}
        make: Any = JUDGES[recipe["judge"]["_target_"]]
        weights = _judge_weights(checkpoint["state_dict"])
        make.check_size(options, weights)
        judge: TrainableJudge = make(base=encoder, tags_words=recipe["token_loss"] != "none", **options)
        judge.load_state_dict(weights)
        return judge.eval()

    def on_fit_start(self) -> None:
        super().on_fit_start()
        # Lightning keeps the mode of a loaded encoder, evaluation, which has no dropout.
        self.judge.train()


def _judge_weights(state_dict: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(JUDGE): value for name, value in state_dict.items()}
