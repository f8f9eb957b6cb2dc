"""A word's vector from its characters, as CharacterBERT has it: El Boukkouri et al. 2020 (arXiv:2010.10392)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Ids: 0 for what is no character, a byte b of UTF-8 is b + 1, and five more.
BEGIN_OF_SENTENCE, END_OF_SENTENCE, BEGIN_OF_WORD, END_OF_WORD, PADDING = 257, 258, 259, 260, 261
CHARACTERS = 263  # with the id of [MASK], which sentences do not have
CHARACTER_DIM = 16
LONGEST_WORD = 50  # ids of a word, its two marks included
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))  # width, number
WIDEST = FILTERS[-1][0]
HIGHWAYS = 2


def word_ids(word: str) -> list[int]:
    """Ids of a word's bytes between two marks; a word of more than 48 bytes is cut."""
    return [BEGIN_OF_WORD, *(byte + 1 for byte in word.encode()[: LONGEST_WORD - 2]), END_OF_WORD]


class CharacterCnn(nn.Module):
    """Vectors of words: convolutions over characters, their maxima, two highway layers, a linear map.

    Args:
        dim: size D of a word's vector.

    Source:
        Peters et al. 2018 (arXiv:1802.05365), the character encoder of ELMo; sizes and ReLU as in CharacterBERT.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        total = sum(number for _, number in FILTERS)
        self.characters = nn.Embedding(CHARACTERS, CHARACTER_DIM)
        self.convolutions = nn.ModuleList(nn.Conv1d(CHARACTER_DIM, number, width) for width, number in FILTERS)
        self.highways = nn.ModuleList(nn.Linear(total, 2 * total) for _ in range(HIGHWAYS))
        self.projection = nn.Linear(total, dim)

    def forward(self, words: Tensor) -> Tensor:
        """Vectors (V, D) of words (V, C) of at most 50 ids, padded with ``PADDING``.

        As published, windows that reach into the padding count in the maxima. So a word's vector is that of its 50 ids
        if C is 50, or if there are ``WIDEST`` or more ids of padding behind the longest word.
        """
        characters = self.characters(words).transpose(1, 2)  # (V, 16, C)
        x = torch.cat([F.relu(convolution(characters).amax(dim=2)) for convolution in self.convolutions], dim=1)
        for highway in self.highways:
            changed, gate = highway(x).chunk(2, dim=1)
            gate = torch.sigmoid(gate)
            x = gate * x + (1 - gate) * F.relu(changed)
        vectors: Tensor = self.projection(x)
        return vectors


class WordLayout(NamedTuple):
    """The words of B sentences, V of them distinct, W in the longest sentence."""

    distinct: Tensor  # (V, C) ids, padded with PADDING
    which: Tensor  # (B, W) rows of ``distinct``, 0 behind a sentence's end
    mask: Tensor  # (B, W) int64, 1 on words


def lay_out(ids: Tensor, lengths: Tensor) -> WordLayout:
    """Find the words in the characters of sentences.

    Args:
        ids: (M,), at least one, of all words of all sentences one after the other; each word begins with its mark.
        lengths: (B,) ids of each sentence, of sum M.
    """
    begins = ids == BEGIN_OF_WORD  # (M,)
    starts = begins.nonzero().squeeze(1)  # (number of words,)
    word = begins.cumsum(0) - 1  # (M,)
    place = torch.arange(len(ids), device=ids.device) - starts[word]  # within the word
    # Of a word's 50 ids mostly padding: as few as leave its vector the same.
    width = min(LONGEST_WORD, int(place.max()) + 1 + WIDEST)
    rows = ids.new_full((len(starts), width), PADDING)
    rows[word, place] = ids
    distinct, row = torch.unique(rows, dim=0, return_inverse=True)
    sentence = torch.repeat_interleave(torch.arange(len(lengths), device=ids.device), lengths)[starts]
    counts = torch.bincount(sentence, minlength=len(lengths))  # words of each sentence
    mask = torch.arange(int(counts.max()), device=ids.device) < counts[:, None]
    which = row.new_zeros(mask.shape)
    which[mask] = row
    return WordLayout(distinct, which, mask.long())
