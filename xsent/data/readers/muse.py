"""Reader of MUSE bilingual dictionaries."""

from pathlib import Path

from xsent.data.readers.lines import read_lines
from xsent.languages import to_iso639_3

Dictionary = dict[str, list[str]]  # translations of each lower-case word, in file order


def dictionary_files(folder: Path) -> dict[str, Path]:
    """Dictionaries into English (``de-en.txt``) of a folder, by ISO 639-3 code of the other language.

    Raises:
        FileNotFoundError: no such folder, or no dictionary in it.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: expected a folder of MUSE dictionaries, found none")
    files = {to_iso639_3(path.stem.removesuffix("-en")): path for path in sorted(folder.glob("*-en.txt"))}
    if not files:
        raise FileNotFoundError(f"{folder}: expected dictionaries such as de-en.txt, found none")
    return files


def read_dictionary(path: Path) -> Dictionary:
    """Read translations by word; pairs of a word with itself are left out.

    A line is a word and one translation, separated by a space or a TAB; the published files use both.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not two words (names file and line), or the file has no pair.
    """
    dictionary: Dictionary = {}
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split()
        if len(words) != 2:
            raise ValueError(f"{path}:{number}: expected a word and its translation, found {line!r}")
        word, translation = words[0].lower(), words[1]
        if translation.lower() != word and translation not in dictionary.get(word, []):
            dictionary.setdefault(word, []).append(translation)
    if not dictionary:
        raise ValueError(f"{path}: expected pairs of different words, found none")
    return dictionary
