"""Word alignment by the released package SimAlign."""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from tqdm import tqdm

from xsent.batch import WordPair
from xsent.models.batching import hash_tensors
from xsent.models.model_files import model_folder

# Method -> SimAlign's letter for it, and its key in SimAlign's result.
METHODS = {"argmax": ("a", "inter"), "itermax": ("i", "itermax"), "match": ("m", "mwmf")}
TOKEN_TYPES = ("bpe", "word")


@dataclass(kw_only=True, eq=False)
class SimAligner:
    """Word alignment by SimAlign; needs the extra ``simalign``.

    Raises:
        ImportError: the package is not installed.
        OSError: the hub cannot be reached, or the folder lacks a file.
        ValueError: an option that SimAlign or the model does not have.

    Source:
        Jalili Sabet et al. 2020 (arXiv:2004.08728).
    """

    name: str  # this and the next two: of a transformer, as in `model_folder`
    path: str | None
    revision: str | None
    layer: int  # hidden state to use; 0 is the embedding table
    method: str  # `argmax`, `itermax` or `match` (maximum weight matching, far slower on long sentences)
    token_type: str  # `bpe` links subwords, `word` the means of a word's subwords
    distortion: float  # share of similarity that words at opposite ends of their sentences lose

    def __post_init__(self) -> None:
        for option, value, choices in (("method", self.method, METHODS), ("token_type", self.token_type, TOKEN_TYPES)):
            if value not in choices:
                raise ValueError(f"aligner.{option}={value}: expected one of {', '.join(choices)}")
        letter, self._result_key = METHODS[self.method]
        aligner_class = _sentence_aligner()
        # From a folder, SimAlign loads classes of transformers only, no code beside the weights.
        folder = model_folder(
            self.name, path=self.path, revision=self.revision, trust_remote_code=None, option="aligner"
        )
        self._aligner: Any = aligner_class(
            model=str(folder),
            token_type=self.token_type,
            distortion=self.distortion,
            matching_methods=letter,
            layer=self.layer,
        )
        config = self._loader.emb_model.config
        if not 0 <= self.layer <= config.num_hidden_layers:
            raise ValueError(
                f"aligner.layer={self.layer}: {self.name} has hidden states 0 to {config.num_hidden_layers}"
            )
        # SimAlign truncates at the tokenizer's limit, which a local folder may lack.
        tokenizer = self._loader.tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, config.max_position_embeddings)

    def to(self, device: str | torch.device) -> Self:
        self._loader.emb_model.to(device)
        self._aligner.device = self._loader.device = torch.device(device)
        return self

    def align(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[tuple[tuple[int, int], ...]]:
        """Return sorted 0-based links of source and target words for each pair; truncated words have no link."""
        bar = tqdm(pairs, desc=f"aligning with SimAlign and {self.name}", disable=not progress, unit=" pairs")
        return [self._align(pair) for pair in bar]

    def digest(self) -> str:
        """Hex digest of everything that determines the links."""
        tokenizer = self._loader.tokenizer
        options = [self.layer, self.method, self.token_type, self.distortion]
        settings = [*options, sorted(tokenizer.get_vocab().items()), tokenizer.model_max_length]
        content = hashlib.sha256(json.dumps(settings).encode())
        hash_tensors(content, self._loader.emb_model.state_dict())
        return content.hexdigest()

    @property
    def _loader(self) -> Any:
        return self._aligner.embed_loader

    def _align(self, pair: WordPair) -> tuple[tuple[int, int], ...]:
        tokenize = self._loader.tokenizer.tokenize
        if not all(any(tokenize(word) for word in side) for side in pair):
            return ()  # SimAlign fails on a side without subwords
        links = self._aligner.get_word_aligns(list(pair.source), list(pair.target))[self._result_key]
        return tuple((int(source), int(target)) for source, target in links)


def _sentence_aligner() -> Any:
    try:
        from simalign import SentenceAligner
    except ImportError as error:
        raise ImportError("aligning words with SimAlign needs simalign: pip install 'xsent[simalign]'") from error
    # Its own handler would print every message a second time.
    logging.getLogger("simalign.simalign").handlers.clear()
    return SentenceAligner
