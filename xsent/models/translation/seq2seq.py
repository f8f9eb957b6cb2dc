"""Machine translation by any sequence-to-sequence model of transformers."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer

from xsent.models.batching import batch_slices, longest_first
from xsent.models.model_files import model_folder, quiet_transformers
from xsent.models.translation.languages import codes_by_language, language_tokens
from xsent.paths import sha256

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Padded tokens of a batch times beams. Each decoder step reads all weights, so batches are large even on a CPU, yet
# small enough that an interruption loses little.
CPU_TOKENS, GPU_TOKENS = 4096, 65_536
MAX_LOGITS = 2**28  # most numbers in the output of one step; a large vocabulary needs small batches
PATH_OPTION = "evaluator.pivot.translator_path"  # for messages
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")  # the second only without the first
OTHER_FILES = ("*.json", "*.model", "*.spm", "*.txt")


class Translation(NamedTuple):
    """A translated text."""

    text: str
    truncated: bool  # the text exceeds the model's input length, or the translation its output length


@dataclass(kw_only=True, eq=False)
class Translator:
    """Translates texts by beam search.

    In float32 a translation does not depend on the other texts of the batch. In bfloat16 the batch determines the last
    bits, and so some words: 1 of 25 translations of a small random model changed with the batch.

    The weights are loaded for the first text, so a user who finds all translations in a cache never waits for them.

    Raises:
        OSError: the hub cannot be reached, or the folder lacks a file.
        ValueError: another kind of model, or an option that does not fit it.
    """

    name: str  # this and the next two: as in `model_folder`; a model without code of its own
    path: str | None
    revision: str | None
    beams: int  # of the search; 1: greedy
    max_length: int  # tokens after which a text and its translation are truncated, special ones included
    precision: str  # `float32` or `bfloat16`
    prefix: str  # put before every text; `{source}` and `{target}` in it become the model's codes of the languages
    # The codes of languages by ISO 639-3. They override those of the tokenizer, and are required if it has none.
    source_codes: Mapping[str, str] | None
    target_codes: Mapping[str, str] | None

    def __post_init__(self) -> None:
        self.folder = model_folder(
            self.name,
            path=self.path,
            revision=self.revision,
            trust_remote_code=None,
            option="translator",
            path_option=PATH_OPTION,
        )
        self.device = torch.device("cpu")
        if self.precision not in PRECISIONS:
            raise ValueError(f"translator.precision={self.precision}: expected one of {', '.join(PRECISIONS)}")
        if self.beams < 1:
            raise ValueError(f"translator.beams={self.beams}: expected at least 1")
        self._weight_files = _weight_files(self.folder)
        config = AutoConfig.from_pretrained(str(self.folder), trust_remote_code=False)
        if not config.is_encoder_decoder:
            raise ValueError(f"translator {self.name}: expected an encoder and a decoder, found {config.model_type}")
        self.tokenizer: Any = AutoTokenizer.from_pretrained(str(self.folder), trust_remote_code=False)
        limit = min(int(getattr(config, "max_position_embeddings", self.max_length)), self.tokenizer.model_max_length)
        shortest = self.tokenizer.num_special_tokens_to_add() + 2
        if not shortest <= self.max_length <= limit:
            raise ValueError(f"translator.max_length={self.max_length}: expected {shortest} to {limit} for {self.name}")
        self._language_tokens = language_tokens(self.tokenizer)
        own_codes = codes_by_language(self._language_tokens)
        self.codes = tuple(own_codes | dict(codes or {}) for codes in (self.source_codes, self.target_codes))
        self._check_codes()

    def to(self, device: str | torch.device) -> Self:
        """Compute on a device from now on."""
        self.device = torch.device(device)
        return self

    def unload(self) -> None:
        """Free the memory of the weights; the next text loads them again."""
        if vars(self).pop("_transformer", None) is not None and self.device.type == "cuda":
            torch.cuda.empty_cache()

    def digest(self) -> str:
        """Hex digest of the model's files and the settings; loads no weights."""
        settings = [self.beams, self.max_length, self.precision, self.prefix, *self.codes]
        return hashlib.sha256(f"{json.dumps(settings, sort_keys=True)} {self._files_digest}".encode()).hexdigest()

    def check(self, *, source_lang: str, target_lang: str) -> None:
        """Raise ``ValueError`` for a language that the model does not have."""
        for side, codes, language in zip(("source", "target"), self.codes, (source_lang, target_lang), strict=True):
            if language not in codes:
                known = ", ".join(sorted(codes))
                raise ValueError(f"translator {self.name}, {side} language: expected one of {known}, found {language}")

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[dict[int, Translation]]:
        """Yield the translations of one batch after the other by index of the text, longest texts first.

        Languages are ISO 639-3.

        Raises:
            ValueError: the model does not have a language, or the checkpoint lacks weights.
        """
        self.check(source_lang=source_lang, target_lang=target_lang)
        if not texts:
            return
        source, target = self.codes[0][source_lang], self.codes[1][target_lang]
        ids, too_long = self._tokenize(texts, source, target)
        lengths = np.array([len(row) for row in ids], dtype=np.int64)
        order = longest_first(lengths)
        if empty := dict.fromkeys(np.flatnonzero(lengths == 0).tolist(), Translation("", truncated=False)):
            yield empty
        budget = (CPU_TOKENS if self.device.type == "cpu" else GPU_TOKENS) // self.beams
        max_rows = max(1, MAX_LOGITS // (self.beams * len(self.tokenizer)))
        transformer = self._transformer.to(self.device)
        with tqdm(
            total=len(order), desc=f"{self.name}: {source_lang} to {target_lang}", disable=not progress, unit=" texts"
        ) as bar:
            for batch in batch_slices(lengths[order], budget, max_rows):
                rows = order[batch].tolist()
                output = self._generate(transformer, [ids[row] for row in rows], self._language_tokens.get(target))
                unfinished = (output[:, self.max_length - 1 :] != self.tokenizer.pad_token_id).any(dim=1).tolist()
                yield {
                    row: Translation(text, row in too_long or is_unfinished)
                    for row, text, is_unfinished in zip(rows, self._decode(output), unfinished, strict=True)
                }
                bar.update(len(rows))

    @cached_property
    def _files_digest(self) -> str:
        others = sorted({path for pattern in OTHER_FILES for path in self.folder.glob(pattern)})
        content = hashlib.sha256()
        for path in (*self._weight_files, *others):
            content.update(f"{path.name} {sha256(path)}\n".encode())
        return content.hexdigest()

    @cached_property
    def _transformer(self) -> Any:
        transformer: Any
        with quiet_transformers():
            transformer, report = AutoModelForSeq2SeqLM.from_pretrained(
                str(self.folder),
                dtype=PRECISIONS[self.precision],
                trust_remote_code=False,
                output_loading_info=True,
            )
        if missing := sorted(report["missing_keys"]):
            raise ValueError(f"{self.folder}: the checkpoint lacks {', '.join(missing)}: translations would be random")
        # Our search settings replace the checkpoint's; no sampling.
        settings = transformer.generation_config
        settings.num_beams, settings.max_length, settings.max_new_tokens = self.beams, self.max_length, None
        settings.do_sample, settings.temperature, settings.top_k, settings.top_p = False, None, None, None
        if self.beams == 1:
            settings.early_stopping, settings.length_penalty = None, None  # options of beam search
        return transformer.train(False)

    def _check_codes(self) -> None:
        if not all(self.codes):
            raise ValueError(
                f"translator {self.name}: its tokenizer names no language; give the languages by ISO 639-3 with"
                " translator.source_codes and translator.target_codes, such as {deu: German}"
            )
        codes = {code for codes in self.codes for code in codes.values()}
        if self._language_tokens and (unknown := sorted(codes - self._language_tokens.keys())):
            raise ValueError(
                f"translator {self.name}: expected codes of {', '.join(sorted(self._language_tokens))}, found"
                f" {', '.join(unknown)}"
            )
        try:
            self.prefix.format(source="", target="")
        except (AttributeError, LookupError, ValueError) as error:
            raise ValueError(
                f"translator.prefix={self.prefix!r}: expected no other names than {{source}} and {{target}}"
            ) from error

    def _tokenize(self, texts: Sequence[str], source: str, target: str) -> tuple[list[list[int]], set[int]]:
        """Ids of each text with its prefix, and the indices of truncated texts."""
        if self._language_tokens:
            self.tokenizer.src_lang = source
        prefix = self.prefix.format(source=source, target=target)
        prefixed = [prefix + text for text in texts]
        ids: list[list[int]] = self.tokenizer(prefixed, verbose=False)["input_ids"]
        too_long = {row for row, text_ids in enumerate(ids) if len(text_ids) > self.max_length}
        for row in too_long:
            ids[row] = self.tokenizer(prefixed[row], truncation=True, max_length=self.max_length)["input_ids"]
        return ids, too_long

    def _generate(self, transformer: Any, ids: Sequence[Sequence[int]], target_token: int | None) -> Tensor:
        """Ids (B, T') of the translations of a batch, padded."""
        rows, padding = [torch.tensor(row) for row in ids], self.tokenizer.pad_token_id
        tokens = pad_sequence(rows, batch_first=True, padding_value=padding)  # (B, T)
        mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        with torch.inference_mode():
            output: Tensor = transformer.generate(
                input_ids=tokens.to(self.device), attention_mask=mask.to(self.device), forced_bos_token_id=target_token
            )
        return output

    def _decode(self, output: Tensor) -> list[str]:
        # Some tokenizers do not treat their language tokens as special ones.
        languages = set(self._language_tokens.values())
        ids = [[token for token in row if token not in languages] for row in output.tolist()]
        return [text.strip() for text in self.tokenizer.batch_decode(ids, skip_special_tokens=True)]


def _weight_files(folder: Path) -> list[Path]:
    for pattern in WEIGHTS:
        if paths := sorted(folder.glob(pattern)):
            return paths
    raise FileNotFoundError(f"{folder}: expected weights, {' or '.join(WEIGHTS)}, found none")
