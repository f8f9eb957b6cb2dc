"""SwissGov-RSD reader: web pages in two languages, with the degree to which each word differs in meaning."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xsent.batch import WordPair
from xsent.data.readers.lines import existing_folder, read_lines, select_available
from xsent.files.strict_json import parse_json
from xsent.languages import to_iso639_3

UNSCORED = -1.0  # label of a word that is not scored, such as punctuation

TEXTS, LABELS = ("text_a", "text_b"), ("labels_a", "labels_b")


@dataclass(frozen=True)
class DocumentSet:
    """N pairs of documents whose words have labels."""

    name: str  # "deu", the language that is paired with English
    pairs: list[WordPair]
    labels: list[tuple[tuple[float, ...], tuple[float, ...]]]  # per word 0 (same meaning) to 1, or ``UNSCORED``
    source: list[str]  # the same documents as text
    target: list[str]
    source_lang: str
    target_lang: str


def read_swissgov(root: str, languages: Sequence[str] | None, *, part: str) -> list[DocumentSet]:
    """Read ``<part>.<language>.jsonl`` or ``.jsonl.gz``: a page in English (``text_a``) and another language.

    Words are separated by single spaces, and ``labels_a`` and ``labels_b`` have a number for each: 0 (same meaning) to
    1 (different), or -1 for words that are not scored. Other keys are ignored. Languages are in any code; None is all
    of the folder.

    Raises:
        FileNotFoundError: no such folder, or it lacks a language.
        ValueError: a line is no such object, an empty file, another number of labels than words, or a label out of
            range; names file and line.

    Source:
        Wastl, Vamvas and Sennrich 2026, SwissGov-RSD (arXiv:2512.07538).
    """
    folder = existing_folder(root, "evaluator.root")
    pattern = re.compile(rf"{re.escape(part)}\.([a-z]+)\.jsonl(\.gz)?")
    matches = [match for path in sorted(folder.iterdir()) if (match := pattern.fullmatch(path.name))]
    files = {to_iso639_3(match[1]): folder / match[0] for match in matches}
    return [
        _read_set(files[lang], lang) for lang in select_available(languages, files, folder, f"{part}.<language>.jsonl")
    ]


def _read_set(path: Path, language: str) -> DocumentSet:
    pairs: list[WordPair] = []
    labels = []
    for location, record in _records(path):
        words = [_words(record, key, location) for key in TEXTS]
        pairs.append(WordPair(*words))
        first, second = (_labels(record, key, len(side), location) for key, side in zip(LABELS, words, strict=True))
        labels.append((first, second))
    if not pairs:
        raise ValueError(f"{path}: expected at least 1 line, found an empty file")
    source, target = ([" ".join(pair[side]) for pair in pairs] for side in (0, 1))
    return DocumentSet(language, pairs, labels, source, target, "eng", language)


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(read_lines(path), start=1):
        location = f"{path}:{number}"
        try:
            record = parse_json(line)
        except ValueError as error:
            reason = f"{getattr(error, 'msg', error)} in {line[:60]!r}"
            raise ValueError(f"{location}: expected a JSON object, found {reason}") from error
        if not isinstance(record, dict) or not {*TEXTS, *LABELS} <= set(record):
            keys = ", ".join((*TEXTS, *LABELS))
            raise ValueError(f"{location}: expected an object with {keys}, found {line[:80]!r}")
        yield location, record


def _words(record: Mapping[str, Any], key: str, location: str) -> tuple[str, ...]:
    text = record[key]
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{location}: expected text in {key}, found {str(text)[:60]!r}")
    return tuple(text.split(" "))


def _labels(record: Mapping[str, Any], key: str, words: int, location: str) -> tuple[float, ...]:
    labels = record[key]
    if not isinstance(labels, list) or len(labels) != words:
        size = len(labels) if isinstance(labels, list) else repr(labels)[:60]
        raise ValueError(f"{location}: {key}: expected a number for each of {words} words, found {size}")
    for label in labels:
        if isinstance(label, bool) or not isinstance(label, int | float) or not (0 <= label <= 1 or label == UNSCORED):
            raise ValueError(f"{location}: {key}: expected numbers from 0 to 1, or -1 for no label, found {label!r}")
    return tuple(map(float, labels))
