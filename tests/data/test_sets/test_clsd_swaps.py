"""Swaps of annotation tables in either encoding, and swaps found by rule."""

import csv
import io
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from xsent.data.test_sets.clsd import ClsdSet, read_clsd
from xsent.data.test_sets.clsd_swaps import SwapReader, find_swaps, read_annotated_swaps
from xsent.text.annotation.annotator import Annotation

COLUMNS = [
    "Dataset",
    "Operation",
    "OriginalTextFrench",
    "Details",
    "EntityType",
    "POSTag",
    "SemanticallyEquivalent",
    "OriginalTextGerman",
    "AdversarialText",
    "AdversarialExample",
    "RowIndex",
]
SWAP = {
    "Dataset": "wmt19",
    "Operation": "Swap",
    "OriginalTextFrench": 'Il dit "oui".',
    "Details": "Swap: 'ja' with 'nein'",
    "EntityType": "",
    "POSTag": "PART",
    "SemanticallyEquivalent": "0",
    "OriginalTextGerman": "Er sagt ja.",
    "AdversarialText": "Er sagt nein.",
    "AdversarialExample": "de_adv2",
    "RowIndex": "7",
}
ADDITION = SWAP | {
    "Operation": "Addition",
    "POSTag": "",
    "SemanticallyEquivalent": "",
    "AdversarialText": "Er sagt oft ja.",
    "AdversarialExample": "de_adv3",
}
FRENCH = SWAP | {
    "AdversarialText": 'Il lit "oui".',
    "AdversarialExample": "fr_adv1",
    "POSTag": "VERB",
    "SemanticallyEquivalent": "1",
}
CORPUS = ClsdSet(
    "wmt19", "fra", "deu", ["7"], ['Il dit "oui".'], ["Er sagt ja."], [["Er ging.", "Er sagt nein.", "Er sagt oft ja."]]
)


class Tagger:
    """Calls everything a noun; a hand-made annotator."""

    def __init__(self, *, language: str) -> None:
        self.language = language

    def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
        return [Annotation(("NOUN",) * len(words), ()) for words in sentences]

    def digest(self) -> str:
        return "by hand"


def many(count: int, start: int = 10) -> list[dict[str, str]]:
    """As many rows of good swaps, each of a corpus row of its own."""
    return [SWAP | {"RowIndex": str(start + number)} for number in range(count)]


def table(path: Path, *rows: dict[str, str], columns: Sequence[str] = COLUMNS, encoding: str = "utf-8") -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, delimiter="\t", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return str(path)


def test_released_tables_have_the_counts_that_they_should(shared_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    sets = read_clsd(str(shared_data / "clsd"), None, distractors=None)
    german, french = read_annotated_swaps(str(shared_data / "clsd"), sets, keep_equivalent=True)
    assert (german.name, german.source_lang, len(german.ids), german.additions) == ("deu", "fra", 612, 631 - 612)
    assert (french.name, french.source_lang, len(french.ids), french.additions) == ("fra", "deu", 360, 364 - 360)
    assert [Counter(german.tags)[tag] for tag in ("NOUN", "VERB", "ADJ", "PROPN")] == [242, 145, 85, 51]  # 523
    assert [Counter(french.tags)[tag] for tag in ("VERB", "NOUN", "ADJ", "PROPN")] == [153, 97, 58, 15]  # 323
    assert [swaps.equivalent.count(1) for swaps in (german, french)] == [12, 9]
    assert {id_.split("/")[0] for id_ in german.ids + french.ids} == {"wmt19", "wmt21"}  # no byte-order marks
    assert all(before and after for before, after in german.words + french.words)
    assert "6 of 630 annotated distractors are not those of their corpus" in caplog.text
    assert "originals" not in caplog.text


def test_the_rule_finds_the_annotated_swaps_that_are_distractors_of_the_corpus(shared_data: Path) -> None:
    sets = read_clsd(str(shared_data / "clsd"), None, distractors=None)
    annotated = {
        swaps.name: swaps for swaps in read_annotated_swaps(str(shared_data / "clsd"), sets, keep_equivalent=True)
    }
    distractors = {swaps.target_lang: [text for row in swaps.distractors for text in row] for swaps in sets}
    for by_rule in find_swaps(sets, Tagger):
        of_corpus = set(distractors[by_rule.name])
        swapped = {text for text in annotated[by_rule.name].swapped if text in of_corpus}
        assert swapped - set(by_rule.swapped) == set()
        extra = {id_ for id_, text in zip(by_rule.ids, by_rule.swapped, strict=True) if text not in swapped}
        # clarté and dualité, l'UE and l'ONU: one token each to the rule, and not annotated.
        assert extra == (set() if by_rule.name == "deu" else {"wmt19/467/4", "wmt19/796/1"})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_is_read_in_any_encoding_and_order_of_columns(tmp_path: Path, encoding: str) -> None:
    marked = FRENCH | {"Dataset": "\ufeffwmt19"}
    path = table(tmp_path / "a.tsv", SWAP, ADDITION, marked, columns=sorted(COLUMNS), encoding=encoding)
    german, french = read_annotated_swaps(path, [CORPUS], keep_equivalent=True)
    assert (german.source, german.target, german.swapped) == (['Il dit "oui".'], ["Er sagt ja."], ["Er sagt nein."])
    assert (german.ids, german.words, german.tags) == (["wmt19/7/2"], [("ja", "nein")], ["PART"])
    assert (german.equivalent, german.additions) == ([0], 1)
    assert (french.ids, french.source, french.equivalent) == (["wmt19/7/1"], ["Er sagt ja."], [1])


def test_swaps_that_mean_the_same_can_be_dropped(tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv", SWAP, FRENCH)
    assert [swaps.name for swaps in read_annotated_swaps(path, [], keep_equivalent=False)] == ["deu"]
    with pytest.raises(ValueError, match="expected at least 1 swap, found none"):
        read_annotated_swaps(table(tmp_path / "b.tsv", FRENCH), [], keep_equivalent=False)


def test_files_and_folders_do(tmp_path: Path) -> None:
    german, french = table(tmp_path / "a.tsv", SWAP), table(tmp_path / "b.tsv", FRENCH)
    (tmp_path / "CLSD.csv").write_text("not a table of swaps")
    for inputs in ([german, french], str(tmp_path)):
        assert [swaps.name for swaps in read_annotated_swaps(inputs, [], keep_equivalent=True)] == ["deu", "fra"]


def test_words_are_those_the_annotation_names_where_more_than_a_token_differs(tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv", SWAP | {"AdversarialText": "Er sagt nein ."}, *many(9))
    assert read_annotated_swaps(path, [], keep_equivalent=True)[0].words == [("ja", "nein")] * 10


def test_swaps_that_are_none_are_refused(tmp_path: Path) -> None:
    rows = [row | {"AdversarialText": f"Ganz anderer Satz {row['RowIndex']}"} for row in many(2)]
    messages = r"a\.tsv:2: expected a distractor that differs from its original in one token, found .*; 2 of 11 swaps"
    with pytest.raises(ValueError, match=messages):
        read_annotated_swaps(table(tmp_path / "a.tsv", *rows, *many(9, start=20)), [], keep_equivalent=True)


@pytest.mark.parametrize(
    ("changed", "messages"),
    [
        ({"Operation": "Deletion"}, "expected the operation Swap or Addition, found 'Deletion'"),
        ({"POSTag": "NN"}, "expected a universal part of speech such as NOUN, found 'NN'"),
        ({"SemanticallyEquivalent": "2"}, "expected 0, 1 or nothing in SemanticallyEquivalent, found '2'"),
        ({"AdversarialExample": "de_adv"}, "expected a distractor such as de_adv3, found 'de_adv'"),
        ({"AdversarialExample": "es_adv1"}, "expected a distractor such as de_adv3, found 'es_adv1'"),
        ({"RowIndex": "seven"}, "expected a Dataset and the number of a row in it, found 'wmt19' and 'seven'"),
        ({"Dataset": ""}, "expected a Dataset and the number of a row in it, found '' and '7'"),
        ({"AdversarialText": " "}, "expected a text in AdversarialText, found none"),
        (
            {"AdversarialText": "Er sagt ja."},
            "expected an AdversarialText other than the original, found 'Er sagt ja.'",
        ),
        ({"AdversarialText": "Er sagt  ja. "}, "expected an AdversarialText other than the original"),
        (
            {"AdversarialExample": "de_adv2", "Dataset": "WMT19"},
            r"expected each distractor once, found wmt19/7/2 as in .*:2",
        ),
    ],
)
def test_a_row_that_is_not_as_it_should_be_is_named(tmp_path: Path, changed: dict[str, str], messages: str) -> None:
    path = table(tmp_path / "a.tsv", SWAP, SWAP | {"AdversarialExample": "de_adv4"} | changed)
    with pytest.raises(ValueError, match=rf"a\.tsv:3: {messages}"):
        read_annotated_swaps(path, [], keep_equivalent=True)


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"", r"a\.tsv:1: expected columns Dataset"),
        ("\t".join(COLUMNS[:-1]).encode(), r"a\.tsv:1: expected columns .*, found none called RowIndex"),
        ("\t".join(COLUMNS).encode() + b"\nwmt19\tSwap\n", r"a\.tsv:2: expected 11 columns by TAB, found 2"),
        (b"Dataset\n\xff\n", r"a\.tsv:2: expected UTF-8, found broken text"),
        ("Dataset\n".encode("utf-16") + b"\x00", r"a\.tsv:2: expected UTF-16, found broken text"),
        (b'"Dataset\tOperation\n', r"a\.tsv:1: expected cells by TAB, quoted if need be"),
    ],
)
def test_a_damaged_table_is_named(tmp_path: Path, content: bytes, messages: str) -> None:
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=messages):
        read_annotated_swaps(str(tmp_path), [], keep_equivalent=True)


def test_missing_tables_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.tsv"):
        with pytest.raises(FileNotFoundError, match="expected a table of annotated swaps"):
            read_annotated_swaps(str(path), [], keep_equivalent=True)


def test_a_table_of_another_corpus_is_refused(tmp_path: Path) -> None:
    messages = r"a\.tsv:2: expected the originals of row 7 of wmt19, found others; those of 1 of 1 rows"
    for name in ("wmt19", "WMT19"):
        path = table(tmp_path / "a.tsv", SWAP | {"OriginalTextFrench": 'Il dit: "oui".', "Dataset": name})
        with pytest.raises(ValueError, match=messages):
            read_annotated_swaps(path, [CORPUS], keep_equivalent=True)


def test_a_table_of_other_distractors_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv", SWAP, SWAP | {"AdversarialExample": "de_adv1"})
    messages = r"a\.tsv:3: expected the distractors of row 7 of wmt19, found others; those of 1 of 2 rows"
    with pytest.raises(ValueError, match=messages):
        read_annotated_swaps(path, [CORPUS], keep_equivalent=True)


def test_a_table_is_compared_with_the_corpus_of_its_own_languages(tmp_path: Path) -> None:
    path = table(tmp_path / "a.tsv", SWAP)
    english = ClsdSet("wmt19", "eng", "deu", ["7"], ["He says yes."], ["Er sagt ja."], [["Er ging.", "Er sagt nein."]])
    assert len(read_annotated_swaps(path, [CORPUS, english], keep_equivalent=True)) == 1


def test_a_distractor_that_is_another_in_the_corpus_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rows = [*many(9), many(1)[0] | {"AdversarialExample": "de_adv1"}, SWAP | {"Dataset": "wmt21"}]
    ids = [row["RowIndex"] for row in many(9)]
    corpus = replace(
        CORPUS, ids=ids, source=CORPUS.source * 9, target=CORPUS.target * 9, distractors=CORPUS.distractors * 9
    )
    read_annotated_swaps(table(tmp_path / "a.tsv", *rows), [corpus], keep_equivalent=True)
    assert "1 of 10 annotated distractors are not those of their corpus (deu wmt19/10/1)" in caplog.text


def test_swaps_are_found_by_rule_and_tagged() -> None:
    rows = [["Er sagt nein.", "Er sagt oft ja.", "Sie sagt nein.", "Er sagt."], ["Ich hier gehe.", "Er kommt."]]
    corpora = [
        ClsdSet("a", "fra", "deu", ["1", "2"], ["Il dit oui.", "Je vais."], ["Er sagt ja.", "Ich gehe."], rows),
        ClsdSet("b", "fra", "deu", ["1"], ["Il va."], ["Er geht."], [["Er kommt."]]),
        ClsdSet("b", "eng", "deu", ["1"], ["He goes."], ["Er geht."], [["Er kommt."]]),
        ClsdSet("b", "deu", "fra", ["1"], ["Er geht."], ["Il va."], [["Il vient."]]),
        ClsdSet("b", "deu", "eng", ["1"], ["Er geht."], ["He goes."], [["She is going home."]]),
    ]
    swap_sets = SwapReader(tagger=Tagger)(corpora, None, keep_equivalent=True)
    assert [swaps.name for swaps in swap_sets] == ["fra-deu", "eng-deu", "fra"]  # a target of two sources tells which
    assert (swap_sets[0].ids, swap_sets[0].words) == (["a/1/1", "b/1/1"], [("ja", "nein"), ("geht", "kommt")])
    # "oft" and "hier" are added; "Er sagt." has its full stop elsewhere, so that more than a token differs.
    assert (swap_sets[0].additions, swap_sets[0].equivalent, swap_sets[0].tags) == (2, [-1, -1], ["NOUN", "NOUN"])


def test_without_annotations_there_must_be_a_tagger_and_a_swap() -> None:
    with pytest.raises(ValueError, match=r"give evaluator\.annotations=FOLDER or evaluator\.swaps\.tagger"):
        SwapReader(tagger=None)([CORPUS], None, keep_equivalent=True)
    with pytest.raises(ValueError, match="none of the distractors of a differs from its original in one token"):
        find_swaps([ClsdSet("a", "fra", "deu", ["1"], ["Oui."], ["Ja."], [["Ja, ja."]])], Tagger)


def test_tags_of_a_treebank_are_refused() -> None:
    class Penn(Tagger):
        def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
            return [Annotation(("NN",) * len(words), ()) for words in sentences]

    with pytest.raises(
        ValueError, match="deu: expected universal parts of speech such as NOUN of the tagger, found 'NN'"
    ):
        find_swaps([CORPUS], Penn)
