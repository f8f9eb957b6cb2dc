import itertools
import logging
import random
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.data.modules.letters import Letters
from tests.helpers import existing
from xsent.batch import LabelledBatch, RankingBatch
from xsent.data.modules import base as training_data
from xsent.data.modules.paraphrase import ParaphraseData
from xsent.data.readers.labelled import LabelledRow, PartReaders
from xsent.data.readers.msrp import read_msrp
from xsent.data.readers.pawsx import read_pawsx
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.pair_kinds import KINDS
from xsent.data.test_sets.heldout import HeldOutPairs
from xsent.data.test_sets.labelled import LabelledSets

OPTIONS: dict[str, Any] = {
    "name": "made-up",
    "root": "unused",
    "languages": None,
    "zero_shot": [],
    "kinds": ["pairs"],
    "train_kinds": "all",
    "cache_dir": "unused",
}
OPTIONS |= {"form": "ranking", "own_negatives": 1, "unpaired": "self", "max_pairs": None, "max_lines": None}
OPTIONS |= {"valid_share": 0.1, "test_share": 0.2, "global_batch_size": 8, "seed": 1, "strict": False}
LANGUAGES = ("eng", "deu", "fra")


def row(
    source: str, target: str, label: int = 1, *, item: str = "", lang: str = "eng", to: str | None = None
) -> LabelledRow:
    return LabelledRow(item, source, target, lang, to or lang, label, "f", 1)


def translated(items: int, languages: Sequence[str] = LANGUAGES) -> list[LabelledRow]:
    """Like PAWS-X: an item in every language, every other one a paraphrase."""
    return [
        row(f"{lang} {i} first", f"{lang} {i} second", i % 2, item=str(i), lang=lang)
        for i in range(items)
        for lang in languages
    ]


def generated(parts: dict[str, Sequence[LabelledRow]] | Sequence[LabelledRow], **options: Any) -> ParaphraseData:
    inputs = parts if isinstance(parts, dict) else {"train": parts}

    def source(ledger: RejectLedger, root: str) -> PartReaders:
        return {part: partial(list, rows) for part, rows in inputs.items()}

    return ParaphraseData(**{**OPTIONS, "source": source, **options})


def read(parts: dict[str, Sequence[LabelledRow]] | Sequence[LabelledRow], **options: Any) -> ParaphraseData:
    data = generated(parts, **options)
    data.read()
    return data


def test_positives_alone_train_with_random_negatives_in_the_held_out_parts_only() -> None:
    data = read([row(f"s {i}", f"t {i}") for i in range(300)])
    labels = {part: [pair.label for pair in rows] for part, rows in data.held_out.items()}
    assert all(sum(of_part) == len(of_part) / 2 for of_part in labels.values())
    assert len(data.examples["valid"].anchor) == sum(labels["valid"])
    assert data.summary()["train"] + sum(map(sum, labels.values())) == 300
    # Random pairs would join all validation texts into one group, which has no negatives.
    assert torch.bincount(data.text_group).max() == 2


VALID = [row(f"v{i}", f"w{i}", i % 2) for i in range(8)]
PAIRS: dict[str, Any] = {"form": "pairs", "own_negatives": 0, "unpaired": "drop", "global_batch_size": 1}


def labelled(data: ParaphraseData) -> set[tuple[str, str, int]]:
    """The training pairs with their labels."""
    batch = data.batches("train")(np.arange(data.size("train")), 0)
    assert isinstance(batch, LabelledBatch)
    columns = (batch.source.tolist(), batch.target.tolist(), batch.label.tolist())
    return {(data.texts[source], data.texts[target], label) for source, target, label in zip(*columns, strict=True)}


def test_in_the_form_pairs_every_labelled_pair_is_an_example() -> None:
    # An anchor of both labels, one of label 1 alone and one of label 0 alone, whose second sentence is in two pairs.
    rows = [row("a", "b"), row("a", "c", 0), row("d", "e"), row("f", "c", 0)]
    data = read({"train": rows, "valid": VALID}, **PAIRS)
    assert labelled(data) == {("a", "b", 1), ("a", "c", 0), ("d", "e", 1), ("f", "c", 0)}
    assert data.size("valid") == len(VALID)


def test_in_the_form_pairs_a_repeated_pair_counts_once_and_a_contradicted_one_as_paraphrase() -> None:
    rows = [row("a", "b"), row("a", "b"), row("b", "a", 0), row("c", "c", 0), row("c", "d", 0)]
    assert labelled(read({"train": rows, "valid": VALID}, **PAIRS)) == {("a", "b", 1), ("c", "d", 0)}


def test_the_order_of_the_files_does_not_change_the_digest_of_pairs_but_a_label_does() -> None:
    rows = [row("a", "b"), row("a", "c", 0), row("d", "e")]
    digest = read({"train": rows, "valid": VALID}, **PAIRS).digest()
    assert read({"train": rows[::-1], "valid": VALID}, **PAIRS).digest() == digest
    relabelled = [*rows[:2], row("d", "e", 0)]
    assert read({"train": relabelled, "valid": VALID}, **PAIRS).digest() != digest


def test_pairs_of_one_label_and_options_of_anchors_are_refused_in_the_form_pairs() -> None:
    with pytest.raises(ValueError, match=r"data\.form=pairs needs training pairs of both labels"):
        read({"train": [row("a", "b"), row("c", "d")], "valid": VALID}, **PAIRS)
    for option in ({"own_negatives": 1}, {"unpaired": "self"}):
        with pytest.raises(ValueError, match=r"data\.form=pairs has no anchors .*data\.own_negatives=0"):
            generated([], **{**PAIRS, **option})
    with pytest.raises(ValueError, match=r"data\.form=triples: expected one of ranking, pairs"):
        generated([], form="triples")


def small(train: Sequence[LabelledRow], **options: Any) -> ParaphraseData:
    """All of these rows in the training part."""
    return read({"train": train, "valid": VALID, "test": []}, **{"global_batch_size": 1, **options})


def examples(data: ParaphraseData, part: str = "train") -> set[tuple[str, str]]:
    columns = data.examples[part]
    return {(data.texts[a], data.texts[p]) for a, p in zip(columns.anchor, columns.positive, strict=True)}


def own_negatives(data: ParaphraseData, epoch: int = 0) -> dict[str, list[str]]:
    """Negatives by anchor, of all training examples."""
    rows = np.arange(len(data.examples["train"].anchor))
    batch = data.ranking_batch(rows, epoch)
    negatives: dict[str, list[str]] = {}
    for negative, owner in zip(batch.negative.tolist(), batch.owner.tolist(), strict=True):
        negatives.setdefault(data.texts[batch.anchor[owner]], []).append(data.texts[negative])
    return negatives


# ---- examples and their own negatives


def test_pairs_of_label_1_are_examples_and_partners_of_label_0_their_own_negatives() -> None:
    rows = [row("a", "b"), row("a", "x", 0), row("y", "a", 0), row("c", "d")]
    data = small(rows, own_negatives=9)
    assert examples(data) == {("a", "b"), ("c", "d"), ("y", "y")}
    assert {anchor: set(texts) for anchor, texts in own_negatives(data).items()} == {"a": {"x", "y"}, "y": {"a"}}


def test_a_first_sentence_without_a_paraphrase_is_its_own_positive_or_left_out() -> None:
    # "b" is the second sentence of a paraphrase, so it has one.
    rows = [row("a", "b"), row("b", "x", 0), row("l", "x", 0), row("l", "z", 0)]
    data = small(rows)
    assert examples(data) == {("a", "b"), ("l", "l")}
    assert len(own_negatives(data)["l"]) == 1
    dropping = small(rows, unpaired="drop")
    assert examples(dropping) == {("a", "b")}
    assert {"l", "z"}.isdisjoint(dropping.texts)


def test_a_known_paraphrase_and_the_sentence_itself_are_never_its_negatives() -> None:
    rows = [row("a", "b"), row("a", "b", 0), row("b", "a", 0), row("a", "a", 0), row("a", "x", 0)]
    assert own_negatives(small(rows, own_negatives=9)) == {"a": ["x"]}


@pytest.mark.parametrize("cap", [None, 1])
def test_a_known_paraphrase_of_the_positive_is_no_negative_of_the_example(cap: int | None) -> None:
    # x is unlike a, but means the same as b, which is a's positive here; of (a, c) it is a negative.
    rows = [row("a", "b"), row("a", "x", 0), row("b", "x"), row("a", "y", 0), row("a", "c")]
    data = small(rows, own_negatives=9, max_pairs=cap)
    batch = data.ranking_batch(np.arange(len(data.examples["train"].anchor)), 0)
    triples = {
        (data.texts[batch.anchor[owner]], data.texts[batch.positive[owner]], data.texts[negative])
        for owner, negative in zip(batch.owner.tolist(), batch.negative.tolist(), strict=True)
    }
    expected = {("a", "b", "y"), ("a", "c", "x"), ("a", "c", "y")}
    assert triples == {triple for triple in expected if triple[:2] in examples(data)}


def test_the_same_pair_is_one_example() -> None:
    assert len(small([row("a", "b"), row("a", "b"), row("c", "d", 0)], unpaired="drop").examples["train"].anchor) == 1


def test_of_many_partners_others_are_drawn_in_each_epoch_and_the_same_for_the_same_seed() -> None:
    rows = [row("a", "b"), *(row("a", f"x{i}", 0) for i in range(20))]
    data = small(rows, own_negatives=3)
    drawn = [own_negatives(data, epoch)["a"] for epoch in range(40)]
    assert all(len(set(negatives)) == 3 for negatives in drawn)
    assert {text for negatives in drawn for text in negatives} == {f"x{i}" for i in range(20)}
    assert own_negatives(small(rows, own_negatives=3), 7)["a"] == drawn[7]
    assert [own_negatives(small(rows, own_negatives=3, seed=2), epoch)["a"] for epoch in range(40)] != drawn
    assert own_negatives(small(rows, own_negatives=0)) == {}


def test_what_is_drawn_for_an_example_does_not_depend_on_its_batch() -> None:
    data = read(translated(80), kinds=["intra", "inter_para", "inter_same"], own_negatives=2)
    rows = np.arange(len(data.examples["train"].anchor))
    complete = data.ranking_batch(rows, 3)
    for start in (0, 11, 40):
        part = data.ranking_batch(rows[start : start + 5], 3)
        for i in range(5):
            expected = complete.negative[complete.owner == start + i].tolist()
            assert part.negative[part.owner == i].tolist() == expected
    assert torch.equal(complete.owner, complete.owner.sort().values)


def test_what_is_drawn_for_an_example_does_not_depend_on_the_order_of_the_rows() -> None:
    rows = [row(f"a{i}", f"b{i}") for i in range(9)]
    rows += [row(f"a{i}", f"x{i} {j}", 0) for i in range(9) for j in range(9)]
    shuffled = random.Random(5).sample(rows, len(rows))
    in_order, reordered = small(rows, own_negatives=3), small(shuffled, own_negatives=3)
    assert in_order.texts != reordered.texts
    assert own_negatives(in_order, 2) == own_negatives(reordered, 2)


def test_the_log_counts_the_negatives_that_batches_bring_along(caplog: pytest.LogCaptureFixture) -> None:
    # x is all that a has, and means the same as b; l has no paraphrase; the pair (e, e) has label 1.
    rows = [row("a", "b"), row("a", "x", 0), row("b", "x"), row("l", "m", 0), row("l", "n", 0), row("e", "e")]
    for limit, expected in ((2, "1 have own negatives, at most 2"), (0, "0 have own negatives, at most 0")):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            small(rows, own_negatives=limit)
        assert re.search("4 training examples .*1 have no paraphrase .*, 1 are pairs of equal texts", caplog.text)
        assert re.search(expected, caplog.text)


def test_translations_and_rows_of_one_item_are_of_one_group() -> None:
    # The item number is what the texts of a group share.
    data = read(translated(60), kinds=["inter_para"])
    item = np.array([text.split()[1] for text in data.texts])
    group = data.text_group.numpy()
    assert np.array_equal(group[:, None] == group[None], item[:, None] == item[None])


def test_rows_that_share_a_sentence_are_of_one_group_whatever_their_label() -> None:
    data = small([row("a", "b"), row("b", "c", 0), row("c", "d"), row("e", "f")])
    group = {text: int(number) for text, number in zip(data.texts, data.text_group, strict=True)}
    assert group["a"] == group["b"] == group["c"] == group["d"] != group["e"] == group["f"]


def test_equal_ids_of_two_parts_are_not_one_group() -> None:
    parts = {
        "train": translated(20),
        "valid": [pair._replace(source=f"v {pair.source}", target=f"v {pair.target}") for pair in translated(20)],
        "test": [],
    }
    data = read(parts, kinds=["intra"])
    group = {text: int(number) for text, number in zip(data.texts, data.text_group, strict=True)}
    assert group["eng 3 first"] != group["v eng 3 first"]


def test_a_cap_keeps_the_same_examples_whatever_their_order() -> None:
    rows = translated(60)
    capped = read(rows, max_pairs=20)
    assert len(capped.examples["train"].anchor) == 20
    assert examples(capped) == examples(read(random.Random(3).sample(rows, len(rows)), max_pairs=20))
    assert examples(capped) < examples(read(rows))
    assert set(capped.texts) < set(read(rows).texts)
    assert own_negatives(capped).items() <= own_negatives(read(rows)).items()


def test_training_kinds_leave_the_validation_pairs_as_they_are() -> None:
    rows, labelled, everything = (
        read(translated(80), kinds=KINDS[1:], train_kinds=choice, unpaired="drop", valid_share=0.2)
        for choice in ("rows", "labelled", "all")
    )
    items = {int(row.item) for part in rows.held_out.values() for row in part}
    trained = [item for item in range(80) if item not in items]
    paraphrases = sum(item % 2 for item in trained)
    # An item has three rows, six pairs of languages in order, and three translations of each of its two sentences.
    assert rows.size("train") == 3 * paraphrases
    assert labelled.size("train") == (3 + 6) * paraphrases
    assert everything.size("train") == (3 + 6) * paraphrases + 2 * 3 * len(trained)
    assert examples(rows, "valid") == examples(everything, "valid")
    assert rows.held_out == everything.held_out
    with pytest.raises(ValueError, match=r"train_kinds=labelled trains on pairs, intra, inter_para, but data\.kinds"):
        generated([], kinds=["inter_same"], train_kinds="labelled")


# ---- batches


def batches(data: ParaphraseData) -> list[RankingBatch]:
    return list(data.train_dataloader())


@pytest.fixture
def data() -> ParaphraseData:
    return read(translated(80), kinds=["intra", "inter_para", "inter_same"], own_negatives=2)


def test_batches_are_the_examples_they_name_at_their_place_in_the_epoch(data: ParaphraseData) -> None:
    epoch = batches(data)
    assert len(epoch) == data.steps_per_epoch == len(data.examples["train"].anchor) // 8
    for position, batch in enumerate(epoch):
        rows = data.global_rows(position)
        expected = data.ranking_batch(rows, 0)
        assert batch.pairs.row.tolist() == rows.tolist()
        assert all(map(torch.equal, batch[:4], expected[:4]))
        assert torch.equal(batch.pairs.group, data.text_group[batch.anchor])
        assert torch.equal(batch.pairs.group, data.text_group[batch.positive])
        assert torch.equal(batch.pairs.group[batch.owner], data.text_group[batch.negative])
        for text, lang in zip(batch.anchor.tolist(), batch.pairs.source_lang.tolist(), strict=True):
            assert data.texts[text].startswith(data.language_codes[lang])


def test_a_resumed_run_sees_the_rest_of_the_epoch_with_the_same_negatives(data: ParaphraseData) -> None:
    steps = data.steps_per_epoch
    data.batches_seen = steps  # the second epoch
    complete = batches(data)
    data.batches_seen = steps + 5
    rest = batches(data)
    assert len(rest) == steps - 5
    for resumed, uninterrupted in zip(rest, complete[5:], strict=True):
        assert torch.equal(resumed.anchor, uninterrupted.anchor)
        assert torch.equal(resumed.negative, uninterrupted.negative)
    assert rest[0].pairs.row.tolist() == data.global_rows(steps + 5).tolist()
    assert data.global_rows(5).tolist() != data.global_rows(steps + 5).tolist()


def test_devices_share_the_global_batches(data: ParaphraseData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_data, "world_size", lambda: 2)
    shares = []
    for number in range(2):
        monkeypatch.setattr(training_data, "rank", lambda number=number: number)
        shares.append([batch.pairs.row.tolist() for batch in batches(data)])
    together = [list(itertools.chain(*parts)) for parts in zip(*shares, strict=True)]
    assert together == [data.global_rows(position).tolist() for position in range(data.steps_per_epoch)]


def test_validation_takes_every_positive_pair_once(data: ParaphraseData) -> None:
    loaded = list(data.val_dataloader())
    pairs = [
        (data.texts[anchor], data.texts[positive])
        for batch in loaded
        for anchor, positive in zip(batch.anchor.tolist(), batch.positive.tolist(), strict=True)
    ]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == examples(data, "valid")
    items = {anchor.split()[1] for anchor, _ in pairs}
    assert items == {pair.item for pair in data.held_out["valid"]}


def test_tokens_are_those_of_the_texts_one_after_the_other(data: ParaphraseData, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"call tokenize\(\)"):
        data.flat_tokens(torch.tensor([0]))
    data.cache_dir = str(tmp_path)
    data.tokenize(Letters())
    numbers = torch.tensor([5, 0, 5, 2])
    ids, lengths = data.flat_tokens(numbers)
    assert ids.dtype == lengths.dtype == torch.int64
    assert ["".join(map(chr, part.tolist())) for part in ids.split(lengths.tolist())] == [
        data.texts[number] for number in numbers
    ]
    ids, lengths = data.flat_tokens(numbers[:0])
    assert ids.shape == lengths.shape == (0,)


# ---- languages and held-out parts


def test_zero_shot_languages_are_held_out_and_never_trained_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        data = read(translated(90), languages=["en", "de"], zero_shot=["fr"], kinds=["intra", "inter_para"])
    assert data.language_codes == ["deu", "eng"]
    assert not any(text.startswith("fra") for text in data.texts)
    assert {pair.source_lang for pair in data.held_out["test"]} == {"deu", "eng", "fra"}
    for split in ("valid", "test"):
        held_out = {pair.item for pair in data.held_out[split]}
        assert held_out.isdisjoint(anchor.split()[1] for anchor, _ in examples(data))
    # Sizes by pencil: n items held out make n rows in each of three languages, half of them of each label.
    items = {pair.item: pair.label for pair in data.held_out["test"]}
    positive = sum(items.values())
    assert f"test  intra{3 * positive:>18}{3 * (len(items) - positive):>12}" in caplog.text
    assert f"test  inter_para{6 * positive:>13}{6 * (len(items) - positive):>12}" in caplog.text


def test_held_out_pairs_are_those_that_an_evaluator_reads_from_the_same_files() -> None:
    rows = translated(90)
    data = read(rows, languages=["eng", "deu"], zero_shot=["fra"], kinds=["intra", "inter_same"])
    held_out = HeldOutPairs()
    held_out.bind(data, "test")
    shares = {"valid_share": 0.1, "test_share": 0.2}
    assert held_out(None, None) == LabelledSets(source=data.source, kinds=data.kinds, **shares)("unused", None)


def test_what_chooses_a_checkpoint_never_sees_a_zero_shot_language() -> None:
    held_out = HeldOutPairs()
    held_out.bind(read(translated(90), languages=["eng", "deu"], zero_shot=["fra"], kinds=["intra"]), "valid")
    assert {(pair.part, pair.source_lang) for pair in held_out(None, None)} == {("valid", "eng"), ("valid", "deu")}


def test_sampled_sentences_are_the_same_items_in_every_language() -> None:
    data = read(translated(90), kinds=["intra"])
    sentences, languages = data.sample_sentences("test", languages=None, per_language=3)
    assert len(sentences) == len(set(sentences)) == 3 * 2 * 3
    assert all(text.startswith(language) for text, language in zip(sentences, languages, strict=True))
    assert len({text.split()[1] for text in sentences}) == 3
    assert set(data.sample_sentences("test", languages=["fr"], per_language=3)[1]) == {"fra"}


def test_sentences_for_a_tokenizer_are_even_over_the_languages_and_only_of_training() -> None:
    data = read(translated(90), kinds=["intra"])
    chosen = data.training_sentences(10)
    assert len(chosen) == len(set(chosen)) == 30
    assert {lang: sum(text.startswith(lang) for text in chosen) for lang in LANGUAGES} == dict.fromkeys(LANGUAGES, 10)
    held_out = {pair.item for rows in data.held_out.values() for pair in rows}
    assert held_out.isdisjoint(text.split()[1] for text in chosen)


def test_the_digest_is_that_of_the_content_and_not_of_its_order() -> None:
    rows = translated(90)
    digest = read(rows, kinds=["intra", "inter_same"]).digest()
    assert read(rows[::-1], kinds=["intra", "inter_same"]).digest() == digest
    assert read(rows, kinds=["intra"]).digest() != digest
    assert read(rows[3:], kinds=["intra", "inter_same"]).digest() != digest
    assert read(rows, kinds=["intra", "inter_same"], test_share=0.3).digest() != digest


def test_the_digest_tells_groups_apart() -> None:
    rows = [row("a", "b", item="1"), row("c", "d", item="2")]
    joined = [pair._replace(item="1") for pair in rows]
    assert small(rows).digest() == small(rows[::-1]).digest() != small(joined).digest() == small(joined[::-1]).digest()


def test_the_digest_of_the_order_is_that_of_the_numbers() -> None:
    rows = translated(90)
    digest = read(rows, kinds=["intra"]).order_digest()
    assert read(rows, kinds=["intra"]).order_digest() == digest
    assert read(rows[::-1], kinds=["intra"]).order_digest() != digest
    apart, joined = [row("a", "b"), row("c", "d")], [row("a", "b", item="1"), row("c", "d", item="1")]
    assert small(apart).order_digest() != small(joined).order_digest()


def test_rows_that_no_kind_takes_are_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    rows = [*translated(90), *(row(f"a{i}", f"b{i}", to="deu") for i in range(7))]
    data = read(
        {"train": rows, "valid": [pair._replace(item=f"v{pair.item}") for pair in translated(9)], "test": []},
        kinds=["intra", "inter_para"],
    )
    held_out = HeldOutPairs()
    held_out.bind(data, "test")
    held_out(None, None)
    assert caplog.text.count("7 of 277 rows of train make no pair of kinds=[intra, inter_para]") == 1
    assert caplog.text.count("make no pair") == 1


def test_reading_twice_reads_once(data: ParaphraseData) -> None:
    data.source = lambda ledger, root: pytest.fail("read again")
    data.read()


# ---- what is wrong


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("kinds", ["intra", "extra"], r"kinds: expected some of pairs, .*, found extra"),
        ("train_kinds", "most", r"data\.train_kinds=most: expected one of rows, labelled, all"),
        ("own_negatives", -1, r"data\.own_negatives=-1: expected 0"),
        ("unpaired", "both", r"data\.unpaired=both: expected one of self, drop"),
        ("max_pairs", 0, r"data\.max_pairs=0"),
        ("valid_share", 0.8, r"valid_share=0\.8 and test_share=0\.2 leave no pairs"),
        ("languages", ["deutsch"], "unknown language 'deutsch'"),
    ],
)
def test_a_wrong_option_is_an_error_before_anything_is_read(option: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generated([], **{option: value})


def test_a_language_to_train_on_and_not_to_train_on_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"data\.zero_shot: fra is in data\.languages, too"):
        generated([], languages=["fr", "en"], zero_shot=["fra"])


UNLIKE = [row("a", "b", 0), row("c", "d", 0)]


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        (translated(60), {"languages": ["en", "ja"]}, r"data\.languages has jpn, the train part has deu, eng, fra"),
        (translated(60), {"zero_shot": ["ko"]}, r"data\.zero_shot has kor, the valid part has"),
        (
            {"train": translated(30), "valid": UNLIKE, "test": []},
            {"languages": ["eng"]},
            "the valid part has 0 pairs of label 1 and 2 of label 0; a threshold needs both",
        ),
        (
            {"train": UNLIKE, "valid": VALID, "test": []},
            {},
            r"none of the 2 training pairs of data\.kinds=\[pairs\] in eng has label 1",
        ),
        (
            translated(60),
            {"languages": ["en"], "kinds": ["inter_para"]},
            r"none of the 0 training pairs of data\.kinds=\[inter_para\] in eng has label 1",
        ),
        ([], {}, r"no usable pair to train on; 0 of 0 lines rejected"),
        (
            {"train": [row("a", "b"), row("c", "d", 0)], "valid": VALID, "test": []},
            {"global_batch_size": 50},
            r"data\.global_batch_size=50 examples is larger than the training split of 2",
        ),
    ],
)
def test_data_that_do_not_suffice_are_refused(parts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(parts, **options)


def test_a_mega_batch_larger_than_the_data_names_both_options_and_all_numbers(data: ParaphraseData) -> None:
    available = len(data.examples["train"].anchor)
    data.check_mega_batch(available // 8)
    with pytest.raises(
        ValueError, match=rf"mini_batches=1000 times data\.global_batch_size=8, 8,000 .* {available:,} train"
    ):
        data.check_mega_batch(1000)


# ---- real data


def test_the_dev_files_of_pawsx_make_a_data_set_of_seven_languages(shared_data: Path) -> None:
    options = {"zero_shot": ["fr", "ko"], "languages": ["en", "de", "es", "zh", "ja"], "kinds": KINDS[1:]}
    source = partial(read_pawsx, only_dev=True)
    data = read([], root=str(existing(shared_data / "pawsx")), source=source, **options)
    assert data.language_codes == ["deu", "eng", "jpn", "spa", "zho"]
    held_out = {text for pair in data.held_out["test"] for text in (pair.source, pair.target)}
    assert held_out.isdisjoint(data.texts)
    rows = {split: {pair.item for pair in held_out} for split, held_out in data.held_out.items()}
    assert rows["valid"].isdisjoint(rows["test"])
    assert {pair.source_lang for pair in data.held_out["test"]} == {"deu", "eng", "fra", "jpn", "kor", "spa", "zho"}


def test_msrp_keeps_its_test_part_and_gives_a_share_of_training_to_validation(shared_data: Path) -> None:
    options = {"unpaired": "drop", "valid_share": 0.15, "test_share": 0.0}
    data = read([], root=str(existing(shared_data / "msrp")), source=read_msrp, **options)
    assert len(data.held_out["test"]) == 1725
    valid = data.held_out["valid"]
    # 0.15 of 4,076, give or take three standard deviations.
    assert len(valid) == pytest.approx(611, abs=70)
    positive = sum(pair.label for pair in valid)
    assert len(data.examples["train"].anchor) + positive == pytest.approx(2753, abs=3)  # less repeated pairs
