"""Mine and score pairs of sentences from Python; ``xsent mine`` and ``xsent filter`` do the same with large files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xsent.config_checks import check_choice
from xsent.run.config.compose import load_config, override
from xsent.run.loading import check_judge, load_encoder, load_model

if TYPE_CHECKING:
    from torch import Tensor

    from xsent.batch import Embedder, PairJudge

Sentences = Sequence[str] | str | os.PathLike[str]  # texts, or a file with one per line
Source = str | os.PathLike[str]  # of ``load_encoder``


class MinedPair(NamedTuple):
    """A pair of sentences that may be translations."""

    score: float  # margin score
    source_row: int  # from 0
    target_row: int
    source: str
    target: str


def mine(
    source: Sentences,
    target: Sentences,
    *,
    encoder: Source | Embedder = "mini",
    device: str = "cpu",
    space: str | None = None,
    margin: str | None = None,
    k: int | None = None,
    strategy: str | None = None,
    threshold: float | None = None,
) -> list[MinedPair]:
    """Find the translations among two lists of sentences, best first.

    The pairs are those of ``xsent mine``, which also takes files that do not fit in memory. Of equal sentences only the
    first is used; blank ones are in no pair.

    Args:
        source, target: sentences, or a file each (UTF-8, plain or ``.gz``, one sentence per line).
        encoder: as of ``load_encoder``, or a loaded encoder.
        device: of an encoder that is loaded here.
        space: as of ``encode``.
        margin: ``ratio``, ``distance`` or ``absolute`` (the cosine); None, here and below: as ``xsent mine``.
        k: neighbours to average.
        strategy: ``max`` or ``intersect`` (a sentence is in one pair at most), ``forward`` or ``backward`` (a pair for
            each source or target).
        threshold: only pairs with a higher score.

    Raises:
        ValueError: an unknown option, or a side without a sentence.
        FloatingPointError: a vector is not finite; names the encoder and the text.

    Source:
        Artetxe and Schwenk 2019 (arXiv:1811.01136), section 3.
    """
    from xsent.evaluation.search.mining import mine as mine_vectors
    from xsent.jobs.mining.settings import options_from
    from xsent.similarity import check_finite, encoder_name

    chosen = {"margin": margin, "k": k, "strategy": strategy, "threshold": threshold}
    overrides = [override(key, value) for key, value in chosen.items() if value is not None]
    options = options_from(load_config("mine", overrides))
    embedder = _embedder(encoder, device)
    sides = [_distinct_sentences(name, side) for name, side in (("source", source), ("target", target))]
    rows, vectors = [], []
    for side in sides:
        embeddings = embedder.encode(list(side), space=space)
        check_finite(embeddings, encoder_name(embedder), texts=list(side))
        has_token = embeddings.any(dim=1)  # that the encoder knows
        rows.append([entry for entry, has in zip(side.items(), has_token.tolist(), strict=True) if has])
        vectors.append(embeddings[has_token])
    if not all(rows):
        return []
    pairs = mine_vectors(
        *vectors, margin=options.margin, k=options.k, strategy=options.strategy, threshold=options.threshold
    )
    mined = []
    for score, i, j in zip(pairs.scores.tolist(), pairs.source.tolist(), pairs.target.tolist(), strict=True):
        (source_text, source_row), (target_text, target_row) = rows[0][i], rows[1][j]
        mined.append(MinedPair(score, source_row, target_row, source_text, target_text))
    return mined


def score(
    pairs: Iterable[tuple[str, str]],
    *,
    encoder: Source | Embedder | PairJudge = "mini",
    device: str = "cpu",
    space: str | None = None,
    margin: str | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Tensor:
    """Score sentence pairs: the cosine of their vectors, or the probability that they mean the same.

    Args:
        pairs: P pairs of source and target.
        encoder: as of ``load_encoder``, or a loaded encoder; a run of ``recipe=divergence``, or a judge of
            ``load_judge``, gives probabilities.
        device: of an encoder or run that is loaded here.
        space: as of ``encode``.
        margin: None: the cosine; ``ratio`` or ``distance``: relative to the nearest sentences among the other pairs, as
            in ``mine``. That separates translations better, but needs some hundred pairs.
        source_lang, target_lang: for a run of ``recipe=divergence``, which splits sentences into words; None: those of
            ``conf/job/filter.yaml``, ``eng`` and ``fra``.

    Returns:
        (P,) float64; higher is more alike.

    Raises:
        ValueError: an unknown option, a row that is no pair, or an option that the model does not use.
        FloatingPointError: a vector or a score is not finite; names the model and the text or pair.
    """
    rows = _checked_pairs(pairs)
    model: Any = encoder
    if isinstance(encoder, str | os.PathLike):
        model, config = load_model(encoder, device=device)
        if config is not None and hasattr(model, "judge"):
            check_judge(encoder, config)
    if hasattr(model, "judge"):
        _refuse(encoder, space=space, margin=margin)
        return _probabilities(model, rows, source_lang=source_lang, target_lang=target_lang)
    _refuse(encoder, source_lang=source_lang, target_lang=target_lang)
    return _similarities(model, rows, space=space, margin=margin)


def _similarities(embedder: Embedder, rows: list[tuple[str, str]], *, space: str | None, margin: str | None) -> Tensor:
    import torch

    from xsent.evaluation.search.margin import MARGINS, pair_margins
    from xsent.similarity import check_finite, encoder_name, pairwise_cos_sim

    if margin is not None:
        check_choice("margin", margin, MARGINS)
    distinct = {text: row for row, text in enumerate(dict.fromkeys(text for pair in rows for text in pair))}
    vectors = embedder.encode(list(distinct), space=space).double()
    check_finite(vectors, encoder_name(embedder), texts=list(distinct))
    columns = [[distinct[pair[side]] for pair in rows] for side in (0, 1)]
    source, target = (vectors[torch.tensor(column, dtype=torch.long)] for column in columns)
    if margin is None or not rows:
        return pairwise_cos_sim(source, target)
    neighbourhood = vectors[sorted(set(columns[0]))], vectors[sorted(set(columns[1]))]
    return torch.from_numpy(pair_margins(source, target, neighbourhood, margin=margin, k=load_config("mine", [])["k"]))


def _probabilities(judge: PairJudge, rows: list[tuple[str, str]], **languages: str | None) -> Tensor:
    import torch

    from xsent.batch import WordPair
    from xsent.jobs.filtering.tokenize import tokenize_pairs
    from xsent.languages import to_iso639_3
    from xsent.similarity import check_finite

    for row, pair in enumerate(rows):
        if not all(map(str.strip, pair)):
            raise ValueError(f"pair {row}: expected two sentences, found a blank one")
    config = load_config("filter", [override(key, value) for key, value in languages.items() if value is not None])
    codes = to_iso639_3(config["source_lang"]), to_iso639_3(config["target_lang"])
    judgements = judge.judge([WordPair(*words) for words in tokenize_pairs(rows, codes)])
    scores = torch.tensor([judgement.score for judgement in judgements], dtype=torch.float64)
    check_finite(scores[:, None], judge.name)
    return scores.sigmoid()


def _checked_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    rows = []
    for row, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"pair {row}: expected a source and a target, found {pair!r}")
        rows.append((pair[0], pair[1]))
    return rows


def _refuse(encoder: object, **options: str | None) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name}={value}: {getattr(encoder, 'name', encoder)} does not use it")


def _embedder(encoder: Source | Embedder, device: str) -> Embedder:
    return load_encoder(encoder, device=device) if isinstance(encoder, str | os.PathLike) else encoder


def _distinct_sentences(name: str, sentences: Sentences) -> dict[str, int]:
    """First row of each sentence that is not blank.

    Raises:
        FileNotFoundError: no such file.
        ValueError: there is no sentence.
    """
    from xsent.data.readers.lines import read_lines

    is_file = isinstance(sentences, str | os.PathLike)
    texts = read_lines(Path(sentences)) if isinstance(sentences, str | os.PathLike) else sentences
    rows: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text.strip():
            rows.setdefault(text.strip(), row)
    if not rows:
        raise ValueError(f"{sentences if is_file else name}: expected sentences, found none")
    return rows
