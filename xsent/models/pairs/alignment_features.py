"""Features of the words of a sentence pair: how well each word has a counterpart on the other side."""

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from xsent.models.alignment.encoder_aligner import piece_vectors
from xsent.models.batching import flatten_ids
from xsent.models.encoders.base import Encoder
from xsent.models.encoders.static import StaticEncoder
from xsent.similarity import unit

Sentence = Sequence[str]  # as words

NEIGHBOURS = (-2, -1, 1, 2)  # offsets of the neighbouring words
NEIGHBOURHOOD = 2  # a neighbour's counterpart is at most this far from that of the word itself
TEMPERATURE = 0.1  # of the softmax over cosines
LOWEST_PROBABILITY = LOWEST_NORM = 1e-6
NO_COSINE = -1.0  # where there is no second word, or no neighbour
PADDING = -1e4  # cosine with padding: its softmax is exactly 0

FEATURES = (
    "best cosine",
    "second-best cosine",
    "their difference",
    "best for each other",
    "log probability of alignment",  # softmax over either side, multiplied
    "position gap to the nearest word",
    "position gap to the most probable word",
    *(f"best cosine of the neighbour at {offset:+d}, near the counterpart" for offset in NEIGHBOURS),
    "norm",
    "norm by the mean of the side",
    "words that share the counterpart",
    "log length ratio",
    "log length",
    "same word on the other side",
    "no letter or digit",
    "has a digit",
    "begins with a capital",
    "pieces",
    "unknown to the encoder",
    "is in the target",
)


class WordTable(NamedTuple):
    """V words: of a static encoder the distinct ones, else every occurrence in its sentence."""

    vectors: Tensor  # (V, D) float32 of length one; 0 for an unknown word
    strings: Tensor  # (V,) int64, equal for equal words
    properties: Tensor  # (V, 6) float32: norm, and the features from "no letter or digit" on


def embed_words(encoder: Encoder, sentences: Sequence[Sentence], *, layer: int) -> tuple[WordTable, list[Tensor]]:
    """The words of the sentences, and the rows of each sentence in the table, int64.

    A word's vector is the sum of those of its pieces.

    Args:
        layer: hidden state of a transformer, 0 for its embedding table and for a static encoder.

    Raises:
        ValueError: the encoder has no word vectors.
    """
    numbers = {word: row for row, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
    sizes = [len(sentence) for sentence in sentences]
    strings = torch.tensor([numbers[word] for word in chain.from_iterable(sentences)], dtype=torch.int64)
    shapes = torch.tensor([_shape(word) for word in numbers])  # (words, 3)
    if isinstance(encoder, StaticEncoder):  # context changes nothing
        sums, counts = _table_sums(encoder, list(numbers))
        rows, strings = strings, torch.arange(len(numbers))
    else:
        sums, counts = _sums_in_context(encoder, sentences, sizes, layer)
        rows, shapes = torch.arange(len(strings)), shapes[strings]
    counts = counts.float()[:, None]
    properties = torch.cat([sums.norm(dim=1)[:, None], shapes, counts, (counts == 0).float()], dim=1)
    return WordTable(unit(sums), strings, properties), list(torch.split(rows, sizes))


def _table_sums(encoder: StaticEncoder, words: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Sums (V, D) of the vectors of each word's pieces, and the number (V,) of pieces."""
    ids, lengths = map(torch.from_numpy, flatten_ids(encoder.tokenize(words)))
    table = encoder.vectors.detach().float().cpu()
    return F.embedding_bag(ids, table, lengths.cumsum(0) - lengths, mode="sum"), lengths


def _sums_in_context(
    encoder: Encoder, sentences: Sequence[Sentence], sizes: Sequence[int], layer: int
) -> tuple[Tensor, Tensor]:
    """The same for every word of every sentence."""
    pieces = piece_vectors(encoder, sentences, layer=layer)
    starts = [0, *accumulate(sizes)]
    words = torch.cat([torch.from_numpy(of.words) + start for of, start in zip(pieces, starts, strict=False)])
    vectors = torch.cat([torch.from_numpy(of.vectors) for of in pieces])  # (P, D)
    sums = torch.zeros(starts[-1], vectors.size(1)).index_add_(0, words, vectors)
    return sums, torch.bincount(words, minlength=starts[-1])


def _shape(word: str) -> tuple[float, float, float]:
    return float(not any(map(str.isalnum, word))), float(any(map(str.isdigit, word))), float(word[:1].isupper())


def alignment_features(table: WordTable, sources: Sequence[Tensor], targets: Sequence[Tensor]) -> list[Tensor]:
    """Features of the words of N pairs.

    Args:
        sources: N times (S,) rows of the table, at least one each; pairs of similar length save time.
        targets: N times (T,), likewise.

    Returns:
        N times (S + T, F) float32: ``FEATURES`` of the source's words, then of the target's.
    """
    source, target = (pad_sequence(list(side), batch_first=True, padding_value=-1) for side in (sources, targets))
    masks = source >= 0, target >= 0
    rows = source.clamp(min=0), target.clamp(min=0)
    is_pair = masks[0][:, :, None] & masks[1][:, None, :]
    cosines = table.vectors[rows[0]] @ table.vectors[rows[1]].transpose(1, 2)  # (N, S, T)
    cosines = cosines.masked_fill(~is_pair, PADDING)
    scaled = cosines / TEMPERATURE
    probabilities = scaled.softmax(2) * scaled.softmax(1)
    same = (table.strings[rows[0]][:, :, None] == table.strings[rows[1]][:, None, :]) & is_pair
    features = []
    for side in (0, 1):
        lengths = [mask.sum(1).float() for mask in (masks[side], masks[1 - side])]
        properties = table.properties[rows[side]]  # (N, L, 6)
        norms, shapes = properties[..., 0], properties[..., 1:]
        columns = _side_features(
            cosines, probabilities, same, norms, mask=masks[side], lengths=lengths[0], other_lengths=lengths[1]
        )
        is_target = torch.full_like(norms, float(side))
        features.append(torch.cat([torch.stack(columns, 2), shapes, is_target[..., None]], dim=2))
        cosines, probabilities, same = (matrix.transpose(1, 2) for matrix in (cosines, probabilities, same))
    both = torch.cat(features, dim=1)[torch.cat(masks, dim=1)]
    return list(torch.split(both, [len(source) + len(target) for source, target in zip(sources, targets, strict=True)]))


def _side_features(
    cosines: Tensor,
    probabilities: Tensor,
    same: Tensor,
    norms: Tensor,
    *,
    mask: Tensor,
    lengths: Tensor,
    other_lengths: Tensor,
) -> list[Tensor]:
    """Features (N, L) of the words of one side, up to "same word on the other side".

    Args:
        cosines: (N, L, M) with the words of the other side.
        probabilities: (N, L, M) of alignment.
        same: (N, L, M) bool, equal words.
        norms: (N, L) of the words' vectors.
        mask: (N, L) bool.
        lengths: (N,) words of this side.
        other_lengths: (N,) words of the other.
    """
    size, other_size = cosines.shape[1:]
    best, nearest = cosines.max(2)  # (N, L)
    second = cosines.scatter(2, nearest[..., None], PADDING).amax(2).clamp(min=NO_COSINE)
    is_mutual = cosines.argmax(1).gather(1, nearest) == torch.arange(size)
    probability, most_probable = probabilities.max(2)
    position = torch.arange(size) / lengths[:, None]
    gaps = [(position - column / other_lengths[:, None]).abs() for column in (nearest, most_probable)]
    mean_norm = (norms * mask).sum(1) / lengths
    shared = torch.zeros(len(cosines), other_size).scatter_add_(1, nearest, mask.float()).gather(1, nearest)
    return [
        best,
        second,
        best - second,
        is_mutual.float(),
        probability.clamp(min=LOWEST_PROBABILITY).log(),
        *gaps,
        *_neighbours(cosines, nearest),
        norms,
        norms / mean_norm.clamp(min=LOWEST_NORM)[:, None],
        shared,
        (lengths / other_lengths).log()[:, None].expand_as(best),
        lengths.log()[:, None].expand_as(best),
        same.any(2).float(),
    ]


def _neighbours(cosines: Tensor, nearest: Tensor) -> list[Tensor]:
    """Best cosine (N, L) of each neighbour with a word near the counterpart of the word, by offset."""
    reach, size = max(NEIGHBOURS), cosines.size(1)
    padded = F.pad(cosines, (NEIGHBOURHOOD, NEIGHBOURHOOD, reach, reach), value=PADDING)
    near = nearest[..., None] + torch.arange(2 * NEIGHBOURHOOD + 1)  # (N, L, 5) columns of `padded`
    return [
        padded[:, reach + offset : reach + offset + size].gather(2, near).amax(2).clamp(min=NO_COSINE)
        for offset in NEIGHBOURS
    ]
