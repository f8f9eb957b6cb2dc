"""Part-of-speech tagging and dependency parsing of pre-tokenized sentences with Stanza."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import langcodes
from tqdm import tqdm

from xsent.config_checks import check_choice, check_integer
from xsent.paths import sha256

log = logging.getLogger(__name__)

# Processors of Stanza; its parser needs lemmas.
TAG_PROCESSORS, PARSE_PROCESSORS = "tokenize,pos", "tokenize,pos,lemma,depparse"
# Options that download missing models: of xsent diverge and of evaluator=clsd_swaps.
DOWNLOAD_OPTIONS = "--set annotator.download=true, or evaluator.swaps.tagger.download=true,"
# Tags of the treebank (Penn's for English; universal ones where it has none), or universal tags.
TREEBANK, UNIVERSAL = "treebank", "universal"
# https://universaldependencies.org/u/pos
UNIVERSAL_TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
)  # fmt: skip


class Annotation(NamedTuple):
    """Tags and dependency tree of a sentence of T words."""

    tags: tuple[str, ...]  # (T,) treebank or universal tags
    heads: tuple[int, ...]  # (T,) 0-based head of each word, -1 for the root; empty if not parsed


@dataclass(frozen=True, eq=False)
class StanzaAnnotator:
    """Stanza pipeline (Qi et al. 2020, arXiv:2003.07082) on pre-tokenized sentences; their words never change."""

    pipeline: Callable[[list[list[str]]], Any]  # maps lists of words to a document with as many sentences
    parse: bool  # whether the pipeline gives heads
    tags: str  # ``treebank`` or ``universal``
    batch_size: int  # sentences per call of the pipeline
    version: str  # Stanza's version and models, for ``digest``

    def __post_init__(self) -> None:
        check_choice("annotator.tags", self.tags, (TREEBANK, UNIVERSAL))
        check_integer("annotator.batch_size", self.batch_size, minimum=1)

    @classmethod
    def load(
        cls,
        *,
        language: str,
        parse: bool,
        tags: str,
        models: str | None,
        package: str,
        download: bool,
        device: str,
        batch_size: int,
    ) -> StanzaAnnotator:
        """Load Stanza's models; download missing ones if allowed.

        Stanza uses ``torch.load(weights_only=True)``, so model files cannot run code.

        Args:
            models: Stanza's model folder with ``resources.json``; None: Stanza's default folder.
            package: model package, e.g. ``default``.
            download: fetch missing models; complete local models need no connection.

        Raises:
            ImportError: Stanza is not installed.
            FileNotFoundError: models are missing; the message tells how to get them, online and offline.
        """
        processors = PARSE_PROCESSORS if parse else TAG_PROCESSORS
        pipeline = _load_stanza(language, processors, models, package, download, device)
        return cls(pipeline, parse=parse, tags=tags, batch_size=batch_size, version=_describe_models(pipeline))

    def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
        """Tags and heads of each sentence, in order.

        Raises:
            ValueError: the pipeline changed the words, or gave no tag or head for one.
        """
        annotations: list[Annotation] = []
        with tqdm(total=len(sentences), desc="annotating", unit=" sentences", delay=2, disable=not progress) as bar:
            for start in range(0, len(sentences), self.batch_size):
                batch = sentences[start : start + self.batch_size]
                parsed = self.pipeline([list(words) for words in batch]).sentences
                if len(parsed) != len(batch):
                    raise ValueError(f"Stanza: expected {len(batch)} sentences, found {len(parsed)}")
                annotations += [self._read(words, sentence) for words, sentence in zip(batch, parsed, strict=True)]
                bar.update(len(batch))
        return annotations

    def digest(self) -> str:
        """Hex digest of models, version and batch size (which changes the last bits of scores)."""
        return hashlib.sha256(json.dumps([self.version, self.parse, self.tags, self.batch_size]).encode()).hexdigest()

    def _read(self, words: tuple[str, ...], sentence: Any) -> Annotation:
        parsed_words = tuple(word.text for word in sentence.words)
        text = " ".join(words)
        if parsed_words != words:
            raise ValueError(f"Stanza: expected the words {text!r}, found {' '.join(parsed_words)!r}")
        universal = self.tags == UNIVERSAL
        tags = tuple(word.upos if universal else word.xpos or word.upos for word in sentence.words)
        heads = tuple(word.head for word in sentence.words) if self.parse else ()
        for name, values in (("tag", tags), ("head", heads)):
            if None in values:
                word = words[values.index(None)]
                raise ValueError(f"Stanza: expected a {name} for each word, found none for {word!r} in {text!r}")
        return Annotation(tags, tuple(head - 1 for head in heads))  # Stanza: 1-based, the root has head 0


def _load_stanza(language: str, processors: str, models: str | None, package: str, download: bool, device: str) -> Any:
    try:
        import stanza
        from stanza.resources.common import DEFAULT_MODEL_DIR
    except ImportError as error:
        raise ImportError("annotation needs stanza: pip install 'xsent[divergence]'") from error

    folder = models or DEFAULT_MODEL_DIR
    code = langcodes.get(language).language or language  # Stanza says en where we say eng
    options = {"lang": code, "dir": folder, "package": package, "processors": processors, "device": device}
    start = partial(stanza.Pipeline, **options, tokenize_pretokenized=True, logging_level="WARN")
    try:
        try:
            # NONE also keeps Stanza from asking the hub for the transformers that some packages use.
            return start(download_method=stanza.DownloadMethod.NONE)
        except OSError:  # a missing file
            if not download:
                raise
        log.info("downloading Stanza's models for %s (package %s: %s) to %s", code, package, processors, folder)
        return start(download_method=stanza.DownloadMethod.REUSE_RESOURCES)
    except OSError as error:
        advice = ", and the download failed" if download else f"; {DOWNLOAD_OPTIONS} downloads them once"
        folders = ", ".join(f"{code}/{name}" for name in processors.split(",")[1:])
        command = f'python -c "import stanza; stanza.download({code!r}, {folder!r}, {package!r}, {processors!r})"'
        raise FileNotFoundError(
            f"no Stanza models for {code} (package {package}) in {folder}{advice}. Offline: run {command} on a machine"
            f" with network, copy the folder (resources.json, {folders} and what else is in {code}, each with its .pt"
            f" files) and set models=FOLDER of the annotator; or provide annotated input instead: to xsent diverge a"
            f" folder of CoNLL-U and alignment files, to evaluator=clsd_swaps evaluator.annotations."
            f" Stanza: {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error


def _describe_models(pipeline: Any) -> str:
    """Stanza's version, and the name and SHA-256 of every model file."""
    from stanza import __version__

    files = sorted({value for key, value in pipeline.config.items() if key.endswith("_path") and value})
    # The file of an unused tokenizer may be missing.
    models = [f"{Path(file).name} {sha256(Path(file))}" for file in files if Path(file).is_file()]
    return "; ".join([f"stanza {__version__}", *models])
