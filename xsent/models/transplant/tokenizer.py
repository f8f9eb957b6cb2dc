"""Tokenizer of a transplanted encoder: the pieces of a static encoder, with the special tokens of the source model."""

import json
from typing import Any, NamedTuple

from tokenizers import Encoding, Tokenizer
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
REQUIRED = ("unk_token", "pad_token")


class NewTokenizer(NamedTuple):
    """The tokenizer, and where the source model has the embeddings of its special tokens."""

    tokenizer: PreTrainedTokenizerFast
    special: dict[str, int]  # token of the new tokenizer and its id in the source model
    pieces: list[int]  # (V,) new id of each piece of the static encoder; the unknown piece is among the special tokens


def special_roles(source: PreTrainedTokenizerBase, name: str) -> dict[str, str]:
    """Special tokens of a tokenizer by their roles.

    Raises:
        ValueError: there is no token for unknown pieces or for padding, or the tokenizer adds one without a role.
    """
    roles = {role: str(token) for role in ROLES if (token := getattr(source, role, None)) is not None}
    if missing := [role for role in REQUIRED if role not in roles]:
        raise ValueError(
            f"{name}: expected a tokenizer with the special tokens {' and '.join(REQUIRED)}, found no"
            f" {' and no '.join(missing)}"
        )
    encoding = source.backend_tokenizer.encode("a", "a")
    added = {token for token, side in zip(encoding.tokens, encoding.sequence_ids, strict=True) if side is None}
    if surplus := sorted(added - set(roles.values())):
        raise ValueError(
            f"{name}: its tokenizer adds {', '.join(surplus)}, expected special tokens with a role: {roles}"
        )
    return roles


def transplanted_tokenizer(
    pieces: Tokenizer, source: PreTrainedTokenizerBase, *, name: str, max_length: int
) -> NewTokenizer:
    """Put the special tokens of ``source`` before the pieces of a unigram tokenizer, and around sentences as it does.

    The padding token keeps its id, because the positions of the RoBERTa family start at it. The unknown piece of the
    unigram model takes the role of the source's unknown token.

    Args:
        pieces: tokenizer of a static encoder (``scored_pieces``).
        source: of the source model; needs a Rust tokenizer.
        name: of the source model, for messages.
        max_length: tokens of a sentence.

    Raises:
        ValueError: as of ``special_roles``.
    """
    roles = special_roles(source, name)
    content = json.loads(pieces.to_str())
    vocabulary = content["model"]["vocab"]
    unknown = vocabulary[content["model"]["unk_id"]][0]
    renamed = {token: unknown if token == roles["unk_token"] else token for token in roles.values()}
    vocabulary_ids = source.get_vocab()
    ids = {token: int(vocabulary_ids[token]) for token in roles.values()}
    padding = roles["pad_token"]
    front = [token for token in sorted(ids, key=ids.__getitem__) if token not in (padding, roles["unk_token"])]
    if clash := sorted({padding, *front} & {piece for piece, _ in vocabulary}):
        raise ValueError(
            f"the static encoder has pieces with the names of special tokens of {name}: {', '.join(clash)}"
        )
    layout = [*front, *(piece for piece, _ in vocabulary)]
    layout.insert(min(ids[padding], len(layout)), padding)
    rows = {token: row for row, token in enumerate(layout)}
    scores = dict(vocabulary)
    content["model"] |= {"vocab": [[token, scores.get(token, 0.0)] for token in layout], "unk_id": rows[unknown]}
    single, pair = (_template(source.backend_tokenizer.encode(*texts), renamed) for texts in (("a",), ("a", "a")))
    content |= {
        "added_tokens": [_added_token(rows[token], token) for token in renamed.values()],
        "truncation": None,
        "padding": None,
        "post_processor": _post_processor(single, pair, {token: rows[token] for token in renamed.values()}),
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    }
    wrap: Any = PreTrainedTokenizerFast
    tokenizer = wrap(
        tokenizer_object=Tokenizer.from_str(json.dumps(content)),
        model_max_length=max_length,
        model_input_names=list(source.model_input_names),
        **{role: renamed[token] for role, token in roles.items()},
    )
    return NewTokenizer(
        tokenizer, {renamed[token]: ids[token] for token in ids}, [rows[piece] for piece, _ in vocabulary]
    )


def _template(encoding: Encoding, renamed: dict[str, str]) -> list[dict[str, Any]]:
    """What a tokenizer puts around one or two texts, as a template of ``TemplateProcessing``."""
    parts: list[dict[str, Any]] = []
    for token, side, kind in zip(encoding.tokens, encoding.sequence_ids, encoding.type_ids, strict=True):
        if side is None:
            parts.append({"SpecialToken": {"id": renamed[token], "type_id": kind}})
        else:
            part = {"Sequence": {"id": "AB"[side], "type_id": kind}}
            parts += [part] if part not in parts else []
    return parts


def _post_processor(single: list[dict[str, Any]], pair: list[dict[str, Any]], rows: dict[str, int]) -> dict[str, Any]:
    special = {token: {"id": token, "ids": [row], "tokens": [token]} for token, row in rows.items()}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


def _added_token(row: int, token: str) -> dict[str, Any]:
    return {
        "id": row,
        "content": token,
        "special": True,
        "normalized": False,
        "lstrip": False,
        "rstrip": False,
        "single_word": False,
    }
