"""CLSD sets in a pivot language: from translated files, and by a translator with a cache."""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from xsent.data.test_sets.clsd import ClsdSet, read_clsd
from xsent.data.test_sets.clsd_pivot import Pivot
from xsent.files.jsonl_log import AppendOnly

HEADER = "Index,French,German,de_adv1,de_adv2,fr_adv1,fr_adv2"
VARIANT = "Index,French,German,de_adv1,fr_adv1"
DIRECT = ("0,un,eins,zwei,drei,trois,quatre", "1,bleu,blau,rot,gelb,rouge,jaune")
ENGLISH = ("0,one,One,two,three,three,four", "1,Blue,blue,red,yellow,red,yellow")
RELEASED = "CLSD_wmt2019_adversarial_dataset.csv"


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def direct(tmp_path: Path) -> list[ClsdSet]:
    return read_clsd(str(write(tmp_path / RELEASED, HEADER, *DIRECT)), None, distractors=None)


def pivot_of(root: Path) -> Pivot:
    return Pivot(root=str(root), translator=None, language="en", cache_dir="never used")


def test_without_files_or_translator_there_is_no_pivot(direct: list[ClsdSet]) -> None:
    pivot = Pivot(root=None, translator=None, language="en", cache_dir="never used")
    pivot.check(direct)
    assert pivot(direct) is None


# ---- translated files


def test_translated_files_give_the_same_items_in_the_pivot_language(tmp_path: Path, direct: list[ClsdSet]) -> None:
    write(tmp_path / f"MT_M2M_{RELEASED}", f",{HEADER}", *(f"{number},{row}" for number, row in enumerate(ENGLISH)))
    pivot = pivot_of(tmp_path)  # the folder of the direct files, too
    pivot.check(direct)
    to_french, to_german = pivot(direct) or ()
    assert to_french == ClsdSet(
        "wmt19", "deu", "fra", ["0", "1"], ["One", "blue"], ["one", "Blue"], [["three", "four"], ["red", "yellow"]]
    )
    assert (to_german.source_lang, to_german.target_lang, to_german.ids) == ("fra", "deu", ["0", "1"])
    assert (to_german.source, to_german.target) == (to_french.target, to_french.source)
    assert to_german.distractors == [["two", "three"], ["red", "yellow"]]


def test_translated_files_may_be_json_lines_in_a_folder_of_their_own(tmp_path: Path, direct: list[ClsdSet]) -> None:
    rows = [
        {"id": "0", "texts": {"de": "One", "fr": "one"}, "distractors": {"de": ["two", "two"], "fr": ["one", "four"]}},
        {"id": "1", "texts": {"de": "b", "fr": "B"}, "distractors": {"de": ["r", "y"], "fr": ["r", "y"]}},
    ]
    folder = tmp_path / "english"
    folder.mkdir()
    write(folder / "wmt19.jsonl", *map(json.dumps, rows))
    pivoted = pivot_of(folder)(direct)
    assert pivoted is not None
    assert pivoted[0].distractors == [["one", "four"], ["r", "y"]]
    assert pivoted[1].distractors == [["two", "two"], ["r", "y"]]
    assert pivot_of(folder / "wmt19.jsonl")(direct) == pivoted


def test_a_distractor_that_translation_made_equal_is_kept_and_said(
    tmp_path: Path, direct: list[ClsdSet], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    pivoted = pivot_of(write(tmp_path / "MT.csv", HEADER, "0,one,One,two,two,one,four", ENGLISH[1]))(direct)
    assert pivoted is not None
    assert pivoted[0].distractors[0] == ["one", "four"]
    assert pivoted[1].distractors[0] == ["two", "two"]
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == (
        "wmt19 deu-fra in eng: 1 of 2 items have a distractor that equals the translation; they count as errors"
        " (ties, unless another distractor is nearer)"
    )


def test_a_few_texts_may_be_the_same_in_both_languages(tmp_path: Path, direct: list[ClsdSet]) -> None:
    assert pivot_of(write(tmp_path / "MT.csv", HEADER, "0,un,One,zwei,three,trois,quatre", ENGLISH[1]))(direct)


def test_texts_in_the_pivot_language_stay_as_they_are_in_translated_files(tmp_path: Path) -> None:
    row = {"id": "0", "texts": {"deu": "eins", "eng": "one"}, "distractors": {"eng": ["two"]}}
    direct = read_clsd(str(write(tmp_path / "a.jsonl", json.dumps(row))), None, distractors=None)
    generated = write(tmp_path / "b.jsonl", json.dumps(row | {"texts": {"deu": "One", "eng": "one"}}))
    assert pivot_of(generated)(direct)
    with pytest.raises(ValueError, match=r"a\.jsonl: expected texts in eng, found 1 of 1 sources of a deu-eng"):
        pivot_of(tmp_path / "a.jsonl").check(direct)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, ENGLISH[0]], r"MT\.csv: expected the 2 items of wmt19 deu-fra, found 1"),
        ([HEADER, *ENGLISH, "2,a,b,c,d,e,f"], r"MT\.csv: expected the 2 items of wmt19 deu-fra, found 3"),
        ([HEADER, *ENGLISH[::-1]], r"MT\.csv:2: expected the item '0' of wmt19 deu-fra, found '1'"),
        ([HEADER, ENGLISH[0], "7,a,b,c,d,e,f"], r"MT\.csv:3: expected the item '1' of wmt19 deu-fra, found '7'"),
        ([VARIANT, "0,a,b,c,d", "1,a,b,c,d"], r"MT\.csv:2: expected 2 distractors, as wmt19"),
        ([HEADER, *DIRECT], r"MT\.csv: expected texts in eng, found 2 of 2 sources of wmt19 deu-fra .* 'eins'"),
        ([HEADER, "0,un,x,y,z,p,q", "1,bleu,a,b,c,d,e"], r"MT\.csv: .*, found 2 of 2 translations of wmt19 deu-fra"),
        (
            [HEADER, "0,a,b,c,d,trois,quatre", "1,e,f,g,h,i,jaune"],
            r"MT\.csv: expected texts in eng, found 3 of 4 distractors of wmt19 deu-fra untranslated",
        ),
        ([HEADER, ENGLISH[0], "1,a,b,c,,e,f"], r"MT\.csv:3: expected a text and 2 distractors in deu"),
    ],
)
def test_a_file_that_does_not_fit_the_sets_is_named_before_any_work(
    tmp_path: Path, direct: list[ClsdSet], lines: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pivot_of(write(tmp_path / "MT.csv", *lines)).check(direct)


def test_a_corpus_or_a_direction_without_translated_texts_is_named(tmp_path: Path, direct: list[ClsdSet]) -> None:
    folder = tmp_path / "english"
    folder.mkdir()
    row = {"id": "0", "texts": {"deu": "one", "fra": "One"}, "distractors": {"deu": ["two", "three"]}}
    write(folder / "wmt21.jsonl", json.dumps(row))
    with pytest.raises(FileNotFoundError, match=r"expected translated files of wmt19, found wmt21"):
        pivot_of(folder).check(direct)
    (folder / "wmt21.jsonl").rename(folder / "wmt19.jsonl")
    with pytest.raises(ValueError, match=r"wmt19\.jsonl: expected items of deu-fra, found none"):
        pivot_of(folder).check(direct)


def test_files_and_translator_together_are_refused() -> None:
    with pytest.raises(ValueError, match="expected root or translator, found both"):
        Pivot(root="folder", translator=StubTranslator, language="en", cache_dir="never used")


def test_the_released_translation_fits_the_released_set(shared_data: Path) -> None:
    sets = read_clsd(str(shared_data / "clsd"), None, distractors=4)
    pivoted = pivot_of(shared_data / "clsd")(sets)
    assert pivoted is not None
    assert [clsd.ids for clsd in pivoted] == [clsd.ids for clsd in sets]
    # Counted in the file with the csv module alone.
    equal = [sum(text in row for text, row in zip(clsd.target, clsd.distractors, strict=True)) for clsd in pivoted]
    assert dict(zip((clsd.target_lang for clsd in pivoted), equal, strict=True)) == {"fra": 14, "deu": 17}


# ---- a translator


class Translation(NamedTuple):
    text: str
    truncated: bool


class StubTranslator:
    """Reverses the words of a text, two texts per batch; records its texts and may stop after some batches."""

    name = "stub"

    def __init__(self, *, max_length: int = 99, beams: int = 1) -> None:
        self.max_length = max_length
        self.beams = beams
        self.texts: list[str] = []
        self.stops_after: int | None = None
        self.is_loaded = False
        self.on_batch: Callable[[], None] = lambda: None

    def check(self, *, source_lang: str, target_lang: str) -> None:
        if source_lang not in ("deu", "fra"):
            raise ValueError(f"source language: expected deu or fra, found {source_lang}")

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[dict[int, Translation]]:
        self.texts += texts
        for batch, start in enumerate(range(0, len(texts), 2)):
            self.is_loaded = True
            if batch == self.stops_after:
                raise KeyboardInterrupt
            self.on_batch()
            yield {
                index: Translation(" ".join(texts[index].split()[::-1]), len(texts[index]) > self.max_length)
                for index in range(start, min(start + 2, len(texts)))
            }

    def digest(self) -> str:
        return f"{self.max_length} {self.beams}"

    def to(self, device: object) -> object:
        return self

    def unload(self) -> None:
        self.is_loaded = False


@pytest.fixture
def items() -> list[ClsdSet]:
    """Five items, German to English and back; the first distractor is a source of the other direction, too."""
    ids = [str(number) for number in range(5)]
    german, english, distractors = ([f"{name} number {number}" for number in ids] for name in ("ein", "an", "another"))
    german[4] += " is longer than the others"
    return [
        ClsdSet("toy", "deu", "eng", ids, german, english, [[text] for text in distractors]),
        ClsdSet("toy", "eng", "deu", ids, english, german, [[text] for text in [german[1], *distractors[1:]]]),
    ]


def pivot_by(translator: StubTranslator, cache_dir: Path) -> Pivot:
    return Pivot(root=None, translator=lambda: translator, language="en", cache_dir=str(cache_dir))


def german_texts(items: list[ClsdSet]) -> set[str]:
    return {*items[0].source, *items[1].target, *(text for row in items[1].distractors for text in row)}


def test_every_text_that_is_not_in_the_pivot_language_is_translated_once(tmp_path: Path, items: list[ClsdSet]) -> None:
    translator = StubTranslator()
    pivot = pivot_by(translator, tmp_path)
    pivot.check(items)
    pivoted = pivot(items)
    assert pivoted is not None
    for clsd, original in zip(pivoted, items, strict=True):
        names = ("name", "source_lang", "target_lang", "ids")
        assert all(getattr(clsd, name) == getattr(original, name) for name in names)
    assert pivoted[0].target == items[0].target
    assert pivoted[0].distractors == items[0].distractors
    assert pivoted[1].source == items[1].source
    assert pivoted[0].source[0] == pivoted[1].target[0] == "0 number ein"
    assert pivoted[1].distractors[:2] == [["1 number ein"], ["1 number another"]]
    assert sorted(translator.texts) == sorted(german_texts(items))
    assert not translator.is_loaded


def test_a_second_run_reads_the_stored_translations(tmp_path: Path, items: list[ClsdSet]) -> None:
    second = StubTranslator()
    assert pivot_by(StubTranslator(), tmp_path)(items) == pivot_by(second, tmp_path)(items)
    assert second.texts == []


def test_every_run_counts_the_truncated_texts(
    tmp_path: Path, items: list[ClsdSet], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        caplog.clear()
        pivot_by(StubTranslator(max_length=20), tmp_path)(items)
        assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
            "1 of 9 texts in deu, or their translations, were truncated at translator.max_length tokens"
        ]


def test_of_two_runs_one_translates_and_the_other_waits_for_it(
    tmp_path: Path, items: list[ClsdSet], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    has_started, may_continue = threading.Event(), threading.Event()
    slow, waiting = StubTranslator(), StubTranslator()

    def wait() -> None:
        has_started.set()
        assert may_continue.wait(60)

    slow.on_batch = wait
    thread = threading.Thread(target=lambda: pivot_by(slow, tmp_path)(items))
    thread.start()
    assert has_started.wait(60)
    threading.Timer(0.3, may_continue.set).start()
    pivoted = pivot_by(waiting, tmp_path)(items)
    thread.join()
    assert "another process writes to this file; waiting for it" in caplog.text
    assert waiting.texts == []
    assert pivoted == pivot_by(StubTranslator(), tmp_path / "alone")(items)


def test_a_killed_run_continues_with_the_missing_texts(tmp_path: Path, items: list[ClsdSet]) -> None:
    expected = pivot_by(StubTranslator(), tmp_path / "complete")(items)
    killed, second = StubTranslator(), StubTranslator()
    killed.stops_after = 1
    with pytest.raises(KeyboardInterrupt):
        pivot_by(killed, tmp_path / "killed")(items)
    assert not killed.is_loaded
    (file,) = (tmp_path / "killed").glob("*.jsonl")
    assert len(AppendOnly(file, wait=False).read()) == 2
    with file.open("ab") as torn:
        torn.write(b'{"text": "half a li')
    assert pivot_by(second, tmp_path / "killed")(items) == expected
    assert len(second.texts) == len(killed.texts) - 2


def test_another_model_or_setting_has_a_cache_of_its_own(tmp_path: Path, items: list[ClsdSet]) -> None:
    pivot_by(StubTranslator(), tmp_path)(items)
    other_folder = StubTranslator(beams=2)
    pivot_by(other_folder, tmp_path)(items)
    assert other_folder.texts
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_a_language_that_the_translator_does_not_know_is_named_before_any_work(tmp_path: Path) -> None:
    translator = StubTranslator()
    odd = ClsdSet("toy", "grc", "eng", ["0"], ["a"], ["b"], [["c"]])
    with pytest.raises(ValueError, match=r"source language: expected deu or fra, found grc"):
        pivot_by(translator, tmp_path).check([odd])
    assert translator.texts == []
