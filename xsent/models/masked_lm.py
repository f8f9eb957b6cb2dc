"""Masked language model that selects the best candidate word for a position in a sentence."""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from xsent.models.batching import batch_slices, hash_tensors, longest_first
from xsent.models.model_files import model_folder, quiet_transformers
from xsent.models.subwords import encode_words, rust_tokenizer

CPU_TOKENS, GPU_TOKENS = 1024, 32_768  # padded tokens of a batch, as for encoders
MAX_LOGITS = 2**26  # most numbers in the output of a batch; a large vocabulary needs small batches


class Blank(Protocol):
    """A word of a sentence to replace, and its candidates."""

    @property
    def words(self) -> tuple[str, ...]: ...  # the whole sentence

    @property
    def position(self) -> int: ...  # of the word to replace, 0-based

    @property
    def candidates(self) -> Collection[str]: ...  # lower-cased, without the word itself; may be empty


class MaskedSentence(NamedTuple):
    """A sentence with a mask; without ids where no prediction is possible."""

    ids: NDArray[np.int64]  # (T,)
    position: int  # of the mask


class MaskedLM:
    """Predicts a word of a sentence from the other words.

    Args:
        top: number of pieces predicted for a position, including pieces that are not words.
        max_length: tokens of a sentence, special ones included; truncated words get no prediction.

    Attributes:
        skipped: blanks so far with candidates but without a prediction: the word is not a single piece of the model,
            or was truncated.

    Raises:
        ValueError: a tokenizer without mask or without Rust backend, or ``top`` or ``max_length`` beyond the model.

    Source:
        Briakou and Carpuat 2020, section 3.2, lexical substitution; their release for what the model may predict.
    """

    def __init__(
        self, *, name: str, transformer: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, top: int, max_length: int
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
        self._backend.no_padding()  # a saved tokenizer may pad and truncate
        self._backend.no_truncation()
        special = set(tokenizer.all_special_ids)
        # Some tokenizers use other pieces for the first word of a sentence, which has no space before it.
        self._inner, self._first = (self._words_of_pieces(special, before=before) for before in ((",",), ()))
        # RoBERTa's config counts two positions that are not for tokens; its tokenizer has the true limit.
        limit = int(getattr(transformer.config, "max_position_embeddings", max_length))
        positions = min(limit, tokenizer.model_max_length)
        special_count = tokenizer.num_special_tokens_to_add()
        if not 1 <= top <= len(self._inner):
            raise ValueError(f"ranker.top={top}: expected 1 to {len(self._inner)}, the pieces of {name}")
        if not special_count < max_length <= positions:
            raise ValueError(f"ranker.max_length={max_length}: expected {special_count + 1} to {positions} for {name}")
        self._backend.enable_truncation(max_length)

    @classmethod
    def load(cls, *, name: str, path: str | None, revision: str | None, top: int, max_length: int) -> Self:
        """Load any masked language model of transformers that needs no code of its own.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: the checkpoint is not a masked language model, or an option does not fit it.
        """
        folder = str(model_folder(name, path=path, revision=revision, trust_remote_code=None, option="ranker"))
        model: Any
        with quiet_transformers():
            model, report = AutoModelForMaskedLM.from_pretrained(
                folder, dtype=torch.float32, trust_remote_code=False, output_loading_info=True
            )
        if missing := sorted(report["missing_keys"]):
            raise ValueError(f"{folder}: the checkpoint lacks {', '.join(missing)}: its predictions would be random")
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        return cls(name=name, transformer=model, tokenizer=tokenizer, top=top, max_length=max_length)

    def to(self, device: str | torch.device) -> Self:
        self.transformer.to(device)
        return self

    def digest(self) -> str:
        """Hex digest of weights, tokenizer and settings."""
        content = hashlib.sha256(self._backend.to_str().encode())
        content.update(json.dumps([self.top, self.mask_id, self.padding_id]).encode())
        hash_tensors(content, self.transformer.state_dict())
        return content.hexdigest()

    def choose(self, blanks: Sequence[Blank], *, progress: bool = False) -> list[str | None]:
        """Return the best predicted candidate of each blank; None if the model predicts none of them.

        Predictions are lower-cased whole words other than the word to replace.
        """
        chosen: list[str | None] = [None] * len(blanks)
        rows = [row for row, blank in enumerate(blanks) if blank.candidates]
        positions = [(blanks[row].words, blanks[row].position) for row in rows]
        self.skipped += len(rows)
        with tqdm(total=len(rows), desc=f"predicting with {self.name}", disable=not progress, unit=" words") as bar:
            for number, words in self._predictions(positions, bar):
                candidates = set(blanks[rows[number]].candidates)
                chosen[rows[number]] = next((word for word in words if word in candidates), None)
                self.skipped -= 1
        return chosen

    def predictions(self, words: Sequence[str], position: int) -> list[str]:
        """Words predicted for a position, best first; none for a word that is not a single piece of the model."""
        return dict(self._predictions([(words, position)], None)).get(0, [])

    def _predictions(
        self, positions: Sequence[tuple[Sequence[str], int]], bar: "tqdm[Any] | None"
    ) -> Iterator[tuple[int, list[str]]]:
        """Index and predicted words of each position that has predictions, in any order."""
        masked = self._mask(positions)
        lengths = np.array([len(ids) for ids, _ in masked], dtype=np.int64)
        order = longest_first(lengths)
        if bar is not None:
            bar.update(len(positions) - len(order))
        device = self.transformer.device
        budget = min(CPU_TOKENS if device.type == "cpu" else GPU_TOKENS, MAX_LOGITS // len(self._inner))
        for rows in batch_slices(lengths[order], budget):
            batch = order[rows].tolist()
            best = self._best_pieces([masked[row] for row in batch])
            for row, pieces in zip(batch, best, strict=True):
                words, position = positions[row]
                vocabulary = self._vocabulary(position)
                predicted = dict.fromkeys(word for piece in pieces if (word := vocabulary[piece]))
                predicted.pop(words[position].lower(), None)
                yield row, list(predicted)
            if bar is not None:
                bar.update(len(batch))

    def _mask(self, positions: Sequence[tuple[Sequence[str], int]]) -> list[MaskedSentence]:
        """Mask the word; no ids where it is not a single piece, or not a word."""
        result = []
        sentences = encode_words(self._backend, [words for words, _ in positions])
        for (ids, words), (_, position) in zip(sentences, positions, strict=True):
            pieces = (words == position).nonzero()[0]
            if len(pieces) == 1 and self._vocabulary(position)[ids[pieces[0]]]:
                result.append(MaskedSentence(np.where(words == position, self.mask_id, ids), int(pieces[0])))
            else:
                result.append(MaskedSentence(ids[:0], 0))
        return result

    def _best_pieces(self, batch: Sequence[MaskedSentence]) -> list[list[int]]:
        """Ids of the most probable pieces at the mask of each sentence."""
        device = self.transformer.device
        rows = [torch.from_numpy(sentence.ids) for sentence in batch]
        ids = pad_sequence(rows, batch_first=True, padding_value=self.padding_id)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        with torch.inference_mode():
            logits = self.transformer(input_ids=ids.to(device), attention_mask=mask.to(device)).logits  # (B, T, V)
            at_mask = logits[torch.arange(len(batch)), [sentence.position for sentence in batch], : len(self._inner)]
            best: list[list[int]] = at_mask.float().topk(self.top).indices.tolist()
        return best

    def _vocabulary(self, position: int) -> list[str]:
        return self._first if position == 0 else self._inner

    def _words_of_pieces(self, special: set[int], *, before: tuple[str, ...]) -> list[str]:
        """The lower-cased word that each piece is; empty for parts of words, special tokens and punctuation.

        A piece is a word if its text, placed after the words ``before``, is tokenized to this piece alone. This holds
        for every way in which tokenizers mark the beginning of words.
        """
        pieces = range(self._backend.get_vocab_size())
        texts = self._backend.decode_batch([[piece] for piece in pieces], skip_special_tokens=False)
        sentences = [(*before, text.strip()) for text in texts]
        context_length = len(self._backend.encode(" ".join(before)).ids)  # special tokens included
        result = []
        for piece, (ids, words) in zip(pieces, encode_words(self._backend, sentences), strict=True):
            word = texts[piece].strip().lower()
            is_word = len(ids) == context_length + 1 and ids[words == len(before)].tolist() == [piece]
            result.append(word if is_word and piece not in special and any(map(str.isalpha, word)) else "")
        return result
