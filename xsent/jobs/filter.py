"""Divergences in a bitext of any size: every pair is judged, in bounded memory, and a killed run continues."""

from __future__ import annotations

import errno
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from xsent import __version__
from xsent.batch import Judgement, PairJudge, WordPair
from xsent.data.whole_file import whole_file
from xsent.evaluation.score_sample import (
    SampleOptions,
    ScoredPair,
    ScoreReport,
    Scores,
    histogram,
    lowest,
    sample,
)  # fmt: skip
from xsent.jobs.bitext_rows import Columns, StreamedLedger, read_rows, with_names
from xsent.jobs.device import check_device
from xsent.jobs.output import check_output
from xsent.jobs.packed import writing_text
from xsent.jobs.words import Texts, Words, words_of, words_of_chunks
from xsent.jobs.work import WorkFolder, opened, write_array
from xsent.languages import to_iso639_3
from xsent.paths import sha256
from xsent.text.processes import processes

log = logging.getLogger(__name__)

KEEP = ("all", "equivalent", "divergent")
CALIBRATED = "calibrated"  # the threshold that the run found for itself
COLUMNS = ("score", "probability", "verdict", "source_divergent", "target_divergent")
JUDGED = "judged"  # the shards: what the judge said of a chunk of pairs
SIDES = ("source", "target")
DIGITS = 6  # of a score; what is written is what is compared with the threshold


@dataclass(frozen=True)
class FilterOptions:
    """What is read, and what is written; ``conf/filter.yaml`` says what each means.

    Attributes:
        columns, languages: of source and target; languages as ISO 639-3.
        threshold: None is the judge's own.

    Raises:
        ValueError: an unknown name, or a number out of range.
    """

    columns: Columns
    languages: tuple[str, str]
    threshold: float | None
    tag_above: float
    keep: str
    top: int | None
    strict: bool
    workers: int
    chunk: int
    sample: SampleOptions

    def __post_init__(self) -> None:
        if self.keep not in KEEP:
            raise ValueError(f"keep {self.keep!r}: expected one of {', '.join(KEEP)}")
        if not 0 <= self.tag_above < 1:
            raise ValueError(f"tag_above={self.tag_above}: expected a probability below 1")
        for name, count in (("top", 1 if self.top is None else self.top), ("chunk", self.chunk)):
            if not isinstance(count, int) or count < 1:
                raise ValueError(f"{name}={count}: expected a whole number, at least 1")

    def is_kept(self, is_equivalent: bool) -> bool:
        """Whether pairs of this class are written."""
        return self.keep == "all" or is_equivalent == (self.keep == "equivalent")

    def of_shards(self) -> dict[str, object]:
        """What decides the shards; all else only matters when they are read."""
        return {**asdict(self.columns), "languages": self.languages, "chunk": self.chunk}


def options_from(config: Mapping[str, Any]) -> FilterOptions:
    """The options among the keys of ``conf/filter.yaml``."""
    return FilterOptions(
        columns=Columns(config["source_column"], config["target_column"], config["header"]),
        languages=(to_iso639_3(config["source_lang"]), to_iso639_3(config["target_lang"])),
        threshold=_threshold(config["threshold"]), workers=processes(config["workers"]),
        sample=SampleOptions(**config["sample"]),
        **{name: config[name] for name in ("tag_above", "keep", "top", "strict", "chunk")},
    )  # fmt: skip


def _threshold(value: object) -> float | None:
    if value == CALIBRATED:
        return None
    try:
        threshold = float(str(value))
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise ValueError(f"threshold={value}: expected {CALIBRATED} or a number")
    return threshold


class Filtered(NamedTuple):
    """What ``filter_bitext`` did."""

    output: Path
    report: ScoreReport
    written: int  # pairs
    cut: int  # pairs longer than the model
    rejected: str  # of how many lines, and why
    judged: int  # pairs; the others were there from an earlier run
    seconds: float  # in which they were judged

    def __str__(self) -> str:
        """A line: how many of what, how fast, and where."""
        equivalent, divergent = self.report.equivalent, self.report.divergent
        share = equivalent / (equivalent + divergent)
        return (
            f"{equivalent + divergent:,} pairs, {equivalent:,} equivalent ({share:.1%}), {divergent:,} divergent at"
            f" threshold {self.report.threshold:.4g}; {self.cut:,} longer than the model; {self.rejected};"
            f" {self.judged:,} judged in {self.seconds:.1f} s, {self.judged / max(self.seconds, 1e-9):,.0f} pairs/s;"
            f" {self.written:,} written: {self.output}"
        )


def filter_bitext(
    bitext: Path, output: Path, *, load: Callable[[], PairJudge], device: str, options: FilterOptions,
    work_dir: Path | None, keep_work: bool, show: Callable[[ScoreReport], object] | None = None,
) -> Filtered:  # fmt: skip
    """Write the rows of a bitext with what a judge says of each pair, in the order of the file.

    Behind the row's own columns come score, its sigmoid, ``equivalent`` or ``divergent``, and for each side the words
    that are tagged as divergent with their positions from 1, ``3:weak 4:signal``; ``-`` where none is, nothing where
    the judge does not tag words. Lines that hold no pair are listed in ``<output>.rejects.tsv``.

    The text is read as a stream, first to know its pairs, then to judge them, then to write them. In memory are a
    few chunks of pairs, the sample, and the ``top`` numbers of pairs if asked for.

    Args:
        bitext: columns by tab, UTF-8, plain or ``.gz``.
        output: TSV with a header, packed if its name ends in ``.gz``; there as a whole or not at all.
        load: gives the judge; called before the file is read, so that a wrong run is no news for later.
        device: where the judge computes; shards of another are not mixed in.
        options: what is read, and what is written.
        work_dir: where shards lie until the job is done; None is ``<output>.work``.
        keep_work: leave it afterwards.
        show: given what is told of all pairs while the work is still there, so that what fails in it costs no judging.

    Raises:
        FileNotFoundError: the bitext, or the folder of the output, is missing.
        ValueError: no line holds a pair, or with ``strict`` one does not; a score is not finite; the work folder
            belongs to another job.
        OSError: the disk is full, or the output cannot be written.
    """
    _check_files(bitext, output)
    check_device(device)
    judge = load()
    survey = StreamedLedger(strict=options.strict)
    rows = read_rows(bitext, options.columns, survey)
    pairs = sum(1 for _ in tqdm(rows, desc="reading", unit=" pairs", delay=2, leave=False))
    if not pairs:
        where = f"columns {options.columns.source} and {options.columns.target}"
        raise ValueError(f"{bitext}: expected sentence pairs in {where}, found none; {survey.summary()}")
    # The last bits of a score are those of its device.
    made_by = {"judge": judge.digest(), "device": torch.device(device).type, "xsent": __version__}
    manifest = {"bitext": sha256(bitext), **made_by, **options.of_shards()}
    with opened(work_dir or output.with_name(f"{output.name}.work"), manifest) as work:
        job = FilterJob(work, bitext, pairs, judge, options)
        start = time.perf_counter()
        judged = job.judge_pairs()
        seconds = time.perf_counter() - start
        filtered = job.write(output, has_rejects=bool(survey.reasons), judged=judged, seconds=seconds)
        if show is not None:
            show(filtered.report)
        if not keep_work:
            work.remove()
    return filtered


class _Said(NamedTuple):
    """What a shard holds of a pair."""

    score: float
    words: tuple[tuple[str, ...], tuple[str, ...]]
    divergent: tuple[tuple[int, ...], tuple[int, ...]]  # positions from 0


@dataclass(frozen=True)
class FilterJob:
    """The shards between a bitext and its scored rows.

    Attributes:
        work: where the shards lie.
        bitext: the file.
        pairs: how many it holds.
        judge, options: as of ``filter_bitext``.
    """

    work: WorkFolder
    bitext: Path
    pairs: int
    judge: PairJudge
    options: FilterOptions

    # ---- from text to shards

    def judge_pairs(self) -> int:
        """Make the shards that are missing; returns how many pairs were judged."""
        done = {int(seal.parent.name) for seal in self.work.path.glob(f"{JUDGED}/*/sha256.json")}
        there = min(self.pairs, len(done) * self.options.chunk)
        if done:
            log.info("%s of %s pairs are judged already", f"{there:,}", f"{self.pairs:,}")
        missing = (texts for number, texts in enumerate(self._texts()) if number not in done)
        # Few pairs do not start other processes.
        workers = min(self.options.workers, len(self._shards) - len(done)) or 1
        all_words = words_of_chunks(missing, self.options.languages, workers=workers)
        bar = tqdm(total=self.pairs, initial=there, desc=f"judging with {self.judge.name}", unit=" pairs", delay=2)
        judged = 0
        # Closed with the rest: after Ctrl-C no process goes on.
        with closing(all_words), bar:
            for number, texts in enumerate(self._texts()):
                words = None if number in done else next(all_words)
                self.work.make(JUDGED, number, partial(self._write_shard, number, texts, words))
                if words is not None:
                    judged += len(words)
                    bar.update(len(words))
        return judged

    def _texts(self) -> Iterator[Texts]:
        """The pairs of each shard."""
        rows = read_rows(self.bitext, self.options.columns, StreamedLedger(strict=False))
        while some := [(row.source, row.target) for row in islice(rows, self.options.chunk)]:
            yield some

    def _write_shard(self, number: int, texts: Texts, words: Words | None, folder: Path) -> None:
        # Words are not at hand for a shard that was there and turns out to be damaged.
        words = words_of(texts, self.options.languages) if words is None else words
        said = self._judgements(number, words)
        lines = "\n".join("\t".join(" ".join(side) for side in pair) for pair in words)
        arrays = {
            # Plus zero: no score is written as -0.
            "score": np.round([one.score for one in said], DIGITS) + 0.0,
            # A judge that can read a pair of any length counts none.
            "cut": np.array([self.judge.cut_pairs]),
            "words": np.frombuffer(lines.encode(), np.uint8),
        }
        for side in SIDES:
            tags = [tags for one in said if (tags := getattr(one, side)) is not None]
            arrays[side] = np.concatenate(tags) if tags else np.empty(0, np.float32)
        for name, array in arrays.items():
            write_array(folder / f"{name}.npy", [array], dtype=array.dtype, shape=array.shape)

    def _judgements(self, number: int, words: Words) -> list[Judgement]:
        first = number * self.options.chunk + 1
        where = f"{self.bitext}: pairs {first:,} to {first + len(words) - 1:,}"
        try:
            said = self.judge.judge([WordPair(*pair) for pair in words])
        except FloatingPointError as error:
            raise ValueError(f"{where}: {error}") from error
        if not all(math.isfinite(one.score) for one in said):
            raise ValueError(f"{where}: a score is not finite; were the weights of {self.judge.name} trained?")
        return said

    # ---- from shards to rows

    def write(self, output: Path, *, has_rejects: bool, judged: int, seconds: float) -> Filtered:
        """Write the rows that are asked for, and gather what is told of all."""
        shown = sample(self._scores, self.pairs, threshold=self.threshold, options=self.options.sample)
        best = self._best()
        pairs: list[ScoredPair] = []
        equivalent = written = 0
        rejects = output.with_name(f"{output.name}.rejects.tsv")
        rejects.unlink(missing_ok=True)  # of an earlier run
        with ExitStack() as stack:
            text = stack.enter_context(writing_text(output))
            ledger = StreamedLedger(strict=False, out=stack.enter_context(whole_file(rejects)) if has_rejects else None)
            text.write("\t".join(with_names(self.options.columns.names(self.bitext), COLUMNS)) + "\n")
            rows = read_rows(self.bitext, self.options.columns, ledger)
            bar = tqdm(rows, total=self.pairs, desc="writing", unit=" pairs", delay=2, leave=False)
            for number, (row, said) in enumerate(zip(bar, self._said(), strict=True)):
                is_equivalent = said.score > self.threshold
                equivalent += is_equivalent
                if number in shown:
                    pairs.append(ScoredPair(row.line, said.score, *said.words, *said.divergent, shown[number]))
                if self.options.is_kept(is_equivalent) and (best is None or number in best):
                    text.write("\t".join([*row.columns, *self._cells(said, is_equivalent)]) + "\n")
                    written += 1
        rejected = ledger.summary() + (f": {rejects}" if has_rejects else "")
        report = ScoreReport(
            self.bitext.name, self.judge.name, self.options.languages, self.threshold, self.judge.tags_words,
            equivalent, self.pairs - equivalent,
            histogram(self._scores, threshold=self.threshold, bins=self.options.sample.bins), pairs,
        )  # fmt: skip
        cut = sum(int(self.work.array(JUDGED, number, "cut")[0]) for number in self._shards)
        return Filtered(output, report, written, cut, rejected, judged, seconds)

    @property
    def threshold(self) -> float:
        """Scores above it are of equivalent pairs."""
        return self.judge.threshold if self.options.threshold is None else self.options.threshold

    @property
    def _shards(self) -> range:
        return range(-(-self.pairs // self.options.chunk))

    def _scores(self) -> Iterator[Scores]:
        for number in self._shards:
            yield np.array(self.work.array(JUDGED, number, "score"), dtype=np.float64)

    def _best(self) -> set[int] | None:
        """Numbers of the ``top`` pairs with the highest scores, of equal ones the first; None: no such limit."""
        if self.options.top is None:
            return None
        # What is not kept comes last, and is left out when it is its turn to be written.
        kept = (
            np.where([self.options.is_kept(score > self.threshold) for score in part], -part, np.inf)
            for part in self._scores()
        )
        return set(lowest(kept, self.options.top).tolist())

    def _said(self) -> Iterator[_Said]:
        for number in self._shards:
            scores, words = (self.work.array(JUDGED, number, name) for name in ("score", "words"))
            tags = (np.array(self.work.array(JUDGED, number, side), dtype=np.float32) for side in SIDES)
            divergent = [side > self.options.tag_above for side in tags]
            starts = [0, 0]
            for score, line in zip(scores.tolist(), words.tobytes().decode().split("\n"), strict=True):
                source, target = (tuple(side.split(" ")) for side in line.split("\t"))
                found = []
                for side, length in enumerate((len(source), len(target))):
                    end = starts[side] + length
                    found.append(tuple(np.flatnonzero(divergent[side][starts[side] : end]).tolist()))
                    starts[side] = end
                yield _Said(score, (source, target), (found[0], found[1]))

    def _cells(self, said: _Said, is_equivalent: bool) -> list[str]:
        # Without overflow, however low the score.
        probability = 0.5 + 0.5 * math.tanh(said.score / 2)
        verdict = "equivalent" if is_equivalent else "divergent"
        tagged = [
            (" ".join(f"{at + 1}:{words[at]}" for at in found) or "-") if self.judge.tags_words else ""
            for words, found in zip(said.words, said.divergent, strict=True)
        ]
        return [f"{said.score:.{DIGITS}f}", f"{probability:.4f}", verdict, *tagged]


# ---- files


def _check_files(bitext: Path, output: Path) -> None:
    """Raise before any work what would only come out at its end."""
    if not bitext.is_file():
        raise FileNotFoundError(errno.ENOENT, "expected a text file, found none", str(bitext))
    check_output(output)
    if output.resolve() == bitext.resolve():
        raise ValueError(f"{output}: expected another file than the bitext to write to, found the same")
