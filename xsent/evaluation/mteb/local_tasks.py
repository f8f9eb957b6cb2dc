"""MTEB tasks made of the test sets of our own evaluators, with a subset per item."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import langcodes

from xsent.evaluation.clsd.base import candidates_of, item_name
from xsent.evaluation.mteb.clsd import FIGURE, retrieval_split
from xsent.evaluation.mteb.task_data import LOCAL, TEST, quiet_mteb
from xsent.evaluation.similarity.paraphrase_metrics import LabelledPairs


class Subset(NamedTuple):
    """N pairs of sentences, with a value of each if the task has one."""

    languages: tuple[str, ...]  # ISO 639-3
    source: Sequence[str]
    target: Sequence[str]
    values: Sequence[float] | None = None  # human scores, or labels 0 and 1


class Kind(NamedTuple):
    """Type of task made of an evaluator's test sets."""

    type: str  # mteb's
    main_score: str
    subsets: Callable[[Any], dict[str, Subset]]
    column: str | None = None  # mteb's name of the values


def directions(evaluator: Any) -> dict[str, Subset]:
    """Both directions of aligned test sets: ``deu-eng``, ``eng-deu``."""
    subsets = {}
    for bitext in evaluator.test_sets:
        a, b = bitext.source_lang, bitext.target_lang
        subsets[f"{a}-{b}"] = Subset((a, b), bitext.source, bitext.target)
        subsets[f"{b}-{a}"] = Subset((b, a), bitext.target, bitext.source)
    return subsets


def gold_pairs(evaluator: Any) -> dict[str, Subset]:
    """The gold pairs of mining tasks only, as in mteb's own BUCC: ``zho-eng``."""
    subsets = {}
    for task in evaluator.test_sets:
        source, target = [task.source[row] for row, _ in task.gold], [task.target[row] for _, row in task.gold]
        subsets[task.name] = Subset(tuple(task.name.split("-")), source, target)
    return subsets


def noisy_sets(evaluator: Any) -> dict[str, Subset]:
    """Noisy and standard sentences: ``rocsmt``; each generation of synthetic noise: ``flores_leet-1``."""
    return {
        noisy_set.name if noisy_set.seed is None else f"{noisy_set.name}-{noisy_set.seed}": Subset(
            (noisy_set.language,), noisy_set.source, noisy_set.target
        )
        for noisy_set in evaluator.test_sets
    }


def scored_pairs(evaluator: Any) -> dict[str, Subset]:
    """Pairs with human scores: ``eng-deu``."""
    return {
        pairs.name: Subset(tuple(pairs.name.split("-")), pairs.source, pairs.target, pairs.gold)
        for pairs in evaluator.test_sets
    }


def labelled_pairs(evaluator: Any) -> dict[str, Subset]:
    """The labelled pairs that our evaluator scores: ``deu-deu``, of several kinds ``intra_deu-deu``."""
    return {
        item: Subset((pairs.source_lang, pairs.target_lang), pairs.source, pairs.target, pairs.label)
        for item, pairs in by_item(evaluator.scored).items()
    }


def by_item(sets: Sequence[LabelledPairs]) -> dict[str, LabelledPairs]:
    """Sets of labelled pairs by name of their subset."""
    has_kinds = len({pairs.kind for pairs in sets}) > 1
    return {f"{f'{pairs.kind}_' if has_kinds else ''}{pairs.source_lang}-{pairs.target_lang}": pairs for pairs in sets}


def divergences(evaluator: Any) -> dict[str, Subset]:
    """Equivalent pairs (1) and divergent pairs (0): ``wikimatrix``."""
    return {
        pairs.name: Subset(
            (pairs.source_lang, pairs.target_lang), pairs.source, pairs.target, list(map(int, pairs.equivalent))
        )
        for pairs in evaluator.test_sets
    }


KINDS: Mapping[str, Kind] = {
    "bitext": Kind("BitextMining", "f1", directions),
    "gold": Kind("BitextMining", "f1", gold_pairs),
    "noisy": Kind("BitextMining", "f1", noisy_sets),
    "similarity": Kind("STS", "cosine_spearman", scored_pairs, "score"),
    "labelled": Kind("PairClassification", "max_ap", labelled_pairs, "labels"),
    "divergence": Kind("PairClassification", "max_ap", divergences, "labels"),
}
DISCRIMINATION = "discrimination"  # the only kind without pairs


def local_task(name: str, kind: str, evaluator: Any, *, about: str) -> Any:
    """A task with its data.

    Args:
        kind: one of ``KINDS``, or ``discrimination``: sources and a pool of candidates.
        evaluator: with its files read.
        about: one-line description.

    Raises:
        ImportError: ``mteb`` is not installed.
    """
    with quiet_mteb():
        from datasets import Dataset, DatasetDict
        from mteb.abstasks import AbsTaskPairClassification, AbsTaskRetrieval, AbsTaskSTS
        from mteb.abstasks.task_metadata import TaskMetadata
        from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    bases = {"BitextMining": AbsTaskBitextMining, "STS": AbsTaskSTS, "PairClassification": AbsTaskPairClassification}
    languages: dict[str, tuple[str, ...]]
    if kind == DISCRIMINATION:
        sets = {item_name(items): items for items in evaluator.test_sets}
        languages = {subset: (items.source_lang, items.target_lang) for subset, items in sets.items()}
        data: dict[str, Any] = {
            subset: {TEST: retrieval_split(items.source, candidates_of(items), is_own=False)}
            for subset, items in sets.items()
        }
        base, task_type, main_score = AbsTaskRetrieval, "Retrieval", FIGURE
    else:
        spec = KINDS[kind]
        base, task_type, main_score = bases[spec.type], spec.type, spec.main_score
        subsets = spec.subsets(evaluator)
        languages = {subset: pairs.languages for subset, pairs in subsets.items()}
        data = {
            subset: DatasetDict({TEST: Dataset.from_dict(_columns(pairs, spec.column))})
            for subset, pairs in subsets.items()
        }
    metadata = TaskMetadata(
        name=name,
        dataset={"path": LOCAL, "revision": LOCAL},
        type=task_type,
        category="t2t",
        description=about,
        eval_splits=[TEST],
        main_score=main_score,
        eval_langs={subset: [with_script(code) for code in codes] for subset, codes in languages.items()},
    )
    task: Any = type(name, (base,), {"metadata": metadata})()
    task.dataset = data
    task.data_loaded = True
    return task


def _columns(pairs: Subset, column: str | None) -> dict[str, list[Any]]:
    values = {} if column is None or pairs.values is None else {column: list(pairs.values)}
    return {"sentence1": list(pairs.source), "sentence2": list(pairs.target), **values}


def with_script(language: str) -> str:
    """mteb's name of a language with its most frequent script: ``deu-Latn``."""
    return f"{language}-{langcodes.get(language).maximize().script or 'Latn'}"


def local_digest(task: Any, kind: str, evaluator: Any, options: object) -> str:
    """Hex digest of everything that decides a local task and our metrics of it.

    Args:
        task: result of ``local_task``.
        kind, evaluator: its arguments.
        options: plain values that the evaluator was built from.
    """
    content = [task.metadata.name, task.metadata.type, kind, list(task.dataset), evaluator.digest(), options]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
