"""The sets in a pivot language: from translated files, and by a small real translator with a cache."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest

from tests.models.small_translators import save_m2m100, sentences
from xsent.append_only import AppendOnly
from xsent.data.clsd import ClsdSet, read_clsd
from xsent.data.clsd_pivot import Pivot
from xsent.models.translator import Translation, Translator

HEADER = "Index,French,German,de_adv1,de_adv2,fr_adv1,fr_adv2"
OTHER = "Index,French,German,de_adv1,fr_adv1"
DIRECT = ("0,un,eins,zwei,drei,trois,quatre", "1,bleu,blau,rot,gelb,rouge,jaune")
ENGLISH = ("0,one,One,two,three,three,four", "1,Blue,blue,red,yellow,red,yellow")
RELEASED = "CLSD_wmt2019_adversarial_dataset.csv"


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def direct(tmp_path: Path) -> list[ClsdSet]:
    return read_clsd(str(write(tmp_path / RELEASED, HEADER, *DIRECT)), None, distractors=None)


def of_files(root: Path) -> Pivot:
    return Pivot(root=str(root), translator=None, language="en", cache_dir="never used")


def test_without_files_or_translator_there_is_no_pivot(direct: list[ClsdSet]) -> None:
    pivot = Pivot(root=None, translator=None, language="en", cache_dir="never used")
    pivot.check(direct)
    assert pivot(direct) is None


# ---- translated files


def test_translated_files_give_the_same_items_in_the_pivot_language(tmp_path: Path, direct: list[ClsdSet]) -> None:
    write(tmp_path / f"MT_M2M_{RELEASED}", f",{HEADER}", *(f"{number},{row}" for number, row in enumerate(ENGLISH)))
    pivot = of_files(tmp_path)  # the folder of the direct files, too
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
    found = of_files(folder)(direct)
    assert found is not None
    assert found[0].distractors == [["one", "four"], ["r", "y"]]
    assert found[1].distractors == [["two", "two"], ["r", "y"]]
    assert of_files(folder / "wmt19.jsonl")(direct) == found


def test_a_distractor_that_translation_made_equal_is_kept_and_said(
    tmp_path: Path, direct: list[ClsdSet], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    found = of_files(write(tmp_path / "MT.csv", HEADER, "0,one,One,two,two,one,four", ENGLISH[1]))(direct)
    assert found is not None
    assert found[0].distractors[0] == ["one", "four"]
    assert found[1].distractors[0] == ["two", "two"]
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == (
        "wmt19 deu-fra in eng: 1 of 2 items have a distractor that equals the translation; they are errors; ties,"
        " unless another distractor is nearer still"
    )


def test_a_few_texts_may_be_the_same_in_both_languages(tmp_path: Path, direct: list[ClsdSet]) -> None:
    assert of_files(write(tmp_path / "MT.csv", HEADER, "0,un,One,zwei,three,trois,quatre", ENGLISH[1]))(direct)


def test_texts_in_the_pivot_language_stay_as_they_are_in_translated_files(tmp_path: Path) -> None:
    row = {"id": "0", "texts": {"deu": "eins", "eng": "one"}, "distractors": {"eng": ["two"]}}
    direct = read_clsd(str(write(tmp_path / "a.jsonl", json.dumps(row))), None, distractors=None)
    made = write(tmp_path / "b.jsonl", json.dumps(row | {"texts": {"deu": "One", "eng": "one"}}))
    assert of_files(made)(direct)
    with pytest.raises(ValueError, match=r"a\.jsonl: expected texts in eng, found 1 of 1 sources of a deu-eng"):
        of_files(tmp_path / "a.jsonl").check(direct)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, ENGLISH[0]], r"MT\.csv: expected the 2 items of wmt19 deu-fra, found 1"),
        ([HEADER, *ENGLISH, "2,a,b,c,d,e,f"], r"MT\.csv: expected the 2 items of wmt19 deu-fra, found 3"),
        ([HEADER, *ENGLISH[::-1]], r"MT\.csv:2: expected the item '0' of wmt19 deu-fra, found '1'"),
        ([HEADER, ENGLISH[0], "7,a,b,c,d,e,f"], r"MT\.csv:3: expected the item '1' of wmt19 deu-fra, found '7'"),
        ([OTHER, "0,a,b,c,d", "1,a,b,c,d"], r"MT\.csv:2: expected 2 distractors, as wmt19"),
        ([HEADER, *DIRECT], r"MT\.csv: expected texts in eng, found 2 of 2 sources of wmt19 deu-fra as .* 'eins'"),
        ([HEADER, "0,un,x,y,z,p,q", "1,bleu,a,b,c,d,e"], r"MT\.csv: .*, found 2 of 2 translations of wmt19 deu-fra"),
        (
            [HEADER, "0,a,b,c,d,trois,quatre", "1,e,f,g,h,i,jaune"],
            r"MT\.csv: expected texts in eng, found 3 of 4 distractors of wmt19 deu-fra as they are there",
        ),
        ([HEADER, ENGLISH[0], "1,a,b,c,,e,f"], r"MT\.csv:3: expected a text and 2 distractors in deu"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_the_sets_is_named_before_any_work(
    tmp_path: Path, direct: list[ClsdSet], lines: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        of_files(write(tmp_path / "MT.csv", *lines)).check(direct)


def test_a_corpus_or_a_direction_without_translated_texts_is_named(tmp_path: Path, direct: list[ClsdSet]) -> None:
    folder = tmp_path / "english"
    folder.mkdir()
    row = {"id": "0", "texts": {"deu": "one", "fra": "One"}, "distractors": {"deu": ["two", "three"]}}
    write(folder / "wmt21.jsonl", json.dumps(row))
    with pytest.raises(FileNotFoundError, match=r"expected translated files of wmt19, found wmt21"):
        of_files(folder).check(direct)
    (folder / "wmt21.jsonl").rename(folder / "wmt19.jsonl")
    with pytest.raises(ValueError, match=r"wmt19\.jsonl: expected items of deu-fra, found none"):
        of_files(folder).check(direct)


def test_files_and_translator_together_are_refused(translator: Translator) -> None:
    with pytest.raises(ValueError, match="expected root or translator, found both"):
        Pivot(root="folder", translator=lambda: translator, language="en", cache_dir="never used")


def test_the_released_translation_fits_the_released_set(shared_data: Path) -> None:
    sets = read_clsd(str(shared_data / "clsd"), None, distractors=4)
    found = of_files(shared_data / "clsd")(sets)
    assert found is not None
    assert [one.ids for one in found] == [one.ids for one in sets]
    # Counted in the file with the csv module alone.
    equal = [sum(text in row for text, row in zip(one.target, one.distractors, strict=True)) for one in found]
    assert dict(zip((one.target_lang for one in found), equal, strict=True)) == {"fra": 14, "deu": 17}


# ---- a translator


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_m2m100(tmp_path_factory.mktemp("m2m100"))


class Watched(Translator):
    """A real one that remembers what it was asked for, and may die after some batches."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[str] = []
        self.dies_after: int | None = None
        self.loads = 0

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[dict[int, Translation]]:
        self.asked += texts
        made = super().translate(texts, source_lang=source_lang, target_lang=target_lang, progress=False)
        for number, batch in enumerate(made):
            if number == self.dies_after:
                raise KeyboardInterrupt
            yield batch

    @cached_property
    def _transformer(self) -> Any:
        self.loads += 1
        return super()._transformer


OPTIONS: dict[str, Any] = {
    "name": "small", "beams": 1, "max_length": 24, "precision": "float32", "prefix": "", "source_codes": None,
    "target_codes": None,
}  # fmt: skip


@pytest.fixture
def make(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Watched]:
    monkeypatch.setattr("xsent.models.translator.CPU_TOKENS", 60)
    return partial(Watched, folder=folder, **OPTIONS)


@pytest.fixture
def translator(make: Callable[..., Watched]) -> Watched:
    return make()


@pytest.fixture(scope="module")
def items() -> list[ClsdSet]:
    """Ten items, German to English and back; the first distractor is a source of the other direction, too."""
    german, english, other = sentences(10, 1), sentences(10, 2), sentences(10, 3)
    ids = [str(number) for number in range(10)]
    return [
        ClsdSet("toy", "deu", "eng", ids, german, english, [[one] for one in other]),
        ClsdSet("toy", "eng", "deu", ids, english, german, [[one] for one in [german[1], *other[1:]]]),
    ]


def by_translator(translator: Translator, cache_dir: Path) -> Pivot:
    return Pivot(root=None, translator=lambda: translator, language="en", cache_dir=str(cache_dir))


def test_every_text_that_is_not_in_the_pivot_language_is_translated(
    tmp_path: Path, items: list[ClsdSet], translator: Watched
) -> None:
    pivot = by_translator(translator, tmp_path)
    pivot.check(items)
    found = pivot(items)
    assert found is not None
    assert [(one.name, one.source_lang, one.target_lang, one.ids) for one in found] == [
        (one.name, one.source_lang, one.target_lang, one.ids) for one in items
    ]
    assert found[0].target == items[0].target
    assert found[0].distractors == items[0].distractors
    assert found[1].source == items[1].source
    for place, text in enumerate(items[0].source):
        (alone,) = translator.translate([text], source_lang="deu", target_lang="eng", progress=False)
        assert found[0].source[place] == found[1].target[place] == alone[0].text


def test_a_text_is_translated_once_wherever_it_occurs(
    tmp_path: Path, items: list[ClsdSet], translator: Watched
) -> None:
    by_translator(translator, tmp_path)(items)
    german = {*items[0].source, *items[1].target, *(one for row in items[1].distractors for one in row)}
    assert sorted(translator.asked) == sorted(german)


def test_a_second_run_finds_everything_and_never_loads_the_weights(
    tmp_path: Path, items: list[ClsdSet], make: Callable[..., Watched]
) -> None:
    first, again = make(), make()
    found = by_translator(first, tmp_path)(items)
    assert by_translator(again, tmp_path)(items) == found
    assert again.asked == []
    assert (first.loads, again.loads) == (1, 0)


def test_the_weights_are_loaded_once_for_all_languages_and_forgotten_after_the_last_text(
    tmp_path: Path, direct: list[ClsdSet], make: Callable[..., Watched]
) -> None:
    whole, dying = make(), make()
    assert by_translator(whole, tmp_path / "whole")(direct)
    dying.dies_after = 0
    with pytest.raises(KeyboardInterrupt):
        by_translator(dying, tmp_path / "killed")(direct)
    for one in (whole, dying):
        assert one.loads == 1
        assert "_transformer" not in vars(one)


def test_what_was_cut_is_said_by_every_run(
    tmp_path: Path, items: list[ClsdSet], make: Callable[..., Watched], caplog: pytest.LogCaptureFixture
) -> None:
    said = []
    for one in (make(max_length=8), make(max_length=8)):
        caplog.clear()
        by_translator(one, tmp_path)(items)
        said.append([record.getMessage() for record in caplog.records if record.levelno == logging.WARNING])
    german = {*items[0].source, *items[1].target, *(text for row in items[1].distractors for text in row)}
    (made,) = tmp_path.glob("*.jsonl")
    lines = AppendOnly(made, wait=False).read()
    cut = sum(line["cut"] for line in lines)
    assert len(lines) == len(german)
    assert cut >= sum(len(one.tokenizer(text)["input_ids"]) > 8 for text in german) > 0
    expected = f"{cut} of {len(german)} texts in deu, or their translations, were cut at translator.max_length tokens"
    assert said == [[expected], [expected]]


class Slow(Translator):
    """A real one that says when it has its first batch, and hands it out when it is told to."""

    begun: Event
    go_on: Event

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[dict[int, Translation]]:
        for batch in super().translate(texts, source_lang=source_lang, target_lang=target_lang, progress=False):
            self.begun.set()
            assert self.go_on.wait(60)
            yield batch


def translate_slowly(folder: Path, cache_dir: Path, items: list[ClsdSet], begun: Event, go_on: Event) -> None:
    slow = Slow(folder=folder, **OPTIONS)
    slow.begun, slow.go_on = begun, go_on
    by_translator(slow, cache_dir)(items)


def test_of_two_processes_one_translates_and_the_other_waits_for_it(
    tmp_path: Path, folder: Path, items: list[ClsdSet], translator: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    spawn = get_context("spawn")
    begun, go_on = spawn.Event(), spawn.Event()
    other = spawn.Process(target=translate_slowly, args=(folder, tmp_path, items, begun, go_on))
    other.start()
    try:
        assert begun.wait(60)
        threading.Timer(0.3, go_on.set).start()
        found = by_translator(translator, tmp_path)(items)
    finally:
        go_on.set()
        other.join(60)
    assert other.exitcode == 0
    assert "another process writes to this file; waiting for it" in caplog.text
    assert (translator.asked, translator.loads) == ([], 0)
    assert found == by_translator(Watched(folder=folder, **OPTIONS), tmp_path / "alone")(items)


def test_a_killed_run_continues_with_what_is_missing(
    tmp_path: Path, items: list[ClsdSet], make: Callable[..., Watched]
) -> None:
    whole = by_translator(make(), tmp_path / "whole")(items)
    dying, second = make(), make()
    dying.dies_after = 1
    with pytest.raises(KeyboardInterrupt):
        by_translator(dying, tmp_path / "killed")(items)
    (file,) = (tmp_path / "killed").glob("*.jsonl")
    kept = len(AppendOnly(file, wait=False).read())
    assert 0 < kept < len(dying.asked)
    with file.open("ab") as torn:
        torn.write(b'{"text": "half a li')
    assert by_translator(second, tmp_path / "killed")(items) == whole
    assert len(second.asked) == len(dying.asked) - kept


def test_another_model_or_setting_has_a_cache_of_its_own(
    tmp_path: Path, items: list[ClsdSet], make: Callable[..., Watched]
) -> None:
    by_translator(make(), tmp_path)(items)
    other = make(beams=2)
    by_translator(other, tmp_path)(items)
    assert other.asked
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_a_language_that_the_translator_does_not_know_is_named_before_any_work(
    tmp_path: Path, translator: Watched
) -> None:
    odd = ClsdSet("toy", "grc", "eng", ["0"], ["a"], ["b"], [["c"]])
    with pytest.raises(ValueError, match=r"translator small, source language: expected one of afr, .*, found grc"):
        by_translator(translator, tmp_path).check([odd])
    assert translator.asked == []
