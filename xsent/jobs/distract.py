"""Distractors of the texts of files: near-copies that mean something else, and how hard they are to tell."""

from __future__ import annotations

import errno
import json
import math
import platform
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from xsent import __version__
from xsent.data.clsd_files import JSON_LINES
from xsent.data.whole_file import whole_file
from xsent.jobs.distract_inputs import Inputs
from xsent.jobs.output import check_output
from xsent.jobs.packed import writing_text
from xsent.jobs.work import naming_a_full_disk
from xsent.overlap import Difficulty, difficulty
from xsent.paths import sha256
from xsent.text.distractors.maker import DistractorMaker, Made, Request
from xsent.text.distractors.record import DistractorRow, to_json

_KIND = re.compile(r"(?:^|; )([a-z_]+): ")
FAILURES_HEADER = "id\tlanguage\twhy\ttext\n"
ALL = "all languages"
PACKAGES = ("rapidfuzz", "openai", "py3langid")


class DistractSummary(NamedTuple):
    """What ``distract`` did; texts are counted, not distractors."""

    output: Path
    rows: int
    made: Counter[str]  # by language
    kept: Counter[str]  # by language, those that had distractors
    failures: Counter[tuple[str, str]]  # by language and reason
    kinds: Counter[str]  # of changes, where the maker tells; these are distractors
    difficulty: dict[str, Difficulty]  # by language, of all that is in the output
    seconds: float  # of making alone

    def __str__(self) -> str:
        """A line: how many of what, how fast, and where."""
        made = ", ".join(f"{language} {count:,}" for language, count in self.made.items()) or "none"
        kept = f", {self.kept.total():,} kept" if self.kept else ""
        failed = f"{self.failures.total():,} without"
        if self.failures:
            failed += f" ({_failures_of(self.output).name} says why)"
        asked = self.made.total() + self.failures.total()
        speed = f"{asked / max(self.seconds, 1e-9):,.0f} texts/s"
        return (
            f"{self.rows:,} rows, {self.made.total():,} texts got distractors ({made}){kept}, {failed}, {speed}:"
            f" {self.output}"
        )


def requests_of(
    inputs: Inputs, maker: DistractorMaker, *, languages: Sequence[str] | None, again: bool
) -> list[Request]:
    """The texts that want distractors, by row and in it by language; nothing is made yet.

    Args:
        inputs: rows, of which some may have distractors.
        maker: is asked whether it can work in their languages.
        languages: ISO 639-3, these alone; None is all that the rows have.
        again: also texts that have distractors already.

    Raises:
        ValueError: no row has such a language, the maker cannot work in one of them or at all, or there are
            distractors to be kept, and not as many as it makes.
    """
    there = inputs.languages()
    if unknown := [language for language in languages or () if language not in there]:
        raise ValueError(f"languages {','.join(unknown)}: expected some of the input's, {', '.join(there)}")
    chosen = [language for language in there if languages is None or language in languages]
    requests = []
    for where, row in inputs.placed:
        for language in chosen:
            if language not in row.texts:
                continue
            if again or language not in row.distractors:
                requests.append(Request(row.id, language, row.texts[language]))
            elif len(row.distractors[language]) != maker.count:
                raise ValueError(
                    f"{where}: expected {maker.count} distractors in {language} as for the others, found"
                    f" {len(row.distractors[language])}; --again makes them anew, --languages leaves a language out"
                )
    maker.check(dict.fromkeys(request.language for request in requests))
    return requests


def check_files(inputs: Inputs, output: Path, *, ledger: Path | None) -> None:
    """Look at the names of files before any work.

    Args:
        inputs: are read.
        output: is written, and files beside it whose names begin with its own.
        ledger: of the maker, if it has one.

    Raises:
        ValueError: one of them is another one, too, or the output's name does not say that it is JSONL.
        OSError: the output cannot be written, or the ledger is a folder.
    """
    check_output(output)
    if not output.name.endswith(JSON_LINES):  # by its name it is read again
        raise ValueError(
            f"{output}: expected a name that ends in {' or '.join(JSON_LINES)}, as that is what is written"
        )
    read = [path.resolve() for path in inputs.files]
    written = [output, _failures_of(output), _summary_of(output)]
    for path in written:
        if path.resolve() in read:
            raise ValueError(f"{path}: expected a file of its own for what is written, found one that is read")
    if ledger is None:
        return
    if ledger.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected a file for the ledger, found a folder", str(ledger))
    if ledger.resolve() in [*read, *(path.resolve() for path in written)]:
        raise ValueError(f"{ledger}: expected a file of its own for the ledger, found one that is read or written")


def _failures_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.failures.tsv")


def _summary_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.summary.json")


def distract(
    inputs: Inputs,
    output: Path,
    maker: DistractorMaker,
    requests: Sequence[Request],
    *,
    config: Mapping[str, Any],
) -> DistractSummary:
    """Write all rows with their distractors, a JSON object a line, in their order.

    A text that nothing could be made of has none; ``<output>.failures.tsv`` says of each why, and
    ``<output>.summary.json`` what was made from what.

    Args:
        inputs: the rows; what they have and ``requests`` do not ask for is kept.
        output: as ``check_files`` wants it; JSONL, plain or ``.gz``; there as a whole or not at all.
        maker: makes the distractors; what it raises passes.
        requests: of ``requests_of``.
        config: of the maker as plain values without secrets, for the summary.

    Raises:
        OSError: the disk is full, or the output cannot be written.
    """
    digests = {str(path): sha256(path) for path in inputs.files}
    start = time.perf_counter()
    made = list(maker.make(requests, progress=True))
    seconds = time.perf_counter() - start
    rows = _with_distractors(inputs.rows, made)
    failed = [one for one in made if one.failure]
    summary = DistractSummary(
        output, len(rows),
        Counter(one.request.language for one in made if not one.failure),
        _kept(inputs.rows, requests),
        Counter((one.request.language, one.failure) for one in failed),
        Counter(kind_of(note) for one in made for note in one.notes),
        difficulty_by_language(rows), seconds,
    )  # fmt: skip
    with writing_text(output) as file:
        file.writelines(f"{to_json(row)}\n" for row in rows)
    _write_failures(_failures_of(output), failed)
    about: dict[str, object] = {"maker": dict(config), "inputs": digests}
    if hasattr(maker, "totals"):  # of one that is paid
        about["totals"] = _plain(maker.totals)
    _write_summary(summary, about)
    return summary


def kind_of(note: str) -> str:
    """``entity+number`` of the note ``number: 3 > 5; entity: Rome > Paris``; a note of another form is its own kind."""
    return "+".join(sorted(set(_KIND.findall(note)))) or note


def _with_distractors(rows: Sequence[DistractorRow], made: Iterable[Made]) -> list[DistractorRow]:
    found = {(one.request.id, one.request.language): one for one in made}
    changed = []
    for row in rows:
        distractors, notes = dict(row.distractors), dict(row.notes)
        for language in row.texts:
            if one := found.get((row.id, language)):
                for parts, new in ((distractors, one.distractors), (notes, one.notes)):
                    parts.pop(language, None)
                    parts.update({language: new} if new else {})
        changed.append(row._replace(distractors=_in_order(distractors, row), notes=_in_order(notes, row)))
    return changed


def _in_order(by_language: Mapping[str, tuple[str, ...]], row: DistractorRow) -> dict[str, tuple[str, ...]]:
    """Languages in the order of the texts, whichever were made last."""
    return {language: by_language[language] for language in row.texts if language in by_language}


def _kept(rows: Sequence[DistractorRow], requests: Iterable[Request]) -> Counter[str]:
    asked = {(request.id, request.language) for request in requests}
    return Counter(language for row in rows for language in row.distractors if (row.id, language) not in asked)


# ---- difficulty


def difficulty_by_language(rows: Sequence[DistractorRow]) -> dict[str, Difficulty]:
    """How hard the distractors of each language are to tell, languages in the order in which they come first.

    Of several, ``ALL`` of them together come last.
    """
    groups: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for row in rows:
        for language, distractors in row.distractors.items():
            groups.setdefault(language, []).append((row.texts[language], distractors))
    found = {language: difficulty(group) for language, group in groups.items()}
    if len(groups) > 1:
        found[ALL] = difficulty(one for group in groups.values() for one in group)
    return found


# ---- what is written beside the output


def _write_failures(path: Path, failed: Sequence[Made]) -> None:
    path.unlink(missing_ok=True)  # of an earlier run
    if failed:
        with naming_a_full_disk(path), whole_file(path) as file:
            file.write(FAILURES_HEADER)
            for one in failed:
                fields = (one.request.id, one.request.language, one.failure, one.request.text)
                file.write("\t".join(" ".join(field.split()) for field in fields) + "\n")


def _write_summary(summary: DistractSummary, about: Mapping[str, Any]) -> None:
    failures: dict[str, dict[str, int]] = {}
    for (language, reason), count in sorted(summary.failures.items()):
        failures.setdefault(language, {})[reason] = count
    content = {
        "rows": summary.rows,
        "texts": {"made": dict(summary.made), "kept": dict(summary.kept), "failed": failures},
        "kinds": dict(sorted(summary.kinds.items())),
        "jaccard": {name: _plain(one) for name, one in summary.difficulty.items()},
        "seconds": round(summary.seconds, 3),
        "sha256": sha256(summary.output),
        **about,
        "versions": {"python": platform.python_version(), "xsent": __version__, **dict(_versions())},
    }
    path = _summary_of(summary.output)
    with naming_a_full_disk(path), whole_file(path) as file:
        file.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _plain(value: Any) -> Any:
    """Named tuples as mappings, and None for NaN, which JSON has not."""
    if hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _versions() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
