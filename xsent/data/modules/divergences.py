"""Data module of synthetic divergences: split by seed, sampled as in Briakou and Carpuat 2020."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from xsent.batch import IGNORED, DivergenceBatch, PairFeatures, Pairs, PairTokens, WordPair
from xsent.data.modules.base import TrainingData
from xsent.data.readers.divergences import read_seed_groups
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.divergence_items import Items, SeedTable, check_options, items_of
from xsent.text.divergences.json_format import SEED, UNCHANGED, Divergence, to_json

log = logging.getLogger(__name__)


class PairTokenizer(Protocol):
    """Reads pairs for a judge."""

    def tokenize(self, pairs: Sequence[WordPair]) -> Sequence[Any]:
        """Input of each pair, with ``words`` (T,): the word of each token, source words first; -1 on special tokens."""
        ...

    def collate(self, pairs: Sequence[Any]) -> PairTokens | PairFeatures:
        """Pad tokenised pairs to a batch."""
        ...


@dataclass(kw_only=True, eq=False, repr=False)
class DivergenceData(TrainingData):
    """Data module over files of ``xsent diverge``, such as those of long and of short sentences.

    Options of ``sampling``: ``single``: each seed with its divergences of the kinds, usually one; ``balanced``: with
    one of its divergences, drawn at random; ``concatenation``: with all; ``ranking``: seed above lexical substitution
    above phrase replacement or subtree deletion.

    Options of ``items``: ``pairs``: a less and a more divergent version; ``contrastive``: seeds and their divergences,
    each an item; ``independent``: seeds, and as many divergences of each kind from seeds that are in no split.
    Differs from the released code: it draws from all seeds, so that most divergences are of the same seeds.

    With ``max_lines`` or ``max_pairs`` the splits shrink in proportion, to half of the seeds that a file then has.

    An item of ``pairs`` is two pairs of sentences in ``global_batch_size``.

    Source:
        Briakou and Carpuat 2020 (arXiv:2010.03662), sections 5 and 6.1; the three splits are the released code's.
    """

    description = "divergences of seed pairs"
    choice = "data=divergences data.root=divergences.jsonl"

    max_pairs: int | None  # maximum number of seeds of each file, the first; None is no cap
    root: str | Sequence[str]  # JSONL of seeds and their divergences (`xsent.text.divergences.json_format`), or several
    kinds: Sequence[str]  # divergences that are used
    sampling: str
    items: str
    train_seeds: int  # sizes of the splits of each file, in file order; seeds without a divergence are skipped
    valid_seeds: int
    test_seeds: int
    source_lang: InitVar[str]  # ISO 639-3
    target_lang: InitVar[str]
    num_workers: int = field()  # `field()`, since the default of the base class would hold
    records: list[Divergence] = field(init=False, default_factory=list)
    _spare: list[Divergence] = field(init=False, default_factory=list)  # seeds in no split
    _items: dict[str, Items] = field(init=False, default_factory=dict)  # by split
    _tokenizer: PairTokenizer | None = field(init=False, default=None)
    _ids: dict[int, Any] = field(init=False, default_factory=dict)  # by number of the record
    _labels: dict[int, NDArray[np.int64]] = field(init=False, default_factory=dict)

    def __post_init__(self, source_lang: str, target_lang: str) -> None:
        super().__post_init__()
        check_options(self.sampling, self.items, self.kinds)
        if min(self.train_seeds, self.valid_seeds) < 1 or self.test_seeds < 0:
            raise ValueError(
                f"data: {self.train_seeds} seeds to train on and {self.valid_seeds} to validate on: expected some"
            )
        self.sizes = {"train": self.train_seeds, "valid": self.valid_seeds, "test": self.test_seeds}
        self.language_codes = [source_lang, target_lang]

    # ---- reading

    def read(self) -> None:
        if self._items:
            return
        log.info("reading data=%s", self.name)
        files = self._read_files()
        # The splits of all files one after the other, then the seeds that are in no split.
        ends = [0, *accumulate(self.sizes.values())]
        parts = [[group for file in files for group in file[start:end]] for start, end in pairwise([*ends, None])]
        needed = len(files) * ends[-1]
        table = SeedTable([group for part in parts for group in part], self.kinds, seed=self.seed)
        items, start = {}, 0
        for split, size in zip(self.sizes, map(len, parts), strict=False):
            finer, coarser = table.pairs(range(start, start + size), self.sampling)
            if self.items == "independent" and split == "train":
                coarser = table.independent(coarser, needed, path=", ".join(self.paths))
            items[split] = items_of(finer, coarser, ranked=self.items == "pairs")
            start += size
        sizes = {split: len(items[split].record) for split in items}
        unit = f"items of data.kinds={','.join(self.kinds)}"
        self.check_split_sizes(
            sizes["train"], sizes["valid"], unit=unit, advice=f"raise data.valid_seeds={self.sizes['valid']}"
        )
        self.records, self._items = table.records, items
        if self.items != "independent":
            self._spare = [table.records[group[SEED]] for group in table.groups[needed:]]
        seeds = ", ".join(f"{len(part):,} {split}" for split, part in zip(self.sizes, parts, strict=False))
        kinds = ", ".join(f"{sum(kind in group for group in table.groups):,} {kind}" for kind in self.kinds)
        log.info(
            f"data={self.name}: {len(table.groups):,} seeds ({seeds}); {kinds}; {sizes['train']:,} items of"
            f" {self.items} to train on"
        )

    @property
    def paths(self) -> list[str]:
        return [self.root] if isinstance(self.root, str) else list(self.root)

    def _read_files(self) -> list[list[list[Divergence]]]:
        """Seeds with their divergences, by file; seeds that share a sentence with an earlier file are left out."""
        if not self.paths:
            raise ValueError("data.root=[]: expected a file of xsent diverge, or several")
        files: list[list[list[Divergence]]] = []
        sentences: set[tuple[str, ...]] = set()
        needed = sum(self.sizes.values())
        is_capped = self.max_lines is not None or self.max_pairs is not None
        for path in self.paths:
            # Split before data.kinds is applied: it changes what is trained on, not which seeds are held out.
            groups = [
                group
                for group in read_seed_groups(path, self.max_lines)
                if len(group) > 1 and sentences.isdisjoint((group[0].source, group[0].target))
            ][: self.max_pairs]
            if len(groups) < needed and not is_capped:
                options = ", ".join(f"data.{split}_seeds={size}" for split, size in self.sizes.items())
                raise ValueError(f"{path}: {len(groups)} seeds with a divergence; {options} need {needed}")
            files.append(groups)
            sentences.update(side for group in groups for side in (group[0].source, group[0].target))
        if is_capped:
            share = min(1.0, min(map(len, files)) / 2 / needed)
            self.sizes = {split: int(size * share) for split, size in self.sizes.items()}
        return files

    def digest(self) -> str:
        options = [*self.language_codes, *self.kinds, self.sampling, self.items, str(self.seed), str(self.sizes)]
        content = hashlib.sha256(" ".join(options).encode())
        for record in self.records:
            content.update(to_json(record).encode())
        return content.hexdigest()

    def labelled_records(self, split: str) -> list[tuple[Divergence, bool]]:
        """The records of a split's items, repeated as in the items, and whether each counts as equivalent.

        The less divergent record of a ranked item counts as equivalent, be it a seed or a lexical substitution. The
        released code does the same, which lowers its dev scores of divergence ranking.
        """
        items = self._items[split]
        judged = zip(items.record, items.divergent == 0, strict=True)
        finer = [(self.records[number], True) for number in items.finer]
        return finer + [(self.records[number], bool(equivalent)) for number, equivalent in judged]

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """No sentences: a cross-encoder has no sentence embeddings to plot."""
        return [], []

    # ---- batches

    def tokenize(self, tokenizer: PairTokenizer) -> None:
        """Prepare batches of a judge's inputs; every record of a training or validation item is read once."""
        self._tokenizer = tokenizer
        used = [column for split in ("train", "valid") for column in self._items[split][:2]]
        numbers = np.unique(np.concatenate(used)).tolist()
        pairs = [WordPair(self.records[number].source, self.records[number].target) for number in numbers]
        self._ids = dict(zip(numbers, tokenizer.tokenize(pairs), strict=True))
        self._labels = {number: _token_labels(self.records[number], ids) for number, ids in self._ids.items()}

    def inputs(self, split: str) -> list[Any]:
        """Inputs of the records of a split's items, each once, in file order."""
        numbers = np.unique(np.concatenate(self._items[split][:2]))
        return [self._ids[number] for number in numbers.tolist()]

    def spare_seeds(self) -> list[WordPair]:
        """Clean pairs that are in no split."""
        return [WordPair(record.source, record.target) for record in self._spare]

    def size(self, split: str) -> int:
        return len(self._items[split].record)

    def batches(self, split: str) -> Callable[[Rows, int], DivergenceBatch]:
        if self._tokenizer is None:
            raise RuntimeError("call tokenize() before asking for batches")
        return partial(self._batch, self._tokenizer, self._items[split])

    def _batch(self, tokenizer: PairTokenizer, items: Items, rows: Rows, epoch: int) -> DivergenceBatch:
        finer = items.finer[rows] if len(items.finer) else items.finer
        numbers = np.concatenate([finer, items.record[rows]])
        tokens = tokenizer.collate([self._ids[number] for number in numbers])
        divergent = torch.from_numpy(np.concatenate([np.zeros(len(finer), np.int64), items.divergent[rows]]))
        row = torch.from_numpy(rows)
        pairs = Pairs(row, row, torch.zeros_like(row), torch.ones_like(row))
        labels = torch.full_like(tokens.attention_mask, IGNORED)
        for number in torch.nonzero(divergent).flatten().tolist():  # the paper tags the more divergent of two pairs
            row_labels = self._labels[numbers[number]]
            labels[number, : len(row_labels)] = torch.from_numpy(row_labels)
        return DivergenceBatch(tokens, divergent, labels, pairs)


def _token_labels(record: Divergence, ids: Any) -> NDArray[np.int64]:
    """(T,) 1 if the token's word diverges; all ``IGNORED`` if truncation removed every divergent word."""
    words = np.array([label != UNCHANGED for label in (*record.source_labels, *record.target_labels)], dtype=np.int64)
    labels = np.where(ids.words >= 0, words[ids.words], IGNORED)
    # Tagging all words of a divergent pair as unchanged would be a false label.
    return labels if (labels == 1).any() else np.full_like(labels, IGNORED)
