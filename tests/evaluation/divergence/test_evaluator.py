"""Divergence evaluator: judgements of pairs, words, annotations and margin scores."""

import json
import logging
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from tests.evaluation.builders import builder
from tests.helpers import config
from xsent.batch import Judgement, WordPair
from xsent.data.readers.divergences import Candidates, DivergenceSet
from xsent.data.test_sets.refresd import Annotation
from xsent.evaluation.charts import Histogram
from xsent.evaluation.divergence.evaluator import DivergenceEvaluator
from xsent.evaluation.divergence.metrics import PercentRule
from xsent.reporting.tables.published import published_tables
from xsent.run.config.build import build_evaluator

RULE = PercentRule(above="far", below="near", percents=[50], strict=True)


def pairs_of(labels: Sequence[str], name: str = "set", annotators: int = 3, **changes: Any) -> DivergenceSet:
    """Pair i is ``s<i>`` and two words, ``t<i> .``; its label is its kind, and ``same`` is equivalent."""
    numbers = range(len(labels))
    pairs = DivergenceSet(
        name,
        [WordPair((f"s{i}",), (f"t{i}", ".")) for i in numbers],
        [f"s{i}" for i in numbers],
        [f"t{i}." for i in numbers],
        [label == "same" for label in labels],
        list(labels),
        [((0,), (0, 0))] * len(labels),
        annotators,
    )
    return replace(pairs, **changes)


FILES = ("pool", "read_pool", "dev", "read_dev", "annotations", "read_annotations")
div = builder(
    DivergenceEvaluator,
    name="div",
    against={},
    threshold=0.0,
    length_bands=[1, 6],
    margin_threshold=1.04,
    margin="ratio",
    k=2,
    dev_seeds=9,
    dev_balanced=False,
    **dict.fromkeys(("sets", "word_kinds", "percent_rule", *FILES)),
)


def make_evaluator(*sets: DivergenceSet, **changes: Any) -> DivergenceEvaluator:
    evaluator: DivergenceEvaluator = div(*sets, **changes)
    evaluator.check()
    return evaluator


def judged(scores: Sequence[float], words: Sequence[Sequence[float]] | None = None) -> list[Judgement]:
    """Judgements of pairs with one and two words; a row has the three probabilities of a pair."""
    if words is None:
        return [Judgement(score, None, None) for score in scores]
    return [
        Judgement(score, np.array(row[:1], dtype=np.float32), np.array(row[1:], dtype=np.float32))
        for score, row in zip(scores, words, strict=True)
    ]


# ---- judgements of pairs


def test_a_pair_is_equivalent_above_0_and_not_at_it() -> None:
    evaluator = make_evaluator(pairs_of(["same", "same", "far", "near"]))
    result = evaluator.score_pairs(judged([2.0, 0.0, -1.0, 1.0]), threshold=0.0).metrics
    # Predicted as equivalent: the first (right) and the last (wrong).
    assert result["div/set/precision_equivalent"] == result["div/set/recall_equivalent"] == 50
    assert result["div/set/f1"] == result["div/set/calibrated_f1"] == 50


def test_the_calibrated_threshold_has_separate_metrics() -> None:
    evaluator = make_evaluator(pairs_of(["same", "same", "far", "near"]))
    evaluation = evaluator.score_pairs(judged([5.0, 4.0, 3.0, -1.0]), threshold=3.5)
    result = evaluation.metrics
    assert (result["div/set/f1_divergent"], result["div/set/calibrated_f1"]) == (pytest.approx(200 / 3), 100)
    assert (result["div/set/roc_auc"], result["div/set/best_f1"]) == (100, 100)
    (detail,) = evaluation.details
    assert (detail["threshold"], detail["calibrated_threshold"], detail["best_threshold"]) == (0, 3.5, 3.5)
    assert (detail["pairs"], detail["equivalent"], detail["divergent"]) == (4, 2, 2)
    assert (detail["direction"], detail["words_tagged"]) == ("eng-fra", False)


def test_each_kind_is_scored_separately_against_the_equivalent_pairs() -> None:
    evaluator = make_evaluator(
        pairs_of(["same", "far", "near"]), against={"wide": "far", "close": "near", "none": "absent"}
    )
    result = evaluator.score_pairs(judged([1.0, -1.0, 1.0]), threshold=0.0).metrics
    assert result["div/set_wide/f1"] == 100
    assert result["div/set_close/recall_divergent"] == 0
    assert not [name for name in result if "none" in name or "union" in name]


def test_judgements_of_several_sets_are_in_their_order() -> None:
    evaluator = make_evaluator(pairs_of(["same", "far"], "a"), pairs_of(["far", "same"], "b"))
    assert [pair.source[0] for pair in evaluator.pairs()] == ["s0", "s1", "s0", "s1"]
    evaluation = evaluator.score_pairs(judged([1.0, -1.0, 1.0, -1.0]), threshold=0.0)
    assert (evaluation.metrics["div/a/f1"], evaluation.metrics["div/b/f1"]) == (100, 0)
    chart, reliability = evaluation.charts
    assert reliability.name == "div_reliability"
    assert isinstance(chart, Histogram)
    assert [panel.title for panel in chart.panels] == ["a", "b"]


def test_the_histogram_groups_pairs_without_a_kind_by_label() -> None:
    plain = pairs_of(["same", "far"], kinds=["", ""])
    chart, _ = make_evaluator(plain).score_pairs(judged([1.0, -1.0]), threshold=0.5).charts
    assert isinstance(chart, Histogram)
    assert {label: values.tolist() for label, values in chart.panels[0].values.items()} == {
        "equivalent": [1.0],
        "divergent": [-1.0],
    }
    assert chart.panels[0].line == 0.5


# ---- words


HIGHLIGHTS = [((3,), (3, 3)), ((1,), (2, 0)), ((0,), (3, 0))]  # the first pair is equivalent: its words do not count


def test_words_are_divergent_above_one_half_and_only_those_of_the_kinds_count() -> None:
    evaluator = make_evaluator(pairs_of(["same", "near", "near"], highlights=HIGHLIGHTS), word_kinds=["near"])
    words = [[0.9, 0.9, 0.9], [0.9, 0.5, 0.1], [0.1, 0.8, 0.9]]
    result = evaluator.score_pairs(judged([1, -1, -1], words), threshold=0).metrics
    # Predicted 1 0 0 0 1 1, highlights 1 2 0 0 3 0.
    assert result["div/set/union_f1_div"] == pytest.approx(100 * 4 / 6)
    assert result["div/set/union_f1_eq"] == pytest.approx(100 * 4 / 6)
    assert result["div/set/union_f1_mul"] == pytest.approx(100 * 16 / 36)
    assert result["div/set/pairwise_union_f1_div"] == pytest.approx(100 * 2 / 5)
    assert result["div/set/intersection_f1_div"] == pytest.approx(100 * 2 / 4)
    assert result["div/set/random_union_f1_div"] == 50  # half the words: 0.5 / (0.5 + 0.5)
    assert result["div/set/random_intersection_f1_div"] == pytest.approx(100 * (1 / 6) / (1 / 6 + 1 / 2))


def test_without_kinds_the_words_of_all_divergent_pairs_count_and_one_annotator_has_one_level() -> None:
    pairs = pairs_of(["same", "far", "near"], annotators=1, highlights=[((0,), (0, 0)), ((1,), (1, 0)), ((0,), (1, 0))])
    result = (
        make_evaluator(pairs).score_pairs(judged([1, -1, -1], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]), threshold=0).metrics
    )
    assert result["div/set/union_f1_mul"] == 100
    assert not [name for name in result if "intersection" in name or "alpha" in name]


def test_two_kinds_are_separated_by_the_share_of_divergent_words() -> None:
    evaluator = make_evaluator(pairs_of(["same", "far", "near", "near"]), percent_rule=RULE)
    words = [[1, 1, 1], [1, 1, 0], [1, 1, 1], [0, 1, 0]]  # 67 percent and (wrongly) 100 are above 50, 33 is below
    evaluation = evaluator.score_pairs(judged([1, -1, -1, -1], words), threshold=0)
    result = evaluation.metrics
    assert (result["div/set/div50_above_precision"], result["div/set/div50_above_recall"]) == (50, 100)
    assert (result["div/set/div50_below_precision"], result["div/set/div50_below_recall"]) == (100, 50)
    assert [chart.name for chart in evaluation.charts] == ["div_scores", "div_reliability", "div_percent"]


def test_the_chart_of_divergent_words_has_the_annotators_beside_the_prediction() -> None:
    # Of three words two annotators highlight one and a third of them another: 67, 33 and 0 percent by level.
    pairs = pairs_of(["same", "near"], highlights=[((0,), (0, 0)), ((2,), (1, 0))])
    *_, chart = make_evaluator(pairs).score_pairs(judged([1, -1], [[0, 0, 0], [1, 1, 1]]), threshold=0).charts
    assert isinstance(chart, Histogram)
    values = {panel.title: {label: share.tolist() for label, share in panel.values.items()} for panel in chart.panels}
    assert values == {
        "set, predicted": {"same": [0.0], "near": [100.0]},
        "set, annotators, union": {"same": [0.0], "near": [pytest.approx(200 / 3)]},
        "set, annotators, pairwise union": {"same": [0.0], "near": [pytest.approx(100 / 3)]},
        "set, annotators, intersection": {"same": [0.0], "near": [0.0]},
    }


def test_a_set_without_the_kinds_has_no_word_metrics(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        evaluator = make_evaluator(pairs_of(["same", ""]), word_kinds=["near"], percent_rule=RULE)
    assert "words are not scored" in caplog.text
    result = evaluator.score_pairs(judged([1, -1], [[0, 0, 0], [1, 1, 1]]), threshold=0).metrics
    assert not [name for name in result if "union" in name or "div50" in name]


def test_judgements_that_do_not_fit_are_errors() -> None:
    evaluator = make_evaluator(pairs_of(["same", "far"]))
    with pytest.raises(ValueError, match="expected a judgement of each of 2 pairs, found 1"):
        evaluator.score_pairs(judged([1.0]), threshold=0)
    with pytest.raises(ValueError, match=r"set: expected a probability for each of 2 words, found 1: t0 \."):
        evaluator.score_pairs(judged([1.0, 1.0], [[0, 0], [0, 0]]), threshold=0)


# ---- annotators


def test_the_alpha_of_the_highlights_needs_no_model() -> None:
    evaluator = make_evaluator(pairs_of(["same", "near"], highlights=[((0,), (0, 0)), ((3,), (0, 0))]))
    assert evaluator.score_pairs(judged([1, -1]), threshold=0).metrics["div/set/word_alpha"] == 1
    assert evaluator.score(torch.eye(4)).metrics["div/set/word_alpha"] == 1
    assert evaluator.score(torch.eye(4)).details[0]["pairs_without_highlight"] == 1


def test_annotations_give_the_agreement_table() -> None:
    read = [Annotation("1", "A", 0, (1, 0), (0,)), Annotation("1", "B", 0, (1, 0), (0,))]
    evaluator = make_evaluator(pairs_of(["same", "far"]), annotations="FILE", read_annotations=lambda path: read)
    result = evaluator.score_pairs(judged([1, -1]), threshold=0).metrics
    assert (result["div/agreement/span_f1"], result["div/agreement/word_f1"]) == (100, 100)
    assert math.isnan(result["div/agreement/alpha_nominal"])  # all labels are equal


# ---- margins of vectors

# The sides of pairs 0 and 1 are equal, those of pair 2 are orthogonal.
VECTORS = {"s0": [1.0, 0, 0], "s1": [0, 1.0, 0], "s2": [0, 0, 1.0]}
VECTORS |= {"t0.": [1.0, 0, 0], "t1.": [0, 1.0, 0], "t2.": [0.6, 0.8, 0]}


def embedded(evaluator: DivergenceEvaluator) -> torch.Tensor:
    return torch.tensor([VECTORS[text] for text in evaluator.sentences()])


def test_margins_are_compared_with_the_conventional_threshold() -> None:
    evaluator = make_evaluator(pairs_of(["same", "same", "far"]))
    evaluation = evaluator.score(embedded(evaluator))
    # Means of two: sources 0.8, 0.9, 0; targets 0.5, 0.5, 0.7. Margins 1/0.65 and 1/0.7 are above 1.04, 0 is not.
    assert evaluation.metrics["div/set/f1"] == evaluation.metrics["div/set/best_f1"] == 100
    assert not [name for name in evaluation.metrics if "calibrated" in name]
    (detail,) = evaluation.details
    assert (detail["k_used"], detail["candidates"], detail["zero_vectors"]) == (2, "3 + 3", 0)
    strict = make_evaluator(pairs_of(["same", "same", "far"]), margin_threshold=1.45)
    assert strict.score(embedded(strict)).metrics["div/set/recall_equivalent"] == 50  # 1/0.7 is not above 1.45


def test_margins_are_calibrated_among_as_many_dev_pairs_as_the_set_has() -> None:
    dev = pairs_of(["same", "same", "far"])
    evaluator = make_evaluator(pairs_of(["same", "far"]), dev="FILE", read_dev=lambda path, seeds: dev)
    evaluation = evaluator.score(embedded(evaluator))
    # Groups of two. The first two dev pairs are neighbours of each other: margins of 1 / ((0.5 + 0.5) / 2) = 2. The
    # divergent pair is scored with the second one: its cosine is 0. The midpoint is 1.
    assert evaluation.details[0]["calibrated_threshold"] == pytest.approx(1.0)
    assert evaluation.details[0]["calibrated_on"] == "FILE: 3 pairs, 2 at a time"
    assert evaluation.metrics["div/set/calibrated_recall_equivalent"] == 100
    # In a group of three the sides of the divergent pair are neighbours, too: margins as in the test above.
    evaluator = make_evaluator(pairs_of(["same", "far", "far"]), dev="FILE", read_dev=lambda path, seeds: dev)
    assert evaluator.score(embedded(evaluator)).details[0]["calibrated_threshold"] == pytest.approx(1 / 0.7 / 2)


def test_a_set_calibrated_on_itself_has_its_own_best_threshold(caplog: pytest.LogCaptureFixture) -> None:
    numbers = np.random.default_rng(0)
    labels = ["same" if number % 3 else "far" for number in range(60)]
    evaluator = make_evaluator(
        pairs_of(labels), dev="FILE", dev_seeds=60, read_dev=lambda path, seeds: pairs_of(labels), k=4
    )
    source = numbers.normal(size=(60, 8))
    target = np.where(np.array(labels)[:, None] == "same", source, 0) + numbers.normal(size=(60, 8))
    (detail,) = evaluator.score(torch.from_numpy(np.concatenate([source, target]))).details
    assert detail["calibrated_threshold"] == detail["best_threshold"]
    assert "dev_seeds" not in caplog.text


def test_each_set_has_a_threshold_for_its_size() -> None:
    numbers = np.random.default_rng(0)
    dev = pairs_of(["same", "far"] * 60)
    evaluator = make_evaluator(
        pairs_of(["same", "far"] * 10, "small"),
        pairs_of(["same", "far"] * 60, "large"),
        dev="FILE",
        dev_seeds=120,
        read_dev=lambda path, seeds: dev,
        k=4,
    )
    source = numbers.normal(size=(120, 8))
    target = np.where(np.arange(120)[:, None] % 2 == 0, source, 0) + numbers.normal(size=(120, 8))
    vectors = dict(zip([*dev.source, *dev.target], np.concatenate([source, target]), strict=True))
    small, large = evaluator.score(torch.tensor(np.array([vectors[text] for text in evaluator.sentences()]))).details
    assert small["calibrated_on"] == "FILE: 120 pairs, 20 at a time"
    # Among more sentences neighbours are nearer, so margins are smaller.
    assert small["calibrated_threshold"] > large["calibrated_threshold"]
    assert large["calibrated_threshold"] == large["best_threshold"]


def test_fewer_dev_seeds_than_pairs_cause_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    dev = pairs_of(["same", "far"])
    make_evaluator(pairs_of(["same"] * 3), dev="FILE", dev_seeds=2, read_dev=lambda path, seeds: dev)
    assert "set has 3 pairs, evaluator.dev_seeds=2" in caplog.text


def test_a_pool_adds_neighbour_candidates() -> None:
    pool = Candidates(["s1"], ["t2."])
    evaluator = make_evaluator(pairs_of(["same", "far"]), pool="FILE", read_pool=lambda path: pool)
    assert evaluator.sentences() == ["s0", "s1", "t0.", "t1.", "t2."]
    assert evaluator.score(embedded(evaluator)).details[0]["candidates"] == "2 + 3"  # s1 is in the set already
    assert evaluator.digest() != make_evaluator(pairs_of(["same", "far"])).digest()


def test_dev_pairs_of_one_class_cannot_calibrate() -> None:
    dev = pairs_of(["same", "same"])
    with pytest.raises(ValueError, match="FILE: a threshold needs equivalent and divergent pairs, found 2 equivalent"):
        make_evaluator(pairs_of(["same"]), dev="FILE", read_dev=lambda path, seeds: dev)


@pytest.mark.parametrize(("option", "value"), [("margin", "cosine"), ("k", 0), ("dev_seeds", 0)])
def test_invalid_options_are_errors(option: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"evaluator\.{option}={value}: expected"):
        make_evaluator(pairs_of(["same"]), **{option: value})


# ---- as configured


def small_refresd(folder: Path) -> None:
    header = "#binary_label\t#3_labels\t#english_sentence\t#french_sentence\t#english_rational\t#french_rationale"
    rows = [
        "equivalent\tno_meaning_difference\ta\tx y\t0\t0 0",
        "divergent\tsome_meaning_difference\tb\tv w\t1\t3 0",
        "divergent\tunrelated\tc\tu z\t3\t3 2",
    ]
    (folder / "REFreSD_rationale").write_text("\n".join([header, *rows]) + "\n")


def test_every_metric_beside_a_published_table_of_refresd_is_measured(tmp_path: Path) -> None:
    small_refresd(tmp_path)
    annotation = {"annotator": "A", "label": "unrelated", "source_highlights": "1", "target_highlights": "0 1"}
    lines = [{"id": "1", **annotation}, {"id": "1", **annotation, "annotator": "B"}]
    (tmp_path / "annotations.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    cfg = config(
        "evaluate",
        tmp_path,
        "evaluator=refresd",
        f"evaluator.root={tmp_path}",
        f"evaluator.annotations={tmp_path / 'annotations.jsonl'}",
    )
    plain: Any = OmegaConf.to_container(cfg, resolve=True)
    evaluator = build_evaluator(plain["evaluator"], None, split="test")
    assert isinstance(evaluator, DivergenceEvaluator)
    result = evaluator.score_pairs(judged([1, -1, -1], [[0, 0, 0], [0, 1, 0], [1, 1, 1]]), threshold=0).metrics
    for table in plain["published"]:
        for prefix in table.get("ours", {"": ""}).values():
            names = [metric.rpartition("/") for metric in table["columns"].values() if metric is not None]
            missing = [name for item, _, last in names if (name := f"{item}/{prefix}{last}") not in result]
            assert not missing or prefix == "best_", (table["title"], missing)
    tables = published_tables(plain["published"], {f"test/{name}": value for name, value in result.items()})
    titles = list(dict.fromkeys(table.label.rpartition(" (")[0] or table.label for table in tables))
    assert [title.split("Table ")[1][0] for title in titles] == ["3", "3", "4", "4", "4", "5", "2"]


def test_heldout_pairs_and_semdiverge_have_the_metrics_of_the_published_tables(tmp_path: Path) -> None:
    for name, item in [("divergence_heldout", "synthetic"), ("semdiverge", "opensubs")]:
        plain: Any = OmegaConf.to_container(config("evaluate", tmp_path, f"evaluator={name}").published)
        evaluator = make_evaluator(
            pairs_of(["same", "far"], item, annotators=1, highlights=[((0,), (0, 0)), ((1,), (0, 0))])
        )
        evaluator.name = name
        result = evaluator.score_pairs(judged([1, -1], [[0, 0, 0], [1, 0, 0]]), threshold=0).metrics
        tables = published_tables(plain, {f"test/{metric}": value for metric, value in result.items()})
        assert all("ours" in "".join(table.header) for table in tables)
        titles = {
            table.label.partition(" (1 of")[0] for table in tables if not re.search(r"\([2-9] of \d+\)$", table.label)
        }
        assert len(titles) == {"divergence_heldout": 3, "semdiverge": 1}[name]
