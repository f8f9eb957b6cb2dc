"""The files of xSIM++: hard negatives of English sentences, read beside FLORES and made from any corpus."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.data.lines import numbered_lines, open_bytes, read_lines
from xsent.data.rejects import RejectLedger
from xsent.data.tatoeba import TestBitext, read_flores
from xsent.data.whole_file import whole_file
from xsent.text.entities import NameCollector, Names
from xsent.text.xsimpp import Augmentation, augment

log = logging.getLogger(__name__)


# ---- reading


@dataclass(frozen=True)
class AugmentedTestBitext(TestBitext):
    """A test set with hard negatives of the target side."""

    augmented: list[str]
    made_from: dict[str, tuple[str, str]]  # by augmented sentence: the target sentence and the error type


class AugmentedFlores:
    """Reads FLORES-200 files, each language against English, and the hard negatives of the English lines.

    Args:
        augmented: file with an augmented English sentence a line, ``eng_Latn_augmented.dev``.
        error_types: JSON file, ``eng_Latn_errtype.dev.json``: an object with an entry for each augmented
            sentence, ``{"src": English line, "errtype": type}``.
    """

    def __init__(self, *, augmented: str, error_types: str) -> None:
        self.augmented = Path(augmented)
        self.error_types = Path(error_types)

    def __call__(self, root: str, languages: Sequence[str] | None) -> list[AugmentedTestBitext]:
        """Test sets of the languages, in any code; None is all.

        Raises:
            FileNotFoundError: a file is not there.
            ValueError: the files do not fit each other or are damaged; names file and line, or the entry.
        """
        lines, entries = self.files
        found = []
        english: set[str] | None = None
        for bitext in read_flores(root, languages, pivot="eng"):
            if english is None:  # one file, the target of every test set
                english = set(bitext.target)
                self.check_sources(english, root)
            found.append(AugmentedTestBitext(**vars(bitext), augmented=lines, made_from=entries))
        return found

    @cached_property
    def files(self) -> tuple[list[str], dict[str, tuple[str, str]]]:
        """The augmented sentences, and by each what it was made from and how.

        Raises:
            FileNotFoundError: a file is not there.
            ValueError: they do not fit each other or are damaged.
        """
        lines = read_lines(self.augmented)
        if not lines:
            raise ValueError(f"{self.augmented}: expected hard negatives beside the English lines, found an empty file")
        entries = self._entries()
        for number, line in enumerate(lines, start=1):
            if line not in entries:
                raise ValueError(f"{self.augmented}:{number}: {self.error_types} has no entry for {line!r}")
        return lines, {line: entries[line] for line in lines}

    def _entries(self) -> dict[str, tuple[str, str]]:
        if not self.error_types.is_file():
            raise FileNotFoundError(f"{self.error_types}: expected a JSON file of error types, found none")
        try:
            content = json.loads(self.error_types.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{self.error_types}:{error.lineno}: expected JSON, found {error.msg}") from error
        if not isinstance(content, dict):
            raise ValueError(f"{self.error_types}: expected an object, found {type(content).__name__}")
        for text, entry in content.items():
            if not (isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("src", "errtype"))):
                raise ValueError(f"{self.error_types}: {text!r}: expected src and errtype, found {entry!r}")
        return {text: (entry["src"], entry["errtype"]) for text, entry in content.items()}

    def check_sources(self, english: set[str], root: str) -> None:
        """Raise ``ValueError`` when a sentence was made from none of these lines of ``root``."""
        for number, line in enumerate(self.files[0], start=1):
            source = self.files[1][line][0]
            if source not in english:
                raise ValueError(
                    f"{self.augmented}:{number}: {self.error_types} says it was made from {source!r},"
                    f" which is no English line in {root}"
                )


# ---- making


class AugmentSummary(NamedTuple):
    """What ``augment_file`` did."""

    sentences: int  # distinct lines with text
    augmentations: Counter[str]  # by error type
    augmented: Path
    error_types: Path

    def __str__(self) -> str:
        """A line: how many of what, and where."""
        total = self.augmentations.total()
        parts = ", ".join(f"{n:,} {kind}" for kind, n in self.augmentations.most_common())
        return (
            f"{total:,} hard negatives of {self.sentences:,} sentences, {total / self.sentences:.1f} each ({parts}):"
            f" {self.augmented} and {self.error_types}"
        )


def augment_file(
    source: Path, prefix: Path, *, seed: int, per_number: int, per_entity: int, max_per_sentence: int | None
) -> AugmentSummary:
    """Make the two files of xSIM++ from an English one: ``eng_Latn_augmented.dev`` and ``eng_Latn_errtype.dev.json``.

    The text is read twice, a line at a time: first for its names, then to augment it. In memory are the names, and
    a digest of each sentence read or made: no negative equals a line of the source, and none occurs twice.

    Args:
        source: English text, a sentence a line, plain or ``.gz``; a line that occurs again is augmented once.
        prefix: folder and begin of the names of the files, e.g. ``out/eng_Latn``; they end as ``source`` does.
        seed, per_number, per_entity: as in ``augment``.
        max_per_sentence: at most so many negatives each: those of causality, then numbers, then entities; None
            is no cap.

    Raises:
        FileNotFoundError: no such source.
        ValueError: a number below 0, a line that is not UTF-8, no line with text, or none that could be changed.
    """
    for option, value in {
        "per_number": per_number,
        "per_entity": per_entity,
        "max_per_sentence": max_per_sentence,
    }.items():
        if value is not None and value < 0:
            raise ValueError(f"{option}={value}: expected at least 0")
    if not source.is_file():
        raise FileNotFoundError(f"{source}: expected a text file, found none")
    collector, seen, sentences = NameCollector(), set[int](), 0
    for line in _lines(source, "reading names", None):
        collector.add(line)
        seen.add(_digest(line))
        sentences += 1
    if not seen:
        raise ValueError(f"{source}: expected at least 1 sentence, found none")
    names = Names(collector.names())

    ending = Path(source.name.removesuffix(".gz")).suffix
    files = (
        prefix.with_name(f"{prefix.name}_augmented{ending}"),
        prefix.with_name(f"{prefix.name}_errtype{ending}.json"),
    )
    counts: Counter[str] = Counter()
    done: set[int] = set()
    with ExitStack() as stack:
        augmented, error_types = (stack.enter_context(whole_file(file)) for file in files)
        for line in _lines(source, "augmenting", sentences):
            if _digest(line) in done:
                continue
            done.add(_digest(line))
            made = augment(line, names, seed=seed, per_number=per_number, per_entity=per_entity)
            for one in _new(made, seen)[:max_per_sentence]:
                seen.add(_digest(one.text))
                augmented.write(one.text + "\n")
                error_types.write(",\n" if counts else "{\n")
                entry = {"src": line, "errtype": one.error_type}
                error_types.write(f"{_json(one.text)}: {_json(entry)}")
                counts[one.error_type] += 1
        if not counts:
            raise ValueError(f"{source}: none of {sentences} sentences has a number, a name or a word to be changed")
        error_types.write("\n}\n")
    return AugmentSummary(len(done), counts, *files)


def _lines(source: Path, doing: str, total: int | None) -> Iterator[str]:
    """The lines that hold text."""
    with open_bytes(source) as file:
        lines = (text for _, text in numbered_lines(file, str(source), RejectLedger(strict=True)) if text.strip())
        yield from tqdm(lines, desc=doing, total=total, unit=" sentences", delay=2, leave=False)


def _new(made: Sequence[Augmentation], seen: set[int]) -> list[Augmentation]:
    return [one for one in made if _digest(one.text) not in seen]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
