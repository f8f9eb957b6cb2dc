"""Annotated seed pairs from a raw bitext: read, filter, rank, tokenize, tag, parse, align."""

import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from xsent.batch import Embedder, WordPair
from xsent.config_checks import check_choice, check_integer
from xsent.data.readers.rejects import RejectLedger
from xsent.data.stores.array_cache import cached_arrays, store_key
from xsent.evaluation.search.exact import knn_both
from xsent.evaluation.search.margin import MARGINS, margin_scores, mean_cosines
from xsent.files.array_file import save_array
from xsent.jobs.bitext_reader import BitextReader, Columns
from xsent.languages import to_iso639_3
from xsent.similarity import check_finite, encoder_name, pairwise_cos_sim
from xsent.text.annotation.annotator import Annotation, StanzaAnnotator
from xsent.text.annotation.moses_tokenizer import moses_words
from xsent.text.divergences.annotated_pair import AnnotatedPair, check_pair
from xsent.text.seed_selection import NoiseFilter, rank_rows

log = logging.getLogger(__name__)

SHARD = 1024  # pairs between two saves of annotation, alignment or embeddings
LENGTH_STEPS = 4  # classes of length between a number of words and its double, for `seeds.order=lengths`
TOKENIZERS: Mapping[str, Callable[[str, str], Sequence[str]]] = {
    "whitespace": lambda sentence, _: sentence.split(),
    "moses": moses_words,
}

Links = tuple[tuple[int, int], ...]
Item = TypeVar("Item")


class Aligner(Protocol):
    """Links the words of sentence pairs."""

    def align(self, pairs: Sequence[WordPair], *, progress: bool = False) -> list[Links]:
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
    """Which pairs of a bitext become seeds; ``conf/job/diverge.yaml`` describes each value.

    Raises:
        ValueError: an unknown value, or columns and order that do not fit together.
    """

    source_lang: str  # ISO 639-3
    target_lang: str
    columns: Columns
    score_column: int | None  # 1-based
    origin_column: int | None
    filter: NoiseFilter
    filter_words: str
    count: int | None
    order: str | None
    margin: str
    k: int

    def __post_init__(self) -> None:
        check_choice("filter.words", self.filter_words, tuple(TOKENIZERS))
        check_choice("seeds.order", self.effective_order, ("score", "margin", "file", "lengths"))
        check_choice("seeds.margin", self.margin, tuple(MARGINS))
        columns = {
            "source_column": self.columns.source,
            "target_column": self.columns.target,
            "score_column": self.score_column,
            "origin_column": self.origin_column,
        }
        counts = {"seeds.count": self.count, "seeds.k": self.k, **columns}
        for name, count in counts.items():
            if count is not None:
                check_integer(name, count, minimum=1)
        roles: dict[int, str] = {}
        for name, column in columns.items():
            if column is not None and roles.setdefault(column, name) != name:
                raise ValueError(
                    f"{roles[column]} and {name} are both {column}: expected different columns; set score_column=null"
                    " or origin_column=null if there is none"
                )
        if self.order == "score" and self.score_column is None:
            raise ValueError("seeds.order=score: expected a score_column, found none")

    @property
    def effective_order(self) -> str:
        """``order``; by default ``score`` if there is a score column, else ``margin``."""
        return self.order or ("margin" if self.score_column is None else "score")


def options_from(config: Mapping[str, Any]) -> SeedOptions:
    """The options in the config of ``conf/job/diverge.yaml``."""
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
    models: Mapping[str, Any],
    *,
    cache: Path,
    rejects: Path,
) -> tuple[list[AnnotatedPair], dict[str, int]]:
    """The seeds of a bitext, the best first, and the number of lines by outcome.

    Args:
        path: of the bitext.
        options: which pairs become seeds.
        models: ``aligner``; ``annotator`` for kinds that need tags or a parse; ``encoder`` to order pairs by margin;
            ``target_annotator`` for phrase replacement on the target side.
        cache: holds embeddings, annotation and alignment by content.
        rejects: lists unreadable lines.

    Raises:
        ValueError: no pair is left; tells the outcome of the lines.
    """
    counts: Counter[str] = Counter()
    clean = list(_read_clean(path, options, rejects, counts))
    if not clean:
        raise ValueError(f"{path}: no pair is clean enough for a seed: {_format_counts(counts)}")
    ranked = (clean[row] for row in rank_rows(_scores(clean, options, models.get("encoder"), cache), None).tolist())
    unique = list(_drop_repeated(ranked, counts))
    selected = unique[: options.count]
    pairs = [
        WordPair(moses_words(raw.source, options.source_lang), moses_words(raw.target, options.target_lang))
        for raw in selected
    ]
    counts["not among the best"] = len(unique) - len(selected)
    log.info("%s: %s; %s seeds to annotate and align", path, _format_counts(counts), f"{len(selected):,}")
    parses = [Annotation((), ())] * len(pairs)
    if annotator := models.get("annotator"):
        parses = annotate([pair.source for pair in pairs], annotator, cache)
    target_tags: list[tuple[str, ...]] = [()] * len(pairs)
    if tagger := models.get("target_annotator"):
        target_tags = [annotation.tags for annotation in annotate([pair.target for pair in pairs], tagger, cache)]
    alignments = align(pairs, models["aligner"], cache)
    seeds = []
    for raw, pair, parse, tags, links in zip(selected, pairs, parses, target_tags, alignments, strict=True):
        seed = AnnotatedPair(raw.key, pair.source, pair.target, parse.tags, parse.heads, links, raw.origin, tags)
        try:
            check_pair(seed, f"{path}, {raw.key}")
        except ValueError as error:  # a parser's error costs a pair, not the job
            log.warning("left out: %s", error)
            counts["parse is no tree"] += 1
        else:
            seeds.append(seed)
    return seeds, dict(counts)


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


# ---- reading and filtering


def _read_clean(path: Path, options: SeedOptions, rejects: Path, counts: Counter[str]) -> Iterator[RawPair]:
    """Pairs that pass the filter; counts the others."""
    ledger = RejectLedger(strict=False)
    tokenize = TOKENIZERS[options.filter_words]
    for pair in tqdm(raw_pairs(path, options, ledger), desc=f"reading {path.name}", unit=" lines", delay=2):
        source, target = tokenize(pair.source, options.source_lang), tokenize(pair.target, options.target_lang)
        reason = options.filter.reject(source, target)
        counts[reason or "clean"] += 1
        if reason is None:
            yield pair
    if ledger.rejects:
        counts["unreadable"] = len(ledger.rejects)
        ledger.write(rejects)


def _drop_repeated(pairs: Iterable[RawPair], counts: Counter[str]) -> Iterator[RawPair]:
    """Pairs that share no sentence with an earlier pair, so that splits of the seeds share none either."""
    digests: tuple[set[bytes], set[bytes]] = (set(), set())
    for pair in pairs:
        source, target = _digest(pair.source), _digest(pair.target)
        is_new = source not in digests[0] and target not in digests[1]
        digests[0].add(source)
        digests[1].add(target)
        if is_new:
            yield pair
        else:
            counts["repeated"] += 1
            counts["clean"] -= 1


def _digest(sentence: str) -> bytes:
    return hashlib.blake2b(" ".join(sentence.split()).encode(), digest_size=16).digest()


def raw_pairs(path: Path, options: SeedOptions, ledger: RejectLedger) -> Iterator[RawPair]:
    """Pairs of a TSV; lines with wrong columns or an invalid score go to the ledger."""
    for row in BitextReader(path, options.columns, ledger):
        score = None
        if options.score_column is not None:
            text = _cell(row.columns, options.score_column)
            try:
                score = float(text)
            except ValueError:
                score = math.nan
            if not math.isfinite(score):
                ledger.add(str(path), row.line, f"expected a number in column {options.score_column}", repr(text))
                continue
        origin = _cell(row.columns, options.origin_column)
        yield RawPair(f"{path.name}:{row.line}", row.source, row.target, score, origin)


def _cell(columns: Sequence[str], number: int | None) -> str:
    return columns[number - 1] if number is not None and number <= len(columns) else ""


# ---- scores


def _scores(
    pairs: Sequence[RawPair], options: SeedOptions, embedder: Embedder | None, cache: Path
) -> NDArray[np.float64]:
    """(N,) score of each pair."""
    if options.effective_order == "margin":
        assert embedder is not None
        return pair_margins(pairs, embedder, margin=options.margin, k=options.k, cache=cache)
    if options.effective_order == "file":
        return np.zeros(len(pairs))
    if options.effective_order == "lengths":
        return -_turns(pairs, options)
    return np.array([pair.score for pair in pairs], dtype=np.float64)


def _turns(pairs: Sequence[RawPair], options: SeedOptions) -> NDArray[np.float64]:
    """(N,) rank of each pair among those with about as many source words, in a random order set by the words."""
    tokenize = TOKENIZERS[options.filter_words]
    words = [len(tokenize(pair.source, options.source_lang)) for pair in pairs]
    lengths = [round(LENGTH_STEPS * math.log2(count)) for count in words]
    turns: Counter[int] = Counter()
    ranks = np.zeros(len(pairs))
    for row in sorted(range(len(pairs)), key=lambda row: (_digest(pairs[row].source), _digest(pairs[row].target))):
        ranks[row] = turns[lengths[row]]
        turns[lengths[row]] += 1
    return ranks


def pair_margins(
    pairs: Sequence[RawPair], embedder: Embedder, *, margin: str, k: int, cache: Path
) -> NDArray[np.float64]:
    """(N,) margin score of each pair among all sentences of the pairs (Artetxe & Schwenk 2019, eq. 2)."""
    sides = []
    for texts in ([pair.source for pair in pairs], [pair.target for pair in pairs]):
        # A repeated sentence is one neighbour.
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        embeddings = torch.from_numpy(_embed(list(rows), embedder, cache))
        sides.append((embeddings, torch.tensor([rows[text] for text in texts])))
    (x, x_rows), (y, y_rows) = sides
    forward, backward = knn_both(x, y, k)
    cosines = pairwise_cos_sim(x[x_rows].double(), y[y_rows].double())
    means = mean_cosines(forward, k)[x_rows], mean_cosines(backward, k)[y_rows]
    scores: NDArray[np.float64] = margin_scores(cosines, *means, margin).numpy()
    return scores


# ---- slow steps, cached by shard


def _embed(texts: list[str], embedder: Embedder, cache: Path) -> NDArray[np.float32]:
    def write(shard: Sequence[str], folder: Path) -> None:
        vectors = embedder.encode(shard).float()
        check_finite(vectors, encoder_name(embedder), texts=shard)
        save_array(folder / "vectors.npy", vectors.numpy())

    shards = _cached_shards(texts, "embedding", embedder.digest(), cache, write, str)
    embeddings: NDArray[np.float32] = np.concatenate([arrays["vectors"] for arrays in shards])
    return embeddings.astype(np.float32, copy=False)


def annotate(sentences: Sequence[tuple[str, ...]], annotator: StanzaAnnotator, cache: Path) -> list[Annotation]:
    """Tags and heads of each sentence, resuming from the cache."""
    tool = partial(annotator.annotate, progress=False)
    rows = _cached_json(sentences, "annotation", annotator.digest(), cache, tool, " ".join)
    return [Annotation(tuple(tags), tuple(heads)) for tags, heads in rows]


def align(pairs: Sequence[WordPair], aligner: Aligner, cache: Path) -> list[Links]:
    """Links of each pair, resuming from the cache."""

    def to_text(pair: WordPair) -> str:
        return "\t".join(map(" ".join, pair))

    rows = _cached_json(pairs, "alignment", aligner.digest(), cache, aligner.align, to_text)
    return [tuple((start, end) for start, end in links) for links in rows]


def _cached_json(
    items: Sequence[Item],
    kind: str,
    digest: str,
    cache: Path,
    tool: Callable[[Sequence[Item]], Sequence[object]],
    to_text: Callable[[Item], str],
) -> list[Any]:
    def write(shard: Sequence[Item], folder: Path) -> None:
        raw = json.dumps(tool(shard), ensure_ascii=False).encode()
        save_array(folder / "json.npy", np.frombuffer(raw, dtype=np.uint8))

    shards = _cached_shards(items, kind, digest, cache, write, to_text)
    return [row for arrays in shards for row in json.loads(arrays["json"].tobytes())]


def _cached_shards(
    items: Sequence[Item],
    kind: str,
    digest: str,
    cache: Path,
    write: Callable[[Sequence[Item], Path], None],
    to_text: Callable[[Item], str],
) -> Iterator[Mapping[str, NDArray[np.generic]]]:
    """Arrays of each shard; shards are fixed, so that a resumed run gives the same result."""
    with tqdm(total=len(items), desc=kind, unit=" items", delay=2) as bar:
        for start in range(0, len(items), SHARD):
            shard = items[start : start + SHARD]
            key = store_key(digest, [to_text(item) for item in shard])
            yield cached_arrays(cache, kind, key, partial(write, shard))
            bar.update(len(shard))
