"""Word alignment by the package SimAlign, as its authors released it."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any, Self

import torch
from tqdm import tqdm

from xsent.batch import WordPair
from xsent.models.encoder import tensor_bytes
from xsent.models.hub import model_folder

# Name of a method -> the letter by which SimAlign is asked for it, and the name of its answer.
METHODS = {"argmax": ("a", "inter"), "itermax": ("i", "itermax"), "match": ("m", "mwmf")}


class SimAligner:
    """Word alignment by SimAlign; needs the extra ``simalign``.

    Args:
        name: hub id of a transformer; for messages, too.
        path: local folder, beats ``name``.
        revision: commit, tag or branch of the hub.
        layer: hidden state that the vectors are taken from; 0 is the table of pieces.
        method: ``argmax``, ``itermax`` or ``match`` (maximum weight matching, far slower on long sentences).
        token_type: ``bpe`` links pieces, ``word`` the means of the pieces of words.
        distortion: share of similarity that words at opposite ends of their sentences lose.

    Raises:
        ImportError: the package is not installed.
        OSError: the hub cannot be reached, or the folder lacks a file.
        ValueError: an option that SimAlign or the model does not have.

    Source:
        Jalili Sabet et al. 2020 (arXiv:2004.08728).
    """

    def __init__(
        self,
        *,
        name: str,
        path: str | None,
        revision: str | None,
        layer: int,
        method: str,
        token_type: str,
        distortion: float,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"aligner.method={method}: expected one of {', '.join(METHODS)}")
        if token_type not in ("bpe", "word"):
            raise ValueError(f"aligner.token_type={token_type}: expected bpe or word")
        letter, self._answer = METHODS[method]
        aligner_class = _sentence_aligner()
        # From a folder, SimAlign takes the classes that the model's config names, and no code beside it.
        folder = model_folder(name, path=path, revision=revision, trust_remote_code=None, option="aligner")
        self._aligner: Any = aligner_class(
            model=str(folder), token_type=token_type, distortion=distortion, matching_methods=letter, layer=layer
        )
        config = self._loader.emb_model.config
        if not 0 <= layer <= config.num_hidden_layers:
            raise ValueError(f"aligner.layer={layer}: {name} has hidden states 0 to {config.num_hidden_layers}")
        # SimAlign cuts sentences at what the tokenizer says; that of a local folder may say nothing.
        tokenizer = self._loader.tokenizer
        tokenizer.model_max_length = min(tokenizer.model_max_length, config.max_position_embeddings)
        self.name = name
        self._settings = [layer, method, token_type, distortion]

    def to(self, device: str | torch.device) -> Self:
        """Compute there from now on."""
        self._loader.emb_model.to(device)
        self._aligner.device = self._loader.device = torch.device(device)
        return self

    def links(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[tuple[tuple[int, int], ...]]:
        """0-based links of source and target words of each pair, sorted; one pair after the other, as SimAlign does.

        Words behind what the model reads have no link.
        """
        bar = tqdm(pairs, desc=f"aligning with SimAlign and {self.name}", disable=not progress, unit=" pairs")
        return [self._links(pair) for pair in bar]

    def digest(self) -> str:
        """Hex digest of everything that decides the links."""
        tokenizer = self._loader.tokenizer
        content = [*self._settings, sorted(tokenizer.get_vocab().items()), tokenizer.model_max_length]
        digest = hashlib.sha256(json.dumps(content).encode())
        for part in tensor_bytes(self._loader.emb_model.state_dict()):
            digest.update(part)
        return digest.hexdigest()

    @property
    def _loader(self) -> Any:
        return self._aligner.embed_loader

    def _links(self, pair: WordPair) -> tuple[tuple[int, int], ...]:
        tokenize = self._loader.tokenizer.tokenize
        if not all(any(tokenize(word) for word in side) for side in pair):
            return ()  # SimAlign would fail on a side without a piece
        found = self._aligner.get_word_aligns(list(pair.source), list(pair.target))[self._answer]
        return tuple((int(source), int(target)) for source, target in found)


def _sentence_aligner() -> Any:
    try:
        from simalign import SentenceAligner
    except ImportError as error:
        raise ImportError("aligning words with SimAlign needs simalign: pip install 'xsent[simalign]'") from error
    # It writes its own messages to the screen, beside those that logging writes anyway.
    logging.getLogger("simalign.simalign").handlers.clear()
    return SentenceAligner
