"""Moses tokenization of many sentence pairs in several processes; their number does not change the result."""

from collections.abc import Generator, Iterable, Sequence
from functools import partial

from xsent.text.annotation.moses_tokenizer import moses_words
from xsent.text.multiprocess import map_in_order

# This module must not import torch, so that a tokenizer process starts at once.

Texts = Sequence[tuple[str, str]]  # sentences, source and target
Words = list[tuple[tuple[str, ...], tuple[str, ...]]]


def tokenize_pairs(texts: Texts, languages: tuple[str, str]) -> Words:
    """The words of each pair; a sentence without words for Moses is split at white space.

    No sentence may be blank. ``languages`` are the ISO 639-3 codes of source and target.
    """
    source_lang, target_lang = languages
    return [(_words(source, source_lang), _words(target, target_lang)) for source, target in texts]


def _words(sentence: str, language: str) -> tuple[str, ...]:
    return moses_words(sentence, language) or tuple(sentence.split())


def tokenize_chunks(chunks: Iterable[Texts], languages: tuple[str, str], *, workers: int) -> Generator[Words]:
    """``tokenize_pairs`` for each chunk, in order; reads only a few chunks ahead.

    With one worker it runs in this process.

    Raises:
        ChildProcessError: a process was killed or could not start.
    """
    tokenize = partial(tokenize_pairs, languages=languages)
    if workers == 1:
        for chunk in chunks:
            yield tokenize(chunk)
    else:
        yield from map_in_order(tokenize, chunks, workers=workers, task="tokenizes")
