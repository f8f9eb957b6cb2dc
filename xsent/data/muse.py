"""Reader of MUSE's bilingual dictionaries."""

from __future__ import annotations

from pathlib import Path

from xsent.data.lines import read_lines
from xsent.languages import to_iso639_3

Dictionary = dict[str, list[str]]  # translations by lower-case word, in the order of the file


def dictionary_files(folder: Path) -> dict[str, Path]:
    """The dictionaries into English of a folder, ``de-en.txt``, by ISO 639-3 code of the first language.

    Raises:
        FileNotFoundError: no such folder, or no dictionary in it.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: expected a folder of MUSE dictionaries, found none")
    found = {to_iso639_3(path.stem.removesuffix("-en")): path for path in sorted(folder.glob("*-en.txt"))}
    if not found:
        raise FileNotFoundError(f"{folder}: expected dictionaries such as de-en.txt, found none")
    return found


def read_dictionary(path: Path) -> Dictionary:
    """Translations by word; a pair of a word with itself is left out, for it replaces nothing.

    A line is a word and one translation, with a space or a TAB between them; which of the two differs
    between the published files.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line that is not two words (names file and line), or a file without any pair.
    """
    dictionary: Dictionary = {}
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split()
        if len(words) != 2:
            raise ValueError(f"{path}:{number}: expected a word and its translation, found {line!r}")
        word, translation = words[0].lower(), words[1]
        if translation.lower() != word and translation not in dictionary.setdefault(word, []):
            dictionary[word].append(translation)
    dictionary = {word: translations for word, translations in dictionary.items() if translations}
    if not dictionary:
        raise ValueError(f"{path}: expected pairs of different words, found none")
    return dictionary
