"""Mega-batches and what is found in them, against the reference, a search by hand and paper and pencil."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from torch import Tensor

from tests.helpers import ROOT
from xsent.data.sampling import mega_batch
from xsent.data.sampling.mega_batch import MegaBatchMining, MinedNegatives
from xsent.run.config.build import build
from xsent.similarity import cos_sim, pairwise_cos_sim

TOP_1 = MegaBatchMining(
    mini_batches=20, grow_every=None, mode="top_n", threshold=0.25, n=1, cap=12, candidates="all", both_sides=False
)


class Reference:
    def __init__(self, path: Path) -> None:
        block = json.loads(path.read_text())["mega_batch"]
        self.expected, self.wieting = block["expected"], block["wieting_reference_top1_no_group_rule"]
        self.anchors, self.positives = (torch.tensor(block["inputs"][side]) for side in ("anchors", "positives"))
        self.group = torch.tensor(block["inputs"]["group_id"])

    def search(self, mining: MegaBatchMining) -> list[list[int]]:
        return by_anchor(search(mining, self.anchors, self.positives, self.group, self.group), len(self.group))


@pytest.fixture(scope="module")
def reference(fixtures_dir: Path) -> Reference:
    return Reference(fixtures_dir / "paraphrase_losses.json")


def search(
    mining: MegaBatchMining, anchors: Tensor, candidates: Tensor, anchor_group: Tensor, candidate_group: Tensor
) -> MinedNegatives:
    return mining.search(
        anchors,
        candidates,
        anchor_group=anchor_group,
        candidate_group=candidate_group,
        positive_similarity=torch.ones(len(anchors)),
    )


def by_anchor(mined: MinedNegatives, anchors: int) -> list[list[int]]:
    return [mined.candidate[mined.owner == i].tolist() for i in range(anchors)]


# ---- the reference


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"n": 2}, "top2"),
        ({"mode": "threshold"}, "threshold_0.25"),
        ({"mode": "both"}, "threshold_then_topN_fallback(N=1)"),
    ],
)
def test_negatives_equal_the_reference(reference: Reference, options: dict[str, Any], key: str) -> None:
    negatives = reference.search(replace(TOP_1, **options))
    # The reference sorts the nearest ones by distance, the others by row.
    assert [of_anchor if key == "top2" else sorted(of_anchor) for of_anchor in negatives] == reference.expected[key]
    assert [nearest for (nearest,) in reference.search(TOP_1)] == reference.expected["top1"]


def test_similarities_are_the_cosines_of_the_reference(reference: Reference) -> None:
    group = reference.group
    mined = search(replace(TOP_1, mode="threshold"), reference.anchors, reference.positives, group, group)
    expected = torch.tensor(reference.expected["similarity"])
    torch.testing.assert_close(mined.similarity, expected[mined.owner, mined.candidate], rtol=0, atol=1e-6)
    # The nearest of all is 7 for anchor 2; each with its own positive is of one group.
    assert mined.highest == pytest.approx(0.9872359978, abs=1e-6)


def test_both_sides_equal_the_released_code_where_every_pair_is_a_group(reference: Reference) -> None:
    each = torch.arange(12)
    for anchors, candidates, side in (
        (reference.anchors, reference.positives, "anchor"),
        (reference.positives, reference.anchors, "positive"),
    ):
        mined = search(TOP_1, anchors, candidates, each, each)
        assert mined.candidate.tolist() == reference.wieting[f"negatives_for_{side}_side"]
        assert mined.owner.tolist() == list(range(12))


# ---- by hand


def naive(mining: MegaBatchMining, cosines: Tensor, excluded: Tensor) -> list[list[int]]:
    """One anchor after another, in plain Python."""
    negatives = []
    for row, gone in zip(cosines.tolist(), excluded.tolist(), strict=True):
        remaining = sorted((-cosine, j) for j, (cosine, out) in enumerate(zip(row, gone, strict=True)) if not out)
        near = [j for cosine, j in remaining if -cosine > mining.threshold]
        n = [j for _, j in remaining[: mining.n]]
        chosen = {"threshold": near, "top_n": n, "both": max(near, n, key=len)}[mining.mode]
        negatives.append(chosen[: mining.cap])
    return negatives


@pytest.mark.parametrize("tile", [1, 7, 1024])
@pytest.mark.parametrize("mode", mega_batch.MODES)
def test_a_search_in_tiles_equals_one_anchor_after_another(
    monkeypatch: pytest.MonkeyPatch, mode: str, tile: int
) -> None:
    monkeypatch.setattr(mega_batch, "TILE", tile)
    generator = torch.Generator().manual_seed(0)
    # Few vectors with entries of 1 and -1 in four dimensions: cosines are exact, and tie by the dozen.
    anchors, candidates = (torch.randint(0, 2, (n, 4), generator=generator) * 2.0 - 1 for n in (20, 50))
    anchor_group, candidate_group = (torch.randint(0, 9, (n,), generator=generator) for n in (20, 50))
    mining = replace(TOP_1, mode=mode, threshold=0.4, n=3, cap=6)
    mined = search(mining, anchors, candidates, anchor_group, candidate_group)
    same_group = anchor_group[:, None] == candidate_group[None, :]
    cosines = cos_sim(anchors, candidates)
    assert by_anchor(mined, 20) == naive(mining, cosines, same_group)
    assert mined.highest == cosines[~same_group].max()
    assert mined.owner.tolist() == sorted(mined.owner.tolist())


def test_a_sentence_of_the_anchors_group_is_never_found_even_if_too_few_are_left() -> None:
    vectors = torch.eye(4)
    group = torch.tensor([0, 0, 0, 1])
    mined = search(replace(TOP_1, n=3), vectors, vectors, group, group)
    assert by_anchor(mined, 4) == [[3], [3], [3], [0, 1, 2]]


def test_a_sentence_nearer_than_the_anchors_own_positive_is_suspected() -> None:
    # The anchor's positive is at cos 0.7; candidates are at 0.8 and 0.6.
    anchor = torch.tensor([[1.0, 0.0]])
    candidates = torch.tensor([[0.8, 0.6], [0.6, 0.8]])
    mined = replace(TOP_1, n=2).search(
        anchor,
        candidates,
        anchor_group=torch.tensor([0]),
        candidate_group=torch.tensor([1, 2]),
        positive_similarity=torch.tensor([0.7]),
    )
    assert mined.candidate.tolist() == [0, 1]
    assert mined.suspected.tolist() == [True, False]


def test_cosines_are_taken_in_float32_under_autocast() -> None:
    # In bfloat16 both cosines are 1: the nearer one would be lost in a tie.
    anchor = torch.tensor([[1.0, 0.0]])
    candidates = torch.tensor([[1.0, 0.02], [1.0, 0.01]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mined = search(TOP_1, anchor, candidates, torch.tensor([0]), torch.tensor([1, 2]))
    assert mined.candidate.tolist() == [1]
    torch.testing.assert_close(mined.similarity, pairwise_cos_sim(anchor, candidates[1:]))


# ---- spans


def test_mega_batches_lie_one_after_another_and_end_with_their_epoch() -> None:
    # Epochs of 50 batches: 20, 20 and 10.
    spans = [TOP_1.span(position, 50) for position in range(150)]
    starts = [0, 20, 40, 50, 70, 90, 100, 120, 140]
    assert sorted(set(spans)) == [(start, 10 if start % 50 == 40 else 20) for start in starts]
    assert all(first <= position < first + length for position, (first, length) in enumerate(spans))


def test_a_growing_mega_batch_is_one_longer_every_so_many_batches() -> None:
    mining = replace(TOP_1, mini_batches=4, grow_every=5)
    spans = list(dict.fromkeys(mining.span(position, 1000) for position in range(30)))
    # Five of one batch; from 5 on of two, the last of them begun before batch 10; three from 11 on; four from 17 on.
    expected = [(start, 1) for start in range(5)]
    expected += [(5, 2), (7, 2), (9, 2), (11, 3), (14, 3), (17, 4), (21, 4), (25, 4), (29, 4)]
    assert spans == expected


@pytest.mark.parametrize("grow_every", [None, 1, 3, 150])
@pytest.mark.parametrize("steps_per_epoch", [1, 7, 64])
def test_every_batch_of_a_mega_batch_names_the_same_one(grow_every: int | None, steps_per_epoch: int) -> None:
    mining = replace(TOP_1, mini_batches=6, grow_every=grow_every)
    position = 0
    while position < 400:
        first, length = mining.span(position, steps_per_epoch)
        assert first == position
        assert first // steps_per_epoch == (first + length - 1) // steps_per_epoch
        assert 1 <= length <= 6
        assert {mining.span(position + i, steps_per_epoch) for i in range(length)} == {(first, length)}
        position += length


# ---- errors


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mini_batches": 0}, r"recipe\.mining\.mini_batches=0: expected at least 1"),
        ({"grow_every": 0}, r"recipe\.mining\.grow_every=0: expected at least 1"),
        ({"mode": "nearest"}, r"recipe\.mining\.mode=nearest: expected one of threshold, top_n, both"),
        ({"threshold": 1.0}, r"recipe\.mining\.threshold=1\.0: expected at least -1 and less than 1"),
        ({"threshold": -1.5}, r"recipe\.mining\.threshold=-1\.5"),
        ({"n": 0}, r"recipe\.mining\.n=0: expected at least 1"),
        ({"n": 13}, r"recipe\.mining\.n=13: expected at most recipe\.mining\.cap=12"),
        ({"candidates": "negatives"}, r"recipe\.mining\.candidates=negatives: expected one of all, positives"),
    ],
)
def test_a_wrong_option_is_refused_by_name(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(TOP_1, **wrong)


def test_a_threshold_that_removes_everything_is_an_error_with_the_nearest_that_there_was() -> None:
    anchor, candidates = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    groups = torch.tensor([0]), torch.tensor([0, 1, 2])
    strict = replace(TOP_1, mode="threshold", threshold=0.9)
    with pytest.raises(ValueError, match=r"recipe\.mining\.threshold=0\.9: .*none above 0\.6000"):
        strict.check_mined(search(strict, anchor, candidates, *groups))
    for mining in (replace(strict, threshold=0.5), replace(strict, mode="both"), replace(strict, mode="top_n")):
        mining.check_mined(search(mining, anchor, candidates, *groups))


def test_a_mega_batch_of_one_group_is_an_error_that_says_so() -> None:
    strict, group = replace(TOP_1, mode="threshold"), torch.zeros(3, dtype=torch.int64)
    with pytest.raises(ValueError, match="of one group"):
        strict.check_mined(search(strict, torch.eye(3), torch.eye(3), group, group))


# ---- presets


def preset(name: str) -> dict[str, Any]:
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        plain: dict[str, Any] = OmegaConf.to_container(compose(f"recipe/paraphrase/mining/{name}"))  # type: ignore[assignment]
    return plain


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "conf/recipe/paraphrase/mining").glob("*.yaml")))
def test_every_preset_builds(name: str) -> None:
    mining = build(preset(name)["recipe"], "recipe")["mining"]
    assert mining is None if name in ("none", "in_batch") else isinstance(mining, MegaBatchMining)


def test_the_older_methods_begin_with_positive_pairs_alone() -> None:
    for name in ("algorithm1", "wieting", "in_batch"):
        assert preset(name)["data"] == {"own_negatives": 0, "unpaired": "drop"}
