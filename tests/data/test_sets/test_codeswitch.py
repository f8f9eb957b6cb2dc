from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.data.modules.test_bitext import OPTIONS
from xsent.data.modules.bitext import BitextData
from xsent.data.readers.parallel import SentencePair
from xsent.data.readers.rejects import RejectLedger
from xsent.data.readers.tatoeba import TestBitext
from xsent.data.test_sets.codeswitch import CodeSwitched, CodeSwitchedHeldOut
from xsent.data.test_sets.heldout import HeldOut

GERMAN = ["Der Hund schläft.", "Xyz!", "Die Katze schläft.", "Der Hund und die Katze schlafen."]
ENGLISH = ["The dog sleeps.", "Xyz!", "The cat sleeps.", "The dog and the cat sleep."]


@pytest.fixture
def dictionaries(tmp_path: Path) -> Path:
    folder = tmp_path / "muse"
    folder.mkdir()
    (folder / "de-en.txt").write_text("hund dog\nkatze cat\nschläft sleeps\nschläft slumbers\n")
    (folder / "fr-en.txt").write_text("chien\tdog\n")
    return folder


def read(root: str | None, languages: Sequence[str] | None) -> list[TestBitext]:
    return [TestBitext("deu-eng", "deu", "eng", GERMAN, ENGLISH), TestBitext("jpn-eng", "jpn", "eng", ["犬"], ["dog"])]


def reader(dictionaries: Path, kind: type[CodeSwitched] = CodeSwitched, **changes: Any) -> Any:
    options: dict[str, Any] = {"dictionaries": str(dictionaries), "out": str(dictionaries.parent / "out")}
    options |= {"read": read, "rate": 0.5, "force_one": True, "casing": "keep", "pairs_per_language": 1000, "seed": 1}
    return kind(**options | changes)


def test_the_other_language_is_switched_and_what_cannot_be_is_left_out(dictionaries: Path) -> None:
    (bitext,) = reader(dictionaries, rate=1.0)(None, None)
    assert (bitext.name, bitext.source_lang, bitext.target_lang) == ("deu-eng", "deu", "eng")
    assert bitext.target == [ENGLISH[0], ENGLISH[2], ENGLISH[3]]
    assert bitext.source[2] == "Der Dog und die Cat schlafen."


def test_the_exact_sentences_are_written(dictionaries: Path) -> None:
    (bitext,) = reader(dictionaries)(None, None)
    header, *rows = (dictionaries.parent / "out/deu.tsv").read_text().splitlines()
    assert header == "original\tswitched\tenglish"
    originals = [GERMAN[0], GERMAN[2], GERMAN[3]]
    expected = ["\t".join(row) for row in zip(originals, bitext.source, bitext.target, strict=True)]
    assert rows == expected
    assert list((dictionaries.parent / "out").iterdir()) == [dictionaries.parent / "out/deu.tsv"]


def test_a_sentence_switches_alike_wherever_it_stands(dictionaries: Path) -> None:
    def backwards(root: str | None, languages: Sequence[str] | None) -> list[TestBitext]:
        return [TestBitext("deu-eng", "deu", "eng", GERMAN[::-1], ENGLISH[::-1])]

    (in_order,) = reader(dictionaries)(None, ["deu"])
    (reordered,) = reader(dictionaries, read=backwards)(None, ["deu"])
    assert in_order.source == reordered.source[::-1]


def test_the_first_pairs_that_can_be_switched_are_taken(dictionaries: Path) -> None:
    (bitext,) = reader(dictionaries, pairs_per_language=2)(None, ["de"])
    assert bitext.target == [ENGLISH[0], ENGLISH[2]]


def test_a_language_without_a_dictionary_is_named(dictionaries: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no dictionary for jpn; there are deu, fra"):
        reader(dictionaries)(None, ["de", "ja"])


def test_a_test_set_not_against_english_is_named(dictionaries: Path) -> None:
    with pytest.raises(ValueError, match="deu-fra: expected English on the other side, found fra"):
        reader(dictionaries, read=lambda *_: [TestBitext("deu-fra", "deu", "fra", ["Hund"], ["chien"])])(None, None)


@pytest.mark.parametrize(("option", "value"), [("rate", 1.5), ("casing", "upper")])
def test_a_wrong_option_is_an_error_before_anything_is_read(dictionaries: Path, option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"evaluator.read.{option}={value}"):
        reader(dictionaries, **{option: value})


def test_held_out_pairs_are_switched_split_by_split(dictionaries: Path, tmp_path: Path) -> None:
    (dictionaries / "de-en.txt").write_text("nummer number\n")
    options = {"read": HeldOut(pairs_per_language=20), "rate": 1.0, "pairs_per_language": 5}
    switched = reader(dictionaries, CodeSwitchedHeldOut, **options)
    data = held_out_data()
    for split in ("valid", "test"):
        switched.bind(data, split)
        (bitext,) = switched(None, ["deu"])
        # Of "nummer 7" a dictionary of one word makes "number 7", its translation.
        assert bitext.source == bitext.target
        assert len(bitext.source) == 5
        assert (tmp_path / "out" / split / "deu.tsv").is_file()


def held_out_data() -> BitextData:
    def reader(ledger: RejectLedger, root: str | None) -> Iterator[SentencePair]:
        return (SentencePair(f"number {i}", f"nummer {i}", "eng", "deu", "", "f", i) for i in range(300))

    data = BitextData(**OPTIONS | {"reader": reader})
    data.read()
    return data
