"""Data module of labelled sentence pairs: batches for a ranking loss, and held-out rows for evaluators."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from xsent.batch import LabelledBatch, Pairs, RankingBatch, Tokenizer
from xsent.config_checks import check_choice
from xsent.data.modules.base import TrainingData
from xsent.data.readers.labelled import LabelledReader, LabelledRow
from xsent.data.readers.table_columns import ColumnNames
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import text_hashes
from xsent.data.sampling.labelled_splits import check_shares, read_parts
from xsent.data.sampling.pair_examples import PairExamples
from xsent.data.sampling.pair_kinds import TRAIN_KINDS, check_kinds, languages_of, training_kinds
from xsent.data.sampling.paraphrase_corpus import FORMS, AnyExamples, ParaphraseCorpus, build_corpus
from xsent.data.sampling.ranking_examples import Examples, draw_negatives
from xsent.data.stores.tokens import TokenStore, tokenize_once
from xsent.languages import parse_language, to_iso639_3

log = logging.getLogger(__name__)

UNPAIRED = ("self", "drop")


@dataclass(kw_only=True, eq=False, repr=False)
class ParaphraseData(TrainingData):
    """Data module over labelled sentence pairs.

    In the form ``ranking`` an example is a pair of label 1; its own hard negatives are the texts that have label 0 with
    its anchor. In the form ``pairs`` it is a pair of either label. The validation loss uses the training languages
    alone, so model selection does not see the zero-shot languages.
    """

    description = "labelled pairs"
    choice = "data=labelled data.root=pairs.csv"

    root: str  # file or folder that the reader reads
    source: LabelledReader  # reader of the parts that have files
    languages: Sequence[str] | None  # to train on, in any code; None is all except `zero_shot`
    zero_shot: Sequence[str]  # languages of the validation and test part that are not trained on
    kinds: Sequence[str]  # which pairs are made of the rows, see `pairs_of`
    train_kinds: str  # of them, those to train on: `rows`, `labelled` or `all`, see `training_kinds`
    form: str  # of an example: `ranking` (anchor, positive, negatives) or `pairs` (two texts and their label)
    own_negatives: int  # maximum number of own negatives per anchor, drawn anew in each epoch; 0 is none
    # A first sentence of label 0 without a paraphrase becomes an anchor that is its own positive (`self`, see
    # `build_examples`) or is left out (`drop`).
    unpaired: str
    max_pairs: int | None  # maximum number of training examples, those of lowest hash; None is no cap
    valid_share: float  # of the training part, for a part that has no files, see `read_parts`
    test_share: float
    strict: bool = field()  # `field()`, since the default of the base class would hold
    cache_dir: str  # folder of the token ids
    # Distinct texts of training and validation batches; batches refer to them by number.
    texts: list[str] = field(init=False, default_factory=list)
    # (T,) int64 of the texts: those that share a row or an item, whatever its label, directly or through others. Texts
    # of one group may mean the same.
    text_group: Tensor = field(init=False, default_factory=lambda: torch.zeros(0, dtype=torch.int64))
    examples: dict[str, AnyExamples] = field(init=False, default_factory=dict)  # by part, `train` and `valid`
    # Rows by part, `valid` and `test`, with the zero-shot languages.
    held_out: dict[str, list[LabelledRow]] = field(init=False, default_factory=dict)
    _corpus: ParaphraseCorpus = field(init=False)
    _order: tuple[int, Rows] | None = field(init=False, default=None)  # of one epoch
    _tokens: TokenStore | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kinds(self.kinds)
        check_choice("data.train_kinds", self.train_kinds, tuple(TRAIN_KINDS))
        self._train_kinds = training_kinds(self.kinds, self.train_kinds)
        check_shares(self.valid_share, self.test_share)
        check_choice("data.form", self.form, FORMS)
        if self.form == "pairs" and (self.own_negatives or self.unpaired != "drop"):
            raise ValueError(
                f"data.form=pairs has no anchors with data.own_negatives={self.own_negatives} or"
                f" data.unpaired={self.unpaired}: use data.own_negatives=0 data.unpaired=drop, or data.form=ranking"
            )
        if self.own_negatives < 0:
            raise ValueError(f"data.own_negatives={self.own_negatives}: expected 0 for none, or more")
        if self.unpaired not in UNPAIRED:
            raise ValueError(f"data.unpaired={self.unpaired}: expected one of {', '.join(UNPAIRED)}")
        if self.max_pairs is not None and self.max_pairs < 1:
            raise ValueError(
                f"data.max_pairs={self.max_pairs}: expected a number of training examples, or null for all"
            )
        self.requested = (
            None if self.languages is None else {parse_language("data.languages", code) for code in self.languages}
        )
        self.zero_shot_codes = {parse_language("data.zero_shot", code) for code in self.zero_shot}
        if both := self.zero_shot_codes & (self.requested or set()):
            raise ValueError(f"data.zero_shot: {', '.join(sorted(both))} is in data.languages, too")

    # ---- reading

    def read(self) -> None:
        if self.examples:
            return
        log.info("reading data=%s", self.name)
        shares = {"valid_share": self.valid_share, "test_share": self.test_share}
        parts = read_parts(self.source, self.ledger, self.root, training=True, **shares)
        trained = self.requested
        if trained is None:
            trained = languages_of(parts["train"]) - self.zero_shot_codes
        self._check_languages(parts, trained)
        try:
            corpus = build_corpus(
                parts,
                trained=trained,
                zero_shot=self.zero_shot_codes,
                kinds=self.kinds,
                train_kinds=self._train_kinds,
                form=self.form,
                unpaired=self.unpaired == "self",
                max_pairs=self.max_pairs,
            )
        except ValueError as error:
            raise ValueError(f"data={self.name}: {error}") from None
        train, valid = (corpus.examples[part].size for part in ("train", "valid"))
        self.check_split_sizes(train, valid, unit="examples", advice=f"raise data.valid_share={self.valid_share}")
        self._corpus = corpus
        self.texts, self.language_codes = corpus.texts, corpus.languages
        self.examples, self.held_out = corpus.examples, corpus.held_out
        self.text_group = torch.from_numpy(corpus.text_group)
        self._log_sizes()

    def digest(self) -> str:
        options = hashlib.sha256(" ".join([*self.language_codes, *sorted(self.zero_shot_codes), *self.kinds]).encode())
        return hashlib.sha256(f"{options.hexdigest()} {self._corpus.digest()}".encode()).hexdigest()

    def order_digest(self) -> str:
        """Hex digest of the numbering of texts and examples; compare it before using stored numbers again."""
        return self._corpus.order_digest()

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct training sentences of each language, those of lowest hash."""
        return self._corpus.training_sentences(per_language)

    def sample_sentences(
        self, split: str, *, languages: Sequence[str] | None, per_language: int
    ) -> tuple[list[str], list[str]]:
        rows = self.held_out[split]
        selected = sorted(languages_of(rows))[:8] if languages is None else [to_iso639_3(code) for code in languages]
        # Sorted by a hash of the item, so that all languages have the same items if they have them at all.
        order = np.argsort(text_hashes(row.item or row.source for row in rows), kind="stable")
        rows_of: dict[str, list[LabelledRow]] = {language: [] for language in selected}
        for number in order.tolist():
            rows_of.get(rows[number].source_lang, []).append(rows[number])
        language_of: dict[str, str] = {}
        for row in (row for language in selected for row in rows_of[language][:per_language]):
            language_of.setdefault(row.source, row.source_lang)
            language_of.setdefault(row.target, row.target_lang)
        return list(language_of), list(language_of.values())

    # ---- batches

    def tokenize(self, tokenizer: Tokenizer) -> None:
        """Prepare token ids (``flat_tokens``); every text is tokenised once."""
        self._tokens = tokenize_once(self.texts, tokenizer, Path(self.cache_dir))

    def flat_tokens(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Ids (M,) int64 of the texts (N,), one text after the other, and their lengths (N,) int64."""
        if self._tokens is None:
            raise RuntimeError("call tokenize() before asking for token ids")
        return self._tokens.flat(texts.cpu().numpy())

    def size(self, split: str) -> int:
        return self.examples[split].size

    def global_rows(self, position: int) -> Rows:
        """Examples, over all devices, of the training batch at a position counted over all epochs."""
        epoch, batch = divmod(position, self.steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = epoch, self.epoch_order(epoch)
        return self._order[1][batch * self.global_batch_size : (batch + 1) * self.global_batch_size]

    def ranking_batch(self, rows: Rows, epoch: int) -> RankingBatch:
        """Training examples of the form ``ranking`` as a batch; their own negatives are drawn for the epoch."""
        examples = self.examples["train"]
        assert isinstance(examples, Examples)
        return self._ranking_batch(examples, rows, epoch)

    def check_mega_batch(self, mini_batches: int) -> None:
        """Raise ``ValueError`` if a mega-batch is larger than the training part."""
        needed = mini_batches * self.global_batch_size
        if needed > self.size("train"):
            raise ValueError(
                f"data={self.name}: a mega-batch of recipe.mining.mini_batches={mini_batches} times"
                f" data.global_batch_size={self.global_batch_size}, {needed:,} examples, is larger than the"
                f" {self.size('train'):,} training examples; recipe.mining.mini_batches="
                f"{max(1, self.size('train') // self.global_batch_size)} fits"
            )

    def batches(self, split: str) -> Callable[[Rows, int], RankingBatch | LabelledBatch]:
        examples = self.examples[split]
        if isinstance(examples, Examples):
            return partial(self._ranking_batch, examples)
        return partial(self._labelled_batch, examples)

    def _ranking_batch(self, examples: Examples, rows: Rows, epoch: int) -> RankingBatch:
        anchor, positive = (torch.from_numpy(column[rows]) for column in (examples.anchor, examples.positive))
        negative, owner = draw_negatives(examples, rows, limit=self.own_negatives, seed=self.seed, epoch=epoch)
        pairs = self._pairs(examples, anchor, rows)
        return RankingBatch(anchor, positive, torch.from_numpy(negative), torch.from_numpy(owner), pairs)

    def _labelled_batch(self, examples: PairExamples, rows: Rows, epoch: int) -> LabelledBatch:
        columns = (examples.source, examples.target, examples.label)
        source, target, label = (torch.from_numpy(column[rows]) for column in columns)
        return LabelledBatch(source, target, label, self._pairs(examples, source, rows))

    def _pairs(self, examples: AnyExamples, first: Tensor, rows: Rows) -> Pairs:
        langs = (torch.from_numpy(column[rows]) for column in (examples.source_lang, examples.target_lang))
        return Pairs(torch.from_numpy(np.asarray(rows)), self.text_group[first], *langs)

    # ---- checks and messages

    def _check_languages(self, parts: dict[str, list[LabelledRow]], trained: set[str]) -> None:
        if not parts["train"]:
            raise ValueError(f"data={self.name}: no usable pair to train on; {self.ledger.first_reject()}")
        needed = (
            ("languages", trained, "train"),
            ("languages", trained, "valid"),
            ("zero_shot", self.zero_shot_codes, "valid"),
        )
        for option, languages, part in needed:
            available = languages_of(parts[part])
            if missing := languages - available:
                raise ValueError(
                    f"data={self.name}: data.{option} has {', '.join(sorted(missing))}, the {part} part has"
                    f" {', '.join(sorted(available)) or 'no pairs'}"
                )

    def _log_sizes(self) -> None:
        examples = self.examples["train"]
        description = examples.describe(self.own_negatives) if isinstance(examples, Examples) else examples.describe()
        group_sizes = torch.bincount(self.text_group)
        log.info(
            f"data={self.name}: {examples.size:,} training examples in {', '.join(self.language_codes)}"
            f" ({description});"
            f" {len(self.texts):,} texts in {(group_sizes > 0).sum():,} groups, the largest of {group_sizes.max():,};"
            f" pairs of label 1 and 0:\n{self._corpus.sizes}"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class LabelledData(ParaphraseData):
    """Data module over the pairs of tables, whose reader takes these options."""

    columns: ColumnNames | None  # see `xsent.data.readers.labelled.read_labelled`
    threshold: float | None
    source_lang: str
    target_lang: str

    def __post_init__(self) -> None:
        super().__post_init__()
        names = ("columns", "threshold", "source_lang", "target_lang")
        self.source = partial(self.source, **{name: getattr(self, name) for name in names})
