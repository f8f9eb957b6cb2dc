"""Distillation job: a static encoder from any encoder's vectors of single pieces; a killed run continues."""

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from tqdm import tqdm

from xsent import __version__
from xsent.batch import Embedder
from xsent.config_checks import check_device, check_integer, check_positive
from xsent.data.readers.lines import valid_lines
from xsent.files.array_file import save_array
from xsent.files.atomic import atomic_folder
from xsent.jobs.checks import check_files, check_input
from xsent.jobs.export.export import check_targets
from xsent.jobs.work_folder import WorkFolder, open_work_folder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.static_embedding import StaticEmbeddingEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.static_distillation import (
    Pieces,
    count_frequencies,
    embed_pieces,
    piece_texts,
    principal_components,
    select_pieces,
    sif_weights,
    tokenizer_of,
    unnormalized,
    zipf_frequencies,
)
from xsent.similarity import check_finite, encoder_name

log = logging.getLogger(__name__)

KIND = "pieces"  # of the blocks, and name of their array


class DistillOptions(NamedTuple):
    """Settings of a distillation; ``conf/job/distill_static.yaml`` explains each."""

    dim: int
    sif: Mapping[str, float]
    max_length: int
    device: str
    block: int


class DistillSummary(NamedTuple):
    """Size and time of ``distill_static``."""

    output: Path
    encoder: str
    pieces: int  # with a vector
    dim: int
    variance: float  # share of the variance that the principal components keep
    seconds: float

    def __str__(self) -> str:
        """One line for the log."""
        return (
            f"{self.pieces:,} pieces of {self.encoder} in {self.dim} dimensions ({self.variance:.0%} of the variance)"
            f" in {self.seconds:.0f} s: {self.output}"
        )


def options_from(config: Mapping[str, Any]) -> DistillOptions:
    """The settings among the keys of ``conf/job/distill_static.yaml``.

    Raises:
        ValueError: a value of another type or out of range, or a device that cannot be used.
    """
    options = DistillOptions(**{name: config[name] for name in DistillOptions._fields})
    for name in ("dim", "max_length", "block"):
        check_integer(name, config[name], minimum=1)
    for source in ("rank", "text"):
        check_positive(f"sif.{source}", options.sif[source])
    check_device(options.device)
    return options


def distill_static(
    output: Path,
    *,
    load: Callable[[], Embedder],
    load_tokenizer: Callable[[], Tokenizer] | None,
    text: Path | None,
    options: DistillOptions,
    work_dir: Path | None,
    keep_work: bool,
) -> DistillSummary:
    """Write a static encoder, as ``StaticEncoder.load`` reads it, whose vectors come from another encoder.

    Args:
        output: new or empty folder; it appears when it is complete.
        load: returns the encoder; called after the output and the text have been checked.
        load_tokenizer: returns a tokenizer whose pieces are encoded as texts; None: the encoder's own, by id.
        text: sentences to count frequencies on, one per line; None: by the rank of a piece.
        work_dir: blocks of the unfinished job; None is ``<output>.work``.

    Raises:
        FileNotFoundError: no such text.
        FileExistsError: the output holds files.
        ValueError: the encoder has no vocabulary of pieces or is static already, ``dim`` exceeds its dimensions, or the
            work folder belongs to another job.
        OSError: the disk is full.
    """
    start = time.perf_counter()
    check_targets([output])
    work_dir = work_dir or output.with_name(f"{output.name}.work")
    sources = [] if text is None else [text]
    check_files(sources, [], work_dir=work_dir)
    for path in sources:
        check_input(path)
    embedder = load()
    if load_tokenizer is None and isinstance(embedder, StaticEncoder | StaticEmbeddingEncoder):
        raise ValueError(f"{embedder.name}: is static already: use it as it is, or give other pieces with --tokenizer")
    pieces = select_pieces(tokenizer_of(embedder) if load_tokenizer is None else load_tokenizer())
    dim = embedder.encode(["."]).size(1)
    if options.dim > dim:
        raise ValueError(f"dim={options.dim}: expected at most {dim}, the dimensions of {encoder_name(embedder)}")
    weights = _weights(pieces, text, options)
    digest = hashlib.sha256(pieces.tokenizer.to_str().encode()).hexdigest()
    # The last bits of a vector depend on the device.
    origin = {"encoder": embedder.digest(), "device": torch.device(options.device).type, "xsent": __version__}
    manifest = {**origin, "tokenizer": digest, "own": load_tokenizer is None, "block": options.block}
    work_dir.parent.mkdir(parents=True, exist_ok=True)
    with open_work_folder(work_dir, manifest, keep=keep_work) as work:
        vectors = _Job(work, embedder, pieces, by_id=load_tokenizer is None, block=options.block).vectors()
        rows = vectors.any(dim=1)  # a piece without a token of the encoder has no vector
        reduced = principal_components(vectors[rows], options.dim)
        table = torch.zeros(pieces.tokenizer.get_vocab_size(), options.dim)
        table[torch.tensor(pieces.ids)[rows]] = (reduced.vectors * weights[rows, None]).float()
        encoder = StaticEncoder.from_vectors(
            pieces.tokenizer, table, name=encoder_name(embedder), max_length=options.max_length
        )
        with atomic_folder(output) as folder:
            encoder.save(folder)
    seconds = time.perf_counter() - start
    return DistillSummary(output, encoder.name, int(rows.sum()), options.dim, reduced.variance, seconds)


def _weights(pieces: Pieces, text: Path | None, options: DistillOptions) -> Tensor:
    """SIF weight (N,) of each piece."""
    if text is None:
        return sif_weights(zipf_frequencies(len(pieces.ids)), options.sif["rank"])
    lines = tqdm(valid_lines(text, str(text), "every line is counted"), desc=f"counting {text}", unit=" lines", delay=2)
    try:
        frequencies = count_frequencies(pieces, lines)
    except ValueError as error:
        raise ValueError(str(error) if str(text) in str(error) else f"{text}: {error}") from None
    return sif_weights(frequencies, options.sif["text"])


@dataclass(frozen=True)
class _Job:
    """The blocks of vectors of the pieces."""

    work: WorkFolder
    embedder: Embedder
    pieces: Pieces
    by_id: bool  # whether the pieces are the encoder's own; else they are encoded as texts
    block: int

    def vectors(self) -> Tensor:
        """(N, D) float32; blocks that exist are read."""
        ids = self.pieces.ids
        texts = [] if self.by_id else piece_texts(self.pieces)

        def write(rows: slice, folder: Path) -> None:
            vectors = self._embed_texts(texts[rows]) if texts else self._embed_ids(ids[rows])
            check_finite(vectors, encoder_name(self.embedder))
            save_array(folder / f"{KIND}.npy", vectors.numpy())

        parts = []
        with tqdm(total=len(ids), desc="embedding pieces", unit=" pieces", delay=2) as bar:
            for number, start in enumerate(range(0, len(ids), self.block)):
                rows = slice(start, min(start + self.block, len(ids)))
                self.work.make(KIND, number, lambda folder, rows=rows: write(rows, folder))  # type: ignore[misc]
                parts.append(self.work.array(KIND, number, KIND))
                bar.update(rows.stop - rows.start)
        return torch.from_numpy(np.concatenate(parts))

    def _embed_ids(self, ids: list[int]) -> Tensor:
        assert isinstance(self.embedder, SentenceEncoder)
        return embed_pieces(self.embedder, ids)

    def _embed_texts(self, texts: list[str]) -> Tensor:
        with unnormalized(self.embedder):
            return self.embedder.encode(texts)
