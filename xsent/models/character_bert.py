"""CharacterBERT: BERT over words whose vectors come from their characters; El Boukkouri et al. 2020."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from tokenizers.normalizers import NFC, BertNormalizer
from tokenizers.normalizers import Sequence as Steps
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from xsent.batch import Tokens
from xsent.models.character_cnn import (
    BEGIN_OF_SENTENCE,
    BEGIN_OF_WORD,
    END_OF_SENTENCE,
    END_OF_WORD,
    LONGEST_WORD,
    CharacterCnn,
    lay_out,
    word_ids,
)
from xsent.models.hub import model_folder, read_json
from xsent.models.pooled_encoder import POOLER, PooledEncoder
from xsent.models.weights import read_weights

log = logging.getLogger(__name__)

FIRST = [BEGIN_OF_WORD, BEGIN_OF_SENTENCE, END_OF_WORD]  # [CLS]
LAST = [BEGIN_OF_WORD, END_OF_SENTENCE, END_OF_WORD]  # [SEP]
# What config.json must say, and what it may say; the published ones say all of it or leave the second part out.
SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
OPTIONS = ("hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "layer_norm_eps", "initializer_range")
ONLY = {"cnn_activation": "relu", "max_word_length": LONGEST_WORD, "position_embedding_type": "absolute"}
# Our names of weights, the published ones, and what may stand before all of these.
PREFIXES = ("", "bert.", "character_bert.")
WORDS = "embeddings.word_embeddings."
NAMES = {
    WORDS + "characters.weight": WORDS + "_char_embedding_weights",
    WORDS + "convolutions.": WORDS + "char_conv_",
    WORDS + "highways.": WORDS + "_highways._layers.",
    WORDS + "projection.": WORDS + "_projection.",
}


class CharacterBertEncoder(PooledEncoder):
    """A sentence encoder over words of any spelling.

    A sentence is the words of BERT's basic tokenizer, which cuts at white space and punctuation, between [CLS] and
    [SEP]. Its ids are those of the characters of its words, one word after the other and without padding; ``embed_ids``
    finds the words, computes the vector of each distinct one once and gives BERT a sequence of words.

    Differs from the release of RoLASER (fairseq, e67ba8ae), which lays the words out in a sequence as long as the
    sentence has characters, with mask and positions of characters, so that most positions are attended to and pooled
    without having a word. Here a sequence is as long as the sentence has words.

    Args:
        name: for tables and messages.
        config: sizes of BERT.
        lowercase: whether words are put in lower case and lose their accents, as for BERT's uncased models.
        pooling: ``cls``, ``pooler``, ``mean`` or ``max``, of word embeddings.
        projection: size of a linear layer after the pooling; None is no such layer.
        max_length: words of a sentence, [CLS] and [SEP] included, after which it is cut.
        normalize: whether vectors get length one.

    Raises:
        ValueError: an unknown pooling, or an impossible ``max_length``.
    """

    # Characters: five or six ids are a word of English. Tried on one core: encoding is as fast with half as many and a
    # fifth slower with twice as many, training a seventh and a quarter slower.
    cpu_tokens = 4096
    gpu_tokens = 131_072
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
        positions = config.max_position_embeddings
        if not 3 <= max_length <= positions:
            raise ValueError(
                f"encoder.max_length={max_length}: expected 3 to {positions} words, [CLS] and [SEP] included"
            )
        transformer = BertModel(config, add_pooling_layer=pooling == POOLER)
        # Where BERT has its table of word vectors. So names of weights are those of BERT, and what freezes
        # embeddings freezes the characters', too.
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
        cleaned = BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=lowercase, lowercase=lowercase
        )
        self._normalizer = Steps([NFC(), cleaned])  # one spelling in bytes for one character
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
    ) -> CharacterBertEncoder:
        """Read published weights, by name.

        Args:
            name: hub id; for tables and messages, too.
            path: local folder of ``config.json`` and ``model.safetensors`` or ``pytorch_model.bin``, beats ``name``.
            revision: commit, tag or branch of the hub.
            lowercase, pooling, projection, max_length, normalize: as in the class.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: the files are not those of a CharacterBERT, lack a weight, or an option does not fit.
        """
        folder = model_folder(name, path=path, revision=revision, trust_remote_code=False, knows_architecture=True)
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

    # ---- text to ids

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        return [self._ids(sentence) for sentence in self.preprocessed(sentences)]

    def _ids(self, sentence: str) -> list[int]:
        pieces = self._splitter.pre_tokenize_str(self._normalizer.normalize_str(sentence))
        if not pieces:
            return []  # [CLS] and [SEP] alone say nothing
        words = (word_ids(word) for word, _ in pieces[: self.max_length - 2])
        return [*FIRST, *chain.from_iterable(words), *LAST]

    def tokenizer_digest(self) -> str:
        content = f"bytes of BERT's words, {self.lowercase} {self.max_length} {self.preprocessing}"
        return hashlib.sha256(content.encode()).hexdigest()

    # ---- ids to vectors

    def forward(self, tokens: Tokens) -> Tensor:
        mask = tokens.attention_mask.bool()  # (B, T)
        return self.embed_ids(tokens.input_ids[mask], mask.sum(dim=1))

    def embed_ids(self, ids: Tensor, lengths: Tensor) -> Tensor:
        if not len(ids):
            return torch.zeros(len(lengths), self.dim, device=ids.device)
        words = lay_out(ids, lengths)
        vectors = self._cnn(words.distinct)  # (V, D)
        # `embedding` for the sake of its backward pass, which adds up in the same order every time.
        inputs = F.embedding(words.which, vectors)  # (B, W, D)
        # Without padding the transformer needs no mask, and is faster without.
        attention_mask = None if bool(words.mask.all()) else words.mask
        return self._vectors(attention_mask, words.mask, inputs_embeds=inputs)

    @property
    def word_vectors(self) -> nn.Parameter:
        """The table of character vectors: words have none, what is computed from it takes its place."""
        return cast(nn.Parameter, self._cnn.characters.weight)

    @property
    def _cnn(self) -> CharacterCnn:
        return cast(CharacterCnn, self.transformer.embeddings.word_embeddings)


def _read_config(path: Path) -> BertConfig:
    config = read_json(path)
    if config is None:
        raise FileNotFoundError(f"{path}: expected the config of a CharacterBERT, found no such file")
    missing = [key for key in SIZES if key not in config]
    if missing:
        raise ValueError(f"{path}: expected the sizes of a BERT, there is no {', '.join(missing)}")
    for key, expected in ONLY.items():
        if config.get(key, expected) != expected:
            raise ValueError(f"{path}: {key} is {config[key]}, only {expected} is supported")
    # One row of word vectors: they are thrown away.
    return BertConfig(vocab_size=1, **{key: config[key] for key in (*SIZES, *OPTIONS) if key in config})


def _load_weights(transformer: BertModel, folder: Path, name: str) -> None:
    weights = read_weights(folder)
    prefix = next((prefix for prefix in PREFIXES if prefix + NAMES[WORDS + "characters.weight"] in weights), "")
    published = {ours: prefix + _published(ours) for ours in transformer.state_dict()}
    missing = [theirs for theirs in published.values() if theirs not in weights]
    if missing:
        raise ValueError(
            f"{folder}: lacks {len(missing)} of {len(published)} weights of CharacterBERT, they would be random:"
            f" {', '.join(missing)}"
        )
    unused = sorted(weights.keys() - published.values())
    log.info("%s: weights that are not used: %s", name, ", ".join(unused) or "none")
    try:
        transformer.load_state_dict({ours: weights[theirs] for ours, theirs in published.items()})
    except RuntimeError as error:
        raise ValueError(f"{folder}: weights of other sizes than config.json says: {error}") from error


def _published(name: str) -> str:
    for ours, theirs in NAMES.items():
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name
