"""CLSD in a pivot language: every text translated, read from files or made by a translator."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import torch

from xsent.data.test_sets.clsd import ClsdSet, clsd_set, find_corpora, items_of, read_checked_rows
from xsent.data.test_sets.clsd_files import LocatedRow
from xsent.files.jsonl_log import AppendOnly
from xsent.languages import to_iso639_3

log = logging.getLogger(__name__)

# A few names and numbers equal their translation; if more than half of the texts do, the file was not translated.
UNTRANSLATED = 0.5


class Translator(Protocol):
    """Translates texts; ``xsent.models.translation.seq2seq.Translator`` implements it."""

    name: str

    def check(self, *, source_lang: str, target_lang: str) -> None:
        """Raise ``ValueError``, before any work, for an unknown language."""
        ...

    def translate(
        self, texts: Sequence[str], *, source_lang: str, target_lang: str, progress: bool
    ) -> Iterator[Mapping[int, tuple[str, bool]]]:
        """Yield the translations of each batch by index of the text, and whether a text or translation was too long."""
        ...

    def digest(self) -> str:
        """Hex digest of everything that decides a translation."""
        ...

    def to(self, device: str | torch.device) -> object:
        """Compute on this device."""
        ...

    def unload(self) -> None:
        """Free the weights until the next text."""
        ...


@dataclass(kw_only=True, eq=False)
class Pivot:
    """Gives CLSD sets with sources and candidates in one pivot language, item by item.

    Raises:
        ValueError: both ``root`` and ``translator``, or an unknown language.

    Source:
        Michail, Clematide, Sennrich 2025 (arXiv:2502.08638), section 3.2: both sides in English, by one system.
    """

    # Translated files, `MT_...` of the release, or JSON lines with texts in the pivot language under the codes of the
    # original languages; a folder, or one file for one corpus.
    root: str | None
    # Makes the translator, if there is no `root`. Translations are stored in `cache_dir` after each batch, so a killed
    # run continues and no text is translated twice. One process translates; others wait.
    translator: Callable[[], Translator] | None
    language: str  # the pivot; texts in it are not translated
    cache_dir: str  # folder of the stored translations
    device: str | torch.device = field(init=False, default="cpu")  # of the translator

    def __post_init__(self) -> None:
        if self.root is not None and self.translator is not None:
            raise ValueError("evaluator.pivot: expected root or translator, found both")
        self.language = to_iso639_3(self.language)

    def check(self, sets: Sequence[ClsdSet]) -> None:
        """Check files and languages without translating.

        Raises:
            FileNotFoundError: no translated file of a corpus.
            ValueError: a file has other rows than the set, another order or number of distractors, or untranslated
                texts; the translator does not know a language.
        """
        if self.root is not None:
            self._read(sets)
        if self._translator is not None:
            for language in self._texts_by_language(sets):
                self._translator.check(source_lang=language, target_lang=self.language)

    def __call__(self, sets: Sequence[ClsdSet]) -> list[ClsdSet] | None:
        """The sets in the pivot language, labelled with the original languages; None without files and translator."""
        if self.root is not None:
            pivoted = self._read(sets)
        elif self._translator is not None:
            pivoted = self._translate(self._translator, sets)
        else:
            return None
        for clsd in pivoted:
            # Translation can make a distractor equal to the translation; nobody can get such an item right.
            equal = sum(text in distractors for text, distractors in zip(clsd.target, clsd.distractors, strict=True))
            if equal:
                log.info(
                    f"{_name(clsd)} in {self.language}: {equal} of {len(clsd.ids):,} items have a distractor that"
                    " equals the translation; they count as errors (ties, unless another distractor is nearer)"
                )
        return pivoted

    def made_by(self, clsd: ClsdSet) -> str:
        """Name of the file with a set's translations, or of the translator; empty without either."""
        if self.root is not None:
            return self._files([clsd.name])[clsd.name].name
        return "" if self._translator is None else str(self._translator.name)

    # ---- translated files

    def _files(self, names: Sequence[str]) -> dict[str, Path]:
        """Translated files by name of the corpus."""
        root = Path(str(self.root))
        files = find_corpora(root, translated=True)
        if len(names) == 1 and root.is_file():
            files = dict(zip(names, files.values(), strict=True))  # a single file may have any name
        if missing := [name for name in names if name not in files]:
            raise FileNotFoundError(
                f"{root}: expected translated files of {', '.join(missing)}, found {', '.join(files)}"
            )
        return files

    def _read(self, sets: Sequence[ClsdSet]) -> list[ClsdSet]:
        files = self._files(names := list(dict.fromkeys(clsd.name for clsd in sets)))
        rows = {name: read_checked_rows(files[name], None, distinct=False) for name in names}
        return [self._match(files[clsd.name], rows[clsd.name], clsd) for clsd in sets]

    def _match(self, path: Path, rows: Sequence[LocatedRow], direct: ClsdSet) -> ClsdSet:
        """The set of the file's rows, after a check that they are the items of the direct set."""
        items = items_of(rows, direct.source_lang, direct.target_lang)
        if not items:
            raise ValueError(f"{path}: expected items of {direct.direction}, found none")
        for (location, row), expected in zip(items, direct.ids, strict=False):
            if row.id != expected:
                raise ValueError(f"{location}: expected the item {expected!r} of {_name(direct)}, found {row.id!r}")
        if len(items) != len(direct.ids):
            raise ValueError(f"{path}: expected the {len(direct.ids):,} items of {_name(direct)}, found {len(items):,}")
        pivoted = clsd_set(direct.name, direct.source_lang, direct.target_lang, items)
        expected_count, count = len(direct.distractors[0]), len(pivoted.distractors[0])
        if count != expected_count:
            raise ValueError(
                f"{items[0].location}: expected {expected_count} distractors, as {_name(direct)} has, found {count}"
            )
        self._check_translated(path, direct, pivoted)
        return pivoted

    def _check_translated(self, path: Path, direct: ClsdSet, pivoted: ClsdSet) -> None:
        sides = {
            "sources": (direct.source_lang, direct.source, pivoted.source),
            "translations": (direct.target_lang, direct.target, pivoted.target),
            "distractors": (direct.target_lang, chain(*direct.distractors), chain(*pivoted.distractors)),
        }
        for side, (language, originals, texts) in sides.items():
            translation_of = dict(zip(originals, texts, strict=True))
            equal = [original for original, text in translation_of.items() if original == text]
            if language != self.language and len(equal) > UNTRANSLATED * len(translation_of):
                raise ValueError(
                    f"{path}: expected texts in {self.language}, found {len(equal):,} of {len(translation_of):,} {side}"
                    f" of {_name(direct)} untranslated, such as {equal[0]!r}"
                )

    # ---- a translator

    @cached_property
    def _translator(self) -> Translator | None:
        return None if self.translator is None else self.translator()

    def _texts_by_language(self, sets: Sequence[ClsdSet]) -> dict[str, list[str]]:
        """Distinct texts in languages other than the pivot."""
        texts_of: dict[str, dict[str, None]] = {}
        for clsd in sets:
            texts_of.setdefault(clsd.source_lang, {}).update(dict.fromkeys(clsd.source))
            for target, distractors in zip(clsd.target, clsd.distractors, strict=True):
                texts_of.setdefault(clsd.target_lang, {}).update(dict.fromkeys((target, *distractors)))
        return {language: list(texts) for language, texts in texts_of.items() if language != self.language}

    def _translate(self, translator: Translator, sets: Sequence[ClsdSet]) -> list[ClsdSet]:
        translator.to(self.device)
        try:
            translations = {
                language: self._translations(translator, language, texts)
                for language, texts in self._texts_by_language(sets).items()
            }
        finally:
            translator.unload()

        def translate(texts: Sequence[str], language: str) -> list[str]:
            return [translations[language][text] for text in texts] if language in translations else list(texts)

        return [
            replace(
                clsd,
                source=translate(clsd.source, clsd.source_lang),
                target=translate(clsd.target, clsd.target_lang),
                distractors=[translate(texts, clsd.target_lang) for texts in clsd.distractors],
            )
            for clsd in sets
        ]

    def _translations(self, translator: Translator, source_lang: str, texts: Sequence[str]) -> dict[str, str]:
        """Translation of each text, stored or new."""
        key = hashlib.sha256(f"{translator.digest()} {source_lang} {self.language}".encode()).hexdigest()
        # All ranks of a training need the same texts: the first one translates, the others wait for its file.
        file = AppendOnly(Path(self.cache_dir).expanduser() / f"{key}.jsonl", wait=True)
        digests = {text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts}
        stored = _read_stored(file)
        if not stored.keys() >= set(digests.values()):
            with file:
                stored = _read_stored(file)  # again, now that no other process writes
                missing = [text for text in texts if digests[text] not in stored]
                if missing:
                    log.info(
                        f"translating {len(missing):,} texts from {source_lang} to {self.language};"
                        f" {len(texts) - len(missing):,} are stored in {file.path}"
                    )
                for batch in translator.translate(
                    missing, source_lang=source_lang, target_lang=self.language, progress=True
                ):
                    records: list[dict[str, Any]] = [
                        {"text": digests[missing[index]], "translation": translation, "cut": truncated}
                        for index, (translation, truncated) in batch.items()
                    ]
                    file.add(records)
                    stored |= {record["text"]: record for record in records}
        if too_long := sum(stored[digest]["cut"] for digest in digests.values()):
            log.warning(
                f"{too_long:,} of {len(texts):,} texts in {source_lang}, or their translations, were truncated at"
                " translator.max_length tokens"
            )
        return {text: stored[digest]["translation"] for text, digest in digests.items()}


def _read_stored(file: AppendOnly) -> dict[str, dict[str, Any]]:
    """Records of a file by digest of the text."""
    return {record["text"]: record for record in file.read()}


def _name(clsd: ClsdSet) -> str:
    return f"{clsd.name} {clsd.direction}"
