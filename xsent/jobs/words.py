"""The words of many sentence pairs, cut by several processes: any number of them gives the same."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from functools import partial

from xsent.text.moses import moses_words
from xsent.text.processes import each_in_order

# Nothing here imports torch: a process that cuts words starts at once.

Texts = Sequence[tuple[str, str]]  # sentences, source and target
Words = list[tuple[tuple[str, ...], tuple[str, ...]]]


def words_of(texts: Texts, languages: tuple[str, str]) -> Words:
    """The words of each pair of sentences; every sentence has one, whatever signs it is made of.

    Args:
        texts: no sentence is blank.
        languages: ISO 639-3, of source and target.
    """
    source, target = languages
    return [(_words(one, source), _words(other, target)) for one, other in texts]


def _words(sentence: str, language: str) -> tuple[str, ...]:
    return moses_words(sentence, language) or tuple(sentence.split())


def words_of_chunks(chunks: Iterable[Texts], languages: tuple[str, str], *, workers: int) -> Generator[Words]:
    """``words_of`` each chunk, in order; of all chunks only a few are held at a time.

    Args:
        chunks: read as they are needed.
        languages: as of ``words_of``.
        workers: processes; 1 is this one.

    Raises:
        ChildProcessError: a process was killed, or could not begin.
    """
    if workers == 1:
        for chunk in chunks:
            yield words_of(chunk, languages)
        return
    work = partial(words_of, languages=languages)
    yield from each_in_order(work, chunks, workers=workers, doing="cuts words")
