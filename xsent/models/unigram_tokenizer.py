"""Reproducible training of a unigram tokenizer with SentencePiece."""

import io
import unicodedata
from collections.abc import Iterable

import sentencepiece
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

UNKNOWN_PIECE = "<unk>"  # id 0
THREADS = 4  # fixed, because the trainer's sums, and so the result, depend on it
MAX_TEXT_BYTES = 16_384  # longer texts are left out of the training sample
SCORE_DIGITS = 4  # of a log-probability; more digits decide nothing and enlarge the file


def train_unigram(texts: Iterable[str], vocab_size: int, *, coverage: float, lowercase: bool) -> Tokenizer:
    """Train a unigram tokenizer on NFKC text, with marks at the beginnings of words.

    The trainer of ``tokenizers`` 0.23 gives another vocabulary each time, even with one thread. SentencePiece's is
    reproducible and faster; a unigram model consists of nothing but its pieces and scores.

    Args:
        texts: training sample; order and repetitions do not matter.
        vocab_size: number of pieces, ``<unk>`` included; fewer when the text has no more.
        coverage: share of the text's characters that get a piece.
        lowercase: whether to lower-case the text.

    Raises:
        ValueError: there is no text, or it has more characters than ``vocab_size``.
    """
    sample = sorted({_normalize(text, lowercase) for text in texts} - {""})
    if not sample:
        raise ValueError("a tokenizer needs text to be trained on, found none")
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=model,
            model_type="unigram",
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=coverage,
            normalization_rule_name="identity",
            max_sentence_length=MAX_TEXT_BYTES,
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
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(pieces.get_piece_size())
    vocabulary = [(pieces.id_to_piece(i), round(pieces.get_score(i), SCORE_DIGITS)) for i in ids]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=False))
    steps: list[normalizers.Normalizer] = [normalizers.NFKC()]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Lowercase()] if lowercase else steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def _normalize(text: str, lowercase: bool) -> str:
    text = unicodedata.normalize("NFKC", text)
    # SentencePiece reads lines; a NUL would end the text.
    text = " ".join(text.replace("\0", " ").split())
    return text.lower() if lowercase else text
