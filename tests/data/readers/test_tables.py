"""Tables as people have them: the same pairs whatever the format, and a way out for those that cannot be read."""

import gzip
import logging
from pathlib import Path
from typing import Any

import pytest

from xsent.data.readers.labelled import read_labelled
from xsent.data.readers.parallel import SentencePair, read_tables
from xsent.data.readers.rejects import RejectLedger

LABELLED: dict[str, Any] = {"columns": None, "threshold": None, "source_lang": "en", "target_lang": "de"}
BITEXT: dict[str, Any] = {"columns": None, "source_lang": None, "target_lang": None}
BITEXT["pattern"] = r"(?P<source>[a-z]{2,3})-(?P<target>[a-z]{2,3})\.(tsv|csv|jsonl)(\.gz)?"


def written(folder: Path, name: str, text: str) -> Path:
    raw = text.encode("utf-8", "surrogatepass")
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return folder / name


def labelled(
    folder: Path, name: str, text: str, **options: Any
) -> tuple[list[tuple[str, str, int]], list[tuple[int, str]]]:
    """Source, target and label of the rows; line and reason of the rejects."""
    ledger = RejectLedger(strict=False)
    parts = read_labelled(ledger, str(written(folder, name, text)), **{**LABELLED, **options})
    rows = [(row.source, row.target, row.label) for row in parts["train"]()]
    return rows, [(reject.line, reject.reason) for reject in ledger.rejects]


def bitext(folder: Path, name: str, text: str, **options: Any) -> list[SentencePair]:
    path = written(folder, name, text)
    return list(read_tables(RejectLedger(strict=False), str(path), **{**BITEXT, **options}))


# Two rows: ("a b", "c, d", 1) and ("e", "f", 0).
SAME_PAIRS = [
    ("p.tsv", "a b\tc, d\t1\ne\tf\t0\n", {}),
    ("p.txt", "a b\tc, d\t1\ne\tf\t0\n", {}),
    ("p.tsv.gz", "a b\tc, d\t1\ne\tf\t0\n", {}),
    ("p.tsv", "\ufeffa b\tc, d\t1\r\ne\tf\t0\r\n", {}),
    ("p.tsv", "1\ta b\tc, d\n0\te\tf\n", {}),
    ("p.tsv", "a b\t1\tc, d\ne\t0\tf\n", {}),
    ("p.tsv", "gold\teins\tzwei\n1\ta b\tc, d\n0\te\tf\n", {}),
    ("p.tsv", "id\tsentence1\tsentence2\tlabel\n7\ta b\tc, d\t1\n8\te\tf\t0\n", {}),
    ("p.tsv", "a b\tc, d\tTRUE\ne\tf\tFalse\n", {}),
    ("p.tsv", "a b\tc, d\t3.0\ne\tf\t2.9\n", {"threshold": 3}),
    ("p.tsv", "c, d\t1\ta b\nf\t0\te\n", {"columns": [3, 1, 2]}),
    ("p.tsv", "x\ty\tz\tw\nc, d\t1\ta b\t9\nf\t0\te\t9\n", {"columns": [3, 1, 2]}),
    ("p.csv", '"a b","c, d",1\ne,f,0\n', {}),
    ("p.csv", '\ufeffQuestion2,Question1,is_duplicate\r\n"c, d",a b,1\r\nf,e,0\r\n', {}),
    ("p.csv", "source;target;label\na b;c, d;1\ne;f;0\n", {}),
    ("p.csv.gz", 'gold,left,right\n1,a b,"c, d"\n0,e,f\n', {"columns": ["left", "right", "gold"]}),
    ("p.jsonl", '{"source": "a b", "target": "c, d", "label": 1}\n{"source": "e", "target": "f", "label": 0}\n', {}),
    (
        "p.jsonl.gz",
        '{"y": true, "l": "a b", "r": "c, d"}\n{"y": false, "l": "e", "r": "f"}\n',
        {"columns": ["l", "r", "y"]},
    ),
    (
        "p.jsonl",
        '{"sentence1": "a b", "sentence2": "c, d", "score": 4.2}\n{"sentence1": "e", "sentence2": "f", "score": 0}\n',
        {"threshold": 3},
    ),
]


@pytest.mark.parametrize(("name", "text", "options"), SAME_PAIRS)
def test_all_formats_and_orders_of_columns_give_the_same_pairs(
    tmp_path: Path, name: str, text: str, options: dict[str, Any]
) -> None:
    assert labelled(tmp_path, name, text, **options) == ([("a b", "c, d", 1), ("e", "f", 0)], [])


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("p.tsv", "a\tb\nc\td\n", {}),
        ("p.tsv", "a\tb\t\nc\td\t\n", {}),  # each row ends with a TAB
        ("p.tsv", "source\ttarget\na\tb\nc\td\n", {}),
        ("p.csv", "anchor,positive\na,b\nc,d\n", {}),
        ("p.tsv", "9\ta\tb\n9\tc\td\n", {"columns": [2, 3]}),
        ("p.jsonl", '{"source": "a", "target": "b"}\n{"source": "c", "target": "d"}\n', {}),
    ],
)
def test_two_texts_without_a_label_are_positives(tmp_path: Path, name: str, text: str, options: dict[str, Any]) -> None:
    assert labelled(tmp_path, name, text, **options) == ([("a", "b", 1), ("c", "d", 1)], [])


def test_a_quoted_cell_may_span_lines_and_broken_quotes_cost_their_row_alone(tmp_path: Path) -> None:
    text = 'source,target,label\n"a ""b""\nc",d,1\n"x"y,z,0\ne,f,0\n\ng,h\n'
    rows, rejects = labelled(tmp_path, "p.csv", text)
    assert rows == [('a "b"\nc', "d", 1), ("e", "f", 0)]
    assert rejects == [(4, "broken quotes"), (6, "expected 3 columns"), (7, "expected 3 columns")]


def test_a_title_above_numbered_columns_goes_to_the_ledger(tmp_path: Path) -> None:
    rows, rejects = labelled(tmp_path, "p.tsv", "My pairs\n1\ta\tb\n0\tc\td\n", columns=[2, 3, 1])
    assert (rows, rejects) == ([("a", "b", 1), ("c", "d", 0)], [(1, "expected 3 columns")])


def test_a_header_in_the_middle_and_records_without_a_label_go_to_the_ledger(tmp_path: Path) -> None:
    rows, rejects = labelled(tmp_path, "p.tsv", "source\ttarget\tlabel\na\tb\t1\nsource\ttarget\tlabel\nc\td\t0\n")
    assert (len(rows), rejects) == (2, [(3, "expected a row")])
    lines = '{"source": "a", "target": "b", "label": 1}\n{"source": "c", "target": "d"}\n{"source": 1}\n'
    rows, rejects = labelled(tmp_path, "p.jsonl", lines)
    assert (len(rows), rejects) == (1, [(2, "expected a label"), (3, "expected texts `source` and `target`")])


def test_the_log_tells_which_names_of_a_header_are_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        labelled(tmp_path, "p.csv", "id,sentence1,sentence2,score\n1,a,b,5\n", threshold=3)
        labelled(tmp_path, "q.tsv", "eins\tzwei\tgleich\na\tb\t1\n")
    assert "p.csv:1: read as a header: source is sentence1, target is sentence2, label is score; not used: id" in (
        caplog.text
    )
    assert "q.tsv:1: read as a header: eins, zwei, gleich" in caplog.text


MISTAKES = [
    ("p.tsv", "", {}, r"p\.tsv:1: expected a row, found an empty file"),
    ("p.xlsx", "a", {}, r"p\.xlsx: expected \.tsv, \.csv, \.jsonl, plain or \.gz, found \.xlsx"),
    ("p.tsv", "a\tb\t4.5\n", {}, r"p\.tsv:1: expected label 0 .*, found '4\.5'; data\.threshold=3 reads scores"),
    ("p.tsv", "a\tb\t1\nc\td\tyes\n", {}, r"p\.tsv:2: expected label 0 or false .* or 1 or true .*, found 'yes'"),
    (
        "p.tsv",
        "a\tb\t4\nc\td\ttrue\n",
        {"threshold": 3},
        r"p\.tsv:2: expected a score \(data\.threshold=3\), found",
    ),
    ("p.tsv", "a\tb\n", {"threshold": 3}, r"p\.tsv:1: expected a label \(data\.threshold=3\), found two texts alone"),
    ("p.tsv", "a\tb\t1\n", {"threshold": "x"}, r"data\.threshold=x: expected a number"),
    ("p.tsv", "7\ta\tb\t1\n", {}, r"p\.tsv:1: found 4 columns, and 'b' where .*; data\.columns=\[2,3,4\] names source"),
    ("p.tsv", "1\ta\tb\tu\tv\n" * 3, {}, r"p\.tsv:1: found 5 columns: expected 2 or 3 or 4 or 6, .*data\.columns=\["),
    ("p.tsv", "a,b,1\n", {}, r"p\.tsv:1: expected two columns .*: 'a,b,1'; a file with ',' .* named \.csv"),
    (
        "p.csv",
        "l,r,gold\na,b,1\n",
        {"columns": ["l", "x", "gold"]},
        r"p\.csv:1: expected one column named x .* l, r",
    ),
    ("p.csv", "l,l,gold\na,b,1\n", {"columns": ["l", 2, "gold"]}, r"p\.csv:1: expected one column named l .*found 2"),
    ("p.csv", "source,src,target\na,b,c\n", {"columns": [2, 3, 9]}, r"p\.csv:1: expected at least 9 columns"),
    ("p.csv", "l,r,gold\na,b,1\n", {"columns": ["l", "r", 9]}, r"p\.csv:1: expected at least 9 columns"),
    ("p.csv", "a\nb\n", {}, r"p\.csv:1: expected two columns or more, found one: 'a'"),
    (
        "p.jsonl",
        '{"l": "a", "r": "b"}\n',
        {},
        r"p\.jsonl:1: expected texts `source` and `target`, found l, r; data",
    ),
    ("p.jsonl", '{"l": "a", "r": "b"}\n', {"columns": [1, 2]}, r"p\.jsonl: .* names of fields .*, found 1, 2"),
    ("p.tsv", "a\tb\t1\n", {"columns": [3]}, r"data\.columns=\[3\]: expected the names or numbers of source, target"),
    ("p.tsv", "a\tb\t1\n", {"columns": [0, 1]}, r"data\.columns=\[0,1\]: .*found 0, and numbers start at 1"),
    ("p.tsv", "a\tb\t1\n", {"columns": [1, 1]}, r"data\.columns=\[1,1\]: .*found a column twice"),
    ("p.tsv", "a\tb\t1\n", {"columns": "source"}, r"data\.columns=source: expected"),
    ("p.tsv", "a\tb\t1\n", {"columns": 3}, r"data\.columns=3: expected the names or numbers"),
    ("p.tsv", "a\tb\t1\n", {"source_lang": "xx"}, r"data\.source_lang: unknown language 'xx'"),
    (
        "p.csv",
        "label,source,target\n1,a,b\n",
        {"columns": ["label", "source", "target"]},
        r"data\.columns=\[label,source,target\]: .*found label in the place of source",
    ),
    (
        "p.csv",
        "source,source,target,label\na,b,c,1\n",
        {},
        r"p\.csv:1: .* for the source, found source, source; data\.columns",
    ),
    ("p.tsv", "source\ttarget\n" + "c\td\t1\n" * 3, {}, r"p\.tsv:1: this row has 2 columns, 3 of 3 have another"),
]


@pytest.mark.parametrize(("name", "text", "options", "message"), MISTAKES)
def test_a_table_that_cannot_be_read_says_where_what_and_the_way_out(
    tmp_path: Path, name: str, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        labelled(tmp_path, name, text, **options)
    assert "\n" not in str(caught.value)


# ---- translations


PAIR = ("one", "eins", "eng", "deu")


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("en-de.tsv", "one\teins\n", {}),
        ("en-de.csv.gz", 'one,"eins"\n', {}),
        ("en-de.tsv", "source\ttarget\norigin\tx\none\teins\n", {}),
        ("en-de.tsv", "eins\tone\n", {"columns": [2, 1]}),
        ("pairs.tsv", "one\teins\n", {"source_lang": "en", "target_lang": "deu_Latn"}),
        ("pairs.csv", "de,en\neins,one\n", {"columns": ["en", "de"], "source_lang": "en", "target_lang": "de"}),
        ("pairs.csv", "source,target,source_lang,target_lang\none,eins,en,de\n", {}),
        (
            "pairs.csv",
            "source,target,source_lang,target_lang\none,eins,en,\n",
            {"source_lang": "fr", "target_lang": "de"},
        ),
        ("pairs.jsonl", '{"source": "one", "target": "eins"}\n', {"source_lang": "en", "target_lang": "de"}),
    ],
)
def test_one_file_of_translations_is_read_in_any_format(
    tmp_path: Path, name: str, text: str, options: dict[str, Any]
) -> None:
    assert tuple(bitext(tmp_path, name, text, **options)[-1])[:4] == PAIR


def test_a_folder_may_hold_all_formats(tmp_path: Path) -> None:
    written(tmp_path, "en-de.tsv", "one\teins\n")
    written(tmp_path, "en-fr.csv", 'one,"un"\n')
    written(tmp_path, "en-es.jsonl", '{"source": "one", "target": "uno"}\n')
    pairs = read_tables(RejectLedger(strict=True), str(tmp_path), **BITEXT)
    assert [(pair.target, pair.target_lang) for pair in pairs] == [("eins", "deu"), ("uno", "spa"), ("un", "fra")]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        (
            "pairs.tsv",
            "one\teins\n",
            {},
            r"pairs\.tsv:1: expected source_lang and target_lang.*data\.source_lang=en",
        ),
        ("pairs.tsv", "one\teins\n", {"source_lang": "en"}, r"expected source_lang and target_lang"),
        (
            "en-de.tsv",
            "a\tb\n",
            {"source_lang": "de"},
            r"en-de\.tsv: data\.source_lang=de contradicts .*=\[2,1\]",
        ),
        ("en-de.tsv", "1\ta\tb\to\n", {}, r"en-de\.tsv:1: found 4 columns: expected 2 or 3.*data\.columns=\["),
        ("en-de.tsv", "", {}, r"en-de\.tsv:1: expected a row, found an empty file"),
        ("en-de.csv", "Src,tgt,Label\na,b,0\n", {}, r"en-de\.csv:1: .*labels \(Label\); .*columns=\[Src,tgt\]"),
        ("p.jsonl", '{"source": "a", "target": "b", "label": 1}\n', {}, r"p\.jsonl:1: .*found labels \(label\)"),
        ("en-de.jsonl", '{"en": "a", "de": "b"}\n', {}, r"en-de\.jsonl:1: .*found en, de; data\.columns=.*\[en,de\]"),
    ],
)
def test_translations_that_cannot_be_read_say_the_way_out(
    tmp_path: Path, name: str, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        bitext(tmp_path, name, text, **options)
    assert "\n" not in str(caught.value)


def test_a_third_column_of_labels_in_translations_warns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert bitext(tmp_path, "en-de.tsv", "one\teins\t1\n")[0].origin == "1"
    assert "column 3, 1, is read as the origin of pairs; data=labelled reads labels" in caplog.text
