"""Convert the tokenizer of a static encoder so that it needs no code of xsent."""

import json
from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

MARK = "▁"  # beginning of a word
# Code points that Unicode never assigns, so texts do not use them.
NONCHARACTERS = [chr(code) for code in (*range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF)]
SPACES = [chr(code) for code in range(0x11_0000) if chr(code).isspace()]


def built_in_tokenizer(tokenizer: Tokenizer, max_length: int) -> Tokenizer:
    """Return a tokenizer that gives the ids of ``StaticEncoder.tokenize`` without any code around it.

    ``StaticEncoder`` drops unknown pieces, then truncates, and gives no ids to white space and to texts of unknown
    characters and word marks alone. A WordPiece tokenizer needs no change: its unknown piece has the vector 0. For a
    unigram tokenizer, built-in steps do the same:

    - Before the pieces, characters without a piece are removed and split the text. They did so before: no piece
      crosses one, and the best pieces of the two sides are independent.
    - A text without known content is replaced by the empty text.
    - The name of the unknown piece is replaced by a character without a piece, because it is in the vocabulary and
      would be found like any other piece.
    - The tokenizer truncates.

    Raises:
        ValueError: a tokenizer of another kind.
    """
    converted = Tokenizer.from_str(tokenizer.to_str())
    converted.enable_truncation(max_length)
    converted.no_padding()
    content = json.loads(tokenizer.to_str())
    if content["model"]["type"] == "WordPiece":
        return converted
    model, pre_tokenizer = content["model"], content["pre_tokenizer"] or {}
    supported = model["type"] == "Unigram" and model["unk_id"] == 0 and not model["byte_fallback"]
    if not supported or pre_tokenizer.get("type") != "Metaspace":
        raise ValueError(
            "expected WordPiece, or a tokenizer that xsent trains: Unigram without byte fallback, after Metaspace"
        )
    unknown, *pieces = [piece for piece, _ in model["vocab"]]
    known = {piece for piece in pieces if len(piece) == 1}
    uncovered = sorted({character for piece in pieces for character in piece} - known)
    if uncovered:
        raise ValueError(f"the tokenizer has no piece of one character for: {' '.join(uncovered)}")
    unused = next(character for character in NONCHARACTERS if character not in known)
    # The normalizer runs before words are marked, so it sees a space in the place of each mark.
    with_space, content_characters = known | {" "}, known - {MARK, *SPACES}
    no_content = rf"\A(?:[{_ranges(SPACES)}]*|[ {MARK}]*[^{_ranges(with_space)}][^{_ranges(content_characters)}]*)\z"
    steps = [] if converted.normalizer is None else [converted.normalizer]
    converted.normalizer = normalizers.Sequence(
        [*steps, normalizers.Replace(unknown, unused), normalizers.Replace(Regex(no_content), "")]
    )
    remove_unknown = pre_tokenizers.Split(Regex(f"[^{_ranges(known)}]+"), behavior="removed")
    converted.pre_tokenizer = pre_tokenizers.Sequence([converted.pre_tokenizer, remove_unknown])
    return converted


def _ranges(characters: Iterable[str]) -> str:
    """Ranges of code points, for a character class of a regular expression."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(rf"\x{{{first:X}}}-\x{{{last:X}}}" for first, last in ranges)
