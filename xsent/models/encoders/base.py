"""Base class of all encoders: tokenization, embedding, and fast batched ``encode``."""

import hashlib
import json
import logging
import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from xsent.batch import Tokens
from xsent.files.array_file import ArrayFile
from xsent.models.batching import flatten_ids, hash_tensors, longest_first, reordered_positions, run_batches
from xsent.models.encoders.embedder import EncodeOptions, SentenceEmbedder, check_dim
from xsent.similarity import check_finite

log = logging.getLogger(__name__)

# Sentences per tokenizer call: enough for all threads of a Rust tokenizer, small enough for a progress bar.
CHUNK = 8192


class DeclaredModule(nn.Module):
    """Base class of modules that declare their parts as fields of a dataclass."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        module = super().__new__(cls)
        # A module must be initialised before the generated ``__init__`` assigns its parts.
        nn.Module.__init__(module)
        return module


class Encoder(SentenceEmbedder, DeclaredModule):
    """Encodes sentences as vectors."""

    name: str
    dim: int  # size D of a sentence embedding
    normalize: bool  # whether vectors have length one
    # Ids after which a sentence is truncated; None: no limit. Dataclasses redefine it with `field()`: no default.
    max_length: int | None = None
    padding_id: int = 0  # fills up a batch of ids; its value never changes a result
    pads: bool = True  # whether batches are padded; if not, small batches save no memory
    # Padded tokens in a batch, in `encode` and in training; they never change a result. A batch should fit a CPU's
    # cache and fill a GPU. Measured on a CPU: 1,024 tokens are a sixth faster than 2,048 and a half faster than 4,096;
    # in training an eighth and two fifths faster, and as fast as 512.
    cpu_token_budget: int = 1024
    gpu_token_budget: int = 32_768
    can_save: bool = False  # whether `save` can write the encoder
    empty_sentences: int = 0  # how many sentences of the last `encode` had no token; their vectors are 0
    frozen_modules: tuple[nn.Module, ...] = ()  # stay in evaluation mode, see `xsent.models.freezing`
    _last_warning: tuple[int, int] | None = None

    @abstractmethod
    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, with special tokens, truncated; empty if the sentence has no content."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tensor:
        """(B, T) tokens -> (B, D)."""

    @abstractmethod
    def tokenizer_digest(self) -> str:
        """Hex digest of everything that determines the ids."""

    @abstractmethod
    def settings(self) -> dict[str, object]:
        """What determines the vectors besides weights and tokenizer, as plain values."""

    def fit_tokenizer(self, texts: Iterable[str]) -> None:
        """Train the tokenizer on a sample of the training text, if the encoder has one to train."""

    def save(self, folder: Path) -> None:
        """Write the encoder in the format that its ``load`` reads.

        Raises:
            ValueError: encoders of this class have no file format.
        """
        raise ValueError(f"{type(self).__name__} has no file format; a checkpoint keeps its weights")

    def truncate_dim(self, dim: int) -> None:
        check_dim(self.name, dim, self.dim)
        if dim < self.dim:
            self._truncate_dim(dim)
            self.dim = dim

    def _truncate_dim(self, dim: int) -> None:
        raise ValueError(f"{self.name}: the vectors of {type(self).__name__} cannot be truncated")

    def truncated(self, sentences: Sequence[str]) -> NDArray[np.bool_]:
        """Which sentences exceed ``max_length``: (N,) bool."""
        exceeds = np.zeros(len(sentences), dtype=np.bool_)
        if self.max_length is None:
            return exceeds
        # A truncated sentence has at least `max_length` ids (more where a word has several): tokenize only those again.
        lengths = {row: len(ids) for row, ids in enumerate(self.tokenize(sentences)) if len(ids) >= self.max_length}
        with self._without_truncation():
            full = self.tokenize([sentences[row] for row in lengths])
        exceeds[list(lengths)] = [len(ids) > length for ids, length in zip(full, lengths.values(), strict=True)]
        return exceeds

    @contextmanager
    def _without_truncation(self) -> Iterator[None]:
        limit, self.max_length = self.max_length, sys.maxsize
        try:
            yield
        finally:
            self.max_length = limit

    def collate(self, token_ids: Sequence[Sequence[int]]) -> Tokens:
        """Pad a batch of token ids on the right to the longest."""
        ids, lengths = flatten_ids(token_ids)
        return self._pad(torch.from_numpy(ids), torch.from_numpy(lengths))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Embed B sentences given as concatenated ids: (B, D).

        Args:
            ids: (M,) int64 on the encoder's device.
            lengths: (B,) int64 of sum M, on the same device; all positive.
        """
        embeddings: Tensor = self(self._pad(ids, lengths))
        return embeddings

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def word_vectors(self) -> nn.Parameter:
        """The table of word or piece vectors; by default the only ``nn.Embedding`` of the encoder.

        Raises:
            ValueError: there is no such table, or more than one.
        """
        tables = [module for module in self.modules() if isinstance(module, nn.Embedding)]
        if len(tables) != 1:
            raise ValueError(f"encoder {self.name}: expected one table of word vectors, found {len(tables)}")
        return cast(nn.Parameter, tables[0].weight)

    @property
    def token_budget(self) -> int:
        """Padded tokens in a batch on the encoder's device."""
        return self.cpu_token_budget if self.device.type == "cpu" else self.gpu_token_budget

    def train(self, mode: bool = True) -> Self:
        """Set the mode of all modules but frozen ones, which stay in evaluation mode (no dropout)."""
        super().train(mode)
        for module in self.frozen_modules:
            module.eval()
        return self

    @contextmanager
    def eval_mode(self) -> Iterator[None]:
        """Evaluation mode in a ``with`` block; restores each module's own mode afterwards."""
        training = [module for module in self.modules() if module.training]
        self.eval()
        try:
            yield
        finally:
            # Module by module, because frozen modules of a training encoder were in evaluation mode.
            for module in training:
                module.training = True

    def digest(self) -> str:
        """Hex digest of weights, tokenizer and settings: everything that determines the vectors."""
        content = hashlib.sha256(self.tokenizer_digest().encode())
        content.update(json.dumps(self.settings(), sort_keys=True).encode())
        hash_tensors(content, {name: value for name, value in self.state_dict().items() if isinstance(value, Tensor)})
        return content.hexdigest()

    def _networks(self) -> Sequence[nn.Module]:
        return [self]

    def _encode(self, sentences: Sequence[str], space: str, options: EncodeOptions) -> NDArray[Any] | ArrayFile:
        hidden = not options.show_progress
        ids, lengths = self._tokenize_all(sentences, hidden)
        # Longest first: a batch that exceeds the memory fails at once.
        order = longest_first(lengths)
        ids, lengths = ids[reordered_positions(lengths, order)], lengths[order]
        result = options.allocate(len(sentences), self.dim)
        bar = tqdm(total=len(order), desc=f"encoding with {self.name}", disable=hidden, unit=" texts")
        in_bfloat16 = bfloat16_weights(self, enabled=options.precision == "bfloat16")
        with bar, torch.inference_mode(), self.eval_mode(), in_bfloat16:
            device, ends = self.device, lengths.cumsum()

            def embed(rows: slice) -> None:
                batch = ids[ends[rows.start] - lengths[rows.start] : ends[rows.stop - 1]]
                embeddings = self.embed_ids(
                    torch.from_numpy(batch.astype(np.int64)).to(device), torch.from_numpy(lengths[rows]).to(device)
                ).float()
                check_finite(embeddings, self.name, texts=sentences, rows=order[rows])
                result[order[rows]] = options.finish(embeddings)
                bar.update(len(embeddings))

            run_batches(embed, lengths, self.token_budget, options.batch_size, name=self.name, rows=order)
        self.empty_sentences = len(sentences) - len(order)
        counts = self.empty_sentences, len(sentences)
        if self.empty_sentences and counts != self._last_warning:  # once, not after every epoch
            log.warning("%d of %d sentences have no token: their vectors are 0", *counts)
            self._last_warning = counts
        return result

    def _pad(self, ids: Tensor, lengths: Tensor) -> Tokens:
        longest = int(lengths.max()) if len(lengths) else 0
        if len(ids) == longest * len(lengths):  # equal lengths: nothing to pad
            input_ids = ids.view(len(lengths), longest)
            return Tokens(input_ids, torch.ones_like(input_ids))
        mask = torch.arange(longest, device=ids.device) < lengths[:, None]  # (B, T)
        input_ids = torch.full(mask.shape, self.padding_id, device=ids.device)
        input_ids[mask] = ids
        return Tokens(input_ids, mask.long())

    def _tokenize_all(self, sentences: Sequence[str], hidden: bool) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if not len(sentences):
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
        # Each chunk is packed at once: Python integers take 36 bytes each.
        starts = range(0, len(sentences), CHUNK)
        ids, lengths = [], []
        for start in tqdm(starts, "tokenizing", disable=hidden or len(starts) < 2, unit_scale=CHUNK, unit=" texts"):
            chunk = sentences[start : start + CHUNK]
            for row, text in enumerate(chunk, start=start):
                if not isinstance(text, str):
                    raise TypeError(f"sentence {row}: expected a string, found {type(text).__name__} {text!r}")
            chunk_ids, chunk_lengths = flatten_ids(self.tokenize(chunk), np.int32)
            ids.append(chunk_ids)
            lengths.append(chunk_lengths)
        return np.concatenate(ids), np.concatenate(lengths)


@contextmanager
def bfloat16_weights(module: nn.Module, *, enabled: bool) -> Iterator[None]:
    """Compute with a copy of the weights in bfloat16 in a ``with`` block, if enabled."""
    # Parameters only: buffers such as rotary frequencies must stay exact.
    weights = [(p, p.data) for p in module.parameters() if enabled and p.is_floating_point()]
    try:
        for parameter, data in weights:
            parameter.data = data.to(torch.bfloat16)
        yield
    finally:
        for parameter, data in weights:
            parameter.data = data
