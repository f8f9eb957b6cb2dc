import logging
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xsent.data.readers.labelled import LabelledRow, PartReaders, read_labelled
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.labelled_splits import read_parts, split_positions, with_negatives
from xsent.data.sampling.pair_kinds import KINDS, check_kinds, check_rows, number_rows, pairs_of
from xsent.data.test_sets.labelled import LabelledSets, labelled_sets


def read(root: Path, *, strict: bool = False, **options: Any) -> tuple[dict[str, list[LabelledRow]], RejectLedger]:
    ledger = RejectLedger(strict=strict)
    defaults = {"columns": None, "threshold": None, "source_lang": "en", "target_lang": "de"}
    parts = read_labelled(ledger, str(root), **{**defaults, **options})
    return {part: rows() for part, rows in parts.items()}, ledger


def row(
    source: str, target: str, label: int = 1, *, item: str = "", lang: str = "eng", to: str | None = None
) -> LabelledRow:
    return LabelledRow(item, source, target, lang, to or lang, label, "f", 1)


# ---- any TSV


def test_columns_may_end_with_a_group_and_two_languages(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tb\t1\n")
    (tmp_path / "dev.tsv").write_text("a\tb\t0\tg7\n")
    (tmp_path / "test.tsv").write_text("sentence1\tsentence2\tLabel\tgroup\tl1\tl2\na\tb\t1\tg8\tfr\t\n")
    parts, _ = read(tmp_path)
    assert [tuple(rows[0])[:6] for rows in parts.values()] == [
        ("", "a", "b", "eng", "deu", 1),
        ("g7", "a", "b", "eng", "deu", 0),
        ("g8", "a", "b", "fra", "deu", 1),
    ]
    assert parts["test"][0].line == 2


def test_one_file_is_the_training_part(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("a\tb\t1\nc\td\t0\n")
    parts, _ = read(path)
    assert list(parts) == ["train"]
    assert [pair.label for pair in parts["train"]] == [1, 0]


def test_unusable_lines_go_to_the_ledger_and_stop_a_strict_reading(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_bytes(b"a\tb\t1\nc\td\n \tf\t1\ng\th\t0\tx\n\xff\ti\t1\nj\tk\t0\n")
    parts, ledger = read(tmp_path)
    assert [pair.source for pair in parts["train"]] == ["a", "j"]
    assert [(reject.line, reject.reason) for reject in ledger.rejects] == [
        (2, "expected 3 columns"),
        (3, "empty side"),
        (4, "expected 3 columns"),
        (5, "broken UTF-8"),
    ]
    with pytest.raises(ValueError, match=r"train\.tsv:2: expected 3 columns, found 2 columns"):
        read(tmp_path, strict=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("c\td\t0.5", r"train\.tsv:2: expected label 0 .* or 1 .*, found '0\.5'"),
        ("a\tb\t1\tg\teng\tdeutsch", r"train\.tsv:2: unknown language 'deutsch'"),
    ],
)
def test_a_wrong_label_or_language_is_an_error_even_where_the_ledger_takes_the_rest(
    tmp_path: Path, line: str, message: str
) -> None:
    header = "s1\ts2\tlabel" + "\tg\tl1\tl2" * (line.count("\t") > 2)
    (tmp_path / "train.tsv").write_text(f"{header}\n{line}\n")
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


def test_a_folder_without_the_files_and_a_part_with_two_are_errors(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"expected train\.tsv, dev\.tsv or valid\.tsv, test\.tsv .*, found nothing"
    ):
        read(tmp_path)
    for name in ("dev.tsv", "valid.tsv"):
        (tmp_path / name).write_text("a\tb\t1\n")
    with pytest.raises(ValueError, match=r"one file of the valid part, found dev\.tsv, valid\.tsv"):
        read(tmp_path)


# ---- parts


def source_of(parts: dict[str, Sequence[LabelledRow]]) -> Any:
    def source(ledger: RejectLedger, root: str) -> PartReaders:
        return {part: partial(list, rows) for part, rows in parts.items()}

    return source


def split(parts: dict[str, Sequence[LabelledRow]], *, training: bool = True, **shares: float) -> dict[str, set[str]]:
    shares = {"valid_share": 0.2, "test_share": 0.3, **shares}
    rows_of = read_parts(
        source_of(parts),
        RejectLedger(strict=True),
        "root",
        training=training,
        valid_share=shares["valid_share"],
        test_share=shares["test_share"],
    )
    return {part: {pair.source for pair in rows} for part, rows in rows_of.items()}


MANY = [row(f"sentence {i}", f"another {i}", i % 2, item=str(i)) for i in range(1000)]


def test_missing_parts_are_cut_off_the_training_part_by_their_shares() -> None:
    parts = split({"train": MANY})
    sizes = {part: len(rows) for part, rows in parts.items()}
    assert sum(sizes.values()) == len(set.union(*parts.values())) == 1000
    # Binomial: three standard deviations are about 40.
    assert sizes["valid"] == pytest.approx(200, abs=40)
    assert sizes["test"] == pytest.approx(300, abs=45)


def test_the_split_does_not_depend_on_the_order_nor_on_rows_of_other_groups() -> None:
    parts = split({"train": MANY})
    shuffled = random.Random(1).sample(MANY, 1000)
    assert split({"train": shuffled}) == parts
    half = split({"train": shuffled[:500]})
    assert all(half[part] == parts[part] & {pair.source for pair in shuffled[:500]} for part in parts)


def test_a_part_that_has_files_is_left_alone_and_the_other_is_cut_as_before() -> None:
    test = [row("x", "y")]
    parts = split({"train": MANY, "test": test})
    assert parts["test"] == {"x"}
    assert parts["valid"] == split({"train": MANY})["valid"]
    assert parts["train"] | parts["valid"] == {pair.source for pair in MANY}


def test_an_evaluation_holds_out_what_the_training_run_held_out() -> None:
    trained, evaluated = split({"train": MANY}), split({"train": MANY}, training=False)
    assert all(evaluated[part] == trained[part] for part in ("valid", "test"))


def test_an_evaluation_reads_no_training_file_that_it_does_not_need() -> None:
    def source(ledger: RejectLedger, root: str) -> PartReaders:
        return {"train": lambda: pytest.fail("read"), "valid": lambda: MANY[:2], "test": lambda: MANY[2:4]}

    parts = read_parts(source, RejectLedger(strict=True), "r", valid_share=0.1, test_share=0.1, training=False)
    assert set(parts) == {"valid", "test"}


def test_what_is_cut_off_the_training_part_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        split({"train": MANY, "test": [row("x", "y")]}, valid_share=0.0)
    assert "root: split off the 1,000 rows of the training part: valid 0" in caplog.text


def test_pairs_of_the_training_file_in_another_file_are_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    train = [row("a", "b"), row("c", "d"), row("e", "f")]
    parts = {"train": train, "valid": [row("b", "a", 0), row("c", "d")], "test": [row("a", "x"), row("e", "f")]}
    split(parts)
    assert [record.getMessage() for record in caplog.records] == [
        "root: pairs that are in the training part, too: 2 of valid, 1 of test"
    ]
    caplog.clear()
    split(parts, training=False)  # the training file is not read
    split({"train": train, "valid": [row("a", "c")], "test": []})
    assert not caplog.records


def test_no_sentence_is_on_two_sides() -> None:
    # Chains: a row shares a sentence with the next but for letter case and punctuation, or only the item.
    rng = random.Random(2)
    rows = [row(f"Text {rng.randrange(4000)}!", f"text {rng.randrange(4000)}", item=f"{i // 2}") for i in range(600)]
    position = split_positions(rows)
    by_key: dict[str, set[float]] = {}
    for pair, at in zip(rows, position.tolist(), strict=True):
        for key in (pair.source.lower().rstrip("!"), pair.target, pair.item):
            by_key.setdefault(key, set()).add(at)
    assert all(len(of_group) == 1 for of_group in by_key.values())
    assert len(set(position.tolist())) > 1


def test_the_place_of_a_group_is_uniform_whatever_its_size() -> None:
    # 2,000 groups of 8 sentences: with the plain minimum of their hashes nearly all would lie below 0.5.
    rows = [row(f"{i} {j}", f"{i} {j} b", item=str(i)) for i in range(2000) for j in range(4)]
    below = np.mean(np.unique(split_positions(rows)) < 0.5)
    assert below == pytest.approx(0.5, abs=0.05)


def test_nothing_to_cut_from_is_an_error_that_says_what_is_there() -> None:
    with pytest.raises(
        FileNotFoundError, match="no files of test, nor of train to cut them from; there are those of valid"
    ):
        split({"valid": MANY}, training=False)
    with pytest.raises(FileNotFoundError, match="no files of train; there are those of valid, test"):
        split({"valid": MANY, "test": MANY})


def test_held_out_positives_alone_get_as_many_random_negatives_of_unrelated_rows() -> None:
    chained = [row("s0", "t0"), row("s1", "t0")]  # share a target: neither is a negative of the other
    rows = [*chained, *(row(f"s{n}", f"t{n}", lang="eng" if n % 2 else "fra") for n in range(2, 40))]
    parts = with_negatives({"test": rows})["test"]
    assert parts[: len(rows)] == rows
    negatives = parts[len(rows) :]
    assert len(negatives) in (len(rows), len(rows) - 1)  # the two chained rows may follow each other
    pairs = {(pair.source, pair.target) for pair in rows}
    assert {pair.label for pair in negatives} == {0}
    assert not pairs & {(pair.source, pair.target) for pair in negatives}
    assert not {("s0", "t0"), ("s1", "t0")} & {(pair.source, pair.target) for pair in negatives}
    language_of = {text: pair.source_lang for pair in rows for text in (pair.source, pair.target)}
    assert all(language_of[pair.target] == pair.source_lang for pair in negatives)
    assert set(with_negatives({"test": rows[::-1]})["test"]) == set(parts)


# ---- kinds


def two_items() -> list[LabelledRow]:
    # Item 1 is a paraphrase in three languages, item 2 is none and lacks French.
    rows = [row(f"1{lang}s", f"1{lang}t", 1, item="1", lang=lang) for lang in ("eng", "deu", "fra")]
    return rows + [row(f"2{lang}s", f"2{lang}t", 0, item="2", lang=lang) for lang in ("eng", "deu")]


def generated(kind: str, rows: Sequence[LabelledRow]) -> set[tuple[str, str, int]]:
    texts, _, numbered = number_rows({"test": rows})
    pairs = pairs_of(numbered["test"], kind)
    return {
        (texts[source], texts[target], label)
        for source, target, label in zip(pairs.source, pairs.target, pairs.label.tolist(), strict=True)
    }


def test_pairs_within_a_language_are_the_rows() -> None:
    expected = {(pair.source, pair.target, pair.label) for pair in two_items()}
    assert generated("intra", two_items()) == generated("pairs", two_items()) == expected


def test_pairs_across_languages_take_the_first_sentence_of_one_and_the_second_of_the_other() -> None:
    of_three = {(f"1{a}s", f"1{b}t", 1) for a in ("eng", "deu", "fra") for b in ("eng", "deu", "fra") if a != b}
    assert generated("inter_para", two_items()) == of_three | {("2engs", "2deut", 0), ("2deus", "2engt", 0)}


def test_translations_are_positives_and_the_cross_pairs_of_unlike_sentences_their_negatives() -> None:
    translations = {
        (f"1{a}{side}", f"1{b}{side}", 1) for a, b in (("deu", "eng"), ("deu", "fra"), ("eng", "fra")) for side in "st"
    }
    of_two = {("2deus", "2engs", 1), ("2deut", "2engt", 1), ("2deus", "2engt", 0), ("2deut", "2engs", 0)}
    assert generated("inter_same", two_items()) == translations | of_two


def test_translations_with_two_labels_are_an_error_with_group_and_languages_where_a_kind_aligns_them() -> None:
    rows = [row("a", "b", 1, item="g7"), row("A", "B", 0, item="g7", lang="deu")]
    with pytest.raises(ValueError, match=r"f:1: expected one label .* of item g7, found 0 in deu and 1 in eng"):
        check_rows({"train": rows}, ["intra", "inter_para"])
    check_rows({"train": rows}, ["pairs", "intra"])  # a group of rows, not of translations


def test_rows_of_no_chosen_kind_are_counted_in_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    rows = [*two_items(), row("x", "y", item="3", to="deu"), row("z", "z", item="4")]
    check_rows({"train": rows, "valid": two_items()}, ["intra", "inter_para"])
    check_rows({"test": rows}, ["inter_same"])  # item 4 has no translation, either
    check_rows({"test": rows}, ["pairs"])
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 7 rows of train make no pair of kinds=[intra, inter_para] and are left out",
        "2 of 7 rows of test make no pair of kinds=[inter_same] and are left out",
    ]


def test_sets_name_part_kind_and_languages_and_hold_them_apart() -> None:
    sets = labelled_sets({"valid": two_items(), "test": two_items()[:3]}, ["intra", "inter_para"], ["de", "fr"])
    names = [(subset.part, subset.kind, subset.source_lang, subset.target_lang) for subset in sets]
    assert names == [
        ("valid", "intra", "deu", "deu"),
        ("valid", "intra", "fra", "fra"),
        ("valid", "inter_para", "deu", "fra"),
        ("valid", "inter_para", "fra", "deu"),
        ("test", "intra", "deu", "deu"),
        ("test", "intra", "fra", "fra"),
        ("test", "inter_para", "deu", "fra"),
        ("test", "inter_para", "fra", "deu"),
    ]
    assert (sets[0].source, sets[0].target, sets[0].label) == (["1deus", "2deus"], ["1deut", "2deut"], [1, 0])


def test_a_language_that_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"no pairs in jpn; there are deu, eng, fra"):
        labelled_sets({"test": two_items()}, ["intra"], ["ja", "de"])


@pytest.mark.parametrize("kind", ["inter_para", "inter_same"])
def test_rows_that_do_not_say_their_item_make_no_pairs_across_languages(kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind} needs rows with an id or group"):
        generated(kind, [row("a", "b")])
    with pytest.raises(ValueError, match=f"{kind} needs one row of each id or group in a language"):
        generated(kind, [row("a", "b", item="1"), row("c", "d", item="1")])


@pytest.mark.parametrize("kinds", [["intra", "inter"], []])
def test_kinds_that_do_not_exist_are_an_error_with_those_that_do(kinds: list[str]) -> None:
    with pytest.raises(ValueError, match=f"expected some of {', '.join(KINDS)}, found {'inter' if kinds else 'none'}"):
        check_kinds(kinds)


def test_the_reader_of_an_evaluator_gives_the_valid_and_the_test_sets(tmp_path: Path) -> None:
    for name, lines in {"train": ["a\tb\t1"], "dev": ["c\td\t0"], "test": ["e\tf\t1", "broken"]}.items():
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    source = partial(read_labelled, columns=None, threshold=None, source_lang="en", target_lang="en")
    (tmp_path / "scores.tsv").write_text("a\tb\t1\n" + "c\td\t4.5\n")
    with pytest.raises(ValueError, match=r"scores\.tsv:2: .*; evaluator\.read\.source\.threshold=3"):
        LabelledSets(source=source, kinds=["pairs"], valid_share=0.1, test_share=0.1)(
            str(tmp_path / "scores.tsv"), None
        )
    sets = LabelledSets(source=source, kinds=["pairs"], valid_share=0.1, test_share=0.1)(str(tmp_path), None)
    valid, test = sets
    assert (valid.part, valid.source, valid.label) == ("valid", ["c"], [0])
    assert (test.part, test.source, test.label) == ("test", ["e"], [1])
