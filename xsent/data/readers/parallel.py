"""Readers of parallel text (TSV, CSV, JSONL, Moses, OPUS, Parquet, Hugging Face hub).

A reader takes the ledger of rejected lines and ``data.root``, a folder, a file or a name, and yields sentence pairs.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from xsent.data.readers.lines import check_aligned, existing_folder, open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.data.readers.table_columns import ColumnNames, Columns
from xsent.data.readers.tables import SUFFIXES, fields_wanted, read_table, record_cells
from xsent.files.archives import ZipMembers
from xsent.languages import to_iso639_3
from xsent.text.text_lines import numbered_lines

log = logging.getLogger(__name__)

ROLES = ("source", "target", "origin", "source_lang", "target_lang")
WIDTHS = (2, 3)


class SentencePair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    source_lang: str  # ISO 639-3
    target_lang: str
    origin: str  # corpus, "" if unknown
    file: str
    line: int  # from 1


def read_tables(
    ledger: RejectLedger,
    root: str,
    *,
    pattern: str,
    columns: ColumnNames | None,
    source_lang: str | None,
    target_lang: str | None,
) -> Iterator[SentencePair]:
    r"""Read tables (TSV, CSV, JSON lines) of a source, a target and, if the table has them, an origin and languages.

    Args:
        ledger: of rejected rows.
        root: a file, or a folder of files whose names match the pattern.
        pattern: regular expression for complete file names, with the groups ``source`` and ``target`` for the
            languages, e.g. ``(?P<source>en)-(?P<target>[a-z]+)\.tsv(\.gz)?``.
        columns: names or numbers (from 1) of the columns of ``ROLES``, at least of the first two; None: recognised.
        source_lang: language of rows without languages, in files whose names have none; likewise the target's.
    """
    table = Columns(ROLES, WIDTHS, columns)
    for path, *codes in _language_files(root, pattern, source_lang, target_lang):
        for number, (source, target, origin, *row_codes) in read_table(ledger, path, table):
            yield from _pair(source, target, origin, row_codes, codes, str(path), number, ledger)


def read_moses(ledger: RejectLedger, root: str) -> Iterator[SentencePair]:
    """Read line-aligned files ``NAME.en-de.en`` and ``NAME.en-de.de``, plain or gzipped.

    A folder of Tatoeba test files (``tatoeba.deu-eng.deu``, ``.eng``) has this format.
    """
    folder = existing_folder(root, "data.root")
    for name, target_name, match in _moses_names([path.name for path in folder.iterdir()], folder):
        with open_bytes(folder / name) as source, open_bytes(folder / target_name) as target:
            yield from _aligned(source, target, folder / name, folder / target_name, match, ledger)


def read_opus_zip(ledger: RejectLedger, root: str) -> Iterator[SentencePair]:
    """Read the Moses files of a zip archive from OPUS."""
    path = _existing_file(root)
    archive = ZipMembers(path)
    for name, target_name, match in _moses_names(archive.names, path):
        with archive.open(name) as source, archive.open(target_name) as target:
            paths = Path(f"{path}:{name}"), Path(f"{path}:{target_name}")
            yield from _aligned(source, target, *paths, match, ledger)


def read_jsonl(
    ledger: RejectLedger, root: str, *, columns: ColumnNames | None, source_lang: str | None, target_lang: str | None
) -> Iterator[SentencePair]:
    """Read one file of JSON objects, one per line; fields and options as in ``read_tables``."""
    path, codes = _existing_file(root), (source_lang, target_lang)
    for number, (source, target, origin, *row_codes) in read_table(
        ledger, path, Columns(ROLES, WIDTHS, columns), suffix=".jsonl"
    ):
        yield from _pair(source, target, origin, row_codes, codes, root, number, ledger)


def read_parquet(
    ledger: RejectLedger, root: str, *, columns: ColumnNames | None, source_lang: str | None, target_lang: str | None
) -> Iterator[SentencePair]:
    """Read a Parquet file with the columns of ``read_jsonl``; needs the extra ``parquet``."""
    path = _existing_file(root)
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow: pip install 'xsent[parquet]'") from error
    try:
        batches = ParquetFile(path).iter_batches()
    except ArrowInvalid:
        raise ValueError(f"{path}: expected a Parquet file, found something else; data=bitext reads tables") from None
    records = (record for batch in batches for record in batch.to_pylist())
    yield from _records(records, ledger, root, Columns(ROLES, WIDTHS, columns), (source_lang, target_lang))


def read_hub(
    ledger: RejectLedger,
    root: str,
    *,
    subset: str | None,
    split: str,
    revision: str | None,
    columns: ColumnNames | None,
    source_lang: str | None,
    target_lang: str | None,
) -> Iterator[SentencePair]:
    """Read the Hugging Face data set ``root``, with the columns of ``read_jsonl`` or a column ``translation``.

    Needs the extra ``hub``.
    """
    try:
        import datasets
    except ImportError as error:
        raise ImportError("reading from the hub needs datasets: pip install 'xsent[hub]'") from error
    try:
        rows = datasets.load_dataset(root, subset, split=split, revision=revision)
    except Exception as error:
        raise OSError(
            f"data set {root} could not be loaded ({type(error).__name__}: {error}); behind a mirror set"
            " HF_ENDPOINT, for a downloaded copy HF_HOME or HF_HUB_OFFLINE=1, or read files of your own with"
            " data=jsonl data.root=..."
        ) from error
    records = (_flat(row) for row in rows)
    yield from _records(records, ledger, root, Columns(ROLES, WIDTHS, columns), (source_lang, target_lang))


_MOSES = re.compile(
    r"(?P<stem>.*?\.?(?P<source>[A-Za-z_]{2,11})-(?P<target>[A-Za-z_]{2,11}))\.(?P<lang>[A-Za-z_]{2,11})(?P<gz>\.gz)?"
)


def _existing_file(root: str) -> Path:
    path = Path(root)
    if not path.is_file():
        problem = "expected a file, found a folder" if path.is_dir() else "no such file"
        raise FileNotFoundError(f"{path}: {problem}; give one with data.root=...")
    return path


def _language_files(
    root: str, pattern: str, source_lang: str | None, target_lang: str | None
) -> Iterator[tuple[Path, str | None, str | None]]:
    """Files and their languages (ISO 639-3 of the name, else the options); raise ``ValueError`` for an unknown one."""
    path = Path(root)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder; give one with data.root=...")
    paths = [path] if path.is_file() else sorted(path.iterdir())
    matches = {file: match for file in paths if (match := re.fullmatch(pattern, file.name))}
    if path.is_file() and not matches:
        yield path, source_lang, target_lang
        return
    if not matches:
        names = [file.name for file in paths if not file.name.startswith(".")][:5]
        raise FileNotFoundError(
            f"{path}: expected files named like en-de.tsv (or .csv, .jsonl), found {', '.join(names) or 'nothing'};"
            f" data.root={path / names[0] if names else 'FILE'} reads one file"
        )
    tables = [file.name for file in paths if file.name.removesuffix(".gz").endswith(SUFFIXES)]
    if unread := sorted(set(tables) - {file.name for file in matches}):
        log.warning("%s: not read, since the name is not like en-de.tsv: %s", path, ", ".join(unread[:5]))
    files = [_languages_of_name(file, match) for file, match in matches.items()]
    for file, *codes in files:
        for option, code, code_of_name in zip(
            ("source_lang", "target_lang"), (source_lang, target_lang), codes, strict=True
        ):
            if code and code_of_name != to_iso639_3(code):
                raise ValueError(
                    f"{file}: data.{option}={code} contradicts the name of the file; data.columns=[2,1] swaps the sides"
                )
    yield from files


def _languages_of_name(file: Path, match: re.Match[str]) -> tuple[Path, str, str]:
    try:
        return file, to_iso639_3(match["source"]), to_iso639_3(match["target"])
    except ValueError as error:
        raise ValueError(f"{file}: {error}; rename the file") from None


def _moses_names(names: Sequence[str], location: Path) -> list[tuple[str, str, re.Match[str]]]:
    pairs = []
    for name in sorted(names):
        match = _MOSES.fullmatch(name)
        if match and match["lang"] == match["source"]:
            target_name = f"{match['stem']}.{match['target']}{match['gz'] or ''}"
            if target_name not in names:
                raise FileNotFoundError(f"{location}: holds {name}, expected {target_name} beside it")
            pairs.append((name, target_name, match))
    if not pairs:
        first_names = ", ".join(sorted(names)[:5]) or "nothing"
        raise FileNotFoundError(
            f"{location}: expected files such as corpus.en-de.en and corpus.en-de.de, found {first_names}"
        )
    return pairs


def _aligned(
    source: IO[bytes], target: IO[bytes], path: Path, target_path: Path, match: re.Match[str], ledger: RejectLedger
) -> Iterator[SentencePair]:
    source_lang, target_lang = to_iso639_3(match["source"]), to_iso639_3(match["target"])
    start = ledger.lines
    sources = dict(numbered_lines(ledger.limited(source), str(path), ledger))
    middle = ledger.lines
    targets = dict(numbered_lines(ledger.limited(target), str(target_path), ledger))
    # The ledger counts the lines, since a broken last line is in neither dict.
    check_aligned(path, middle - start, target_path, ledger.lines - middle)
    for number in sorted(sources.keys() & targets.keys()):
        if ledger.has_both_sides(sources[number], targets[number], str(path), number):
            yield SentencePair(sources[number], targets[number], source_lang, target_lang, "", str(path), number)


def _records(
    records: Iterable[Mapping[str, Any]],
    ledger: RejectLedger,
    name: str,
    columns: Columns,
    codes: Sequence[str | None],
) -> Iterator[SentencePair]:
    for number, record in enumerate(ledger.limited(records), start=1):
        ledger.count(name, 1)
        cells = record_cells(record, columns)
        if cells is None:
            ledger.add(name, number, f"expected texts {fields_wanted(columns)}", str(record)[:80])
        else:
            source, target, origin, *row_codes = cells
            yield from _pair(source, target, origin, row_codes, codes, name, number, ledger)


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record of the hub, whose two texts may be in a field ``translation`` by language."""
    if "translation" not in row:
        return row
    (source_code, source), (target_code, target) = list(row["translation"].items())[:2]
    return {"source": source, "target": target, "source_lang": source_code, "target_lang": target_code}


def _pair(
    source: str,
    target: str,
    origin: str | None,
    row_codes: Sequence[str | None],
    codes: Sequence[str | None],
    file: str,
    line: int,
    ledger: RejectLedger,
) -> Iterable[SentencePair]:
    """The pair, unless the ledger gets it; its languages are the row's, else ``codes``."""
    languages = [of_row or default for of_row, default in zip(row_codes, codes, strict=True)]
    if not all(languages):
        raise ValueError(
            f"{file}:{line}: expected source_lang and target_lang, found neither columns nor a file name such as"
            " en-de.tsv with them; e.g. data.source_lang=en data.target_lang=de"
        )
    try:
        source_lang, target_lang = (to_iso639_3(code) for code in languages if code)
    except ValueError as error:
        raise ValueError(f"{file}:{line}: {error}") from None
    if ledger.has_both_sides(source, target, file, line):
        return (SentencePair(source, target, source_lang, target_lang, origin or "", file, line),)
    return ()
