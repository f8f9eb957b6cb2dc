"""Readers of parallel text (TSV, Moses, OPUS, JSONL, Parquet, Hugging Face hub).

A reader takes the ledger of rejected lines and ``data.root``, a folder, a file or a name, and yields sentence pairs.
"""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from xsent.data.readers.lines import check_aligned, existing_folder, ledger_columns, numbered_lines, open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.languages import to_iso639_3


class SentencePair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    source_lang: str  # ISO 639-3
    target_lang: str
    origin: str  # corpus, "" if unknown
    file: str
    line: int  # from 1


def read_tsv(ledger: RejectLedger, root: str, *, pattern: str) -> Iterator[SentencePair]:
    """Read files of ``source TAB target [TAB origin]``, plain or gzipped.

    The pattern is a regular expression for complete file names, with the groups ``source`` and ``target`` for the
    languages, e.g. ``(?P<source>en)-(?P<target>[a-z]+)\\.tsv(\\.gz)?``.
    """
    for path, source_lang, target_lang in _matching_files(root, pattern):
        for number, columns in ledger_columns(path, ledger, 2, 3):
            source, target, origin = columns if len(columns) == 3 else (*columns, "")
            if ledger.has_both_sides(source, target, str(path), number):
                yield SentencePair(source, target, source_lang, target_lang, origin, str(path), number)


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
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: expected a zip file as OPUS publishes it, found something else")
    with zipfile.ZipFile(path) as archive:
        for name, target_name, match in _moses_names(archive.namelist(), path):
            with archive.open(name) as source, archive.open(target_name) as target:
                paths = Path(f"{path}:{name}"), Path(f"{path}:{target_name}")
                yield from _aligned(source, target, *paths, match, ledger)


def read_jsonl(
    ledger: RejectLedger, root: str, *, source_lang: str | None, target_lang: str | None
) -> Iterator[SentencePair]:
    """Read JSON objects, one per line: ``source``, ``target``, and unless given ``source_lang``, ``target_lang``."""
    with open_bytes(_existing_file(root)) as file:
        for number, text in numbered_lines(file, root, ledger):
            try:
                record = json.loads(text)
            except json.JSONDecodeError as error:
                ledger.add(root, number, "expected a JSON object", f"{error.msg} in {text[:60]!r}")
                continue
            yield from _record(record, root, number, source_lang, target_lang, ledger)


def read_parquet(
    ledger: RejectLedger, root: str, *, source_lang: str | None, target_lang: str | None
) -> Iterator[SentencePair]:
    """Read a Parquet file with the columns of ``read_jsonl``; needs the extra ``parquet``."""
    path = _existing_file(root)
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError("reading Parquet needs pyarrow: pip install 'xsent[parquet]'") from error
    number = 0
    for batch in ParquetFile(path).iter_batches():
        ledger.lines += batch.num_rows
        for record in batch.to_pylist():
            number += 1
            yield from _record(record, root, number, source_lang, target_lang, ledger)


def read_hub(
    ledger: RejectLedger,
    root: str,
    *,
    subset: str | None,
    split: str,
    revision: str | None,
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
    for number, row in enumerate(rows, start=1):
        ledger.lines += 1
        record = dict(row)
        if "translation" in record:
            (source_code, source), (target_code, target) = list(record["translation"].items())[:2]
            record = {"source": source, "target": target, "source_lang": source_code, "target_lang": target_code}
        yield from _record(record, root, number, source_lang, target_lang, ledger)


_MOSES = re.compile(
    r"(?P<stem>.*?\.?(?P<source>[A-Za-z_]{2,11})-(?P<target>[A-Za-z_]{2,11}))\.(?P<lang>[A-Za-z_]{2,11})(?P<gz>\.gz)?"
)


def _existing_file(root: str) -> Path:
    path = Path(root)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; give one with data.root=...")
    return path


def _matching_files(root: str, pattern: str) -> list[tuple[Path, str, str]]:
    folder = existing_folder(root, "data.root")
    paths = sorted(folder.iterdir())
    files = [
        (path, to_iso639_3(match["source"]), to_iso639_3(match["target"]))
        for path in paths
        if (match := re.fullmatch(pattern, path.name))
    ]
    if not files:
        names = ", ".join(path.name for path in paths[:5]) or "nothing"
        raise FileNotFoundError(f"{folder}: expected files whose names match {pattern}, found {names}")
    return files


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
    sources = dict(numbered_lines(source, str(path), ledger))
    middle = ledger.lines
    targets = dict(numbered_lines(target, str(target_path), ledger))
    # The ledger counts the lines, since a broken last line is in neither dict.
    check_aligned(path, middle - start, target_path, ledger.lines - middle)
    for number in sorted(sources.keys() & targets.keys()):
        if ledger.has_both_sides(sources[number], targets[number], str(path), number):
            yield SentencePair(sources[number], targets[number], source_lang, target_lang, "", str(path), number)


def _record(
    record: Any, file: str, number: int, source_lang: str | None, target_lang: str | None, ledger: RejectLedger
) -> Iterable[SentencePair]:
    if not isinstance(record, dict) or not all(isinstance(record.get(k), str) for k in ("source", "target")):
        ledger.add(file, number, "expected texts `source` and `target`", str(record)[:80])
        return ()
    source_code = source_lang or record.get("source_lang")
    target_code = target_lang or record.get("target_lang")
    if not source_code or not target_code:
        raise ValueError(f"{file}:{number}: expected source_lang and target_lang, in the record or as options")
    try:
        languages = to_iso639_3(source_code), to_iso639_3(target_code)
    except ValueError as error:
        raise ValueError(f"{file}:{number}: {error}") from None
    source, target = record["source"], record["target"]
    if any("\ud800" <= letter <= "\udfff" for letter in source + target):
        ledger.add(file, number, "broken UTF-8", "half a surrogate pair")
        return ()
    if not ledger.has_both_sides(source, target, file, number):
        return ()
    return (SentencePair(source, target, *languages, str(record.get("origin") or ""), file, number),)
