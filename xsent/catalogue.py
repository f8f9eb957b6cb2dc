"""Table of the encoders of ``conf/encoder``, read from their files without building them; languages of the bundled."""

import csv
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from xsent.config_checks import suggestion
from xsent.paths import conf_folder

FIELD = re.compile(r"# (dim|languages|origin|licence): (.+)")
WIDTHS = (17, 4, 11, 0)  # of the columns of the table, for 80 columns in all
GOOD = 80  # percent of sentences; from here on an encoder is good enough in a language


class EncoderInfo(NamedTuple):
    """An encoder that ``load_encoder`` knows by name."""

    name: str
    dim: int  # size of its vectors
    languages: str
    origin: str  # bundled, hub: NAME, folder: ..., or train: ...
    licence: str  # of the weights; empty: unknown, or nothing to license
    about: str


class EncoderTable(tuple[EncoderInfo, ...]):
    """The encoders; printed as a table."""

    def __str__(self) -> str:
        # Without the owner of a model, which is long.
        origins = [re.sub("hub: [^/]+/", "hub: ", entry.origin) for entry in self]
        rows = [EncoderInfo._fields[:4], *((*entry[:3], origin) for entry, origin in zip(self, origins, strict=True))]
        lines = ("  ".join(f"{cell!s:{width}}" for cell, width in zip(row, WIDTHS, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__


def encoders() -> EncoderTable:
    """The encoders that ``load_encoder`` and ``--encoder`` know by name."""
    return EncoderTable(map(encoder_info, encoder_names()))


def encoder_names() -> list[str]:
    return sorted(path.stem for path in (conf_folder() / "encoder").glob("*.yaml"))


@cache
def encoder_info(name: str) -> EncoderInfo:
    """The entry of a name of ``encoder_names``: a file's leading comment, and what it takes over from another file."""
    text = (conf_folder() / "encoder" / f"{name}.yaml").read_text(encoding="utf-8")
    comment = re.match(r"(#.*\n)*", text)
    assert comment is not None
    lines = comment[0].splitlines()
    content: dict[str, Any] = yaml.safe_load(text)
    fields = {match[1]: match[2] for line in lines if (match := FIELD.fullmatch(line))}
    for parent in set(content.get("defaults", [])) & set(encoder_names()):
        inherited = encoder_info(parent)._asdict()
        fields = {key: inherited[key] for key in ("dim", "languages", "origin", "licence")} | fields
    if "/" in content.get("name", ""):
        fields["origin"] = f"hub: {content['name']}"
    about = " ".join(line.removeprefix("# ") for line in lines if not FIELD.fullmatch(line))
    dim = int(content["dim"] if "dim" in content else fields["dim"])
    return EncoderInfo(name, dim, fields["languages"], fields["origin"], fields.get("licence", ""), about)


# ---- languages of a bundled encoder


class LanguageScore(NamedTuple):
    """How well an encoder works in a language other than English."""

    language: str  # ISO 639-3
    training_pairs: int  # pairs with a side in the language, entries of lexicons included
    tatoeba: float | None  # percent of its sentences whose nearest English one is their translation; None: not tested
    flores: float | None  # the same, on FLORES-200 dev

    @property
    def is_good(self) -> bool:
        """Whether each accuracy is at least ``GOOD``, and there is one."""
        accuracies = [value for value in (self.tatoeba, self.flores) if value is not None]
        return bool(accuracies) and min(accuracies) >= GOOD


def language_file(name: str) -> Path:
    """File of the languages of a bundled encoder, written by ``benchmarks.languages``; other encoders have none."""
    return Path(__file__).resolve().parent / "assets" / name / "languages.tsv"


def language_scores(path: Path) -> list[LanguageScore]:
    """The rows of a ``language_file``, by language."""
    with path.open(encoding="utf-8", newline="") as file:
        # The first line names the vectors that were measured.
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        return [
            LanguageScore(row["language"], int(row["training_pairs"]), _number(row["tatoeba"]), _number(row["flores"]))
            for row in rows
        ]


def language_table(path: Path) -> str:
    """The rows of a ``language_file`` as a table of 80 columns; languages without a test set are listed below it."""
    scores = language_scores(path)
    tested = [score for score in scores if score.tatoeba is not None or score.flores is not None]
    untested = [f"{score.language} {score.training_pairs:,}" for score in scores if score not in tested]
    lines = ["language      pairs  Tatoeba  FLORES"]
    lines += [
        f"{score.language} {'*' if score.is_good else ' '}{score.training_pairs:14,}"
        f"{_percent(score.tatoeba):>9}{_percent(score.flores):>8}".rstrip()
        for score in tested
    ]
    good = sum(score.is_good for score in scores)
    about = (
        "pairs: training pairs. Tatoeba, FLORES: percent of sentences whose nearest English sentence is their"
        f" translation. *: good enough, at least {GOOD} in each test; {good} languages."
    )
    paragraphs = [about, f"Not tested (pairs): {', '.join(untested)}."] if untested else [about]
    return "\n".join([*lines, *("\n" + textwrap.fill(text, 80) for text in paragraphs)])


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _percent(accuracy: float | None) -> str:
    return "" if accuracy is None else f"{accuracy:.1f}"


def unknown_encoder(source: str) -> str:
    """Error message for what is neither the name of an encoder nor a file or folder."""
    names = encoder_names()
    message = f"no encoder {source!r}: expected {', '.join(names)}, a run folder, a checkpoint or a folder of a model"
    of_hub = [entry.name for entry in encoders() if entry.origin == f"hub: {source}"]
    if of_hub:
        return f"{message}; did you mean {of_hub[0]}?"
    nearest = suggestion(source, names)
    if not nearest and re.fullmatch(r"[\w-]+/[\w.-]+", source) and not Path(source).parent.exists():
        return f"{message}; to use a model of the hub, fetch it: hf download {source} --local-dir FOLDER"
    return message + nearest
