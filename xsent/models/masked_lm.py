"""A masked language model that says which of some words fits a place in a sentence."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from xsent.models.encoder import batches, longest_first, tensor_bytes
from xsent.models.hub import model_folder
from xsent.models.word_pieces import rust_tokenizer, word_pieces

log = logging.getLogger(__name__)

CPU_TOKENS, GPU_TOKENS = 1024, 32_768  # padded tokens of a batch, as of encoders
LOGITS = 2**26  # numbers that a batch may give at most: a large vocabulary asks for small batches


class Blank(Protocol):
    """A word of a sentence that is to give way, and what may take its place."""

    @property
    def words(self) -> tuple[str, ...]:
        """The whole sentence, the word that gives way included."""
        ...

    @property
    def position(self) -> int:
        """Of that word, 0-based."""
        ...

    @property
    def candidates(self) -> Collection[str]:
        """Lower-cased words, never the word itself; may be empty."""
        ...


class MaskedLM:
    """Predicts a word of a sentence from the others.

    Args:
        name: for tables and messages.
        transformer: a masked language model.
        tokenizer: of the same checkpoint.
        top: how many pieces are predicted for a place, those that are no word included.
        max_length: tokens of a sentence, special ones included; nothing is predicted for what is cut off.

    Attributes:
        skipped: how many blanks so far had candidates and no prediction: the word is not one piece of the model, or
            was cut off.

    Raises:
        ValueError: a tokenizer without mask or of another kind, or ``top`` or ``max_length`` beyond the model.

    Source:
        Briakou and Carpuat 2020, section 3, lexical substitution; their release for what the model may predict.
    """

    def __init__(
        self,
        *,
        name: str,
        transformer: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        top: int,
        max_length: int,
    ) -> None:
        self.name = name
        self.transformer = transformer.train(False)
        self.top = top
        self.skipped = 0
        if tokenizer.mask_token_id is None:
            raise ValueError(f"ranker {name}: expected a masked language model, its tokenizer has no mask")
        self.mask_id = int(tokenizer.mask_token_id)
        self.padding_id = int(tokenizer.pad_token_id) if tokenizer.pad_token_id is not None else 0
        self._backend = rust_tokenizer(tokenizer, name)
        self._backend.no_padding()  # a saved tokenizer may pad and cut
        self._backend.no_truncation()
        special = set(tokenizer.all_special_ids)
        # Where no space is before a word, at the start of a sentence, some tokenizers have other pieces.
        self._inner, self._first = (self._words_of_pieces(special, before=before) for before in ((",",), ()))
        # Of the RoBERTa family the tokenizer knows the limit: two of its positions are for other purposes.
        positions = min(
            int(getattr(transformer.config, "max_position_embeddings", max_length)), tokenizer.model_max_length
        )
        taken = tokenizer.num_special_tokens_to_add()
        if not 1 <= top <= len(self._inner):
            raise ValueError(f"ranker.top={top}: expected 1 to {len(self._inner)}, the pieces of {name}")
        if not taken < max_length <= positions:
            raise ValueError(f"ranker.max_length={max_length}: {name} takes {taken + 1} to {positions}")
        self._backend.enable_truncation(max_length)

    @classmethod
    def load(cls, *, name: str, path: str | None, revision: str | None, top: int, max_length: int) -> MaskedLM:
        """Load any masked language model of transformers, without code of its own.

        Args:
            name: hub id; for messages, too.
            path: local folder, beats ``name``.
            revision: commit, tag or branch of the hub.
            top, max_length: as of the class.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: the checkpoint is no masked language model, or an option does not fit it.
        """
        folder = str(model_folder(name, path=path, revision=revision, trust_remote_code=None, option="ranker"))
        transformer: Any
        transformer, report = AutoModelForMaskedLM.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True
        )
        missing = sorted(report["missing_keys"])
        if missing:
            raise ValueError(f"{folder}: the checkpoint lacks {', '.join(missing)}: its predictions would be random")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        return cls(name=name, transformer=transformer, tokenizer=tokenizer, top=top, max_length=max_length)

    def to(self, device: str | torch.device) -> Self:
        """Compute there from now on."""
        self.transformer.to(device)
        return self

    def digest(self) -> str:
        """Hex digest of weights, tokenizer and settings."""
        content = hashlib.sha256(self._backend.to_str().encode())
        content.update(json.dumps([self.top, self.mask_id, self.padding_id]).encode())
        for part in tensor_bytes(self.transformer.state_dict()):
            content.update(part)
        return content.hexdigest()

    def choose(self, blanks: Sequence[Blank], *, progress: bool = False) -> list[str | None]:
        """For each blank the candidate that the model predicts first; None if it predicts none of them.

        Predictions are lower-cased; only whole words count, and never the word that gives way. A word that is not one
        piece of the model gets no prediction.
        """
        chosen: list[str | None] = [None] * len(blanks)
        open_ones = [number for number, blank in enumerate(blanks) if blank.candidates]
        wanted = [(blanks[number].words, blanks[number].position) for number in open_ones]
        self.skipped += len(wanted)
        with tqdm(total=len(wanted), desc=f"asking {self.name}", disable=not progress, unit=" words") as bar:
            for row, words in self._predictions(wanted, bar):
                number = open_ones[row]
                candidates = set(blanks[number].candidates)
                chosen[number] = next((word for word in words if word in candidates), None)
                self.skipped -= 1
        return chosen

    def predictions(self, words: Sequence[str], position: int) -> list[str]:
        """The words that the model predicts for a place, best first; none for a word that is not one piece of it."""
        found = dict(self._predictions([(words, position)], None))
        return found.get(0, [])

    def _predictions(
        self, places: Sequence[tuple[Sequence[str], int]], bar: tqdm[Any] | None
    ) -> Iterator[tuple[int, list[str]]]:
        """Number and predicted words of each place that has predictions, in any order."""
        masked = self._masked([words for words, _ in places], [position for _, position in places])
        lengths = np.array([len(ids) for ids, _ in masked], dtype=np.int64)
        order = longest_first(lengths)
        if bar is not None:
            bar.update(len(places) - len(order))
        device = self.transformer.device
        budget = min(CPU_TOKENS if device.type == "cpu" else GPU_TOKENS, LOGITS // len(self._inner))
        for rows in batches(lengths[order], budget):
            batch = order[rows].tolist()
            best = self._best([masked[row] for row in batch])
            for row, pieces in zip(batch, best, strict=True):
                words, position = places[row]
                predicted = dict.fromkeys(word for piece in pieces if (word := self._words_at(position)[piece]))
                predicted.pop(words[position].lower(), None)
                yield row, list(predicted)
            if bar is not None:
                bar.update(len(batch))

    def _masked(self, sentences: list[Sequence[str]], positions: list[int]) -> list[Masked]:
        """Sentences with a mask for the word; empty where the word is not one piece, or a sign."""
        result = []
        for (ids, words), position in zip(word_pieces(self._backend, sentences), positions, strict=True):
            where = (words == position).nonzero()[0]
            if len(where) == 1 and self._words_at(position)[ids[where[0]]]:
                result.append(Masked(np.where(words == position, self.mask_id, ids), int(where[0])))
            else:
                result.append(Masked(ids[:0], 0))
        return result

    def _best(self, batch: Sequence[Masked]) -> list[list[int]]:
        """Ids of the most probable pieces at the mask of each sentence."""
        device = self.transformer.device
        ids = torch.nn.utils.rnn.pad_sequence(
            [torch.from_numpy(sentence.ids) for sentence in batch], batch_first=True, padding_value=self.padding_id
        )
        lengths = torch.tensor([len(sentence.ids) for sentence in batch])
        mask = (torch.arange(ids.size(1)) < lengths[:, None]).long()
        with torch.inference_mode():
            logits = self.transformer(input_ids=ids.to(device), attention_mask=mask.to(device)).logits  # (B, T, V)
            at_mask = logits[torch.arange(len(batch)), [sentence.place for sentence in batch], : len(self._inner)]
            best: list[list[int]] = at_mask.float().topk(self.top).indices.tolist()
        return best

    def _words_at(self, position: int) -> list[str]:
        return self._first if position == 0 else self._inner

    def _words_of_pieces(self, special: set[int], *, before: tuple[str, ...]) -> list[str]:
        """The lower-cased word that each piece is; empty for one that begins, continues or ends a word, or is a sign.

        A piece is a word if its text, as a word of a sentence behind the words ``before``, is cut into this piece and
        nothing else. That holds whatever the tokenizer's way of marking where words begin.
        """
        pieces = range(self._backend.get_vocab_size())
        texts = self._backend.decode_batch([[piece] for piece in pieces], skip_special_tokens=False)
        sentences = [(*before, text.strip()) for text in texts]
        bare = len(self._backend.encode(" ".join(before)).ids)  # special pieces included
        result = []
        for piece, (ids, words) in zip(pieces, word_pieces(self._backend, sentences), strict=True):
            word = texts[piece].strip().lower()
            own = ids[words == len(before)].tolist()
            whole = len(ids) == bare + 1 and own == [piece] and piece not in special
            result.append(word if whole and any(map(str.isalpha, word)) else "")
        return result


class Masked(NamedTuple):
    """A sentence with a mask; no ids at all where nothing is to be predicted."""

    ids: NDArray[np.int64]  # (T,)
    place: int  # of the mask
