"""Word alignment from vectors (argmax, itermax, softmax) and alignment error rate (AER)."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Vectors = NDArray[np.floating]  # (M, D), one row for each word or word piece
Links = NDArray[np.intp]  # (L, 2), linked rows of two sides' vectors, sorted
WordLinks = tuple[tuple[int, int], ...]  # 0-based words of source and target, sorted
Match = Callable[[Vectors, Vectors], Links]

_GOLD_LINK = re.compile(r"(\d+)([-p])(\d+)", re.ASCII)


def argmax_links(source: Vectors, target: Vectors, *, distortion: float) -> Links:
    """Link rows that are each other's nearest neighbour; of equally near rows, the first.

    Args:
        distortion: share of similarity lost by two rows at opposite ends of their sides; the loss grows with the
            square of the distance. Static vectors need it: they are equal for all occurrences of a word, and without
            it only the first is linked.

    Source:
        Jalili Sabet et al. 2020 (SimAlign, arXiv:2004.08728), section 2, Argmax and Distortion Correction (their
        kappa), on (cos + 1) / 2 as in their release.
    """
    return np.argwhere(_mutual_best(_similarities(source, target, distortion)))


def itermax_links(source: Vectors, target: Vectors, *, distortion: float, rounds: int, discount: float) -> Links:
    """Repeat argmax for unlinked rows, which may also link to linked ones; no repeats for a side of one or two rows.

    Args:
        distortion: as of ``argmax_links``.
        rounds: of argmax, including the first.
        discount: from the second round on, factor on the similarity of two rows of which one is linked; two linked
            rows are never linked again.

    Source:
        Jalili Sabet et al. 2020, section 2, Itermax (their n_max and alpha), on (cos + 1) / 2 as in their release.
    """
    similarities = _similarities(source, target, distortion)  # (M, N)
    linked = _mutual_best(similarities)
    if min(similarities.shape) <= 2:
        return np.argwhere(linked)
    for _ in range(rounds - 1):
        free_source, free_target = ~linked.any(axis=1, keepdims=True), ~linked.any(axis=0, keepdims=True)
        if not free_source.any() or not free_target.any():
            break
        factors = np.where(free_source & free_target, 1, np.where(free_source | free_target, discount, 0))
        links = _mutual_best(similarities * factors) & (free_source | free_target)
        if not links.any():
            break
        linked |= links
    return np.argwhere(linked)


def softmax_links(source: Vectors, target: Vectors, *, threshold: float) -> Links:
    """Link rows whose softmax probability over dot products, not cosines, exceeds the threshold in both directions.

    Source:
        Dou and Neubig 2021 (awesome-align, arXiv:2101.08231), section 2.2.
    """
    similarity = source @ target.T  # (M, N)
    if not similarity.size:
        return np.zeros((0, 2), dtype=np.intp)
    return np.argwhere((softmax(similarity, axis=1) > threshold) & (softmax(similarity, axis=0) > threshold))


def _similarities(source: Vectors, target: Vectors, distortion: float) -> Vectors:
    """(M, N) similarities in [0, 1], so that a factor below 1 never raises one."""
    similarities = (_normalize(source) @ _normalize(target).T + 1) / 2
    if distortion and min(similarities.shape) > 1:
        rows, columns = (np.linspace(0, 1, length, dtype=similarities.dtype) for length in similarities.shape)
        similarities *= 1 - distortion * (rows[:, None] - columns) ** 2
    return similarities


def _normalize(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def _mutual_best(similarity: Vectors) -> NDArray[np.bool_]:
    best = np.zeros(similarity.shape, dtype=bool)  # (M, N)
    if similarity.size:
        targets = similarity.argmax(axis=1)  # (M,)
        sources = np.arange(len(targets))
        mutual = similarity.argmax(axis=0)[targets] == sources
        best[sources[mutual], targets[mutual]] = True
    return best


def link_words(
    source: Vectors,
    target: Vectors,
    source_words: NDArray[np.integer],
    target_words: NDArray[np.integer],
    *,
    match: Match,
) -> WordLinks:
    """Link two words if any of their pieces are linked.

    Args:
        source, target: (M, D) and (N, D) vectors of word pieces.
        source_words, target_words: (M,) and (N,) word of each piece.
        match: links the pieces, e.g. ``argmax_links``.
    """
    links = match(source, target)
    words = zip(source_words[links[:, 0]].tolist(), target_words[links[:, 1]].tolist(), strict=True)
    return tuple(sorted(set(words)))


class GoldLinks(NamedTuple):
    """Manual word links of a sentence pair, 0-based."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]  # includes the sure ones


class AlignmentScores(NamedTuple):
    """Alignment quality on a test set, all in [0, 1]."""

    precision: float  # share of the links that are possible
    recall: float  # share of the sure links that are predicted
    error_rate: float  # AER, lower is better


def parse_gold_links(line: str, location: str) -> GoldLinks:
    """Parse 1-based links such as ``1-1 2p3``; ``-`` is sure, ``p`` only possible.

    Raises:
        ValueError: invalid link; names ``location``.
    """
    links: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for text in line.split():
        match = _GOLD_LINK.fullmatch(text)
        if match is None or "0" in (match[1], match[3]):
            raise ValueError(f"{location}: expected links such as 1-1 and 2p3, counted from 1, found {text!r}")
        links[match[2]].add((int(match[1]) - 1, int(match[3]) - 1))
    return GoldLinks(sure=frozenset(links["-"]), possible=frozenset(links["-"] | links["p"]))


def alignment_error_rate(links: Iterable[Iterable[tuple[int, int]]], gold: Iterable[GoldLinks]) -> AlignmentScores:
    """Precision, recall and AER = 1 - (|A and S| + |A and P|) / (|A| + |S|) over all sentence pairs.

    A are the predicted 0-based links of a pair, S and P its sure and possible gold links.

    Raises:
        ValueError: ``links`` and ``gold`` differ in length, or one of them has no link at all.

    Source:
        Och and Ney 2003, A Systematic Comparison of Various Statistical Alignment Models, section 5.
    """
    predicted = sure = possible_hits = sure_hits = 0
    for pair_links, pair_gold in zip(map(set, links), gold, strict=True):
        predicted += len(pair_links)
        sure += len(pair_gold.sure)
        possible_hits += len(pair_links & pair_gold.possible)
        sure_hits += len(pair_links & pair_gold.sure)
    if not predicted or not sure:
        raise ValueError(f"expected links and sure gold links, found {predicted} and {sure}")
    return AlignmentScores(
        precision=possible_hits / predicted,
        recall=sure_hits / sure,
        error_rate=1 - (possible_hits + sure_hits) / (predicted + sure),
    )
