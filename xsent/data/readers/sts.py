"""STS readers (SemEval-2017 task 1, STSBenchmark): sentence pairs with human similarity scores from 0 to 5."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xsent.data.readers.lines import existing_folder, read_columns, select_available
from xsent.languages import to_iso639_3

PIVOT = "eng"  # named first, whatever the order in the file name
ENGLISH = frozenset({"the", "and", "are", "with", "is"})  # words that tell which of two columns is English


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs of one language pair with gold scores.

    Either column may hold either language: file names do not tell (``track2.ar-en`` has English first), and a
    similarity is symmetric.
    """

    name: str  # "eng-ara", "ara-ara"
    source: list[str]
    target: list[str]
    gold: list[float]  # from 0, nothing in common, to 5, the same meaning

    @property
    def source_lang(self) -> str:
        """ISO 639-3; of two languages that of the column with more English words, if one of them is English."""
        return self._column_languages[0]

    @property
    def target_lang(self) -> str:
        """As ``source_lang``."""
        return self._column_languages[1]

    @property
    def _column_languages(self) -> tuple[str, str]:
        first, second = self.name.split("-")
        words = (
            sum(word in ENGLISH for text in side for word in text.lower().split())
            for side in (self.source, self.target)
        )
        source, target = words
        return (second, first) if first == PIVOT and source < target else (first, second)


def read_sts17(root: str, pairs: Sequence[str] | None) -> list[ScoredPairs]:
    """Read SemEval-2017 task 1 as published, as extended for sentence-transformers, or a mixture of both.

    Published: ``STS.input.track5.en-en.txt``, sentence TAB sentence, and ``STS.gs.track5.en-en.txt``, one score per
    line. Extended: ``STS.en-de.txt``, sentence TAB sentence TAB score. If a pair has several tracks, the first by name
    is read: 4a, which the extended files contain, not 4b. ``pairs`` such as ``en-ar`` are in any codes and either
    order; None is all of the folder.

    Raises:
        FileNotFoundError: no such folder, or it lacks a pair.
        ValueError: a line has another form, a score is not from 0 to 5, a file is empty, a track has no gold file
            or one of another length.
    """
    folder = existing_folder(root, "evaluator.root")
    files: dict[str, Path] = {}
    for path in [*sorted(folder.glob("STS.input.track*.*-*.txt")), *sorted(folder.glob("STS.*-*.txt"))]:
        stem = path.name.removesuffix(".txt")
        if not stem.startswith("STS.gs."):
            files.setdefault(_pair_name(stem.rpartition(".")[2]), path)
    selected = select_available(pairs, files, folder, "files", normalize=_pair_name)
    return [_read_track(pair, files[pair]) for pair in selected]


def read_stsb(root: str, pairs: Sequence[str] | None, *, part: str) -> list[ScoredPairs]:
    """Read STSBenchmark, ``sts-<part>.csv``: English, TAB-separated in spite of its name, no quoting.

    Parts are ``dev``, ``test`` and ``train``; ``pairs`` is None or ``en-en``, the only pair.

    Raises:
        FileNotFoundError: no such file, or another pair is requested.
        ValueError: a line has neither 7 nor 9 columns or no score from 0 to 5, or the file is empty.
    """
    path = Path(root) / f"sts-{part}.csv"
    name = f"{PIVOT}-{PIVOT}"
    if others := [pair for pair in pairs or () if _pair_name(pair) != name]:
        raise FileNotFoundError(f"{path}: expected {name}, the only pair of this set, found {', '.join(others)}")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; give its folder with evaluator.root=...")
    # Genre, file, year, id, score, two sentences, and in some lines the sentences' origins.
    rows = read_columns(path, 7, 9)
    gold = [_score(row[4], location) for location, row in rows]
    return [ScoredPairs(name, [row[5] for _, row in rows], [row[6] for _, row in rows], gold)]


def _pair_name(pair: str) -> str:
    codes = pair.split("-")
    if len(codes) != 2:
        raise ValueError(f"pair {pair!r}: expected two language codes such as en-ar")
    first, second = sorted((to_iso639_3(code) for code in codes), key=lambda code: (code != PIVOT, code))
    return f"{first}-{second}"


def _read_track(pair: str, path: Path) -> ScoredPairs:
    if not path.name.startswith("STS.input."):
        rows = read_columns(path, 3)
        gold = [_score(row[2], location) for location, row in rows]
    else:
        rows = read_columns(path, 2)
        gold_path = path.with_name(path.name.replace("STS.input.", "STS.gs.", 1))
        if not gold_path.is_file():
            raise ValueError(f"{path}: expected {gold_path.name} beside it, found none")
        gold = [_score(row[0], location) for location, row in read_columns(gold_path, 1)]
        if len(gold) != len(rows):
            raise ValueError(f"{path} has {len(rows)} lines, {gold_path} has {len(gold)}: each pair needs a score")
    return ScoredPairs(pair, [row[0] for _, row in rows], [row[1] for _, row in rows], gold)


def _score(text: str, location: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = float("nan")
    if not 0 <= score <= 5:
        raise ValueError(f"{location}: expected a score from 0 to 5, found {text!r}")
    return score
