"""Outcomes of test items in files: what is written is read, compactly, and each shared column once."""

import json
from pathlib import Path

import numpy as np
import pytest

from xsent.evaluation.statistics.items import Items, gap_items, mean_over, pooled
from xsent.reporting.outcomes import OUTCOMES, outcomes_text, read_outcomes


def test_every_kind_of_outcome_is_read_as_it_was_written(tmp_path: Path) -> None:
    right, gaps = Items.percentage([True, False, True]), Items.of("mean", [0.123456789, -0.5, np.nan])
    pairs = Items.of("spearman", [0.98765432, 0.98765433, 1.0], [5, 0, 2.5], scale=100)
    kinds = mean_over([pooled([right, right]), right])
    outcomes = {"a/b/accuracy": right, "a/b/spearman": pairs, "a/mean/accuracy": kinds}
    outcomes |= {f"a/b/{name}": items for name, items in gap_items(gaps).items()}
    (tmp_path / OUTCOMES).write_text(outcomes_text({}, outcomes))
    found = read_outcomes(tmp_path)
    assert found.keys() == {f"test/{name}" for name in outcomes}
    for name, items in outcomes.items():
        read = found[f"test/{name}"]
        assert (read.statistic, read.scale, read.sizes) == (items.statistic, items.scale, items.sizes)
        assert read.value() == pytest.approx(items.value(), rel=5e-5, nan_ok=True)
        for written, columns in zip(items.sets, read.sets, strict=True):
            np.testing.assert_allclose(columns, written, rtol=5e-5)  # five digits
    assert read_outcomes(tmp_path, "before") == read_outcomes(tmp_path / "none") == {}


def test_shared_columns_are_written_once_and_bits_as_digits(tmp_path: Path) -> None:
    right = Items.percentage([True, False, True])
    content = json.loads(outcomes_text({}, {"a/b/accuracy": right, "a/mean/accuracy": mean_over([right, right])}))
    assert content["after"]["columns"] == ["101"]
    assert content["after"]["metrics"]["test/a/mean/accuracy"]["groups"] == [[[0]], [[0]]]


def test_a_single_number_is_no_digit(tmp_path: Path) -> None:
    (tmp_path / OUTCOMES).write_text(outcomes_text({}, {"a/b/align": Items.of("mean", [12.0])}))
    assert read_outcomes(tmp_path)["test/a/b/align"].value() == 12
