"""Bitext mining job: text and embeddings need not fit in memory, and a killed run continues."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from xsent import __version__
from xsent.batch import Embedder
from xsent.config_checks import check_device
from xsent.data.stores.array_cache import Layout
from xsent.evaluation.search.exact import EXTRA, Candidates, Neighbours, collect_candidates, merge_candidates, rescore
from xsent.evaluation.search.ivf import (
    InvertedFile,
    collect_ivf_candidates,
    nearest_cells,
    sort_by_cell,
    train_centroids,
)
from xsent.evaluation.search.margin import best_neighbours, search_width
from xsent.evaluation.search.mining import MinedPairs, select_pairs
from xsent.files.array_file import save_array
from xsent.files.atomic import atomic_write
from xsent.jobs.checks import check_files, check_free_space, check_input
from xsent.jobs.mining.engines import Engine
from xsent.jobs.mining.sentences import Sentences, read_sentences
from xsent.jobs.mining.settings import MiningOptions
from xsent.jobs.mining.vectors import StoredVectors
from xsent.jobs.work_folder import WorkFolder, open_work_folder
from xsent.paths import sha256
from xsent.similarity import NotFiniteError, check_finite, encoder_name, unit

log = logging.getLogger(__name__)

SIDES = ("source", "target")


def mine_files(
    source: Path,
    target: Path,
    output: Path,
    *,
    load: Callable[[], Embedder],
    space: str | None,
    device: str,
    options: MiningOptions,
    engine: Engine,
    work_dir: Path | None,
    keep_work: bool,
) -> int:
    """Mine the translation pairs of two files and write them, best first.

    With the strategies ``max`` and ``intersect`` a line is in at most one pair. Of equal lines only the first is used.

    Args:
        source, target: sentences, one per line, UTF-8, plain or ``.gz``.
        output: TSV with a header: score, line numbers from 1, and the two sentences; written atomically.
        load: returns the encoder; called in every process that encodes.
        device: where the search computes.
        work_dir: shards of the unfinished job; None is ``<output>.work``.

    Returns:
        Number of pairs.

    Raises:
        FileNotFoundError: a file, or the folder of the output, is missing.
        ValueError: a file has no sentence, an output is an input, or the work folder belongs to another job.
        OSError: the disk is full, or the output cannot be written.
    """
    start = time.perf_counter()
    work_dir = work_dir or output.with_name(f"{output.name}.work")
    rejects = {side: output.with_name(f"{output.name}.{side}.rejects.tsv") for side in SIDES}
    check_files([source, target], [output, *rejects.values()], work_dir=work_dir)
    check_device(device)
    digests = {side: _digest(path) for side, path in zip(SIDES, (source, target), strict=True)}
    if digests["source"] == digests["target"]:
        log.warning("%s and %s are the same text: every sentence is its own nearest neighbour", source, target)
    embedder = load()
    # The last bits of an embedding depend on the device.
    origin = {"encoder": embedder.digest(), "space": space, "device": torch.device(device).type, "xsent": __version__}
    manifest = {**digests, **origin, **options.shard_settings()}
    with open_work_folder(work_dir, manifest, keep=keep_work) as work:
        sides = []
        for side, path in zip(SIDES, (source, target), strict=True):
            sides.append(read_sentences(path, work, side, rejects=rejects[side]))
            log.info("%s: %s", path, sides[-1].counts())
        dim = encode_texts(embedder, ["."], space).size(1)
        rows = {side: len(sentences) for side, sentences in zip(SIDES, sides, strict=True)}
        job = MiningJob(work, load, embedder.digest(), space, device, rows, dim, options)
        done_bytes = work.size() - sum(work.size(side) for side in SIDES)
        check_free_space(work.path, job.total_bytes() - done_bytes)
        pairs = job.run(engine)
        write_pairs(output, pairs, *sides)
    log.info("%s pairs in %.0f s: %s", f"{len(pairs.scores):,}", time.perf_counter() - start, output)
    return len(pairs.scores)


def encode_texts(embedder: Embedder, texts: list[str], space: str | None) -> Tensor:
    """Embeddings (N, D) float32 of the texts; ``space`` is None for an encoder that has only one."""
    encode: Any = embedder.encode
    vectors: Tensor = encode(texts) if space is None else encode(texts, space=space)
    check_finite(vectors, encoder_name(embedder), texts=texts)
    return vectors.float()


@dataclass(frozen=True)
class MiningJob:
    """The shards between two files and their pairs; any process that sees the work folder can make a shard."""

    work: WorkFolder  # has the sentences already
    load: Callable[[], Embedder]
    encoder: str  # its digest
    space: str | None
    device: str
    rows: Mapping[str, int]  # by side, number of distinct sentences: M sources, N targets
    dim: int  # D
    options: MiningOptions

    def run(self, engine: Engine) -> MinedPairs:
        """Make the missing shards and select the pairs."""
        self._log_method()
        for side in SIDES:
            encode = partial(self._make, f"{side}-vectors", partial(self.encode, side))
            engine(encode, self._shards(side), f"encoding {side}")
        if not self.is_exact:
            self.work.make("centroids", 0, self._write_centroids, layout=self._layout("centroids", 0))
            engine(partial(self._make, "target-cells", self.assign), self._shards("target"), "finding cells")
            self.work.make("order", 0, self._write_order, layout=self._layout("order", 0))
            engine(partial(self._make, "arranged-vectors", self.arrange), self._shards("target"), "arranging by cell")
        engine(partial(self._make, "search", self.search), self._blocks("source"), "searching")
        engine(partial(self._make, "answer", self.answer), self._blocks("target"), "searching back")
        return self._select()

    def _make(self, kind: str, write: Callable[[int, Path], None], number: int) -> None:
        self.work.make(kind, number, partial(write, number), layout=self._layout(kind, number))

    def _layout(self, kind: str, number: int) -> Layout:
        """Types and shapes of the arrays of a shard."""
        side = "source" if kind in ("source-vectors", "search") else "target"
        per_shard = self._block(number) if kind in ("search", "answer") else self._shard(number)
        rows, size = len(range(self.rows[side])[per_shard]), self.rows["target"]
        vectors: Layout = {"vectors": (np.float32, (rows, self.dim))}
        neighbours: Layout = {"scores": (np.float64, (rows, None)), "rows": (np.int64, (rows, None))}
        layouts: dict[str, Layout] = {
            "source-vectors": {**vectors, "empty": (np.bool_, (rows,))},
            "target-vectors": {**vectors, "empty": (np.bool_, (rows,))},
            "arranged-vectors": vectors,
            "centroids": {"centroids": (np.float32, (None, self.dim))},
            "target-cells": {"cell": (np.int64, (rows,))},
            "order": {"order": (np.int64, (size,)), "starts": (np.int64, (None,))},
            "search": {**neighbours, "back_scores": (np.float32, (size, None)), "back_rows": (np.int32, (size, None))},
            "answer": neighbours,
        }
        return layouts[kind]

    def total_bytes(self) -> int:
        """Size of all shards without the text."""
        sources, targets = self.rows["source"], self.rows["target"]
        vectors = (sources + targets * (1 if self.is_exact else 2)) * self.dim * 4
        neighbours = (sources + targets) * self._k * 16
        return vectors + neighbours + len(self._blocks("source")) * targets * (self._k + EXTRA) * 8

    @property
    def is_exact(self) -> bool:
        """Whether all pairs are compared."""
        if self.options.search_method == "auto":
            return self.rows["source"] * self.rows["target"] <= self.options.exact_up_to
        return self.options.search_method == "exact"

    # ---- the steps: each writes the arrays of shard ``number`` to ``folder``

    def encode(self, side: str, number: int, folder: Path) -> None:
        """Encode a shard of sentences to unit vectors, and mark those without a known token."""
        rows = self._shard(number)
        sentences = Sentences(self.work, side)
        texts = sentences.texts(rows.start, rows.stop)
        if self.encoder not in _encoders:
            _encoders[self.encoder] = self.load()
        try:
            vectors = unit(encode_texts(_encoders[self.encoder], texts, self.space))
        except NotFiniteError as error:
            line = sentences.line_numbers()[rows.start + error.row]
            raise error.at(f"{side}, line {line}") from None
        _save(folder, vectors=vectors, empty=(vectors == 0).all(dim=1))

    def assign(self, number: int, folder: Path) -> None:
        """Assign a shard of targets to cells."""
        vectors = self._vectors("target")[self._shard(number)].to(self.device)
        _save(folder, cell=nearest_cells(vectors, self._centroids(), 1).squeeze(1))

    def arrange(self, number: int, folder: Path) -> None:
        """Sort a shard of target vectors by cell."""
        rows = self._tensor("order", 0, "order", self._shard(number))
        _save(folder, vectors=self._vectors("target")[rows])

    def search(self, number: int, folder: Path) -> None:
        """Find the neighbours of a block of sources, and the candidates of each target among them."""
        sources, targets = self._vectors("source")[self._block(number)], self._vectors("target")
        check_finite(sources, "search")
        queries = sources.to(self.device)
        k = min(self._k, len(targets))
        if self.is_exact:
            forward, backward = collect_candidates(queries, targets, k, min(self._k, len(sources)))
        else:
            probes = self.options.ivf.probes
            forward, backward = collect_ivf_candidates(queries, self._inverted_file(), self._k, probes=probes)
        neighbours = rescore(sources, targets, forward.rows.cpu(), k)
        # Relative to the first row of the block, so that int32 is enough.
        back_rows = backward.rows.to(torch.int32)
        _save(folder, **neighbours._asdict(), back_scores=backward.scores, back_rows=back_rows)

    def answer(self, number: int, folder: Path) -> None:
        """Find the neighbours of a block of targets among the candidates of all blocks of sources."""
        rows = self._block(number)
        k = min(self._k, self.rows["source"])
        candidates = self._back_candidates(0, rows)
        for block in self._blocks("source")[1:]:
            candidates = merge_candidates([candidates, self._back_candidates(block, rows)], k + EXTRA)
        neighbours = rescore(self._vectors("target")[rows], self._vectors("source"), candidates.rows, k)
        _save(folder, **neighbours._asdict())

    def _write_centroids(self, folder: Path) -> None:
        options = self.options.ivf
        cells = max(1, self.rows["target"] // options.cell_size)
        rng = np.random.default_rng(options.seed)
        samples = []
        for side, rows in self.rows.items():
            size = min(rows, max(1, cells * options.sample // 2))
            samples.append(self._vectors(side)[torch.from_numpy(np.sort(rng.choice(rows, size, replace=False)))])
        sample = torch.cat(samples).to(self.device)
        cells = min(cells, len(sample))
        log.info("k-means: %s cells from a sample of %s sentences", f"{cells:,}", f"{len(sample):,}")
        _save(folder, centroids=train_centroids(sample, cells, iterations=options.iterations, seed=options.seed))

    def _write_order(self, folder: Path) -> None:
        cell = torch.cat([self._tensor("target-cells", number, "cell") for number in self._shards("target")])
        order, starts = sort_by_cell(cell, len(self.work.array("centroids", 0, "centroids")))
        _save(folder, order=order, starts=starts)

    def _select(self) -> MinedPairs:
        forward, backward = self._neighbours("search", "source"), self._neighbours("answer", "target")
        empty = {}
        for side in SIDES:
            masks = [self._tensor(f"{side}-vectors", number, "empty") for number in self._shards(side)]
            empty[side] = mask = torch.cat(masks)
            if mask.any():
                log.warning(
                    "%s: the encoder knows no token of %d of %d sentences: in no pair", side, mask.sum(), len(mask)
                )
        forward = _drop_empty(forward, empty["source"], empty["target"])
        backward = _drop_empty(backward, empty["target"], empty["source"])
        best = best_neighbours(forward, backward, margin=self.options.margin, k=self.options.k)
        # A sentence without neighbours has score -inf, which is never above the threshold.
        threshold = float("-inf") if self.options.threshold is None else self.options.threshold
        return select_pairs(*best, strategy=self.options.strategy, threshold=threshold)

    # ---- inputs of the steps

    def _vectors(self, side: str) -> StoredVectors:
        return StoredVectors(self.work, f"{side}-vectors", self.rows[side], self.options.shard)

    def _centroids(self) -> Tensor:
        return self._tensor("centroids", 0, "centroids").to(self.device)

    def _inverted_file(self) -> InvertedFile:
        starts, order = (self._tensor("order", 0, name) for name in ("starts", "order"))
        vectors = StoredVectors(self.work, "arranged-vectors", self.rows["target"], self.options.shard)
        return InvertedFile(self._centroids(), starts, order, vectors)

    def _back_candidates(self, block: int, rows: slice) -> Candidates:
        scores, index = (self._tensor("search", block, name, rows) for name in ("back_scores", "back_rows"))
        return Candidates(scores, torch.where(index < 0, -1, index.long() + self._block(block).start))

    def _neighbours(self, kind: str, side: str) -> Neighbours:
        blocks = self._blocks(side)
        return Neighbours(*(torch.cat([self._tensor(kind, n, name) for n in blocks]) for name in ("scores", "rows")))

    def _tensor(self, kind: str, number: int, name: str, rows: slice = slice(None)) -> Tensor:
        return torch.from_numpy(np.array(self.work.array(kind, number, name)[rows]))

    @property
    def _k(self) -> int:
        return search_width(self.options.k)

    def _shards(self, side: str) -> range:
        return range(-(-self.rows[side] // self.options.shard))

    def _blocks(self, side: str) -> range:
        return range(-(-self.rows[side] // self.options.block))

    def _shard(self, number: int) -> slice:
        return slice(number * self.options.shard, (number + 1) * self.options.shard)

    def _block(self, number: int) -> slice:
        return slice(number * self.options.block, (number + 1) * self.options.block)

    def _log_method(self) -> None:
        size = f"{self.rows['source']:,} x {self.rows['target']:,} sentences"
        if self.is_exact:
            log.info("exact search: all pairs of %s", size)
        else:
            cells = max(1, self.rows["target"] // self.options.ivf.cell_size)
            probes = min(self.options.ivf.probes, cells)
            message = "approximate search in %s: %s cells, each source searches %d (%.1f %% of them); scores are exact"
            log.info(message, size, f"{cells:,}", probes, 100 * probes / cells)
        for side, pool in self.rows.items():
            if self.options.k > pool:
                log.warning("k=%d: the %s side has %d sentences, all of them are averaged", self.options.k, side, pool)


def _drop_empty(neighbours: Neighbours, queries_empty: Tensor, pool_empty: Tensor) -> Neighbours:
    """Remove neighbours where the query (M,) or the neighbour (N,) has no known token."""
    dropped = queries_empty[:, None] | pool_empty[neighbours.rows.clamp(min=0)] | (neighbours.rows < 0)
    return Neighbours(neighbours.scores.masked_fill(dropped, float("-inf")), neighbours.rows.masked_fill(dropped, -1))


_encoders: dict[str, Embedder] = {}  # by digest, of this process


def _save(folder: Path, **arrays: Tensor) -> None:
    for name, tensor in arrays.items():
        save_array(folder / f"{name}.npy", tensor.numpy(force=True))


def write_pairs(output: Path, pairs: MinedPairs, source: Sentences, target: Sentences) -> None:
    """Write the pairs as TSV; a tab inside a sentence becomes a space."""
    lines = source.line_numbers(), target.line_numbers()
    with atomic_write(output) as out:
        out.write("score\tsource_line\ttarget_line\tsource\ttarget\n")
        for score, i, j in zip(*(column.tolist() for column in pairs), strict=True):
            texts = (text.replace("\t", " ") for text in (source[i], target[j]))
            out.write("\t".join([f"{score:.6f}", str(lines[0][i]), str(lines[1][j]), *texts]) + "\n")


def _digest(path: Path) -> str:
    check_input(path)
    if not path.stat().st_size:
        raise ValueError(f"{path}: expected one sentence per line, found an empty file")
    return sha256(path)
