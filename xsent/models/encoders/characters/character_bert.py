"""CharacterBERT encoder: BERT over word vectors computed from characters; El Boukkouri et al. 2020."""

import hashlib
import logging
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Self, cast

import torch
import torch.nn.functional as F
from tokenizers.normalizers import NFC, BertNormalizer
from tokenizers.normalizers import Sequence as Steps
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from xsent.batch import Tokens
from xsent.config_checks import check_integer
from xsent.models.encoders.characters.character_cnn import (
    BEGIN_OF_SENTENCE,
    BEGIN_OF_WORD,
    END_OF_SENTENCE,
    END_OF_WORD,
    MAX_WORD_LENGTH,
    CharacterCnn,
    split_words,
    word_ids,
)
from xsent.models.encoders.pooled import POOLER, PooledEncoder
from xsent.models.model_files import model_folder, read_json_or_none, read_weights

log = logging.getLogger(__name__)

CLS = [BEGIN_OF_WORD, BEGIN_OF_SENTENCE, END_OF_WORD]
SEP = [BEGIN_OF_WORD, END_OF_SENTENCE, END_OF_WORD]
# Keys of config.json: required, optional, and with a single supported value.
SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
MAX_SIZE = 1_000_000
OPTIONS = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range")
FIXED = {"cnn_activation": "relu", "max_word_length": MAX_WORD_LENGTH, "position_embedding_type": "absolute"}
# Our names of weights to the published ones, and prefixes of these.
PREFIXES = ("", "bert.", "character_bert.")
WORDS = "embeddings.word_embeddings."
NAMES = {
    WORDS + "characters.weight": WORDS + "_char_embedding_weights",
    WORDS + "convolutions.": WORDS + "char_conv_",
    WORDS + "highways.": WORDS + "_highways._layers.",
    WORDS + "projection.": WORDS + "_projection.",
}


class CharacterBertEncoder(PooledEncoder):
    """CharacterBERT as a sentence encoder.

    BERT's basic tokenizer splits a sentence at white space and punctuation; [CLS] and [SEP] are added. The ids are
    those of the characters of all words, concatenated without padding. ``embed_ids`` splits them into words again,
    computes the vector of each distinct word once and gives BERT a sequence of words.

    Differs from the release of RoLASER (fairseq, e67ba8ae): there a sequence has the length of the sentence in
    characters, with mask and positions of characters, so most positions are attended to and pooled without having a
    word. Here a sequence has the length of the sentence in words.

    Args:
        config: sizes of BERT.
        lowercase: lower-case words and strip accents, as BERT's uncased models.
        pooling: ``cls``, ``pooler``, ``mean`` or ``max``, of word embeddings.
        projection: size of a linear layer after the pooling; None: no such layer.
        max_length: words after which a sentence is truncated, [CLS] and [SEP] included.
        normalize: whether vectors get length one.
    """

    # In characters; an English word has five or six ids. Measured on one core: encoding is as fast with half as many
    # and a fifth slower with twice as many, training a seventh and a quarter slower.
    cpu_token_budget = 4096
    gpu_token_budget = 131_072
    transformer: BertModel

    def __init__(
        self,
        *,
        name: str,
        config: BertConfig,
        lowercase: bool,
        pooling: str,
        projection: int | None,
        max_length: int,
        normalize: bool,
    ) -> None:
        limit = config.max_position_embeddings
        if not 3 <= max_length <= limit:
            raise ValueError(f"encoder.max_length={max_length}: expected 3 to {limit} words, [CLS] and [SEP] included")
        transformer = BertModel(config, add_pooling_layer=pooling == POOLER)
        # In the place of BERT's table of word vectors: other weights keep BERT's names, and freezing the embeddings
        # includes the CNN.
        transformer.embeddings.register_module("word_embeddings", CharacterCnn(config.hidden_size))
        super().__init__(
            name=name,
            transformer=transformer,
            pooling=[pooling],
            projection=nn.Sequential(*([] if projection is None else [nn.Linear(config.hidden_size, projection)])),
            max_length=max_length,
            normalize=normalize,
        )
        self.lowercase = lowercase
        steps = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=lowercase, lowercase=lowercase)
        self._normalizer = Steps([NFC(), steps])  # NFC: one byte sequence for one character
        self._splitter = BertPreTokenizer()

    @classmethod
    def load(
        cls,
        *,
        name: str,
        path: str | None,
        revision: str | None,
        lowercase: bool,
        pooling: str,
        projection: int | None,
        max_length: int,
        normalize: bool,
    ) -> Self:
        """Load published weights; arguments as in ``model_folder`` and the class.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: the files are not those of a CharacterBERT, lack a weight, or an option does not fit.
        """
        folder = model_folder(name, path=path, revision=revision, trust_remote_code=False, own_architecture=True)
        encoder = cls(
            name=name,
            config=_read_config(folder / "config.json"),
            lowercase=lowercase,
            pooling=pooling,
            projection=projection,
            max_length=max_length,
            normalize=normalize,
        )
        _load_weights(encoder.transformer, folder, name)
        return encoder.eval()

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return [self._tokenize(sentence) for sentence in self.preprocess(sentences)]

    def _tokenize(self, sentence: str) -> list[int]:
        words = self._splitter.pre_tokenize_str(self._normalizer.normalize_str(sentence))
        if not words:
            return []
        ids = (word_ids(word) for word, _ in words[: self.max_length - 2])
        return [*CLS, *chain.from_iterable(ids), *SEP]

    def tokenizer_digest(self) -> str:
        content = f"bytes of BERT's words, {self.lowercase} {self.max_length} {self.preprocessing}"
        return hashlib.sha256(content.encode()).hexdigest()

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        if not len(ids):
            return torch.zeros(len(lengths), self.dim, device=ids.device)
        words = split_words(ids, lengths)
        vectors = self._cnn(words.distinct)  # (V, D)
        # `embedding` instead of indexing: its backward pass adds up in a fixed order.
        inputs = F.embedding(words.rows, vectors)  # (B, W, D)
        # Without padding the transformer is faster without a mask.
        attention_mask = None if bool(words.mask.all()) else words.mask
        return self._pool_outputs(attention_mask, words.mask, inputs_embeds=inputs)

    @property
    def word_vectors(self) -> nn.Parameter:
        """The table of character vectors, from which word vectors are computed."""
        return cast(nn.Parameter, self._cnn.characters.weight)

    @property
    def _cnn(self) -> CharacterCnn:
        return cast(CharacterCnn, self.transformer.embeddings.word_embeddings)


def _read_config(path: Path) -> BertConfig:
    config = read_json_or_none(path)
    if config is None:
        raise FileNotFoundError(f"{path}: expected the config of a CharacterBERT, found no such file")
    missing = [key for key in SIZES if key not in config]
    if missing:
        raise ValueError(f"{path}: expected the sizes of a BERT, found no {', '.join(missing)}")
    for key in SIZES:
        check_integer(f"{path}: {key}", config[key], minimum=1)
        if config[key] > MAX_SIZE:
            raise ValueError(f"{path}: {key} is {config[key]}, expected at most {MAX_SIZE:,}")
    for key, expected in FIXED.items():
        if config.get(key, expected) != expected:
            raise ValueError(f"{path}: {key} is {config[key]}, only {expected} is supported")
    # vocab_size: the table of word vectors is replaced by the CNN.
    return BertConfig(vocab_size=1, **{key: config[key] for key in (*SIZES, *OPTIONS) if key in config})


def _load_weights(transformer: BertModel, folder: Path, name: str) -> None:
    weights = read_weights(folder)
    prefix = next((prefix for prefix in PREFIXES if prefix + NAMES[WORDS + "characters.weight"] in weights), "")
    published = {ours: prefix + _published_name(ours) for ours in transformer.state_dict()}
    missing = [theirs for theirs in published.values() if theirs not in weights]
    if missing:
        raise ValueError(
            f"{folder}: lacks {len(missing)} of {len(published)} weights of CharacterBERT, they would be random:"
            f" {', '.join(missing)}"
        )
    unused = sorted(weights.keys() - published.values())
    log.info("%s: unused weights: %s", name, ", ".join(unused) or "none")
    try:
        transformer.load_state_dict({ours: weights[theirs] for ours, theirs in published.items()})
    except RuntimeError as error:
        raise ValueError(f"{folder}: the weights do not have the sizes in config.json: {error}") from error


def _published_name(name: str) -> str:
    for ours, theirs in NAMES.items():
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name
