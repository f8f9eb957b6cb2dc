"""Filter job: score every pair of a bitext for divergence in meaning, in bounded memory; a killed run continues."""

import logging
import math
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TextIO

import numpy as np
import torch
from tqdm import tqdm

from xsent import __version__
from xsent.batch import Judgement, PairJudge, WordPair
from xsent.config_checks import check_choice, check_device, check_integer
from xsent.data.stores.array_cache import SEAL
from xsent.evaluation.score_report import (
    SampleOptions,
    ScoredPair,
    ScoreReport,
    Scores,
    histogram,
    lowest_rows,
    sample_rows,
)
from xsent.files.array_file import save_array
from xsent.files.atomic import atomic_write
from xsent.jobs.bitext_reader import BitextReader, Columns, Row, StreamedLedger, extend_names
from xsent.jobs.checks import check_files, check_input
from xsent.jobs.filtering.tokenize import Texts, Words, tokenize_chunks, tokenize_pairs
from xsent.jobs.work_folder import WorkFolder, open_work_folder
from xsent.languages import to_iso639_3
from xsent.text.multiprocess import worker_count

log = logging.getLogger(__name__)

KEEP = ("all", "equivalent", "divergent")
CALIBRATED = "calibrated"  # the threshold of the judge
COLUMNS = ("score", "probability", "verdict", "source_divergent", "target_divergent")
SCORED = "scored"  # kind of the shards: a chunk of rows with their scores and tags
SIDES = ("source", "target")
DIGITS = 6  # of a score; the rounded score is compared with the threshold


@dataclass(frozen=True)
class FilterOptions:
    """Settings of a filter job; ``conf/job/filter.yaml`` explains each.

    Raises:
        ValueError: an unknown name, or a number out of range.
    """

    columns: Columns
    languages: tuple[str, str]  # ISO 639-3
    threshold: float | None  # None: that of the judge
    tag_above: float
    keep: str
    top: int | None
    strict: bool
    workers: int
    chunk: int
    sample: SampleOptions

    def __post_init__(self) -> None:
        check_choice("keep", self.keep, KEEP)
        if not 0 <= self.tag_above < 1:
            raise ValueError(f"tag_above={self.tag_above}: expected a probability below 1")
        check_integer("chunk", self.chunk, minimum=1)
        if self.top is not None:
            check_integer("top", self.top, minimum=1)

    def is_kept(self, is_equivalent: bool) -> bool:
        """Whether pairs of this class are written."""
        return self.keep == "all" or is_equivalent == (self.keep == "equivalent")

    def shard_settings(self) -> dict[str, object]:
        """The settings that the shards depend on; the others only matter when the output is written."""
        return {**asdict(self.columns), "languages": self.languages, "chunk": self.chunk}


def options_from(config: Mapping[str, Any]) -> FilterOptions:
    """The settings among the keys of ``conf/job/filter.yaml``."""
    return FilterOptions(
        columns=Columns(config["source_column"], config["target_column"], config["header"]),
        languages=(to_iso639_3(config["source_lang"]), to_iso639_3(config["target_lang"])),
        threshold=_threshold(config["threshold"]),
        workers=worker_count(config["workers"]),
        sample=SampleOptions(**config["sample"]),
        **{name: config[name] for name in ("tag_above", "keep", "top", "strict", "chunk")},
    )


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


class FilterResult(NamedTuple):
    """Counts, speed and output of ``filter_bitext``."""

    output: Path
    report: ScoreReport
    written: int  # pairs
    truncated: int  # pairs longer than the model
    rejected: str  # number of lines, with the reasons
    scored: int  # pairs; the others are from an earlier run
    seconds: float  # for these pairs

    def __str__(self) -> str:
        """One line for the log."""
        equivalent, divergent = self.report.equivalent, self.report.divergent
        share = equivalent / (equivalent + divergent)
        return (
            f"{equivalent + divergent:,} pairs, {equivalent:,} equivalent ({share:.1%}), {divergent:,} divergent at"
            f" threshold {self.report.threshold:.4g}, judged by {self.report.judge}; {self.truncated:,} longer than the"
            f" model; {self.rejected};"
            f" {self.scored:,} scored in {self.seconds:.1f} s, {self.scored / max(self.seconds, 1e-9):,.0f} pairs/s;"
            f" {self.written:,} written: {self.output}"
        )


def filter_bitext(
    bitext: Path,
    output: Path,
    *,
    load: Callable[[], PairJudge],
    device: str,
    options: FilterOptions,
    work_dir: Path | None,
    keep_work: bool,
    show: Callable[[ScoreReport], object] | None = None,
    page: Path | None = None,
) -> FilterResult:
    """Write the rows of a bitext with the scores of a pair judge, in the order of the file.

    Each row gets the score, its sigmoid (empty if the score is no logit), ``equivalent`` or ``divergent``, and for each
    side the words that are tagged as divergent with their positions from 1, ``3:weak 4:signal`` (``-``: no such word;
    empty: the judge does not tag words). Lines without a pair are listed in ``<output>.rejects.tsv``.

    The file is read twice: to count and check its pairs, and to score them. Memory holds a few chunks of pairs, the
    sample, and the numbers of the ``top`` pairs.

    Args:
        bitext: tab-separated columns, UTF-8, plain or ``.gz``.
        output: TSV with a header, compressed if its name ends in ``.gz``; written atomically.
        load: returns the judge; called before the file is read.
        device: where the judge computes; shards of another device are refused.
        work_dir: shards of the unfinished job; None is ``<output>.work``.
        show: receives the report before the shards are deleted.
        page: the file that ``show`` writes, to check it with the other files.

    Raises:
        FileNotFoundError: the bitext, or the folder of the output, is missing.
        ValueError: no line has a pair, or with ``strict`` one has none; a score is not finite; an output is the
            bitext; the work folder belongs to another job.
        OSError: the disk is full, or the output cannot be written.
    """
    work_dir = work_dir or output.with_name(f"{output.name}.work")
    rejects_path = output.with_name(f"{output.name}.rejects.tsv")
    check_input(bitext)
    pages = [] if page is None else [page]
    check_files([bitext], [output, rejects_path, *pages], work_dir=work_dir)
    check_device(device)
    judge = load()
    unseen = [language for language in options.languages if judge.languages and language not in judge.languages]
    if unseen:
        log.warning(
            "%s was not trained on %s, but on %s: scores and threshold may be worse (docs/recipes/divergence.md)",
            *(judge.name, " and ".join(unseen), " and ".join(judge.languages)),
        )
    with TemporaryFile("w+", encoding="utf-8", newline="") as rejects:
        ledger = StreamedLedger(strict=options.strict, out=rejects)
        reader = BitextReader(bitext, options.columns, ledger)
        pairs = sum(1 for _ in tqdm(reader, desc="reading", unit=" pairs", delay=2, leave=False))
        if not pairs:
            columns = f"columns {options.columns.source} and {options.columns.target}"
            raise ValueError(f"{bitext}: expected sentence pairs in {columns}, found none; {ledger.summary()}")
        # The last bits of a score depend on the device.
        origin = {"judge": judge.digest(), "device": torch.device(device).type, "xsent": __version__}
        manifest = {"bitext": reader.sha256, **origin, **options.shard_settings()}
        with open_work_folder(work_dir, manifest, keep=keep_work) as work:
            job = FilterJob(work, bitext, pairs, judge, options)
            start = time.perf_counter()
            scored = job.score_pairs()
            seconds = time.perf_counter() - start
            rejects_path.unlink(missing_ok=True)  # of an earlier run
            with atomic_write(output) as text, ExitStack() as stack:
                if ledger.reasons:
                    rejects.seek(0)
                    shutil.copyfileobj(rejects, stack.enter_context(atomic_write(rejects_path)))
                report, written = job.write(text, extend_names(reader.names, COLUMNS))
            rejected = ledger.summary() + (f": {rejects_path}" if ledger.reasons else "")
            truncated = sum(int(work.array(SCORED, number, "truncated")[0]) for number in job.shards)
            result = FilterResult(output, report, written, truncated, rejected, scored, seconds)
            if show is not None:
                show(report)
    return result


class _ScoredRow(NamedTuple):
    line: int
    text: str  # all columns
    score: float
    words: tuple[tuple[str, ...], tuple[str, ...]]
    divergent: tuple[tuple[int, ...], tuple[int, ...]]  # positions from 0


@dataclass(frozen=True)
class FilterJob:
    """The shards between a bitext and its scored rows; arguments as in ``filter_bitext``."""

    work: WorkFolder
    bitext: Path
    pairs: int
    judge: PairJudge
    options: FilterOptions

    # ---- from the file to shards

    def score_pairs(self) -> int:
        """Make the missing shards; returns how many pairs were scored."""
        finished = {int(seal.parent.name) for seal in self.work.path.glob(f"{SCORED}/*/{SEAL}")}
        finished_pairs = min(self.pairs, len(finished) * self.options.chunk)
        if finished:
            log.info("%s of %s pairs are already scored", f"{finished_pairs:,}", f"{self.pairs:,}")
        waiting: deque[list[Row]] = deque()  # chunks that are being tokenized

        def texts() -> Iterator[Texts]:
            reader = iter(BitextReader(self.bitext, self.options.columns, StreamedLedger(strict=False)))
            for number in self.shards:
                rows = list(islice(reader, self.options.chunk))
                waiting.append(rows)
                yield [] if number in finished else [(row.source, row.target) for row in rows]

        # Few chunks do not start other processes.
        workers = min(self.options.workers, len(self.shards) - len(finished)) or 1
        chunks = tokenize_chunks(texts(), self.options.languages, workers=workers)
        bar = tqdm(total=self.pairs, initial=finished_pairs, desc="scoring", unit=" pairs", delay=2)
        # Closing the generator ends the tokenizer processes, after Ctrl-C too.
        scored = 0
        with closing(chunks), bar:
            for number, words in enumerate(chunks):
                self.work.make(SCORED, number, partial(self._write_shard, number, waiting.popleft(), words))
                scored += len(words)
                bar.update(len(words))
        return scored

    def _write_shard(self, number: int, rows: list[Row], words: Words, folder: Path) -> None:
        # A finished shard was not tokenized, but may turn out to be damaged.
        words = words or tokenize_pairs([(row.source, row.target) for row in rows], self.options.languages)
        judgements = self._judge(number, words)
        texts = {
            "rows": "\n".join("\t".join(row.columns) for row in rows),
            "words": "\n".join("\t".join(" ".join(side) for side in pair) for pair in words),
        }
        arrays = {
            "line": np.array([row.line for row in rows]),
            # Adding zero turns -0.0 into 0.0.
            "score": np.round([judgement.score for judgement in judgements], DIGITS) + 0.0,
            "truncated": np.array([self.judge.truncated_pairs]),
            **{name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()},
        }
        for side in SIDES:
            tags = [getattr(judgement, side) for judgement in judgements]
            arrays[side] = np.concatenate([np.empty(0, np.float32), *(part for part in tags if part is not None)])
        for name, array in arrays.items():
            save_array(folder / f"{name}.npy", array)

    def _judge(self, number: int, words: Words) -> list[Judgement]:
        first = number * self.options.chunk + 1
        location = f"{self.bitext}: pairs {first:,} to {first + len(words) - 1:,}"
        try:
            judgements = self.judge.judge([WordPair(*pair) for pair in words])
        except (FloatingPointError, ValueError) as error:
            raise ValueError(f"{location}: {error}") from error
        if not all(math.isfinite(judgement.score) for judgement in judgements):
            raise ValueError(f"{location}: a score is not finite; were the weights of {self.judge.name} trained?")
        return judgements

    # ---- from shards to the output

    def write(self, text: TextIO, names: Sequence[str]) -> tuple[ScoreReport, int]:
        """Write a header and the requested rows; returns the report on all pairs and the number of rows."""
        sample = sample_rows(self._scores, self.pairs, threshold=self.threshold, options=self.options.sample)
        best = self._best()
        pairs: list[ScoredPair] = []
        equivalent = written = 0
        text.write("\t".join(names) + "\n")
        bar = tqdm(self._scored_rows(), total=self.pairs, desc="writing", unit=" pairs", delay=2, leave=False)
        for number, row in enumerate(bar):
            is_equivalent = row.score > self.threshold
            equivalent += is_equivalent
            if number in sample:
                pairs.append(
                    ScoredPair(row.line, row.score, self._texts(row), *row.words, *row.divergent, sample[number])
                )
            if self.options.is_kept(is_equivalent) and (best is None or number in best):
                text.write("\t".join([row.text, *self._cells(row, is_equivalent)]) + "\n")
                written += 1
        report = ScoreReport(
            file=self.bitext.name,
            judge=self.judge.name,
            languages=self.options.languages,
            threshold=self.threshold,
            is_trained=self.judge.scores_are_logits,  # those without training give cosines and shares
            tags_words=self.judge.tags_words,
            equivalent=equivalent,
            divergent=self.pairs - equivalent,
            histogram=histogram(self._scores, threshold=self.threshold, bins=self.options.sample.bins),
            pairs=pairs,
        )
        return report, written

    @property
    def threshold(self) -> float:
        """Pairs with a higher score are equivalent."""
        return self.judge.threshold if self.options.threshold is None else self.options.threshold

    @property
    def shards(self) -> range:
        """Numbers of the shards."""
        return range(-(-self.pairs // self.options.chunk))

    def _texts(self, row: _ScoredRow) -> tuple[str, str]:
        columns = row.text.split("\t")
        return columns[self.options.columns.source - 1], columns[self.options.columns.target - 1]

    def _scores(self) -> Iterator[Scores]:
        for number in self.shards:
            yield np.array(self.work.array(SCORED, number, "score"), dtype=np.float64)

    def _best(self) -> set[int] | None:
        """Numbers of the ``top`` pairs with the highest scores, of equal scores the first; None without a limit."""
        if self.options.top is None:
            return None
        # Pairs of the other class come last; they are not written even if they are among the best.
        keys = (
            np.where([self.options.is_kept(score > self.threshold) for score in scores], -scores, np.inf)
            for scores in self._scores()
        )
        return set(lowest_rows(keys, self.options.top).tolist())

    def _scored_rows(self) -> Iterator[_ScoredRow]:
        for number in self.shards:
            arrays = {name: self.work.array(SCORED, number, name) for name in ("line", "score", "rows", "words")}
            tags = (np.array(self.work.array(SCORED, number, side), dtype=np.float32) for side in SIDES)
            divergent = [side > self.options.tag_above for side in tags]
            texts = (arrays[name].tobytes().decode().split("\n") for name in ("rows", "words"))
            starts = [0, 0]
            for line, score, text, words in zip(arrays["line"].tolist(), arrays["score"].tolist(), *texts, strict=True):
                source, target = (tuple(side.split(" ")) for side in words.split("\t"))
                ends = [starts[0] + len(source), starts[1] + len(target)]
                source_tags, target_tags = (
                    tuple(np.flatnonzero(tags[start:end]).tolist())
                    for tags, start, end in zip(divergent, starts, ends, strict=True)
                )
                starts = ends
                yield _ScoredRow(line, text, score, (source, target), (source_tags, target_tags))

    def _cells(self, row: _ScoredRow, is_equivalent: bool) -> list[str]:
        # The sigmoid, without overflow for very low scores.
        probability = f"{0.5 + 0.5 * math.tanh(row.score / 2):.4f}" if self.judge.scores_are_logits else ""
        verdict = "equivalent" if is_equivalent else "divergent"
        tagged = [
            (" ".join(f"{position + 1}:{words[position]}" for position in positions) or "-")
            if self.judge.tags_words
            else ""
            for words, positions in zip(row.words, row.divergent, strict=True)
        ]
        return [f"{row.score:.{DIGITS}f}", probability, verdict, *tagged]
