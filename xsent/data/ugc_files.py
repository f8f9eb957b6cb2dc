"""Files of noisy sentences (user-generated content) beside their standard forms: RoCS-MT, LexNorm, MultiLexNorm."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xsent.data.lines import read_lines
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

# The manual segmentation; the files that spaCy segmented are not aligned with the translations.
ROCSMT_NOISY, ROCSMT_STANDARD = "RoCS-MT.src.raw-manseg.en", "RoCS-MT.src.norm-manseg.en"
ROCSMT_TRANSLATIONS = "RoCS-MT.ref."


@dataclass(frozen=True)
class UgcSet:
    """Noisy sentences of one kind; ``standard[i]`` is what ``noisy[i]`` stands for."""

    name: str  # "rocsmt", "lexnorm", "flores_leet"
    seed: int | None  # of made noise; sets of one name are generations with different seeds
    noisy: list[str]
    standard: list[str]
    translations: dict[str, list[str]]  # by ISO 639-3, row i says what standard[i] says; may be empty
    augmented: list[str]  # hard negatives of the standard side; may be empty
    made_from: dict[str, tuple[str, str]]  # by augmented sentence: the standard sentence and the error type
    language: str  # of both sides, ISO 639-3

    @property
    def source(self) -> list[str]:
        """The noisy side: it searches."""
        return self.noisy

    @property
    def target(self) -> list[str]:
        """The standard side: it is searched."""
        return self.standard


def paired(
    name: str,
    where: Path,
    noisy: list[str],
    standard: list[str],
    *,
    language: str,
    seed: int | None = None,
    translations: Mapping[str, list[str]] | None = None,
) -> UgcSet:
    """A set without negatives; pairs with an empty side are left out, and the log counts them.

    Pairs whose sides are equal stay: an encoder must find a sentence that nobody misspelt, too.

    Raises:
        ValueError: no pair is left.
    """
    columns = dict(translations or {})
    kept = [row for row, (a, b) in enumerate(zip(noisy, standard, strict=True)) if a and b]
    if not kept:
        raise ValueError(f"{where}: expected at least 1 pair with text on both sides, found none of {len(noisy)}")
    if len(kept) < len(noisy):
        log.info("%s: %d of %d pairs have an empty side and are left out", where, len(noisy) - len(kept), len(noisy))
        noisy, standard = [noisy[row] for row in kept], [standard[row] for row in kept]
        columns = {language: [lines[row] for row in kept] for language, lines in columns.items()}
    return UgcSet(name, seed, noisy, standard, columns, [], {}, language)


# ---- RoCS-MT


def read_rocsmt(root: str) -> UgcSet:
    """RoCS-MT (Bawden and Sagot 2023): Reddit sentences, their manual normalisation and their translations.

    Args:
        root: folder of ``RoCS-MT.src.raw-manseg.en``, ``RoCS-MT.src.norm-manseg.en`` and any ``RoCS-MT.ref.fr``,
            or the released tree, which has them in ``src`` and ``ref``.

    Raises:
        FileNotFoundError: no such folder, or one of the two sides is not in it.
        ValueError: files of different length, an empty translation, or no pair.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no such folder; evaluator.read.rocsmt expects one of RoCS-MT files")
    sources, references = (folder / sub if (folder / sub).is_dir() else folder for sub in ("src", "ref"))
    noisy_path = sources / ROCSMT_NOISY
    noisy = _stripped(noisy_path)
    standard = _aligned(sources / ROCSMT_STANDARD, noisy_path, len(noisy))
    translations = {}
    for path in sorted(references.glob(f"{ROCSMT_TRANSLATIONS}*")):
        lines = _aligned(path, noisy_path, len(noisy))
        if "" in lines:
            raise ValueError(f"{path}:{lines.index('') + 1}: expected a translation, found an empty line")
        translations[to_iso639_3(path.suffix[1:])] = lines
    return paired("rocsmt", noisy_path, noisy, standard, language="eng", translations=translations)


def _stripped(path: Path) -> list[str]:
    return [line.strip() for line in read_lines(path)]  # the released translations end in TAB


def _aligned(path: Path, other: Path, lines: int) -> list[str]:
    found = _stripped(path)
    if len(found) != lines:
        raise ValueError(f"{path} has {len(found)} lines, {other} has {lines}: they must be line-aligned")
    return found


# ---- LexNorm


def read_lexnorm(file: str, *, lower_case: bool, language: str) -> UgcSet:
    """Tweets word by word with their normalisation, joined by single spaces.

    Args:
        file: ``.json`` of W-NUT 2015 (LexNorm), a list of objects whose ``input`` and ``output`` are words, as many
            of one as of the other, or ``.norm`` of MultiLexNorm, raw TAB normalised a line and an empty line between
            sentences. A word may become several, or none: what follows a word that several became has "".
        lower_case: whether the noisy side is lower-cased.
        language: of the tweets, ISO 639-3: MultiLexNorm has twelve.

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
    sentences = _json_sentences(path) if path.suffix == ".json" else _norm_sentences(path)
    noisy = [_joined(raw) for raw, _ in sentences]
    if lower_case:
        noisy = [text.lower() for text in noisy]
    return paired("lexnorm", path, noisy, [_joined(norm) for _, norm in sentences], language=language)


def _joined(words: Sequence[str]) -> str:
    return " ".join(" ".join(words).split())


def _json_sentences(path: Path) -> list[tuple[list[str], list[str]]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: expected JSON, found {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8, found byte 0x{error.object[error.start]:02x}") from error
    if not isinstance(content, list):
        raise ValueError(f"{path}: expected a list of tweets, found {type(content).__name__}")
    return [_json_sentence(tweet, f"{path}: entry {number}") for number, tweet in enumerate(content, start=1)]


def _json_sentence(tweet: Any, where: str) -> tuple[list[str], list[str]]:
    raw, norm = (_words(tweet, side) for side in ("input", "output"))
    if raw is None or norm is None:
        raise ValueError(f"{where}: expected an object with lists of words, input and output, found {str(tweet)[:80]}")
    if len(raw) != len(norm):
        raise ValueError(f"{where}: expected as many words of output as of input ({len(raw)}), found {len(norm)}")
    return raw, norm


def _words(tweet: Any, side: str) -> list[str] | None:
    words = tweet.get(side) if isinstance(tweet, dict) else None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def _norm_sentences(path: Path) -> list[tuple[list[str], list[str]]]:
    sentences: list[tuple[list[str], list[str]]] = []
    begins = True
    for number, line in enumerate(read_lines(path), start=1):
        if not line:
            begins = True
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise ValueError(f"{path}:{number}: expected raw TAB normalised, found {len(columns)} columns")
        if begins:
            sentences.append(([], []))
            begins = False
        for side, word in zip(sentences[-1], columns, strict=True):
            side.append(word)
    return sentences
