"""Who is a negative of whom, by hand."""

import torch

from xsent.batch import Pairs, RankingBatch
from xsent.recipes.ranking import HardNegatives, Mined, hard_negatives, ranking_masks


def batch() -> RankingBatch:
    """Three pairs, texts 0 to 5; pairs 0 and 2 are of one group. Text 6 is unlike pair 0, 7 unlike 0 and 1."""
    rows = torch.tensor([10, 20, 30])
    nothing = torch.zeros(3, dtype=torch.int64)
    return RankingBatch(
        anchor=torch.tensor([0, 2, 4]),
        positive=torch.tensor([1, 3, 5]),
        negative=torch.tensor([7, 6, 7]),
        owner=torch.tensor([0, 0, 1]),
        pairs=Pairs(rows, torch.tensor([1, 2, 1]), nothing, nothing),
    )


GROUP = torch.tensor([1, 2, 1])


def test_each_hard_negative_is_there_once_and_every_owner_is_kept() -> None:
    hard = hard_negatives(batch(), None)
    assert hard.text.tolist() == [6, 7]
    masks = ranking_masks(slice(0, 3), GROUP, hard, torch.tensor([1, 2]))
    assert masks.hard_of_anchor.tolist() == [[True, True], [False, True], [False, False]]
    assert torch.equal(masks.hard_of_anchor, masks.hard_of_positive)


def test_pairs_of_one_group_are_no_negatives_of_each_other() -> None:
    masks = ranking_masks(slice(0, 3), GROUP, hard_negatives(batch(), None), torch.tensor([1, 2]))
    assert masks.in_batch.tolist() == [[False, True, False], [True, False, True], [False, True, False]]


def test_other_pairs_hard_negatives_are_those_of_another_group() -> None:
    # Text 6 is of pair 0's group, and of pair 2's: only pair 1 may use it as another's. Text 7 is of group 2.
    masks = ranking_masks(slice(0, 3), GROUP, hard_negatives(batch(), None), torch.tensor([1, 2]))
    assert masks.hard_of_others.tolist() == [[False, False], [True, False], [False, True]]


def test_what_was_mined_joins_the_pairs_it_was_mined_for() -> None:
    mined = Mined(
        first=0,
        length=1,
        row=torch.tensor([20, 40, 30]),
        text=torch.tensor([6, 8, 9]),
        of_anchor=torch.tensor([True, True, False]),
        of_positive=torch.tensor([False, True, True]),
    )
    hard = hard_negatives(batch(), mined)
    assert hard.text.tolist() == [6, 7, 9]  # row 40 is in another batch
    masks = ranking_masks(slice(0, 3), GROUP, hard, torch.tensor([1, 2, 3]))
    assert masks.hard_of_anchor.tolist() == [[True, True, False], [True, True, False], [False, False, False]]
    assert masks.hard_of_positive.tolist() == [[True, True, False], [False, True, False], [False, False, True]]


def test_a_device_gets_the_rows_of_its_own_pairs() -> None:
    hard, hard_group = hard_negatives(batch(), None), torch.tensor([1, 2])
    masks = ranking_masks(slice(0, 3), GROUP, hard, hard_group)
    part = ranking_masks(slice(1, 3), GROUP, hard, hard_group)
    for all_rows, own_rows in zip(masks, part, strict=True):
        assert torch.equal(all_rows[1:3], own_rows)


def test_a_batch_without_hard_negatives_has_empty_masks() -> None:
    empty = torch.zeros(0, dtype=torch.int64)
    hard = hard_negatives(batch()._replace(negative=empty, owner=empty), None)
    masks = ranking_masks(slice(0, 3), GROUP, hard, empty)
    assert masks.hard_of_anchor.shape == masks.hard_of_others.shape == (3, 0)


def test_a_text_that_two_devices_have_counts_once() -> None:
    # Text 7 in columns 0 and 2: pair 0 owns the copy of one device, pair 1 that of the other.
    mined = torch.tensor([True, True, True])
    hard = HardNegatives(torch.tensor([7, 8, 7]), torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1]), mined, mined)
    masks = ranking_masks(slice(0, 3), torch.tensor([1, 2, 3]), hard, torch.tensor([4, 4, 4]))
    assert masks.hard_of_anchor.tolist() == [[True, True, False], [True, False, False], [False, False, False]]
    assert masks.hard_of_others.tolist() == [[False, False, False], [False, True, False], [True, True, False]]


def test_what_was_mined_follows_the_batch_to_its_device() -> None:
    # Mining and checkpoints leave it on the CPU; `meta` refuses a mix of devices as a GPU does.
    columns = [torch.tensor([20]), torch.tensor([6]), torch.tensor([True]), torch.tensor([True])]
    assert all(column.device.type == "meta" for column in Mined(0, 1, *columns).to(torch.device("meta"))[2:])
