"""``xsent.mine`` and ``xsent.score``: the results of the commands, in memory."""

import gzip
import math
from pathlib import Path
from typing import Any

import pytest
import torch

import xsent
from xsent.batch import Judgement, WordPair
from xsent.cli import main

GERMAN = ["Der Hund schläft.", "Wir essen Brot.", " ", "Das Haus ist rot.", "Es regnet heute.", "Wir essen Brot.", "…"]
ENGLISH = ["It is raining today.", "The house is red.", "The dog sleeps.", "We eat bread.", "The cat sleeps."]


class Angles:
    """Encodes a number of degrees as a unit vector."""

    name = "angles"

    def encode(self, sentences: list[str], *, space: str | None = None) -> torch.Tensor:
        angles = torch.tensor([math.radians(float(text)) for text in sentences])
        return torch.stack([angles.cos(), angles.sin()], dim=1)


class FixedJudge:
    """Scores a pair by the number of its words."""

    name = "judge"

    def judge(self, pairs: list[WordPair]) -> list[Judgement]:
        return [Judgement(math.log(len(pair.source + pair.target) - 1), None, None) for pair in pairs]


@pytest.mark.parametrize("strategy", ["max", "forward"])
def test_mine_gives_the_pairs_of_the_command(strategy: str, tmp_path: Path) -> None:
    for name, lines in (("a", GERMAN), ("b", ENGLISH)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    output = tmp_path / "mined.tsv"
    assert main(["mine", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(output), "--strategy", strategy]) == 0
    expected = [line.split("\t") for line in output.read_text().splitlines()[1:]]
    mined = xsent.mine(GERMAN, ENGLISH, strategy=strategy)
    assert [[str(row.source_row + 1), str(row.target_row + 1), row.source, row.target] for row in mined] == [
        row[1:] for row in expected
    ]
    assert [row.score for row in mined] == pytest.approx([float(row[0]) for row in expected], abs=1e-5)


def test_mine_reads_files_and_takes_a_loaded_encoder(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "german.gz", "wt") as file:
        file.write("\n".join(GERMAN))
    encoder = xsent.load_encoder("mini")
    assert xsent.mine(tmp_path / "german.gz", ENGLISH, encoder=encoder) == xsent.mine(GERMAN, ENGLISH)


def test_score_is_the_cosine_of_each_pair() -> None:
    scores = xsent.score([("0", "60"), ("30", "30"), ("0", "90")], encoder=Angles())  # type: ignore[arg-type]
    torch.testing.assert_close(scores, torch.tensor([0.5, 1.0, 0.0], dtype=torch.float64), rtol=0, atol=1e-6)
    assert xsent.score([]).shape == (0,)


def test_a_margin_score_compares_a_pair_with_its_nearest_sentences() -> None:
    # Sources 0 and 90 degrees, targets 60 and 90: cosines .5, 0 and .866, 1; all four neighbours are averaged.
    scores = xsent.score([("0", "60"), ("90", "90")], encoder=Angles(), margin="distance")  # type: ignore[arg-type]
    mean = {"0": 0.25, "90": (3**0.5 / 2 + 1) / 2}, {"60": (0.5 + 3**0.5 / 2) / 2, "90": 0.5}
    expected = [0.5 - (mean[0]["0"] + mean[1]["60"]) / 2, 1 - (mean[0]["90"] + mean[1]["90"]) / 2]
    assert scores.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_pair_judge_gives_probabilities() -> None:
    pytest.importorskip("sacremoses", reason="pip install 'xsent[divergence]'")
    # The sigmoid of log n is n / (n + 1): two words 1/2, four words 3/4.
    scores = xsent.score([("one", "un"), ("one two", "un deux")], encoder=FixedJudge())  # type: ignore[arg-type]
    assert scores.tolist() == pytest.approx([0.5, 0.75])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xsent.mine([], ENGLISH), "source: expected sentences, found none"),
        (lambda: xsent.mine("no/file", ENGLISH), "no/file: expected a text file"),
        (lambda: xsent.mine(GERMAN, ENGLISH, margin="ratoi"), "did you mean ratio?"),
        (lambda: xsent.mine(GERMAN, ENGLISH, k=0), "k=0: expected an integer"),
        (lambda: xsent.mine(GERMAN, ENGLISH, encoder="mimi"), "did you mean mini?"),
        (lambda: xsent.mine(GERMAN, ENGLISH, space="meaning"), "space=meaning: expected original"),
        (lambda: xsent.score(["ab"]), "pair 0: expected a source and a target, found 'ab'"),  # type: ignore[list-item]
        (lambda: xsent.score([("a", "b")], margin="cosine"), "margin=cosine: expected one of absolute"),
        (lambda: xsent.score([("a", "b")], source_lang="deu"), "source_lang=deu: mini does not use it"),
        (lambda: xsent.score([("a", "b")], encoder=FixedJudge(), margin="ratio"), "margin=ratio: judge does not"),
        (lambda: xsent.score([("a", " ")], encoder=FixedJudge()), "pair 0: expected two sentences, found a blank one"),
    ],
)
def test_what_cannot_be_mined_or_scored_is_named(call: Any, message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        call()
    assert message in str(caught.value)
