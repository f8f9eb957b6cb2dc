"""Pair judge that reads how the words of both sides align: frozen word vectors, a small network on top."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from xsent.batch import Judgement, PairFeatures, WordPair
from xsent.files.strict_json import read_json_object
from xsent.models.alignment.encoder_aligner import choose_layer
from xsent.models.batching import batch_slices, longest_first
from xsent.models.encoders.base import Encoder
from xsent.models.pairs.alignment_features import FEATURES, alignment_features, embed_words
from xsent.models.pairs.calibration import Calibration, fit_calibration
from xsent.models.pairs.trainable_judge import TAGS, PairScores, TrainableJudge

WORD_BUDGET = 4096  # padded words of a side in a batch; measured: cosines of all words with all must fit a cache
CONFIG, WEIGHTS = "judge.json", "judge.safetensors"
OPTIONS = ("depth", "max_words", "hidden", "tags_words")  # that a saved judge is built with
LARGEST = 4.0  # standardised features are cut here
LOWEST_DEVIATION = 1e-3  # of a feature that is nearly constant
NO_WORDS = ("",)  # in place of an empty side
NO_WORD = np.array([-1])


class AlignedPair(NamedTuple):
    """Features of the words of a pair: S of the source, then T of the target; an empty side counts as one word."""

    features: Tensor  # (S + T, F) float32
    sizes: tuple[int, int]  # S and T
    words: NDArray[np.int32]  # (S + T,) index of the word, source words first; -1 in an empty side
    truncated: bool


@dataclass(kw_only=True, eq=False, repr=False)
class AlignmentJudge(TrainableJudge):
    """Bidirectional GRU over the alignment features of either side, with a head for the pair and one for each word.

    The encoder is frozen and no part of the weights. One GRU reads both sides; mean and maximum of its states on
    either side give the score of the pair.

    Raises:
        ValueError: the encoder has no word vectors, or an option is out of range.

    Source:
        The losses and heads are those of Briakou and Carpuat 2020 (arXiv:2010.03662), sections 3.3 and 3.4; reading
        alignments instead of subwords is ours.
    """

    base: Encoder  # provides the word vectors: a static encoder, or a transformer
    depth: float  # layer of a transformer's word vectors, as a share of its layers
    max_words: int  # of a side; the words behind are not read
    hidden: int  # units H of the GRU in either direction
    dropout: float  # before either head
    tags_words: bool  # whether the head for words is trained
    clean_divergent: float  # share of clean dev pairs of any length that are called divergent
    seed: int  # of the weights
    mean: Tensor = field(init=False)  # (F,) of the features, and their deviation
    deviation: Tensor = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["base"] = self._modules.pop("base")  # frozen: in no checkpoint and no optimizer
        self.name = f"alignment judge on {self.base.name}"
        self._clean: list[AlignedPair] = []
        self._layer = choose_layer(self.base, None, self.depth)
        if min(self.hidden, self.max_words) < 1:
            raise ValueError(f"recipe.judge: hidden={self.hidden}, max_words={self.max_words}: expected at least 1")
        size = 2 * self.hidden
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.reader = nn.Sequential(nn.Linear(len(FEATURES), self.hidden), nn.Tanh())
            self.gru = nn.GRU(self.hidden, self.hidden, batch_first=True, bidirectional=True)
            self.pair_head = nn.Sequential(
                nn.Linear(4 * size, self.hidden), nn.Tanh(), nn.Dropout(self.dropout), nn.Linear(self.hidden, 1)
            )
            self.token_head = nn.Linear(size, TAGS)
        self.drop = nn.Dropout(self.dropout)
        self.register_buffer("mean", torch.zeros(len(FEATURES)))
        self.register_buffer("deviation", torch.ones(len(FEATURES)))
        for name, value in Calibration.identity()._asdict().items():
            self.register_buffer(name, value)
        self.to(self.base.device)

    # ---- reading pairs

    def tokenize(self, pairs: Sequence[WordPair]) -> list[AlignedPair]:
        """Alignment features of pairs of words; the encoder computes them once, before training."""
        if not pairs:
            return []
        sides = [[pair[side][: self.max_words] or NO_WORDS for pair in pairs] for side in (0, 1)]
        table, rows = embed_words(self.base, [*sides[0], *sides[1]], layer=self._layer)
        sources, targets = rows[: len(pairs)], rows[len(pairs) :]
        longest = np.array([max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)], dtype=np.int64)
        order = longest_first(longest)
        features: dict[int, Tensor] = {}
        for batch in batch_slices(longest[order], WORD_BUDGET):
            numbers = order[batch].tolist()
            of_batch = alignment_features(table, [sources[n] for n in numbers], [targets[n] for n in numbers])
            features.update(zip(numbers, of_batch, strict=True))
        return [self._aligned(pair, features[number]) for number, pair in enumerate(pairs)]

    def _aligned(self, pair: WordPair, features: Tensor) -> AlignedPair:
        source, target = (min(len(side), self.max_words) for side in pair)
        words = np.concatenate(
            [np.arange(source) if source else NO_WORD, np.arange(target) + len(pair.source) if target else NO_WORD]
        )
        truncated = max(map(len, pair)) > self.max_words
        return AlignedPair(features, (max(source, 1), max(target, 1)), words.astype(np.int32), truncated)

    def collate(self, pairs: Sequence[AlignedPair]) -> PairFeatures:
        """Pad a batch on the right to the longest pair."""
        features = pad_sequence([pair.features for pair in pairs], batch_first=True)
        sources, targets = torch.tensor([pair.sizes for pair in pairs]).T[..., None]  # (N, 1) each
        position = torch.arange(features.size(1))
        mask = position < sources + targets  # (N, T)
        return PairFeatures(features, mask.long(), ((position >= sources) & mask).long())

    @classmethod
    def check_size(cls, options: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
        hidden, features = weights["reader.0.weight"].shape
        if (options["hidden"], len(FEATURES)) != (hidden, features):
            raise ValueError(
                f"hidden={options['hidden']} and {len(FEATURES)} features: its weights are for {hidden} and {features}"
            )

    def fit_inputs(self, pairs: Sequence[AlignedPair]) -> None:
        """Standardise the features by the mean and deviation over the words of the training pairs."""
        features = torch.cat([pair.features for pair in pairs]).double()
        self.mean.copy_(features.mean(dim=0))
        self.deviation.copy_(features.std(dim=0).clamp(min=LOWEST_DEVIATION))

    # ---- scoring

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False, bfloat16: bool = False) -> list[Judgement]:
        """As ``TrainableJudge.judge``, with one thread of the CPU.

        The matrices are small: a second thread makes it slower, and the tokenizer of ``xsent filter`` has a use for it.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return super().judge(pairs, progress=progress, bfloat16=bfloat16)
        finally:
            torch.set_num_threads(threads)

    def forward(self, tokens: PairFeatures) -> PairScores:
        mask = tokens.attention_mask.bool()  # (N, T)
        targets = tokens.segments.sum(dim=1)
        lengths = torch.stack([mask.sum(dim=1) - targets, targets], dim=1).flatten().cpu()  # (2N,) source, target, ...
        features = ((tokens.features[mask] - self.mean) / self.deviation).clamp(-LARGEST, LARGEST)  # (M, F)
        sides = pad_sequence(list(torch.split(self.reader(features), lengths.tolist())), batch_first=True)  # (2N, L, H)
        packed = pack_padded_sequence(sides, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)  # (2N, L, 2H)
        states = self.drop(states)
        padding = (torch.arange(states.size(1)) >= lengths[:, None]).to(states.device)[..., None]  # (2N, L, 1)
        mean = states.sum(dim=1) / lengths[:, None].to(states)  # padding is 0
        highest = states.masked_fill(padding, -torch.inf).amax(dim=1)
        pooled = torch.cat([mean, highest], dim=1).view(len(mask), -1)  # (N, 8H)
        logits = states.new_zeros(*mask.shape, TAGS)
        logits[mask] = self.token_head(states[~padding.squeeze(2)])
        return PairScores(self.pair_head(pooled).squeeze(1).float(), logits.float())

    @property
    def _calibration(self) -> Calibration:
        return Calibration(*(getattr(self, name) for name in Calibration._fields))

    def keep_clean(self, pairs: Sequence[WordPair]) -> None:
        self._clean = self.tokenize(pairs)

    def calibrate(
        self, scores: NDArray[np.float64], equivalent: NDArray[np.bool_], lengths: NDArray[np.int64], threshold: float
    ) -> None:
        """Learn the log odds of *equivalent* by score and length; the threshold of judgements stays 0."""
        clean, clean_lengths = self._clean_scores()
        fitted = fit_calibration(
            np.concatenate([scores, clean]),
            np.concatenate([equivalent, np.ones(len(clean), dtype=bool)]),
            np.concatenate([lengths, clean_lengths]),
            clean_divergent=self.clean_divergent,
        )
        for buffer, value in zip(self._calibration, fitted, strict=True):
            buffer.copy_(value)

    @torch.no_grad()
    def _clean_scores(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        lengths = np.array([len(pair.words) for pair in self._clean], dtype=np.int64)
        scores = np.zeros(len(lengths))
        order = longest_first(lengths)
        for rows in batch_slices(lengths[order], WORD_BUDGET):
            batch = self.collate([self._clean[row] for row in order[rows]])
            scores[order[rows]] = self(PairFeatures(*(column.to(self.device) for column in batch))).scores.cpu().numpy()
        return scores, lengths

    def log_odds(self, scores: Tensor, tokens: PairFeatures) -> Tensor:
        return self._calibration.log_odds(scores, tokens.attention_mask.sum(dim=1))

    def unused_weights(self) -> set[nn.Parameter]:
        return set() if self.tags_words else set(self.token_head.parameters())

    @property
    def device(self) -> torch.device:
        return self.mean.device

    @property
    def token_budget(self) -> int:
        return WORD_BUDGET

    def settings(self) -> dict[str, object]:
        options = {name: getattr(self, name) for name in ("max_words", "hidden", "tags_words")}
        return {
            "class": "AlignmentJudge",
            "pooling": "mean+max",
            "encoder": self.base.digest(),
            "layer": self._layer,
            **options,
        }

    # ---- what it was trained on

    def get_extra_state(self) -> dict[str, object]:
        """Digest of the frozen encoder, so that a checkpoint is used with its vectors alone, and the languages."""
        return {"encoder": self.base.digest(), "languages": list(self.languages)}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.languages = tuple(state["languages"])
        digest = self.base.digest()
        if state["encoder"] != digest:
            raise ValueError(
                f"the judge was trained on an encoder with digest {state['encoder'][:16]}, {self.base.name} has"
                f" {digest[:16]}: other weights, tokenizer, pooling, prompt or length"
            )

    # ---- files

    def save(self, folder: Path) -> None:
        """Write ``judge.json``, which names the encoder, and the weights; the encoder's own are not written."""
        options = {name: getattr(self, name) for name in OPTIONS}
        about = {"encoder": self.base.name, "options": options, "state": self.get_extra_state()}
        (folder / CONFIG).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        weights = {name: value for name, value in self.state_dict().items() if isinstance(value, Tensor)}
        (folder / WEIGHTS).write_bytes(save(weights))

    @classmethod
    def load(cls, folder: Path, load_encoder: Callable[[str], Any]) -> Self:
        """Read what ``save`` wrote.

        Args:
            load_encoder: gives the encoder of a name.

        Raises:
            FileNotFoundError: the folder lacks a file.
            ValueError: the files do not fit each other or the encoder.
        """
        config = read_json_object(folder / CONFIG)
        try:
            name, options, state = config["encoder"], config["options"], config["state"]
            weights = load_file(folder / WEIGHTS)
            cls.check_size(options, weights)
            judge = cls(base=load_encoder(name), seed=0, dropout=0.0, clean_divergent=0.0, **options)
            judge.load_state_dict({**weights, "_extra_state": state})
        except (AttributeError, LookupError, RuntimeError, TypeError, ValueError, SafetensorError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
            raise ValueError(f"{folder}: its files cannot be read as an alignment judge: {reason}") from None
        return judge.eval()
