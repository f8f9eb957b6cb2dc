"""CLSD as retrieval: metrics by hand, and by ``mteb`` and our evaluator from the same vectors."""

import csv
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import Items, builder
from tests.helpers import config
from xsent.data.test_sets.clsd import read_clsd
from xsent.evaluation.mteb.clsd import ClsdMtebEvaluator
from xsent.models.encoders.static import StaticEncoder
from xsent.run import evaluate

pytest.importorskip("mteb", reason="mteb is not installed: pip install 'xsent[mteb]'")

FIGURES = ("mteb_pool_recall_at_1", "pool_recall_at_1", "mteb_p_at_1", "p_at_1")


def items(source: Sequence[str], candidates: Sequence[Sequence[str]]) -> Items:
    """Items with the candidates of each source: its translation, then its distractors."""
    target, distractors = [row[0] for row in candidates], [list(row[1:]) for row in candidates]
    return Items(
        "wmt19", "deu", "fra", [str(number) for number in range(len(source))], list(source), target, distractors
    )


evaluator = builder(ClsdMtebEvaluator, name="clsd_mteb", directions=None)


def at_angles(degrees: Mapping[str, float]) -> Callable[[Sequence[str]], Tensor]:
    def encode(texts: Sequence[str]) -> Tensor:
        radians = [math.radians(degrees[text]) for text in texts]
        return torch.tensor([[math.cos(angle), math.sin(angle)] for angle in radians])

    return encode


def figures(scorer: ClsdMtebEvaluator, encode: Callable[[Sequence[str]], Tensor]) -> dict[str, float]:
    metrics = scorer(encode)
    assert list(metrics) == [f"clsd_mteb/wmt19_deu-fra/{name}" for name in FIGURES]
    return dict(zip(FIGURES, metrics.values(), strict=True))


def test_metrics_equal_those_computed_by_hand() -> None:
    # Degrees. Source 0 at 0: the nearest own candidate is the translation, in the pool a distractor of item 1 at 3.
    # Source 1 at 60: the translation at 61 is nearest. Source 2 at 120: a distractor at 110 is nearer than 100.
    three = items(["zero", "one", "two"], [["a5", "a20", "a30"], ["b61", "b3", "b90"], ["c100", "c110", "c150"]])
    degrees = {"zero": 0, "one": 60, "two": 120}
    degrees |= {text: int(text[1:]) for row in (three.target, *three.distractors) for text in row}
    metrics = figures(evaluator(three), at_angles(degrees))
    assert metrics == pytest.approx(
        {"mteb_pool_recall_at_1": 100 / 3, "pool_recall_at_1": 100 / 3, "mteb_p_at_1": 200 / 3, "p_at_1": 200 / 3},
        abs=1e-6,
    )


def test_mteb_and_ours_agree_where_nothing_is_tied() -> None:
    count, size = 60, 4
    random_items = items([f"s{n}" for n in range(count)], [[f"{n} {k}" for k in range(size)] for n in range(count)])
    scored = evaluator(random_items)
    vectors = torch.randn(len(scored.sentences()), 6, generator=torch.Generator().manual_seed(0))
    vectors[count : 2 * count] += 1.5 * vectors[:count]  # translations are nearer than the rest
    result = scored.score(vectors)
    (detail,) = result.details
    assert detail["pool_ties"] == detail["ties"] == detail["pool_repeated"] == 0
    assert detail["pool"] == count * size
    theirs_pool, pool, theirs, p_at_1 = result.metrics.values()
    assert 0 < pool < p_at_1 < 100
    assert theirs_pool == pytest.approx(pool, abs=1e-6)
    assert theirs == pytest.approx(p_at_1, abs=1e-6)


def test_a_tie_is_wrong_and_counted() -> None:
    pair = items(["s", "t"], [["a", "b"], ["c", "d"]])
    scored = evaluator(pair)
    result = scored.score(torch.ones(len(scored.sentences()), 3))
    assert result.metrics["clsd_mteb/wmt19_deu-fra/p_at_1"] == 0
    assert result.metrics["clsd_mteb/wmt19_deu-fra/pool_recall_at_1"] == 0
    assert result.details[0]["ties"] == result.details[0]["pool_ties"] == 2


def test_a_margin_of_the_last_bits_is_right() -> None:
    pair = items(["s", "t"], [["a", "b"], ["c", "d"]])
    scored = evaluator(pair)
    # At 45 degrees a cosine decreases by 0.7 of the angle's increase: the margins are 4e-7.
    angle = math.pi / 4
    radians = {"s": 0.0, "t": math.pi, "a": angle, "b": angle + 6e-7, "c": math.pi + angle, "d": math.pi + angle + 6e-7}
    vectors = torch.tensor([[math.cos(radians[text]), math.sin(radians[text])] for text in scored.sentences()])
    result = scored.score(vectors)
    assert result.metrics["clsd_mteb/wmt19_deu-fra/p_at_1"] == 100
    assert result.metrics["clsd_mteb/wmt19_deu-fra/pool_recall_at_1"] == 100
    assert result.details[0]["ties"] == result.details[0]["pool_ties"] == 0
    assert result.details[0]["close"] == result.details[0]["pool_close"] == 2


def test_a_repeated_text_of_the_pool_is_one_text_and_counted() -> None:
    # The translation of source 0 is also a distractor of source 1, which does not count as another text.
    pair = items(["zero", "ninety"], [["a1", "a45"], ["b89", "a1"]])
    scored = evaluator(pair)
    encode = at_angles({"zero": 0, "ninety": 90, "a1": 1, "a45": 45, "b89": 89})
    result = scored.score(encode(scored.sentences()))
    assert result.metrics["clsd_mteb/wmt19_deu-fra/pool_recall_at_1"] == 100
    assert result.details[0]["pool_repeated"] == 1
    assert result.details[0]["pool"] == 4


def test_texts_that_differ_in_trailing_white_space_are_different() -> None:
    # mteb strips documents. The distractor of source 0 is its translation and a space.
    pair = items(["zero", "ninety"], [["a", "a "], ["b", "b "]])
    metrics = figures(evaluator(pair), at_angles({"zero": 0, "ninety": 90, "a": 1, "a ": 20, "b": 70, "b ": 88}))
    assert metrics["mteb_p_at_1"] == metrics["p_at_1"] == 50
    assert metrics["mteb_pool_recall_at_1"] == metrics["pool_recall_at_1"] == 50


def test_mteb_and_ours_agree_on_released_items(shared_data: Path, tmp_path: Path) -> None:
    released = shared_data / "clsd" / "CLSD_wmt2019_adversarial_dataset.csv"
    if not released.is_file():
        pytest.skip(f"no {released}")
    root = tmp_path / released.name
    with released.open(encoding="utf-8", newline="") as source, root.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows(islice(csv.reader(source), 201))
    scored = evaluator(root=str(root), directions=["de-fr"], read=partial(read_clsd, distractors=None))
    encoder = StaticEncoder.load(name="micro", path=None)
    result = scored.score(encoder.encode(scored.sentences()))
    (detail,) = result.details
    assert (detail["queries"], detail["pool"]) == (200, 1000)
    theirs_pool, pool, theirs, p_at_1 = result.metrics.values()
    close = {name: int(str(detail[name])) for name in ("pool_close", "close")}
    assert max(close.values()) < 5
    # Ties and margins of the last bits may be decided differently; one of 200 sources is 0.5 percent.
    assert theirs_pool == pytest.approx(pool, abs=1e-6 + 0.5 * close["pool_close"])
    assert theirs == pytest.approx(p_at_1, abs=1e-6 + 0.5 * close["close"])


def test_a_run_of_evaluate_has_the_four_metrics(tmp_path: Path) -> None:
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
    metrics = evaluate(config("evaluate", tmp_path, "encoder=micro", "evaluator=clsd_mteb", f"evaluator.root={file}"))
    assert {name.rpartition("/")[2] for name in metrics} == set(FIGURES)
    assert {name.split("/")[3] for name in metrics} == {"dogs_deu-fra"}


def test_without_mteb_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ImportError, match=r"pip install 'xsent\[mteb\]'"):
        evaluator(items(["s"], [["a", "b"]])).check()
