"""Similarity change and normaliser: reference numbers, and the full matrix of cosines."""

import json
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from xsent.evaluation.clsd.swap_statistics import (
    Normaliser,
    count_unrelated,
    normaliser,
    pearson,
    similarity_change,
)
from xsent.similarity import cos_sim


def random_set(rows: int, seed: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(seed)
    return torch.randn(rows, 8), torch.randn(rows, 8)


def off_diagonal(source: Tensor, target: Tensor) -> Tensor:
    cosines = cos_sim(source.double(), target.double())
    return cosines[~torch.eye(len(source), dtype=torch.bool)]


def test_changes_and_normaliser_equal_the_reference(fixtures_dir: Path) -> None:
    reference = json.loads((fixtures_dir / "clsd.json").read_text())
    expected = reference["similarity_change"]
    source, target, distractors = (torch.tensor(reference["inputs"][side]) for side in "STD")
    by = normaliser([(source, target)], n_unrelated=None, seed=0)
    assert by.mean_parallel == pytest.approx(expected["mean_parallel_cos"], abs=1e-6)
    assert by.mean_unrelated == pytest.approx(expected["mean_unrelated_cos(all off-diagonal pairs)"], abs=1e-6)
    assert by.value == pytest.approx(expected["normaliser"], abs=1e-6)
    cross = similarity_change(source[:, None], target[:, None], distractors, normaliser=by.value)  # (10, 4)
    mono = similarity_change(target[:, None], target[:, None], distractors, normaliser=by.value)
    for result, name in [(cross, "cross_lingual_change"), (mono, "monolingual_change(S replaced by T)")]:
        torch.testing.assert_close(result, torch.tensor(expected[name], dtype=torch.float64), rtol=0, atol=1e-6)
    correlation = pearson(cross.flatten().numpy(), mono.flatten().numpy())
    assert correlation == pytest.approx(expected["pearson_cross_vs_mono"], abs=1e-6)


def test_a_change_is_that_of_the_cosine_over_the_normaliser() -> None:
    # Cosines 0.9 with the target and 0.7 with the distractor, normaliser 0.8: (0.7 - 0.9) / 0.8.
    source, target, distractor = (torch.tensor([[c, math.sqrt(1 - c * c)]]) for c in (1.0, 0.9, 0.7))
    change = similarity_change(source, target, distractor, normaliser=Normaliser(0.9, 0.1, 1).value)
    assert change.item() == pytest.approx(-0.25, abs=1e-6)


def test_unrelated_pairs_of_all_sets_are_pooled_without_a_matrix() -> None:
    sets = [random_set(7, 1), random_set(3, 2), random_set(1, 3)]  # the last one has no unrelated pair
    unrelated = torch.cat([off_diagonal(*row) for row in sets])
    parallel = torch.cat([cos_sim(source.double(), target.double()).diag() for source, target in sets])
    by = normaliser(sets, n_unrelated=None, seed=0)
    assert by.unrelated_pairs == len(unrelated) == count_unrelated([7, 3, 1]) == 48
    assert by.mean_unrelated == pytest.approx(unrelated.mean().item(), abs=1e-12)
    assert by.mean_parallel == pytest.approx(parallel.mean().item(), abs=1e-12)


def test_the_length_of_a_vector_does_not_matter() -> None:
    source, target = random_set(5, 1)
    long = normaliser([(source * 7, target * 0.1)], n_unrelated=None, seed=0)
    assert long.value == pytest.approx(normaliser([(source, target)], n_unrelated=None, seed=0).value, rel=1e-6)


def test_a_sample_of_all_pairs_equals_all_pairs_and_a_smaller_one_depends_on_its_seed() -> None:
    sets = [random_set(7, 1), random_set(1, 2), random_set(4, 3)]
    everything = normaliser(sets, n_unrelated=None, seed=0)
    sampled = normaliser(sets, n_unrelated=54, seed=5)
    assert sampled.mean_unrelated == pytest.approx(everything.mean_unrelated, abs=1e-12)
    assert sampled.unrelated_pairs == 54
    means = [normaliser(sets, n_unrelated=10, seed=seed).mean_unrelated for seed in (1, 1, 2)]
    assert means[0] == means[1] != means[2]


def test_sampled_pairs_are_never_parallel() -> None:
    # Orthogonal pairs: only a parallel one could have a cosine of 1.
    eye = torch.eye(4)
    assert {normaliser([(eye, eye)], n_unrelated=1, seed=seed).mean_unrelated for seed in range(50)} == {0.0}


@pytest.mark.parametrize(("parallel", "unrelated"), [(1.0, 1.0), (0.5, 0.5 - 1e-8), (0.1, 0.2), (math.nan, 0.0)])
def test_the_normaliser_is_nan_unless_parallel_sentences_are_nearer(parallel: float, unrelated: float) -> None:
    value = Normaliser(parallel, unrelated, 1).value
    assert math.isnan(value)
    assert similarity_change(*torch.ones(3, 2, 4), normaliser=value).isnan().all()


@pytest.mark.parametrize(("rows", "expected"), [(1, None), (3, 7), (3, 0)])
def test_more_unrelated_pairs_than_exist_are_an_error(rows: int, expected: int | None) -> None:
    with pytest.raises(ValueError, match=r"unrelated pairs of \[\d\] parallel ones, found \d"):
        normaliser([random_set(rows, 1)], n_unrelated=expected, seed=0)
