"""Training a unigram tokenizer, the same one from the same text every time."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable

import sentencepiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

UNKNOWN_PIECE = "<unk>"  # id 0
# Part of the result: the sums of the trainer are split over so many threads, on whatever machine.
THREADS = 4
LONGEST_TEXT = 16_384  # bytes; longer ones are left out of the training sample
SCORE_DIGITS = 4  # of a log-probability: they decide nothing beyond that and fill the file


def train_unigram(texts: Iterable[str], vocab_size: int, *, coverage: float, lowercase: bool) -> Tokenizer:
    """A unigram tokenizer over NFKC text, the beginnings of words marked.

    ``tokenizers``' own trainer gives another vocabulary each time, even with one thread (tried, 0.23);
    SentencePiece's is reproducible and faster, and its pieces and scores are all that a unigram model is.

    Args:
        texts: a sample of the text to come; order and repetitions play no part.
        vocab_size: pieces, ``<unk>`` included; fewer when the text has no more.
        coverage: share of the text's characters that get a piece.
        lowercase: whether upper and lower case are one.

    Raises:
        ValueError: there is no text, or it has more characters than ``vocab_size``.
    """
    sample = sorted({_normalized(text, lowercase) for text in texts} - {""})
    if not sample:
        raise ValueError("a tokenizer needs text to be trained on, found none")
    trained = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=trained,
            model_type="unigram",
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=coverage,
            normalization_rule_name="identity",
            max_sentence_length=LONGEST_TEXT,
            num_threads=THREADS,
            unk_id=0,
            unk_piece=UNKNOWN_PIECE,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(
            f"no tokenizer of {vocab_size} pieces can be trained on {len(sample)} texts: {error}"
        ) from error
    pieces = sentencepiece.SentencePieceProcessor(model_proto=trained.getvalue())
    vocabulary = [
        (pieces.id_to_piece(i), round(pieces.get_score(i), SCORE_DIGITS)) for i in range(pieces.get_piece_size())
    ]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=False))
    steps: list[normalizers.Normalizer] = [normalizers.NFKC()]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Lowercase()] if lowercase else steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def _normalized(text: str, lowercase: bool) -> str:
    text = unicodedata.normalize("NFKC", text)
    # SentencePiece reads lines; a NUL would end the text.
    text = " ".join(text.replace("\0", " ").split())
    return text.lower() if lowercase else text
