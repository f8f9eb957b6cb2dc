"""Readers of user-generated content with its standard form: RoCS-MT, LexNorm, MultiLexNorm."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from xsent.data.readers.lines import check_aligned, existing_folder, read_json, read_lines
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

# Manual segmentation; the files segmented by spaCy are not aligned with the translations.
ROCSMT_NOISY, ROCSMT_STANDARD = "RoCS-MT.src.raw-manseg.en", "RoCS-MT.src.norm-manseg.en"
ROCSMT_TRANSLATIONS = "RoCS-MT.ref."

Words = tuple[list[str], list[str]]  # raw and normalised words of one sentence


@dataclass(frozen=True)
class UgcSet:
    """Noisy sentences of one kind; ``standard[i]`` is the standard form of ``noisy[i]``."""

    name: str  # "rocsmt", "lexnorm", "flores_leet"
    seed: int | None  # of synthetic noise; sets of one name are generations with different seeds
    noisy: list[str]
    standard: list[str]
    translations: dict[str, list[str]]  # by ISO 639-3, row i translates standard[i]; may be empty
    augmented: list[str]  # hard negatives of the standard side; may be empty
    made_from: dict[str, tuple[str, str]]  # hard negative -> (standard sentence, error type)
    language: str  # of both sides, ISO 639-3
    step_counts: Sequence[int] = ()  # transformations selected for each sentence, if it is synthetic
    conditions: Mapping[str, str] = field(default_factory=dict)  # how it was made, for `details.csv`

    @property
    def source(self) -> list[str]:
        """The queries: the noisy side."""
        return self.noisy

    @property
    def target(self) -> list[str]:
        """The searched collection: the standard side."""
        return self.standard


def ugc_set(
    name: str,
    path: Path,
    noisy: list[str],
    standard: list[str],
    *,
    language: str,
    seed: int | None = None,
    translations: Mapping[str, list[str]] | None = None,
) -> UgcSet:
    """A set without negatives; pairs with an empty side are left out, and the log counts them.

    Pairs with equal sides are kept: an encoder must also find a sentence without noise. Raises ``ValueError`` if no
    pair is left.
    """
    columns = dict(translations or {})
    rows = [row for row, sides in enumerate(zip(noisy, standard, strict=True)) if all(sides)]
    if not rows:
        raise ValueError(f"{path}: expected at least 1 pair with text on both sides, found none of {len(noisy)}")
    if len(rows) < len(noisy):
        log.info("%s: %d of %d pairs have an empty side and are left out", path, len(noisy) - len(rows), len(noisy))
        noisy, standard = [noisy[row] for row in rows], [standard[row] for row in rows]
        columns = {language: [lines[row] for row in rows] for language, lines in columns.items()}
    return UgcSet(name, seed, noisy, standard, columns, [], {}, language)


def read_rocsmt(root: str) -> UgcSet:
    """Read RoCS-MT (Bawden and Sagot 2023): Reddit sentences, their manual normalisation and translations.

    The folder has ``RoCS-MT.src.raw-manseg.en``, ``RoCS-MT.src.norm-manseg.en`` and optional translations such as
    ``RoCS-MT.ref.fr``, or is the released tree with the subfolders ``src`` and ``ref``.

    Raises:
        FileNotFoundError: no such folder, or it lacks one of the two sides.
        ValueError: files of different length, an empty translation, or no pair.
    """
    folder = existing_folder(root, "evaluator.read.rocsmt")
    sources, references = (folder / sub if (folder / sub).is_dir() else folder for sub in ("src", "ref"))
    noisy_path = sources / ROCSMT_NOISY
    noisy = _read_stripped(noisy_path)
    standard = _read_stripped(sources / ROCSMT_STANDARD)
    check_aligned(sources / ROCSMT_STANDARD, len(standard), noisy_path, len(noisy))
    translations = {}
    for path in sorted(references.glob(f"{ROCSMT_TRANSLATIONS}*")):
        lines = _read_stripped(path)
        check_aligned(path, len(lines), noisy_path, len(noisy))
        if "" in lines:
            raise ValueError(f"{path}:{lines.index('') + 1}: expected a translation, found an empty line")
        translations[to_iso639_3(path.suffix[1:])] = lines
    return ugc_set("rocsmt", noisy_path, noisy, standard, language="eng", translations=translations)


def _read_stripped(path: Path) -> list[str]:
    return [line.strip() for line in read_lines(path)]  # the released translations end in TAB


def read_lexnorm(file: str, *, lower_case: bool, language: str) -> UgcSet:
    """Read tweets, word by word with their normalisation, joined by single spaces.

    The file is ``.json`` of W-NUT 2015 (LexNorm), a list of objects with word lists ``input`` and ``output`` of equal
    length, or ``.norm`` of MultiLexNorm, one ``raw TAB normalised`` per line and an empty line between sentences. A
    word may have several normalised words or none. ``lower_case`` changes the noisy side.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file of another kind, a damaged entry or line, or no pair.
    """
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file; evaluator.read.lexnorm expects a .json or .norm file")
    if path.suffix not in (".json", ".norm"):
        raise ValueError(
            f"{path}: expected .json (W-NUT 2015) or .norm (MultiLexNorm), found {path.suffix or path.name}"
        )
    sentences = _read_json(path) if path.suffix == ".json" else _read_norm(path)
    noisy, standard = ([" ".join(" ".join(words[side]).split()) for words in sentences] for side in (0, 1))
    if lower_case:
        noisy = [text.lower() for text in noisy]
    return ugc_set("lexnorm", path, noisy, standard, language=language)


def _read_json(path: Path) -> list[Words]:
    content = read_json(path)
    if not isinstance(content, list):
        raise ValueError(f"{path}: expected a list of tweets, found {type(content).__name__}")
    return [_parse_tweet(tweet, f"{path}: entry {number}") for number, tweet in enumerate(content, start=1)]


def _parse_tweet(tweet: Any, location: str) -> Words:
    sides: list[Any] = [tweet.get(side) if isinstance(tweet, dict) else None for side in ("input", "output")]
    if not all(isinstance(side, list) and all(isinstance(word, str) for word in side) for side in sides):
        raise ValueError(
            f"{location}: expected an object with lists of words, input and output, found {str(tweet)[:80]}"
        )
    raw, norm = sides
    if len(raw) != len(norm):
        raise ValueError(f"{location}: expected as many words of output as of input ({len(raw)}), found {len(norm)}")
    return raw, norm


def _read_norm(path: Path) -> list[Words]:
    lines = enumerate(read_lines(path), start=1)
    sentences: list[Words] = []
    for has_words, group in groupby(lines, key=lambda numbered: bool(numbered[1])):
        if not has_words:
            continue
        raw: list[str] = []
        norm: list[str] = []
        for number, line in group:
            columns = line.split("\t")
            if len(columns) != 2:
                raise ValueError(f"{path}:{number}: expected raw TAB normalised, found {len(columns)} columns")
            raw.append(columns[0])
            norm.append(columns[1])
        sentences.append((raw, norm))
    return sentences
