"""Base class of pair judges that `recipe=divergence` trains."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from xsent.batch import Judgement, WordPair
from xsent.models.batching import hash_tensors, longest_first, run_batches
from xsent.models.encoders.base import CHUNK, DeclaredModule, Encoder, bfloat16_weights
from xsent.similarity import ADVICE

TAGS = 2  # EQ and DIV


class PairInput(Protocol):
    """A pair as input of a judge: T tokens or words."""

    @property
    def words(self) -> NDArray[np.int32]:
        """(T,) index of the word of each token, source words first; -1: none."""

    @property
    def truncated(self) -> bool: ...


class PairScores(NamedTuple):
    """Outputs of the two heads for N pairs of T tokens."""

    scores: Tensor  # (N,) float32, the logit F of *equivalent*
    token_logits: Tensor  # (N, T, 2) float32, of EQ and DIV; zeros on padding


class TrainableJudge(DeclaredModule):
    """Scores pairs with a head for the pair and one for each token or word.

    Subclasses read pairs (``tokenize``, ``collate``) and score them (``forward``).
    """

    name: str
    base: Encoder
    tags_words: bool  # whether the head for tokens is trained
    scores_are_logits: bool = True
    truncated_pairs: int = 0  # pairs of the last `judge` that were too long
    languages: tuple[str, ...] = ()  # ISO 639-3, of the training pairs; empty: not known
    calibrated: Tensor

    def __post_init__(self) -> None:
        self.name = self.base.name
        self.register_buffer("calibrated", torch.zeros(()))

    @abstractmethod
    def tokenize(self, pairs: Sequence[WordPair]) -> list[Any]:
        """Input of each pair (``PairInput``)."""

    @abstractmethod
    def collate(self, pairs: Sequence[Any]) -> Any:
        """Pad a batch of inputs on the right to the longest: a named tuple of tensors (N, T, ...)."""

    @abstractmethod
    def forward(self, tokens: Any) -> PairScores:
        """Score a batch."""

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @property
    @abstractmethod
    def token_budget(self) -> int:
        """Padded tokens in a batch."""

    @abstractmethod
    def settings(self) -> dict[str, object]:
        """What determines the scores besides the weights."""

    @classmethod
    def check_size(cls, options: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
        """Raise ``ValueError`` if a judge with these options has other sizes than the weights, before it is built."""

    def fit_inputs(self, pairs: Sequence[Any]) -> None:
        """Fit what is not trained, such as the scale of the inputs, to those of the training pairs."""

    def unused_weights(self) -> set[torch.nn.Parameter]:
        """Weights that do not determine the scores of pairs."""
        return set()

    @property
    def threshold(self) -> float:
        """A pair is equivalent if its score is above this."""
        return float(self.calibrated)

    def set_threshold(self, threshold: float) -> None:
        self.calibrated.fill_(threshold)

    def keep_clean(self, pairs: Sequence[WordPair]) -> None:
        """Receive more equivalent dev pairs for ``calibrate``."""

    def calibrate(
        self, scores: NDArray[np.float64], equivalent: NDArray[np.bool_], lengths: NDArray[np.int64], threshold: float
    ) -> None:
        """Learn from dev pairs which scores mean *equivalent*.

        Args:
            scores: (N,) of ``forward``.
            equivalent: (N,).
            lengths: (N,) tokens or words of each pair.
            threshold: the best one for these pairs, which is stored here.
        """
        self.set_threshold(threshold)

    def log_odds(self, scores: Tensor, tokens: Any) -> Tensor:
        """Scores (N,) of judgements, from those of ``forward``."""
        return scores

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False, bfloat16: bool = False) -> list[Judgement]:
        """Score every pair and tag its words.

        Args:
            pairs: N pairs of words.
            bfloat16: compute with a copy of the weights in bfloat16.

        Returns:
            N judgements. A word has the highest probability of its tokens; 0 if it has none (truncated, or unknown to
            the tokenizer).

        Raises:
            FloatingPointError: a score is not finite.
        """
        inputs = [row for start in range(0, len(pairs), CHUNK) for row in self.tokenize(pairs[start : start + CHUNK])]
        self.truncated_pairs = sum(pair.truncated for pair in inputs)
        lengths = np.array([len(pair.words) for pair in inputs], dtype=np.int64)
        order = longest_first(lengths)
        judgements: dict[int, Judgement] = {}
        bar = tqdm(total=len(pairs), desc=f"judging with {self.name}", disable=not progress, unit=" pairs", delay=2)
        was_training = self.training
        self.eval()
        with bar, torch.inference_mode(), bfloat16_weights(self, enabled=bfloat16):

            def judge(chunk: slice) -> None:
                rows = order[chunk]
                batch = self.collate([inputs[row] for row in rows])
                batch = type(batch)(*(field.to(self.device) for field in batch))
                outputs = self(batch)
                if not torch.isfinite(outputs.scores).all():
                    row = min(rows[~outputs.scores.isfinite().numpy(force=True)].tolist())
                    raise FloatingPointError(f"{self.name}: the score of pair {row}, from 0, is not finite; {ADVICE}")
                divergent = outputs.token_logits.softmax(dim=-1)[..., 1].cpu().numpy()  # (N, T)
                scores = self.log_odds(outputs.scores, batch).tolist()
                for row, score, tags in zip(rows.tolist(), scores, divergent, strict=True):
                    judgements[row] = self._judgement(pairs[row], inputs[row], score, tags)
                bar.update(len(rows))

            run_batches(judge, lengths[order], self.token_budget, name=self.name, rows=order)
        self.train(was_training)
        return [judgements[row] for row in range(len(pairs))]

    def _judgement(self, pair: WordPair, ids: PairInput, score: float, tags: NDArray[np.float32]) -> Judgement:
        if not self.tags_words:
            return Judgement(score, None, None)
        probabilities = np.zeros(len(pair.source) + len(pair.target), dtype=np.float32)
        is_word = ids.words >= 0
        np.maximum.at(probabilities, ids.words[is_word], tags[: len(ids.words)][is_word])
        return Judgement(score, probabilities[: len(pair.source)], probabilities[len(pair.source) :])

    def digest(self) -> str:
        """Hex digest of all that determines the judgements."""
        content = hashlib.sha256(json.dumps(self.settings(), sort_keys=True).encode())
        weights = {name: value for name, value in self.state_dict().items() if isinstance(value, Tensor)}
        hash_tensors(content, weights)
        return content.hexdigest()
