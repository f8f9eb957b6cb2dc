from pathlib import Path

import pytest

from tests.helpers import existing
from xsent.data.readers.tatoeba import read_flores, read_tatoeba


def write(path: Path, *lines: str) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


@pytest.fixture
def tatoeba(tmp_path: Path) -> Path:
    for code in ("deu", "cmn"):
        write(tmp_path / f"tatoeba.{code}-eng.{code}", f"{code} 1", f"{code}\u20282")
        write(tmp_path / f"tatoeba.{code}-eng.eng", "one", "two")
    return tmp_path


@pytest.fixture
def flores(tmp_path: Path) -> Path:
    for code in ("deu_Latn", "eng_Latn", "zho_Hans", "zho_Hant", "arb_Arab"):
        write(tmp_path / f"{code}.dev", f"{code} 1", f"{code} 2")
    return tmp_path


def test_tatoeba_has_the_other_language_as_source_and_lines_stay_whole(tatoeba: Path) -> None:
    zho, deu = read_tatoeba(str(tatoeba), None)
    assert (zho.name, zho.source_lang, zho.target_lang) == ("zho-eng", "zho", "eng")
    assert deu.source == ["deu 1", "deu\u20282"]
    assert deu.target == ["one", "two"]


@pytest.mark.parametrize("code", ["cmn", "zho", "zh"])
def test_a_language_may_be_asked_for_in_the_files_code_or_any_other(tatoeba: Path, code: str) -> None:
    (bitext,) = read_tatoeba(str(tatoeba), [code])
    assert bitext.source[0] == "cmn 1"


def test_languages_come_in_the_order_asked_for(tatoeba: Path) -> None:
    assert [bitext.name for bitext in read_tatoeba(str(tatoeba), ["deu", "zho"])] == ["deu-eng", "zho-eng"]


def test_a_language_without_files_is_named_with_those_there_are(tatoeba: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no files for fra; there are deu, zho"):
        read_tatoeba(str(tatoeba), ["deu", "fra"])


@pytest.mark.parametrize(
    ("german", "english", "message"),
    [
        (["1", "2", "3"], ["one", "two"], r"deu has 3 lines, .*eng has 2"),
        ([], [], r"tatoeba\.deu-eng\.deu: expected at least 1 sentence"),
        (["1"], None, r"tatoeba\.deu-eng\.deu: expected tatoeba\.deu-eng\.eng beside it"),
    ],
)
def test_damaged_sides_are_named(tatoeba: Path, german: list[str], english: list[str] | None, message: str) -> None:
    write(tatoeba / "tatoeba.deu-eng.deu", *german)
    write(tatoeba / "tatoeba.deu-eng.eng", *(english or []))
    if english is None:
        (tatoeba / "tatoeba.deu-eng.eng").unlink()
    with pytest.raises(ValueError, match=message):
        read_tatoeba(str(tatoeba), ["deu"])


def test_a_missing_folder_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"evaluator\.root="):
        read_tatoeba(str(tmp_path / "nowhere"), None)
    with pytest.raises(FileNotFoundError, match=r"evaluator\.root="):
        read_flores(str(tmp_path / "nowhere"), None, pivot="eng")


def test_flores_sets_each_language_against_the_pivot(flores: Path) -> None:
    bitexts = {bitext.name: bitext for bitext in read_flores(str(flores), None, pivot="eng")}
    assert set(bitexts) == {"ara-eng", "deu-eng", "zho-eng"}
    assert bitexts["deu-eng"].source == ["deu_Latn 1", "deu_Latn 2"]
    assert bitexts["deu-eng"].target == ["eng_Latn 1", "eng_Latn 2"]


def test_of_two_scripts_the_first_by_name_stands_for_the_language(flores: Path) -> None:
    (bitext,) = read_flores(str(flores), ["zho"], pivot="eng")
    assert bitext.source[0] == "zho_Hans 1"


def test_an_unknown_pivot_is_named(flores: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no files for fra"):
        read_flores(str(flores), None, pivot="fra")


def test_the_published_files_have_the_published_sizes(shared_data: Path) -> None:
    tatoeba = read_tatoeba(str(existing(shared_data / "tatoeba")), None)
    assert len(tatoeba) == 37
    assert max(len(bitext.source) for bitext in tatoeba) == 1000
    flores = read_flores(str(existing(shared_data / "flores200" / "dev")), None, pivot="eng")
    assert len(flores) == 15
    assert {len(bitext.source) for bitext in flores} == {997}
