"""Which modules of sentence-transformers an encoder is made of, and the folder of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from xsent.batch import Embedder
from xsent.models.disentangled import DisentangledEncoder
from xsent.models.export.static_tokenizer import built_in_tokenizer
from xsent.models.pooled_encoder import POOLER
from xsent.models.sentence_encoder import SentenceEncoder
from xsent.models.sentence_transformers_folder import SENTENCES, TOKENS, ModuleFolders, fits_folder
from xsent.models.static_encoder import StaticEncoder

# Why an encoder needs code that no folder can bring along, by its class.
REASONS = {
    "LaserEncoder": "LASER prepares its text with rules of its own and its network is none of transformers",
    "CharacterBertEncoder": "its words are made of characters by code of ours, and no tokenizer gives their ids",
    "StaticCharacterEncoder": "its n-grams of characters are hashed by code of ours, and no tokenizer gives their ids",
}
FORBIDDEN = {".bin", ".pt", ".pth", ".pkl", ".ckpt", ".py"}  # what may run code when it is read, or is code


class Pipeline(NamedTuple):
    """An encoder that built-in modules can do, and the head on top of its vectors."""

    encoder: SentenceEncoder | StaticEncoder
    head: nn.Sequential  # linear layers and activations; empty for none
    space: str  # original | meaning | language


def pipeline_of(embedder: Embedder, *, space: str) -> Pipeline:
    """What of an encoder, or of a run, is to be exported.

    Args:
        embedder: the encoder, or with heads a ``DisentangledEncoder``.
        space: ``meaning`` or ``language`` of heads, ``original`` of an encoder without.

    Raises:
        ValueError: built-in modules cannot do what it does; says the class and the reason.
    """
    head = nn.Sequential()
    encoder: object = embedder
    if isinstance(embedder, DisentangledEncoder):
        encoder = embedder.encoder
        of_space = {"meaning": embedder.heads.meaning, "language": embedder.heads.language}[space]
        head = of_space if isinstance(of_space, nn.Sequential) else nn.Sequential(of_space)
    elif space != "original":
        raise ValueError(f"there is no {space} head: only a run of dream, meat or oracle has heads")
    if not isinstance(encoder, SentenceEncoder | StaticEncoder):
        kind = type(encoder).__name__
        raise ValueError(f"{kind}: {REASONS.get(kind, 'it needs code of its own')}")
    reason = _missing(encoder)
    if reason is not None:
        raise ValueError(f"{type(encoder).__name__} {encoder.name}: {reason}")
    return Pipeline(encoder, head, space)


def _missing(encoder: SentenceEncoder | StaticEncoder) -> str | None:
    """What the encoder does and no built-in module can; None: nothing."""
    if isinstance(encoder, StaticEncoder):
        return "it has no tokenizer yet, a recipe trains it" if encoder.tokenizer is None else None
    if encoder.preprocessing != "none":
        return (
            f"its text is prepared as preprocessing={encoder.preprocessing} says, by rules one after the other that no"
            " tokenizer has (train with recipe.preprocessing=none for a student that can be exported)"
        )
    if type(encoder.transformer).__module__.startswith("transformers_modules"):
        return f"{type(encoder.transformer).__name__} is code that came with the model, not of transformers"
    if POOLER in encoder.pooling and (encoder.pooling != (POOLER,) or _dense_of_pooler(encoder) is None):
        return f"pooling {'+'.join(encoder.pooling)}: only a pooler of one linear layer and tanh is a Dense module"
    if not fits_folder(encoder.projection):
        return f"its projection has more than linear layers and activations: {encoder.projection}"
    return None


def _dense_of_pooler(encoder: SentenceEncoder) -> nn.Linear | None:
    pooler = encoder.transformer.pooler
    dense, activation = getattr(pooler, "dense", None), getattr(pooler, "activation", None)
    return dense if isinstance(dense, nn.Linear) and isinstance(activation, nn.Tanh) else None


def write_pipeline(pipeline: Pipeline, folder: Path) -> None:
    """Write the modules, float32 as safetensors, into a folder that exists and is empty.

    Raises:
        ValueError: a file that holds more than tensors or text was written.
    """
    encoder, modules = pipeline.encoder, ModuleFolders(folder)
    if isinstance(encoder, StaticEncoder):
        assert encoder.tokenizer is not None
        modules.add_static(encoder.vectors, built_in_tokenizer(encoder.tokenizer, encoder.max_length))
        prompt, normalize = "", True
    else:
        _add_transformer(modules, encoder)
        prompt, normalize = encoder.prompt, encoder.normalize
    if normalize:
        modules.add_normalize()
    modules.add_layers(pipeline.head)
    modules.finish(prompt)
    foreign = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in FORBIDDEN)
    if foreign:
        raise ValueError(f"{folder}: expected safetensors, JSON and text alone, found {', '.join(foreign)}")


def _add_transformer(modules: ModuleFolders, encoder: SentenceEncoder) -> None:
    transformer: Any = encoder.transformer
    if any(value.dtype != torch.float32 for value in transformer.parameters()):
        transformer = copy.deepcopy(transformer).float()
    transformer.save_pretrained(modules.folder)
    tokenizer = copy.deepcopy(encoder.tokenizer)
    tokenizer.padding_side = "right"  # as every batch of ours
    tokenizer.save_pretrained(modules.folder)
    modules.add_transformer(encoder.max_length)
    size, before = encoder.transformer.config.hidden_size, encoder.token_projection
    if before is not None:
        modules.add_dense(before, nn.Identity(), of=TOKENS)
        size = before.out_features
    pooler = _dense_of_pooler(encoder) if POOLER in encoder.pooling else None
    modules.add_pooling(("cls",) if pooler is not None else encoder.pooling, size)
    if pooler is not None:
        modules.add_dense(pooler, nn.Tanh(), of=SENTENCES)
    modules.add_layers(encoder.projection)


class Expected(NamedTuple):
    """What the modules have to give for N texts."""

    vectors: Tensor  # (N, D) float32
    empty: list[int]  # texts without a token, whose vector is 0 here
    undefined: list[int]  # those of them for which sentence-transformers has no token either, and no vector


@torch.inference_mode()
def expected_vectors(pipeline: Pipeline, texts: Sequence[str]) -> Expected:
    """Vectors of the texts, as the modules should give them.

    They are those of our encoder, but for a text without a token: our transformers give it a zero vector, and built-in
    modules that of whatever ids the tokenizer has for it, special tokens above all, which is then expected here.
    """
    encoder = pipeline.encoder
    original = encoder.encode(texts).clone()
    empty = [row for row, ids in enumerate(encoder.tokenize(texts)) if not ids]
    undefined: list[int] = []
    if isinstance(encoder, SentenceEncoder):
        with encoder.evaluating():
            for row in empty:
                ids = encoder.all_ids([texts[row]])
                if ids[0]:
                    original[row] = encoder(encoder.collate(ids))[0].float()
                else:
                    undefined.append(row)
    return Expected(pipeline.head(original), empty, undefined)


def size_of(pipeline: Pipeline) -> int:
    """D of the vectors."""
    layers = [layer for layer in pipeline.head if isinstance(layer, nn.Linear)]
    return layers[-1].out_features if layers else pipeline.encoder.dim


def limits_of(pipeline: Pipeline) -> list[str]:
    """What a user of the folder has to know of it, in sentences."""
    encoder = pipeline.encoder
    if isinstance(encoder, StaticEncoder):
        said = [
            f"Text is cut after {encoder.max_length} pieces.",
            "The vector is a mean of piece vectors: the order of words plays no part, a sentence and its words in"
            " another order have the same vector.",
            "Characters that the tokenizer has not seen are left out; a text of nothing else has the zero vector, as"
            " has an empty one (with a head on top: that head's vector of zero).",
        ]
    else:
        said = [f"Text is cut after {encoder.max_length} tokens, special ones included."]
        if encoder.prompt:
            said.append(f"Every text is put behind the prompt {encoder.prompt!r}.")
        if encoder.nothing:
            said.append(
                "A text without a token (empty, white space) has the vector of the special tokens in"
                " sentence-transformers; xsent gives it the zero vector. No built-in module can say that."
            )
        else:
            said.append(
                "A text without a token (empty, white space) has no vector in sentence-transformers (an error, or not a"
                " number), as the tokenizer adds no special tokens; xsent gives it the zero vector."
            )
    if pipeline.head:
        said.append("Vectors of a head do not have length one: compare them by their cosine.")
    return said
