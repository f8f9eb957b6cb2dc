"""Which word translates which: links out of two sentences' vectors, and how they compare with links made by people."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]  # (M, D), a row for each word, or for each piece of a word
Links = NDArray[np.intp]  # (L, 2), rows of two sides' vectors that belong together, sorted
WordLinks = tuple[tuple[int, int], ...]  # 0-based words of source and target, sorted
Match = Callable[[Vectors, Vectors], Links]

_GOLD_LINK = re.compile(r"(\d+)([-p])(\d+)", re.ASCII)


# ---- matchers


def argmax_links(source: Vectors, target: Vectors, *, distortion: float) -> Links:
    """Link what is nearest to each other in both directions.

    Args:
        source: (M, D).
        target: (N, D).
        distortion: how much similarity two rows lose that stand at opposite ends of their sides, as a share; less
            lose those that stand nearer, by the square of their distance. Without it, a word that occurs twice is
            linked at its first place only where vectors know no context.

    Returns:
        (L, 2) rows of source and target, sorted; of equally near rows the first counts.

    Source:
        Jalili Sabet et al. 2020 (SimAlign, arXiv:2004.08728), section 2, Argmax and Distortion Correction (their
        kappa), on (cos + 1) / 2 as in their release.
    """
    return np.argwhere(_mutual_best(_similarities(source, target, distortion)))


def itermax_links(source: Vectors, target: Vectors, *, distortion: float, rounds: int, discount: float) -> Links:
    """Argmax, repeated for what is left: a row without link may then link to one that has a link.

    Args:
        source: (M, D).
        target: (N, D).
        distortion: as of ``argmax_links``.
        rounds: of argmax, the first included.
        discount: multiplies, from the second round on, the similarity of two rows of which one has a link; rows that
            both have one are not linked.

    Returns:
        (L, 2), sorted. Where a side has one or two rows, there is one round.

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
        found = _mutual_best(similarities * factors) & (free_source | free_target)
        if not found.any():
            break
        linked |= found
    return np.argwhere(linked)


def softmax_links(source: Vectors, target: Vectors, *, threshold: float) -> Links:
    """Link what is probable in both directions, where a softmax over dot products gives the probabilities.

    Args:
        source: (M, D), as long as the encoder makes them.
        target: (N, D).
        threshold: of both probabilities.

    Returns:
        (L, 2), sorted.

    Source:
        Dou and Neubig 2021 (awesome-align, arXiv:2101.08231), section 2.2.
    """
    similarity = source @ target.T  # (M, N)
    if not similarity.size:
        return np.zeros((0, 2), dtype=np.intp)
    return np.argwhere((_softmax(similarity, axis=1) > threshold) & (_softmax(similarity, axis=0) > threshold))


def _similarities(source: Vectors, target: Vectors, distortion: float) -> Vectors:
    """(M, N), 0 to 1: a factor never makes one larger."""
    similarities = (_unit(source) @ _unit(target).T + 1) / 2
    if distortion and min(similarities.shape) > 1:
        places, others = (np.linspace(0, 1, length, dtype=similarities.dtype) for length in similarities.shape)
        similarities *= 1 - distortion * (places[:, None] - others) ** 2
    return similarities


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _mutual_best(similarity: Vectors) -> NDArray[np.bool_]:
    best = np.zeros(similarity.shape, dtype=bool)  # (M, N)
    if similarity.size:
        targets = similarity.argmax(axis=1)  # (M,)
        sources = np.arange(len(targets))
        mutual = similarity.argmax(axis=0)[targets] == sources
        best[sources[mutual], targets[mutual]] = True
    return best


def _softmax(x: Vectors, *, axis: int) -> Vectors:
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    shares: Vectors = powers / powers.sum(axis=axis, keepdims=True)
    return shares


# ---- from pieces to words


def linked_words(
    source: Vectors,
    target: Vectors,
    source_words: NDArray[np.integer],
    target_words: NDArray[np.integer],
    *,
    match: Match,
) -> WordLinks:
    """Link two words if a piece of the one is linked to a piece of the other.

    Args:
        source: (M, D) vectors of pieces of words.
        target: (N, D).
        source_words: (M,) word that each piece is of.
        target_words: (N,).
        match: links the pieces, e.g. ``argmax_links``.

    Returns:
        0-based words, sorted; a word may have any number of links.
    """
    links = match(source, target)
    words = zip(source_words[links[:, 0]].tolist(), target_words[links[:, 1]].tolist(), strict=True)
    return tuple(sorted(set(words)))


# ---- against links made by people


class GoldLinks(NamedTuple):
    """What annotators linked in a pair of sentences, 0-based."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]  # the sure ones included


class AlignmentScores(NamedTuple):
    """How links compare with gold ones, over a whole test set; shares of 1."""

    precision: float  # of the links, how many are possible
    recall: float  # of the sure links, how many were found
    error_rate: float  # AER, lower is better


def parse_gold_links(line: str, where: str) -> GoldLinks:
    """Links such as ``1-1 2p3``, 1-based, ``-`` sure and ``p`` merely possible.

    Raises:
        ValueError: something else; names ``where``.
    """
    found: dict[str, set[tuple[int, int]]] = {"-": set(), "p": set()}
    for link in line.split():
        parts = _GOLD_LINK.fullmatch(link)
        if parts is None or "0" in (parts[1], parts[3]):
            raise ValueError(f"{where}: expected links such as 1-1 and 2p3, counted from 1, found {link!r}")
        found[parts[2]].add((int(parts[1]) - 1, int(parts[3]) - 1))
    return GoldLinks(sure=frozenset(found["-"]), possible=frozenset(found["-"] | found["p"]))


def alignment_error_rate(links: Iterable[Iterable[tuple[int, int]]], gold: Iterable[GoldLinks]) -> AlignmentScores:
    """Precision, recall and AER = 1 - (|A and S| + |A and P|) / (|A| + |S|), counted over all pairs of sentences.

    Args:
        links: A, of each pair of sentences, 0-based.
        gold: S and P of each.

    Raises:
        ValueError: there are not as many of the one as of the other, or no link at all to compare.

    Source:
        Och and Ney 2003, A Systematic Comparison of Various Statistical Alignment Models, section 5.
    """
    found = sure = possible_found = sure_found = 0
    for ours, theirs in zip(map(set, links), gold, strict=True):
        found += len(ours)
        sure += len(theirs.sure)
        possible_found += len(ours & theirs.possible)
        sure_found += len(ours & theirs.sure)
    if not found or not sure:
        raise ValueError(f"expected links and sure gold links, found {found} and {sure}")
    return AlignmentScores(
        precision=possible_found / found,
        recall=sure_found / sure,
        error_rate=1 - (possible_found + sure_found) / (found + sure),
    )
