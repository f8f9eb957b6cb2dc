"""Readers of parallel text: each yields sentence pairs and sends what it cannot use to the ledger.

A reader's first two arguments are the ledger and ``data.root``: a folder, a file or a name.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from xsent.data.lines import numbered_lines, open_bytes
from xsent.data.rejects import RejectLedger
from xsent.languages import to_iso639_3


class SentencePair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
    source_lang: str  # ISO 639-3
    target_lang: str
    origin: str  # the corpus it comes from, "" when unknown
    file: str
    line: int  # from 1


def read_tsv(ledger: RejectLedger, root: str, *, pattern: str) -> Iterator[SentencePair]:
    """Files of ``source TAB target [TAB origin]``, plain or gzipped.

    Args:
        ledger: of rejected lines.
        root: folder of the files.
        pattern: regular expression that a file's name matches as a whole, with groups ``source`` and
            ``target`` for the languages, e.g. ``(?P<source>en)-(?P<target>[a-z]+)\\.tsv(\\.gz)?``.
    """
    for path, source_lang, target_lang in _matching(root, pattern):
        # The first usable line says whether this file has origins; every other line has to agree.
        name, expected = str(path), 0
        with open_bytes(path) as file:
            for number, text in numbered_lines(file, name, ledger):
                columns = text.split("\t")
                if not expected and len(columns) in (2, 3):
                    expected = len(columns)
                if len(columns) != expected:
                    reason = f"expected {expected or '2 or 3'} columns"
                    ledger.add(name, number, reason, f"{len(columns)} columns")
                    continue
                source, target, origin = columns if expected == 3 else (*columns, "")
                pair = SentencePair(source, target, source_lang, target_lang, origin, name, number)
                if _has_both_sides(pair, ledger):
                    yield pair


def read_moses(ledger: RejectLedger, root: str) -> Iterator[SentencePair]:
    """Pairs of line-aligned files ``NAME.en-de.en`` and ``NAME.en-de.de``, plain or gzipped.

    The folder of Tatoeba test files (``tatoeba.deu-eng.deu``, ``.eng``) is one of this kind.
    """
    folder = _folder(root)
    for name, other, match in _moses_names([path.name for path in folder.iterdir()], folder):
        with open_bytes(folder / name) as source, open_bytes(folder / other) as target:
            yield from _aligned(source, target, str(folder / name), str(folder / other), match, ledger)


def read_opus_zip(ledger: RejectLedger, root: str) -> Iterator[SentencePair]:
    """The Moses files inside a zip file as OPUS publishes it."""
    path = _file(root)
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: expected a zip file as OPUS publishes it, found something else")
    with zipfile.ZipFile(path) as archive:
        for name, other, match in _moses_names(archive.namelist(), path):
            with archive.open(name) as source, archive.open(other) as target:
                yield from _aligned(source, target, f"{path}:{name}", f"{path}:{other}", match, ledger)


def read_jsonl(
    ledger: RejectLedger, root: str, *, source_lang: str | None, target_lang: str | None
) -> Iterator[SentencePair]:
    """One JSON object a line: ``source``, ``target``, and unless given ``source_lang``, ``target_lang``."""
    with open_bytes(_file(root)) as file:
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
    """A Parquet file with the columns of ``read_jsonl``; needs the extra ``parquet``."""
    path = _file(root)
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
    ledger: RejectLedger, root: str, *, subset: str | None, split: str, revision: str | None,
    source_lang: str | None, target_lang: str | None,
) -> Iterator[SentencePair]:  # fmt: skip
    """The data set ``root`` of the Hugging Face hub: the columns of ``read_jsonl``, or ``translation``.

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
            record = {"source": source, "target": target}
            record |= {"source_lang": source_code, "target_lang": target_code}
        yield from _record(record, root, number, source_lang, target_lang, ledger)


_MOSES = re.compile(
    r"(?P<stem>.*?\.?(?P<source>[A-Za-z_]{2,11})-(?P<target>[A-Za-z_]{2,11}))\.(?P<own>[A-Za-z_]{2,11})(?P<gz>\.gz)?"
)


def _folder(root: str) -> Path:
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give one with data.root=...")
    return folder


def _file(root: str) -> Path:
    path = Path(root)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; give one with data.root=...")
    return path


def _matching(root: str, pattern: str) -> list[tuple[Path, str, str]]:
    folder = _folder(root)
    files = []
    for path in sorted(folder.iterdir()):
        if match := re.fullmatch(pattern, path.name):
            files.append((path, to_iso639_3(match["source"]), to_iso639_3(match["target"])))
    if not files:
        names = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise FileNotFoundError(f"{folder}: expected files whose names match {pattern}, found {names}")
    return files


def _aligned(
    source: IO[bytes], target: IO[bytes], name: str, other: str, match: re.Match[str], ledger: RejectLedger
) -> Iterator[SentencePair]:
    source_lang, target_lang = to_iso639_3(match["source"]), to_iso639_3(match["target"])
    before = ledger.lines
    sources = dict(numbered_lines(source, name, ledger))
    between = ledger.lines
    targets = dict(numbered_lines(target, other, ledger))
    # By the ledger, since a broken last line is in neither dict.
    lengths = between - before, ledger.lines - between
    if lengths[0] != lengths[1]:
        raise ValueError(f"{name} has {lengths[0]} lines, {other} has {lengths[1]}: they must be line-aligned")
    for number in sorted(sources.keys() & targets.keys()):
        pair = SentencePair(sources[number], targets[number], source_lang, target_lang, "", name, number)
        if _has_both_sides(pair, ledger):
            yield pair


def _moses_names(names: Sequence[str], where: Path) -> list[tuple[str, str, re.Match[str]]]:
    pairs = []
    for name in sorted(names):
        match = _MOSES.fullmatch(name)
        if match and match["own"] == match["source"]:
            other = f"{match['stem']}.{match['target']}{match['gz'] or ''}"
            if other not in names:
                raise FileNotFoundError(f"{where}: holds {name}, expected {other} beside it")
            pairs.append((name, other, match))
    if not pairs:
        found = ", ".join(sorted(names)[:5]) or "nothing"
        raise FileNotFoundError(f"{where}: expected files such as corpus.en-de.en and corpus.en-de.de, found {found}")
    return pairs


def _record(
    record: Any,
    file: str,
    number: int,
    source_lang: str | None,
    target_lang: str | None,
    ledger: RejectLedger,
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
    pair = SentencePair(source, target, *languages, str(record.get("origin") or ""), file, number)
    return (pair,) if _has_both_sides(pair, ledger) else ()


def _has_both_sides(pair: SentencePair, ledger: RejectLedger) -> bool:
    if pair.source and pair.target and not pair.source.isspace() and not pair.target.isspace():
        return True
    ledger.add(pair.file, pair.line, "empty side", f"{pair.source[:40]!r} and {pair.target[:40]!r}")
    return False
