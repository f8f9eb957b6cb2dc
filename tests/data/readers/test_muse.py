from pathlib import Path

import pytest

from xsent.data.readers.muse import dictionary_files, read_dictionary


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_words_are_separated_by_a_space_or_a_tab(tmp_path: Path, separator: str) -> None:
    path = write(tmp_path / "de-en.txt", f"hund{separator}dog\nhund{separator}hound\nhund{separator}dog\n")
    assert read_dictionary(path) == {"hund": ["dog", "hound"]}


def test_a_word_that_translates_to_itself_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "de-en.txt", "taxi taxi\nhotel hotel\nhotel inn\nKatze cat\nRadio radio\n")
    assert read_dictionary(path) == {"hotel": ["inn"], "katze": ["cat"]}


@pytest.mark.parametrize("line", ["hund", "", "der große hund", "hund\tdog\tx"])
def test_a_line_that_is_not_two_words_is_named(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "de-en.txt", f"katze cat\n{line}\n")
    with pytest.raises(ValueError, match=r"de-en\.txt:2: expected a word and its translation, found"):
        read_dictionary(path)


def test_a_dictionary_without_any_switch_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected pairs of different words, found none"):
        read_dictionary(write(tmp_path / "de-en.txt", "taxi taxi\n"))


def test_dictionaries_are_known_by_their_iso_code(tmp_path: Path) -> None:
    write(tmp_path / "de-en.txt", "katze cat\n")
    write(tmp_path / "en-de.txt", "cat katze\n")
    assert list(dictionary_files(tmp_path)) == ["deu"]


def test_a_folder_that_is_not_there_or_empty_is_named(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match=str(folder)):
            dictionary_files(folder)


def test_the_published_dictionaries_are_read(shared_data: Path) -> None:
    files = dictionary_files(shared_data / "muse")
    assert set(files) == {"ara", "deu", "spa", "fra", "ita", "nld", "por", "ron"}
    assert "dog" in read_dictionary(files["deu"])["hund"]  # separated by a space
    assert "cat" in read_dictionary(files["ron"])["pisica"] + read_dictionary(files["ron"])["pisică"]  # by a TAB
