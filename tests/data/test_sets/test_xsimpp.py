import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.readers.flores import ENGLISH, write, write_flores
from xsent.data.test_sets.xsimpp import AugmentedFlores

ENTRIES = {
    "Two cats sleep in Rome.": {"src": ENGLISH[0], "errtype": "entity_mention_replacement"},
    "He was not here in 1990.": {"src": ENGLISH[1], "errtype": "causality_alternation"},
}


@pytest.fixture
def flores(tmp_path: Path) -> Path:
    return write_flores(tmp_path)


def reader(folder: Path, lines: list[str] | None = None, entries: object = None) -> AugmentedFlores:
    augmented = write(folder / "augmented", *(list(ENTRIES) if lines is None else lines))
    error_types = write(folder / "errtype.json", json.dumps(ENTRIES if entries is None else entries))
    return AugmentedFlores(augmented=str(augmented), error_types=str(error_types))


def test_negatives_stand_beside_the_lines_they_were_made_from(flores: Path) -> None:
    (bitext,) = reader(flores)(str(flores), ["de"])
    assert (bitext.name, bitext.target, bitext.augmented) == ("deu-eng", ENGLISH, list(ENTRIES))
    assert bitext.made_from["Two cats sleep in Rome."] == (ENGLISH[0], "entity_mention_replacement")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an empty file": ({"lines": []}, "augmented: expected hard negatives beside the English lines, found an empty"),
    "no entry": ({"lines": [*ENTRIES, "New."]}, r"augmented:3: .*errtype\.json has no entry for 'New\.'"),
    "another source": (
        {"entries": {text: {"src": "Elsewhere.", "errtype": "x"} for text in ENTRIES}},
        r"augmented:1: .*errtype\.json says it was made from 'Elsewhere\.', which is no English line",
    ),
    "half an entry": (
        {"entries": {**ENTRIES, "New.": {"src": "x"}}},
        r"errtype\.json: 'New\.': expected src and errtype",
    ),
    "a list": ({"entries": [1]}, r"errtype\.json: expected an object, found list"),
}


@pytest.mark.parametrize(("files", "message"), BAD.values(), ids=BAD)
def test_files_that_do_not_fit_are_named(flores: Path, files: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reader(flores, **files)(str(flores), None)


def test_broken_json_is_named_with_its_line(flores: Path) -> None:
    read = reader(flores)
    write(flores / "errtype.json", "{", '"a": 1,', "}")
    with pytest.raises(ValueError, match=r"errtype\.json:\d: expected JSON, found"):
        read(str(flores), None)


@pytest.mark.parametrize("name", ["augmented", "errtype.json"])
def test_a_missing_file_is_named(flores: Path, name: str) -> None:
    read = reader(flores)
    (flores / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read(str(flores), None)
