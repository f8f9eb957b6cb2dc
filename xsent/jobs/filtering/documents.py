"""Two text files as one pair of documents: a bitext with one row."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from xsent.data.readers.lines import read_lines
from xsent.files.atomic import write_text

LINE_SEPARATOR = "\u2028"  # stands for a line break of a document, as a row of a table has none


@contextmanager
def documents_as_row(source: Path, target: Path) -> Iterator[Path]:
    """A temporary tab-separated file with both documents in one row; it is deleted at the end.

    A line break becomes ``LINE_SEPARATOR``, a tab a space.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file is not UTF-8, or has no text; names the file.
    """
    cells = [_cell(path) for path in (source, target)]
    with TemporaryDirectory() as folder:
        table = Path(folder) / f"{source.name} and {target.name}"
        write_text(table, "\t".join(cells) + "\n")
        try:
            yield table
        except ValueError as error:
            raise ValueError(str(error).replace(f"{folder}/", "")) from error


def _cell(path: Path) -> str:
    lines = [line.replace("\t", " ").rstrip() for line in read_lines(path)]
    if not any(lines):
        raise ValueError(f"{path}: expected a document, found no text")
    return LINE_SEPARATOR.join(lines).strip(LINE_SEPARATOR)
