"""Divergence job: seeds and their divergences from a raw or annotated bitext, as JSON Lines."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from xsent.batch import WordPair
from xsent.files.atomic import atomic_write
from xsent.jobs.checks import check_files, check_input
from xsent.jobs.summary import nest_counts, summary_path, versions, write_summary
from xsent.jobs.synthesis.seeds import SeedOptions, align, seeds_of_bitext
from xsent.jobs.work_folder import open_work_folder
from xsent.languages import to_iso639_3
from xsent.paths import sha256
from xsent.text.divergences import SEED, AnnotatedPair, Diverger, read_annotated, to_json
from xsent.text.divergences.json_format import ANNOTATED

log = logging.getLogger(__name__)

PACKAGES = ("numpy", "torch", "transformers", "tokenizers", "nltk", "stanza", "sacremoses", "simalign")

# Keys of conf/job/diverge.yaml that matter only for a raw bitext.
COLUMN_KEYS = ("source_column", "target_column", "score_column", "origin_column", "header")
BITEXT_KEYS = {*COLUMN_KEYS, "filter", "seeds", "annotator", "target_annotator"}


class ParsedFiles(NamedTuple):
    """Files of annotated pairs."""

    source: Path  # CoNLL-U, tagged and parsed
    target: Path  # CoNLL-U, only words are needed
    links: Path | None  # 0-based Pharaoh links; None: align the words


# Factories of what a job may need, by key of conf/job/diverge.yaml: ``divergences`` (a ``Diverger``), ``aligner``,
# ``encoder``, perhaps ``annotator`` and ``target_annotator``. Each is called only if needed, and may raise the errors
# of its class.
Loaders = Mapping[str, Callable[[], Any]]


class DivergeSummary(NamedTuple):
    """Result of ``diverge_file``."""

    output: Path
    seeds: int
    divergences: Counter[str]  # by kind
    failures: Counter[tuple[str, str]]  # by kind and reason
    seconds: float  # of generation alone

    def __str__(self) -> str:
        """One log line."""
        counts = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.divergences.items())) or "none"
        failed = "; ".join(
            f"{kind}: {', '.join(f'{reason} {count:,}' for reason, count in reasons.items())}"
            for kind, reasons in nest_counts(self.failures).items()
        )
        not_made = f"{self.failures.total():,} not possible ({failed or 'none'})"
        speed = f"{self.seeds / max(self.seconds, 1e-9):,.0f} seeds/s"
        total = f"{self.divergences.total():,} divergences ({counts})"
        return f"{self.seeds:,} seeds, {total}, {not_made}, {speed}: {self.output}"


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
    """Write every seed and its divergences as JSON lines, in the order of the seeds.

    Also writes ``<output>.summary.json`` (inputs, config, versions, counts) and, for unreadable lines of a bitext,
    ``<output>.rejects.tsv``. A resumed run gives the same files.

    Args:
        inputs: from ``find_inputs``.
        config: plain values of all options, for the summary.
        work_dir: cache of annotation and alignment; None is ``<output>.work``.
        keep_work: keep the cache, to make other kinds or use another seed without new annotation.
        first: number of annotated pairs to use; None: all. For a bitext, ``options`` decides.

    Raises:
        FileNotFoundError: a file, a model or the folder of the output is missing; models tell how to get them.
        ValueError: invalid annotation (names file and line), an output is an input, or no pair is left.
        OSError: the disk is full, or the output cannot be written.
    """
    work_dir = work_dir or output.with_name(f"{output.name}.work")
    rejects = output.with_name(f"{output.name}.rejects.tsv")
    input_files = [path for path in inputs if path is not None] if isinstance(inputs, ParsedFiles) else [inputs]
    for path in input_files:
        check_input(path)
    check_files(input_files, [output, rejects, summary_path(output)], work_dir=work_dir)
    digests = {str(path): sha256(path) for path in input_files}
    diverger: Diverger = load["divergences"]()
    diverger.diverge([])  # raises before the annotation if WordNet is missing
    needing = [kind for kind in diverger.kinds if kind in ANNOTATED]
    if needing and isinstance(inputs, Path) and "annotator" not in load:
        raise ValueError(f"annotator=null: {', '.join(needing)} of divergences.kinds need tags and a parse of a bitext")
    with open_work_folder(work_dir, {"job": "diverge"}, keep=keep_work) as work:
        counts: dict[str, int] = {}
        rejects.unlink(missing_ok=True)  # of an earlier run
        if isinstance(inputs, ParsedFiles):
            pairs = _read_parsed(inputs, load, digests, work.path, first)
        else:
            pairs, counts = _read_bitext(inputs, rejects, load, options, digests, work.path)
        if not pairs:
            raise ValueError("expected at least one annotated pair, found none")
        digests |= diverger.digests()
        summary = _write_divergences(output, pairs, diverger)
        content = {
            "seeds": summary.seeds,
            "divergences": dict(sorted(summary.divergences.items())),
            "failures": nest_counts(summary.failures),
            "lines": dict(counts),  # of a bitext, by outcome
            "sha256": sha256(output),
            "made_from": digests,
            "config": _relevant_config(config, inputs, options, first),
            "versions": versions(PACKAGES),
        }
        write_summary(output, content)
    return summary


def _read_bitext(
    path: Path, rejects: Path, load: Loaders, options: SeedOptions, digests: dict[str, str], cache: Path
) -> tuple[list[AnnotatedPair], dict[str, int]]:
    # Models are loaded before reading, so that a missing one is reported at once.
    names = ["annotator", "aligner", "target_annotator"]
    if options.effective_order == "margin":
        names.append("encoder")
    models = {name: load[name]() for name in names if name in load}
    digests |= {name: model.digest() for name, model in models.items()}
    return seeds_of_bitext(path, options, models, cache=cache, rejects=rejects)


def _read_parsed(
    files: ParsedFiles, load: Loaders, digests: dict[str, str], cache: Path, first: int | None
) -> list[AnnotatedPair]:
    links = files.links or "none, words will be aligned"
    log.info("annotated pairs: source %s, target %s, links %s", files.source, files.target, links)
    aligner = load["aligner"]() if files.links is None else None
    stream = islice(read_annotated(files.source, files.target, files.links), first)
    pairs = list(tqdm(stream, desc="reading", unit=" pairs", delay=2, leave=False))
    if aligner is None:
        return pairs
    digests["aligner"] = aligner.digest()
    alignments = align([WordPair(pair.source, pair.target) for pair in pairs], aligner, cache)
    return [replace(pair, links=links) for pair, links in zip(pairs, alignments, strict=True)]


# ---- output


def _write_divergences(output: Path, pairs: Sequence[AnnotatedPair], diverger: Diverger) -> DivergeSummary:
    divergences: Counter[str] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    start = time.perf_counter()
    with atomic_write(output) as file:
        for result in diverger.diverge(pairs, progress=True):
            file.write("".join(f"{to_json(record)}\n" for record in result.divergences))
            divergences.update(record.kind for record in result.divergences if record.kind != SEED)
            failures.update((kind, str(reason)) for kind, reason in result.failures.items())
    return DivergeSummary(output, len(pairs), divergences, failures, time.perf_counter() - start)


def _relevant_config(
    config: Mapping[str, Any], inputs: Path | ParsedFiles, options: SeedOptions, first: int | None
) -> dict[str, Any]:
    """The part of the config that affects the output."""
    unused: set[str] = set()
    if isinstance(inputs, ParsedFiles):
        unused = BITEXT_KEYS | {"encoder"} | ({"aligner"} if inputs.links is not None else set())
    elif options.effective_order != "margin":
        unused = {"encoder"}  # an aligner has its own
    relevant = {key: value for key, value in config.items() if key not in unused}
    return relevant if first is None else relevant | {"seeds": {"count": first}}


# ---- input


def find_inputs(
    inputs: Path | None,
    *,
    source_conllu: Path | None,
    target_conllu: Path | None,
    align: Path | None,
    source_lang: str,
    target_lang: str,
) -> Path | ParsedFiles:
    """Find the bitext, or the annotated files in a folder, by a prefix, or by name.

    ``inputs`` is a file, a folder, or a prefix of several files; None if both sides are named. A language in the names
    tells the sides in a folder: ``seeds.en.conllu``, ``seeds.fr.conllu``. A named file takes precedence.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a side or its file is ambiguous; lists the files.
    """
    if inputs is not None and inputs.is_file():
        if source_conllu or target_conllu or align:
            raise ValueError(
                f"{inputs}: expected a folder or nothing beside --source-conllu and the like, found a file"
            )
        if inputs.suffix == ".conllu":
            raise ValueError(f"{inputs}: expected a TSV, or the folder of both sides' CoNLL-U files, found one of them")
        return inputs
    files = _list_files(inputs) if inputs is not None else []
    source = source_conllu or _find_side(files, to_iso639_3(source_lang), "source", inputs)
    target = target_conllu or _find_side(files, to_iso639_3(target_lang), "target", inputs)
    links = [path for path in files if path.suffix == ".align"]
    if len(links) > 1 and align is None:
        raise ValueError(f"{inputs}: expected one file of links, found {_join_names(links)}; choose one by --align")
    return ParsedFiles(source, target, align or (links[0] if links else None))


def _list_files(inputs: Path) -> list[Path]:
    candidates = inputs.glob("*") if inputs.is_dir() else inputs.parent.glob(f"{inputs.name}.*")
    files = [path for path in sorted(candidates) if path.suffix in (".conllu", ".align")]
    if not files and not inputs.is_dir():
        raise FileNotFoundError(
            f"{inputs}: expected a TSV of pairs, or a folder or prefix of CoNLL-U files, found nothing"
        )
    return files


def _find_side(files: Sequence[Path], language: str, side: str, inputs: Path | None) -> Path:
    matches = [path for path in files if path.suffix == ".conllu" and language in _languages(path)]
    if len(matches) == 1:
        return matches[0]
    raise ValueError(
        f"{inputs or 'no IN'}: expected one {side} file such as NAME.{language}.conllu, found"
        f" {_join_names(matches or files)}; choose one by --{side}-conllu"
    )


def _languages(path: Path) -> set[str]:
    codes = set()
    for part in path.stem.split("."):
        try:
            codes.add(to_iso639_3(part))
        except ValueError:  # a name, not a language
            continue
    return codes


def _join_names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths) or "none"
