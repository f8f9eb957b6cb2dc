"""Readers of synthetic divergences (JSON lines of ``xsent diverge``) and of candidate sentences for margin scores."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from xsent.batch import WordPair
from xsent.data.readers.lines import read_lines
from xsent.text.divergences.json_format import SEED, UNCHANGED, Divergence, from_json

WordCounts = tuple[int, ...]  # per word, how many annotators highlighted it


@dataclass(frozen=True)
class DivergenceSet:
    """Test set of N sentence pairs, each labelled as equivalent or divergent."""

    name: str  # "wikimatrix", "opensubs", "synthetic"
    pairs: Sequence[WordPair]
    source: list[str]  # the same sentences as raw text
    target: list[str]
    equivalent: list[bool]
    kinds: list[str]  # finer label of annotators or of the generator; "" if there is none
    highlights: list[tuple[WordCounts, WordCounts]] | None  # of both sides; None if words are not labelled
    annotators: int  # how many annotators could highlight a word
    source_lang: str = "eng"  # ISO 639-3
    target_lang: str = "fra"

    def digest(self) -> str:
        """Hex digest of the content."""
        # Words that are tokenised on demand follow from the sentences.
        content = vars(self) | {"pairs": self.pairs if isinstance(self.pairs, list) else []}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def divergence_set(records: Sequence[Divergence], *, name: str) -> DivergenceSet:
    """Test set of synthetic divergences; changed words count as highlighted by one annotator."""
    return DivergenceSet(
        name=name,
        pairs=[WordPair(record.source, record.target) for record in records],
        source=[" ".join(record.source) for record in records],
        target=[" ".join(record.target) for record in records],
        equivalent=[record.kind == SEED for record in records],
        kinds=[record.kind for record in records],
        highlights=[(_changed(record.source_labels), _changed(record.target_labels)) for record in records],
        annotators=1,
    )


def read_divergences(root: str, sets: Sequence[str] | None) -> list[DivergenceSet]:
    """Read a file of ``xsent diverge`` as a test set: seeds are equivalent, all other records are divergent.

    Of ``sets`` only ``synthetic`` exists; None selects it.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not a divergence, the file is empty, or ``sets`` names another set.
    """
    if sets is not None and list(sets) != ["synthetic"]:
        raise ValueError(f"evaluator.sets={list(sets)}: expected synthetic, {root} has no other")
    return [divergence_set(_records(root), name="synthetic")]


def read_dev_divergences(path: str, seeds: int) -> DivergenceSet:
    """Read so many evenly spaced seeds of such a file, with their divergences, to calibrate a threshold on.

    Versions of the seeds alternate: if all seeds have the same number of versions, any ``seeds`` consecutive pairs are
    of different seeds and hold about the same share of each kind.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not a divergence, or the file has fewer seeds.
    """
    versions_of: dict[str, list[Divergence]] = {}
    for record in _records(path):
        versions_of.setdefault(record.seed, []).append(record)
    if len(versions_of) < seeds:
        raise ValueError(f"evaluator.dev_seeds={seeds}: expected at most {len(versions_of)}, the seeds of {path}")
    groups = list(versions_of.values())
    # The file may have its cleanest seeds first, so the selected ones are spread over all of it.
    selected = [groups[number * len(groups) // seeds] for number in range(seeds)]
    rotated = [group[row % len(group) :] + group[: row % len(group)] for row, group in enumerate(selected)]
    records = [record for version in zip_longest(*rotated) for record in version if record is not None]
    return divergence_set(records, name="dev")


def read_seed_groups(path: str, max_lines: int | None = None) -> Iterator[list[Divergence]]:
    """Yield each seed followed by its divergences, in file order; of the first lines, or of all.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line is not a divergence, a seed occurs twice, divergences come without their seed, or a seed
            has two divergences of one kind.
    """
    group: list[Divergence] = []
    seeds: set[str] = set()
    for number, line in enumerate(read_lines(Path(path))[:max_lines], start=1):
        record = from_json(line, f"{path}:{number}")
        if record.kind == SEED:
            if record.seed in seeds:
                raise ValueError(f"{path}:{number}: expected another seed, found {record.seed} again")
            seeds.add(record.seed)
            if group:
                yield group
            group = [record]
        elif not group or group[0].seed != record.seed:
            raise ValueError(f"{path}:{number}: expected seed {record.seed} itself before its divergences")
        elif record.kind in {member.kind for member in group}:
            raise ValueError(f"{path}:{number}: expected one {record.kind} of a seed, found another")
        else:
            group.append(record)
    if group:
        yield group


@dataclass(frozen=True)
class Candidates:
    """Additional sentences among which margin scores search neighbours."""

    source: list[str]
    target: list[str]


def read_candidates(path: str) -> Candidates:
    """Read both sides of ``source TAB target [TAB ...]``, plain or gzipped; empty sides are left out.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a line has fewer than 2 columns, or a side has no sentence.
    """
    rows = []
    for number, line in enumerate(read_lines(Path(path)), start=1):
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) < 2:
            raise ValueError(f"{path}:{number}: expected at least 2 columns by TAB, found {len(columns)}")
        rows.append(columns)
    source, target = ([row[side] for row in rows if row[side]] for side in (0, 1))
    if not source or not target:
        raise ValueError(f"{path}: expected sentences on both sides, found {len(source)} and {len(target)}")
    return Candidates(source, target)


def _records(path: str) -> list[Divergence]:
    records = [from_json(line, f"{path}:{number}") for number, line in enumerate(read_lines(Path(path)), start=1)]
    if not records:
        raise ValueError(f"{path}: expected at least 1 divergence, found none")
    return records


def _changed(labels: Sequence[str]) -> WordCounts:
    return tuple(int(label != UNCHANGED) for label in labels)
