"""BUCC files: ids, gold pairs, repeated texts, and what is wrong with broken ones."""

from pathlib import Path

import pytest

from tests.helpers import existing
from xsent.data.readers.bucc import read_bucc


def write(path: Path, *lines: str) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


@pytest.fixture
def bucc(tmp_path: Path) -> Path:
    write(tmp_path / "de-en.dev.de", "de-1\tEins", "de-2\tZwei", "de-3\tEins", "de-4\tVier\u2028und\tmehr")
    write(tmp_path / "de-en.dev.en", "en-1\tFour", "en-2\tOne", "en-3\tFive")
    write(tmp_path / "de-en.dev.gold", "de-4\ten-1", "de-3\ten-2")
    return tmp_path


def test_gold_ids_become_rows_of_distinct_texts(bucc: Path) -> None:
    (task,) = read_bucc(str(bucc), None, part="dev")
    assert task.name == "deu-eng"
    assert task.source == ["Eins", "Zwei", "Vier\u2028und\tmehr"]
    assert task.target == ["Four", "One", "Five"]
    assert task.gold == [(0, 1), (2, 0)]  # de-3 has the text of de-1, row 0
    assert (task.source_lines, task.target_lines, task.gold_lines) == (4, 3, 2)


def test_a_gold_pair_under_two_ids_counts_once(bucc: Path) -> None:
    write(bucc / "de-en.dev.gold", "de-1\ten-2", "de-3\ten-2")
    (task,) = read_bucc(str(bucc), ["deu"], part="dev")
    assert task.gold == [(0, 1)]
    assert task.gold_lines == 2


@pytest.mark.parametrize(
    ("file", "lines", "message"),
    [
        ("de-en.dev.gold", ["de-4\ten-1", "de-9\ten-2"], r"gold:2: expected an id of de-en\.dev\.de, found 'de-9'"),
        ("de-en.dev.gold", ["de-1\ten-9"], r"gold:1: expected an id of de-en\.dev\.en, found 'en-9'"),
        ("de-en.dev.gold", ["en-1\tde-4"], r"gold:1: .*found en-1 and de-4 in the other order"),
        ("de-en.dev.gold", ["de-4 en-1"], r"gold:1: expected 2 columns by TAB, found 1"),
        ("de-en.dev.gold", [], r"gold: .*found an empty file"),
        ("de-en.dev.en", [], r"dev\.en: .*found an empty file"),
        (
            "de-en.dev.de",
            ["de-1\tEins", "de-2 Zwei"],
            r"dev\.de:2: expected an id, a TAB and a text, found 'de-2 Zwei'",
        ),
        ("de-en.dev.de", ["de-1\tEins", "de-2\t "], r"dev\.de:2: expected an id, a TAB and a text"),
        ("de-en.dev.de", ["\tEins"], r"dev\.de:1: expected an id, a TAB and a text"),
        ("de-en.dev.de", ["de-1\tEins", "de-1\tZwei"], r"dev\.de:2: expected a new id, found de-1 a second time"),
    ],
)
def test_a_broken_line_is_named_with_its_file(bucc: Path, file: str, lines: list[str], message: str) -> None:
    write(bucc / file, *lines)
    with pytest.raises(ValueError, match=message):
        read_bucc(str(bucc), None, part="dev")


def test_a_missing_side_is_named(bucc: Path) -> None:
    (bucc / "de-en.dev.en").unlink()
    with pytest.raises(ValueError, match=r"de-en\.dev\.gold: expected de-en\.dev\.en beside it"):
        read_bucc(str(bucc), None, part="dev")


def test_a_missing_language_or_part_or_folder_is_named(bucc: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \*-en\.dev\.gold for fra; there are deu"):
        read_bucc(str(bucc), ["fr"], part="dev")
    with pytest.raises(FileNotFoundError, match=r"no \*-en\.training\.gold for any language; there are none"):
        read_bucc(str(bucc), None, part="training")
    with pytest.raises(FileNotFoundError, match=r"evaluator\.root="):
        read_bucc(str(bucc / "nowhere"), None, part="dev")


def test_the_published_files_have_the_published_sizes(shared_data: Path) -> None:
    folder = existing(shared_data / "bucc2018")
    (task,) = read_bucc(str(folder), ["zho"], part="dev")
    assert (task.source_lines, task.target_lines, task.gold_lines) == (8624, 13589, 257)
    assert len(set(task.source)) == len(task.source) < 8624
