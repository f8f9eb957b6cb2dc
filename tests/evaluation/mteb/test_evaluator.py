"""MTEB tasks on small data in the format of the hub, without a network."""

import gzip
import json
import math
import random
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.evaluation.builders import builder
from tests.helpers import config
from xsent.data.readers.sts import read_stsb
from xsent.evaluation.mteb.evaluator import MtebEvaluator
from xsent.evaluation.similarity.sts import StsEvaluator
from xsent.run import evaluate

pytest.importorskip("mteb", reason="mteb is not installed")

TWEETS, STS = "TweetSentimentExtractionClassification", "STSBenchmark"
PAIRS, URLS = "TwitterSemEval2015", "TwitterURLCorpus"
PAIR = {"sentence1": "a", "sentence2": "b", "score": 1.0}
BOTH = ("train", "test")
TASKS = {TWEETS: "accuracy", PAIRS: "cosine_ap", STS: "cosine_spearman"}


@pytest.fixture(autouse=True)
def without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def write(root: Path, task: str, **splits: Iterable[Mapping[str, object]]) -> None:
    (root / task).mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        (root / task / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def small_tasks(root: Path) -> Path:
    """Tasks with angles in degrees as sentences, so that all metrics can be computed by hand."""
    tweets = [{"text": str(at + 2 * label * 60), "label": label} for label in (0, 1) for at in range(8)]
    write(root, TWEETS, train=tweets, test=[{"text": str(label * 120 + 3.5), "label": label} for label in (0, 1)])
    # Cosines decrease with the angle: labels 1 0 1 in that order have an average precision of (1 + 2/3) / 2.
    write(root, PAIRS, test=[{"sent1": ["0", "0", "0"], "sent2": ["10", "50", "80"], "labels": [1, 0, 1]}])
    # Ranks 3 2 1 against 3 1 2: 1 - 6 * 2 / (3 * 8) = 0.5.
    similar = [("10", 5.0), ("40", 1.0), ("80", 2.0)]
    write(root, STS, test=[{"sentence1": "0", "sentence2": text, "score": score} for text, score in similar])
    return root


def evaluator(root: Path | None, tmp_path: Path, **changes: Any) -> MtebEvaluator:
    make = builder(MtebEvaluator, name="ugc_mteb", download=False, tasks=TASKS, cache_dir=str(tmp_path / "cache"))
    return make(root=None if root is None else str(root), **changes)


def at_angles(sentences: list[str]) -> Tensor:
    angles = torch.tensor([math.radians(float(text)) for text in sentences])
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def test_figures_by_hand(tmp_path: Path) -> None:
    scorer = evaluator(small_tasks(tmp_path), tmp_path)
    scorer.check()
    scored = scorer.score(at_angles(scorer.sentences()))
    assert scored.metrics == pytest.approx(
        {
            f"ugc_mteb/{TWEETS}/accuracy": 100,
            f"ugc_mteb/{PAIRS}/cosine_ap": 100 * (1 + 2 / 3) / 2,
            f"ugc_mteb/{STS}/cosine_spearman": 50,
        }
    )
    assert [row["queries"] for row in scored.details] == [2, 3, 3]


def test_all_file_formats_and_column_names_are_read_alike(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    rows = {"sentence1": ["0", "0"], "sentence2": ["10", "50"], "labels": [1, 0]}
    hub = {"sent1": rows["sentence1"], "sent2": rows["sentence2"], "labels": rows["labels"]}
    write(tmp_path / "hub", PAIRS, test=[hub])
    (tmp_path / "zip" / PAIRS).mkdir(parents=True)
    with gzip.open(tmp_path / "zip" / PAIRS / "test.jsonl.gz", "wt") as file:
        file.write(json.dumps(hub) + "\n")
    (tmp_path / "parquet" / PAIRS).mkdir(parents=True)
    Dataset.from_dict(rows).to_parquet(str(tmp_path / "parquet" / PAIRS / "test.parquet"))
    DatasetDict(test=Dataset.from_dict(rows)).save_to_disk(str(tmp_path / "disk" / PAIRS))
    evaluators = [
        evaluator(tmp_path / form, tmp_path, tasks={PAIRS: "cosine_ap"}) for form in ("hub", "zip", "parquet", "disk")
    ]
    assert [scorer.sentences() for scorer in evaluators] == [["0", "10", "50"]] * 4
    assert len({scorer.digest() for scorer in evaluators}) == 1
    assert all(scorer(at_angles) == {f"ugc_mteb/{PAIRS}/cosine_ap": 100.0} for scorer in evaluators)


def test_the_digest_depends_on_the_labels(tmp_path: Path) -> None:
    first = evaluator(small_tasks(tmp_path / "a"), tmp_path).digest()
    assert evaluator(small_tasks(tmp_path / "b"), tmp_path).digest() == first
    write(tmp_path / "b", PAIRS, test=[{"sent1": ["0", "0", "0"], "sent2": ["10", "50", "80"], "labels": [1, 1, 0]}])
    assert evaluator(tmp_path / "b", tmp_path).digest() != first


def test_only_the_training_sentences_that_mteb_samples_are_encoded(tmp_path: Path) -> None:
    # mteb samples 32 sentences of each label, ten times.
    rows = [{"text": str(number), "label": number % 2} for number in range(600)]
    write(tmp_path, TWEETS, train=rows, test=[{"text": "a", "label": 0}, {"text": "b", "label": 1}])
    sentences = evaluator(tmp_path, tmp_path, tasks={TWEETS: "accuracy"}).sentences()
    assert {"a", "b"} < set(sentences)
    assert 64 <= len(sentences) - 2 < 600
    assert len(set(sentences)) == len(sentences)


def test_sts_equals_that_of_our_own_evaluator(shared_data: Path, tmp_path: Path) -> None:
    if not (shared_data / "stsb").is_dir():
        pytest.skip(f"no similarity files at {shared_data / 'stsb'}")
    (pairs,) = read_stsb(str(shared_data / "stsb"), None, part="test")
    rows = zip(pairs.source, pairs.target, pairs.gold, strict=True)
    write(tmp_path, STS, test=[{"sentence1": a, "sentence2": b, "score": score} for a, b, score in rows])
    ours = StsEvaluator(
        name="stsb", root=str(shared_data / "stsb"), pairs=None, read=partial(read_stsb, part="test"), missing="error"
    )

    def encode(sentences: list[str]) -> Tensor:
        """Counts of letters, plus noise that depends on the sentence, to avoid ties."""
        counts = torch.tensor([[text.lower().count(chr(97 + k)) for k in range(26)] for text in sentences])
        noise = [torch.rand(26, generator=torch.Generator().manual_seed(sum(text.encode()))) for text in sentences]
        return counts + torch.stack(noise)

    theirs = evaluator(tmp_path, tmp_path, tasks={STS: "cosine_spearman"})
    assert set(theirs.sentences()) == set(ours.sentences())
    rho, expected = theirs(encode)[f"ugc_mteb/{STS}/cosine_spearman"], ours(encode)["stsb/eng-eng/spearman"]
    assert rho / 100 == pytest.approx(expected / 100, abs=1e-6)


def test_the_states_of_random_generators_do_not_change(tmp_path: Path) -> None:
    def draw() -> tuple[float, float, float]:
        return random.random(), float(np.random.mtrand.random()), float(torch.rand(1))  # the global states

    scorer = evaluator(small_tasks(tmp_path), tmp_path)
    states = random.getstate(), np.random.mtrand.get_state(), torch.get_rng_state()
    expected = draw()
    random.setstate(states[0])
    np.random.mtrand.set_state(states[1])
    torch.set_rng_state(states[2])
    scorer.check()
    scorer(at_angles)
    assert draw() == expected


def test_the_same_vectors_have_the_same_figures_each_time(tmp_path: Path) -> None:
    rows = [{"text": str(number), "label": number % 3} for number in range(60)]
    write(tmp_path, TWEETS, train=rows[:45], test=rows[45:])
    scorer = evaluator(tmp_path, tmp_path, tasks={TWEETS: "accuracy"})
    vectors = torch.randn(len(scorer.sentences()), 8, generator=torch.Generator().manual_seed(0))
    assert scorer.score(vectors).metrics == scorer.score(vectors).metrics


def test_equal_vectors_have_no_correlation(tmp_path: Path) -> None:
    scorer = evaluator(small_tasks(tmp_path), tmp_path, tasks={STS: "cosine_spearman"})
    scored = scorer.score(torch.zeros(len(scorer.sentences()), 3))
    assert math.isnan(scored.metrics[f"ugc_mteb/{STS}/cosine_spearman"])
    assert scored.details[0]["zero_vectors"] == 4


@pytest.mark.parametrize(
    ("task", "rows", "message"),
    [
        (STS, {"dev": [{"sentence1": "a"}]}, r"expected a split test \(such as test.jsonl\), found validation"),
        (STS, {"test": [{"sentence1": "a", "score": 1}]}, "found sentence1, score: no sentence2"),
        (STS, {"test": [PAIR, {**PAIR, "sentence1": None}]}, "split test, row 2: sentence1 is None, expected a text"),
        (PAIRS, {"test": [{"sent1": "a", "sent2": "b"}] * 2}, "expected columns sentence1, sentence2, labels, found"),
        (TWEETS, {"test": [{"text": "a", "label": 1}]}, "expected a split train"),
        (TWEETS, {split: [{"text": "a", "label": "x"}] for split in BOTH}, "label is 'x', expected a number"),
    ],
)
def test_data_in_another_format_are_an_error_of_check(
    tmp_path: Path, task: str, rows: dict[str, list[dict[str, object]]], message: str
) -> None:
    write(tmp_path, task, **rows)
    with pytest.raises(ValueError, match=message):
        evaluator(tmp_path, tmp_path, tasks={task: TASKS[task]}).check()


def test_a_broken_line_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, STS, test=[PAIR])
    with (tmp_path / STS / "test.jsonl").open("a") as file:
        file.write('{"sentence1": \n')
    with pytest.raises(ValueError, match=f"{STS}: cannot be read"):
        evaluator(tmp_path, tmp_path, tasks={STS: "cosine_spearman"}).check()


def test_the_error_of_missing_data_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=f"hf download mteb/stsbenchmark-sts --repo-type dataset .*{STS}"):
        evaluator(tmp_path, tmp_path, tasks={STS: "cosine_spearman"}).check()
    (tmp_path / STS).mkdir()
    with pytest.raises(FileNotFoundError, match="data files"):
        evaluator(tmp_path, tmp_path, tasks={STS: "cosine_spearman"}).check()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(FileNotFoundError, match=f"evaluator.download=true fetches them, once.*ROOT/{STS}"):
        evaluator(None, tmp_path, tasks={STS: "cosine_spearman"}).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": {}}, "at least one task"),
        ({"download": True}, "is for evaluator.root=null"),
        ({"tasks": {"STSBenchmrk": "cosine_spearman"}}, "has no task STSBenchmrk; .*Did you mean: 'STSBenchmark'"),
        ({"tasks": {"TwentyNewsgroupsClustering": "v_measure"}}, "found Clustering"),
        ({"tasks": {STS: "cosine_ap"}}, f"evaluator.tasks.{STS}=cosine_ap: expected one of cosine_pearson, cosine_spe"),
    ],
)
def test_invalid_options_are_errors(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    small_tasks(tmp_path)
    with pytest.raises(ValueError, match=message):
        evaluator(tmp_path, tmp_path, **changes).check()


def test_without_mteb_the_error_names_the_extra_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ImportError, match=r"pip install 'xsent\[mteb\]'"):
        evaluator(small_tasks(tmp_path), tmp_path).check()


def test_a_run_writes_the_published_table_with_our_row(tmp_path: Path) -> None:
    root = small_tasks(tmp_path / "data")
    write(root, URLS, test=[{"sent1": ["0", "0"], "sent2": ["10", "50"], "labels": [1, 0]}])
    metrics = evaluate(config("evaluate", tmp_path, "encoder=tiny", "evaluator=ugc_mteb", f"evaluator.root={root}"))
    assert {name.split("/")[3] for name in metrics} == {*TASKS, URLS}
    text = (tmp_path / "run" / "published.md").read_text()
    # Two tasks have more sentences in the paper's.
    assert text.count(" ours |") == 2
    assert "queries 2 (theirs 3534)" in text
    assert "queries 3 (theirs 1379)" in text
