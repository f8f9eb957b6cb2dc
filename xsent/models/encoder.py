"""What every encoder is: text to ids, ids to vectors, and a fast ``encode`` over many sentences."""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm import tqdm

from xsent.batch import Tokens

log = logging.getLogger(__name__)

# Sentences tokenised at a time: enough to keep all threads of a tokenizer busy, small enough for a live bar.
CHUNK = 8192


class Encoder(nn.Module, ABC):
    """Turns sentences into vectors.

    Attributes:
        name: for tables and messages.
        dim: size D of a vector.
        padding_id: what fills a batch of ids; never looked at.
        pads: whether a batch is padded and its activations grow with its tokens; one that does neither gains
            nothing from small batches.
        cpu_tokens, gpu_tokens: padded tokens in a batch, of ``encode`` and in training; they never change a result.
        max_length: ids after which a sentence is cut; None: it never is.
        frozen_modules: stay in evaluation mode whatever ``train`` says (``xsent.models.freezing``).
        empty_sentences: how many sentences of the last ``encode`` had no token; their vectors are 0.
        has_files: whether ``save`` can write the encoder.
    """

    name: str
    dim: int
    padding_id: int = 0
    pads: bool = True
    # What a batch computes should stay in a CPU's cache (tried: 1,024 tokens a sixth faster than 2,048, a
    # half faster than 4,096; in training an eighth and two fifths, and 512 the same) and fill a GPU.
    cpu_tokens: int = 1024
    gpu_tokens: int = 32_768
    empty_sentences: int = 0
    has_files: bool = False
    max_length: int | None = None
    frozen_modules: tuple[nn.Module, ...] = ()
    _said: tuple[int, int] | None = None

    @abstractmethod
    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, special tokens and truncation included; empty if it says nothing."""

    @abstractmethod
    def forward(self, tokens: Tokens) -> Tensor:
        """(B, T) tokens -> (B, D)."""

    @abstractmethod
    def tokenizer_digest(self) -> str:
        """Hex digest of everything that decides the ids."""

    @abstractmethod
    def settings(self) -> dict[str, object]:
        """What decides the vectors beside weights and tokenizer, as plain values."""

    def prepare(self, texts: Iterable[str]) -> None:
        """Learn from a sample of the training text what must be known before the first token."""

    def save(self, folder: Path) -> None:
        """Write the encoder where its ``load`` can read it.

        Raises:
            ValueError: encoders of this kind have no files of their own.
        """
        raise ValueError(f"{type(self).__name__} has no files of its own; a checkpoint keeps its weights")

    def cuts(self, sentences: Sequence[str]) -> NDArray[np.bool_]:
        """Whether ``tokenize`` leaves out the end of a sentence that is too long: (N,)."""
        is_cut = np.zeros(len(sentences), dtype=np.bool_)
        if self.max_length is None:
            return is_cut
        # Where something was left out, there are as many ids as there may be, or more if a word has several.
        lengths = {row: len(ids) for row, ids in enumerate(self.tokenize(sentences)) if len(ids) >= self.max_length}
        with self._cutting_nothing():
            whole = self.tokenize([sentences[row] for row in lengths])
        is_cut[list(lengths)] = [len(ids) > length for ids, length in zip(whole, lengths.values(), strict=True)]
        return is_cut

    @contextmanager
    def _cutting_nothing(self) -> Iterator[None]:
        before, self.max_length = self.max_length, sys.maxsize
        try:
            yield
        finally:
            self.max_length = before

    def collate(self, token_ids: Sequence[Sequence[int]]) -> Tokens:
        """Pad a batch of token ids on the right to the longest."""
        ids, lengths = _flatten(token_ids)
        return self._pad(torch.from_numpy(ids), torch.from_numpy(lengths))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Vectors (B, D) of sentences whose ids lie one after the other.

        Args:
            ids: (M,) int64 on the encoder's device.
            lengths: (B,) int64 of sum M, on the same device; none is 0.
        """
        vectors: Tensor = self(self._pad(ids, lengths))
        return vectors

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    @property
    def word_vectors(self) -> nn.Parameter:
        """The table of word or piece vectors, by default the only ``nn.Embedding`` of the encoder.

        Raises:
            ValueError: there is no such table, or more than one.
        """
        tables = [module for module in self.modules() if isinstance(module, nn.Embedding)]
        if len(tables) != 1:
            raise ValueError(f"encoder {self.name}: expected one table of word vectors, found {len(tables)}")
        return cast(nn.Parameter, tables[0].weight)

    @property
    def usual_tokens(self) -> int:
        """Padded tokens in a batch that suit the device."""
        return self.cpu_tokens if self.device.type == "cpu" else self.gpu_tokens

    def train(self, mode: bool = True) -> Self:
        """As every module's, except that frozen modules stay in evaluation mode: their dropout stays off."""
        super().train(mode)
        for module in self.frozen_modules:
            module.eval()
        return self

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Evaluation mode for a while; afterwards every module has the mode that it had before."""
        training = [module for module in self.modules() if module.training]
        self.eval()
        try:
            yield
        finally:
            # Module by module: a frozen part of a training encoder was in evaluation mode before, too.
            for module in training:
                module.training = True

    def digest(self) -> str:
        """Hex digest of weights, tokenizer and settings: what decides the vectors."""
        content = hashlib.sha256(self.tokenizer_digest().encode())
        content.update(json.dumps(self.settings(), sort_keys=True).encode())
        tensors = {name: value for name, value in self.state_dict().items() if isinstance(value, Tensor)}
        for part in tensor_bytes(tensors):
            content.update(part)
        return content.hexdigest()

    def encode(
        self,
        sentences: Sequence[str],
        *,
        token_budget: int | None = None,
        progress: bool = False,
        bfloat16: bool = False,
        out: Path | None = None,
    ) -> Tensor:
        """Vectors of the sentences, in their order.

        Args:
            sentences: N texts. One without a token gets the zero vector and is counted.
            token_budget: padded tokens in a batch, by default what suits the device; batches are made of
                sentences of similar length.
            progress: show a progress bar.
            bfloat16: compute with a copy of the weights in bfloat16; the result is float32 all the same.
            out: a ``.npy`` file to write the vectors to; the result then maps that file.

        Returns:
            (N, D) float32 on the CPU.

        Raises:
            FloatingPointError: a vector is not finite.
        """
        if isinstance(sentences, str):
            raise TypeError("encode expects a sequence of sentences, found one string")
        ids, lengths = self._tokenize_all(sentences, progress)
        # The longest first: a batch that does not fit fails at once, and the bar ends faster than it says.
        order = longest_first(lengths)
        ids, lengths = ids[places(lengths, order)], lengths[order]
        result = _Result(len(sentences), self.dim, out)
        bar = tqdm(total=len(order), desc=f"encoding with {self.name}", disable=not progress, unit=" texts")
        with bar, torch.inference_mode(), self.evaluating(), weights_in_bfloat16(self, wanted=bfloat16):
            device, first = self.device, 0
            for rows in batches(lengths, token_budget or self.usual_tokens):
                batch = ids[first : first + int(lengths[rows].sum())]
                first += len(batch)
                vectors = self.embed_ids(
                    torch.from_numpy(batch.astype(np.int64)).to(device),
                    torch.from_numpy(lengths[rows]).to(device),
                ).float()
                if not torch.isfinite(vectors.sum()):  # cheaper than to ask every number
                    raise FloatingPointError(
                        f"{self.name}: a vector is not finite, among sentences {order[rows][:8].tolist()} ..."
                    )
                result.vectors[order[rows]] = vectors.cpu().numpy()
                bar.update(len(vectors))
        self.empty_sentences = len(sentences) - len(order)
        counts = self.empty_sentences, len(sentences)
        if self.empty_sentences and counts != self._said:  # once, not after every epoch
            log.warning("%d of %d sentences have no token: their vectors are 0", *counts)
            self._said = counts
        return result.finish()

    def _pad(self, ids: Tensor, lengths: Tensor) -> Tokens:
        longest = int(lengths.max()) if len(lengths) else 0
        if len(ids) == longest * len(lengths):  # all of one length: nothing to pad
            input_ids = ids.view(len(lengths), longest)
            return Tokens(input_ids, torch.ones_like(input_ids))
        mask = torch.arange(longest, device=ids.device) < lengths[:, None]  # (B, T)
        input_ids = torch.full(mask.shape, self.padding_id, device=ids.device)
        input_ids[mask] = ids
        return Tokens(input_ids, mask.long())

    def _tokenize_all(self, sentences: Sequence[str], progress: bool) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        # Python's integers take 36 bytes each, so every chunk is packed at once.
        starts = range(0, len(sentences), CHUNK)
        quick = not progress or len(starts) < 2
        chunks = [
            _flatten(self.tokenize(sentences[start : start + CHUNK]), np.int32)
            for start in tqdm(starts, desc="tokenising", disable=quick, unit_scale=CHUNK, unit=" texts")
        ]
        empty = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
        ids, lengths = zip(*chunks, strict=True) if chunks else ((empty[0],), (empty[1],))
        return np.concatenate(ids), np.concatenate(lengths)


@contextmanager
def weights_in_bfloat16(module: nn.Module, *, wanted: bool) -> Iterator[None]:
    """Compute with a copy of the weights in bfloat16 for a while, if wanted."""
    # Weights only: buffers such as rotary frequencies have to stay exact.
    weights = [(p, p.data) for p in module.parameters() if wanted and p.is_floating_point()]
    try:
        for parameter, data in weights:
            parameter.data = data.to(torch.bfloat16)
        yield
    finally:
        for parameter, data in weights:
            parameter.data = data


class _Result:
    """Rows of zeros to fill, in memory or in a file."""

    def __init__(self, rows: int, dim: int, out: Path | None) -> None:
        self.vectors: NDArray[np.float32]
        if out is None or rows == 0:  # nothing can be mapped from a file without rows
            self.vectors = np.zeros((rows, dim), dtype=np.float32)
            if out is not None:
                out.parent.mkdir(parents=True, exist_ok=True)
                np.save(out, self.vectors)
        else:
            out.parent.mkdir(parents=True, exist_ok=True)
            self.vectors = np.lib.format.open_memmap(out, mode="w+", dtype=np.float32, shape=(rows, dim))

    def finish(self) -> Tensor:
        if isinstance(self.vectors, np.memmap):
            self.vectors.flush()
        return torch.from_numpy(self.vectors)


def _flatten(
    token_ids: Sequence[Sequence[int]], dtype: type[np.integer] = np.int64
) -> tuple[NDArray, NDArray[np.int64]]:  # type: ignore[type-arg]
    lengths = np.fromiter(map(len, token_ids), dtype=np.int64, count=len(token_ids))
    return np.fromiter(chain.from_iterable(token_ids), dtype=dtype, count=int(lengths.sum())), lengths


def longest_first(lengths: NDArray[np.int64]) -> NDArray[np.intp]:
    """Which sentences have a token, sorted by length; those of one length keep their order."""
    order = np.argsort(-lengths, kind="stable")
    return order[lengths[order] > 0]


def places(lengths: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.int64]:
    """Where the ids lie that follow one another once the sentences are in another order."""
    starts, taken = (np.cumsum(lengths) - lengths)[order], lengths[order]
    shift = starts - (np.cumsum(taken) - taken)  # from a place in the new row of ids to the old one
    return np.repeat(shift, taken) + np.arange(int(taken.sum()))


def batches(lengths: NDArray[np.int64], budget: int, at_once: int | None = None) -> Iterator[slice]:
    """Runs of sentences, longest first, whose padded size stays within ``budget``; at least one each.

    Args:
        lengths: of the sentences, in falling order.
        budget: padded tokens of a run.
        at_once: sentences of a run at most.
    """
    start = 0
    while start < len(lengths):
        most = max(1, budget // int(lengths[start]))
        stop = min(start + min(most, at_once or most), len(lengths))
        yield slice(start, stop)
        start = stop


def tensor_bytes(tensors: Mapping[str, Tensor]) -> Iterator[bytes | memoryview]:
    """For a digest: names, types, shapes and contents, by name."""
    for name, tensor in sorted(tensors.items()):
        yield f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode()
        yield tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
