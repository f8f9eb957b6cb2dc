"""Pretrained transformer with its own tokenizer as a sentence encoder."""

import copy
import hashlib
import inspect
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import torch
from tokenizers import normalizers
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from xsent.batch import Tokens
from xsent.models.encoders.pooled import POOLER, PooledEncoder
from xsent.models.encoders.sentence_transformers_folder import (
    POOLINGS,
    SENTENCES,
    TOKENS,
    FolderSettings,
    FolderWriter,
    fits_folder,
    read_folder,
)
from xsent.models.model_files import model_folder, quiet_transformers

log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False, repr=False)
class SentenceEncoder(PooledEncoder):
    """A pretrained transformer as a sentence encoder."""

    tokenizer: PreTrainedTokenizerBase  # of the transformer's checkpoint
    prompt: str  # put before every sentence
    empty_ids: list[int] = field(init=False)  # of the empty sentence: prompt and special tokens

    def __post_init__(self) -> None:
        super().__post_init__()
        self.padding_id = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else 0
        # The Rust tokenizer gives the same ids as the Python wrapper, several times as fast.
        self._backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if self._backend is not None:
            self._backend.enable_truncation(self.max_length)
            self._backend.no_padding()
        self.empty_ids = self.prompted_ids([""])[0]
        if (length := len(self.empty_ids)) >= self.max_length:
            raise ValueError(f"encoder.max_length={self.max_length}: prompt and special tokens alone take {length}")

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
    ) -> Self:
        """Load a checkpoint of transformers or a folder of sentence-transformers.

        Args:
            name, path, revision: as in ``model_folder``.
            pooling: ``cls``, ``pooler``, ``mean`` or ``max``; only the folder's transformer is then used. None:
                Pooling, Dense and Normalize as in ``modules.json``.
            projection: size of a linear layer to train after the pooling; None: no such layer.
            prompt: put before every sentence; None: the folder's default prompt, if it has one.
            max_length: tokens of a sentence; None: the folder's value, or the model's limit.
            normalize: whether vectors get length one; None: as in ``modules.json``.
            trust_remote_code: whether the model may run Python code of its own.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: weights would be random, or an option does not fit the model.
        """
        folder = model_folder(name, path=path, revision=revision, trust_remote_code=trust_remote_code)
        settings = read_folder(folder)
        if settings is None:
            if pooling is None:
                raise ValueError(f"{folder}: has no modules.json, so encoder.pooling must be given")
            if normalize is None:
                raise ValueError(f"{folder}: has no modules.json, so encoder.normalize must be true or false")
            settings = FolderSettings(folder, None, (), nn.Sequential(), normalize, "", None, lowercase=False)
        poolings = settings.pooling if pooling is None else (pooling,)
        layers = settings.projection if pooling is None else nn.Sequential()
        token_projection = settings.token_projection if pooling is None else None
        transformer = _load_transformer(str(settings.transformer), name, poolings, trust_remote_code)
        tokenizer = AutoTokenizer.from_pretrained(str(settings.transformer), trust_remote_code=trust_remote_code)
        vocabularies = list(tokenizer.vocab_files_names.values())
        if not any((settings.transformer / file).is_file() for file in vocabularies):  # transformers makes an empty one
            raise FileNotFoundError(f"{settings.transformer}: expected a tokenizer, {' or '.join(vocabularies)}")
        if settings.lowercase:
            _lowercase(tokenizer, name)
        limit = max_input_length(transformer, tokenizer)
        if max_length is not None and max_length > limit:
            raise ValueError(f"encoder.max_length={max_length}: expected at most {limit} tokens for {name}")
        if projection is not None:
            linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
            width = transformer.config.hidden_size if token_projection is None else token_projection.out_features
            layers.append(nn.Linear(linear[-1].out_features if linear else width * len(poolings), projection))
        encoder = cls(
            name=name,
            transformer=transformer,
            tokenizer=tokenizer,
            pooling=poolings,
            projection=layers,
            prompt=settings.prompt if prompt is None else prompt,
            max_length=max_length or min(settings.max_length or int(tokenizer.model_max_length), limit),
            normalize=settings.normalize if normalize is None else normalize,
        )
        if token_projection is not None:
            encoder.token_projection = token_projection
            encoder.dim = encoder.dim if len(layers) else token_projection.out_features * len(poolings)
        return encoder.eval()

    @property
    def can_save(self) -> bool:  # type: ignore[override]
        """Whether ``save`` can write the encoder: the format has no preprocessing, pooler and unusual projections."""
        return self.preprocessing == "none" and set(self.pooling) <= set(POOLINGS) and fits_folder(self.projection)

    def save(self, folder: Path) -> None:
        """Write a sentence-transformers folder, which ``load`` reads.

        Raises:
            ValueError: the format cannot represent the encoder.
        """
        if not self.can_save:
            raise ValueError(
                f"{self.name}: the folder format of sentence-transformers cannot represent its pooling, its"
                " preprocessing or its projection"
            )
        folder.mkdir(parents=True, exist_ok=True)
        writer = FolderWriter(folder)
        self.write_modules(writer)
        if self.normalize:
            writer.add_normalize()
        writer.finish(self.prompt)

    def write_modules(self, writer: FolderWriter) -> None:
        """Write transformer, tokenizer, pooling and projections in float32; a pooler becomes a Dense module."""
        transformer: Any = self.transformer
        if any(value.dtype != torch.float32 for value in transformer.parameters()):
            transformer = copy.deepcopy(transformer).float()
        with quiet_transformers():
            transformer.save_pretrained(writer.folder)
        tokenizer = copy.deepcopy(self.tokenizer)
        tokenizer.padding_side = "right"  # as in `collate`
        tokenizer.save_pretrained(writer.folder)
        has_option = "add_pooling_layer" in inspect.signature(type(transformer)).parameters
        without_pooler = has_option and POOLER not in self.pooling
        writer.add_transformer(self.max_length, without_pooler=without_pooler)
        size = self.transformer.config.hidden_size
        if self.token_projection is not None:
            writer.add_dense(self.token_projection, nn.Identity(), TOKENS)
            size = self.token_projection.out_features
        pooler = self.pooler_dense() if POOLER in self.pooling else None
        writer.add_pooling(self.pooling if pooler is None else ("cls",), size)
        if pooler is not None:
            writer.add_dense(pooler, nn.Tanh(), SENTENCES)
        writer.add_layers(self.projection)

    def pooler_dense(self) -> nn.Linear | None:
        """The linear layer of a pooler that consists of it and tanh; None for another pooler."""
        pooler = self.transformer.pooler
        dense, activation = getattr(pooler, "dense", None), getattr(pooler, "activation", None)
        return dense if isinstance(dense, nn.Linear) and isinstance(activation, nn.Tanh) else None

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        texts = self.preprocess(sentences)
        return [
            ids if text.strip() and ids != self.empty_ids else []
            for text, ids in zip(texts, self.prompted_ids(texts), strict=True)
        ]

    def prompted_ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Ids of prompt, sentence and special tokens, truncated, also for an empty sentence."""
        texts = [self.prompt + sentence for sentence in sentences]
        if self._backend is not None:
            return [encoding.ids for encoding in self._backend.encode_batch_fast(texts)]
        ids: list[list[int]] = self.tokenizer(texts, truncation=True, max_length=self.max_length)["input_ids"]
        return ids

    def to_pieces(self, sentences: Sequence[str]) -> list[list[str]]:
        """Pieces of each sentence, whole, without prompt and special tokens."""
        texts = list(self.preprocess(sentences))
        if self._backend is None:
            return [self.tokenizer.tokenize(text) for text in texts]
        with self._without_truncation():
            return [encoding.tokens for encoding in self._backend.encode_batch(texts, add_special_tokens=False)]

    @contextmanager
    def _without_truncation(self) -> Iterator[None]:
        if self._backend is None:
            with super()._without_truncation():
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

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask
        # The batch may be padded with any id; positions of some models depend on the right one.
        return self._pool_outputs(mask, mask, input_ids=tokens.input_ids.masked_fill(mask == 0, self.padding_id))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        tokens = self._pad(ids, lengths)
        # Without padding the transformer is faster without a mask.
        attention_mask = tokens.attention_mask if len(ids) < tokens.input_ids.numel() else None
        return self._pool_outputs(attention_mask, tokens.attention_mask, input_ids=tokens.input_ids)

    @property
    def word_vectors(self) -> nn.Parameter:
        return cast(nn.Parameter, self.transformer.get_input_embeddings().weight)


def max_input_length(transformer: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int:
    """Most tokens that a transformer accepts, special ones included: its positions, or else its tokenizer's limit."""
    positions = getattr(transformer.config, "max_position_embeddings", None)
    limit = int(positions) if positions and positions > 0 else int(tokenizer.model_max_length)
    # The RoBERTa family counts positions from the padding id on.
    table = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return limit if padding is None else limit - int(padding) - 1


def _load_transformer(folder: str, name: str, pooling: Sequence[str], trust_remote_code: bool) -> PreTrainedModel:
    transformer: Any
    with quiet_transformers():
        transformer, report = AutoModel.from_pretrained(
            folder, dtype=torch.float32, trust_remote_code=trust_remote_code, output_loading_info=True
        )
    missing, unexpected = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
    needed = [key for key in missing if "pooler" not in key or POOLER in pooling]
    if unexpected:
        log.info("%s: unused weights: %s", name, _shorten(unexpected))
    if needed:
        hint = "; choose encoder.pooling=cls or mean" if POOLER in pooling else ""
        raise ValueError(f"{folder}: the checkpoint lacks {_shorten(needed)}: they would be random{hint}")
    return transformer  # type: ignore[no-any-return]


def _lowercase(tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(f"{name}: do_lower_case needs a Rust (fast) tokenizer")
    steps: list[Any] = [normalizers.Lowercase()]
    if backend.normalizer is not None:
        steps.append(backend.normalizer)
    backend.normalizer = normalizers.Sequence(steps)


def _shorten(keys: Sequence[str]) -> str:
    listed = ", ".join(keys[:6]) or "none"
    return f"{listed} and {len(keys) - 6} more" if len(keys) > 6 else listed
