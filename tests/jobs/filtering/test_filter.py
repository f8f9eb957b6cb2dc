"""``xsent filter`` with a judge of known scores: output, rejected lines, errors, killed runs."""

import gzip
import math
import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.child_processes import exit_code
from xsent.batch import Judgement, WordPair
from xsent.cli import main
from xsent.evaluation.score_report import SampleOptions, histogram, lowest_rows, sample_rows
from xsent.jobs.bitext_reader import Columns, extend_names
from xsent.jobs.filtering.filter import FilterOptions, FilterResult, filter_bitext, options_from
from xsent.run import load_config

pytest.importorskip("sacremoses", reason="words are cut by sacremoses: pip install 'xsent[divergence]'")

HEADER = ["source", "target", "score", "probability", "verdict", "source_divergent", "target_divergent"]
SAMPLE = SampleOptions(lowest=3, near=3, highest=3, random=3, seed=0, bins=10)


class WordJudge:
    """Finds a word divergent when the other side lacks it; the score is the number of shared words less the others.

    Like a transformer it reads at most ``longest`` words of a side.
    """

    name = "words"
    scores_are_logits = True
    threshold = 1.0

    languages: tuple[str, ...] = ()

    def __init__(self, *, tags_words: bool = True, longest: int = 20, dies_after: float = math.inf) -> None:
        self.tags_words = tags_words
        self.longest = longest
        self.dies_after = dies_after  # pairs, after which it kills its process
        self.truncated_pairs = 0
        self.judged: list[WordPair] = []

    def judge(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Judgement]:
        if len(self.judged) >= self.dies_after:
            os.kill(os.getpid(), signal.SIGKILL)
        self.judged += pairs
        self.truncated_pairs = sum(max(map(len, pair)) > self.longest for pair in pairs)
        return [self._judgement(pair) for pair in pairs]

    def _judgement(self, pair: WordPair) -> Judgement:
        tags = []
        for parts, second in (pair, pair[::-1]):
            read = parts[: self.longest]
            probabilities = [0.25 if word in second else 0.75 for word in read] + [0.0] * (len(parts) - len(read))
            tags.append(np.array(probabilities, dtype=np.float32))
        score = sum(word in pair.target for word in pair.source) - sum(float((tag > 0.5).sum()) for tag in tags)
        return Judgement(score, *tags) if self.tags_words else Judgement(score, None, None)

    def digest(self) -> str:
        return f"{self.tags_words} {self.longest}"


OPTIONS: dict[str, Any] = {
    "columns": Columns(1, 2, header=False),
    "languages": ("eng", "fra"),
    "threshold": None,
    "tag_above": 0.5,
    "keep": "all",
    "top": None,
    "strict": False,
    "workers": 1,
    "chunk": 3,
    "sample": SAMPLE,
}
# Scores by the rule: 3, 1 (of "two cats" and "two dogs": 1 - 2 = -1), and so on, worked out in the tests.
LINES = ["one two three\tone two three", "two cats\ttwo dogs", "red\tblue", "a b c d\ta b c", "x y\tx y"]
Run = Callable[..., FilterResult]


def filter_file(bitext: Path, output: Path, load: Callable[[], WordJudge], **changes: Any) -> FilterResult:
    job = {"keep_work": False, "show": None, "work_dir": None}
    job |= {name: changes.pop(name) for name in job if name in changes}
    return filter_bitext(bitext, output, load=load, device="cpu", options=FilterOptions(**OPTIONS | changes), **job)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(
        lines: Sequence[str] | bytes = LINES,
        *,
        name: str = "text.tsv",
        output: str = "scored.tsv",
        judge: WordJudge | None = None,
        **changes: Any,
    ) -> FilterResult:
        raw = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
        (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return filter_file(tmp_path / name, tmp_path / output, lambda: judge or WordJudge(), **changes)

    return call


def rows(path: Path) -> list[list[str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return [line.split("\t") for line in text.split("\n")[:-1]]


def many(count: int) -> list[str]:
    """Pairs of many different scores, with a third column."""
    words = [f"w{number}" for number in range(12)]
    return [
        f"{' '.join(words[: 1 + number % 7])}\t{' '.join(words[: 1 + number % 5])}\torigin{number}"
        for number in range(count)
    ]


# ---- output


def test_a_row_has_the_score_the_verdict_and_the_divergent_words(run: Run, tmp_path: Path) -> None:
    filtered = run()
    sigmoid = {score: f"{1 / (1 + math.exp(-score)):.4f}" for score in (3, -1, -2, 2)}
    assert rows(tmp_path / "scored.tsv") == [
        HEADER,
        ["one two three", "one two three", "3.000000", sigmoid[3], "equivalent", "-", "-"],
        ["two cats", "two dogs", "-1.000000", sigmoid[-1], "divergent", "2:cats", "2:dogs"],
        ["red", "blue", "-2.000000", sigmoid[-2], "divergent", "1:red", "1:blue"],
        ["a b c d", "a b c", "2.000000", sigmoid[2], "equivalent", "4:d", "-"],
        ["x y", "x y", "2.000000", sigmoid[2], "equivalent", "-", "-"],
    ]
    assert (filtered.report.equivalent, filtered.report.divergent, filtered.written) == (3, 2, 5)
    assert not (tmp_path / "scored.tsv.work").exists()
    assert not (tmp_path / "scored.tsv.rejects.tsv").exists()


def test_positions_count_moses_words(run: Run, tmp_path: Path) -> None:
    run(["the man's hat, red\tl’homme & red"])
    (row,) = rows(tmp_path / "scored.tsv")[1:]
    assert row[:2] == ["the man's hat, red", "l’homme & red"]
    assert row[5:] == ["1:the 2:man 3:'s 4:hat 5:,", "1:l' 2:homme 3:&"]


def test_a_score_that_equals_the_threshold_is_divergent(run: Run, tmp_path: Path) -> None:
    assert run(threshold=2.0).report.equivalent == 1
    assert run(threshold=1.999).report.equivalent == 3
    assert run(threshold=-5.0).report.equivalent == 5


def test_a_judge_that_does_not_tag_leaves_the_words_empty(run: Run, tmp_path: Path) -> None:
    assert not run(judge=WordJudge(tags_words=False)).report.tags_words
    assert [row[5:] for row in rows(tmp_path / "scored.tsv")[1:]] == [["", ""]] * 5


def test_a_word_is_tagged_when_its_probability_is_above_the_option(run: Run, tmp_path: Path) -> None:
    run(tag_above=0.75)
    assert [row[5:] for row in rows(tmp_path / "scored.tsv")[1:]] == [["-", "-"]] * 5
    run(tag_above=0.2)
    assert rows(tmp_path / "scored.tsv")[5][5:] == ["1:x 2:y", "1:x 2:y"]


def test_other_columns_are_carried_through_and_any_two_may_hold_the_sentences(run: Run, tmp_path: Path) -> None:
    lines = ["id\tfr\ten\t0.9", "7\tblue\tred\t ", "8\tx y\tx y\t"]
    run(lines, columns=Columns(3, 2, header=True))
    header, *result = rows(tmp_path / "scored.tsv")
    assert header == ["id", "fr", "en", "0.9", *HEADER[2:]]
    assert [row[:4] for row in result] == [["7", "blue", "red", " "], ["8", "x y", "x y", ""]]
    assert result[0][-2:] == ["1:red", "1:blue"]
    run(lines, columns=Columns(3, 2, header=False))
    assert rows(tmp_path / "scored.tsv")[0] == ["column1", "target", "source", "column4", *HEADER[2:]]


def test_names_that_are_taken_get_a_number() -> None:
    names = extend_names(["score", "a", "verdict"], ["score", "verdict", "b"])
    assert names == ["score", "a", "verdict", "score_2", "verdict_2", "b"]
    assert extend_names(["score", "score_2"], ["score"]) == ["score", "score_2", "score_3"]


def test_gzip_files_are_read_and_written(run: Run, tmp_path: Path) -> None:
    run()
    run(name="text.tsv.gz", output="scored.tsv.gz")
    assert rows(tmp_path / "scored.tsv.gz") == rows(tmp_path / "scored.tsv")
    first = (tmp_path / "scored.tsv.gz").read_bytes()
    run(name="text.tsv.gz", output="scored.tsv.gz")
    assert (tmp_path / "scored.tsv.gz").read_bytes() == first


def test_only_pairs_of_a_class_or_the_best_of_them_are_kept_in_the_order_of_the_file(run: Run, tmp_path: Path) -> None:
    def sources(**changes: Any) -> list[str]:
        filtered = run(**changes)
        assert (filtered.report.equivalent, filtered.report.divergent) == (3, 2)
        result = [row[0] for row in rows(tmp_path / "scored.tsv")[1:]]
        assert filtered.written == len(result)
        return result

    assert sources(keep="equivalent") == ["one two three", "a b c d", "x y"]
    assert sources(keep="divergent") == ["two cats", "red"]
    # Of the two pairs with score 2 the first is better.
    assert sources(top=2) == ["one two three", "a b c d"]
    assert sources(top=4) == ["one two three", "two cats", "a b c d", "x y"]
    assert sources(keep="divergent", top=1) == ["two cats"]
    assert sources(keep="equivalent", top=9) == ["one two three", "a b c d", "x y"]


@pytest.mark.parametrize(("chunk", "workers"), [(1, 1), (7, 2), (100, 1), (1000, 2)])
def test_chunks_and_processes_change_nothing(run: Run, tmp_path: Path, chunk: int, workers: int) -> None:
    expected = run(many(100))
    (tmp_path / "scored.tsv").rename(tmp_path / "expected.tsv")
    result = run(many(100), chunk=chunk, workers=workers)
    assert (tmp_path / "scored.tsv").read_bytes() == (tmp_path / "expected.tsv").read_bytes()
    assert result.report == expected.report


@pytest.mark.parametrize("top", [None, 5])
def test_the_file_is_read_twice_at_most(run: Run, monkeypatch: pytest.MonkeyPatch, top: int | None) -> None:
    passes: list[Path] = []
    open_path = Path.open

    def counted(path: Path, *arguments: Any, **options: Any) -> Any:
        passes.extend([path] * (path.name == "text.tsv" and "rb" in arguments))
        return open_path(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", counted)
    run(many(30), top=top, keep_work=True)
    assert len(passes) <= 2


def test_pairs_longer_than_the_model_are_counted(run: Run, tmp_path: Path) -> None:
    filtered = run(many(70), judge=WordJudge(longest=6))
    assert filtered.truncated == 10  # every seventh source has seven words
    assert "10 longer than the model" in str(filtered)


def test_the_last_log_line_has_counts_speed_and_paths(run: Run, tmp_path: Path) -> None:
    message = str(run([*LINES, "no pair", "\tx"], keep="equivalent")._replace(seconds=0.5))
    assert message == (
        "5 pairs, 3 equivalent (60.0%), 2 divergent at threshold 1, judged by words; 0 longer than the model; 2 of 7"
        f" lines rejected (1 expected 2 columns, 1 empty side): {tmp_path / 'scored.tsv.rejects.tsv'}; 5 scored in"
        f" 0.5 s, 10 pairs/s; 3 written: {tmp_path / 'scored.tsv'}"
    )


# ---- rejected lines


def test_lines_that_hold_no_pair_are_listed_with_their_reason(run: Run, tmp_path: Path) -> None:
    lines = ["a\ta", "b", "c\tc\tc", "  \td", "e\t\u200b\ufeff", "f\tf"]
    run("\n".join(lines).encode() + b"\n\xff\tg\n\n\"h\t'h\n")
    assert [row[0] for row in rows(tmp_path / "scored.tsv")[1:]] == ["a", "f", '"h']
    header, *result = rows(tmp_path / "scored.tsv.rejects.tsv")
    assert header == ["file", "line", "reason", "found"]
    assert {row[0] for row in result} == {str(tmp_path / "text.tsv")}
    assert [row[1:] for row in result] == [
        ["2", "expected 2 columns", "1"],
        ["3", "expected 2 columns", "3"],
        ["4", "empty side", "'  ' and 'd'"],
        ["5", "empty side", r"'e' and '\u200b\ufeff'"],
        ["7", "broken UTF-8", "byte 0xff at position 0"],
        ["8", "expected 2 columns", "1"],
    ]
    run()
    assert not (tmp_path / "scored.tsv.rejects.tsv").exists()


def test_strict_stops_at_the_first_reject_before_scoring(run: Run, tmp_path: Path) -> None:
    judge = WordJudge()
    with pytest.raises(ValueError, match=r"text\.tsv:2: empty side, found 'b' and ''"):
        run(["a\ta", "b\t", "c"], judge=judge, strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["text.tsv"]
    assert not judge.judged


def test_a_wrong_run_is_an_error_before_the_file_is_read(tmp_path: Path) -> None:
    def wrong() -> WordJudge:
        raise ValueError("expected a run of recipe=divergence")

    (tmp_path / "text.tsv.gz").write_bytes(b"no archive at all")
    with pytest.raises(ValueError, match="expected a run of recipe=divergence"):
        filter_file(tmp_path / "text.tsv.gz", tmp_path / "scored.tsv", wrong)


def test_an_error_while_the_page_is_written_keeps_the_scores(run: Run, tmp_path: Path) -> None:
    def full(report: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run(many(20), show=full)
    reports: list[object] = []
    again = run(many(20), show=reports.append)
    assert again.scored == 0
    assert reports == [again.report]
    assert not (tmp_path / "scored.tsv.work").exists()


def test_a_header_with_another_number_of_columns_is_an_error(run: Run) -> None:
    with pytest.raises(ValueError, match=r"text\.tsv:1: this line has 3 columns, 5 of 5 have another number"):
        run(["odd\tone\tout", *LINES], columns=Columns(1, 2, header=True))


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        (b"", (1, 2, False), "expected sentence pairs in columns 1 and 2, found none; 0 of 0 lines rejected"),
        (b"a\tb\n", (1, 3, False), "found none; 1 of 1 lines rejected (1 expected at least 3 columns)"),
        (b"one\ttwo\nb\tc\n", (1, 3, True), "text.tsv:1: expected names of at least 3 columns, found 2"),
        (b"\xff\ttwo\nb\tc\n", (1, 2, True), "text.tsv:1: expected names of at least 2 columns, found a line that is"),
    ],
)
def test_a_file_without_pairs_is_named(
    run: Run, tmp_path: Path, lines: bytes, columns: tuple[int, int, bool], message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        run(lines, columns=Columns(*columns))
    assert [path.name for path in tmp_path.iterdir()] == ["text.tsv"]


def test_invalid_paths_are_errors_before_any_work(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected different files to read and write"):
        run(output="text.tsv")
    with pytest.raises(FileNotFoundError, match="no such folder for the output"):
        run(output="no/scored.tsv")
    with pytest.raises(IsADirectoryError):
        run(output=".")
    damaged = gzip.compress("".join(f"{line}\n" for line in many(500)).encode())[:-20]
    (tmp_path / "cut.tsv.gz").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"cut\.tsv\.gz: expected a complete gzip file"):
        filter_file(tmp_path / "cut.tsv.gz", tmp_path / "scored.tsv", WordJudge)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("threshold", "best", "threshold=best: expected calibrated or a number"),
        ("threshold", "nan", "threshold=nan: expected calibrated or a number"),
        ("keep", "good", "keep=good: expected one of all, equivalent, divergent"),
        ("top", 0, "top=0: expected an integer of at least 1"),
        ("chunk", 0, "chunk=0: expected an integer of at least 1"),
        ("source_column", 0, "source_column=0: expected an integer of at least 1"),
        ("source_column", 2, "source_column and target_column are both 2"),
        ("tag_above", 1.5, "tag_above=1.5: expected a probability below 1"),
        ("source_lang", "xqq", "unknown language 'xqq'"),
        ("workers", 0, "workers=0: expected at least 1"),
        ("sample", {**vars(SAMPLE), "bins": 0}, "sample.bins=0: expected a whole number, at least 1"),
        ("sample", {**vars(SAMPLE), "near": -1}, "sample.near=-1: expected a whole number, at least 0"),
    ],
)
def test_an_option_out_of_range_is_named(key: str, value: object, message: str) -> None:
    config = load_config("filter", [])
    with pytest.raises(ValueError, match=re.escape(message)):
        options_from({**config, key: value})


def test_the_config_gives_the_calibrated_threshold_or_the_number() -> None:
    assert options_from(load_config("filter", [])).threshold is None
    assert options_from(load_config("filter", ["threshold=0"])).threshold == 0
    assert options_from({**load_config("filter", []), "threshold": "-1.5"}).threshold == -1.5


def test_a_score_that_is_no_number_is_named_with_its_pairs(run: Run) -> None:
    class Broken(WordJudge):
        def _judgement(self, pair: WordPair) -> Judgement:
            return Judgement(math.nan, None, None)

    with pytest.raises(ValueError, match=r"text\.tsv: pairs 1 to 3: a score is not finite"):
        run(judge=Broken())


# ---- killed runs


def filter_until_killed(folder: Path) -> None:
    filter_file(folder / "text.tsv", folder / "scored.tsv", lambda: WordJudge(dies_after=40), chunk=10)


def test_a_killed_run_leaves_its_shards_and_continues_to_the_same_bytes(run: Run, tmp_path: Path) -> None:
    run(many(100), chunk=10, output="whole.tsv")
    assert exit_code(filter_until_killed, tmp_path) == -signal.SIGKILL
    assert not (tmp_path / "scored.tsv").exists()
    judge = WordJudge()
    assert run(many(100), chunk=10, judge=judge, workers=2).scored == len(judge.judged) == 60
    assert (tmp_path / "scored.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()


def test_kept_work_serves_another_threshold_and_none_of_another_judge(run: Run, tmp_path: Path) -> None:
    run(many(20), keep_work=True)
    again = run(many(20), keep_work=True, threshold=2.5, keep="equivalent", top=3, tag_above=0.8)
    assert again.scored == 0
    assert again.written == 3
    with pytest.raises(ValueError, match=r"judge was 'True 20', is 'True 9'"):
        run(many(20), judge=WordJudge(longest=9))
    with pytest.raises(ValueError, match="bitext was "):
        run(many(21))
    with pytest.raises(ValueError, match="languages was "):
        run(many(20), languages=("eng", "deu"))


def test_a_damaged_shard_is_made_again(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(many(20), keep_work=True)
    expected = (tmp_path / "scored.tsv").read_bytes()
    (tmp_path / "scored.tsv.work" / "scored" / "000002" / "score.npy").write_bytes(b"")
    run(many(20), keep_work=True)
    assert "score.npy is missing, truncated or altered; making it again" in caplog.text
    assert (tmp_path / "scored.tsv").read_bytes() == expected


# ---- the command; a test of the recipe runs it with a trained judge


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threshold", "best"], "threshold=best: expected calibrated or a number"),
        (["--threshold", "-1.5", "--ckpt", "no/such/run"], "no/such/run"),
        (["--html", "OUT"], "expected different files to read and write"),
        (["--html", "no/page.html"], "no such folder for the output"),
        (["--device", "tpu9"], "device 'tpu9' cannot be used"),
        (["--target-lang", "xqq"], "unknown language 'xqq'"),
        (["--set", "sample.bin=3"], "sample.bin"),
        (["--html", "page.html", "--set", "page.rows=0"], "page.rows=0: expected at least 1"),
        ([], "no/run"),
    ],
)
def test_an_invalid_command_is_an_error_of_one_line(
    tmp_path: Path, options: list[str], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    bitext, output = tmp_path / "text.tsv", tmp_path / "scored.tsv"
    bitext.write_text("a\ta\nb\t\n")
    arguments = [str(output) if option == "OUT" else option for option in options]
    assert main(["filter", str(bitext), "-o", str(output), "--ckpt", "no/run", *arguments]) == 1
    assert message in caplog.records[-1].getMessage()
    assert "\n" not in caplog.records[-1].getMessage()
    assert [path.name for path in tmp_path.iterdir()] == ["text.tsv"]


# ---- histogram and sample


def in_parts(scores: Sequence[float], size: int) -> Callable[[], list[np.ndarray[Any, np.dtype[np.float64]]]]:
    return lambda: [np.array(scores[start : start + size], dtype=float) for start in range(0, len(scores), size)]


def test_the_histogram_has_an_edge_at_the_threshold_and_counts_every_score() -> None:
    # Width: 6 / 6 = 1, edges -2.5, -1.5, ..., 3.5 around the threshold 0.5; 0.5 itself counts below.
    scores = [-2.0, -1.6, 0.5, 0.6, 1.5, 1.6, 3.5, 4.0]
    result = histogram(in_parts(scores, 3), threshold=0.5, bins=6)
    assert (result.start, result.width) == (-2.5, 1.0)
    assert result.counts == (2, 0, 1, 2, 1, 1, 1)


def test_equal_scores_and_scores_far_from_the_threshold_have_a_histogram() -> None:
    assert histogram(in_parts([2.0, 2.0], 2), threshold=2.0, bins=10).counts == (2,)
    result = histogram(in_parts([5.0, 5.1], 2), threshold=0.0, bins=10)
    assert (result.start, result.width, sum(result.counts)) == (-1.0, 1.0, 2)


def test_the_sample_has_both_ends_the_middle_and_random_rows() -> None:
    scores = [5.0, -3.0, 0.1, 9.0, -3.0, 0.0, 2.0, 7.0, -8.0, 1.0]
    options = SampleOptions(lowest=2, near=2, highest=2, random=3, seed=1, bins=5)
    result = sample_rows(in_parts(scores, 3), 10, threshold=0.04, options=options)
    by_part = {
        part: [n for n, parts in result.items() if part in parts] for part in ("lowest", "near", "highest", "random")
    }
    assert by_part["lowest"] == [1, 8]  # of the two -3 the first
    assert by_part["near"] == [2, 5]
    assert by_part["highest"] == [3, 7]
    assert len(by_part["random"]) == 3
    assert list(result) == sorted(result)
    assert sample_rows(in_parts(scores, 10), 10, threshold=0.04, options=options) == result


def test_the_lowest_keys_equal_a_stable_sort() -> None:
    keys = np.random.default_rng(0).integers(0, 1000, 200_000).astype(float)
    expected = np.argsort(keys, kind="stable")
    for count in (0, 5, 1234, 150_000):
        assert lowest_rows(in_parts(keys.tolist(), 7001)(), count).tolist() == expected[:count].tolist()
    assert lowest_rows([], 3).tolist() == []


# ---- without a run


def test_the_bundled_judge_filters_and_tags_the_words_without_a_counterpart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    clean = "She bought a red car in Berlin last week ."
    translation = "Elle a acheté une voiture rouge à Berlin la semaine dernière ."
    shorter = "Elle a acheté une voiture à Berlin ."
    (tmp_path / "text.tsv").write_text(f"{clean}\t{translation}\n{clean}\t{shorter}\n", encoding="utf-8")
    assert main(["filter", str(tmp_path / "text.tsv"), "-o", str(tmp_path / "scored.tsv")]) == 0
    header, *scored = rows(tmp_path / "scored.tsv")
    assert [row[header.index("verdict")] for row in scored] == ["equivalent", "divergent"]
    tagged = [row[header.index("source_divergent")] for row in scored]
    assert "week" not in tagged[0]
    assert "week" in tagged[1]
    assert "judged by alignment judge on mini" in caplog.records[-1].getMessage()


def test_an_encoder_filters_without_a_trained_run_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pairs = ["The dog sleeps in the house.\tLe chien dort dans la maison.", "We eat bread.\tLe train part à midi."]
    (tmp_path / "text.tsv").write_text("".join(f"{pair}\n" for pair in pairs), encoding="utf-8")
    assert main(["filter", str(tmp_path / "text.tsv"), "-o", str(tmp_path / "scored.tsv"), "--encoder", "micro"]) == 0
    header, translation, unrelated = rows(tmp_path / "scored.tsv")
    verdicts = [row[header.index("verdict")] for row in (translation, unrelated)]
    assert verdicts == ["equivalent", "divergent"]
    assert float(translation[2]) > load_config("filter", [])["cosine"]["threshold"] > float(unrelated[2])
    assert translation[header.index("probability")] == ""  # a cosine is no logit
    assert "2:bread" in " ".join(unrelated) or "3:bread" in " ".join(unrelated)
    assert "micro (untrained: cosine similarity, not a divergence model)" in caplog.records[-1].getMessage()


def test_a_language_that_the_judge_was_not_trained_on_is_named(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    judge = WordJudge()
    judge.languages = ("eng", "fra")
    run(judge=judge)
    assert "not trained" not in caplog.text
    run(judge=judge, languages=("eng", "deu"))
    assert "words was not trained on deu, but on eng and fra" in caplog.text
