"""Divergences of a bitext, raw or annotated: pairs that differ in meaning, as a file that a person can read."""

from __future__ import annotations

import json
import logging
import platform
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from xsent.batch import Embedder, WordPair
from xsent.data.whole_file import whole_file
from xsent.jobs.output import check_output
from xsent.jobs.seeds import Aligner, SeedOptions, aligned, seeds_of_bitext
from xsent.jobs.work import naming_a_full_disk, opened
from xsent.languages import to_iso639_3
from xsent.paths import sha256
from xsent.text.annotation import Annotator
from xsent.text.divergences import SEED, AnnotatedPair, Diverger, read_annotated, to_json

log = logging.getLogger(__name__)

PACKAGES = ("xsent", "numpy", "torch", "transformers", "tokenizers", "nltk", "stanza", "sacremoses", "simalign")

# Keys of conf/diverge.yaml that only matter where pairs come from a bitext.
BITEXT_KEYS = (
    "source_column", "target_column", "score_column", "origin_column", "header", "filter", "seeds", "annotator",
    "target_annotator",
)  # fmt: skip


class ParsedFiles(NamedTuple):
    """Pairs that others have annotated."""

    source: Path  # CoNLL-U, tagged and parsed
    target: Path  # CoNLL-U, its words alone are needed
    links: Path | None  # Pharaoh, 0-based; None: still to be aligned

    def __str__(self) -> str:
        """A line: which file is what."""
        links = self.links or "none, they will be aligned"
        return f"source {self.source}, target {self.target}, links {links}"


@dataclass(frozen=True)
class Loaders:
    """What a job may need, each loaded when it does; they raise what the loaded classes raise."""

    diverger: Callable[[], Diverger]
    annotator: Callable[[], Annotator]
    tagger: Callable[[], Annotator] | None  # of target words
    aligner: Callable[[], Aligner]
    embedder: Callable[[], Embedder]


class DivergeSummary(NamedTuple):
    """What ``diverge_file`` did."""

    output: Path
    seeds: int
    made: Counter[str]  # by kind
    failures: Counter[tuple[str, str]]  # by kind and reason
    seconds: float  # of generation alone

    def __str__(self) -> str:
        """A line: how many of what, how fast, and where."""
        made = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.made.items())) or "none"
        failed = "; ".join(
            f"{kind}: {', '.join(f'{reason} {count:,}' for reason, count in reasons.items())}"
            for kind, reasons in self.failures_by_kind().items()
        )
        not_made = f"{self.failures.total():,} not possible ({failed or 'none'})"
        speed = f"{self.seeds / max(self.seconds, 1e-9):,.0f} seeds/s"
        return f"{self.seeds:,} seeds, {self.made.total():,} divergences ({made}), {not_made}, {speed}: {self.output}"

    def failures_by_kind(self) -> dict[str, dict[str, int]]:
        """How often each reason kept a kind from being made."""
        found: dict[str, dict[str, int]] = {}
        for (kind, reason), count in sorted(self.failures.items()):
            found.setdefault(kind, {})[reason] = count
        return found


# ---- the job


def diverge_file(
    inputs: Path | ParsedFiles,
    output: Path,
    *,
    load: Loaders,
    options: SeedOptions,
    config: Mapping[str, Any],
    work_dir: Path | None,
    keep_work: bool,
    first: int | None = None,
) -> DivergeSummary:
    """Write every seed and its divergences, a JSON object a line, in the order of the seeds.

    Beside the output ``<output>.summary.json`` says what it was made from and how many of each kind there are, and
    ``<output>.rejects.tsv`` which lines of a bitext could not be read.

    Args:
        inputs: a TSV bitext, or annotated pairs (``find_inputs`` tells which).
        output: JSONL; there as a whole or not at all, the same whether or not an earlier run was killed.
        load: annotator, aligner and encoder where they are needed, and what makes the divergences.
        options: which pairs of a bitext are seeds.
        config: everything above as plain values, for the summary.
        work_dir: where annotation and alignment lie until the job is done; None is ``<output>.work``.
        keep_work: leave it afterwards: another seed number, or other kinds, then skip both.
        first: of annotated pairs so many are used, in the order of the files; None: all. Of a bitext ``options`` tell.

    Raises:
        FileNotFoundError: a file, a model or the folder of the output is missing; models say how to get them.
        ValueError: annotation that does not fit, named with file and line, or no pair is left.
        OSError: the disk is full, or the output cannot be written.
    """
    check_output(output)
    if output.resolve() in [path.resolve() for path in _files(inputs)]:
        raise ValueError(f"{output}: expected a file of its own for the output, found one that is read")
    digests = {str(path): _digest(path) for path in _files(inputs)}
    diverger = load.diverger()
    diverger.diverge([])  # WordNet, if it is needed and missing, is named now and not after the annotation
    with ExitStack() as stack:
        folder = work_dir or output.with_name(f"{output.name}.work")
        work = stack.enter_context(opened(folder, {"job": "diverge"}))
        counts: dict[str, int] = {}
        rejects = output.with_name(f"{output.name}.rejects.tsv")
        rejects.unlink(missing_ok=True)  # of an earlier run
        if isinstance(inputs, ParsedFiles):
            pairs = _parsed_seeds(inputs, load, digests, work.path, first)
        else:
            pairs, counts = _bitext_seeds(inputs, rejects, load, options, digests, work.path)
        if not pairs:
            raise ValueError("expected at least one annotated pair, found none")
        digests |= diverger.digests()
        summary = _write(output, pairs, diverger)
        _write_summary(summary, counts, _deciding(config, inputs, options, first), digests)
        if not keep_work:
            work.remove()
    return summary


def _bitext_seeds(
    path: Path, rejects: Path, load: Loaders, options: SeedOptions, digests: dict[str, str], cache: Path
) -> tuple[list[AnnotatedPair], dict[str, int]]:
    # Loaded before the first line is read: a missing model is no news for later.
    annotator, tagger, aligner = load.annotator(), load.tagger() if load.tagger else None, load.aligner()
    digests |= {"annotator": annotator.digest(), "aligner": aligner.digest()}
    if tagger is not None:
        digests["target_annotator"] = tagger.digest()
    embedder = load.embedder() if options.how_ordered == "margin" else None
    if embedder is not None:
        digests["encoder"] = embedder.digest()
    return seeds_of_bitext(
        path,
        options,
        embedder=embedder,
        annotator=annotator,
        tagger=tagger,
        aligner=aligner,
        cache=cache,
        rejects=rejects,
    )


def _parsed_seeds(
    files: ParsedFiles, load: Loaders, digests: dict[str, str], cache: Path, first: int | None
) -> list[AnnotatedPair]:
    log.info("annotated pairs: %s", files)
    aligner = load.aligner() if files.links is None else None
    read = read_annotated(files.source, files.target, files.links)
    pairs = list(tqdm(islice(read, first), desc="reading", unit=" pairs", delay=2, leave=False))
    if aligner is None:
        return pairs
    digests["aligner"] = aligner.digest()
    links = aligned([WordPair(pair.source, pair.target) for pair in pairs], aligner, cache)
    return [replace(pair, links=some) for pair, some in zip(pairs, links, strict=True)]


# ---- what is written


def _write(output: Path, pairs: Sequence[AnnotatedPair], diverger: Diverger) -> DivergeSummary:
    made: Counter[str] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    start = time.perf_counter()
    with naming_a_full_disk(output), whole_file(output) as file:
        for one in diverger.diverge(pairs, progress=True):
            file.write("".join(f"{to_json(record)}\n" for record in one.divergences))
            made.update(record.kind for record in one.divergences if record.kind != SEED)
            failures.update((kind, str(reason)) for kind, reason in one.failures.items())
    return DivergeSummary(output, len(pairs), made, failures, time.perf_counter() - start)


def _write_summary(
    summary: DivergeSummary, counts: Mapping[str, int], config: Mapping[str, Any], digests: Mapping[str, str]
) -> None:
    content = {
        "seeds": summary.seeds,
        "divergences": dict(sorted(summary.made.items())),
        "failures": summary.failures_by_kind(),
        "lines": dict(counts),  # of a bitext: how many went where
        "sha256": sha256(summary.output),
        "made_from": dict(digests),
        "config": dict(config),
        "versions": {"python": platform.python_version(), **_versions()},
    }
    path = summary.output.with_name(f"{summary.output.name}.summary.json")
    with naming_a_full_disk(path), whole_file(path) as file:
        file.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _deciding(
    config: Mapping[str, Any], inputs: Path | ParsedFiles, options: SeedOptions, first: int | None
) -> dict[str, Any]:
    """The part of the config that decided what was written: of what was annotated before, nothing about bitexts."""
    unused = set()
    if isinstance(inputs, ParsedFiles):
        unused = {*BITEXT_KEYS, "encoder"} | ({"aligner"} if inputs.links is not None else set())
    elif options.how_ordered != "margin":
        unused = {"encoder"}  # an aligner has its own
    kept = {key: value for key, value in config.items() if key not in unused}
    return kept if first is None else kept | {"seeds": {"count": first}}


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


# ---- what is read


def find_inputs(
    inputs: Path | None,
    *,
    source_conllu: Path | None,
    target_conllu: Path | None,
    align: Path | None,
    source_lang: str,
    target_lang: str,
) -> Path | ParsedFiles:
    """The bitext, or the annotated files in a folder, under a prefix, or by name.

    In a folder the two sides are told by a language in the names: ``seeds.en.conllu``, ``seeds.fr.conllu``; a file that
    is named beats one that is found.

    Args:
        inputs: a file, a folder, or what the names of several files begin with; may be None where both sides are named.
        source_conllu, target_conllu, align: named files.
        source_lang, target_lang: any code of the languages.

    Raises:
        FileNotFoundError: there is nothing of that name.
        ValueError: a side or its file cannot be told; lists what was found.
    """
    if inputs is not None and inputs.is_file():
        if source_conllu or target_conllu or align:
            raise ValueError(
                f"{inputs}: expected a folder or nothing beside --source-conllu and the like, found a file"
            )
        if inputs.suffix == ".conllu":
            raise ValueError(f"{inputs}: expected a TSV, or the folder of both sides' CoNLL-U files, found one of them")
        return inputs
    found = _beside(inputs) if inputs is not None else []
    source = source_conllu or _side(found, to_iso639_3(source_lang), "source", inputs)
    target = target_conllu or _side(found, to_iso639_3(target_lang), "target", inputs)
    links = [path for path in found if path.suffix == ".align"]
    if len(links) > 1 and align is None:
        raise ValueError(f"{inputs}: expected one file of links, found {_names(links)}; say which by --align")
    return ParsedFiles(source, target, align or (links[0] if links else None))


def _beside(inputs: Path) -> list[Path]:
    pattern = "*" if inputs.is_dir() else f"{inputs.name}.*"
    folder = inputs if inputs.is_dir() else inputs.parent
    found = [path for path in sorted(folder.glob(pattern)) if path.suffix in (".conllu", ".align")]
    if not found and not inputs.is_dir():
        raise FileNotFoundError(
            f"{inputs}: expected a TSV of pairs, or a folder or prefix of CoNLL-U files, found nothing"
        )
    return found


def _side(found: Sequence[Path], language: str, side: str, inputs: Path | None) -> Path:
    fitting = [path for path in found if path.suffix == ".conllu" and language in _languages(path)]
    if len(fitting) == 1:
        return fitting[0]
    raise ValueError(
        f"{inputs or 'no IN'}: expected one {side} file such as NAME.{language}.conllu, found"
        f" {_names(fitting or found)}; say which by --{side}-conllu"
    )


def _languages(path: Path) -> set[str]:
    codes = set()
    for part in path.stem.split("."):
        try:
            codes.add(to_iso639_3(part))
        except ValueError:  # a name, not a language
            continue
    return codes


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths) or "none"


def _files(inputs: Path | ParsedFiles) -> list[Path]:
    return [path for path in inputs if path is not None] if isinstance(inputs, ParsedFiles) else [inputs]


def _digest(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a text file, found none")
    return sha256(path)
