"""Part-of-speech tags and dependency heads of words that were cut before, by Stanza or anything with one method."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import langcodes
from tqdm import tqdm

from xsent.paths import sha256

log = logging.getLogger(__name__)

# Words are given, nothing is tokenised; Stanza's parser asks for lemmas.
TAGGED, PARSED = "tokenize,pos", "tokenize,pos,lemma,depparse"
# What to say so that missing models are fetched: to xsent diverge and to evaluator=clsd_swaps.
DOWNLOAD = "--set annotator.download=true, or evaluator.swaps.tagger.download=true,"
# Of the treebank: Penn's for English; a language whose treebank has none of its own gets universal ones.
TREEBANK, UNIVERSAL = "treebank", "universal"
# https://universaldependencies.org/u/pos
UNIVERSAL_TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
)  # fmt: skip


class Annotation(NamedTuple):
    """Tags and tree of a sentence of T words."""

    tags: tuple[str, ...]  # (T,) of the treebank or universal, as the annotator was told
    heads: tuple[int, ...]  # (T,) number of each word's head from 0, -1 for the root; empty: not parsed


class Annotator(Protocol):
    """Anything that tags and parses words as they are given, without cutting or joining any."""

    def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
        """Tags and heads of each sentence, in their order."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides the annotation: models, program, size of a batch."""
        ...


class StanzaAnnotator:
    """A pipeline of Stanza (Qi et al. 2020, arXiv:2003.07082) over words that are given.

    Args:
        pipeline: lists of words in, a document of as many sentences out.
        parse: whether it gives heads beside tags.
        tags: which: ``treebank`` or ``universal``.
        batch_size: sentences that it is given at a time.
        made_by: what decides its annotation, for ``digest``.
    """

    def __init__(
        self, pipeline: Callable[[list[list[str]]], Any], *, parse: bool, tags: str, batch_size: int, made_by: str
    ) -> None:
        if tags not in (TREEBANK, UNIVERSAL):
            raise ValueError(f"annotator.tags={tags}: expected {TREEBANK} or {UNIVERSAL}")
        if batch_size < 1:
            raise ValueError(f"annotator.batch_size={batch_size}: expected a whole number, at least 1")
        self.pipeline = pipeline
        self.parse = parse
        self.tags = tags
        self.batch_size = batch_size
        self.made_by = made_by

    @classmethod
    def load(
        cls, *, language: str, parse: bool, tags: str, models: str | None, package: str, download: bool, device: str,
        batch_size: int,
    ) -> StanzaAnnotator:  # fmt: skip
        """An annotator whose models are on this machine, or are fetched first.

        Stanza reads its models by ``torch.load(weights_only=True)``: tensors and plain values, no code of theirs.

        Args:
            language: ISO 639-3.
            parse, tags: as of the class.
            models: Stanza's folder of models, with ``resources.json`` in it; None: where Stanza keeps them.
            package: which of its models, e.g. ``default``.
            download: fetch what is missing; models that are there are used without any connection either way.
            device: where it computes.
            batch_size: as of the class.

        Raises:
            ImportError: Stanza is not installed.
            FileNotFoundError: there are no such models; says how to get them, online and offline.
        """
        pipeline = _pipeline(
            language, PARSED if parse else TAGGED, models=models, package=package, download=download, device=device
        )
        return cls(pipeline, parse=parse, tags=tags, batch_size=batch_size, made_by=_made_by(pipeline))

    def annotate(self, sentences: Sequence[tuple[str, ...]], *, progress: bool) -> list[Annotation]:
        """Tags and heads of each sentence, in their order.

        Raises:
            ValueError: the pipeline gave back other words than it was given, or words without a head where it parses.
        """
        found: list[Annotation] = []
        with tqdm(total=len(sentences), desc="annotating", unit=" sentences", delay=2, disable=not progress) as bar:
            for start in range(0, len(sentences), self.batch_size):
                some = sentences[start : start + self.batch_size]
                document = self.pipeline([list(words) for words in some])
                if len(document.sentences) != len(some):
                    raise ValueError(f"Stanza: expected {len(some)} sentences, found {len(document.sentences)}")
                found += [self._annotation(words, got) for words, got in zip(some, document.sentences, strict=True)]
                bar.update(len(some))
        return found

    def digest(self) -> str:
        """Hex digest of the models, Stanza's version and the size of a batch, which decides the last bits of scores."""
        return hashlib.sha256(json.dumps([self.made_by, self.parse, self.tags, self.batch_size]).encode()).hexdigest()

    def _annotation(self, words: tuple[str, ...], sentence: Any) -> Annotation:
        found = tuple(word.text for word in sentence.words)
        if found != words:
            raise ValueError(f"Stanza: expected the words {' '.join(words)!r}, found {' '.join(found)!r}")
        universal = self.tags == UNIVERSAL
        tags = tuple(word.upos if universal else word.xpos or word.upos for word in sentence.words)
        heads = tuple(word.head for word in sentence.words) if self.parse else ()
        for what, values in (("tag", tags), ("head", heads)):
            if None in values:
                word = words[values.index(None)]
                raise ValueError(
                    f"Stanza: expected a {what} for each word, found none for {word!r} in {' '.join(words)!r}"
                )
        # Stanza counts words from 1, and 0 is above the root.
        return Annotation(tags, tuple(head - 1 for head in heads))


def _pipeline(language: str, processors: str, *, models: str | None, package: str, download: bool, device: str) -> Any:
    try:
        import stanza
        from stanza.resources.common import DEFAULT_MODEL_DIR
    except ImportError as error:
        raise ImportError("annotating needs stanza: pip install 'xsent[divergence]'") from error

    folder = models or DEFAULT_MODEL_DIR
    code = langcodes.get(language).language or language  # Stanza says en where we say eng
    begun = partial(
        stanza.Pipeline, lang=code, dir=folder, package=package, processors=processors, tokenize_pretokenized=True,
        device=device, logging_level="WARN",
    )  # fmt: skip
    try:
        # NONE also keeps it from asking the hub for the transformers that some packages build on.
        return begun(download_method=stanza.DownloadMethod.NONE)
    except OSError as error:  # a missing file
        if not download:
            raise FileNotFoundError(_how_to_get(code, folder, package, processors, download, error)) from error
    log.info("fetching Stanza's models for %s (package %s: %s) to %s", code, package, processors, folder)
    try:
        return begun(download_method=stanza.DownloadMethod.REUSE_RESOURCES)
    except OSError as error:  # no connection
        raise FileNotFoundError(_how_to_get(code, folder, package, processors, download, error)) from error


def _how_to_get(code: str, folder: str, package: str, processors: str, download: bool, error: OSError) -> str:
    reason = str(error).splitlines()[0]
    tried = ", and they could not be fetched" if download else f"; {DOWNLOAD} fetches them, once"
    folders = ", ".join(f"{code}/{name}" for name in processors.split(",")[1:])
    command = f'python -c "import stanza; stanza.download({code!r}, {folder!r}, {package!r}, {processors!r})"'
    return (
        f"no Stanza models for {code} (package {package}) in {folder}{tried}. Offline: on a machine that is online"
        f" run {command}, copy the folder as it is (resources.json, {folders} and what else there is in {code},"
        f" each with its .pt files) and say models=FOLDER of the annotator; or give what is annotated already instead:"
        f" to xsent diverge a folder of CoNLL-U and alignment files, to evaluator=clsd_swaps evaluator.annotations."
        f" Stanza said: {type(error).__name__}: {reason}"
    )


def _made_by(pipeline: Any) -> str:
    """Stanza's version, and every model file with its SHA-256."""
    from stanza import __version__

    files = sorted({value for key, value in pipeline.config.items() if key.endswith("_path") and value})
    parts = [f"stanza {__version__}"]
    for file in files:
        if Path(file).is_file():  # of a tokenizer that is not used there may be none
            parts.append(f"{Path(file).name} {sha256(Path(file))}")
    return "; ".join(parts)
