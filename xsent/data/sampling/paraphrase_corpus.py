"""Corpus of labelled pairs: ranking examples for training and validation, and held-out rows."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from xsent.data.readers.labelled import LabelledRow
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import lowest_hashes, mix, text_hashes
from xsent.data.sampling.labelled_splits import text_groups, with_negatives
from xsent.data.sampling.pair_examples import PairExamples, build_pairs
from xsent.data.sampling.pair_kinds import (
    NumberedRows,
    check_rows,
    concatenate,
    number_rows,
    pairs_of,
    size_table,
    within,
)
from xsent.data.sampling.ranking_examples import Examples, build_examples

AnyExamples = Examples | PairExamples
FORMS = ("ranking", "pairs")


class ParaphraseCorpus(NamedTuple):
    """Examples over T texts, and held-out rows."""

    texts: list[str]  # distinct texts of training and validation batches
    text_lang: Rows  # (T,) numbers of the languages
    text_group: Rows  # (T,) texts that share a row or an item, whatever its label, directly or through others
    languages: list[str]  # ISO 639-3, trained on
    examples: dict[str, AnyExamples]  # by part, "train" and "valid"
    held_out: dict[str, list[LabelledRow]]  # by part, "valid" and "test", with the zero-shot languages
    sizes: str  # table of the pairs by part, kind and label

    def digest(self) -> str:
        """Hex digest of examples, negatives, groups and held-out rows; the order of the files does not change it."""
        content = hashlib.sha256()
        hashes = text_hashes(self.texts)
        for column in (column for examples in self.examples.values() for column in examples.content()):
            content.update(column.tobytes())
        # The lowest hash identifies a group: its number depends on the order.
        lowest = lowest_hashes(self.text_group, hashes)
        content.update(np.sort(mix(hashes, lowest[self.text_group])).tobytes())
        for part, rows in self.held_out.items():
            lines = sorted("\t".join(map(str, row[1:6])) for row in rows)
            content.update("\n".join([part, *lines]).encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def order_digest(self) -> str:
        """Hex digest of texts, groups and examples in their order, which decides what their numbers mean."""
        content = hashlib.sha256(text_hashes(self.texts).tobytes())
        content.update(self.text_group.tobytes())
        for examples in self.examples.values():
            content.update(examples.key.tobytes())
        return content.hexdigest()

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` distinct training sentences of each language, those of lowest hash."""
        numbers = self.examples["train"].texts()
        order = numbers[np.argsort(text_hashes(self.texts)[numbers], kind="stable")]
        by_language = [order[self.text_lang[order] == lang][:per_language] for lang in range(len(self.languages))]
        return [self.texts[number] for numbers in by_language for number in numbers.tolist()]


def build_corpus(
    parts: Mapping[str, Sequence[LabelledRow]],
    *,
    trained: Collection[str],
    zero_shot: Collection[str],
    kinds: Sequence[str],
    train_kinds: Sequence[str],
    form: str,
    unpaired: bool,
    max_pairs: int | None,
) -> ParaphraseCorpus:
    """Make the corpus from the rows of ``train``, ``valid`` and ``test``; options as in ``ParaphraseData``.

    Languages are in ISO 639-3. Raises ``ValueError`` if translations of one item have two labels, no training pair has
    label 1, the validation pairs have one label, or in the form ``pairs`` the training pairs.
    """
    held_out = {part: within(parts[part], {*trained, *zero_shot}) for part in ("valid", "test")}
    training = {part: within(parts[part], trained) for part in ("train", "valid")}
    check_rows({"train": training["train"], **held_out}, kinds)
    texts, languages, rows = number_rows(training)
    pairs_by_kind = {kind: pairs_of(rows["train"], kind) for kind in train_kinds}
    train = concatenate(pairs_by_kind.values())
    valid = concatenate(pairs_of(rows["valid"], kind) for kind in kinds)
    if set(kinds) == {"pairs"} and all(row.label for part_rows in parts.values() for row in part_rows):
        held_out = with_negatives(held_out)  # of the evaluators alone: random pairs would join groups of texts
    else:
        _check_labels(train, valid, train_kinds, languages)

    if form == "pairs" and train.label.all():
        raise ValueError(
            "data.form=pairs needs training pairs of both labels, found label 1 alone; with recipe/paraphrase/loss=ams"
            " the other sentences of a batch are the negatives"
        )

    hashes = {"texts": text_hashes(texts), "languages": text_hashes(languages)}
    examples: dict[str, AnyExamples]
    if form == "pairs":
        examples = {"train": build_pairs(train, **hashes), "valid": build_pairs(valid, **hashes)}
    else:
        # Validation has no dropout: the two vectors of a sentence that is its own positive would be equal.
        examples = {
            "train": build_examples(train, unpaired=unpaired, **hashes),
            "valid": build_examples(valid, unpaired=False, **hashes),
        }
    if max_pairs is not None:
        lowest = np.argsort(examples["train"].key, kind="stable")[:max_pairs]
        examples["train"] = examples["train"].take(np.sort(lowest))
    used = np.union1d(*(part_examples.texts() for part_examples in examples.values()))
    # The same item id in two parts does not mean the same item.
    first_item = rows["train"].item.max(initial=-1) + 1
    valid_rows = rows["valid"]._replace(item=np.where(rows["valid"].item < 0, -1, rows["valid"].item + first_item))
    all_rows = concatenate([rows["train"], valid_rows])
    text_group = text_groups(len(texts), all_rows.source, all_rows.target, all_rows.item)
    text_lang = np.zeros(len(texts), dtype=np.int64)
    for part in (rows["valid"], rows["train"]):
        text_lang[part.target], text_lang[part.source] = part.target_lang, part.source_lang
    held_out_pairs = {
        part: {kind: pairs_of(numbered, kind) for kind in kinds} for part, numbered in number_rows(held_out)[2].items()
    }
    return ParaphraseCorpus(
        texts=[texts[number] for number in used.tolist()],
        text_lang=text_lang[used],
        text_group=text_group[used],
        languages=languages,
        examples={part: part_examples.renumber(used) for part, part_examples in examples.items()},
        held_out=held_out,
        sizes=size_table({"train": pairs_by_kind, **held_out_pairs}),
    )


def _check_labels(train: NumberedRows, valid: NumberedRows, kinds: Sequence[str], languages: Sequence[str]) -> None:
    negative, positive = np.bincount(train.label, minlength=2).tolist()
    if not positive:
        raise ValueError(
            f"none of the {negative:,} training pairs of data.kinds=[{', '.join(kinds)}] in {', '.join(languages)} has"
            " label 1, which marks paraphrases"
        )
    negative, positive = np.bincount(valid.label, minlength=2).tolist()
    if not (positive and negative):
        raise ValueError(
            f"the valid part has {positive:,} pairs of label 1 and {negative:,} of label 0; a threshold needs both"
            " (data.valid_share sets its size, where the part has no files)"
        )
