"""Labelled sentence pairs as batches for a ranking loss, their held-out parts as sets to evaluate on."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from xsent.batch import Pairs, RankingBatch, Tokenizer
from xsent.data.batches import Batches
from xsent.data.hashes import mix, text_hashes
from xsent.data.heldout import sample_rows
from xsent.data.labelled import LabelledReader, LabelledRow
from xsent.data.labelled_pairs import (
    KindPairs,
    Numbered,
    check_kinds,
    check_rows,
    languages_of,
    number_rows,
    pairs_of,
    size_table,
    within,
)
from xsent.data.labelled_parts import check_shares, connected, read_parts
from xsent.data.ranking_examples import Examples, draw_partners, examples_of
from xsent.data.rejects import RejectLedger
from xsent.data.sampler import EvaluationSampler, Rows, WithEpoch, epoch_order
from xsent.data.token_store import TokenStore, tokenize_once
from xsent.data.training_data import TrainingData
from xsent.distributed import rank, world_size
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

LONELY = ("self", "drop")


class ParaphraseData(TrainingData):
    """Data module over labelled sentence pairs.

    An example is a pair of label 1. Its *own* hard negatives are partners of label 0 of its anchor. The validation
    loss is of the training languages alone, so that it chooses without the others.

    Args:
        name: for messages and metrics.
        root: file or folder that the reader reads.
        source: reader of the parts that have files.
        languages: to train on, in any code; None is all but ``zero_shot``.
        zero_shot: languages that are in the validation and test part and never trained on.
        kinds: which pairs are made of the rows, see ``pairs_of``.
        own_negatives: most partners that an anchor brings along, others in each epoch; 0 is none.
        lonely: a first sentence of label 0 that has no paraphrase is an anchor and its own positive (``self``,
            see ``examples_of``) or no anchor (``drop``).
        max_pairs: at most so many training examples, those of lowest hash; None is all.
        valid_share, test_share: of the training part, for a part that has no files, see ``read_parts``.
        global_batch_size: examples of a training step over all devices.
        seed: of the order of training and of the negatives drawn.
        strict: stop at the first unusable line instead of keeping a ledger.
        cache_dir: where token ids are kept.

    Attributes:
        languages: those trained on, ISO 639-3; the index is the label in ``Pairs``.
        texts: every distinct text of a training or validation batch; batches refer to them by number.
        text_group: (T,) int64 of the texts: those that share a row or an item, whatever its label, directly or
            through others. Where nothing but the group is known, one may say the same as the other.
        examples: by part, ``train`` and ``valid``.
        held_out: rows by part, ``valid`` and ``test``, with the languages of ``zero_shot``.
        batches_seen: training batches consumed in all epochs; the recipe keeps it up to date, the
            training loader starts there.
    """

    holds = "labelled pairs"

    def __init__(
        self,
        *,
        name: str,
        root: str,
        source: LabelledReader,
        languages: Sequence[str] | None,
        zero_shot: Sequence[str],
        kinds: Sequence[str],
        own_negatives: int,
        lonely: str,
        max_pairs: int | None,
        valid_share: float,
        test_share: float,
        global_batch_size: int,
        seed: int,
        strict: bool,
        cache_dir: str,
    ) -> None:
        super().__init__()
        check_kinds(kinds)
        check_shares(valid_share, test_share)
        if own_negatives < 0:
            raise ValueError(f"data.own_negatives={own_negatives}: expected 0 for none, or more")
        if lonely not in LONELY:
            raise ValueError(f"data.lonely={lonely}: expected one of {', '.join(LONELY)}")
        self.wanted = None if languages is None else {to_iso639_3(code) for code in languages}
        self.zero_shot = {to_iso639_3(code) for code in zero_shot}
        if max_pairs is not None and max_pairs < 1:
            raise ValueError(f"data.max_pairs={max_pairs}: expected a number of training examples, or null for all")
        if both := self.zero_shot & (self.wanted or set()):
            raise ValueError(f"data.zero_shot: {', '.join(sorted(both))} is in data.languages, too")
        self.name = name
        self.root = root
        self.source = source
        self.kinds = kinds
        self.own_negatives = own_negatives
        self.lonely = lonely
        self.max_pairs = max_pairs
        self.valid_share = valid_share
        self.test_share = test_share
        self.global_batch_size = global_batch_size
        self.seed = seed
        self.cache_dir = Path(cache_dir)
        self.ledger = RejectLedger(strict=strict)
        self.batches_seen = 0
        self.texts: list[str] = []
        self.languages: list[str] = []
        self.text_group = torch.zeros(0, dtype=torch.int64)
        self.examples: dict[str, Examples] = {}
        self.held_out: dict[str, list[LabelledRow]] = {}
        self._text_lang: Rows = np.zeros(0, dtype=np.int64)
        self._order: tuple[int, Rows] | None = None  # of one epoch
        self._tokens: TokenStore | None = None

    # ---- reading

    def read(self) -> None:
        """Read, split, make pairs and examples; a second call does nothing.

        Raises:
            FileNotFoundError: a file or folder is not there.
            ValueError: what the reader refuses; a language without pairs; no positive pair; a validation part with
                one label; a batch larger than the examples.
        """
        if self.examples:
            return
        log.info("reading data=%s", self.name)
        parts = read_parts(
            self.source,
            self.ledger,
            self.root,
            valid_share=self.valid_share,
            test_share=self.test_share,
            training=True,
        )
        trained = languages_of(parts["train"]) - self.zero_shot if self.wanted is None else self.wanted
        self._check_languages(parts, trained)
        held_out = {part: within(parts[part], trained | self.zero_shot) for part in ("valid", "test")}
        training = {part: within(parts[part], trained) for part in ("train", "valid")}
        check_rows({"train": training["train"], **held_out}, self.kinds)
        self.texts, self.languages, numbered = number_rows(training)
        pairs = {part: [one for kind in self.kinds for one in pairs_of(numbered[part], kind)] for part in training}
        self._check_labels(pairs)
        examples = self._make_examples(pairs)
        self._check_sizes(examples)
        self._number_groups(numbered)
        self._drop_unused(examples)
        self.held_out = held_out
        self._say_what_was_read(pairs["train"])

    def _make_examples(self, pairs: dict[str, list[KindPairs]]) -> dict[str, Examples]:
        hashes = {"texts": text_hashes(self.texts), "languages": text_hashes(self.languages)}
        # What has no paraphrase ranks nothing in validation, where no dropout tells its two vectors apart.
        train = examples_of(pairs["train"], lonely=self.lonely == "self", **hashes)
        valid = examples_of(pairs["valid"], lonely=False, **hashes)
        if self.max_pairs is not None:
            train = train.take(np.sort(np.argsort(train.key, kind="stable")[: self.max_pairs]))
        return {"train": train, "valid": valid}

    def _number_groups(self, numbered: dict[str, Numbered]) -> None:
        train, valid = numbered["train"], numbered["valid"]
        # Items of two parts have nothing to do with each other, even where their ids are equal.
        apart = np.where(valid.item < 0, -1, valid.item + train.item.max(initial=-1) + 1)
        source, target = np.concatenate([train.source, valid.source]), np.concatenate([train.target, valid.target])
        item = np.concatenate([train.item, apart])
        self.text_group = torch.from_numpy(connected(len(self.texts), source, target, item))
        self._text_lang = np.zeros(len(self.texts), dtype=np.int64)
        for rows in (valid, train):
            self._text_lang[rows.target], self._text_lang[rows.source] = rows.target_lang, rows.source_lang

    def _drop_unused(self, examples: dict[str, Examples]) -> None:
        kept = np.union1d(*(one.texts() for one in examples.values()))
        self.examples = {part: one.among(kept) for part, one in examples.items()}
        self.texts = [self.texts[old] for old in kept.tolist()]
        self.text_group, self._text_lang = self.text_group[torch.from_numpy(kept)], self._text_lang[kept]

    def digest(self) -> str:
        """Hex digest of examples, partners, groups of texts and held-out rows, whatever their order in the files."""
        content = hashlib.sha256(" ".join([*self.languages, *sorted(self.zero_shot), *self.kinds]).encode())
        hashes = text_hashes(self.texts)
        for examples in self.examples.values():
            partner, owner = examples.partners.of(np.arange(len(hashes)))
            content.update(np.sort(examples.key).tobytes())
            content.update(np.sort(mix(hashes[owner], hashes[partner])).tobytes())
        # The lowest hash names a group: its number depends on the order.
        group = self.text_group.numpy()
        lowest = np.full(group.max(initial=0) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(lowest, group, hashes)
        content.update(np.sort(mix(hashes, lowest[group])).tobytes())
        for part, rows in self.held_out.items():
            lines = sorted("\t".join(map(str, row[1:6])) for row in rows)
            content.update("\n".join([part, *lines]).encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def order_digest(self) -> str:
        """Hex digest of the texts, their groups and the examples in their order: what a number of each stands for.

        Data of one content may number it differently. Whoever kept numbers of texts or examples compares this digest
        before using them again.
        """
        content = hashlib.sha256(text_hashes(self.texts).tobytes())
        content.update(self.text_group.numpy().tobytes())
        for examples in self.examples.values():
            content.update(examples.key.tobytes())
        return content.hexdigest()

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct sentences of each language, those of lowest hash."""
        numbers = self.examples["train"].texts()
        order = numbers[np.argsort(text_hashes(self.texts)[numbers], kind="stable")]
        by_language = [order[self._text_lang[order] == lang][:per_language] for lang in range(len(self.languages))]
        return [self.texts[number] for numbers in by_language for number in numbers.tolist()]

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        """Distinct sentences of some held-out rows, both sides, and the language of each."""
        return sample_rows(self.held_out[split], languages=languages, per_language=per_language)

    # ---- batches

    def tokenize(self, tokenizer: Tokenizer) -> None:
        """Have token ids (``flat_tokens``); every text is tokenised once."""
        self._tokens = tokenize_once(self.texts, tokenizer, self.cache_dir)

    def flat_tokens(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Ids (M,) int64 of the texts (N,), one text after the other, and how many each has (N,) int64."""
        if self._tokens is None:
            raise RuntimeError("call tokenize() before asking for token ids")
        return self._tokens.flat(texts.cpu().numpy())

    @property
    def steps_per_epoch(self) -> int:
        """Training batches of an epoch."""
        return len(self.examples["train"].anchor) // self.global_batch_size

    def global_rows(self, position: int) -> Rows:
        """Examples, over all devices, of a training batch; its position is counted over all epochs."""
        epoch, batch = divmod(position, self.steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, epoch_order(self._strata, seed=self.seed, epoch=epoch, temperature=1)
        return self._order[1][batch * self.global_batch_size : (batch + 1) * self.global_batch_size]

    def ranking_batch(self, rows: Rows, epoch: int) -> RankingBatch:
        """Training examples as a batch; the epoch decides which of many own negatives they bring along."""
        return self._batch(self.examples["train"], rows, epoch)

    def check_mega_batch(self, mini_batches: int) -> None:
        """Raise ``ValueError`` when so many batches are more than there is to train on."""
        needed, there = mini_batches * self.global_batch_size, len(self.examples["train"].anchor)
        if needed > there:
            raise ValueError(
                f"data={self.name}: a mega-batch of recipe.mining.mini_batches={mini_batches} times"
                f" data.global_batch_size={self.global_batch_size}, {needed:,} examples, is larger than the"
                f" {there:,} training examples"
            )

    def train_dataloader(self) -> DataLoader[Any]:
        """Batches of the training part from ``batches_seen`` on, this rank's share of each."""
        sampler = self.train_sampler(self._strata, temperature=1)
        batches = Batches(len(self._strata), lambda rows_of: self.ranking_batch(*rows_of))
        return DataLoader(batches, sampler=WithEpoch(sampler), batch_size=None)

    def val_dataloader(self) -> DataLoader[Any]:
        """Batches of the validation part's positive pairs in order, this rank's share of each."""
        examples = self.examples["valid"]
        size = len(examples.anchor)
        sampler = EvaluationSampler(
            size, global_batch_size=self.global_batch_size, rank=rank(), world_size=world_size()
        )
        batches = Batches(size, lambda rows: self._batch(examples, rows, 0))
        return DataLoader(batches, sampler=sampler, batch_size=None)

    @property
    def _strata(self) -> Rows:
        return np.zeros(len(self.examples["train"].anchor), dtype=np.int64)

    def _batch(self, examples: Examples, rows: Rows, epoch: int) -> RankingBatch:
        anchor, positive = (torch.from_numpy(column[rows]) for column in (examples.anchor, examples.positive))
        negative, owner = draw_partners(examples, rows, most=self.own_negatives, seed=self.seed, epoch=epoch)
        pairs = Pairs(
            torch.from_numpy(np.asarray(rows)),
            self.text_group[anchor],
            torch.from_numpy(examples.source_lang[rows]),
            torch.from_numpy(examples.target_lang[rows]),
        )
        return RankingBatch(anchor, positive, torch.from_numpy(negative), torch.from_numpy(owner), pairs)

    # ---- checks and messages

    def _check_languages(self, parts: dict[str, list[LabelledRow]], trained: set[str]) -> None:
        if not parts["train"]:
            raise ValueError(f"data={self.name}: no usable pair to train on; {self.ledger.summary()}")
        needed = (
            ("languages", trained, "train"),
            ("languages", trained, "valid"),
            ("zero_shot", self.zero_shot, "valid"),
        )
        for option, wanted, part in needed:
            there = languages_of(parts[part])
            if missing := wanted - there:
                raise ValueError(
                    f"data={self.name}: data.{option} has {', '.join(sorted(missing))}, the {part} part has"
                    f" {', '.join(sorted(there)) or 'no pairs'}"
                )

    def _check_labels(self, pairs: dict[str, list[KindPairs]]) -> None:
        counts = {
            part: [sum(int((one.label == label).sum()) for one in of_part) for label in (1, 0)]
            for part, of_part in pairs.items()
        }
        positive, negative = counts["train"]
        if not positive:
            raise ValueError(
                f"data={self.name}: none of the {negative:,} training pairs of data.kinds=[{', '.join(self.kinds)}] in"
                f" {', '.join(self.languages)} has label 1: nothing says what a paraphrase is"
            )
        positive, negative = counts["valid"]
        if not (positive and negative):
            raise ValueError(
                f"data={self.name}: the valid part has {positive:,} pairs of label 1 and {negative:,} of label 0;"
                f" a threshold needs both (data.valid_share={self.valid_share}, where the part has no files)"
            )

    def _check_sizes(self, examples: dict[str, Examples]) -> None:
        sizes = {part: len(one.anchor) for part, one in examples.items()}
        if sizes["train"] < self.global_batch_size:
            raise ValueError(
                f"data={self.name}: a batch of data.global_batch_size={self.global_batch_size} examples is larger than"
                f" the {sizes['train']:,} training examples"
            )
        needed = 2 * world_size()
        if sizes["valid"] < needed:
            raise ValueError(
                f"data={self.name}: {sizes['valid']} positive pairs for validation, at least {needed} are needed"
            )

    def _say_what_was_read(self, train: list[KindPairs]) -> None:
        examples = self.examples["train"]
        equal = examples.anchor == examples.positive
        lonely = equal & ~examples.are_paraphrases(examples.anchor, examples.positive)
        sizes = torch.bincount(self.text_group)
        partners = examples.brought_along(self.own_negatives)
        log.info(
            "data=%s: %s training examples in %s (%s have no paraphrase and are their own positive, %s are pairs of"
            " equal texts); %s bring hard negatives of their own along, up to %s; %s texts in %s groups, the largest"
            " of %s; pairs of label 1 and 0:\n%s",
            self.name,
            f"{len(examples.anchor):,}",
            ", ".join(self.languages),
            f"{int(lonely.sum()):,}",
            f"{int((equal & ~lonely).sum()):,}",
            f"{int((partners > 0).sum()):,}",
            f"{int(partners.max(initial=0)):,}",
            f"{len(self.texts):,}",
            f"{int((sizes > 0).sum()):,}",
            f"{int(sizes.max()):,}",
            size_table({"train": train, **self._held_out_pairs()}, self.kinds),
        )

    def _held_out_pairs(self) -> dict[str, list[KindPairs]]:
        _, _, numbered = number_rows(self.held_out)
        return {part: [one for kind in self.kinds for one in pairs_of(rows, kind)] for part, rows in numbered.items()}
