"""A pretrained transformer with its own tokenizer as a sentence encoder."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import normalizers
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from xsent.batch import Tokens
from xsent.models.hub import model_folder
from xsent.models.pooled_encoder import POOLER, PooledEncoder
from xsent.models.sentence_transformers_folder import (
    POOLINGS,
    FolderSettings,
    fits_folder,
    read_folder,
    write_folder,
)

log = logging.getLogger(__name__)


class SentenceEncoder(PooledEncoder):
    """A pretrained transformer as a sentence encoder.

    Args:
        name: for tables and messages.
        transformer: gives token embeddings.
        tokenizer: of the same checkpoint.
        pooling: names of ``POOLING`` or ``pooler``; several are concatenated.
        projection: maps the pooled vector; an empty ``nn.Sequential`` does nothing.
        prompt: put before every sentence.
        max_length: tokens, special ones included, after which a sentence is cut.
        normalize: whether vectors get length one.

    Attributes:
        nothing: ids of a text without a word: those of prompt and special tokens.

    Raises:
        ValueError: an unknown pooling, a pooler that the architecture lacks, an impossible ``max_length``.
    """

    def __init__(
        self,
        *,
        name: str,
        transformer: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pooling: Sequence[str],
        projection: nn.Sequential,
        prompt: str,
        max_length: int,
        normalize: bool,
    ) -> None:
        super().__init__(
            name=name,
            transformer=transformer,
            pooling=pooling,
            projection=projection,
            max_length=max_length,
            normalize=normalize,
        )
        self.tokenizer = tokenizer
        self.prompt = prompt
        self.padding_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        # The Rust tokenizer gives the ids of a call of the wrapper, several times as fast.
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        if self._backend is not None:
            self._backend.enable_truncation(max_length)
            self._backend.no_padding()
        self.nothing = self.all_ids([""])[0]
        if len(self.nothing) >= max_length:
            raise ValueError(
                f"encoder.max_length={max_length}: prompt and special tokens alone take {len(self.nothing)}"
            )

    @classmethod
    def load(
        cls,
        *,
        name: str,
        path: str | None,
        revision: str | None,
        pooling: str | None,
        projection: int | None,
        prompt: str | None,
        max_length: int | None,
        normalize: bool | None,
        trust_remote_code: bool,
    ) -> SentenceEncoder:
        """Load a checkpoint of transformers or a folder of sentence-transformers.

        Args:
            name: hub id; for tables and messages, too.
            path: local folder, beats ``name``.
            revision: commit, tag or branch of the hub.
            pooling: ``cls``, ``pooler``, ``mean`` or ``max``. None takes Pooling, Dense and Normalize from
                ``modules.json``; with a value the folder's transformer alone is used.
            projection: size of a linear layer to be trained after the pooling; None is no such layer.
            prompt: put before every sentence; None is the folder's default prompt, if it has one.
            max_length: tokens of a sentence; None is the folder's value or the most that the model takes.
            normalize: whether vectors get length one; None takes that from ``modules.json``.
            trust_remote_code: whether the model may run Python code of its own.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: random weights would be used, or an option does not fit the model.
        """
        folder = model_folder(name, path=path, revision=revision, trust_remote_code=trust_remote_code)
        settings = read_folder(folder)
        if pooling is None and settings is None:
            raise ValueError(f"{folder}: has no modules.json, so encoder.pooling must be given")
        if normalize is None and settings is None:
            raise ValueError(f"{folder}: has no modules.json, so encoder.normalize must be true or false")
        where = settings.transformer if settings else folder
        ways = (pooling,) if pooling is not None else settings.pooling if settings else ()
        transformer = _load_transformer(str(where), name, ways, trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(str(where), trust_remote_code=trust_remote_code)
        if settings and settings.lowercase:
            _lowercase(tokenizer, name)
        of_folder = settings if pooling is None else None
        layers = of_folder.projection if of_folder else nn.Sequential()
        before = of_folder.token_projection if of_folder else None
        if projection is not None:
            linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
            width = before.out_features if before is not None else transformer.config.hidden_size
            size = linear[-1].out_features if linear else width * len(ways)
            layers.append(nn.Linear(size, projection))
        encoder = cls(
            name=name,
            transformer=transformer,
            tokenizer=tokenizer,
            pooling=ways,
            projection=layers,
            prompt=prompt if prompt is not None else settings.prompt if settings else "",
            max_length=_length(max_length, settings, transformer, tokenizer, name),
            normalize=normalize if normalize is not None else bool(settings and settings.normalize),
        )
        if before is not None:
            encoder.token_projection = before
            encoder.dim = encoder.dim if len(layers) else before.out_features * len(ways)
        return encoder.eval()

    # ---- files

    @property
    def has_files(self) -> bool:  # type: ignore[override]
        """Whether ``save`` can: a folder has no place for changed text, a pooler or some projections."""
        return (
            self.preprocessing == "none"
            and set(self.pooling) <= set(POOLINGS.values())
            and fits_folder(self.projection)
        )

    def save(self, folder: Path) -> None:
        """Write what ``load`` reads: transformer, tokenizer, and the folders of sentence-transformers for the rest.

        Raises:
            ValueError: the encoder does something that such a folder has no place for.
        """
        if not self.has_files:
            raise ValueError(f"{self.name}: a folder has no place for its pooling, its preprocessing or its projection")
        self.transformer.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        before = self.token_projection
        write_folder(
            folder,
            token_projection=before,
            pooling=self.pooling,
            size=self.transformer.config.hidden_size if before is None else before.out_features,
            projection=self.projection,
            normalize=self.normalize,
            prompt=self.prompt,
            max_length=self.max_length,
        )

    # ---- text to ids

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        texts = self.preprocessed(sentences)
        # Special tokens and prompt alone say nothing: such a sentence has no vector.
        return [
            ids if text.strip() and ids != self.nothing else []
            for text, ids in zip(texts, self.all_ids(texts), strict=True)
        ]

    def all_ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids of prompt and sentence, truncated, of a sentence that says nothing, too."""
        texts = [self.prompt + sentence for sentence in sentences]
        if self._backend is not None:
            return [encoding.ids for encoding in self._backend.encode_batch_fast(texts)]
        ids: list[list[int]] = self.tokenizer(texts, truncation=True, max_length=self.max_length)["input_ids"]
        return ids

    @contextmanager
    def _cutting_nothing(self) -> Iterator[None]:
        if self._backend is None:
            with super()._cutting_nothing():
                yield
            return
        self._backend.no_truncation()
        try:
            yield
        finally:
            self._backend.enable_truncation(self.max_length)

    def tokenizer_digest(self) -> str:
        if self._backend is not None:
            vocabulary = self._backend.to_str()
        else:
            vocabulary = json.dumps(self.tokenizer.get_vocab(), sort_keys=True)
        content = [type(self.tokenizer).__name__, vocabulary, self.prompt, self.max_length]
        if self.preprocessing != "none":
            content.append(self.preprocessing)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def settings(self) -> dict[str, object]:
        return super().settings() | {"prompt": self.prompt}

    # ---- ids to vectors

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask
        # Whoever padded the batch may have taken any id; positions of some models depend on the right one.
        return self._vectors(mask, mask, input_ids=tokens.input_ids.masked_fill(mask == 0, self.padding_id))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        tokens = self._pad(ids, lengths)
        # Without padding the transformer needs no mask, and is faster without.
        attention_mask = tokens.attention_mask if len(ids) < tokens.input_ids.numel() else None
        return self._vectors(attention_mask, tokens.attention_mask, input_ids=tokens.input_ids)

    @property
    def word_vectors(self) -> nn.Parameter:
        return cast(nn.Parameter, self.transformer.get_input_embeddings().weight)


def longest_input(transformer: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """The most tokens that a transformer takes at once, special ones included.

    As many as it has positions for; one that has no table of them takes what its tokenizer says, if that says it.
    """
    positions = getattr(transformer.config, "max_position_embeddings", None)
    limit = int(positions) if positions and positions > 0 else int(tokenizer.model_max_length)
    # The RoBERTa family counts positions from the padding id on.
    table = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return limit if padding is None else limit - int(padding) - 1


def _load_transformer(folder: str, name: str, pooling: Sequence[str], trust_remote_code: bool) -> PreTrainedModel:
    transformer: Any
    transformer, report = AutoModel.from_pretrained(
        folder, dtype=torch.float32, trust_remote_code=trust_remote_code, output_loading_info=True
    )
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    log.info("%s: weights missing: %s; not used: %s", name, _few(missing), _few(unexpected))
    needed = [key for key in missing if "pooler" not in key or POOLER in pooling]
    if needed:
        hint = "; choose encoder.pooling=cls or mean" if POOLER in pooling else ""
        raise ValueError(f"{folder}: the checkpoint lacks {_few(needed)}: they would be random{hint}")
    return transformer  # type: ignore[no-any-return]


def _length(
    wanted: int | None,
    settings: FolderSettings | None,
    transformer: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
) -> int:
    limit = longest_input(transformer, tokenizer)
    if wanted is not None and wanted > limit:
        raise ValueError(f"encoder.max_length={wanted}: {name} takes at most {limit} tokens")
    stated = settings.max_length if settings else None
    return wanted or min(stated or int(tokenizer.model_max_length), limit)


def _lowercase(tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(f"{name}: do_lower_case needs a tokenizer of the Rust kind")
    steps: list[Any] = [normalizers.Lowercase()]
    if backend.normalizer is not None:
        steps.append(backend.normalizer)
    backend.normalizer = normalizers.Sequence(steps)


def _few(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:6]) or "none"
    return f"{shown} and {len(keys) - 6} more" if len(keys) > 6 else shown
