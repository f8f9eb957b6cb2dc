"""Express an encoder as built-in modules of sentence-transformers, and write their folder."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from xsent.batch import Embedder
from xsent.models.encoders.disentangled import DisentangledEncoder
from xsent.models.encoders.pooled import POOLER
from xsent.models.encoders.sentence_transformers_folder import FolderWriter, fits_folder
from xsent.models.encoders.static import StaticEncoder
from xsent.models.encoders.transformer import SentenceEncoder
from xsent.models.export.static_tokenizer import built_in_tokenizer
from xsent.similarity import check_finite

# Why an encoder class cannot be exported.
REASONS = {
    "LaserEncoder": "LASER normalises text by rules of its own, and transformers has no such network",
    "CharacterBertEncoder": "no tokenizer gives its character ids",
    "StaticCharacterEncoder": "no tokenizer gives the ids of hashed character n-grams",
}
FORBIDDEN = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".py"}  # files that may run code when they are read


class Pipeline(NamedTuple):
    """An encoder that built-in modules can represent, and the head on top of it."""

    encoder: SentenceEncoder | StaticEncoder
    head: nn.Sequential  # linear layers and activations; may be empty
    space: str  # original | meaning | language


def build_pipeline(embedder: Embedder, *, space: str) -> Pipeline:
    """Return the parts of an encoder, or of a run, to export.

    Args:
        embedder: an encoder, or a ``DisentangledEncoder``.
        space: ``meaning`` or ``language`` of heads, or ``original`` of an encoder.

    Raises:
        ValueError: built-in modules cannot represent it; names the class and the reason.
    """
    head = nn.Sequential()
    encoder: object = embedder
    if isinstance(embedder, DisentangledEncoder):
        encoder = embedder.encoder
        layers = {"meaning": embedder.heads.meaning, "language": embedder.heads.language}[space]
        head = layers if isinstance(layers, nn.Sequential) else nn.Sequential(layers)
    elif space != "original":
        raise ValueError(f"there is no {space} head: only a run of dream, meat or oracle has heads")
    if not isinstance(encoder, SentenceEncoder | StaticEncoder):
        kind = type(encoder).__name__
        raise ValueError(f"{kind}: {REASONS.get(kind, 'it needs code of its own')}")
    reason = _unsupported(encoder)
    if reason is not None:
        raise ValueError(f"{type(encoder).__name__} {encoder.name}: {reason}")
    return Pipeline(encoder, head, space)


def _unsupported(encoder: SentenceEncoder | StaticEncoder) -> str | None:
    """Why built-in modules cannot represent the encoder; None if they can."""
    if isinstance(encoder, StaticEncoder):
        return "it has no tokenizer yet, a recipe trains it" if encoder.tokenizer is None else None
    if encoder.preprocessing != "none":
        return (
            f"no tokenizer has the text rules of preprocessing={encoder.preprocessing}"
            " (train with recipe.preprocessing=none for a student that can be exported)"
        )
    if type(encoder.transformer).__module__.startswith("transformers_modules"):
        return f"{type(encoder.transformer).__name__} is code that came with the model, not part of transformers"
    if POOLER in encoder.pooling and (encoder.pooling != (POOLER,) or encoder.pooler_dense() is None):
        return f"pooling {'+'.join(encoder.pooling)}: only a pooler of one linear layer and tanh is a Dense module"
    if not fits_folder(encoder.projection):
        return f"its projection has other layers than linear ones and activations: {encoder.projection}"
    return None


def write_pipeline(pipeline: Pipeline, folder: Path) -> None:
    """Write the modules, float32 as safetensors, into an existing empty folder.

    Raises:
        ValueError: a file was written that may hold code.
        OSError: the disk is full.
    """
    try:
        _write_modules(pipeline, folder)
    except SafetensorError as error:  # has the error of the system as text
        code = re.search(r"os error (\d+)", str(error))
        raise OSError(int(code[1]), os.strerror(int(code[1]))) if code else error from None
    forbidden = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in FORBIDDEN)
    if forbidden:
        raise ValueError(f"{folder}: expected only safetensors, JSON and text, found {', '.join(forbidden)}")


def _write_modules(pipeline: Pipeline, folder: Path) -> None:
    encoder, writer = pipeline.encoder, FolderWriter(folder)
    if isinstance(encoder, StaticEncoder):
        assert encoder.tokenizer is not None
        writer.add_static(encoder.vectors, built_in_tokenizer(encoder.tokenizer, encoder.max_length))
        prompt, normalize = "", True
    else:
        encoder.write_modules(writer)
        prompt, normalize = encoder.prompt, encoder.normalize
    if normalize:
        writer.add_normalize()
    writer.add_layers(pipeline.head)
    writer.finish(prompt)


class Expected(NamedTuple):
    """The correct vectors of N texts for an exported folder."""

    vectors: Tensor  # (N, D) float32
    empty: list[int]  # texts without a token, whose vector is 0 in xsent
    undefined: list[int]  # those of them without a token and a vector in sentence-transformers too


@torch.inference_mode()
def expected_vectors(pipeline: Pipeline, texts: Sequence[str]) -> Expected:
    """Return the vectors that the exported modules must give.

    They are those of our encoder, except for a text without a token: our transformers give it a zero vector, the
    modules the vector of the tokenizer's special tokens, which is then expected.
    """
    encoder = pipeline.encoder
    original = encoder.encode(texts).clone()
    empty = [row for row, ids in enumerate(encoder.tokenize(texts)) if not ids]
    undefined: list[int] = []
    if isinstance(encoder, SentenceEncoder):
        with encoder.eval_mode():
            for row in empty:
                ids = encoder.prompted_ids([texts[row]])
                if ids[0]:
                    original[row] = encoder(encoder.collate(ids))[0].float()
                else:
                    undefined.append(row)
    vectors = pipeline.head(original)
    check_finite(vectors, f"{encoder.name}, space {pipeline.space}", texts=texts)
    return Expected(vectors, empty, undefined)


def embedding_size(pipeline: Pipeline) -> int:
    layers = [layer for layer in pipeline.head if isinstance(layer, nn.Linear)]
    return layers[-1].out_features if layers else pipeline.encoder.dim


def describe_limits(pipeline: Pipeline) -> list[str]:
    """Limits that a user of the folder must know, as sentences of a model card."""
    encoder = pipeline.encoder
    if isinstance(encoder, StaticEncoder):
        limits = [
            f"Text is truncated after {encoder.max_length} pieces.",
            "The vector is a mean of piece vectors, so word order does not matter.",
            "Characters unknown to the tokenizer are ignored; an empty text and a text of such characters alone have"
            " the zero vector (with a head on top: the head's vector of zero).",
        ]
    else:
        limits = [f"Text is truncated after {encoder.max_length} tokens, special ones included."]
        if encoder.prompt:
            limits.append(f"Every text is preceded by the prompt {encoder.prompt!r}.")
        if encoder.empty_ids:
            limits.append(
                "In sentence-transformers a text without a token (empty, white space) has the vector of the special"
                " tokens; xsent gives it the zero vector. No built-in module can do the same."
            )
        else:
            limits.append(
                "In sentence-transformers a text without a token (empty, white space) has no vector (an error or NaN),"
                " because the tokenizer adds no special tokens; xsent gives it the zero vector."
            )
    if pipeline.head:
        limits.append("The vectors of a head do not have length one: compare them by cosine.")
    return limits
