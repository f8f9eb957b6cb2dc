"""Files of semantic discrimination: the released CSV form, and JSON lines of any languages."""

import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from xsent.data.test_sets.clsd import ClsdSet, read_clsd
from xsent.data.test_sets.clsd_files import read_rows

HEADER = "Index,French,German,de_adv1,de_adv2,fr_adv1,fr_adv2"
ROWS = ('0,"Un, deux",Eins,Zwei,Drei,Trois,"Quatre ""x"""', "1,Bleu,Blau,Rot,Gelb,Rouge,Jaune")
RELEASED = "CLSD_wmt2019_adversarial_dataset.csv"


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    return write(path, *(json.dumps({"id": str(number)} | row) for number, row in enumerate(rows)))


def read(root: Path, directions: Sequence[str] | None = None, distractors: int | None = None) -> list[ClsdSet]:
    return read_clsd(str(root), directions, distractors=distractors)


def names(sets: Sequence[ClsdSet]) -> list[str]:
    return [f"{clsd.name} {clsd.direction}" for clsd in sets]


# ---- the released form


def test_both_directions_are_read_with_the_distractors_of_the_candidates(tmp_path: Path) -> None:
    to_french, to_german = read(write(tmp_path / RELEASED, HEADER, *ROWS))
    assert to_french == ClsdSet(
        "wmt19",
        "deu",
        "fra",
        ["0", "1"],
        ["Eins", "Blau"],
        ["Un, deux", "Bleu"],
        [["Trois", 'Quatre "x"'], ["Rouge", "Jaune"]],
    )
    assert (to_german.source, to_german.target) == (to_french.target, to_french.source)
    assert to_german.distractors == [["Zwei", "Drei"], ["Rot", "Gelb"]]


def test_the_sets_come_in_the_order_of_the_paper(tmp_path: Path) -> None:
    for year in ("2021", "2019"):
        write(tmp_path / f"CLSD_wmt{year}_adversarial_dataset.csv", HEADER, *ROWS)
    assert names(read(tmp_path)) == ["wmt19 deu-fra", "wmt21 deu-fra", "wmt19 fra-deu", "wmt21 fra-deu"]


@pytest.mark.parametrize("direction", ["fr-de", "fra-deu", "fra_Latn-de_DE"])
def test_a_direction_may_be_asked_for_in_any_codes(tmp_path: Path, direction: str) -> None:
    assert names(read(write(tmp_path / RELEASED, HEADER, *ROWS), [direction])) == ["wmt19 fra-deu"]


def test_directions_come_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    sets = read(write(tmp_path / RELEASED, HEADER, *ROWS), ["fr-de", "de-fr"])
    assert names(sets) == ["wmt19 fra-deu", "wmt19 deu-fra"]


def test_translated_files_and_other_files_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / RELEASED, HEADER, *ROWS)
    write(tmp_path / f"MT_M2M_{RELEASED}", "no such form")
    write(tmp_path / "DE_wmt1921_swaps_ner_pos.tsv", "no such form")
    assert names(read(tmp_path)) == ["wmt19 deu-fra", "wmt19 fra-deu"]


def test_windows_line_ends_an_empty_record_an_unnamed_column_and_a_byte_order_mark_change_nothing(
    tmp_path: Path,
) -> None:
    plain = read(write(tmp_path / RELEASED, HEADER, *ROWS))
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    lines = [f",{HEADER}", f"0,{ROWS[0]}", "", f"1,{ROWS[1]}"]
    path = write(other_folder / RELEASED, *lines, end="\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read(path) == plain


def test_a_cell_may_have_a_line_end_and_messages_name_the_line_where_its_record_begins(tmp_path: Path) -> None:
    path = write(
        tmp_path / RELEASED, HEADER, '0,"Un\ndeux",Eins,Zwei,Drei,Trois,Quatre', '1,"Bl\neu",Blau,Rot,Rot,Rouge,Jaune'
    )
    with pytest.raises(ValueError, match=r"dataset\.csv:4: expected different distractors in deu"):
        read(path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], r"csv:1: expected a header, found an empty file"),
        ([HEADER], r"csv: expected at least 1 row, found none"),
        (["Index,French,German,de_adv1,fr_adv1,fr_adv2", *ROWS], r"csv:1: expected the columns .*, found no de_adv2"),
        (["Index,French,de_adv1,fr_adv1"], r"csv:1: .*found no German"),
        (["Index,French,German"], r"csv:1: .*found no fr_adv1, de_adv1"),
        ([HEADER.replace("German", "French")], r"csv:1: expected each column once, found French twice"),
        ([HEADER, ROWS[0], "1,Bleu,Blau,Rot,Gelb,Rouge"], r"csv:3: expected 7 columns, found 6"),
        (
            [HEADER, "1,Bleu,Blau,Rot,,Rouge,Jaune"],
            r"csv:2: expected a text and 2 distractors in deu, found de_adv2 with",
        ),
        ([HEADER, "1, ,Blau,Rot,Gelb,Rouge,Jaune"], r"csv:2: .* in fra, found French without words"),
        ([HEADER, "1,Bleu,Blau,Rot,Blau,Rouge,Jaune"], r"csv:2: distractor 2 in deu equals the text itself: 'Blau'"),
        ([HEADER, "1,Bleu,Blau,Rot,Gelb,Rouge,Rouge"], r"csv:2: expected different distractors in fra, found a dup"),
        ([HEADER, ROWS[0], ROWS[1], "0,a,b,c,d,e,f"], r"csv:4: expected each id once, found '0' as in .*csv:2"),
        ([HEADER, ROWS[0], '1,"Bleu"x,Blau,Rot,Gelb,Rouge,Jaune'], r"csv:3: expected cells by comma, quoted as in CSV"),
        ([HEADER, ROWS[0], '1,"Bleu,Blau,Rot,Gelb,Rouge,Jaune'], r"csv:3: expected cells by comma, quoted as in CSV"),
    ],
)
def test_a_file_of_another_form_is_named_with_its_line(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / RELEASED, *lines))


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = write(tmp_path / RELEASED, HEADER, ROWS[0])
    path.write_bytes(path.read_bytes() + b"1,Ble\xfc,Blau,Rot,Gelb,Rouge,Jaune\n")
    with pytest.raises(ValueError, match=r"csv:3: expected UTF-8, found the byte 0xfc"):
        read(path)


def test_a_number_of_distractors_can_be_demanded(tmp_path: Path) -> None:
    path = write(tmp_path / RELEASED, HEADER, *ROWS)
    assert read(path, distractors=2)
    with pytest.raises(
        ValueError, match=r"csv:2: expected 4 distractors in fra, as evaluator.read.distractors says, found 2"
    ):
        read(path, distractors=4)
    with pytest.raises(ValueError, match=r"evaluator\.read\.distractors=0: expected at least 1, or null"):
        read(path, distractors=0)


def test_files_of_a_folder_have_the_same_number_of_distractors(tmp_path: Path) -> None:
    first = write(tmp_path / RELEASED, HEADER, *ROWS)
    second = write_rows(tmp_path / "some.jsonl", {"texts": {"deu": "a", "fra": "b"}, "distractors": {"fra": ["c"]}})
    message = rf"{re.escape(str(second))}: expected 2 distractors of each text, as in {re.escape(str(first))}, found 1"
    with pytest.raises(ValueError, match=message):
        read(tmp_path)


# ---- JSON lines

ROW = {"texts": {"en": "one", "deu": "eins", "spa": "uno"}, "distractors": {"en": ["two"], "spa": ["dos"]}}


def test_every_ordered_pair_whose_second_language_has_distractors_is_a_direction(tmp_path: Path) -> None:
    sets = read(write_rows(tmp_path / "flores.jsonl", ROW))
    assert names(sets) == [f"flores {pair}" for pair in ("deu-eng", "deu-spa", "eng-spa", "spa-eng")]
    assert sets[0] == ClsdSet("flores", "deu", "eng", ["0"], ["eins"], ["one"], [["two"]])


def test_a_row_is_no_item_of_a_direction_whose_texts_or_distractors_it_lacks(tmp_path: Path) -> None:
    second = {"texts": {"eng": "red", "deu": "rot"}, "distractors": {"eng": ["blue"]}}
    third = {"texts": {"eng": "we", "deu": "wir", "spa": "nosotros"}, "distractors": {"spa": ["ellos"]}}
    ids = {clsd.direction: clsd.ids for clsd in read(write_rows(tmp_path / "some.jsonl", ROW, second, third))}
    assert ids == {"deu-eng": ["0", "1"], "deu-spa": ["0", "2"], "eng-spa": ["0", "2"], "spa-eng": ["0"]}


def test_a_gzipped_file_reads_as_its_content(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "flores.jsonl", ROW)
    packed = tmp_path / "packed" / "flores.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == read(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"texts": {"eng": "a"}, "distractors": {"eng": ["b", "c"]}},
            r"2: expected 1 distractors in eng, as the first",
        ),
        ({"texts": {"eng": "a"}, "distractors": {"eng": ["a"]}}, r"2: distractor 1 in eng equals the text itself"),
        ({"texts": {"eng": "a", "en": "b"}}, r"2: expected one text in each language, found eng, en"),
        ({"texts": {"xx": "a"}}, r"2: unknown language 'xx'"),
        ({"texts": {"eng": "a"}, "id": "0"}, r"2: expected each id once, found '0' as in .*jsonl:1"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"some\.jsonl:{message}"):
        read(write_rows(tmp_path / "some.jsonl", ROW, row))


def test_rows_for_other_work_may_have_any_number_of_distractors(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "some.jsonl", ROW, {"texts": {"de": "eins"}})
    rows = [row for _, row in read_rows(path, distinct=True)]
    assert [row.texts for row in rows] == [{"eng": "one", "deu": "eins", "spa": "uno"}, {"deu": "eins"}]
    assert rows[1].distractors == {}


# ---- what is not there


def test_a_direction_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no items of deu-spa; there are deu-fra, fra-deu"):
        read(write(tmp_path / RELEASED, HEADER, *ROWS), ["de-es"])


@pytest.mark.parametrize("direction", ["de", "de-", "-fr"])
def test_a_direction_is_two_languages(tmp_path: Path, direction: str) -> None:
    with pytest.raises(ValueError, match=r"evaluator\.directions: expected two languages such as deu-fra, found"):
        read(write(tmp_path / RELEASED, HEADER, *ROWS), [direction])


def test_rows_of_one_language_have_no_direction(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no items of any direction; there are none"):
        read(write_rows(tmp_path / "some.jsonl", {"texts": {"eng": "a"}, "distractors": {"eng": ["b"]}}))


def test_a_missing_file_an_empty_folder_and_another_ending_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere: expected a file or folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"expected files of \.csv"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"some\.tsv: expected a file of \.csv"):
        read(write(tmp_path / "some.tsv", "a"))
    with pytest.raises(FileNotFoundError, match=r"gone\.jsonl: expected a file"):
        read_rows(tmp_path / "gone.jsonl", distinct=True)


def test_two_files_of_one_corpus_are_named(tmp_path: Path) -> None:
    write(tmp_path / RELEASED, HEADER, *ROWS)
    write_rows(tmp_path / "wmt19.jsonl", ROW)
    with pytest.raises(ValueError, match=r"wmt19\.jsonl: expected one file of wmt19, found CLSD_wmt2019"):
        read(tmp_path)


# ---- the released files


def test_the_released_file_has_1473_items_in_each_direction_with_four_distractors(shared_data: Path) -> None:
    to_french, to_german = read(shared_data / "clsd")
    assert names([to_french, to_german]) == ["wmt19 deu-fra", "wmt19 fra-deu"]
    for clsd in (to_french, to_german):
        assert clsd.ids == [str(number) for number in range(1473)]
        assert {len(row) for row in clsd.distractors} == {4}
    assert to_french.source[1].startswith("Die Linkspartei beschließt in Bonn")
    assert to_french.target[1].startswith("A Bonn, le parti die Linke")
