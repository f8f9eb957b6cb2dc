"""Parts of an encoder that stay as they are while the rest is trained."""

from __future__ import annotations

import hashlib
import logging

from torch import nn

from xsent.models.encoder import Encoder, tensor_bytes

log = logging.getLogger(__name__)

EMBEDDINGS = ("none", "word", "all")
# Where architectures keep their blocks: the BERT family and MPNet; ModernBERT; DistilBERT.
BLOCKS = ("encoder.layer", "layers", "transformer.layer")


def freeze(encoder: Encoder, *, embeddings: str, layers: int) -> None:
    """Take parts of an encoder out of training for good: no gradient, and evaluation mode, so no dropout either.

    Args:
        encoder: is changed.
        embeddings: ``word``, the table of word or piece vectors; ``all``, whatever comes before the first block,
            i.e. positions, types, their LayerNorm and dropout, and the tables of relative positions that the blocks
            of some models share; ``none``.
        layers: transformer blocks, from the first on. More than 0 freezes all embeddings, whatever ``embeddings``
            says: training what lies below frozen blocks would cost the backward pass through them, and take away
            the input that they are used to.

    Raises:
        ValueError: an unknown word, more layers than there are, an encoder without such parts, or nothing left to
            train. The encoder is then as it was.

    Source:
        Fedorova and Musatow 2024 freeze "the embedding layer", and do not say how much of it.
    """
    if embeddings not in EMBEDDINGS:
        raise ValueError(f"recipe.freeze.embeddings={embeddings}: expected one of {', '.join(EMBEDDINGS)}")
    if layers < 0:
        raise ValueError(f"recipe.freeze.layers={layers}: expected 0 or more")
    parts = [*_first_blocks(encoder, layers)]
    if layers or embeddings == "all":
        parts += _embedding_modules(encoder)
    frozen = [parameter for part in parts for parameter in part.parameters()]
    if layers or embeddings != "none":
        frozen.append(encoder.word_vectors)
    if not frozen:
        return
    _check_what_is_left(encoder, frozen)
    for parameter in frozen:
        parameter.requires_grad_(False)
    encoder.frozen_modules = (*encoder.frozen_modules, *parts)
    for part in parts:
        part.eval()
    log.info("%s: %s of %s parameters are frozen", encoder.name, *(f"{count:,}" for count in _counts(encoder)))


def frozen_names(encoder: Encoder) -> set[str]:
    """What ``state_dict`` calls the weights that are not trained; a table with two names is here under both."""
    parameters = encoder.named_parameters(remove_duplicate=False)
    return {name for name, parameter in parameters if not parameter.requires_grad}


def frozen_digest(encoder: Encoder) -> str:
    """Hex digest of the names and values of the weights that are not trained."""
    names = frozen_names(encoder)
    content = hashlib.sha256()
    for part in tensor_bytes({name: value for name, value in encoder.state_dict().items() if name in names}):
        content.update(part)
    return content.hexdigest()


def _first_blocks(encoder: Encoder, count: int) -> list[nn.Module]:
    blocks = _blocks(encoder)
    if count and not blocks:
        raise ValueError(
            f"recipe.freeze.layers={count}: found no transformer blocks in {_architecture(encoder)} of encoder"
            f" {encoder.name}; looked for {', '.join(BLOCKS)}"
        )
    if count > len(blocks):
        raise ValueError(f"recipe.freeze.layers={count}: encoder {encoder.name} has {len(blocks)} layers")
    return blocks[:count]


def _blocks(encoder: Encoder) -> list[nn.Module]:
    transformer = getattr(encoder, "transformer", None)
    for path in BLOCKS:
        found = transformer
        for name in path.split("."):
            found = getattr(found, name, None)
        if isinstance(found, nn.ModuleList):
            return list(found)
    return []


def _embedding_modules(encoder: Encoder) -> list[nn.Module]:
    transformer = getattr(encoder, "transformer", None)
    if transformer is None:
        return []  # an encoder with word vectors only
    embeddings = getattr(transformer, "embeddings", None)
    if not isinstance(embeddings, nn.Module):
        raise ValueError(
            f"recipe.freeze: {_architecture(encoder)} of encoder {encoder.name} keeps its embeddings elsewhere than"
            " in `embeddings`; only recipe.freeze.embeddings=word is possible, with recipe.freeze.layers=0"
        )
    in_blocks = {id(module) for block in _blocks(encoder) for module in block.modules()}
    in_blocks.update(map(id, embeddings.modules()))
    # MPNet and DeBERTa: one table of relative positions, read by every block.
    shared = [
        module for module in transformer.modules() if isinstance(module, nn.Embedding) and id(module) not in in_blocks
    ]
    return [embeddings, *shared]


def _check_what_is_left(encoder: Encoder, frozen: list[nn.Parameter]) -> None:
    wanted = set(map(id, frozen))
    if any(parameter.requires_grad and id(parameter) not in wanted for parameter in encoder.parameters()):
        return
    if getattr(encoder, "transformer", None) is None:
        raise ValueError(
            f"encoder {encoder.name} has only word embeddings, nothing would be left to train:"
            " recipe.freeze.embeddings=none"
        )
    raise ValueError(
        f"recipe.freeze.layers={len(_blocks(encoder))}: nothing of encoder {encoder.name} would be left to train"
    )


def _counts(encoder: Encoder) -> tuple[int, int]:
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in encoder.parameters()]
    return sum(size for size, trained in sizes if not trained), sum(size for size, _ in sizes)


def _architecture(encoder: Encoder) -> str:
    return type(getattr(encoder, "transformer", encoder)).__name__
