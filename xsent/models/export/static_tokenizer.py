"""A static encoder's tokenizer that needs no code of ours: what it leaves out is left out by its own steps."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

MARK = "▁"  # of a word's beginning
# Code points that Unicode will never give to a character, so no text has them for a reason.
NONCHARACTERS = [chr(code) for code in (*range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF)]
SPACES = [chr(code) for code in range(0x11_0000) if chr(code).isspace()]


def built_in_tokenizer(tokenizer: Tokenizer, max_length: int) -> Tokenizer:
    """A tokenizer that by itself gives the ids of ``StaticEncoder.tokenize``.

    ``StaticEncoder`` drops pieces that nothing is known of, then cuts, and has no pieces for a text that says nothing:
    one of white space, or of unknown characters and marks of words. Here the same is done by steps which
    tokenizers has:

    - before the pieces, characters that no piece has are removed and split the text. So did they before: no piece
      reaches across one, and the best pieces of the two sides do not depend on each other;
    - text that says nothing is replaced by an empty one, as is the name of the unknown piece by a character that no
      piece has, for that name is in the vocabulary and would be found as any other piece;
    - truncation is the tokenizer's own.

    Args:
        tokenizer: of a ``StaticEncoder``.
        max_length: pieces of a sentence that are read.

    Raises:
        ValueError: a tokenizer of another kind.
    """
    content = json.loads(tokenizer.to_str())
    model, marks = content["model"], content["pre_tokenizer"] or {}
    is_ours = model["type"] == "Unigram" and model["unk_id"] == 0 and not model["byte_fallback"]
    if not is_ours or marks.get("type") != "Metaspace":
        raise ValueError("the tokenizer is not one of those that xsent trains: Unigram without bytes after Metaspace")
    unknown, *pieces = [piece for piece, _ in model["vocab"]]
    known = {piece for piece in pieces if len(piece) == 1}
    lonely = sorted({character for piece in pieces for character in piece} - known)
    if lonely:
        raise ValueError(f"the tokenizer has pieces with, but none of its own for: {' '.join(lonely)}")
    foreign = next(character for character in NONCHARACTERS if character not in known)
    # Before words are marked, a space stands where the mark will.
    seen, saying = known | {" "}, known - {MARK, *SPACES}
    nothing = rf"\A(?:[{_class(SPACES)}]*|[ {MARK}]*[^{_class(seen)}][^{_class(saying)}]*)\z"
    made = Tokenizer.from_str(tokenizer.to_str())
    steps = [] if made.normalizer is None else [made.normalizer]
    made.normalizer = normalizers.Sequence(
        [*steps, normalizers.Replace(unknown, foreign), normalizers.Replace(Regex(nothing), "")]
    )
    removed = pre_tokenizers.Split(Regex(f"[^{_class(known)}]+"), behavior="removed")
    made.pre_tokenizer = pre_tokenizers.Sequence([made.pre_tokenizer, removed])
    made.enable_truncation(max_length)
    made.no_padding()
    return made


def _class(characters: Iterable[str]) -> str:
    """The inside of a regular expression's class of these characters, as ranges of code points."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last in ranges)
