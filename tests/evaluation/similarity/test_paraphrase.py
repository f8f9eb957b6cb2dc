"""Paraphrase evaluator, on angles as sentences: the cosine of a pair is that of their difference."""

import logging
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.data.readers.labelled import LabelledSet
from xsent.evaluation.charts import Curve, Histogram
from xsent.evaluation.evaluator import score_spaces
from xsent.evaluation.similarity.paraphrase import ParaphraseEvaluator, lowest_hashes
from xsent.evaluation.suite import Suite


def cosine(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def encode(sentences: list[str]) -> Tensor:
    angles = torch.tensor([math.radians(float(text)) for text in sentences], dtype=torch.float64)
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def pairs(part: str, kind: str, languages: str, *labelled: tuple[int, int], start: int = 0) -> LabelledSet:
    """Pairs of (angle between the two, label); the first is at ``start`` degrees."""
    angles, labels = zip(*labelled, strict=True)
    source, target = [str(start)] * len(labelled), [str(start + angle) for angle in angles]
    return LabelledSet(part, kind, *languages.split("-"), source, target, list(labels))


make_evaluator = builder(
    ParaphraseEvaluator,
    name="para",
    criterion="accuracy",
    thresholds="one",
    alpha=2,
    t=2,
    uniform_sentences=100,
    **dict.fromkeys(("dev_languages", "zero_shot")),
)


DEV = pairs("valid", "pairs", "eng-eng", (10, 1), (40, 1), (60, 0), (80, 0))
TEST = LabelledSet(
    "test", "pairs", "eng", "eng", ["0", "0", "90", "90"], ["20", "30", "140", "160"], [1, 0, 1, 0]
)  # apart by 20, 30, 50 and 70 degrees


def test_all_figures_of_one_kind_by_hand() -> None:
    # The threshold is between 40 and 60 degrees: 20, 30 and 50 are accepted, of which 30 is wrong.
    # Right order: 20 before 30 and 70, 50 before 70. The two source sentences are orthogonal.
    assert make_evaluator(DEV, TEST)(encode) == pytest.approx(
        {
            "para/overall/accuracy": 75,
            "para/overall/f1": 80,
            "para/overall/majority": 50,
            "para/overall/roc_auc": 75,
            "para/overall/eer": 50,
            "para/overall/threshold": (cosine(40) + cosine(60)) / 2,
            "para/overall/align": 2 - cosine(20) - cosine(50),
            "para/overall/uniform": -4,
        }
    )


KINDS = [
    pairs("valid", "intra", "eng-eng", (10, 1), (40, 1), (60, 0), (80, 0)),
    pairs("valid", "inter_para", "eng-fra", (70, 1), (85, 0)),
    pairs("test", "intra", "eng-eng", (20, 1), (50, 1), (30, 0), (70, 0)),  # right, right, wrong, right
    pairs("test", "intra", "fra-fra", (20, 0)),  # wrong
    pairs("test", "inter_para", "eng-fra", (65, 1), (88, 0)),  # wrong, right; with a threshold of their own both right
]


def test_kinds_languages_and_zero_shot_by_hand() -> None:
    # Dev, pooled: right after 10, 40, 60, 70, 80, 85 degrees: 4, 5, 4, 5, 4, 3 of 6; the first of the two 5.
    metrics = make_evaluator(*KINDS, zero_shot=["fr"])(encode)
    middle = (cosine(40) + cosine(60)) / 2
    expected = {
        "intra/accuracy": 60,
        "intra/threshold": middle,
        "intra/majority": 60,
        "inter_para/accuracy": 50,
        "inter_para/threshold": middle,
        "inter_para/roc_auc": 100,
        "inter_para/eer": 0,
        "intra_eng/accuracy": 75,
        "intra_fra/accuracy": 0,
        "inter_para_eng/accuracy": 50,
        "inter_para_fra/accuracy": 50,
        "trained/accuracy": 75,  # no pairs across languages without French
        "zero_shot/accuracy": 25,
        "mean/accuracy": 55,
        "mean/f1": (100 * 4 / 6 + 0) / 2,
        "overall/accuracy": 100 * 4 / 7,
    }
    assert {name: metrics[f"para/{name}"] for name in expected} == pytest.approx(expected)


def test_a_threshold_per_kind() -> None:
    metrics = make_evaluator(*KINDS, thresholds="per_kind")(encode)
    assert metrics["para/intra/threshold"] == pytest.approx((cosine(40) + cosine(60)) / 2)
    assert metrics["para/inter_para/threshold"] == pytest.approx((cosine(70) + cosine(85)) / 2)
    assert metrics["para/inter_para/accuracy"] == 100
    assert metrics["para/mean/accuracy"] == pytest.approx(80)
    assert "para/zero_shot/accuracy" not in metrics


def test_the_threshold_may_be_chosen_on_some_languages_only() -> None:
    french = pairs("valid", "pairs", "fra-fra", (20, 0), (5, 1))
    evaluator = make_evaluator(DEV, french, TEST, dev_languages=["en"])
    assert evaluator(encode)["para/overall/threshold"] == pytest.approx((cosine(40) + cosine(60)) / 2)
    assert evaluator.score(encode(evaluator.sentences())).details[0]["dev_pairs"] == 4
    assert "5" not in evaluator.sentences()  # unused sentences are not encoded


def test_details_name_scored_pairs_and_dev_pairs() -> None:
    evaluator = make_evaluator(*KINDS)
    rows = evaluator.score(encode(evaluator.sentences())).details
    columns = ("kind", "direction", "positives", "negatives", "accuracy")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("intra", "eng-eng", 2, 2, 75),
        ("intra", "fra-fra", 0, 1, 0),
        ("inter_para", "eng-fra", 1, 1, 50),
    ]
    columns = ("dev_kinds", "dev_pairs", "criterion", "part", "tuned_on")
    assert {tuple(row[column] for column in columns) for row in rows} == {
        ("intra inter_para", 6, "accuracy", "test", "dev")
    }


def test_without_test_pairs_the_dev_pairs_are_scored_with_a_note(caplog: pytest.LogCaptureFixture) -> None:
    evaluator = make_evaluator(DEV)
    with caplog.at_level(logging.INFO):
        evaluator.check()
    assert "para: no test pairs; the dev pairs are scored with their own threshold (optimistic)" in caplog.text
    scored = evaluator.score(encode(evaluator.sentences()))
    assert scored.metrics["para/overall/accuracy"] == 100
    assert scored.details[0]["tuned_on"] == "the pairs that are scored (optimistic)"
    assert scored.details[0]["part"] == "valid"


def test_dev_pairs_of_one_label_are_an_error_of_check() -> None:
    alike = pairs("valid", "inter_same", "eng-fra", (10, 1), (20, 1))
    tested = pairs("test", "inter_same", "eng-fra", (10, 1), (80, 0))
    message = r"para: the threshold of inter_same needs dev pairs of both labels, found 2 paraphrases and 0 others"
    with pytest.raises(ValueError, match=message):
        make_evaluator(alike, tested).check()
    with pytest.raises(ValueError, match=message):
        make_evaluator(DEV, TEST, alike, tested, thresholds="per_kind").check()
    make_evaluator(DEV, TEST, alike, tested).check()  # pooled, both labels exist
    with pytest.raises(ValueError, match=r"threshold of pairs needs dev pairs of both labels, found 0 paraphrases and"):
        make_evaluator(TEST).check()
    with pytest.raises(ValueError, match=r"both labels in kor, found 0 paraphrases and 0 others"):
        make_evaluator(DEV, TEST, dev_languages=["kor"]).check()


def test_zero_shot_languages_without_pairs_are_named(caplog: pytest.LogCaptureFixture) -> None:
    evaluator = make_evaluator(*KINDS, zero_shot=["fra", "ko"])
    evaluator.check()
    assert caplog.messages == ["para: no pairs in zero-shot languages kor"]
    assert evaluator(encode)["para/zero_shot/accuracy"] == 25


def test_a_kind_with_one_label_has_no_curve() -> None:
    metrics = make_evaluator(DEV, pairs("test", "pairs", "eng-eng", (20, 0), (70, 0)))(encode)
    assert metrics["para/overall/accuracy"] == 50
    for metric in ("roc_auc", "eer", "align"):
        assert math.isnan(metrics[f"para/overall/{metric}"])


def test_a_language_without_files_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    def read(root: str | None, languages: list[str] | None) -> list[LabelledSet]:
        assert languages is not None
        if "tur" in languages:
            raise FileNotFoundError("no tur")
        sets = [DEV, TEST, pairs("test", "pairs", "eng-fra", (20, 1))]
        return [pairs for pairs in sets if {pairs.source_lang, pairs.target_lang} <= set(languages)]

    evaluator = make_evaluator(read=read, root="FOLDER", languages=["eng", "fra", "tur"], missing="note")
    evaluator.check()
    assert caplog.messages == ["para: no pairs in FOLDER of tur; they are left out"]
    assert len(evaluator.test_sets) == 3
    assert evaluator.score(encode(evaluator.sentences())).details[0]["missing_languages"] == "tur"
    for languages, missing in [(["eng", "tur"], "error"), (["tur"], "note")]:
        with pytest.raises(FileNotFoundError, match="no tur"):
            make_evaluator(read=read, languages=languages, missing=missing).check()


def test_charts_have_the_cosines_by_label_and_the_threshold() -> None:
    evaluator = make_evaluator(DEV, TEST)
    charts = score_spaces(evaluator, {"original": encode(evaluator.sentences())}).charts
    assert [chart.name for chart in charts] == ["para_cosines_original", "para_roc_original"]
    assert [chart.title for chart in charts] == ["Cosines of pairs: para, original", "ROC: para, original"]
    histogram, curve = charts
    assert isinstance(histogram, Histogram)
    assert isinstance(curve, Curve)
    (panel,) = histogram.panels
    assert panel.values["paraphrases"].tolist() == pytest.approx([cosine(20), cosine(50)])
    assert panel.values["others"].tolist() == pytest.approx([cosine(30), cosine(70)])
    assert panel.line == pytest.approx((cosine(40) + cosine(60)) / 2)
    line = curve.lines["pairs"]
    assert list(zip(line.x, line.y, strict=True)) == [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1), (1, 1)]
    assert line.mark == (0.5, 1)


def test_a_suite_returns_the_charts_of_its_members() -> None:
    suite = Suite(name="both", members={"a": make_evaluator(DEV, TEST, name="a"), "b": make_evaluator(DEV, name="b")})
    charts = suite.score(encode(suite.sentences())).charts
    assert [chart.name for chart in charts] == ["a_cosines", "a_roc", "b_cosines", "b_roc"]


def test_the_sample_of_lowest_hashes_does_not_depend_on_order() -> None:
    texts = [str(number) for number in range(50)]
    chosen = lowest_hashes(texts, 10)
    assert len(set(chosen)) == 10
    assert lowest_hashes(texts[::-1] * 2, 10) == chosen
    assert set(lowest_hashes(texts, 20)) > set(chosen)
    assert set(lowest_hashes(texts, 99)) == set(texts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"criterion": "auc"}, "evaluator.criterion=auc: expected one of accuracy, f1, eer"),
        ({"thresholds": "two"}, "evaluator.thresholds=two: expected one of one, per_kind"),
        ({"alpha": 0}, "evaluator.alpha=0: expected a number above 0"),
        ({"t": -1}, "evaluator.t=-1: expected a number above 0"),
        ({"uniform_sentences": 1}, "evaluator.uniform_sentences=1: expected an integer of at least 2"),
        ({"zero_shot": ["fr", "qq"]}, "evaluator.zero_shot: unknown language 'qq'"),
        ({"dev_languages": ["french"]}, "evaluator.dev_languages: unknown language 'french'"),
    ],
)
def test_an_option_out_of_range_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_evaluator(DEV, **changes)
