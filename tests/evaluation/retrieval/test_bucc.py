"""BUCC end to end: files, mining, threshold and F1, on vectors with known cosines."""

import logging
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.bucc import read_bucc
from xsent.evaluation.retrieval.bucc import BuccEvaluator

# Sentence "s<n>" and its partner "t<n>" have this cosine, any others 0.
COSINE = {0: 0.9, 1: 0.8, 2: 0.6, 3: 0.5, 5: 0.95, 6: 0.45}


def encode(sentences: list[str]) -> Tensor:
    vectors = torch.zeros(len(sentences), 14, dtype=torch.float64)
    for row, text in enumerate(sentences):
        side, number = text[0], int(text[1:])
        cosine = 1.0 if side == "s" else COSINE[number]
        vectors[row, 2 * number : 2 * number + 2] = torch.tensor([cosine, (1 - cosine**2) ** 0.5])
    return vectors


def write(folder: Path, part: str, numbers: list[int], gold: list[tuple[int, int]]) -> None:
    for code, letter in (("de", "s"), ("en", "t")):
        lines = [f"{code}-{number}\t{letter}{number}\n" for number in numbers]
        (folder / f"de-en.{part}.{code}").write_text("".join(lines))
    (folder / f"de-en.{part}.gold").write_text("".join(f"de-{source}\ten-{target}\n" for source, target in gold))


make_evaluator = builder(
    BuccEvaluator, name="bucc", read=read_bucc, part="dev", tune="same", margin="absolute", k=4, strategy="max"
)


@pytest.fixture
def bucc(tmp_path: Path) -> Path:
    # The gold pair (s3, t0) cannot be mined: s0 is nearer to t0.
    write(tmp_path, "dev", [0, 1, 2, 3], [(0, 0), (2, 2), (3, 0)])
    write(tmp_path, "training", [5, 6], [(5, 5)])
    return tmp_path


def test_the_threshold_of_the_best_f1_on_the_same_gold(bucc: Path) -> None:
    # Prefixes of 0.9 0.8 0.6 0.5 with gold 1 0 1 0 of 3: F1 2/4, 2/5, 4/6, 4/7.
    evaluator = make_evaluator(root=str(bucc))
    result = evaluator.score(encode(evaluator.sentences()))
    assert result.metrics == pytest.approx(
        {
            "bucc/deu-eng/f1": 200 / 3,
            "bucc/deu-eng/precision": 200 / 3,
            "bucc/deu-eng/recall": 200 / 3,
            "bucc/deu-eng/threshold": 0.55,
            "bucc/mean/f1": 200 / 3,
        }
    )
    (row,) = result.details
    assert "optimistic" in row["tuned_on"]
    assert (row["queries"], row["pool"], row["gold"], row["extracted"]) == (4, 4, 3, 3)


def test_a_threshold_tuned_on_another_part_is_applied(bucc: Path, caplog: pytest.LogCaptureFixture) -> None:
    # Training has a gold pair at 0.95 and another at 0.45: threshold 0.7. Of 0.9 and 0.8 one is gold: P 1/2, R 1/3.
    evaluator = make_evaluator(root=str(bucc), tune="training")
    with caplog.at_level(logging.INFO):
        metrics = evaluator(encode)
    assert metrics["bucc/deu-eng/threshold"] == pytest.approx(0.7)
    assert metrics["bucc/deu-eng/precision"] == pytest.approx(50)
    assert metrics["bucc/deu-eng/recall"] == pytest.approx(100 / 3)
    assert metrics["bucc/deu-eng/f1"] == pytest.approx(40)
    assert "dev scored, thresholds tuned on training" in caplog.text


def test_a_repeated_text_is_one_sentence(bucc: Path) -> None:
    with (bucc / "de-en.dev.de").open("a") as file:
        file.write("de-9\ts2\n")
    (bucc / "de-en.dev.gold").write_text("de-0\ten-0\nde-9\ten-2\nde-3\ten-0\n")
    evaluator = make_evaluator(root=str(bucc))
    result = evaluator.score(encode(evaluator.sentences()))
    assert result.metrics["bucc/deu-eng/f1"] == pytest.approx(200 / 3)
    assert (result.details[0]["queries"], result.details[0]["queries_repeated"]) == (4, 1)


def test_the_digest_depends_on_gold_pairs_and_tuning_part(bucc: Path) -> None:
    digest, tuned_digest = (make_evaluator(root=str(bucc), tune=tune).digest() for tune in ("same", "training"))
    write(bucc, "dev", [0, 1, 2, 3], [(0, 0)])
    assert len({digest, tuned_digest, make_evaluator(root=str(bucc)).digest()}) == 3


def test_check_reads_the_tuning_part(bucc: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \*-en\.sample\.gold for deu"):
        make_evaluator(root=str(bucc), tune="sample").check()


@pytest.mark.parametrize(
    ("option", "value"),
    [("margin", "ration"), ("strategy", "fwd"), ("k", 0), ("tune", "dev"), ("missing", "ignore")],
)
def test_invalid_options_are_errors(tmp_path: Path, option: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"evaluator.{option}={value}"):
        make_evaluator(**{option: value})


def test_the_reader_may_be_a_partial(bucc: Path) -> None:
    assert make_evaluator(root=str(bucc), read=partial(read_bucc)).sentences()[:2] == ["s0", "s1"]
