"""Job ``xsent distract``: adds distractors to the texts of files and measures their difficulty."""

import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from xsent.data.test_sets.clsd_files import JSON_LINES
from xsent.files.atomic import atomic_write
from xsent.jobs.checks import check_files
from xsent.jobs.summary import nest_counts, summary_path, versions, write_summary
from xsent.jobs.synthesis.distract_inputs import Inputs
from xsent.lexical_overlap import Difficulty, difficulty
from xsent.paths import sha256
from xsent.text.distractors.json_format import DistractorRow, to_json
from xsent.text.distractors.protocol import DistractorMaker, DistractorResult, Request

_KIND = re.compile(r"(?:^|; )([a-z_]+): ")
ALL = "all languages"
PACKAGES = ("rapidfuzz", "openai", "py3langid")


class DistractSummary(NamedTuple):
    """Result of ``distract``; counts are of texts."""

    output: Path
    rows: int
    completed: Counter[str]  # by language, texts that got distractors
    unchanged: Counter[str]  # by language, texts that had distractors
    failures: Counter[tuple[str, str]]  # by language and reason
    kinds: Counter[str]  # of edits, if the maker reports them; counts distractors
    difficulty: dict[str, Difficulty]  # by language, of the whole output
    seconds: float  # of the maker

    def __str__(self) -> str:
        """One line: counts, speed and output."""
        completed = ", ".join(f"{language} {count:,}" for language, count in self.completed.items()) or "none"
        unchanged = f", {self.unchanged.total():,} kept" if self.unchanged else ""
        failed = f"{self.failures.total():,} without"
        if self.failures:
            failed += f" (reasons: {_failures_of(self.output).name})"
        requests = self.completed.total() + self.failures.total()
        speed = f"{requests / max(self.seconds, 1e-9):,.0f} texts/s"
        return (
            f"{self.rows:,} rows, {self.completed.total():,} texts got distractors ({completed}){unchanged}, {failed},"
            f" {speed}: {self.output}"
        )


def list_requests(
    inputs: Inputs, maker: DistractorMaker, *, languages: Sequence[str] | None, again: bool
) -> list[Request]:
    """The texts to make distractors of, by row and language.

    ``languages`` are ISO 639-3 codes, None is all; ``again`` includes texts that have distractors.

    Raises:
        ValueError: no row has a language, the maker's ``check`` fails, or existing distractors have another count.
    """
    available = inputs.languages()
    if unknown := [language for language in languages or () if language not in available]:
        raise ValueError(f"languages {','.join(unknown)}: expected some of the input's, {', '.join(available)}")
    selected = [language for language in available if languages is None or language in languages]
    requests = []
    for location, row in inputs.placed:
        for language in selected:
            if language not in row.texts:
                continue
            if again or language not in row.distractors:
                requests.append(Request(row.id, language, row.texts[language]))
            elif len(row.distractors[language]) != maker.count:
                raise ValueError(
                    f"{location}: expected {maker.count} distractors in {language} like the others, found"
                    f" {len(row.distractors[language])}; --again replaces them, --languages selects languages"
                )
    maker.check(dict.fromkeys(request.language for request in requests))
    return requests


def check_outputs(inputs: Inputs, output: Path, *, ledger: Path | None) -> None:
    """Check the paths before any work.

    Raises:
        ValueError: two of the files are the same, or the output has another extension.
        OSError: the output cannot be written, or the ledger is a folder.
    """
    ledgers = [] if ledger is None else [ledger]
    check_files(inputs.files, [output, _failures_of(output), summary_path(output), *ledgers])
    if not output.name.endswith(JSON_LINES):  # readers choose the format by the name
        raise ValueError(f"{output}: expected a name that ends in {' or '.join(JSON_LINES)}, the format of the output")


def _failures_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.failures.tsv")


def distract(
    inputs: Inputs,
    output: Path,
    maker: DistractorMaker,
    requests: Sequence[Request],
    *,
    config: Mapping[str, Any],
) -> DistractSummary:
    """Write all rows with their distractors as JSON Lines.

    ``<output>.failures.tsv`` lists the texts without distractors and the reasons, ``<output>.summary.json`` counts,
    difficulty, config and digests.

    Existing distractors are kept unless ``requests`` (of ``list_requests``) include their texts. ``config`` is that of
    the maker without secrets, for the summary. ``output`` was checked by ``check_outputs``.

    Raises:
        OSError: the disk is full, or the output cannot be written.
    """
    digests = {str(path): sha256(path) for path in inputs.files}
    start = time.perf_counter()
    results = list(maker.make(requests, progress=True))
    seconds = time.perf_counter() - start
    rows = _add_distractors(inputs.rows, results)
    failed = [result for result in results if result.failure]
    requested = {(request.id, request.language) for request in requests}
    summary = DistractSummary(
        output=output,
        rows=len(rows),
        completed=Counter(result.request.language for result in results if not result.failure),
        unchanged=Counter(
            language for row in inputs.rows for language in row.distractors if (row.id, language) not in requested
        ),
        failures=Counter((result.request.language, result.failure) for result in failed),
        kinds=Counter(edit_kind(note) for result in results for note in result.notes),
        difficulty=difficulty_by_language(rows),
        seconds=seconds,
    )
    with atomic_write(output) as file:
        file.writelines(f"{to_json(row)}\n" for row in rows)
    _failures_of(output).unlink(missing_ok=True)  # of an earlier run
    if failed:
        with atomic_write(_failures_of(output)) as file:
            file.write("id\tlanguage\twhy\ttext\n")
            for result in failed:
                fields = (result.request.id, result.request.language, result.failure, result.request.text)
                file.write("\t".join(" ".join(field.split()) for field in fields) + "\n")
    content = {
        "rows": summary.rows,
        "texts": {
            "made": dict(summary.completed),
            "kept": dict(summary.unchanged),
            "failed": nest_counts(summary.failures),
        },
        "kinds": dict(sorted(summary.kinds.items())),
        "jaccard": _plain(summary.difficulty),
        "seconds": round(summary.seconds, 3),
        "sha256": sha256(summary.output),
        "maker": dict(config),
        "inputs": digests,
        # of a language model
        **({"totals": _plain(maker.totals)} if hasattr(maker, "totals") else {}),
        "versions": versions(PACKAGES),
    }
    write_summary(output, content)
    return summary


def edit_kind(note: str) -> str:
    """``entity+number`` for the note ``number: 3 > 5; entity: Rome > Paris``; another note is its own kind."""
    return "+".join(sorted(set(_KIND.findall(note)))) or note


def _add_distractors(rows: Sequence[DistractorRow], results: Iterable[DistractorResult]) -> list[DistractorRow]:
    by_text = {(result.request.id, result.request.language): result for result in results}
    changed = []
    for row in rows:
        distractors, notes = dict(row.distractors), dict(row.notes)
        for language in row.texts:
            if result := by_text.get((row.id, language)):
                distractors[language], notes[language] = result.distractors, result.notes
        notes, distractors = _in_order(notes, row.texts), _in_order(distractors, row.texts)
        changed.append(row._replace(distractors=distractors, notes=notes))
    return changed


def _in_order(values: Mapping[str, tuple[str, ...]], languages: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {language: values[language] for language in languages if values.get(language)}


def difficulty_by_language(rows: Sequence[DistractorRow]) -> dict[str, Difficulty]:
    """Difficulty of the distractors by language, in order of appearance; with several, ``ALL`` comes last."""
    groups: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for row in rows:
        for language, distractors in row.distractors.items():
            groups.setdefault(language, []).append((row.texts[language], distractors))
    table = {language: difficulty(group) for language, group in groups.items()}
    if len(groups) > 1:
        table[ALL] = difficulty(pair for group in groups.values() for pair in group)
    return table


def _plain(value: Any) -> Any:
    """Named tuples as mappings, and None for NaN, which JSON lacks."""
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
