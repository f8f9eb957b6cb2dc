"""Bitext mining at size: neither text nor vectors need to fit in memory, and a killed run continues."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from xsent import __version__
from xsent.batch import Embedder
from xsent.evaluation.cells import Cells, arranged, nearest_cells, scan_cells, train_centroids
from xsent.evaluation.margin import best_neighbours, searched_neighbours
from xsent.evaluation.mining import MinedPairs, select_pairs
from xsent.evaluation.search import EXTRA, Candidates, Neighbours, merged, rescored, scan
from xsent.jobs.device import check_device
from xsent.jobs.engines import Engine
from xsent.jobs.options import MiningOptions
from xsent.jobs.output import check_output, write_pairs
from xsent.jobs.sentences import Sentences, read_sentences
from xsent.jobs.vectors import StoredVectors
from xsent.jobs.work import WorkFolder, check_room, opened, write_array
from xsent.paths import sha256
from xsent.similarity import unit

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
    """Write the pairs of two files, best first: score, line numbers from 1, and the two sentences.

    A line may be in one pair at most where the strategy is ``max`` or ``intersect``; of equal lines the first
    stands for all. A tab inside a sentence is written as a space.

    Args:
        source, target: a sentence a line, UTF-8, plain or ``.gz``.
        output: TSV with a header; there as a whole or not at all.
        load: gives the encoder; called in every process that encodes.
        space: passed to ``encode`` unless None.
        device: where the search computes.
        options: what is mined and how.
        engine: who does the shards.
        work_dir: where shards lie until the job is done; None is ``<output>.work``.
        keep_work: leave it afterwards.

    Returns:
        Number of pairs.

    Raises:
        FileNotFoundError: a file, or the folder of the output, is missing.
        ValueError: a file holds no sentence, or the work folder belongs to another job.
        OSError: the disk is full, or the output cannot be written.
    """
    start = time.perf_counter()
    check_output(output)
    check_device(device)
    digests = {side: _digest(path) for side, path in zip(SIDES, (source, target), strict=True)}
    if digests["source"] == digests["target"]:
        log.warning("%s and %s are the same text: every sentence will find itself", source, target)
    embedder = load()
    # The last bits of a vector are those of its device.
    made_by = {"encoder": embedder.digest(), "space": space, "device": torch.device(device).type, "xsent": __version__}
    manifest = {**digests, **made_by, **options.of_shards()}
    with opened(work_dir or output.with_name(f"{output.name}.work"), manifest) as work:
        sides = []
        for side, path in zip(SIDES, (source, target), strict=True):
            rejects = output.with_name(f"{output.name}.{side}.rejects.tsv")
            sides.append(read_sentences(path, work, side, rejects=rejects))
            log.info("%s: %s", path, sides[-1].counts())
        dim = encode_texts(embedder, ["."], space).size(1)
        job = MiningJob(work, load, embedder.digest(), space, device, len(sides[0]), len(sides[1]), dim, options)
        made = work.size() - sum(work.size(side) for side in SIDES)
        check_room(work.path, job.needed() - made)
        pairs = job.run(engine)
        write_pairs(output, pairs, *sides)
        if not keep_work:
            work.remove()
    log.info("%s pairs in %.0f s: %s", f"{len(pairs.scores):,}", time.perf_counter() - start, output)
    return len(pairs.scores)


def encode_texts(embedder: Embedder, texts: list[str], space: str | None) -> Tensor:
    """Vectors (N, D) float32 of the texts in a space, or in the only one there is."""
    encode: Any = embedder.encode
    vectors: Tensor = encode(texts) if space is None else encode(texts, space=space)
    return vectors.float()


@dataclass(frozen=True)
class MiningJob:
    """The shards between two files and their pairs; each can be made by any process that sees the folder.

    Attributes:
        work: holds the sentences already.
        load, encoder: the encoder, and its digest.
        space, device: as of ``mine_files``.
        sources, targets: M and N, distinct sentences.
        dim: D.
        options: as of ``mine_files``.
    """

    work: WorkFolder
    load: Callable[[], Embedder]
    encoder: str
    space: str | None
    device: str
    sources: int
    targets: int
    dim: int
    options: MiningOptions

    def run(self, engine: Engine) -> MinedPairs:
        """Make what is missing, step by step, and select the pairs."""
        self._say_how()
        encoding = {side: range(0, rows, self.options.shard) for side, rows in self._rows().items()}
        for side, shards in encoding.items():
            engine.run(partial(self.encode, side), range(len(shards)), f"encoding {side}")
        if not self.is_exact:
            self.work.make("centroids", 0, self._write_centroids)
            shards = range(len(encoding["target"]))
            engine.run(self.assign, shards, "finding cells")
            self.work.make("order", 0, self._write_order)
            engine.run(self.arrange, shards, "arranging by cell")
        engine.run(self.search, range(len(self._blocks)), "searching")
        engine.run(self.answer, range(0, -(-self.targets // self.options.block)), "searching back")
        return self._select()

    def needed(self) -> int:
        """Bytes of all shards, the text aside."""
        vectors = (self.sources + self.targets * (1 if self.is_exact else 2)) * self.dim * 4
        both = (self.sources + self.targets) * self._k * 16
        return vectors + both + len(self._blocks) * self.targets * (self._k + EXTRA) * 8

    @property
    def is_exact(self) -> bool:
        """Whether all pairs are looked at."""
        if self.options.search == "auto":
            return self.sources * self.targets <= self.options.exact_up_to
        return self.options.search == "exact"

    # ---- the steps; a number says which shard

    def encode(self, side: str, number: int) -> None:
        """Vectors of length one of some sentences, and which of these have no token."""

        def write(folder: Path) -> None:
            sentences = Sentences(self.work, side)
            first = number * self.options.shard
            texts = sentences.texts(first, first + self.options.shard)
            vectors = unit(encode_texts(_loaded(self.load, self.encoder), texts, self.space))
            _save(folder, vectors=vectors, empty=(vectors == 0).all(dim=1))

        self.work.make(f"{side}-vectors", number, write)

    def assign(self, number: int) -> None:
        """The cell of some targets."""

        def write(folder: Path) -> None:
            first = number * self.options.shard
            vectors = self._vectors("target")[first : first + self.options.shard].to(self.device)
            _save(folder, cell=nearest_cells(vectors, self._centroids(), 1).squeeze(1))

        self.work.make("target-cells", number, write)

    def arrange(self, number: int) -> None:
        """Some target vectors, in the order of their cells."""

        def write(folder: Path) -> None:
            first = number * self.options.shard
            rows = self._tensor("order", 0, "order", slice(first, first + self.options.shard))
            _save(folder, vectors=self._vectors("target")[rows])

        self.work.make("arranged-vectors", number, write)

    def search(self, number: int) -> None:
        """Neighbours of a block of sources, and what each target may find among them."""

        def write(folder: Path) -> None:
            first = self._blocks[number]
            x = self._vectors("source")[first : first + self.options.block].to(self.device)
            if self.is_exact:
                y = self._vectors("target")
                forward, backward = scan(x, y, min(self._k, self.targets), min(self._k, len(x)))
            else:
                forward, backward = scan_cells(x, self._cells(), self._k, probes=self.options.cells.probes)
            there = rescored(x.cpu(), self._vectors("target"), forward.rows.cpu(), min(self._k, self.targets))
            # Counted from the block's first row, so that half the bytes do.
            back_rows = backward.rows.to(torch.int32)
            _save(folder, scores=there.scores, rows=there.rows, back_scores=backward.scores, back_rows=back_rows)

        self.work.make("search", number, write)

    def answer(self, number: int) -> None:
        """Neighbours of a block of targets, from what all blocks of sources have for them."""

        def write(folder: Path) -> None:
            here = slice(number * self.options.block, (number + 1) * self.options.block)
            k = min(self._k, self.sources)
            found = self._back_candidates(0, here)
            for block in range(1, len(self._blocks)):
                found = merged([found, self._back_candidates(block, here)], k + EXTRA)
            back = rescored(self._vectors("target")[here], self._vectors("source"), found.rows, k)
            _save(folder, scores=back.scores, rows=back.rows)

        self.work.make("answer", number, write)

    def _write_centroids(self, folder: Path) -> None:
        options = self.options.cells
        cells = max(1, self.targets // options.size)
        rng = np.random.default_rng(options.seed)
        samples = []
        for side, rows in self._rows().items():
            wanted = min(rows, max(1, cells * options.sample // 2))
            samples.append(self._vectors(side)[torch.from_numpy(np.sort(rng.choice(rows, wanted, replace=False)))])
        sample = torch.cat(samples).to(self.device)
        cells = min(cells, len(sample))
        log.info("dividing the space into %s cells by a sample of %s sentences", f"{cells:,}", f"{len(sample):,}")
        _save(folder, centroids=train_centroids(sample, cells, iterations=options.iterations, seed=options.seed))

    def _write_order(self, folder: Path) -> None:
        shards = range(-(-self.targets // self.options.shard))
        cell = torch.cat([self._tensor("target-cells", number, "cell") for number in shards])
        order, starts = arranged(cell, len(self.work.array("centroids", 0, "centroids")))
        _save(folder, order=order, starts=starts)

    def _select(self) -> MinedPairs:
        there = self._neighbours("search", len(self._blocks))
        back = self._neighbours("answer", -(-self.targets // self.options.block))
        empty = [self._empty(side) for side in SIDES]
        for side, none, rows in zip(SIDES, empty, (self.sources, self.targets), strict=True):
            if none.any():
                log.warning("%s: the encoder knows nothing in %d of %d sentences: in no pair", side, none.sum(), rows)
        there = _without(there, empty[0], empty[1])
        back = _without(back, empty[1], empty[0])
        best = best_neighbours(there, back, margin=self.options.margin, k=self.options.k)
        # A sentence that found nothing has score -inf, which no threshold lets pass.
        threshold = float("-inf") if self.options.threshold is None else self.options.threshold
        return select_pairs(*best, strategy=self.options.strategy, threshold=threshold)

    # ---- what the steps read

    def _vectors(self, side: str) -> StoredVectors:
        return StoredVectors(self.work, f"{side}-vectors", self._rows()[side], self.options.shard)

    def _centroids(self) -> Tensor:
        return self._tensor("centroids", 0, "centroids").to(self.device)

    def _cells(self) -> Cells:
        starts, order = (self._tensor("order", 0, name) for name in ("starts", "order"))
        vectors = StoredVectors(self.work, "arranged-vectors", self.targets, self.options.shard)
        return Cells(self._centroids(), starts, order, vectors)

    def _back_candidates(self, block: int, rows: slice) -> Candidates:
        scores, index = (self._tensor("search", block, name, rows) for name in ("back_scores", "back_rows"))
        return Candidates(scores, torch.where(index < 0, -1, index.long() + self._blocks[block]))

    def _neighbours(self, kind: str, shards: int) -> Neighbours:
        return Neighbours(
            *(torch.cat([self._tensor(kind, n, name) for n in range(shards)]) for name in ("scores", "rows"))
        )

    def _empty(self, side: str) -> Tensor:
        shards = range(-(-self._rows()[side] // self.options.shard))
        return torch.cat([self._tensor(f"{side}-vectors", number, "empty") for number in shards])

    def _tensor(self, kind: str, number: int, name: str, rows: slice = slice(None)) -> Tensor:
        return torch.from_numpy(np.array(self.work.array(kind, number, name)[rows]))

    def _rows(self) -> dict[str, int]:
        return {"source": self.sources, "target": self.targets}

    @property
    def _k(self) -> int:
        return searched_neighbours(self.options.k)

    @property
    def _blocks(self) -> range:
        return range(0, self.sources, self.options.block)

    def _say_how(self) -> None:
        size = f"{self.sources:,} x {self.targets:,} sentences"
        if self.is_exact:
            log.info("exact search: all pairs of %s", size)
        else:
            cells = max(1, self.targets // self.options.cells.size)
            share = min(self.options.cells.probes, cells) / cells
            log.info(
                "approximate search in %s: %s cells, each source looks into %d (%.1f %% of them); scores are exact",
                size, f"{cells:,}", min(self.options.cells.probes, cells), 100 * share,
            )  # fmt: skip
        for side, pool in self._rows().items():
            if self.options.k > pool:
                log.warning("k=%d: the %s side has %d sentences, all are averaged", self.options.k, side, pool)


def _without(found: Neighbours, own: Tensor, other: Tensor) -> Neighbours:
    """The neighbours, less those of, or that are, sentences without a token: (M,) and (N,) bool."""
    gone = own[:, None] | other[found.rows.clamp(min=0)] | (found.rows < 0)
    return Neighbours(found.scores.masked_fill(gone, float("-inf")), found.rows.masked_fill(gone, -1))


_encoders: dict[str, Embedder] = {}


def _loaded(load: Callable[[], Embedder], digest: str) -> Embedder:
    """The encoder, loaded once in every process."""
    if digest not in _encoders:
        _encoders[digest] = load()
    return _encoders[digest]


def _save(folder: Path, **arrays: Tensor) -> None:
    for name, tensor in arrays.items():
        array: NDArray[np.generic] = tensor.numpy(force=True)
        write_array(folder / f"{name}.npy", [array], dtype=array.dtype, shape=array.shape)


def _digest(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(errno.ENOENT, "expected a text file, found none", str(path))
    if not path.stat().st_size:
        raise ValueError(f"{path}: expected a sentence a line, found an empty file")
    return sha256(path)
