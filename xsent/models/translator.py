"""Machine translation by any sequence-to-sequence model of transformers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer

from xsent.models.encoder import batches, longest_first
from xsent.models.hub import model_folder
from xsent.models.translator_languages import by_iso639_3, code_of, language_tokens
from xsent.paths import sha256

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Padded tokens of a batch times beams. Every step of the decoder reads all its weights, so that a batch is large even
# on a CPU; it is small enough that a kill loses little.
CPU_TOKENS, GPU_TOKENS = 4096, 65_536
LOGITS = 2**28  # numbers that one step of a batch may give at most: a large vocabulary asks for small batches
PATH_OPTION = "evaluator.pivot.translator_path"  # for messages
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")  # the second where there is none of the first
OTHER_FILES = ("*.json", "*.model", "*.spm", "*.txt")


class Translation(NamedTuple):
    """What became of a text."""

    text: str
    is_cut: bool  # the text is longer than the model reads, or the translation than it writes


class Translator:
    """Translates texts by beam search; in float32 a text's translation is the same whatever is translated beside it.

    In bfloat16 the batch decides the last bits, and so some words: of a small random model 1 of 25 translations was
    another in another batch.

    The weights are loaded when the first text is translated: who finds everything in a cache never waits for them.

    Args:
        name: for tables and messages.
        folder: of the model, its weights as safetensors, or else read with ``weights_only=True``.
        beams: of the search; 1 takes the likeliest token each time.
        max_length: tokens of a text and of its translation, special ones included; what is longer is cut.
        precision: ``float32`` or ``bfloat16``.
        prefix: put before every text; ``{source}`` and ``{target}`` in it become the model's codes of the languages.
        source_codes, target_codes: what the model calls a language, by ISO 639-3. They come before what its tokenizer
            says; a model whose tokenizer names no language must have them.

    Raises:
        FileNotFoundError: there are no weights in the folder.
        ValueError: another kind of model, or an option that does not fit it.
    """

    def __init__(
        self,
        *,
        name: str,
        folder: Path,
        beams: int,
        max_length: int,
        precision: str,
        prefix: str,
        source_codes: Mapping[str, str] | None,
        target_codes: Mapping[str, str] | None,
    ) -> None:
        self.name = name
        self.folder = folder
        self.beams = beams
        self.max_length = max_length
        self.precision = precision
        self.prefix = prefix
        self.device = torch.device("cpu")
        if precision not in PRECISIONS:
            raise ValueError(f"translator.precision={precision}: expected one of {', '.join(PRECISIONS)}")
        if beams < 1:
            raise ValueError(f"translator.beams={beams}: expected at least 1")
        self._weights = _weights(folder)
        config = AutoConfig.from_pretrained(str(folder))
        if not config.is_encoder_decoder:
            raise ValueError(f"translator {name}: expected an encoder and a decoder, found {config.model_type}")
        self.tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
        longest = min(int(getattr(config, "max_position_embeddings", max_length)), self.tokenizer.model_max_length)
        taken = self.tokenizer.num_special_tokens_to_add()
        if not taken + 1 < max_length <= longest:
            raise ValueError(f"translator.max_length={max_length}: {name} takes {taken + 2} to {longest}")
        self._tokens = language_tokens(self.tokenizer)
        own = by_iso639_3(self._tokens)
        self.source_codes = own | dict(source_codes or {})
        self.target_codes = own | dict(target_codes or {})
        self._check_codes()

    @classmethod
    def load(
        cls,
        *,
        name: str,
        path: str | None,
        revision: str | None,
        beams: int,
        max_length: int,
        precision: str,
        prefix: str,
        source_codes: Mapping[str, str] | None,
        target_codes: Mapping[str, str] | None,
    ) -> Translator:
        """Find any sequence-to-sequence model of transformers, without code of its own.

        Args:
            name: hub id; for messages, too.
            path: local folder, beats ``name``.
            revision: commit, tag or branch of the hub.
            beams, max_length, precision, prefix, source_codes, target_codes: as of the class.

        Raises:
            OSError: the hub cannot be reached, or the folder lacks a file.
            ValueError: another kind of model, or an option that does not fit it.
        """
        return cls(
            name=name,
            folder=model_folder(
                name, path=path, revision=revision, trust_remote_code=None, option="translator", path_option=PATH_OPTION
            ),
            beams=beams,
            max_length=max_length,
            precision=precision,
            prefix=prefix,
            source_codes=source_codes,
            target_codes=target_codes,
        )

    def to(self, device: str | torch.device) -> Self:
        """Compute there from now on."""
        self.device = torch.device(device)
        return self

    def free(self) -> None:
        """Forget the weights, gigabytes, until the next text."""
        if vars(self).pop("_transformer", None) is not None and self.device.type == "cuda":
            torch.cuda.empty_cache()

    def digest(self) -> str:
        """Hex digest of the model's files and the settings; the weights need not be loaded for it."""
        settings = [self.beams, self.max_length, self.precision, self.prefix, self.source_codes, self.target_codes]
        return hashlib.sha256(f"{json.dumps(settings, sort_keys=True)} {self._digest_of_files}".encode()).hexdigest()

    def check(self, *, source_lang: str, target_lang: str) -> None:
        """Raise ``ValueError``, before any work, for a language that the model does not know."""
        code_of(self.source_codes, source_lang, f"translator {self.name}, source language")
        code_of(self.target_codes, target_lang, f"translator {self.name}, target language")

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[dict[int, Translation]]:
        """The translations of one batch after the other, longest texts first, by the place of the text.

        Args:
            texts: what is to be translated.
            source_lang, target_lang: ISO 639-3.
            progress: whether to show a bar.

        Raises:
            ValueError: the model does not know a language, or the checkpoint lacks weights.
        """
        self.check(source_lang=source_lang, target_lang=target_lang)
        if not texts:
            return
        source, target = self.source_codes[source_lang], self.target_codes[target_lang]
        ids, long = self._token_ids(texts, source, target)
        lengths = np.array([len(one) for one in ids], dtype=np.int64)
        order = longest_first(lengths)
        if nothing := dict.fromkeys(np.flatnonzero(lengths == 0).tolist(), Translation("", is_cut=False)):
            yield nothing
        budget = (CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS) // self.beams
        at_once = max(1, LOGITS // (self.beams * len(self.tokenizer)))
        transformer = self._transformer.to(self.device)
        with tqdm(
            total=len(order), desc=f"{self.name}: {source_lang} to {target_lang}", disable=not progress, unit=" texts"
        ) as bar:
            for rows in batches(lengths[order], budget, at_once):
                places = order[rows].tolist()
                made = self._generate(transformer, [ids[place] for place in places], self._tokens.get(target))
                unfinished = (made[:, self.max_length - 1 :] != self.tokenizer.pad_token_id).any(dim=1).tolist()
                yield {
                    place: Translation(words, place in long or is_unfinished)
                    for place, words, is_unfinished in zip(places, self._words(made), unfinished, strict=True)
                }
                bar.update(len(places))

    @cached_property
    def _digest_of_files(self) -> str:
        others = sorted({path for pattern in OTHER_FILES for path in self.folder.glob(pattern)})
        content = hashlib.sha256()
        for path in (*self._weights, *others):
            content.update(f"{path.name} {sha256(path)}\n".encode())
        return content.hexdigest()

    @cached_property
    def _transformer(self) -> Any:
        transformer: Any
        transformer, report = AutoModelForSeq2SeqLM.from_pretrained(
            str(self.folder), dtype=PRECISIONS[self.precision], output_loading_info=True
        )
        if missing := sorted(report["missing_keys"]):
            raise ValueError(f"{self.folder}: the checkpoint lacks {', '.join(missing)}: what it says would be random")
        # The checkpoint's own settings of the search, with ours in their place; never a draw.
        settings = transformer.generation_config
        settings.num_beams, settings.max_length, settings.max_new_tokens = self.beams, self.max_length, None
        settings.do_sample, settings.temperature, settings.top_k, settings.top_p = False, None, None, None
        if self.beams == 1:
            settings.early_stopping, settings.length_penalty = None, None  # of beams alone
        return transformer.train(False)

    def _check_codes(self) -> None:
        """Every code is one that the tokenizer has a token for, if it has any; what is asked for by name is there."""
        if not self.source_codes or not self.target_codes:
            raise ValueError(
                f"translator {self.name}: its tokenizer names no language; say with translator.source_codes and"
                " translator.target_codes which it translates, by ISO 639-3, such as {deu: German}"
            )
        codes = {*self.source_codes.values(), *self.target_codes.values()}
        if self._tokens and (unknown := sorted(codes - self._tokens.keys())):
            raise ValueError(
                f"translator {self.name}: expected codes of {', '.join(sorted(self._tokens))}, found"
                f" {', '.join(unknown)}"
            )
        try:
            self.prefix.format(source="", target="")
        except (AttributeError, LookupError, ValueError) as error:
            raise ValueError(
                f"translator.prefix={self.prefix!r}: expected no other names than {{source}} and {{target}}"
            ) from error

    def _token_ids(self, texts: Sequence[str], source: str, target: str) -> tuple[list[list[int]], set[int]]:
        """Ids of each text, its prefix included, and the places of those that are too long and were cut."""
        if self._tokens:
            self.tokenizer.src_lang = source
        prefix = self.prefix.format(source=source, target=target)
        whole = [prefix + text for text in texts]
        ids: list[list[int]] = self.tokenizer(whole, verbose=False)["input_ids"]
        long = {place for place, one in enumerate(ids) if len(one) > self.max_length}
        for place in long:
            ids[place] = self.tokenizer(whole[place], truncation=True, max_length=self.max_length)["input_ids"]
        return ids, long

    def _generate(self, transformer: Any, ids: Sequence[Sequence[int]], target_token: int | None) -> Tensor:
        """Ids (B, T') of the translations of a batch, padded."""
        padding, longest = self.tokenizer.pad_token_id, max(map(len, ids))
        tokens = torch.tensor([[*one, *[padding] * (longest - len(one))] for one in ids])  # (B, T)
        lengths = torch.tensor([len(one) for one in ids])
        mask = (torch.arange(longest) < lengths[:, None]).long()
        with torch.inference_mode():
            made: Tensor = transformer.generate(
                input_ids=tokens.to(self.device),
                attention_mask=mask.to(self.device),
                forced_bos_token_id=target_token,
            )
        return made

    def _words(self, made: Tensor) -> list[str]:
        # Not every tokenizer takes the tokens of its languages for special ones.
        languages = set(self._tokens.values())
        ids = [[one for one in row if one not in languages] for row in made.tolist()]
        return [text.strip() for text in self.tokenizer.batch_decode(ids, skip_special_tokens=True)]


def _weights(folder: Path) -> list[Path]:
    for pattern in WEIGHTS:
        if found := sorted(folder.glob(pattern)):
            return found
    raise FileNotFoundError(f"{folder}: expected weights, {' or '.join(WEIGHTS)}, found none")
