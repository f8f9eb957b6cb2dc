"""MTEB tasks made of the test sets of our own evaluators, with a subset per item."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import langcodes

from xsent.evaluation.clsd.base import candidates_of, item_name
from xsent.evaluation.evaluator import Bitext
from xsent.evaluation.mteb.task_data import LOCAL, TEST, quiet_mteb
from xsent.evaluation.similarity.paraphrase_metrics import LabelledPairs

FIGURE = "recall_at_1"  # main score of mteb's own CLSD tasks


class Subset(NamedTuple):
    """N pairs of sentences, with a value of each if the task has one."""

    languages: tuple[str, ...]  # ISO 639-3
    source: Sequence[str]
    target: Sequence[str]
    values: Sequence[float] | None = None  # human scores, or labels 0 and 1
    candidates: Sequence[Sequence[str]] | None = None  # of each source: its target, then distractors


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
        row.name if row.seed is None else f"{row.name}-{row.seed}": Subset((row.language,), row.source, row.target)
        for row in evaluator.test_sets
    }


def scored_pairs(evaluator: Any) -> dict[str, Subset]:
    """Pairs with human scores: ``eng-deu``."""
    return {
        pairs.name: Subset(tuple(pairs.name.split("-")), pairs.source, pairs.target, pairs.gold)
        for pairs in evaluator.test_sets
    }


def labelled_pairs(evaluator: Any) -> dict[str, Subset]:
    """The labelled pairs that our evaluator scores: ``deu-deu``, of several kinds ``intra_deu-deu``."""
    return {item: _aligned(pairs)._replace(values=pairs.label) for item, pairs in by_item(evaluator.scored).items()}


def divergences(evaluator: Any) -> dict[str, Subset]:
    """Equivalent pairs (1) and divergent pairs (0): ``wikimatrix``."""
    return {
        pairs.name: _aligned(pairs)._replace(values=list(map(int, pairs.equivalent))) for pairs in evaluator.test_sets
    }


def discriminations(evaluator: Any) -> dict[str, Subset]:
    """Sources with the candidates of a direction: ``wmt19_deu-fra``."""
    return {
        item_name(items): _aligned(items)._replace(candidates=candidates_of(items)) for items in evaluator.test_sets
    }


def _aligned(bitext: Bitext) -> Subset:
    return Subset((bitext.source_lang, bitext.target_lang), bitext.source, bitext.target)


def by_item(sets: Sequence[LabelledPairs]) -> dict[str, LabelledPairs]:
    """Sets of labelled pairs by name of their subset."""
    has_kinds = len({pairs.kind for pairs in sets}) > 1
    return {f"{f'{pairs.kind}_' if has_kinds else ''}{pairs.source_lang}-{pairs.target_lang}": pairs for pairs in sets}


DISCRIMINATION = "discrimination"  # the only kind without pairs: sources and a pool of candidates
KINDS: Mapping[str, Kind] = {
    "bitext": Kind("BitextMining", "f1", directions),
    "gold": Kind("BitextMining", "f1", gold_pairs),
    "noisy": Kind("BitextMining", "f1", noisy_sets),
    "similarity": Kind("STS", "cosine_spearman", scored_pairs, "score"),
    "labelled": Kind("PairClassification", "max_ap", labelled_pairs, "labels"),
    "divergence": Kind("PairClassification", "max_ap", divergences, "labels"),
    DISCRIMINATION: Kind("Retrieval", FIGURE, discriminations),
}


def local_task(name: str, kind: str, evaluator: Any, *, about: str) -> Any:
    """A task with its data.

    Args:
        kind: one of ``KINDS``.
        evaluator: with its files read.
        about: one-line description.

    Raises:
        ImportError: ``mteb`` is not installed.
    """
    subsets = KINDS[kind].subsets(evaluator)
    languages = {subset: [with_script(code) for code in pairs.languages] for subset, pairs in subsets.items()}
    with quiet_mteb():
        data = {subset: _data(pairs, KINDS[kind].column) for subset, pairs in subsets.items()}
        return make_task(name, kind, data, languages=languages, about=about)


def make_task(
    name: str, kind: str, data: Mapping[str, Any], *, languages: Sequence[str] | Mapping[str, Sequence[str]], about: str
) -> Any:
    """A task with data by subset; ``languages`` of all data or by subset."""
    from mteb.abstasks import AbsTaskPairClassification, AbsTaskRetrieval, AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.abstasks.text.bitext_mining import AbsTaskBitextMining

    bases = {
        "BitextMining": AbsTaskBitextMining,
        "STS": AbsTaskSTS,
        "PairClassification": AbsTaskPairClassification,
        "Retrieval": AbsTaskRetrieval,
    }
    metadata = TaskMetadata(
        name=name,
        dataset={"path": LOCAL, "revision": LOCAL},
        type=KINDS[kind].type,
        category="t2t",
        description=about,
        eval_splits=[TEST],
        main_score=KINDS[kind].main_score,
        eval_langs=languages,
    )
    task: Any = type(name, (bases[metadata.type],), {"metadata": metadata})()
    task.dataset = data
    task.data_loaded = True
    return task


def _data(pairs: Subset, column: str | None) -> Any:
    from datasets import Dataset, DatasetDict

    if pairs.candidates is not None:
        return {TEST: retrieval_split(pairs.source, pairs.candidates, is_own=False)}
    columns: dict[str, list[Any]] = {"sentence1": list(pairs.source), "sentence2": list(pairs.target)}
    if column is not None and pairs.values is not None:
        columns[column] = list(pairs.values)
    return DatasetDict({TEST: Dataset.from_dict(columns)})


def retrieval_split(sources: Sequence[str], candidates: Sequence[Sequence[str]], *, is_own: bool) -> dict[str, object]:
    """A split of a retrieval task in mteb's format, document ids in the order of its own CLSD tasks.

    Args:
        sources: N queries.
        candidates: of each query the right answer, then wrong ones.
        is_own: compare a query with its own candidates only.
    """
    from datasets import Dataset

    queries = {f"Q{number}": text for number, text in enumerate(sources, start=1)}
    documents = {
        f"D{number}": text for number, text in enumerate((text for row in candidates for text in row), start=1)
    }
    ids = iter(documents)
    ids_of = {query: [next(ids) for _ in row] for query, row in zip(queries, candidates, strict=True)}
    return {
        "queries": Dataset.from_dict({"id": list(queries), "text": list(queries.values())}),
        "corpus": Dataset.from_dict({"id": list(documents), "text": list(documents.values())}),
        "relevant_docs": {query: {first: 1} for query, (first, *_) in ids_of.items()},
        "top_ranked": ids_of if is_own else None,
    }


def with_script(language: str) -> str:
    """mteb's name of a language with its most frequent script: ``deu-Latn``."""
    return f"{language}-{langcodes.get(language).maximize().script or 'Latn'}"


def local_digest(task: Any, kind: str, evaluator: Any, options: object) -> str:
    """Hex digest of everything that decides a result of ``local_task``, from these arguments, and our metrics of it.

    ``options`` are the plain values that the evaluator was built from.
    """
    content = [task.metadata.name, task.metadata.type, kind, list(task.dataset), evaluator.digest(), options]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
