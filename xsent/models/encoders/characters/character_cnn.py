"""Character CNN of CharacterBERT: word vectors from bytes; El Boukkouri et al. 2020 (arXiv:2010.10392)."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Ids: 0 is unused, a byte b of UTF-8 is b + 1, and there are five marks.
BEGIN_OF_SENTENCE, END_OF_SENTENCE, BEGIN_OF_WORD, END_OF_WORD, PADDING = 257, 258, 259, 260, 261
VOCABULARY_SIZE = 263  # with the id of [MASK], which sentences never have
CHARACTER_DIM = 16
MAX_WORD_LENGTH = 50  # ids of a word, its two marks included
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))  # width, number
WIDEST = FILTERS[-1][0]
HIGHWAYS = 2


def word_ids(word: str) -> list[int]:
    """Ids of a word's bytes between two marks; a word is truncated after 48 bytes."""
    return [BEGIN_OF_WORD, *(byte + 1 for byte in word.encode()[: MAX_WORD_LENGTH - 2]), END_OF_WORD]


class CharacterCnn(nn.Module):
    """Word vectors: convolutions over characters, max-pooling, two highway layers, a linear map.

    Args:
        dim: size D of a word vector.

    Source:
        Peters et al. 2018 (arXiv:1802.05365), the character encoder of ELMo; sizes and ReLU as in CharacterBERT.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        size = sum(number for _, number in FILTERS)
        self.characters = nn.Embedding(VOCABULARY_SIZE, CHARACTER_DIM)
        self.convolutions = nn.ModuleList(nn.Conv1d(CHARACTER_DIM, number, width) for width, number in FILTERS)
        self.highways = nn.ModuleList(nn.Linear(size, 2 * size) for _ in range(HIGHWAYS))
        self.projection = nn.Linear(size, dim)

    def forward(self, words: Tensor) -> Tensor:
        """Vectors (V, D) of words (V, C), C at most 50, padded with ``PADDING``.

        As published, windows that reach into the padding count in the maxima. A word's vector is therefore the
        published one if C is 50, or if at least ``WIDEST`` ids of padding follow the longest word.
        """
        characters = self.characters(words).transpose(1, 2)  # (V, 16, C)
        x = torch.cat([F.relu(convolution(characters).amax(dim=2)) for convolution in self.convolutions], dim=1)
        for highway in self.highways:
            transformed, gate = highway(x).chunk(2, dim=1)
            gate = torch.sigmoid(gate)
            x = gate * x + (1 - gate) * F.relu(transformed)
        vectors: Tensor = self.projection(x)
        return vectors


class WordBatch(NamedTuple):
    """The words of B sentences; V distinct words, at most W words in a sentence."""

    distinct: Tensor  # (V, C) ids, padded with PADDING
    rows: Tensor  # (B, W) row of each word in ``distinct``, 0 on padding
    mask: Tensor  # (B, W) int64, 1 on words


def split_words(ids: Tensor, lengths: Tensor) -> WordBatch:
    """Split concatenated character ids into words.

    Args:
        ids: (M,), at least one; each word begins with ``BEGIN_OF_WORD``.
        lengths: (B,) ids of each sentence, of sum M.
    """
    begins = ids == BEGIN_OF_WORD  # (M,)
    starts = begins.nonzero().squeeze(1)  # (number of words,)
    word = begins.cumsum(0) - 1  # (M,)
    offset = torch.arange(len(ids), device=ids.device) - starts[word]  # within the word
    # The fewest columns that leave the vectors unchanged: most of a word's 50 ids are padding.
    width = min(MAX_WORD_LENGTH, int(offset.max()) + 1 + WIDEST)
    padded = ids.new_full((len(starts), width), PADDING)
    padded[word, offset] = ids
    distinct, row = torch.unique(padded, dim=0, return_inverse=True)
    sentence = torch.repeat_interleave(torch.arange(len(lengths), device=ids.device), lengths)[starts]
    counts = torch.bincount(sentence, minlength=len(lengths))  # words of each sentence
    mask = torch.arange(int(counts.max()), device=ids.device) < counts[:, None]
    rows = row.new_zeros(mask.shape)
    rows[mask] = row
    return WordBatch(distinct, rows, mask.long())
