"""Losses of Divergent mBERT against the numbers of the reference, and on paper."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from xsent.losses import equivalence_cross_entropy, margin_ranking, token_cross_entropy


@pytest.fixture
def reference(fixtures_dir: Path) -> dict[str, Any]:
    return json.loads((fixtures_dir / "divergent_mbert.json").read_text(encoding="utf-8"))


def scores(reference: dict[str, Any]) -> tuple[Tensor, Tensor]:
    return torch.tensor(reference["inputs"]["F_x"]), torch.tensor(reference["inputs"]["F_y"])


def tokens(reference: dict[str, Any]) -> tuple[Tensor, Tensor]:
    return torch.tensor(reference["inputs"]["token_logits"]), torch.tensor(reference["inputs"]["token_labels"])


@pytest.mark.parametrize("margin", [3, 4, 5, 6, 7, 8])
def test_margin_ranking_is_the_references(reference: dict[str, Any], margin: int) -> None:
    expected = torch.tensor(reference["margin_loss_by_xi"][str(margin)])
    torch.testing.assert_close(margin_ranking(*scores(reference), margin=margin), expected, rtol=1e-6, atol=0)


def test_margin_ranking_on_paper() -> None:
    # 5 - 2 - 1 = 2, and 5 - 4 - 2 = -1, which costs nothing.
    finer, coarser = torch.tensor([2.0, 4.0]), torch.tensor([-1.0, -2.0])
    assert margin_ranking(finer, coarser, margin=5).item() == 1.0


def test_a_constant_added_to_all_scores_changes_no_ranking_loss() -> None:
    finer, coarser = torch.randn(2, 8, generator=torch.Generator().manual_seed(0)).double()
    torch.testing.assert_close(
        margin_ranking(finer + 3, coarser + 3, margin=2), margin_ranking(finer, coarser, margin=2)
    )


def test_token_losses_are_the_references(reference: dict[str, Any]) -> None:
    expected = reference["token_ce"]
    for average, name in [("pairs", "paper_mean_of_means"), ("tokens", "released_global_token_mean")]:
        loss = token_cross_entropy(*tokens(reference), average=average)
        torch.testing.assert_close(loss, torch.tensor(expected[name]), rtol=1e-6, atol=0)


def test_a_divergent_token_counts_as_often_as_its_weight() -> None:
    """Three tokens of one pair with the losses log 2, log 4 (divergent) and log 2."""
    logits = torch.tensor([[[0.0, 0.0], [math.log(3.0), 0.0], [0.0, 0.0]]])
    loss = token_cross_entropy(logits, torch.tensor([[0, 1, 0]]), average="pairs", divergent_weight=2.0)
    torch.testing.assert_close(loss, torch.tensor((2 * math.log(2) + 2 * math.log(4)) / 3))


def test_both_tasks_add_up_to_the_references_totals(reference: dict[str, Any]) -> None:
    sentence = margin_ranking(*scores(reference), margin=5)
    paper, released = (token_cross_entropy(*tokens(reference), average=average) for average in ("pairs", "tokens"))
    expected = reference["multitask_xi5"]
    totals = torch.stack([sentence + paper, sentence + released, 5 * sentence + released])
    names = ("paper_eq2", "released_executed_alpha1", "released_executed_alpha5")
    torch.testing.assert_close(totals, torch.tensor([expected[name] for name in names]), rtol=1e-6, atol=0)


@pytest.mark.parametrize("average", ["pairs", "tokens"])
def test_pairs_without_labels_play_no_part(average: str) -> None:
    logits = torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(1), requires_grad=True)
    labels = torch.tensor([[-100, 1, 0], [-100, -100, -100]])
    both = token_cross_entropy(logits, labels, average=average)
    torch.testing.assert_close(both, token_cross_entropy(logits[:1], labels[:1], average=average))
    nothing = token_cross_entropy(logits[1:], labels[1:], average=average)
    assert nothing.item() == 0
    nothing.backward()
    assert logits.grad is not None
    assert not logits.grad.any()


def test_cross_entropy_is_that_of_a_softmax_over_the_score_and_nothing() -> None:
    score, divergent = torch.tensor([2.0, -1.0]), torch.tensor([0, 1])
    expected = (math.log(1 + math.exp(-2.0)) + math.log(1 + math.exp(-1.0))) / 2
    torch.testing.assert_close(equivalence_cross_entropy(score, divergent), torch.tensor(expected), rtol=1e-6, atol=0)
    of_two = torch.nn.functional.cross_entropy(torch.stack([score, torch.zeros(2)], dim=1), divergent)
    torch.testing.assert_close(equivalence_cross_entropy(score, divergent), of_two)


def test_another_average_is_refused() -> None:
    with pytest.raises(ValueError, match="token_loss=words: expected one of pairs, tokens"):
        token_cross_entropy(torch.zeros(1, 1, 2), torch.zeros(1, 1).long(), average="words")
