"""Freeze embeddings and lower layers of an encoder during training."""

import hashlib
import logging
from operator import attrgetter

from torch import nn

from xsent.models.batching import hash_tensors
from xsent.models.encoders.base import Encoder

log = logging.getLogger(__name__)

EMBEDDINGS = ("none", "word", "all", "auto")
# Attribute of the blocks: the BERT family and MPNet; ModernBERT; DistilBERT.
BLOCKS = ("encoder.layer", "layers", "transformer.layer")


def freeze(encoder: Encoder, *, embeddings: str, layers: int) -> None:
    """Exclude parts of an encoder from training, in place: no gradient, and evaluation mode (no dropout).

    Args:
        embeddings: ``word``: the table of word or piece vectors; ``all``: everything before the first block
            (positions, types, LayerNorm, dropout) and tables of relative positions shared by the blocks; ``none``;
            ``auto``: ``word``, but ``none`` for an encoder of word vectors alone.
        layers: number of transformer blocks, from the first one. More than 0 freezes all embeddings, whatever
            ``embeddings`` says: to train them costs a backward pass through the frozen blocks and changes the input
            that these blocks were trained on.

    Raises:
        ValueError: an unknown value, more layers than the encoder has, an encoder without such parts, or no parameter
            left to train. The encoder is then unchanged.

    Source:
        Fedorova and Musatow 2024 freeze "the embedding layer" and do not define it further.
    """
    if embeddings not in EMBEDDINGS:
        raise ValueError(f"recipe.freeze.embeddings={embeddings}: expected one of {', '.join(EMBEDDINGS)}")
    if layers < 0:
        raise ValueError(f"recipe.freeze.layers={layers}: expected 0 or more")
    if embeddings == "auto":
        embeddings = "word" if any(weight is not encoder.word_vectors for weight in encoder.parameters()) else "none"
    modules = [*_first_blocks(encoder, layers)]
    if layers or embeddings == "all":
        modules += _embedding_modules(encoder)
    frozen = [parameter for module in modules for parameter in module.parameters()]
    if layers or embeddings != "none":
        frozen.append(encoder.word_vectors)
    if not frozen:
        return
    _check_trainable_left(encoder, frozen)
    for parameter in frozen:
        parameter.requires_grad_(False)
    encoder.frozen_modules = (*encoder.frozen_modules, *modules)
    for module in modules:
        module.eval()
    sizes = [(parameter.numel(), parameter.requires_grad) for parameter in encoder.parameters()]
    counts = sum(size for size, trained in sizes if not trained), sum(size for size, _ in sizes)
    log.info("%s: %s of %s parameters are frozen", encoder.name, *(f"{count:,}" for count in counts))


def body_parameters(encoder: Encoder) -> list[nn.Parameter]:
    """The trained parameters of an encoder's transformer, word embeddings left out; layers on top of it are no part.

    Raises:
        ValueError: the encoder has no transformer, or one without trained parameters.
    """
    transformer = getattr(encoder, "transformer", None)
    parameters = [] if transformer is None else [weight for weight in transformer.parameters() if weight.requires_grad]
    body = [weight for weight in parameters if weight is not encoder.word_vectors]
    if not body:
        raise ValueError(
            f"recipe.unfreeze_step: encoder {encoder.name} has no trained part besides its word embeddings; set it to 0"
        )
    return body


def frozen_names(encoder: Encoder) -> set[str]:
    """Names of the frozen weights in ``state_dict``; a shared table appears under each of its names."""
    parameters = encoder.named_parameters(remove_duplicate=False)
    return {name for name, parameter in parameters if not parameter.requires_grad}


def frozen_digest(encoder: Encoder) -> str:
    """Hex digest of the names and values of the frozen weights."""
    names = frozen_names(encoder)
    content = hashlib.sha256()
    hash_tensors(content, {name: value for name, value in encoder.state_dict().items() if name in names})
    return content.hexdigest()


def _first_blocks(encoder: Encoder, count: int) -> list[nn.Module]:
    blocks = _blocks(encoder)
    if count and not blocks:
        raise ValueError(
            f"recipe.freeze.layers={count}: no transformer blocks in {_architecture(encoder)} of encoder"
            f" {encoder.name}; looked for {', '.join(BLOCKS)}"
        )
    if count > len(blocks):
        raise ValueError(f"recipe.freeze.layers={count}: encoder {encoder.name} has {len(blocks)} layers")
    return blocks[:count]


def _blocks(encoder: Encoder) -> list[nn.Module]:
    for path in BLOCKS:
        try:
            blocks = attrgetter(f"transformer.{path}")(encoder)
        except AttributeError:
            continue
        if isinstance(blocks, nn.ModuleList):
            return list(blocks)
    return []


def _embedding_modules(encoder: Encoder) -> list[nn.Module]:
    transformer = getattr(encoder, "transformer", None)
    if transformer is None:
        return []  # an encoder with word vectors only
    embeddings = getattr(transformer, "embeddings", None)
    if not isinstance(embeddings, nn.Module):
        raise ValueError(
            f"recipe.freeze: {_architecture(encoder)} of encoder {encoder.name} has no module `embeddings`;"
            " only recipe.freeze.embeddings=word with recipe.freeze.layers=0 is possible"
        )
    in_blocks = {id(module) for block in _blocks(encoder) for module in block.modules()}
    in_blocks.update(map(id, embeddings.modules()))
    # MPNet and DeBERTa: one table of relative positions, shared by all blocks.
    tables = (module for module in transformer.modules() if isinstance(module, nn.Embedding))
    return [embeddings, *(table for table in tables if id(table) not in in_blocks)]


def _check_trainable_left(encoder: Encoder, frozen: list[nn.Parameter]) -> None:
    frozen_ids = set(map(id, frozen))
    if any(parameter.requires_grad and id(parameter) not in frozen_ids for parameter in encoder.parameters()):
        return
    if hasattr(encoder, "transformer"):
        option = f"recipe.freeze.layers={len(_blocks(encoder))}"
        raise ValueError(f"{option}: no parameter of encoder {encoder.name} would be left to train")
    raise ValueError(
        f"encoder {encoder.name} has only word embeddings, so no parameter would be left to train:"
        " set recipe.freeze.embeddings=none"
    )


def _architecture(encoder: Encoder) -> str:
    return type(getattr(encoder, "transformer", encoder)).__name__
