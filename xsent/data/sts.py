"""Readers of semantic textual similarity: sentence pairs with a human score from 0 to 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xsent.data.lines import read_lines
from xsent.languages import to_iso639_3

PIVOT = "eng"  # named first, whatever a file's name says
STSB_COLUMNS = (7, 9)  # genre, file, year, id, score, two sentences, and for some lines the sentences' origins


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs of one language pair, each with its gold score.

    Which column holds which language is not said: the names of the files do not tell (``track2.ar-en`` has
    English first), and a similarity does not ask.
    """

    name: str  # "eng-ara", "ara-ara"
    source: list[str]
    target: list[str]
    gold: list[float]  # 0, nothing in common, to 5, the same meaning


def read_sts17(root: str, pairs: Sequence[str] | None) -> list[ScoredPairs]:
    """SemEval-2017 task 1, as published or as extended for sentence-transformers, or some of both in a folder.

    Published: ``STS.input.track5.en-en.txt``, sentence TAB sentence, and ``STS.gs.track5.en-en.txt``, a score
    a line. Extended: ``STS.en-de.txt``, sentence TAB sentence TAB score. Where a pair has several tracks the
    first by name is read: 4a, which the extended files hold, not 4b.

    Args:
        root: folder of the files.
        pairs: such as ``en-ar``, in any codes and either order; None is all that are there.

    Raises:
        FileNotFoundError: no such folder, or a pair is not in it.
        ValueError: a line has another form or the score is no number from 0 to 5, a file is empty, a track
            has no gold file or one of another length.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; give one with evaluator.root=...")
    found: dict[str, Path] = {}
    for path in [*sorted(folder.glob("STS.input.track*.*-*.txt")), *sorted(folder.glob("STS.*-*.txt"))]:
        stem = path.name.removesuffix(".txt")
        if not stem.startswith("STS.gs."):
            found.setdefault(_pair_name(stem.rpartition(".")[2]), path)
    chosen = list(found) if pairs is None else [_pair_name(pair) for pair in pairs]
    missing = [pair for pair in chosen if pair not in found]
    if missing or not chosen:
        wanted, there = ", ".join(missing) or "any pair", ", ".join(sorted(found)) or "none"
        raise FileNotFoundError(f"{folder}: no files for {wanted}; there are {there}")
    return [_read_track(pair, found[pair]) for pair in chosen]


def read_stsb(root: str, pairs: Sequence[str] | None, *, part: str) -> list[ScoredPairs]:
    """STSBenchmark, ``sts-<part>.csv``: English, columns by TAB whatever its ending says, no quoting.

    Args:
        root: folder of the file.
        pairs: None or ``en-en``, there are no others.
        part: ``dev``, ``test`` or ``train``.

    Raises:
        FileNotFoundError: no such file, or another pair is asked for.
        ValueError: a line has neither 7 nor 9 columns or no score from 0 to 5, or the file is empty.
    """
    path = Path(root) / f"sts-{part}.csv"
    name = f"{PIVOT}-{PIVOT}"
    if others := [pair for pair in pairs or () if _pair_name(pair) != name]:
        raise FileNotFoundError(f"{path}: expected {name}, the only pair of this set, found {', '.join(others)}")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; give its folder with evaluator.root=...")
    rows = _rows(path, STSB_COLUMNS)
    gold = [_score(row[4], path, number) for number, row in enumerate(rows, start=1)]
    return [ScoredPairs(name, [row[5] for row in rows], [row[6] for row in rows], gold)]


def _pair_name(pair: str) -> str:
    codes = pair.split("-")
    if len(codes) != 2:
        raise ValueError(f"pair {pair!r}: expected two language codes such as en-ar")
    first, second = sorted((to_iso639_3(code) for code in codes), key=lambda code: (code != PIVOT, code))
    return f"{first}-{second}"


def _read_track(pair: str, path: Path) -> ScoredPairs:
    if not path.name.startswith("STS.input."):
        rows = _rows(path, (3,))
        gold = [_score(row[2], path, number) for number, row in enumerate(rows, start=1)]
    else:
        rows = _rows(path, (2,))
        gold_path = path.with_name(path.name.replace("STS.input.", "STS.gs.", 1))
        if not gold_path.is_file():
            raise ValueError(f"{path}: expected {gold_path.name} beside it, found none")
        gold = [_score(row[0], gold_path, number) for number, row in enumerate(_rows(gold_path, (1,)), start=1)]
        if len(gold) != len(rows):
            raise ValueError(f"{path} has {len(rows)} lines, {gold_path} has {len(gold)}: each pair needs a score")
    return ScoredPairs(pair, [row[0] for row in rows], [row[1] for row in rows], gold)


def _rows(path: Path, widths: Sequence[int]) -> list[list[str]]:
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) not in widths:
            expected = " or ".join(map(str, widths))
            raise ValueError(f"{path}:{number}: expected {expected} columns by TAB, found {len(row)}")
    if not rows:
        raise ValueError(f"{path}: expected at least 1 line, found an empty file")
    return rows


def _score(text: str, path: Path, number: int) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not 0 <= score <= 5:
        raise ValueError(f"{path}:{number}: expected a score from 0 to 5, found {text!r}")
    return score
