"""``xsent filter --documents``: two text files, or rows with two documents."""

from pathlib import Path

import pytest

from xsent.cli import main
from xsent.jobs.filtering.documents import documents_as_row

pytest.importorskip("sacremoses", reason="words are cut by sacremoses: pip install 'xsent[divergence]'")

ENGLISH = ["The dog sleeps in front of the house.", "We eat fresh bread today.", "It rains in Berlin on Monday."]
FRENCH = ["Le chien dort devant la maison.", "Nous mangeons du pain frais aujourd'hui.", "Lundi il pleut à Berlin."]
ADDED = "Deux physiciens célèbres étudient des galaxies lointaines."


def write(folder: Path, name: str, *lines: str) -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return str(folder / name)


def columns(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().split("\n")[:-1]]


def test_two_text_files_are_one_row_whose_line_breaks_stay(tmp_path: Path) -> None:
    files = write(tmp_path, "a.txt", "", "One\tline.  ", "", "Two."), write(tmp_path, "b.txt", "Une ligne.")
    with documents_as_row(*map(Path, files)) as table:
        assert table.name == "a.txt and b.txt"
        assert table.read_text() == "One line.\u2028\u2028Two.\tUne ligne.\n"
    assert not table.exists()


def test_added_sentences_are_marked_and_the_page_keeps_the_lines(tmp_path: Path) -> None:
    source, target = write(tmp_path, "a.txt", *ENGLISH), write(tmp_path, "b.txt", *FRENCH[:2], ADDED, FRENCH[2])
    out, page = tmp_path / "out.tsv", tmp_path / "page.html"
    assert main(["filter", "--documents", source, target, "-o", str(out), "--html", str(page)]) == 0
    header, row = columns(out)
    cells = dict(zip(header, row, strict=True))
    assert cells["source"].split("\u2028") == ENGLISH
    marked = [entry.partition(":")[2] for entry in cells["target_divergent"].split(" ")]
    assert {"physiciens", "galaxies", "lointaines"} <= set(marked)
    assert not {"chien", "maison", "pain", "Berlin"} & set(marked)
    assert cells["source_divergent"] == "-"
    html = page.read_text()
    assert "Divergences in a.txt and b.txt" in html
    assert f"{ENGLISH[0]}\n{ENGLISH[1]}" in html
    assert "1 pair of documents" in html
    assert "Scores of all pairs" not in html  # a histogram of a single pair says nothing


def test_the_rows_of_a_table_are_pairs_of_documents(tmp_path: Path) -> None:
    same, longer = (
        "\t".join(map(" ".join, (ENGLISH, FRENCH))),
        "\t".join((ENGLISH[0], " ".join([FRENCH[0], ADDED, ADDED]))),
    )
    out = tmp_path / "out.tsv"
    assert main(["filter", "--documents", write(tmp_path, "pages.tsv", same, longer), "-o", str(out)]) == 0
    _, first, second = columns(out)
    assert (first[4], second[4]) == ("equivalent", "divergent")
    assert float(first[2]) > float(second[2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.txt b.txt", "expected one BITEXT, found 2 files; --documents compares two text files"),
        (
            "--documents a.txt b.txt b.txt",
            "--documents: expected two text files, or one BITEXT of two columns, found 3",
        ),
        ("--documents a.txt empty.txt", "empty.txt: expected a document, found no text"),
        ("--documents a.txt missing.txt", "missing.txt: expected a text file, found none"),
        ("--documents a.txt b.txt --header", "--header, --source-column and --target-column are for a BITEXT"),
        ("--documents a.txt b.txt --ckpt run", "--ckpt: a run judges sentences"),
        ("--documents a.txt b.txt --html b.txt", "b.txt: expected different files to read and write, found the input"),
        ("--documents a.txt b.txt --set documents.aligner.jump=2", "jump=2: expected a probability between 0 and 1"),
        (
            "--documents a.txt b.txt --set documents.word_threshold=1",
            "word_threshold=1: expected a probability between",
        ),
        ("--documents a.txt b.txt --set documents.aligner.max_words=3", "a document of 9 words: expected at most 3"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("a.txt", ENGLISH[:1]), ("b.txt", FRENCH[:1]), ("empty.txt", [" ", ""])):
        write(tmp_path, name, *lines)
    assert main(["filter", *arguments.split(), "-o", "out.tsv"]) in (1, 2)
    (error,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert message in error
    assert "\n" not in error
    assert "/tmp" not in error.replace(str(tmp_path), "")
    assert not (tmp_path / "out.tsv").exists()
