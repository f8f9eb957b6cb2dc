"""CLSD as retrieval: cases on paper, ``mteb`` and ours side by side on the same vectors, and where they may differ."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.helpers import config
from xsent.data.clsd import read_clsd
from xsent.evaluation.clsd_mteb import ClsdMtebEvaluator
from xsent.models.static_encoder import StaticEncoder
from xsent.run import evaluate

pytest.importorskip("mteb", reason="mteb is not installed: pip install 'xsent[mteb]'")

FIGURES = ("mteb_pool_recall_at_1", "pool_recall_at_1", "mteb_p_at_1", "p_at_1")


@dataclass(frozen=True)
class Items:
    source: list[str]
    target: list[str]
    distractors: list[list[str]]
    ids: list[str]
    name: str = "wmt19"
    source_lang: str = "deu"
    target_lang: str = "fra"


def items(source: Sequence[str], candidates: Sequence[Sequence[str]]) -> Items:
    """Of each source its translation and then its distractors."""
    target, distractors = [row[0] for row in candidates], [list(row[1:]) for row in candidates]
    return Items(list(source), target, distractors, [str(number) for number in range(len(source))])


def evaluator(one: Items) -> ClsdMtebEvaluator:
    return ClsdMtebEvaluator(
        name="clsd_mteb", root="", directions=None, read=lambda root, wanted: [one], missing="error"
    )


def at_angles(degrees: Mapping[str, float]) -> Callable[[Sequence[str]], Tensor]:
    def encode(texts: Sequence[str]) -> Tensor:
        radians = [math.radians(degrees[text]) for text in texts]
        return torch.tensor([[math.cos(angle), math.sin(angle)] for angle in radians])

    return encode


def figures(one: ClsdMtebEvaluator, encode: Callable[[Sequence[str]], Tensor]) -> dict[str, float]:
    found = one(encode)
    assert list(found) == [f"clsd_mteb/wmt19_deu-fra/{name}" for name in FIGURES]
    return dict(zip(FIGURES, found.values(), strict=True))


def test_matches_a_case_on_paper() -> None:
    # Source 0 stands at 0 degrees: of its own candidates the translation at 5 is nearest, in the pool the distractor of
    # item 1 at 3. Source 1 has its translation a degree away, nothing is nearer. Source 2 has a distractor between.
    one = items(["zero", "one", "two"], [["a5", "a20", "a30"], ["b61", "b3", "b90"], ["c100", "c110", "c150"]])
    degrees = {"zero": 0, "one": 60, "two": 120, **{text: int(text[1:]) for row in (
        one.target, *one.distractors) for text in row}}  # fmt: skip
    found = figures(evaluator(one), at_angles(degrees))
    assert found == pytest.approx(
        {"mteb_pool_recall_at_1": 100 / 3, "pool_recall_at_1": 100 / 3, "mteb_p_at_1": 200 / 3, "p_at_1": 200 / 3},
        abs=1e-6,
    )


def test_mteb_and_ours_agree_where_nothing_is_tied() -> None:
    count, size = 60, 4
    one = items([f"s{n}" for n in range(count)], [[f"{n} {k}" for k in range(size)] for n in range(count)])
    scored = evaluator(one)
    vectors = torch.randn(len(scored.sentences()), 6, generator=torch.Generator().manual_seed(0))
    vectors[count : 2 * count] += 1.5 * vectors[:count]  # translations are nearer than the rest
    result = scored.score(vectors)
    (detail,) = result.details
    assert detail["pool_ties"] == detail["ties"] == detail["pool_repeated"] == 0
    assert detail["pool"] == count * size
    theirs_pool, pool, theirs, own = result.metrics.values()
    assert 0 < pool < own < 100
    assert theirs_pool == pytest.approx(pool, abs=1e-6)
    assert theirs == pytest.approx(own, abs=1e-6)


def test_with_us_a_tie_is_wrong_and_ties_are_counted() -> None:
    one = items(["s", "t"], [["a", "b"], ["c", "d"]])
    scored = evaluator(one)
    result = scored.score(torch.ones(len(scored.sentences()), 3))
    assert result.metrics["clsd_mteb/wmt19_deu-fra/p_at_1"] == 0
    assert result.metrics["clsd_mteb/wmt19_deu-fra/pool_recall_at_1"] == 0
    assert result.details[0]["ties"] == result.details[0]["pool_ties"] == 2


def test_a_lead_of_the_last_bits_is_right_as_it_is_in_the_other_evaluators() -> None:
    one = items(["s", "t"], [["a", "b"], ["c", "d"]])
    scored = evaluator(one)
    # At 45 degrees a cosine falls by 0.7 of what the angle grows by: the leads are of 4e-7.
    angle = math.pi / 4
    radians = {"s": 0.0, "t": math.pi, "a": angle, "b": angle + 6e-7, "c": math.pi + angle, "d": math.pi + angle + 6e-7}
    vectors = torch.tensor([[math.cos(radians[text]), math.sin(radians[text])] for text in scored.sentences()])
    result = scored.score(vectors)
    assert result.metrics["clsd_mteb/wmt19_deu-fra/p_at_1"] == 100
    assert result.metrics["clsd_mteb/wmt19_deu-fra/pool_recall_at_1"] == 100
    assert result.details[0]["ties"] == result.details[0]["pool_ties"] == 0
    assert result.details[0]["close"] == result.details[0]["pool_close"] == 2


def test_a_text_that_is_in_the_pool_twice_is_one_text_and_counted() -> None:
    # The translation of source 0 is a distractor of source 1, too: that is no rival of it.
    one = items(["zero", "ninety"], [["a1", "a45"], ["b89", "a1"]])
    scored = evaluator(one)
    encode = at_angles({"zero": 0, "ninety": 90, "a1": 1, "a45": 45, "b89": 89})
    result = scored.score(encode(scored.sentences()))
    assert result.metrics["clsd_mteb/wmt19_deu-fra/pool_recall_at_1"] == 100
    assert result.details[0]["pool_repeated"] == 1
    assert result.details[0]["pool"] == 4


def test_texts_that_differ_in_white_space_around_them_stay_two() -> None:
    # mteb strips documents; here the distractor is the translation with a space behind it, and farther away.
    one = items(["zero", "ninety"], [["a", "a "], ["b", "b "]])
    found = figures(evaluator(one), at_angles({"zero": 0, "ninety": 90, "a": 1, "a ": 20, "b": 70, "b ": 88}))
    assert found["mteb_p_at_1"] == found["p_at_1"] == 50
    assert found["mteb_pool_recall_at_1"] == found["pool_recall_at_1"] == 50


def test_the_released_items_have_the_same_figures_with_both(shared_data: Path) -> None:
    root = shared_data / "clsd" / "CLSD_wmt2019_adversarial_dataset.csv"
    if not root.is_file():
        pytest.skip(f"no {root}")
    encoder = StaticEncoder.load(name="mini", path=None)
    scored = ClsdMtebEvaluator(
        name="clsd_mteb", root=str(root), directions=["de-fr"], missing="error",
        read=partial(read_clsd, distractors=None),
    )  # fmt: skip
    result = scored.score(encoder.encode(scored.sentences()))
    (detail,) = result.details
    assert (detail["queries"], detail["pool"]) == (1473, 7365)
    theirs_pool, pool, theirs, own = result.metrics.values()
    assert max(int(str(detail["pool_close"])), int(str(detail["close"]))) < 10  # so that few may
    # A tie may count either way with mteb, and so may a lead of the last bits; of 1,473 sources one is 0.068 percent.
    assert theirs_pool == pytest.approx(pool, abs=1e-6 + 0.068 * int(str(detail["pool_close"])))
    assert theirs == pytest.approx(own, abs=1e-6 + 0.068 * int(str(detail["close"])))


def test_a_run_of_evaluate_has_the_four_figures(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(number),
            "texts": {"deu": f"Hier sind {number} Hunde.", "fra": f"Voici {number} chiens."},
            "distractors": {"fra": [f"Voici {number} chats.", f"Voici {number + 9} chiens."]},
        }
        for number in range(2, 8)
    ]
    file = tmp_path / "dogs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = evaluate(config("evaluate", tmp_path, "encoder=mini", "evaluator=clsd_mteb", f"evaluator.root={file}"))
    assert {name.rpartition("/")[2] for name in found} == set(FIGURES)
    assert {name.split("/")[3] for name in found} == {"dogs_deu-fra"}


def test_without_mteb_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ImportError, match=r"pip install 'xsent\[mteb\]'"):
        evaluator(items(["s"], [["a", "b"]])).check()
