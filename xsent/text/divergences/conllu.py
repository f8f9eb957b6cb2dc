"""Annotated pairs from files: CoNLL-U of both sides, and a Pharaoh line of links for each pair."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import repeat, zip_longest
from pathlib import Path
from typing import NamedTuple

from xsent.text.divergences.pairs import AnnotatedPair, check_pair
from xsent.text.divergences.pharaoh import parse_links

_EMPTY = "_"


class Sentence(NamedTuple):
    """A sentence of a CoNLL-U file; annotation that some word of it lacks is empty."""

    key: str  # "# sent_id"
    origin: str  # "# source", or ""
    words: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    heads: tuple[int, ...]  # 0-based; -1: the root
    where: str  # file and line of its first word


def read_conllu(path: Path) -> Iterator[Sentence]:
    """Sentences of a CoNLL-U file, one at a time.

    Words are the numbered ones, which the parse is about: of ``1-2 du``, ``1 de``, ``2 le`` these are "de" and "le".
    Lines of multi-word tokens and of empty nodes (``1.1``) are skipped.

    Raises:
        FileNotFoundError: no such file.
        ValueError: broken UTF-8, a line without 10 columns, words not numbered 1, 2, 3, a head that is no number, or
            a sentence without ``# sent_id``; names file and line.
    """
    comments: dict[str, str] = {}
    rows: list[list[str]] = []
    first = 0
    for number, line in _numbered_lines(path):
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
            yield _sentence(comments, rows, f"{path}:{first}")
            comments, rows = {}, []
    if rows:
        yield _sentence(comments, rows, f"{path}:{first}")


def read_annotated(source_conllu: Path, target_conllu: Path, links: Path | None) -> Iterator[AnnotatedPair]:
    """Pairs of three files with the same sentences in the same order, one at a time.

    Args:
        source_conllu: words, Penn tags (XPOS) and parse of the source side.
        target_conllu: words of the target side; its tags are XPOS, or UPOS where these are missing, or none.
        links: a line of Pharaoh links (0-based, source-target) for each pair; may be empty. None: pairs have no links.

    Raises:
        FileNotFoundError: one of the files is missing.
        ValueError: a broken line, another id on the other side, an id that occurs twice, files of different length,
            or annotation that does not fit (``check_pair``); names file and line.
    """
    seen: set[str] = set()
    end = None
    sentences = zip_longest(read_conllu(source_conllu), read_conllu(target_conllu))
    no_links = repeat((0, ""))
    rows = zip(sentences, no_links, strict=False) if links is None else zip_longest(sentences, _numbered_lines(links))
    for number, (both, line) in enumerate(rows, start=1):
        source, target = both or (end, end)
        if source is end or target is end or line is end:
            files = ((source_conllu, source), (target_conllu, target), (links, line))
            ended = " and ".join(str(path) for path, row in files if row is end)
            raise ValueError(f"{ended}: expected as many sentences as the other files, found {number - 1:,}")
        if source.key != target.key:
            raise ValueError(
                f"{target.where}: expected sent_id {source.key!r}, as {source.where}, found {target.key!r}"
            )
        if source.key in seen:
            raise ValueError(f"{source.where}: expected every sent_id once, found {source.key!r} again")
        seen.add(source.key)
        where = f"{links}:{line[0]}"
        beside = "" if links is None else f" and {where}"
        pair = AnnotatedPair(
            key=source.key,
            source=source.words,
            target=target.words,
            tags=source.xpos,
            heads=source.heads,
            links=parse_links(line[1], where),
            origin=source.origin,
            target_tags=target.xpos or target.upos,
        )
        check_pair(pair, f"{source.where} ({source.key}), with {target.where}{beside}")
        yield pair


def _sentence(comments: dict[str, str], rows: list[list[str]], where: str) -> Sentence:
    if "sent_id" not in comments:
        raise ValueError(f"{where}: expected '# sent_id = ...' above the sentence, found none")
    heads = _column(rows, 6)
    return Sentence(
        key=comments["sent_id"],
        origin=comments.get("source", ""),
        words=tuple(row[1] for row in rows),
        upos=_column(rows, 3),
        xpos=_column(rows, 4),
        heads=tuple(int(head) - 1 for head in heads),
        where=where,
    )


def _column(rows: list[list[str]], number: int) -> tuple[str, ...]:
    values = tuple(row[number] for row in rows)
    return () if _EMPTY in values else values


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a text file, found none")
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                # Of the whole file only, as some editors put it there.
                text = raw.removeprefix(BOM_UTF8) if number == 1 else raw
                yield number, text.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}:{number}: expected UTF-8, found byte 0x{raw[error.start]:02x}") from error
