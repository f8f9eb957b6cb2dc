"""Semantic similarity files in their published forms."""

from pathlib import Path

import pytest

from tests.helpers import existing
from xsent.data.readers.sts import read_sts17, read_stsb


def write(path: Path, *lines: str) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


@pytest.fixture
def sts17(tmp_path: Path) -> Path:
    write(tmp_path / "STS.input.track2.ar-en.txt", 'a "dog\tكلب', "a cat\tقط")
    write(tmp_path / "STS.gs.track2.ar-en.txt", "4.800000", "5")
    write(tmp_path / "STS.input.track4a.es-en.txt", "un perro\ta dog")
    write(tmp_path / "STS.gs.track4a.es-en.txt", "0.2")
    write(tmp_path / "STS.input.track4b.es-en.txt", "otro\tother")
    write(tmp_path / "STS.gs.track4b.es-en.txt", "1")
    write(tmp_path / "STS.en-de.txt", "a dog\tein Hund\t4.2", "a cat\tkein Hund\t0")
    write(tmp_path / "STS.es-es.txt", "perro\tgato\t1.5")
    return tmp_path


def test_published_and_extended_files_are_read_from_one_folder(sts17: Path) -> None:
    by_name = {pairs.name: pairs for pairs in read_sts17(str(sts17), None)}
    assert set(by_name) == {"eng-ara", "eng-spa", "eng-deu", "spa-spa"}
    assert by_name["eng-ara"].source == ['a "dog', "a cat"]
    assert by_name["eng-ara"].gold == [4.8, 5.0]
    assert by_name["eng-deu"].target == ["ein Hund", "kein Hund"]
    assert by_name["eng-deu"].gold == [4.2, 0.0]


@pytest.mark.parametrize("pair", ["en-ar", "ar-en", "eng-arb"])
def test_a_pair_may_be_asked_for_in_any_code_and_order(sts17: Path, pair: str) -> None:
    (scored,) = read_sts17(str(sts17), [pair])
    assert scored.name == "eng-ara"


def test_of_track_4_the_first_part_is_read(sts17: Path) -> None:
    (scored,) = read_sts17(str(sts17), ["en-es"])
    assert scored.source == ["un perro"]


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("STS.input.track2.ar-en.txt", ["one", "two\tthree"], r"ar-en\.txt:1: expected 2 columns by TAB, found 1"),
        ("STS.gs.track2.ar-en.txt", ["5"], r"has 2 lines, .*gs\.track2.* has 1"),
        ("STS.gs.track2.ar-en.txt", ["5", "6"], r"gs\.track2\.ar-en\.txt:2: expected a score from 0 to 5, found '6'"),
        ("STS.gs.track2.ar-en.txt", ["nan", "5"], r"gs\.track2\.ar-en\.txt:1: expected a score from 0 to 5"),
        ("STS.en-de.txt", ["a\tb"], r"STS\.en-de\.txt:1: expected 3 columns by TAB, found 2"),
        ("STS.en-de.txt", ["4.2\ta\tb"], r"STS\.en-de\.txt:1: expected a score from 0 to 5, found 'b'"),
        ("STS.en-de.txt", [], r"STS\.en-de\.txt: .*found an empty file"),
    ],
)
def test_a_broken_line_is_named_with_its_file(sts17: Path, file: str, lines: list[str], message: str) -> None:
    write(sts17 / file, *lines)
    with pytest.raises(ValueError, match=message):
        read_sts17(str(sts17), None)


def test_a_track_without_gold_scores_is_named(sts17: Path) -> None:
    (sts17 / "STS.gs.track2.ar-en.txt").unlink()
    with pytest.raises(ValueError, match=r"expected STS\.gs\.track2\.ar-en\.txt beside it"):
        read_sts17(str(sts17), ["en-ar"])


def test_a_missing_pair_or_folder_is_named(sts17: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no files for eng-tur; there are eng-ara, eng-deu, eng-spa, spa-spa"):
        read_sts17(str(sts17), ["en-de", "en-tr"])
    with pytest.raises(FileNotFoundError, match=r"evaluator\.root="):
        read_sts17(str(sts17 / "nowhere"), None)
    with pytest.raises(ValueError, match="pair 'en': expected two language codes"):
        read_sts17(str(sts17), ["en"])


def test_stsb_has_seven_or_nine_columns_and_quotes_mean_nothing(tmp_path: Path) -> None:
    head = "main-captions\tMSRvid\t2012test\t0001"
    write(
        tmp_path / "sts-test.csv", f'{head}\t5.000\t"A man.\tA man.', f"{head}\t0.5\tA dog.\tA cat.\thttp://a\thttp://b"
    )
    (scored,) = read_stsb(str(tmp_path), None, part="test")
    assert scored.name == "eng-eng"
    assert scored.source == ['"A man.', "A dog."]
    assert scored.target == ["A man.", "A cat."]
    assert scored.gold == [5.0, 0.5]


def test_a_broken_stsb_file_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path / "sts-dev.csv", "a\tb\tc\td\t5\ts1\ts2", "a\tb\tc\td\t5\ts1\ts2\ts3")
    with pytest.raises(ValueError, match=r"sts-dev\.csv:2: expected 7 or 9 columns by TAB, found 8"):
        read_stsb(str(tmp_path), None, part="dev")
    write(tmp_path / "sts-dev.csv", "a\tb\tc\td\tfive\ts1\ts2")
    with pytest.raises(ValueError, match=r"sts-dev\.csv:1: expected a score from 0 to 5, found 'five'"):
        read_stsb(str(tmp_path), ["en-en"], part="dev")
    with pytest.raises(FileNotFoundError, match=r"sts-test\.csv"):
        read_stsb(str(tmp_path), None, part="test")
    with pytest.raises(FileNotFoundError, match="expected eng-eng, the only pair of this set, found de-de"):
        read_stsb(str(tmp_path), ["en-en", "de-de"], part="dev")


def test_the_column_with_english_words_is_english(shared_data: Path) -> None:
    tracks = read_sts17(str(existing(shared_data / "sts17")), None)
    assert {pairs.name: (pairs.source_lang, pairs.target_lang) for pairs in tracks} == {
        "ara-ara": ("ara", "ara"),
        "eng-ara": ("eng", "ara"),
        "eng-eng": ("eng", "eng"),
        "eng-spa": ("spa", "eng"),  # track4a.es-en
        "spa-spa": ("spa", "spa"),
    }


def test_the_published_files_have_the_published_sizes(shared_data: Path) -> None:
    assert {len(pairs.gold) for pairs in read_sts17(str(existing(shared_data / "sts17")), None)} == {250}
    sizes = [len(read_stsb(str(existing(shared_data / "stsb")), None, part=part)[0].gold) for part in ("dev", "test")]
    assert sizes == [1500, 1379]
