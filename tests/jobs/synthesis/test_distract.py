"""``xsent distract`` with the maker ``rules``: inputs, output, difficulty, errors."""

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from xsent.cli import main
from xsent.jobs.synthesis.distract import ALL, difficulty_by_language, edit_kind
from xsent.jobs.synthesis.distract_inputs import read_inputs
from xsent.text.distractors.json_format import DistractorRow

ENGLISH = ["Before Monday 14 people came to Paris.", "The old man did not buy 3 red cars in 1998.", "Hm."]
GERMAN = ["Vor Montag kamen 14 Menschen nach Paris.", "Der alte Mann kaufte 1998 keine 3 roten Autos.", "Hm."]


def written(path: Path, lines: Iterable[str]) -> Path:
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def distract(inputs: Sequence[str | Path], output: Path, *options: str) -> int:
    return main(["distract", *map(str, inputs), "-o", str(output), *options])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def summary(output: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(output.with_name(f"{output.name}.summary.json").read_text(encoding="utf-8"))
    return content


def last_message(caplog: pytest.LogCaptureFixture) -> str:
    return caplog.records[-1].getMessage()


@pytest.fixture
def english(tmp_path: Path) -> Path:
    return written(tmp_path / "text.en", ENGLISH)


@pytest.fixture
def german(tmp_path: Path) -> Path:
    return written(tmp_path / "text.de.gz", GERMAN)


# ---- output


def test_lines_of_two_files_become_rows_with_distractors_of_both_languages(
    english: Path, german: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl"
    assert distract([f"en={english}", f"deu={german}"], output) == 0
    table = rows(output)
    assert [row["id"] for row in table] == ["1", "2", "3"]
    assert [row["texts"] for row in table] == [
        {"eng": source, "deu": translation} for source, translation in zip(ENGLISH, GERMAN, strict=True)
    ]
    for row in table[:2]:
        assert list(row["distractors"]) == ["eng", "deu"]
        for language, distractors in row["distractors"].items():
            assert len({*distractors, row["texts"][language]}) == 5
            assert len(row["notes"][language]) == 4
    assert "distractors" not in table[2]


def test_texts_without_distractors_are_listed_with_the_reason(english: Path, german: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert distract([f"eng={english}", f"deu={german}"], output) == 0
    header, *failures, last = (tmp_path / "out.jsonl.failures.tsv").read_text(encoding="utf-8").split("\n")
    assert header.split("\t") == ["id", "language", "why", "text"]
    assert last == ""
    table = [line.split("\t") for line in failures]
    assert [(row[0], row[1], row[3]) for row in table] == [("3", "eng", "Hm."), ("3", "deu", "Hm.")]
    assert all(row[2] for row in table)
    counted = summary(output)
    assert counted["texts"]["made"] == {"eng": 2, "deu": 2}
    assert counted["texts"]["failed"] == {"deu": {table[1][2]: 1}, "eng": {table[0][2]: 1}}
    # Nothing fails any more: the list of the earlier run does not stay.
    assert distract([f"eng={written(tmp_path / 'two.en', ENGLISH[:2])}"], output) == 0
    assert not (tmp_path / "out.jsonl.failures.tsv").exists()


def test_the_summary_has_difficulty_kinds_and_inputs(english: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert distract([f"eng={english}"], output, "--seed", "7", "--count", "3") == 0
    content = summary(output)
    assert [len(row["distractors"]["eng"]) for row in rows(output)[:2]] == [3, 3]
    assert content["rows"] == 3
    assert sum(content["kinds"].values()) == 6
    assert content["jaccard"]["eng"]["original"]["n"] == 6
    assert 0 < content["jaccard"]["eng"]["original"]["mean"] < 1
    assert (content["maker"]["seed"], content["maker"]["count"]) == (7, 3)
    assert list(content["inputs"]) == [str(english)]
    assert content["versions"]["xsent"]


def test_the_same_seed_gives_the_same_file_and_another_seed_another(english: Path, tmp_path: Path) -> None:
    outputs = {}
    for name, options in {"one": [], "same": ["--seed", "42"], "other": ["--seed", "3"]}.items():
        assert distract([f"eng={english}"], tmp_path / f"{name}.jsonl", *options) == 0
        outputs[name] = (tmp_path / f"{name}.jsonl").read_bytes()
    assert outputs["one"] == outputs["same"] != outputs["other"]


def test_columns_of_one_file_are_read_and_blank_lines_left_out(tmp_path: Path) -> None:
    pairs = [f"{english}\t{german}" for english, german in zip(ENGLISH, GERMAN, strict=True)]
    file, output = written(tmp_path / "pairs.tsv", [pairs[0], "", pairs[1]]), tmp_path / "out.jsonl.gz"
    assert distract([f"en,de={file}"], output) == 0
    table = [json.loads(line) for line in gzip.decompress(output.read_bytes()).decode().split("\n")[:-1]]
    assert [(row["id"], row["texts"]["deu"]) for row in table] == [("1", GERMAN[0]), ("3", GERMAN[1])]


def test_existing_distractors_are_kept_unless_again_is_given(tmp_path: Path) -> None:
    existing = ["a", "b", "c", "d"]
    file = written(
        tmp_path / "in.jsonl",
        [json.dumps({"id": "x", "texts": {"eng": ENGLISH[0], "deu": GERMAN[0]}, "distractors": {"deu": existing}})],
    )
    output = tmp_path / "out.jsonl"
    assert distract([file], output) == 0
    (row,) = rows(output)
    assert list(row["distractors"]) == ["eng", "deu"]
    assert row["distractors"]["deu"] == existing
    assert summary(output)["texts"]["kept"] == {"deu": 1}
    assert distract([file], output, "--again", "--languages", "de") == 0
    (row,) = rows(output)
    assert list(row["distractors"]) == ["deu"]
    assert row["distractors"]["deu"] != existing


def test_a_complete_output_is_copied_unchanged(english: Path, tmp_path: Path) -> None:
    assert distract([f"eng={written(tmp_path / 'two.en', ENGLISH[:2])}"], tmp_path / "once.jsonl") == 0
    assert distract([tmp_path / "once.jsonl"], tmp_path / "twice.jsonl") == 0
    assert (tmp_path / "once.jsonl").read_bytes() == (tmp_path / "twice.jsonl").read_bytes()


def test_texts_of_other_languages_stay_without_distractors(english: Path, german: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    assert distract([f"eng={english}", f"jpn={german}"], output, "--languages", "eng") == 0
    assert [list(row.get("distractors", {})) for row in rows(output)] == [["eng"], ["eng"], []]


# ---- difficulty


def test_difficulty_equals_a_calculation_by_hand() -> None:
    # Words {aa bb cc} against {aa bb dd} and {aa ee ff}: 2/4 and 1/5; the distractors share 1 of 5 words.
    row = DistractorRow("1", {"eng": "aa bb cc"}, {"eng": ("aa bb dd", "aa ee ff")}, {})
    second = DistractorRow("2", {"deu": "aa bb"}, {"deu": ("aa cc",)}, {})
    difficulty = difficulty_by_language([row, second])
    assert list(difficulty) == ["eng", "deu", ALL]
    assert difficulty["eng"].original == pytest.approx((0.35, 0.15, 2))
    assert difficulty["eng"].intra == pytest.approx((0.2, 0.0, 2))
    assert difficulty[ALL].original == pytest.approx(((0.5 + 0.2 + 1 / 3) / 3, 0.122726, 3), abs=1e-6)


def test_the_released_items_have_the_difficulty_that_was_computed_from_them(
    shared_data: Path, fixtures_dir: Path
) -> None:
    file = shared_data / "clsd" / "CLSD_wmt2019_adversarial_dataset.csv"
    if not file.is_file():
        pytest.skip(f"no {file}")
    reference = json.loads((fixtures_dir / "clsd.json").read_text())["jaccard"]
    expected = reference["dataset_level(released data, computed here)"]["per_set"]
    difficulty = difficulty_by_language(read_inputs([str(file)]).rows)
    for language, name in (("deu", "wmt19_de"), ("fra", "wmt19_fr")):
        assert [round(spread.mean, 3) for spread in difficulty[language]] == expected[name]


def test_a_report_prints_the_difficulty_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "1", "texts": {"eng": "aa bb cc"}, "distractors": {"eng": ["aa bb dd", "aa ee ff"]}}
    file = written(tmp_path / "in.jsonl", [json.dumps(row)])
    assert main(["distract", str(file), "--report"]) == 0
    printed = capsys.readouterr().out
    assert "0.350 ± 0.150" in printed
    assert "0.516 ± 0.190" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_kind_is_read_from_a_note() -> None:
    assert edit_kind("number: 3:00 > 4:00") == "number"
    assert edit_kind("number: 3 > 5; entity: Rome > Paris") == "entity+number"
    assert edit_kind("whatever") == "whatever"


# ---- errors


@pytest.mark.parametrize(
    ("inputs", "options", "expected"),
    [
        (["text.en"], [], "text.en: expected LANG=FILE, LANG,LANG=FILE, FILE.jsonl or FILE.csv; a text file needs its"),
        (["eng=text.en", "en=text.de.gz"], [], "expected each language once, found eng twice"),
        (["english=nowhere.en"], [], "unknown language 'english'"),
        (["eng=nowhere.en"], [], "nowhere.en: expected a text file, found none"),
        (["nowhere.jsonl"], [], "nowhere.jsonl: expected a file of texts with their distractors, found none"),
        (["eng=text.en", "deu=short.de"], [], "expected files with the same number of lines"),
        (["eng=text.en", "deu=gap.de"], [], "gap.de:2: expected a text in deu"),
        (["eng,deu=text.en"], [], "text.en:1: expected 2 tab-separated columns, found 1"),
        (["eng=empty"], [], "empty: expected at least one text, found none"),
        (["eng=broken.en"], [], "broken.en:1: broken UTF-8"),
        (["eng=text.en", "rows.jsonl"], [], "rows.jsonl: expected LANG=FILE like the other inputs"),
        (["rows.jsonl", "again.jsonl"], [], "again.jsonl:1: expected each id once, found '1' as in rows.jsonl:1"),
        (["rows.jsonl", "rows.jsonl"], [], "rows.jsonl:1: expected each id once, found '1' as in rows.jsonl:1"),
        (["noted.jsonl"], [], "noted.jsonl:1: expected notes of one of the distractors (none), found some in fra"),
        (["german.jsonl"], [], "german.jsonl:1: expected notes of one of the distractors (none), found some in deu"),
        (["torn.jsonl"], [], "torn.jsonl:1: expected a JSON object"),
        (["three.jsonl"], [], "three.jsonl:1: expected 4 distractors in deu like the others, found 3; --again"),
        (["eng=text.en", "jpn=text.de.gz"], [], "no rules for jpn: expected languages of "),
        (["eng=text.en"], ["--languages", "fra"], "languages fra: expected some of the input's, eng"),
        (["eng=text.en"], ["--languages", "xx1"], "unknown language 'xx1'"),
        (["eng=text.en"], ["--count", "0"], "maker.count=0: expected an integer of at least 1"),
        (["eng=text.en"], ["--model", "some"], "--model: this maker has no such value, only count, seed, kinds"),
        (["eng=text.en"], ["--dry-run"], "--dry-run: only the maker llm has costs; see --maker"),
        (["eng=text.en"], ["--maker", "magic"], "maker=magic: expected one of llm, rules"),
        (["eng=text.en"], ["--set", "maker.combined=true"], "maker.combined"),
        (["eng=text.en"], ["--set", "languages=eng"], "languages=eng: expected a list such as [deu,fra]"),
        (["eng=text.en"], ["--set", "languages=[3]"], "languages=[3]: expected a list such as [deu,fra]"),
        (["eng=text.en"], ["--set", "languages=[]"], "languages=[]: expected a list such as [deu,fra]"),
        (["eng=text.en"], ["--set", "again=perhaps"], "again=perhaps: expected true or false"),
        (["eng=text.en"], ["--set", "maker.count=2.5"], "maker.count=2.5: expected an integer"),
        (["eng=text.en"], ["--set", "maker.kinds=null"], "maker.kinds: expected a value, maker.kinds=..."),
        (["eng=text.en"], ["--set", "maker.combine=3"], "maker.combine=3: expected true or false"),
        (["eng=text.en"], ["--set", "published=null"], "published=None: expected a list"),
        (["eng=text.en"], ["--set", "published=[3]"], "published[0]=3: expected name, original and intra"),
        (
            ["eng=text.en"],
            ["--set", "published=[{name: some, original: [0.5, 0.2], intra: [null, null]}]"],
            "published[0].intra=[None, None]: expected a mean and a standard deviation or null",
        ),
    ],
)
def test_invalid_options_are_errors_of_one_line_before_any_work(
    english: Path,
    german: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    inputs: list[str],
    options: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "short.de", GERMAN[:2])
    written(tmp_path / "gap.de", [GERMAN[0], " ", GERMAN[2]])
    written(tmp_path / "empty", [])
    (tmp_path / "broken.en").write_bytes(b"caf\xe9\n")
    row = {"id": "1", "texts": {"deu": GERMAN[0]}}
    for name in ("rows.jsonl", "again.jsonl"):
        written(tmp_path / name, [json.dumps(row)])
    written(tmp_path / "noted.jsonl", [json.dumps({**row, "notes": {"fra": []}})])
    written(tmp_path / "german.jsonl", [json.dumps({"id": "1", "texts": {"de": GERMAN[0]}, "notes": {"deu": []}})])
    written(tmp_path / "torn.jsonl", [json.dumps(row)[:20]])
    written(tmp_path / "three.jsonl", [json.dumps({**row, "distractors": {"deu": ["a", "b", "c"]}})])
    before = sorted(path.name for path in tmp_path.iterdir())
    assert distract(inputs, tmp_path / "out.jsonl", *options) == 1
    assert expected in last_message(caplog)
    assert "\n" not in last_message(caplog)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_invalid_output_is_an_error_before_any_work(
    english: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path / "in.jsonl", [json.dumps({"id": "1", "texts": {"eng": ENGLISH[0]}})])
    content = file.read_bytes()
    assert distract([file], file) == 1
    assert last_message(caplog) == f"{file}: expected different files to read and write, found the input {file}"
    assert file.read_bytes() == content
    assert distract([file], tmp_path / "nowhere" / "out.jsonl") == 1
    assert last_message(caplog) == f"{tmp_path / 'nowhere'}: no such folder for the output"
    assert distract([file], tmp_path) == 1
    assert last_message(caplog) == f"{tmp_path}: expected a file to write, found a folder"
    for name in ("out.csv", "out.gz", "out"):  # a file that is called CSV would be read as one
        assert distract([file], tmp_path / name) == 1
        assert last_message(caplog).startswith(f"{tmp_path / name}: expected a name that ends in .jsonl or .jsonl.gz")
        assert not (tmp_path / name).exists()


def test_a_report_of_texts_without_distractors_is_an_error(english: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert main(["distract", f"eng={english}", "--report"]) == 1
    assert last_message(caplog) == f"{english}: expected distractors to report on, found none"
