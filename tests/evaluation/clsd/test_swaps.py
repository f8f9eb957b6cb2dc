"""Similarity changes by swaps, on vectors in the plane with known cosines."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from xsent.evaluation.clsd.swap_statistics import Changes, compare_encoders, pearson, swap_metrics
from xsent.evaluation.clsd.swaps import ClsdSwapsEvaluator
from xsent.reporting.plots.charts import draw_charts


@dataclass(frozen=True)
class Corpus:
    source: list[str]
    target: list[str]
    source_lang: str = "fra"
    target_lang: str = "deu"
    name: str = "wmt19"
    ids: list[str] = field(default_factory=lambda: ["0", "1"])


@dataclass(frozen=True)
class Swaps:
    swapped: list[str]
    tags: list[str]
    source: list[str]
    target: list[str]
    ids: list[str]
    equivalent: list[int]
    words: list[tuple[str, str]]
    name: str = "deu"
    source_lang: str = "fra"
    target_lang: str = "deu"
    additions: int = 0


CORPUS = Corpus(["s0", "s1"], ["t0", "t1"])
SWAPS = Swaps(
    ["d0", "d1", "d2"],
    ["NOUN", "NOUN", "VERB"],
    ["s0", "s0", "s1"],
    ["t0", "t0", "t1"],
    ["wmt19/0/1", "wmt19/0/2", "wmt19/1/1"],
    [0, 1, -1],
    [("a", "b"), ("a", "c"), ("e", "f")],
)
FRENCH = Swaps(["d2"], ["VERB"], ["t1"], ["s1"], ["wmt19/1/2"], [0], [("", "")], "fra", "deu", "fra")
# Degrees. Parallel cosines are 0.5, unrelated ones cos(60) and cos(180), mean -0.25; the normaliser is 0.75.
ANGLES = {"s0": 0, "t0": 60, "s1": 120, "t1": 180, "d0": 90, "d1": 60, "d2": 120}


def make_evaluator(*swaps: Swaps, corpora: Sequence[Corpus] = (CORPUS,), **changes: Any) -> ClsdSwapsEvaluator:
    make = builder(
        ClsdSwapsEvaluator,
        name="clsd_swaps",
        root="FOLDER",
        classes=["NOUN", "VERB"],
        semantically_equivalent="keep",
        seed=0,
        **dict.fromkeys(("directions", "annotations", "n_unrelated")),
        swaps=lambda sets, annotations, keep_equivalent: swaps or (SWAPS,),
    )
    return make(*corpora, **changes)


def vectors(evaluator: ClsdSwapsEvaluator) -> Tensor:
    angles = [math.radians(ANGLES[text]) for text in evaluator.sentences()]
    return torch.tensor([[math.cos(angle), math.sin(angle)] for angle in angles])


def test_changes_equal_those_computed_by_hand() -> None:
    evaluator = make_evaluator()
    metrics = evaluator.score(vectors(evaluator)).metrics
    assert metrics["clsd_swaps/deu-fra/mean_parallel"] == pytest.approx(0.5, abs=1e-6)
    assert metrics["clsd_swaps/deu-fra/mean_unrelated"] == pytest.approx(-0.25, abs=1e-6)
    assert metrics["clsd_swaps/deu-fra/normaliser"] == pytest.approx(0.75, abs=1e-6)
    # d0 is at 90 of s0 (0 - 0.5) and 30 of t0 (0.866 - 1); d1 is t0 (0 and 0); d2 is s1 (1 - 0.5) and 60 of t1.
    expected = {
        "NOUN_n": 2,
        "NOUN_cross": -0.25 / 0.75,
        "NOUN_mono": (math.cos(math.pi / 6) - 1) / 2 / 0.75,
        "VERB_n": 1,
        "VERB_cross": 0.5 / 0.75,
        "VERB_mono": -0.5 / 0.75,
        "any_n": 3,
        "any_cross": 0.0,
        "spearman_any": -0.5,
    }
    for item in ("deu", "all"):
        for name, value in expected.items():
            assert metrics[f"clsd_swaps/{item}/{name}"] == pytest.approx(value, abs=1e-6)
        # Too few pairs for a correlation.
        assert math.isnan(metrics[f"clsd_swaps/{item}/pearson_NOUN"])
        assert math.isnan(metrics[f"clsd_swaps/{item}/spearman_VERB"])
    assert all(name.count("/") == 2 for name in metrics)


def test_the_table_has_a_row_for_each_swap() -> None:
    evaluator = make_evaluator()
    result = evaluator.score(vectors(evaluator))
    rows = result.tables["clsd_swaps"]
    assert [row["id"] for row in rows] == SWAPS.ids
    assert [row["equivalent"] for row in rows] == [0, 1, ""]
    assert (rows[2]["before"], rows[2]["after"], rows[2]["tag"]) == ("e", "f", "VERB")
    assert rows[2]["cross"] == pytest.approx(0.5 / 0.75, abs=1e-6)
    (detail,) = result.details
    conditions = {"direction": "fra-deu", "swaps": 3, "corpora": "wmt19", "unrelated_pairs": 2}
    assert detail | conditions == detail


def test_classes_that_are_not_requested_do_not_count_in_any() -> None:
    evaluator = make_evaluator(classes=["VERB"])
    metrics = evaluator.score(vectors(evaluator)).metrics
    assert metrics["clsd_swaps/deu/any_n"] == 1
    assert "clsd_swaps/deu/NOUN_n" not in metrics


def test_a_corpus_is_in_the_normaliser_once_whatever_directions_are_read() -> None:
    back = Corpus(CORPUS.target, CORPUS.source, "deu", "fra")
    evaluator, both = make_evaluator(), make_evaluator(corpora=[CORPUS, back])
    assert evaluator.score(vectors(evaluator)).metrics == both.score(vectors(both)).metrics
    assert evaluator.digest() == both.digest()


@pytest.mark.parametrize("n_unrelated", [None, 1])
def test_the_normaliser_does_not_depend_on_the_order_and_choice_of_directions(n_unrelated: int | None) -> None:
    # Row 2 has distractors in one language only, so it is in one direction only.
    forward = Corpus(["s0", "s1"], ["t0", "t1"], "fra", "deu", ids=["0", "1"])
    back = Corpus(["d0", "t0"], ["d1", "s0"], "deu", "fra", ids=["2", "0"])
    read = {"fr-de": forward, "de-fr": back}

    def scored(directions: Sequence[str] | None) -> dict[str, float]:
        evaluator = make_evaluator(
            directions=directions,
            n_unrelated=n_unrelated,
            seed=3,
            read=lambda root, expected: [read[way] for way in expected or read],
        )
        assert [corpus.source for corpus in evaluator.parallel["deu-fra"]] == [["d0", "t0", "t1"]]
        assert [corpus.target for corpus in evaluator.parallel["deu-fra"]] == [["d1", "s0", "s1"]]
        return evaluator.score(vectors(evaluator)).metrics

    result = [scored(directions) for directions in (["fr-de", "de-fr"], ["de-fr", "fr-de"], ["fr-de"], None)]
    assert result[1:] == result[:1] * 3
    # Angles: 30 between d0 and d1, 60 between t0 and s0, and t1 and s1.
    expected = (math.cos(math.radians(30)) + 0.5 + 0.5) / 3
    assert result[0]["clsd_swaps/deu-fra/mean_parallel"] == pytest.approx(expected, abs=1e-6)


def test_charts_have_a_group_for_each_class_with_a_box_per_language() -> None:
    evaluator = make_evaluator(SWAPS, FRENCH)
    cross, mono = evaluator.score(vectors(evaluator)).charts
    assert (cross.name, mono.name) == ("clsd_swaps_cross_lingual", "clsd_swaps_monolingual")
    assert {label: list(boxes) for label, boxes in cross.groups.items()} == {
        "NOUN": ["deu"],
        "VERB": ["deu", "fra"],
        "ANY": ["deu", "fra"],
    }


def test_several_encoders_share_a_chart_for_each_language(tmp_path: Path) -> None:
    evaluator = make_evaluator()
    result = evaluator.changes(vectors(evaluator))
    charts = compare_encoders("clsd", {"mini": result, "labse": result}, ["NOUN", "VERB"])
    assert [chart.name for chart in charts] == ["clsd_cross_lingual_deu", "clsd_monolingual_deu"]
    assert list(charts[0].groups["ANY"]) == ["mini", "labse"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in draw_charts(charts, tmp_path))


def test_a_collapsed_encoder_has_nan_metrics_a_warning_and_empty_charts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evaluator = make_evaluator()
    result = evaluator.score(torch.ones(len(evaluator.sentences()), 4))
    for name, value in result.metrics.items():
        assert name.endswith(("_n", "mean_parallel", "mean_unrelated")) != math.isnan(value)
    assert "the encoder does not distinguish them" in caplog.text
    assert result.details[0]["undefined"] == "collapsed"
    assert len(draw_charts(result.charts, tmp_path)) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"semantically_equivalent": "yes"}, "semantically_equivalent=yes: expected one of keep, drop"),
        ({"classes": []}, "at least one part of speech"),
        ({"classes": ["NOUN", "NOUN"]}, "at least one part of speech, each once"),
        ({"classes": ["Noun"]}, "no swap is tagged Noun; found NOUN 2, VERB 1"),
        ({"n_unrelated": 0}, "n_unrelated=0: expected at least 1, or null for all"),
        ({"n_unrelated": 3}, "normaliser of deu-fra needs 3 unrelated pairs, and FOLDER has 2 of 2"),
        (
            {"corpora": [Corpus(["s0"], ["t0"], "eng", "deu", ids=["0"])]},
            "normaliser of deu-fra needs 1 unrelated pairs, and FOLDER has 0 of 0",
        ),
    ],
)
def test_invalid_options_and_sets_that_cannot_be_scored_are_errors(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_evaluator(**changes).check()


def test_directions_that_are_not_requested_have_no_metrics() -> None:
    assert [evaluator.name for evaluator in make_evaluator(SWAPS, FRENCH, directions=["fr-de"]).test_sets] == ["deu"]
    with pytest.raises(ValueError, match="expected swaps of fr-de, found deu-fra"):
        make_evaluator(FRENCH, directions=["fr-de"]).check()


def test_swaps_of_a_corpus_that_was_not_read_cause_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    make_evaluator(corpora=[Corpus(CORPUS.source, CORPUS.target, name="wmt21")]).check()
    assert "the normaliser is of the corpora in FOLDER, without wmt19, which swaps are from" in caplog.text


def test_the_option_for_equivalent_swaps_is_passed_to_the_finder() -> None:
    received: list[bool] = []

    def find(sets: Sequence[Corpus], annotations: str | None, *, keep_equivalent: bool) -> list[Swaps]:
        received.append(keep_equivalent)
        return [SWAPS]

    for option in ("keep", "drop"):
        make_evaluator(semantically_equivalent=option, swaps=find).check()
    assert received == [True, False]


def test_correlations_equal_those_computed_by_hand() -> None:
    cross, mono = np.array([1.0, 2.0, 3.0, 10.0]), np.array([1.0, 3.0, 2.0, 4.0])
    result = swap_metrics(Changes("deu", ["NOUN"] * 4, cross, mono), ["NOUN", "VERB"])
    # Pearson: centred (-3, -2, -1, 6) and (-1.5, 0.5, -0.5, 1.5): 13 over the root of 50 times 5.
    assert result["pearson_any"] == pytest.approx(13 / math.sqrt(250), rel=1e-12)
    assert result["spearman_any"] == pytest.approx(0.8, rel=1e-12)  # 1 - 6 * 2 / 60
    assert result["VERB_n"] == 0
    assert math.isnan(result["VERB_cross"])
    assert math.isnan(pearson(np.zeros(4), mono))
