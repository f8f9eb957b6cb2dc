"""Table of clean sentences: read, deduplicated, capped and split by content."""

import hashlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from xsent.data.readers.monolingual import Sentence
from xsent.data.readers.rejects import RejectLedger
from xsent.data.sampling.batch_sampler import Rows
from xsent.data.sampling.content_hash import Hashes, mix, normalize, split_rows, text_hashes, unit_interval
from xsent.distributed import rank

SentenceReader = Callable[[RejectLedger, str], Iterator[Sentence]]


class SentenceTable(NamedTuple):
    """N distinct sentences."""

    texts: list[str]
    hashes: Hashes  # (N,)
    lang: Rows  # (N,) number of the language
    languages: list[str]  # ISO 639-3
    splits: dict[str, Rows]  # row numbers of "train", "valid" and "test"

    def lowest(self, split: str) -> Rows:
        """Rows of a split, sorted by hash."""
        rows = self.splits[split]
        return rows[np.argsort(self.hashes[rows], kind="stable")]

    def training_sentences(self, per_language: int) -> list[str]:
        """Up to ``per_language`` training sentences of each language, those of lowest hash."""
        rows = self.lowest("train")
        by_language = [rows[self.lang[rows] == lang][:per_language] for lang in range(len(self.languages))]
        return [self.texts[row] for rows in by_language for row in rows.tolist()]

    def digest(self) -> str:
        """Hex digest of the sentences and the splits; the order of the files does not change it."""
        content = hashlib.sha256(" ".join(self.languages).encode())
        for split, rows in self.splits.items():
            content.update(split.encode())
            content.update(np.sort(mix(self.hashes[rows], self.lang[rows].astype(np.uint64))).tobytes())
        return content.hexdigest()


def read_sentence_table(
    read: Callable[[str], Iterator[Sentence]],
    root: str,
    *,
    valid_root: str | None,
    max_sentences: int | None,
    valid_share: float,
    test_share: float,
) -> SentenceTable:
    """Read, deduplicate, cap and split sentences; the shares are by content.

    ``read`` yields the sentences of a root. ``max_sentences`` caps those of ``root``, of lowest hash; None is no cap.
    Sentences of ``valid_root`` are the validation split, left out of the others; without it ``valid_share`` gives the
    size.
    """
    language_of = _languages(read(root))
    valid_language_of = {} if valid_root is None else _languages(read(valid_root))
    validated = set(map(normalize, valid_language_of))
    texts = [text for text in language_of if normalize(text) not in validated]
    if max_sentences is not None:
        lowest = np.sort(np.argsort(text_hashes(texts), kind="stable")[:max_sentences])
        texts = [texts[row] for row in lowest.tolist()]
    # Case and punctuation are ignored: "Go home!" and "go home" are in one split.
    position = unit_interval(text_hashes(map(normalize, texts), salt=b"split"))
    splits = split_rows(position, valid_share=valid_share if valid_root is None else 0.0, test_share=test_share)
    if valid_root is not None:
        splits["valid"] = np.arange(len(texts), len(texts) + len(valid_language_of))
    texts += valid_language_of
    language_of |= valid_language_of
    languages = sorted(set(language_of.values()))
    lang = np.array([languages.index(language_of[text]) for text in texts], dtype=np.int64)
    return SentenceTable(texts, text_hashes(texts), lang, languages, splits)


def _languages(sentences: Iterator[Sentence]) -> dict[str, str]:
    """Language of each distinct sentence, in file order."""
    bar = tqdm(sentences, desc="reading", unit=" sentences", unit_scale=True, delay=2, leave=False, disable=rank() > 0)
    return {sentence.text: sentence.lang for sentence in bar}
