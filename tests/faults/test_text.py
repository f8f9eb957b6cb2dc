"""Damaged and odd text: each line is used or in the ledger, and a file that cannot be read is named in one line."""

import gzip
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.conftest import INJECTIONS
from xsent.data.readers.divergences import read_candidates, read_divergences, read_seed_groups
from xsent.data.readers.labelled import read_labelled
from xsent.data.readers.lines import read_columns, read_json, read_lines, valid_lines
from xsent.data.readers.monolingual import read_sentences
from xsent.data.readers.parallel import read_jsonl, read_moses, read_opus_zip, read_tables
from xsent.data.readers.rejects import RejectLedger
from xsent.data.readers.ugc import read_lexnorm
from xsent.data.test_sets.clsd_files import read_rows
from xsent.data.test_sets.refresd import read_annotations
from xsent.jobs.bitext_reader import BitextReader
from xsent.jobs.bitext_reader import Columns as BitextColumns
from xsent.jobs.work_folder import open_work_folder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.model_files import read_json_or_none
from xsent.reporting.pages.run_folder import read_run
from xsent.run.errors import format_error
from xsent.text.distractors.llm.ledger import Ledger
from xsent.text.divergences.conllu import read_conllu
from xsent.text.noise.lexicons import from_folder

PATTERN = r"(?P<source>[a-z]{2,3})-(?P<target>[a-z]{2,3})\.(tsv|csv|jsonl)(\.gz)?"
LANGUAGES = {"source_lang": "en", "target_lang": "de"}
Lines = tuple[int, ...]


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


# ---- training data: what a reader uses, by lines; the ledger gets the rest


def bitext(ledger: RejectLedger, path: Path) -> Iterator[Any]:
    return read_tables(ledger, str(path), pattern=PATTERN, columns=None, source_lang=None, target_lang=None)


def jsonl(ledger: RejectLedger, path: Path) -> Iterator[Any]:
    return read_jsonl(ledger, str(path), columns=None, **LANGUAGES)


def labelled(ledger: RejectLedger, path: Path) -> Iterable[Any]:
    reader = read_labelled(ledger, str(path), columns=None, threshold=None, **LANGUAGES)
    return reader["train"]()


def monolingual(ledger: RejectLedger, path: Path) -> Iterator[Any]:
    return read_sentences(ledger, str(path), lang="en", column=0, common="a-z", common_share=0)


def moses(ledger: RejectLedger, path: Path) -> Iterator[Any]:
    """Both sides have this content."""
    partner = path.with_suffix(".de")
    partner.write_bytes(path.read_bytes())
    return read_moses(ledger, str(path.parent))


def opus(ledger: RejectLedger, path: Path) -> Iterator[Any]:
    with zipfile.ZipFile(path.with_suffix(".zip"), "w") as archive:
        for name in ("talks.en-de.en", "talks.en-de.de"):
            archive.write(path, name)
    return read_opus_zip(ledger, str(path.with_suffix(".zip")))


def filtered(ledger: RejectLedger, path: Path) -> Iterator[Any]:
    return iter(BitextReader(path, BitextColumns(1, 2, header=False), ledger))


TRAINING: dict[str, tuple[Callable[[RejectLedger, Path], Iterable[Any]], str]] = {
    "bitext tsv": (bitext, "en-de.tsv"),
    "bitext tsv.gz": (bitext, "en-de.tsv.gz"),
    "bitext csv": (bitext, "en-de.csv"),
    "bitext jsonl": (bitext, "en-de.jsonl"),
    "jsonl": (jsonl, "any.name"),
    "jsonl.gz": (jsonl, "any.gz"),
    "labelled tsv": (labelled, "pairs.tsv"),
    "labelled csv": (labelled, "pairs.csv"),
    "labelled jsonl": (labelled, "pairs.jsonl.gz"),
    "monolingual": (monolingual, "text.txt"),
    "monolingual gz": (monolingual, "text.txt.gz"),
    "moses": (moses, "talks.en-de.en"),
    "opus": (opus, "talks.en"),
    "filter": (filtered, "pairs.tsv"),
}


def read(kind: str, folder: Path, content: bytes) -> tuple[Lines, list[tuple[int, str, str]], RejectLedger, Path]:
    """Lines of the used rows; line, reason and content of the rejects; the ledger; the file."""
    reader, name = TRAINING[kind]
    ledger = RejectLedger(strict=False)
    path = write(folder / name, content)
    used = tuple(row.line for row in reader(ledger, path))
    return used, [(reject.line, reject.reason, reject.found) for reject in ledger.rejects], ledger, path


# ---- JSON: what Python's parser takes, or fails on without file and line

DEEP, LONG = "[" * 200_000, "9" * 5_000
ODD_JSON = {
    "no end of nesting": (DEEP, "more than 100 levels"),
    "nesting of objects": ('{"source": ' * 50_000, "more than 100 levels"),
    "nesting that Python takes": ("[" * 101 + "]" * 101, "more than 100 levels"),
    "nesting in an unused field": ('{"source": "a", "target": "b", "x": ' + "[" * 300 + "]" * 300 + "}", "100 levels"),
    "5,000 digits": ('{"source": "a", "target": "b", "x": ' + LONG + "}", "4300 digits"),
    "5,000 negative digits": ('{"source": "a", "target": "b", "x": [-' + LONG + "]}", "4300 digits"),
    "NaN": ('{"source": "a", "target": "b", "x": NaN}', "NaN, which is no JSON"),
    "Infinity": ('{"source": "a", "target": "b", "x": Infinity}', "Infinity, which is no JSON"),
    "-Infinity": ('{"source": "a", "target": "b", "x": [-Infinity]}', "-Infinity, which is no JSON"),
    "a key twice": ('{"source": "a", "source": "c", "target": "b"}', "the key 'source' twice"),
    "a key twice inside": ('{"source": "a", "target": "b", "x": {"y": 1, "y": 1}}', "the key 'y' twice"),
    "half a character": ('{"source": "a \\ud83d", "target": "b"}', "half a surrogate pair"),
    "the other half": ('{"source": "a", "target": "\\uDE00 b"}', "half a surrogate pair"),
    "half in a key": ('{"source": "a", "target": "b", "\\udfff": 1}', "half a surrogate pair"),
    "half in an unused field": ('{"source": "a", "target": "b", "x": ["\\ud800"]}', "half a surrogate pair"),
    "cut": ('{"source": "a", "tar', "Unterminated string"),
    "two values": ('{"source": "a", "target": "b"} {}', "Extra data"),
    "single quotes": ("{'source': 'a', 'target': 'b'}", "Expecting property name"),
    "a byte-order mark": ('\ufeff{"source": "a", "target": "b"}', "Expecting value"),
    "an empty line": ("", "Expecting value"),
    "a control character": ('{"source": "a\tb", "target": "b"}', "Invalid control character"),
}
NO_OBJECT = {"a list": "[1, 2]", "a text": '"a\\nb"', "a number": "7", "null": "null", "true": "true"}
GOOD = b'{"source": "a \\ud83d\\ude00", "target": "b"}'


@pytest.mark.parametrize("kind", ["jsonl", "bitext jsonl", "jsonl.gz", "labelled jsonl"])
@pytest.mark.parametrize("fault", [*ODD_JSON, *NO_OBJECT])
def test_an_odd_object_costs_its_line_alone(fault: str, kind: str, tmp_path: Path) -> None:
    line, found = ODD_JSON.get(fault) or (NO_OBJECT[fault], "")
    used, rejects, ledger, _ = read(kind, tmp_path, b"\n".join([GOOD, line.encode(), GOOD]) + b"\n")
    assert used == (1, 3)
    expected = "expected texts `source` and `target`" if fault in NO_OBJECT else "expected a JSON object"
    assert [(number, reason) for number, reason, _ in rejects] == [(2, expected)]
    assert found in rejects[0][2]
    assert len(rejects[0][2]) < 200
    ledger.write(tmp_path / "rejects.tsv")
    assert len((tmp_path / "rejects.tsv").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "c\rd", "\x07", "\u202egnp.exe", "\x9b2J", "\u2028", "a\0b"])
def test_control_characters_of_a_file_are_escaped_in_the_line_of_an_error(name: str, tmp_path: Path) -> None:
    content = json.dumps({name: "x"}).encode()
    with pytest.raises(ValueError, match=r"any\.name:1: expected texts `source` and `target`, ") as error:
        read("jsonl", tmp_path, content)
    line = format_error(error.value)
    assert line.isprintable()
    shown = " ".join(name.split())  # a line break is shown as a blank
    assert f"found {repr(shown)[1:-1]};" in line


# ---- test sets and other JSON lines: every line must be valid

DISTRACTORS = '{"id": "%d", "texts": {"deu": "Er kommt."}, "distractors": {"deu": ["Er geht."]}}'
SEEDS = (
    '{"seed": "%d", "kind": "seed", "side": "", "source": "a", "target": "b", "source_labels": "O",'
    ' "target_labels": "O", "note": "", "origin": ""}'
)
ANNOTATION = '{"id": "1", "annotator": "%d", "label": "unrelated", "source_highlights": "0", "target_highlights": "0"}'
STRICT_LINES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "distractors": (DISTRACTORS, lambda path: read_rows(path, distinct=True)),
    "divergences": (SEEDS, lambda path: read_divergences(str(path), None)),
    "groups of divergences": (SEEDS, lambda path: list(read_seed_groups(str(path)))),
    "annotations": (ANNOTATION, lambda path: read_annotations(str(path))),
}


@pytest.mark.parametrize("kind", STRICT_LINES)
@pytest.mark.parametrize("fault", [*ODD_JSON, *NO_OBJECT])
def test_an_odd_object_in_a_test_set_is_named_by_file_and_line(fault: str, kind: str, tmp_path: Path) -> None:
    good, reader = STRICT_LINES[kind]
    line = ODD_JSON[fault][0] if fault in ODD_JSON else NO_OBJECT[fault]
    path = tmp_path / "rows.jsonl"
    path.write_bytes("\n".join([good % 1, good % 2, line, good % 3]).encode())
    with pytest.raises(ValueError, match=r"rows\.jsonl:3: expected an? (JSON )?object.*found") as error:
        reader(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    path.write_bytes("\n".join([good % 1, good % 2, good % 3]).encode())
    assert reader(path)


@pytest.mark.parametrize("line", [DEEP, LONG, '{"key": ' + LONG + "}", "[1]", "null", "\udcff", "{"])
def test_an_odd_line_in_the_ledger_of_a_language_model_is_named_and_stays(line: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    content = b"".join([line.encode("utf-8", "surrogateescape"), b"\n", b"{"])
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"ledger\.jsonl:1: expected a JSON object, found"):
        Ledger(path, "model").load()
    assert path.read_bytes() == content


# ---- whole files of JSON


def _lexicons(path: Path) -> object:
    return from_folder(path.parent.parent)


def _manifest(path: Path) -> object:
    with open_work_folder(path.parent, {"a": 1}, keep=True) as work:
        return work


def _static(path: Path) -> object:
    for name in ("tokenizer.json", "vectors.safetensors"):
        (path.parent / name).write_bytes(b"")
    return StaticEncoder.load(name="x", path=str(path.parent))


WHOLE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "test set": ("set.json", read_json),
    "lexnorm": ("set.json", lambda path: read_lexnorm(str(path), lower_case=False, language="eng")),
    "word lists": ("replace_spelling/spell_errors.json", _lexicons),
    "figures of a run": ("metrics.json", lambda path: read_run(path.parent)),
    "manifest of a job": ("work/manifest.json", _manifest),
    "settings of a model": ("config.json", _static),
    "settings from the hub": ("config.json", read_json_or_none),
}
BROKEN = {
    "no end of nesting": DEEP,
    "nesting of objects": '{"a": ' * 50_000,
    "5,000 digits": '{"a": ' + LONG + "}",
    "cut": '{"a": "b",\n"c": ',
    "nothing": "",
    "NUL": "\0\0\0\0",
    "not UTF-8": '{"a": "\udcff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16").decode("utf-8", "surrogateescape"),
}
LOOSE = {
    "NaN": '{"a": NaN}',
    "a key twice": '{"a": 1,\n"a": 1}',
    "half a character": '{"a": "\\ud800"}',
    "deep": '{"a": ' + "[" * 150 + "]" * 150 + "}",
}
# NaN is what Python writes into a manifest; the settings of published models have infinity.
TAKEN = {("manifest of a job", "NaN"), *(("settings from the hub", fault) for fault in LOOSE)}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(fault, kind) for fault in (*BROKEN, *LOOSE) for kind in WHOLE if (kind, fault) not in TAKEN],
)
def test_an_odd_file_of_json_is_named(fault: str, kind: str, tmp_path: Path) -> None:
    name, reader = WHOLE[kind]
    content = (BROKEN | LOOSE)[fault].encode("utf-8", "surrogateescape")
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=rf"{path.name}(:\d)?: (expected (JSON|UTF-8)|broken UTF-8)") as error:
        reader(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600
    assert path.read_bytes() == content


# ---- UTF-16 and UTF-32, with and without a byte-order mark

STRICT_FILES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "test file": ("text.en", read_lines),
    "test file gz": ("text.en.gz", read_lines),
    "columns": ("rows.tsv", lambda path: read_columns(path, 2)),
    "candidates": ("rows.tsv", lambda path: read_candidates(str(path))),
    "CLSD csv": ("rows.csv", lambda path: read_rows(path, distinct=True)),
    "CLSD jsonl": ("rows.jsonl", lambda path: read_rows(path, distinct=True)),
    "JSON": ("set.json", read_json),
    "CoNLL-U": ("text.conllu", lambda path: list(read_conllu(path))),
    "lines of encode and noise": ("text.txt", lambda path: list(valid_lines(path, str(path), "none is skipped"))),
}
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
SCRIPTS = {"Latin": "The house\tDas Haus\nIt is old\tEs ist alt\n", "Chinese": "房子\t很旧\n房子\t很新\n"}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", [*TRAINING, *STRICT_FILES])
def test_utf16_and_utf32_are_refused_with_the_remedy(kind: str, encoding: str, script: str, tmp_path: Path) -> None:
    content = SCRIPTS[script].encode(encoding)

    def read_all() -> object:
        if kind in TRAINING:
            return read(kind, tmp_path, content)
        name, reader = STRICT_FILES[kind]
        return reader(write(tmp_path / name, content))

    with pytest.raises(ValueError, match=r":1: expected UTF-8, found .*; save the file as UTF-8$") as error:
        read_all()
    assert str(error.value).startswith(str(tmp_path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["a\0b\tc\nd\te\n", "a\tb\nc\td\0\ne\tf\n", "\ufeffa\tb\nc\td\n"])
def test_a_stray_nul_or_a_mark_of_utf8_is_no_utf16(content: str, tmp_path: Path) -> None:
    used, rejects, _, _ = read("bitext tsv", tmp_path, content.encode())
    assert (used, rejects) == (tuple(range(1, content.count("\n") + 1)), [])


# ---- one odd first line

PAIR = {"bitext tsv": "a\tb", "bitext csv": "a,b", "labelled tsv": "a\tb\t1", "labelled csv": "a,b,1", "filter": "a\tb"}
ODD_FIRST = ["title", "a\tb\tc\td\te", "a\tb\tc\t", "", "\t\t", "\xff", "#"]


@pytest.mark.parametrize("kind", PAIR)
@pytest.mark.parametrize("odd", ODD_FIRST)
def test_an_odd_first_line_costs_itself_alone(odd: str, kind: str, tmp_path: Path) -> None:
    first = (odd.replace("\t", ",") if kind.endswith("csv") else odd).encode("latin-1")
    rows = [PAIR[kind].encode()] * 9
    used, rejects, ledger, path = read(kind, tmp_path, b"\n".join([first, *rows]) + b"\n")
    assert used == tuple(range(2, 11))
    is_header = kind.startswith("labelled") and odd == "a\tb\tc\td\te"
    assert [number for number, _, _ in rejects] == ([] if is_header else [1])
    assert ledger.files == {str(path): 10}


@pytest.mark.parametrize("kind", ["bitext tsv", "labelled tsv"])
def test_a_header_below_an_odd_line_is_a_header(kind: str, tmp_path: Path) -> None:
    label = "source\ttarget\tlabel" if kind.startswith("labelled") else ""
    header = label or "target\tsource"
    text = f"My corpus of 2020\n{header}\n" + "\n".join([PAIR[kind]] * 5)
    used, rejects, _, path = read(kind, tmp_path, text.encode())
    assert (used, [number for number, _, _ in rejects]) == ((3, 4, 5, 6, 7), [1])
    reader, _ = TRAINING[kind]
    sides = {(row.source, row.target) for row in reader(RejectLedger(strict=False), path)}
    assert sides == {("a", "b") if label else ("b", "a")}


# ---- any bytes: used rows and rejects are the lines of the file, each once

PIECES = st.sampled_from(
    [
        *(
            b"a",
            b"\t",
            b"\n",
            b"\n",
            b"\r\n",
            b"\r",
            b"\0",
            b"\xff",
            "ü 房".encode(),
            b"\xef\xbb\xbf",
            b" ",
            b"1",
            b"0",
        ),
        *(b'"', b",", b";", GOOD, b'{"source": "x", "target": ""}', b"[", b"a\tb\n", b"a\tb\t1\n", b"a,b\n"),
    ]
)
CONTENT = st.one_of(
    st.binary(max_size=200),
    st.lists(PIECES, max_size=60).map(b"".join),
    st.tuples(st.lists(PIECES, max_size=30).map(b"".join), st.sampled_from([b"a\tb\n", b"a,b,1\n", GOOD + b"\n"])).map(
        lambda parts: parts[1] * 9 + parts[0] + parts[1] * 9
    ),
)
EXAMPLES = 100


@pytest.mark.parametrize("kind", [kind for kind in TRAINING if kind != "opus"])
def test_every_line_of_any_bytes_is_used_or_rejected_once(
    kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    completed, refusals = [], []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(CONTENT)
    def check(content: bytes) -> None:
        try:
            used, rejects, ledger, path = read(kind, tmp_path, content)
        except ValueError as error:
            refusals.append(str(error))
            return
        completed.append(content)
        lines = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
        assert ledger.files[str(path)] == lines
        rejected = [number for number, _, _ in rejects]
        numbers = sorted([*used, *rejected])
        if kind == "moses":  # both sides have the same broken lines
            numbers = sorted({*used, *rejected})
        assert list(used) == sorted(set(used))
        if kind.endswith("csv") and b'"' in content:  # a quoted cell spans lines
            assert len(set(numbers)) == len(numbers)
            assert set(numbers) <= set(range(1, lines + 1))
        else:
            left_out = set(range(1, lines + 1)) - set(numbers)
            assert len(numbers) == len(set(numbers)) == lines - len(left_out)
            assert len(left_out) <= (kind in ("labelled tsv", "labelled csv"))  # a header

    check()
    record_property(INJECTIONS, len(completed) + len(refusals))
    assert len(completed) > EXAMPLES // 10
    # A file that cannot be read at all, or a label that is none: named with its location, in one line.
    assert all(message.startswith(str(tmp_path)) and "\n" not in message for message in refusals)
