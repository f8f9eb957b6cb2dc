"""Tasks of ``mteb`` made of the test sets that our own evaluators read, a subset per item of theirs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import langcodes

from xsent.evaluation.clsd_mteb import FIGURE, candidates_of, retrieval_split
from xsent.evaluation.clsd_sets import item_of
from xsent.evaluation.mteb_data import LOCAL, TEST, quiet_mteb
from xsent.evaluation.verdicts import LabelledPairs


class Subset(NamedTuple):
    """N pairs of sentences, and a value of each where the task has one."""

    languages: tuple[str, ...]  # ISO 639-3
    source: Sequence[str]
    target: Sequence[str]
    values: Sequence[float] | None = None  # scores of people, or labels 0 and 1


class Kind(NamedTuple):
    """What sort of task is made of an evaluator's test sets."""

    type: str  # mteb's
    main_score: str
    subsets: Callable[[Any], dict[str, Subset]]
    column: str | None = None  # mteb's name of the values


def directions(evaluator: Any) -> dict[str, Subset]:
    """Of aligned test sets both directions: ``deu-eng``, ``eng-deu``."""
    found = {}
    for one in evaluator.test_sets:
        a, b = one.source_lang, one.target_lang
        found[f"{a}-{b}"] = Subset((a, b), one.source, one.target)
        found[f"{b}-{a}"] = Subset((b, a), one.target, one.source)
    return found


def gold_pairs(evaluator: Any) -> dict[str, Subset]:
    """Of mining tasks the gold pairs alone, as mteb's own BUCC has them: ``zho-eng``."""
    found = {}
    for one in evaluator.test_sets:
        source, target = ([side[row] for row in rows] for side, rows in _sides(one))
        found[one.name] = Subset(tuple(one.name.split("-")), source, target)
    return found


def _sides(one: Any) -> list[tuple[Sequence[str], tuple[int, ...]]]:
    rows, columns = zip(*one.gold, strict=True)
    return [(one.source, rows), (one.target, columns)]


def noisy_sets(evaluator: Any) -> dict[str, Subset]:
    """Noisy sentences and what they stand for: ``rocsmt``; of made noise each generation, ``flores_leet-1``."""
    names = [one.name if one.seed is None else f"{one.name}-{one.seed}" for one in evaluator.test_sets]
    return {
        name: Subset((one.language,), one.source, one.target)
        for name, one in zip(names, evaluator.test_sets, strict=True)
    }


def scored_pairs(evaluator: Any) -> dict[str, Subset]:
    """Pairs with scores of people: ``eng-deu``."""
    return {
        one.name: Subset(tuple(one.name.split("-")), one.source, one.target, one.gold) for one in evaluator.test_sets
    }


def labelled_pairs(evaluator: Any) -> dict[str, Subset]:
    """Paraphrases and others, those that our evaluator scores: ``deu-deu``, of several kinds ``intra_deu-deu``."""
    return {
        item: Subset((one.source_lang, one.target_lang), one.source, one.target, one.label)
        for item, one in by_item(evaluator.scored).items()
    }


def by_item(sets: Sequence[LabelledPairs]) -> dict[str, LabelledPairs]:
    """Sets of labelled pairs by what their subsets are called."""
    has_kinds = len({one.kind for one in sets}) > 1
    return {f"{f'{one.kind}_' if has_kinds else ''}{one.source_lang}-{one.target_lang}": one for one in sets}


def divergences(evaluator: Any) -> dict[str, Subset]:
    """Equivalent pairs (1) and divergent ones (0): ``wikimatrix``."""
    return {
        one.name: Subset(
            (one.source_lang, one.target_lang), one.source, one.target, [int(same) for same in one.equivalent]
        )
        for one in evaluator.test_sets
    }


KINDS: Mapping[str, Kind] = {
    "bitext": Kind("BitextMining", "f1", directions),
    "gold": Kind("BitextMining", "f1", gold_pairs),
    "noisy": Kind("BitextMining", "f1", noisy_sets),
    "similarity": Kind("STS", "cosine_spearman", scored_pairs, "score"),
    "labelled": Kind("PairClassification", "max_ap", labelled_pairs, "labels"),
    "divergence": Kind("PairClassification", "max_ap", divergences, "labels"),
}  # fmt: skip
DISCRIMINATION = "discrimination"  # the one kind that is not of pairs


def local_task(name: str, kind: str, evaluator: Any, *, about: str) -> Any:
    """A task that holds its data.

    Args:
        name: of the task.
        kind: one of ``KINDS``, or ``discrimination``: sources and a pool of candidates.
        evaluator: whose files are read.
        about: what is measured, in a line.

    Raises:
        ImportError: ``mteb`` is not installed.
    """
    with quiet_mteb():
        from datasets import Dataset, DatasetDict
        from mteb.abstasks import AbsTaskPairClassification, AbsTaskRetrieval, AbsTaskSTS
        from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    bases = {"BitextMining": AbsTaskBitextMining, "STS": AbsTaskSTS, "PairClassification": AbsTaskPairClassification}
    if kind == DISCRIMINATION:
        languages, data = _pools(evaluator)
        base, type_, main_score = AbsTaskRetrieval, "Retrieval", FIGURE
    else:
        of = KINDS[kind]
        base, type_, main_score = bases[of.type], of.type, of.main_score
        subsets = of.subsets(evaluator)
        languages = {subset: one.languages for subset, one in subsets.items()}
        data = {
            subset: DatasetDict({TEST: Dataset.from_dict(_columns(one, of.column))}) for subset, one in subsets.items()
        }
    task: Any = type(name, (base,), {"metadata": _metadata(name, type_, main_score, languages, about)})()
    task.dataset = data
    task.data_loaded = True
    return task


def _columns(one: Subset, column: str | None) -> dict[str, list[Any]]:
    values = {} if column is None or one.values is None else {column: list(one.values)}
    return {"sentence1": list(one.source), "sentence2": list(one.target), **values}


def _pools(evaluator: Any) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """Of each set of items its languages, and sources with all candidates: ``wmt19_deu-fra``."""
    sets = {item_of(one): one for one in evaluator.test_sets}
    languages: dict[str, tuple[str, ...]] = {subset: (one.source_lang, one.target_lang) for subset, one in sets.items()}
    return languages, {
        subset: {TEST: retrieval_split(one.source, candidates_of(one), is_own=False)} for subset, one in sets.items()
    }


def _metadata(name: str, type_: str, main_score: str, languages: Mapping[str, Sequence[str]], about: str) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name=name, dataset={"path": LOCAL, "revision": LOCAL}, type=type_, category="t2t", description=about,
        eval_splits=[TEST], main_score=main_score,
        eval_langs={subset: [with_script(one) for one in codes] for subset, codes in languages.items()},
    )  # fmt: skip


def with_script(language: str) -> str:
    """``deu-Latn``: as ``mteb`` names a language, with the script that it is most often written in."""
    return f"{language}-{langcodes.get(language).maximize().script or 'Latn'}"


def local_digest(task: Any, kind: str, evaluator: Any, options: object) -> str:
    """Hex digest of all that a local task and the figures beside it are made from.

    Args:
        task: of ``local_task``.
        kind, evaluator: that it was made of.
        options: plain values, what the evaluator was built from.
    """
    content = [task.metadata.name, task.metadata.type, kind, list(task.dataset), evaluator.digest(), options]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
