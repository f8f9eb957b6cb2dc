"""From a raw bitext to annotated seed pairs: read, drop noise, cut words, keep the best, tag, parse, align."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from xsent.batch import Embedder, WordPair
from xsent.data.rejects import RejectLedger
from xsent.data.store import cached_arrays, digest_of_texts
from xsent.evaluation.margin import MARGINS, margin_scores, mean_cosines
from xsent.evaluation.search import knn_both
from xsent.jobs.bitext_rows import Columns, read_rows
from xsent.languages import to_iso639_3
from xsent.similarity import pairwise_cos_sim
from xsent.text.annotation import Annotation, Annotator
from xsent.text.divergences.pairs import AnnotatedPair, check_pair
from xsent.text.moses import moses_words
from xsent.text.seeds import NoiseFilter, best

log = logging.getLogger(__name__)

SHARD = 1024  # pairs that are annotated, aligned or embedded between two savings: what a kill can cost
ORDERS = ("score", "margin", "file")
WORDS: Mapping[str, Callable[[str, str], Sequence[str]]] = {
    "whitespace": lambda sentence, _: sentence.split(),
    "moses": moses_words,
}

Links = tuple[tuple[int, int], ...]
Item = TypeVar("Item")


class Aligner(Protocol):
    """Anything that links the words of a pair."""

    def links(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Links]:
        """0-based links of source and target words of each pair."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides the links."""
        ...


class RawPair(NamedTuple):
    """A line of a bitext."""

    key: str  # file and line
    source: str
    target: str
    score: float | None
    origin: str


@dataclass(frozen=True)
class SeedOptions:
    """Which pairs of a bitext become seeds; ``conf/diverge.yaml`` says what each value means.

    Raises:
        ValueError: a value that is none of the known, or columns and order that do not go together.
    """

    source_lang: str  # ISO 639-3
    target_lang: str
    columns: Columns
    score_column: int | None  # from 1
    origin_column: int | None
    filter: NoiseFilter
    filter_words: str
    count: int | None
    order: str | None
    margin: str
    k: int

    def __post_init__(self) -> None:
        for name, value, known in [
            ("filter.words", self.filter_words, tuple(WORDS)),
            ("seeds.order", self.how_ordered, ORDERS),
            ("seeds.margin", self.margin, MARGINS),
        ]:
            if value not in known:
                raise ValueError(f"{name} {value!r}: expected one of {', '.join(known)}")
        for name, count in [
            ("seeds.count", self.count), ("seeds.k", self.k), ("score_column", self.score_column),
            ("origin_column", self.origin_column),
        ]:  # fmt: skip
            if count is not None and count < 1:
                raise ValueError(f"{name}={count}: expected a whole number, at least 1")
        roles: dict[int, str] = {}
        for name, column in [
            ("source_column", self.columns.source), ("target_column", self.columns.target),
            ("score_column", self.score_column), ("origin_column", self.origin_column),
        ]:  # fmt: skip
            if column is not None and roles.setdefault(column, name) != name:
                raise ValueError(
                    f"{roles[column]} and {name} are both {column}: expected different columns; score_column=null or"
                    " origin_column=null where there is none"
                )
        if self.order == "score" and self.score_column is None:
            raise ValueError("seeds.order=score: expected a score_column, found none")

    @property
    def how_ordered(self) -> str:
        """``order``, or what the columns allow: by their scores, else by margin."""
        return self.order or ("margin" if self.score_column is None else "score")


def options_from(config: Mapping[str, Any]) -> SeedOptions:
    """The options among the keys of ``conf/diverge.yaml``."""
    limits = dict(config["filter"])
    return SeedOptions(
        source_lang=to_iso639_3(config["source_lang"]),
        target_lang=to_iso639_3(config["target_lang"]),
        columns=Columns(config["source_column"], config["target_column"], config["header"]),
        score_column=config["score_column"],
        origin_column=config["origin_column"],
        filter_words=limits.pop("words"),
        filter=NoiseFilter(**limits),
        **config["seeds"],
    )


def seeds_of_bitext(
    path: Path,
    options: SeedOptions,
    *,
    embedder: Embedder | None,
    annotator: Annotator,
    tagger: Annotator | None,
    aligner: Aligner,
    cache: Path,
    rejects: Path,
) -> tuple[list[AnnotatedPair], dict[str, int]]:
    """The seeds of a bitext, best first, and how many lines went where.

    Args:
        path: TSV without quoting, plain or ``.gz``.
        options: which pairs are seeds.
        embedder: scores pairs where they are ordered by margin.
        annotator: tags and parses the source side.
        tagger: tags the target side; None: its phrases are not replaced.
        aligner: links the words.
        cache: folder of what was embedded, annotated and aligned, by content.
        rejects: where lines that cannot be read are listed, if there are any.

    Raises:
        ValueError: no pair is left; says what became of the lines.
    """
    counts: Counter[str] = Counter()
    clean = list(_clean(path, options, rejects, counts))
    if not clean:
        raise ValueError(f"{path}: no pair is clean enough for a seed: {_said(counts)}")
    ordered = (clean[row] for row in best(_scores(clean, options, embedder, cache), None).tolist())
    unique = list(_unique(ordered, counts))
    kept = unique[: options.count]
    pairs = [_words_of(pair, options) for pair in kept]
    counts["not among the best"] = len(unique) - len(kept)
    log.info("%s: %s; %s seeds to annotate and align", path, _said(counts), f"{len(kept):,}")
    sources = annotated([pair.source for pair in pairs], annotator, cache)
    tags = (
        [one.tags for one in annotated([pair.target for pair in pairs], tagger, cache)] if tagger else [()] * len(pairs)
    )
    links = aligned(pairs, aligner, cache)
    seeds = []
    for raw, pair, source, target_tags, some in zip(kept, pairs, sources, tags, links, strict=True):
        seed = AnnotatedPair(
            key=raw.key, source=pair.source, target=pair.target, tags=source.tags, heads=source.heads, links=some,
            origin=raw.origin, target_tags=target_tags,
        )  # fmt: skip
        try:
            check_pair(seed, f"{path}, {raw.key}")
        except ValueError as error:  # a parser's slip costs a pair, not the job
            log.warning("left out: %s", error)
            counts["parse is no tree"] += 1
        else:
            seeds.append(seed)
    return seeds, dict(counts)


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


# ---- lines to clean pairs


def _clean(path: Path, options: SeedOptions, rejects: Path, counts: Counter[str]) -> Iterator[RawPair]:
    """Pairs that pass the filter; what becomes of the others is counted."""
    ledger = RejectLedger(strict=False)
    words = WORDS[options.filter_words]
    for pair in tqdm(raw_pairs(path, options, ledger), desc=f"reading {path.name}", unit=" lines", delay=2):
        source, target = words(pair.source, options.source_lang), words(pair.target, options.target_lang)
        noise = options.filter.noise(source, target)
        counts[noise or "clean"] += 1
        if noise is None:
            yield pair
    if ledger.rejects:
        counts["unreadable"] = len(ledger.rejects)
        ledger.write(rejects)


def _unique(pairs: Iterable[RawPair], counts: Counter[str]) -> Iterator[RawPair]:
    """Pairs without a sentence of an earlier one, on either side: no two parts of the seeds share a sentence."""
    seen: tuple[set[bytes], set[bytes]] = (set(), set())
    for pair in pairs:
        digests = [_digest(text) for text in (pair.source, pair.target)]
        is_new = not any(digest in side for digest, side in zip(digests, seen, strict=True))
        for digest, side in zip(digests, seen, strict=True):
            side.add(digest)
        if is_new:
            yield pair
        else:
            counts["repeated"] += 1
            counts["clean"] -= 1


def _digest(sentence: str) -> bytes:
    return hashlib.blake2b(" ".join(sentence.split()).encode(), digest_size=16).digest()


def raw_pairs(path: Path, options: SeedOptions, ledger: RejectLedger) -> Iterator[RawPair]:
    """Pairs of a TSV; a line whose score is no number goes to the ledger, as one of other columns does."""
    for row in read_rows(path, options.columns, ledger):
        score = None if options.score_column is None else _number(_cell(row.columns, options.score_column))
        if options.score_column is not None and score is None:
            reason = f"expected a number in column {options.score_column}"
            ledger.add(str(path), row.line, reason, repr(_cell(row.columns, options.score_column)))
            continue
        origin = _cell(row.columns, options.origin_column)
        yield RawPair(f"{path.name}:{row.line}", row.source, row.target, score, origin)


def _cell(columns: Sequence[str], number: int | None) -> str:
    return columns[number - 1] if number is not None and number <= len(columns) else ""


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _words_of(pair: RawPair, options: SeedOptions) -> WordPair:
    return WordPair(moses_words(pair.source, options.source_lang), moses_words(pair.target, options.target_lang))


# ---- scores


def _scores(
    pairs: Sequence[RawPair], options: SeedOptions, embedder: Embedder | None, cache: Path
) -> NDArray[np.float64]:
    """(N,) score of each pair; the best are seeds."""
    if options.how_ordered == "file":
        return np.zeros(len(pairs))
    if options.how_ordered == "score":
        return np.array([pair.score for pair in pairs], dtype=np.float64)
    assert embedder is not None
    return pair_margins(pairs, embedder, margin=options.margin, k=options.k, cache=cache)


def pair_margins(
    pairs: Sequence[RawPair], embedder: Embedder, *, margin: str, k: int, cache: Path
) -> NDArray[np.float64]:
    """(N,) margin score of each pair among all sentences of the pairs (Artetxe & Schwenk 2019, eq. 2)."""
    sides = []
    for texts in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        # A sentence that stands in many lines is one neighbour, not many.
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        vectors = torch.from_numpy(_embedded(list(rows), embedder, cache))
        sides.append((vectors, torch.tensor([rows[text] for text in texts])))
    (x, x_rows), (y, y_rows) = sides
    there, back = knn_both(x, y, k)
    cosines = pairwise_cos_sim(x[x_rows].double(), y[y_rows].double())
    scores = margin_scores(cosines, mean_cosines(there, k)[x_rows], mean_cosines(back, k)[y_rows], margin)
    found: NDArray[np.float64] = scores.numpy()
    return found


# ---- slow steps, saved shard by shard


def _embedded(texts: list[str], embedder: Embedder, cache: Path) -> NDArray[np.float32]:
    parts = []
    digest = embedder.digest()
    for some in _shards(texts, "embedding", "sentences"):

        def make(folder: Path, some: Sequence[str] = some) -> None:
            np.save(folder / "vectors.npy", embedder.encode(some).float().numpy())

        parts.append(cached_arrays(cache, "vectors", _key(digest, some), make)["vectors"])
    vectors: NDArray[np.float32] = np.concatenate(parts).astype(np.float32, copy=False)
    return vectors


def annotated(sentences: Sequence[tuple[str, ...]], annotator: Annotator, cache: Path) -> list[Annotation]:
    """Tags and heads of each sentence; what an earlier, killed run found is not looked for again."""
    rows = _saved(
        sentences, lambda some: annotator.annotate(some, progress=False), cache, "annotation", annotator.digest(),
        texts=lambda words: " ".join(words),
    )  # fmt: skip
    return [Annotation(tuple(tags), tuple(heads)) for tags, heads in rows]


def aligned(pairs: Sequence[WordPair], aligner: Aligner, cache: Path) -> list[Links]:
    """Links of each pair; what an earlier, killed run found is not looked for again."""
    rows = _saved(
        pairs, aligner.links, cache, "alignment", aligner.digest(), texts=lambda pair: "\t".join(map(" ".join, pair))
    )
    return [tuple((source, target) for source, target in links) for links in rows]


def _saved(
    items: Sequence[Item],
    find: Callable[[Sequence[Item]], Sequence[Any]],
    cache: Path,
    kind: str,
    digest: str,
    *,
    texts: Callable[[Item], str],
) -> Iterator[Any]:
    """What ``find`` says of each item, as plain values."""
    for some in _shards(items, kind, "pairs"):

        def make(folder: Path, some: Sequence[Item] = some) -> None:
            raw = json.dumps(find(some), ensure_ascii=False).encode()
            np.save(folder / "json.npy", np.frombuffer(raw, dtype=np.uint8))

        key = _key(digest, [texts(item) for item in some])
        yield from json.loads(cached_arrays(cache, kind, key, make)["json"].tobytes())


def _shards(items: Sequence[Item], what: str, unit: str) -> Iterator[Sequence[Item]]:
    """Always the same parts, so that what a model finds in one does not depend on what was found before."""
    with tqdm(total=len(items), desc=what, unit=f" {unit}", delay=2) as bar:
        for start in range(0, len(items), SHARD):
            some = items[start : start + SHARD]
            yield some
            bar.update(len(some))


def _key(digest: str, texts: Sequence[str]) -> str:
    return hashlib.sha256(f"{digest} {digest_of_texts(texts)}".encode()).hexdigest()
