"""Write hard negatives of English sentences for xSIM++ (``xsent augment``)."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from xsent.config_checks import check_integer
from xsent.data.readers.lines import open_bytes
from xsent.data.readers.rejects import RejectLedger
from xsent.files.atomic import atomic_write
from xsent.jobs.checks import check_files, check_input
from xsent.text.english.entities import NameCollector, Names
from xsent.text.text_lines import numbered_lines
from xsent.text.xsimpp_negatives import augment


class AugmentSummary(NamedTuple):
    """Counts and output files of ``augment_file``."""

    sentences: int  # distinct lines with text
    augmentations: Counter[str]  # by error type
    augmented: Path
    error_types: Path

    def __str__(self) -> str:
        total = self.augmentations.total()
        counts = ", ".join(f"{n:,} {kind}" for kind, n in self.augmentations.most_common())
        return (
            f"{total:,} hard negatives of {self.sentences:,} sentences, {total / self.sentences:.1f} each ({counts}):"
            f" {self.augmented} and {self.error_types}"
        )


def augment_file(
    source: Path, prefix: Path, *, seed: int, per_number: int, per_entity: int, max_per_sentence: int | None
) -> AugmentSummary:
    """Write the two files of xSIM++: ``eng_Latn_augmented.dev`` and ``eng_Latn_errtype.dev.json``.

    The source is read twice, line by line: first to collect names, then to augment. Memory holds the names and a
    digest of each sentence: no negative equals a line of the source, and no negative occurs twice.

    Args:
        source: English text, one sentence per line, plain or ``.gz``; repeated lines are augmented once.
        prefix: folder and start of the file names, e.g. ``out/eng_Latn``; the names end as ``source`` does.
        seed, per_number, per_entity: as in ``augment``.
        max_per_sentence: maximum number of negatives per sentence: causality first, then numbers, then entities;
            None is no cap.

    Raises:
        FileNotFoundError: no such source.
        ValueError: a number below 0, an output that is the source, a line that is not UTF-8, no line with text, or no
            line that can be changed.
    """
    counts = {"per_number": per_number, "per_entity": per_entity, "max_per_sentence": max_per_sentence}
    for option, value in counts.items():
        if value is not None:
            check_integer(option, value, minimum=0)
    suffix = Path(source.name.removesuffix(".gz")).suffix
    paths = [prefix.with_name(f"{prefix.name}_{kind}") for kind in (f"augmented{suffix}", f"errtype{suffix}.json")]
    check_input(source)
    check_files([source], paths, makes_folder=True)
    collector, used, sentences = NameCollector(), set[int](), 0
    for line in _lines(source, "reading names", None):
        collector.add(line)
        used.add(_digest(line))
        sentences += 1
    if not used:
        raise ValueError(f"{source}: expected at least 1 sentence, found none")
    names = Names(collector.names())

    augmentations: Counter[str] = Counter()
    augmented_lines: set[int] = set()
    with ExitStack() as stack:
        augmented, error_types = (stack.enter_context(atomic_write(path)) for path in paths)
        for line in _lines(source, "augmenting", sentences):
            if _digest(line) in augmented_lines:
                continue
            augmented_lines.add(_digest(line))
            negatives = augment(line, names, seed=seed, per_number=per_number, per_entity=per_entity)
            new = [negative for negative in negatives if _digest(negative.text) not in used]
            for negative in new[:max_per_sentence]:
                used.add(_digest(negative.text))
                augmented.write(negative.text + "\n")
                error_types.write(",\n" if augmentations else "{\n")
                entry = {"src": line, "errtype": negative.error_type}
                error_types.write(f"{_json(negative.text)}: {_json(entry)}")
                augmentations[negative.error_type] += 1
        if not augmentations:
            raise ValueError(f"{source}: none of {sentences} sentences has a number, a name or a word to be changed")
        error_types.write("\n}\n")
    return AugmentSummary(len(augmented_lines), augmentations, *paths)


def _lines(source: Path, description: str, total: int | None) -> Iterator[str]:
    with open_bytes(source) as file:
        lines = (text for _, text in numbered_lines(file, str(source), RejectLedger(strict=True)) if text.strip())
        yield from tqdm(lines, desc=description, total=total, unit=" sentences", delay=2, leave=False)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
