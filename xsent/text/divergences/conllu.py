"""Reader of annotated pairs: CoNLL-U for both sides and Pharaoh word links."""

import re
from collections.abc import Iterator
from itertools import repeat, zip_longest
from pathlib import Path
from typing import NamedTuple

from xsent.text.divergences.annotated_pair import AnnotatedPair, check_pair
from xsent.text.text_lines import read_numbered

# The package `conllu` (6.0) accepts any number of columns and misnumbered words, and its errors name no line.

_EMPTY = "_"
_LINK = re.compile(r"([0-9]+)-([0-9]+)")


class Sentence(NamedTuple):
    """A CoNLL-U sentence; a column that is not filled for all words is empty."""

    key: str  # "# sent_id"
    origin: str  # "# source", or ""
    words: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    heads: tuple[int, ...]  # 0-based; -1: the root
    location: str  # file and line of its first word


def read_conllu(path: Path) -> Iterator[Sentence]:
    """Stream the sentences of a CoNLL-U file.

    Only syntactic words count: "de" and "le" of ``1-2 du``, ``1 de``, ``2 le``. Lines of multi-word tokens and of
    empty nodes (``1.1``) are skipped.

    Raises:
        FileNotFoundError: no such file.
        ValueError: invalid UTF-8, a line without 10 columns, words not numbered 1, 2, 3, an invalid head, or no
            ``# sent_id``; names file and line.
    """
    comments: dict[str, str] = {}
    rows: list[list[str]] = []
    first = 0
    for number, line in read_numbered(path):
        if line.startswith("#"):
            name, _, value = line[1:].partition("=")
            comments[name.strip()] = value.strip()
        elif line.strip():
            columns = line.split("\t")
            if len(columns) != 10:
                raise ValueError(f"{path}:{number}: expected 10 columns, found {len(columns)}")
            if "-" in columns[0] or "." in columns[0]:
                continue
            if columns[0] != str(len(rows) + 1):
                raise ValueError(f"{path}:{number}: expected word {len(rows) + 1}, found {columns[0]!r}")
            if columns[6] != _EMPTY and not columns[6].isdecimal():
                raise ValueError(f"{path}:{number}: expected the number of a head, found {columns[6]!r}")
            first = first if rows else number
            rows.append(columns)
        elif rows:
            yield _make_sentence(comments, rows, f"{path}:{first}")
            comments, rows = {}, []
    if rows:
        yield _make_sentence(comments, rows, f"{path}:{first}")


def parse_links(line: str, location: str) -> tuple[tuple[int, int], ...]:
    """Parse 0-based Pharaoh links such as ``0-0 1-2``, source-target, in order.

    Raises:
        ValueError: invalid link; names ``location``.
    """
    links = []
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise ValueError(f"{location}: expected links as 0-3, source-target, found {text!r}")
        links.append((int(match[1]), int(match[2])))
    return tuple(links)


def read_annotated(source_conllu: Path, target_conllu: Path, links: Path | None) -> Iterator[AnnotatedPair]:
    """Stream pairs from three files with the same sentences in the same order.

    Args:
        source_conllu: words, Penn tags (XPOS) and parse of the source side.
        target_conllu: words of the target side; its tags are XPOS, or UPOS where these are missing, or none.
        links: a line of 0-based Pharaoh links, possibly empty, for each pair; None: pairs have no links.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: an invalid line, different or repeated ids, files of different length, or inconsistent annotation
            (``check_pair``); names file and line.
    """
    keys: set[str] = set()
    sentences = zip_longest(read_conllu(source_conllu), read_conllu(target_conllu))
    no_links = repeat((0, ""))
    rows = zip(sentences, no_links, strict=False) if links is None else zip_longest(sentences, read_numbered(links))
    for count, (both, line) in enumerate(rows):
        source, target = both or (None, None)
        if source is None or target is None or line is None:
            files = ((source_conllu, source), (target_conllu, target), (links, line))
            ended = " and ".join(str(path) for path, row in files if row is None)
            raise ValueError(f"{ended}: expected as many sentences as the other files, found {count:,}")
        if source.key != target.key:
            raise ValueError(
                f"{target.location}: expected sent_id {source.key!r}, as {source.location}, found {target.key!r}"
            )
        if source.key in keys:
            raise ValueError(f"{source.location}: expected every sent_id once, found {source.key!r} again")
        keys.add(source.key)
        location = f"{links}:{line[0]}"
        pair = AnnotatedPair(
            key=source.key,
            source=source.words,
            target=target.words,
            tags=source.xpos,
            heads=source.heads,
            links=parse_links(line[1], location),
            origin=source.origin,
            target_tags=target.xpos or target.upos,
        )
        files_and_lines = f"{source.location} ({source.key}), with {target.location}"
        check_pair(pair, files_and_lines if links is None else f"{files_and_lines} and {location}")
        yield pair


def _make_sentence(comments: dict[str, str], rows: list[list[str]], location: str) -> Sentence:
    if "sent_id" not in comments:
        raise ValueError(f"{location}: expected '# sent_id = ...' above the sentence, found none")
    return Sentence(
        key=comments["sent_id"],
        origin=comments.get("source", ""),
        words=tuple(row[1] for row in rows),
        upos=_column(rows, 3),
        xpos=_column(rows, 4),
        heads=tuple(int(head) - 1 for head in _column(rows, 6)),
        location=location,
    )


def _column(rows: list[list[str]], number: int) -> tuple[str, ...]:
    values = tuple(row[number] for row in rows)
    return () if _EMPTY in values else values
